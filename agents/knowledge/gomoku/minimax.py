"""Implicit minimax back-ups: means of simulations, mixed with minimax values of the evaluation.

Lanctot, Winands, Pepels and Sturtevant 2014, section III: a selection rule has (1 - a) Q + a v in
the place of a child's mean Q, which adds a (v - Q) to the score. (It is added whole to the score of
rules that mix Q with something else themselves, as RAVE does.) The minimax value v of a leaf is the
board evaluation, and that of a node the best of its children's, for the player to move there.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.gomoku.candidates import SCALE, value_for_first
from agents.search.selection import inner_tree, scored_first
from agents.search.simulation import Simulation
from agents.search.tree import ROOT, Tree
from hexenv.compiled import compiled
from hexenv.games.base import State


class MinimaxExtras(NamedTuple):
    """What `ImplicitMinimax` keeps for each node."""

    inner: Any
    """What the rule behind it keeps."""
    minimax: NDArray[np.float64]
    """``(N,)``: the minimax value for player 0, 0 to 1."""
    mover: NDArray[np.int8]
    """``(N,)``: who is to move there; of nodes with children."""


@compiled
class ImplicitMinimax(NamedTuple):
    """A selection rule whose means are mixed with minimax values."""

    selection: Any
    share: float = 0.2
    """How much of the mixture the minimax values are."""
    scale: float = SCALE
    trial: Any = None
    """``(1,)``: a position to evaluate in."""

    tries_all_first = scored_first  # minimax values need all children

    def needs_moves(self) -> bool:
        return self.selection.needs_moves()

    def new_extras(self, max_nodes: int) -> MinimaxExtras:
        inner = self.selection.new_extras(max_nodes)
        return MinimaxExtras(inner, np.empty(max_nodes), np.zeros(max_nodes, np.int8))

    def with_memory(self, game: Any) -> "ImplicitMinimax":
        trial = np.zeros(1, game.state_dtype).view(np.recarray)
        return self._replace(selection=self.selection.with_memory(game), trial=trial)

    def initialise(self, game: Any, state: State, tree: Tree, node: int) -> None:
        self.selection.initialise(game, state, inner_tree(tree), node)
        tree.extras.mover[node] = game.to_play(state)
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            game.copy(state, self.trial[0])
            game.step(self.trial[0], int(tree.action[child]))
            tree.extras.mover[child] = game.to_play(self.trial[0])
            value = value_for_first(game, self.trial[0], self.scale)
            tree.extras.minimax[child] = 0.5 * (value + 1.0)

    def is_complete(self, tree: Tree, node: int) -> bool:
        return self.selection.is_complete(inner_tree(tree), node)

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> Any:
        prepared = self.selection.prepare(inner_tree(tree), node, rng)
        return prepared, int(tree.extras.mover[node])

    def score(self, tree: Tree, child: int, prepared: Any) -> float:
        found = self.selection.score(inner_tree(tree), child, prepared[0])
        if tree.visits[child] == 0:
            return np.inf if self.selection.tries_all_first() else found
        value = tree.extras.minimax[child]
        value = value if prepared[1] == 0 else 1.0 - value
        return found + self.share * (value - tree.value[child])

    def update(self, tree: Tree, simulation: Simulation) -> None:
        self.selection.update(inner_tree(tree), simulation)
        for ply in range(simulation.depth[0] - 1, -1, -1):
            node = ROOT if ply == 0 else simulation.path[ply - 1]
            sign = 1.0 if tree.extras.mover[node] == 0 else -1.0
            best = -np.inf
            first = tree.first_child[node]
            for child in range(first, first + tree.child_count[node]):
                best = max(best, sign * tree.extras.minimax[child])
            tree.extras.minimax[node] = sign * best
