"""A score by the distance to the end, with a formula of selection for it, from a student's text.

A win next ply is worth 1000, a later one 1 / plies, a loss the negative, and a draw counts as a
loss, for either side. Scores are kept as rewards in [0, 1]: 1/2 + score / 2000.
"""

from typing import NamedTuple

from agents.search.selection import (
    all_first,
    no_extras,
    no_initialise,
    sqrt_log,
)
from agents.search.simulation import all_moves, no_memory, no_moves, no_update
from agents.search.tree import ROOT, Tree
from hexenv.compiled import compiled


@compiled
class DistanceScore(NamedTuple):
    """The score, between -`decisive` and `decisive`, scaled to [0, 1].

    To a node whose outcome is proven the distance is that of an end.
    """

    decisive: float = 1000.0
    """The worth of a win at the next ply."""
    power: float = 1.0
    """A later one is worth 1 / plies ** power."""
    draw: float = -1.0
    """A draw, as a share of a win as far away: -1 as a loss, for both sides; 0 fair."""

    update = no_update
    needs_moves = all_moves
    with_memory = no_memory

    def shape(self, outcome: float, player: int, plies: int, length: int) -> float:
        worth = self.decisive if plies <= 1 else 1.0 / float(plies) ** self.power
        sign = self.draw if outcome == 0.0 else outcome
        return 0.5 + 0.5 * sign * worth / self.decisive


@compiled
class DistanceUCB(NamedTuple):
    """mean score + c sqrt(ln N / n), or literally: mean score / n + c sqrt(ln N) / n.

    The literal form divides the mean by the visits once more, lets the bonus shrink faster than the
    mean gets certain, and takes the root's visits for N.
    """

    c: float = 1.4142135623730951
    literal: bool = False
    decisive: float = 1000.0
    """As in `DistanceScore`."""

    update = no_update
    needs_moves = no_moves
    tries_all_first = all_first
    initialise = no_initialise
    new_extras = no_extras
    with_memory = no_memory

    def prepare(self, tree: Tree, node: int) -> float:
        return self.c * sqrt_log(tree.visits[ROOT if self.literal else node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        mean = (2.0 * tree.value[child] - 1.0) * self.decisive
        if self.literal:
            return (mean + prepared) / tree.visits[child]
        return mean + prepared * tree.spread[child]
