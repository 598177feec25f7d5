"""Progressive bias: moves that look good are searched first, until simulations know better.

A bias that shrinks with the visits of a child is added to its score (Chaslot, Winands, van den
Herik, Uiterwijk and Bouzy, "Progressive strategies for Monte-Carlo tree search", New Mathematics
and Natural Computation 4, 2008). It is the child's *prior*, a probability, by the square root of
its visits, so that what looks bad waits for a visit until the rest has had many (Huang, Arneson,
Hayward, Mueller and Pawlewicz, "MoHex 2.0: a pattern-based MCTS Hex player", Computers and Games
2013).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.selection import inner_tree, scored_first
from agents.search.simulation import Simulation
from agents.search.tree import Tree
from hexenv.compiled import compiled
from hexenv.games.base import State


class BiasExtras(NamedTuple):
    """What `ProgressiveBias` keeps for each node."""

    inner: Any
    """What the rule behind it keeps."""
    prior: NDArray[np.float64]
    """``(N,)``: its prior."""


@compiled
class ProgressiveBias(NamedTuple):
    """A selection rule with a bias to children of high prior.

    A child that has not been visited, and that the rule behind would visit at once, scores `fpu`
    and its bias.
    """

    selection: Any
    priors: Any
    """``write(game, state, tree, node, out)`` writes the prior of each child of a node, whose
    position is `state`, at its number; they add up to 1. ``with_memory`` is that of a part."""
    weight: float
    fpu: float

    tries_all_first = scored_first  # by their priors

    def needs_moves(self) -> bool:
        return self.selection.needs_moves()

    def new_extras(self, max_nodes: int) -> BiasExtras:
        return BiasExtras(self.selection.new_extras(max_nodes), np.empty(max_nodes))

    def with_memory(self, game: Any) -> "ProgressiveBias":
        selection, priors = self.selection.with_memory(game), self.priors.with_memory(game)
        return self._replace(selection=selection, priors=priors)

    def initialise(self, game: Any, state: State, tree: Tree, node: int) -> None:
        self.selection.initialise(game, state, inner_tree(tree), node)
        self.priors.write(game, state, tree, node, tree.extras.prior)

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> Any:
        return self.selection.prepare(inner_tree(tree), node, rng)

    def score(self, tree: Tree, child: int, prepared: Any) -> float:
        bias = self.weight * tree.extras.prior[child]
        found = self.selection.score(inner_tree(tree), child, prepared)
        if tree.visits[child] > 0:
            return found + bias * tree.spread[child]
        if self.selection.tries_all_first() or found == np.inf:
            found = self.fpu
        return found + bias

    def update(self, tree: Tree, simulation: Simulation) -> None:
        self.selection.update(inner_tree(tree), simulation)
