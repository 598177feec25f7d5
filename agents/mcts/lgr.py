"""Last good reply: in a playout, answer a move as it was last answered in a won game."""

from typing import Annotated, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.options import NonNegative
from agents.mcts.playouts import make_playout
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.playout import Uniform, action_on, memory_behind
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.simulation import Simulation, all_moves, part
from agents.search.tree import Tree
from agents.search.variant import Variant
from hexenv.common.options import Within
from hexenv.games.base import NO_ACTION, Actions, Game, State

NO_REPLIES = np.full((2, 1), -1, np.int32)


@part
class LastGoodReply(NamedTuple):
    """The playout policy of `LGR`.

    After a simulation the winner's replies are stored: to the move before (`order` 1), and to the
    two moves before (2, which is asked first). With `forgetting`, a stored reply that lost is
    removed.

    Examples:
        >>> variant = UCT().variant._replace(playout=LastGoodReply(order=2))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    order: int = 1
    forgetting: bool = True
    otherwise: Any = Uniform()
    replies: NDArray[np.int32] = NO_REPLIES
    """``(2, num_cells())``: each player's reply to a move, a cell or -1."""
    replies_to_two: NDArray[np.int32] = NO_REPLIES
    """``(2, num_cells() ** 2)``: to a move and the one before it."""

    needs_moves = all_moves

    def with_memory(self, game: Game) -> "LastGoodReply":
        cells = game.num_cells()
        pairs = cells * cells if self.order > 1 else 1
        return self._replace(
            otherwise=memory_behind(self.otherwise, game),
            replies=np.full((2, cells), -1, np.int32),
            replies_to_two=np.full((2, pairs), -1, np.int32),
        )

    def two(self, cells: NDArray[np.int32], ply: int) -> int:
        """The number of the pair of moves before a ply."""
        return int(cells[ply - 2]) * self.replies.shape[1] + int(cells[ply - 1])

    def choose(
        self,
        game: Game,
        state: State,
        rng: np.random.Generator,
        actions: Actions,
        count: int,
        simulation: Simulation,
    ) -> int:
        ply = simulation.length[0]
        player = game.to_play(state)
        action = NO_ACTION
        if self.order > 1 and ply > 1:
            reply = int(self.replies_to_two[player, self.two(simulation.cells, ply)])
            if reply >= 0:
                action = action_on(game, state, actions, count, reply, simulation)
        if action == NO_ACTION and ply > 0:
            reply = int(self.replies[player, simulation.cells[ply - 1]])
            if reply >= 0:
                action = action_on(game, state, actions, count, reply, simulation)
        if action == NO_ACTION:
            action = self.otherwise.choose(game, state, rng, actions, count, simulation)
        return action

    def update(self, tree: Tree, simulation: Simulation) -> None:
        self.otherwise.update(tree, simulation)
        cells = simulation.cells
        result = simulation.result[0]
        for ply in range(1, simulation.length[0] if result != 0.0 else 0):
            player = int(simulation.players[ply])
            won = (result > 0.0) == (player == 0)
            self.learn(self.replies[player], cells[ply - 1], cells[ply], won)
            if self.order > 1 and ply > 1:
                self.learn(self.replies_to_two[player], self.two(cells, ply), cells[ply], won)

    def learn(self, table: NDArray[np.int32], key: int, reply: int, won: bool) -> None:
        """Store a reply that won; forget one that lost."""
        if won:
            table[key] = reply
        elif self.forgetting and table[key] == reply:
            table[key] = -1


class LGR(TreeSearchAgent):
    r"""A move is answered as it was last in a win (Drake 2009; Baier and Drake 2010).

    Formula:
        $$\bar x + c \sqrt{\frac{\ln\, N}{n}}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. This is the tree. In a playout a move is
        answered by the last reply to it that won; where there is none, or it is not legal,
        `playout` answers.

    Sources:
        Drake, "The last-good-reply policy for Monte-Carlo Go", ICGA Journal 32(4), 2009.

        Baier and Drake, "The power of forgetting: improving the last-good-reply policy in Monte
        Carlo Go", IEEE TCIAIG 2(4), 2010.

    Args:
        c: Weight of exploration.
        order: 1: replies to the move before; 2: to the two moves before, else to one.
        forgetting: Whether replies that lose are forgotten (LGRF).
        playout: What is played where there is no reply, a policy of `agents.mcts.playouts`.
    """

    name = "lgr"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: NonNegative = 1.0,
        order: Annotated[int, Within(1, 2)] = 1,
        forgetting: bool = True,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        replies = LastGoodReply(order, forgetting, make_playout(playout))
        variant = Variant(UCB1(c), replies, WinLoss())
        super().__init__(variant, simulations, seconds, **options)
