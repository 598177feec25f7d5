"""Last good reply: answer a move as it was last answered in a game that was won."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.playout import Uniform, memory_behind, play_out
from agents.search.simulation import Simulation, all_moves
from hexenv.compiled import compiled, kernel

NONE = np.full((2, 1), -1, np.int32)


@kernel
def pick_of_cell(game: Any, state: Any, actions: NDArray[np.int32], count: int, cell: int) -> int:
    """Where among the legal actions the one that fills a cell is, or -1."""
    for pick in range(count):
        if game.cell_of(state, int(actions[pick])) == cell:
            return pick
    return -1


@compiled
class LastGoodReply(NamedTuple):
    """LGR-1 and LGR-2 (Drake 2009), with forgetting LGRF (Baier and Drake 2010).

    After a simulation the winner's replies are stored: to the move before (`order` 1), and to the
    two moves before (2, asked first). With `forgetting`, the loser's are removed where they still
    stand.
    """

    order: int = 1
    forgetting: bool = True
    otherwise: Any = Uniform()
    replies: NDArray[np.int32] = NONE
    """``(2, num_cells())``: each player's reply to a move, a cell or -1."""
    replies_to_two: NDArray[np.int32] = NONE
    """``(2, num_cells() ** 2)``: to a move and the one before it."""

    simulate = play_out
    needs_moves = all_moves

    def with_memory(self, game: Any) -> "LastGoodReply":
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
        game: Any,
        state: Any,
        rng: np.random.Generator,
        actions: NDArray[np.int32],
        count: int,
        simulation: Simulation,
    ) -> int:
        ply = simulation.length[0]
        player = game.to_play(state)
        pick = -1
        if self.order > 1 and ply > 1:
            reply = int(self.replies_to_two[player, self.two(simulation.cells, ply)])
            if reply >= 0:
                pick = pick_of_cell(game, state, actions, count, reply)
        if pick < 0 and ply > 0:
            reply = int(self.replies[player, simulation.cells[ply - 1]])
            if reply >= 0:
                pick = pick_of_cell(game, state, actions, count, reply)
        if pick < 0:
            pick = self.otherwise.choose(game, state, rng, actions, count, simulation)
        return pick

    def update(self, tree: Any, simulation: Simulation) -> None:
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
