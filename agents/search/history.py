"""Progressive history: moves that have been good anywhere are tried first."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.selection import all_first, sqrt_log
from agents.search.simulation import Simulation, all_moves
from agents.search.tree import Tree
from hexenv.compiled import compiled


class HistoryExtras(NamedTuple):
    """What `ProgressiveHistory` keeps for each node."""

    cells: NDArray[np.int32]
    """What is played to reach the node, as `Game.cell_of` says it."""
    movers: NDArray[np.int8]
    """Who plays it."""


@compiled
class ProgressiveHistory(NamedTuple):
    """UCB1 and a bonus that fades: + h * weight / ((1 - mean) * n + 1) (Nijssen and Winands 2011).

    h is the mean reward of the simulations in which the player made the move, wherever.
    """

    c: float = 1.0
    weight: float = 3.0
    history: NDArray[np.float64] = np.zeros((2, 1, 2))
    """``(2, num_cells(), 2)``: for each player and move, its simulations and their mean reward."""

    needs_moves = all_moves
    tries_all_first = all_first

    def new_extras(self, max_nodes: int) -> HistoryExtras:
        return HistoryExtras(np.empty(max_nodes, np.int32), np.empty(max_nodes, np.int8))

    def with_memory(self, game: Any) -> "ProgressiveHistory":
        return self._replace(history=np.zeros((2, game.num_cells(), 2)))

    def initialise(self, game: Any, state: Any, tree: Tree, node: int) -> None:
        mover = game.to_play(state)
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            tree.extras.cells[child] = game.cell_of(state, int(tree.action[child]))
            tree.extras.movers[child] = mover

    def prepare(self, tree: Tree, node: int) -> float:
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
