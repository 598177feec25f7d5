"""Progressive history: moves that have been good anywhere are tried first."""

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.options import NonNegative
from agents.mcts.playouts import variant_of
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.selection import sqrt_log
from agents.search.simulation import Simulation, all_moves, part
from agents.search.tree import Tree
from hexenv.games.base import Game, State


class HistoryExtras(NamedTuple):
    """What `ProgressiveHistory` keeps for each node."""

    cells: NDArray[np.int32]  # the move that leads to the node, as `Game.cell_of` numbers it
    movers: NDArray[np.int8]  # the player who makes it


@part
class ProgressiveHistory(NamedTuple):
    """The rule of `HistoryMCTS`.

    Examples:
        >>> variant = UCT().variant._replace(selection=ProgressiveHistory(weight=5.0))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    c: float = 1.0
    weight: float = 3.0
    history: NDArray[np.float64] = np.zeros((2, 1, 2))
    """``(2, num_cells(), 2)``: for each player and move, its simulations and their mean reward."""

    needs_moves = all_moves

    def new_extras(self, max_nodes: int) -> HistoryExtras:
        return HistoryExtras(np.empty(max_nodes, np.int32), np.empty(max_nodes, np.int8))

    def with_memory(self, game: Game) -> "ProgressiveHistory":
        return self._replace(history=np.zeros((2, game.num_cells(), 2)))

    def initialise(self, game: Game, state: State, tree: Tree, node: int) -> None:
        mover = game.to_play(state)
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            tree.extras.cells[child] = game.cell_of(state, int(tree.action[child]))
            tree.extras.movers[child] = mover

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> float:
        return self.c * sqrt_log(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        mean, visits, spread = tree.value[child], tree.visits[child], tree.spread[child]
        history = self.history[tree.extras.movers[child], tree.extras.cells[child], 1]
        return mean + prepared * spread + history * self.weight / ((1.0 - mean) * visits + 1.0)

    def update(self, tree: Tree, simulation: Simulation) -> None:
        for ply in range(simulation.length[0]):
            player = int(simulation.players[ply])
            result = simulation.result[0] if player == 0 else -simulation.result[0]
            entry = self.history[player, simulation.cells[ply]]
            entry[0] += 1.0
            entry[1] += (0.5 + 0.5 * result - entry[1]) / entry[0]


class HistoryMCTS(TreeSearchAgent):
    r"""Moves that did well anywhere are tried first (Nijssen and Winands 2011).

    Formula:
        $$\bar x + c \sqrt{\frac{\ln\, N}{n}} + \frac{h\, w}{(1 - \bar x)\, n + 1}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $h$ is the mean reward of all simulations in
        which the player made the move, $w$ the `weight`.

    Sources:
        Nijssen and Winands, "Enhancements for multi-player Monte-Carlo tree search", Computers and
        Games 2010 (published 2011).

    Args:
        c: Weight of exploration.
        weight: Weight of the history.
        playout: A policy of `agents.mcts.playouts`.
    """

    name = "history"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: NonNegative = 1.0,
        weight: NonNegative = 3.0,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        rule = ProgressiveHistory(c, weight)
        super().__init__(variant_of(rule, playout), simulations, seconds, **options)
