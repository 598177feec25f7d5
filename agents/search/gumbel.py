"""Gumbel AlphaZero: planning by policy improvement (Danihelka, Guez et al. 2022).

At the root, some actions are drawn without replacement (the highest of logit + Gumbel noise), and
sequential halving spends the simulations on them. Everywhere else visits follow the improved policy

    pi'(a) ~ P(a) exp(sigma(Q(a)))    sigma(q) = (c_visit + max_b n(b)) c_scale q

with Q completed for unvisited actions by a mix of the evaluator's value and the visited ones' (the
paper's appendix D). pi' is better than P in expectation, however few simulations there are.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.puct import (
    Indifferent,
    mean_reward,
    new_evaluated_extras,
    standing,
    take_priors,
)
from agents.search.selection import scored_first
from agents.search.simulation import no_moves, no_update
from agents.search.tree import ROOT, Tree
from hexenv.compiled import compiled

SMALLEST: float = 1e-30
"""Added to priors, whose logarithm is taken."""
FAR: float = 1e12
"""Taken off the score of what is not considered now."""


def considered_visits(most: int, simulations: int) -> NDArray[np.int32]:
    """Sequential halving as a table: how many visits an action needs to be considered now.

    Args:
        most: The greatest number of actions considered at the root.
        simulations: In a search.

    Returns:
        ``(most + 1, simulations)``: row m is for m considered actions. In simulation i, the best
        one of those with that many visits is tried.
    """
    table = np.zeros((most + 1, simulations), np.int32)
    for considered in range(most + 1):
        if considered <= 1:
            table[considered] = np.arange(simulations)
            continue
        rounds = math.ceil(math.log2(considered))
        sequence: list[int] = []
        visits, left = [0] * considered, considered
        while len(sequence) < simulations:
            for _ in range(max(1, simulations // (rounds * left))):
                sequence.extend(visits[:left])
                visits[:left] = [count + 1 for count in visits[:left]]
            left = max(2, left // 2)
        table[considered] = sequence[:simulations]
    return table


class Improvement(NamedTuple):
    """What the scores of a node's children share."""

    considered: int
    """At the root: how many visits an action needs to be considered; elsewhere -1."""
    total: int
    """Visits of all children."""
    scale: float
    """sigma(q) = scale * q."""
    unvisited: float
    """The completed Q of children without visits."""
    highest: float
    """The greatest sigma(Q): taken off before `exp`."""
    mass: float
    """The sum of P exp(sigma(Q) - highest)."""


@compiled
class Gumbel(NamedTuple):
    """The selection rule of Gumbel AlphaZero, for trees that start anew with every move.

    Rewards are in [0, 1], as in the paper, whose c_visit is 50 and c_scale 1 (for Go and chess).
    """

    assessor: Any = Indifferent()
    c_visit: float = 50.0
    c_scale: float = 1.0
    considered: int = 16
    simulations: int = 16
    table: NDArray[np.int32] = np.zeros((1, 1), np.int32)
    """See `considered_visits`."""
    priors: NDArray[np.float64] = np.zeros(1)
    """``(num_actions(),)``: scratch space."""

    update = no_update
    needs_moves = no_moves
    tries_all_first = scored_first
    new_extras = new_evaluated_extras
    initialise = take_priors

    def with_memory(self, game: Any) -> "Gumbel":
        return self._replace(
            table=considered_visits(self.considered, self.simulations),
            priors=np.zeros(game.num_actions()),
        )

    def prepare(self, tree: Tree, node: int) -> Improvement:
        extras = tree.extras
        first = tree.first_child[node]
        last = first + tree.child_count[node]
        total = most = 0
        prior = mean = 0.0  # of the visited children
        for child in range(first, last):
            visits = tree.visits[child] + extras.pending[child]
            if visits > 0:
                total += visits
                most = max(most, visits)
                prior += extras.prior[child]
                mean += extras.prior[child] * mean_reward(tree, child, 0.0)
        unvisited = extras.worth[node]
        if prior > 0.0:
            unvisited = (unvisited + total * mean / prior) / (1.0 + total)
        scale = (self.c_visit + most) * self.c_scale
        highest = 0.0
        for child in range(first, last):
            highest = max(highest, scale * mean_reward(tree, child, unvisited))
        mass = 0.0
        for child in range(first, last):
            merit = scale * mean_reward(tree, child, unvisited)
            mass += (extras.prior[child] + SMALLEST) * math.exp(merit - highest)
        considered = -1
        if node == ROOT:
            row = self.table[min(self.table.shape[0] - 1, last - first)]
            considered = row[min(total, row.size - 1)]
        return Improvement(considered, total, scale, unvisited, highest, mass)

    def score(self, tree: Tree, child: int, prepared: Improvement) -> float:
        visits = tree.visits[child] + tree.extras.pending[child]
        if prepared.considered >= 0:
            if visits == prepared.considered:
                return self.merit(tree, child, prepared)
            # Its turn comes where all that are considered are proven losses, and left out.
            return tree.extras.prior[child] - FAR * abs(visits - prepared.considered)
        return self.improved(tree, child, prepared) - visits / (1.0 + prepared.total)

    def merit(self, tree: Tree, child: int, prepared: Improvement) -> float:
        """Noise + logit + sigma(Q) of a child of the root."""
        value = mean_reward(tree, child, prepared.unvisited)
        logit = math.log(tree.extras.prior[child] + SMALLEST)
        return tree.extras.noise[child] + logit + prepared.scale * value

    def improved(self, tree: Tree, child: int, prepared: Improvement) -> float:
        """Pi' of a child."""
        merit = prepared.scale * mean_reward(tree, child, prepared.unvisited)
        prior = tree.extras.prior[child] + SMALLEST
        return prior * math.exp(merit - prepared.highest) / prepared.mass

    def stir(self, tree: Tree, noise: NDArray[np.float64]) -> None:
        """Give the root's children their Gumbel noise; see `PUCT.stir`."""
        first = tree.first_child[ROOT]
        for child in range(first, first + tree.child_count[ROOT]):
            tree.extras.noise[child] = noise[tree.action[child]]

    def judge_root(self, tree: Tree, policy: NDArray[np.float32]) -> int:
        """Write the improved policy; see `PUCT.judge_root`.

        Returns:
            Of the children with the most visits the one with the highest score; proven wins come
            before all others, proven losses after them.
        """
        prepared = self.prepare(tree, ROOT)
        first = tree.first_child[ROOT]
        last = first + tree.child_count[ROOT]
        best = first
        for child in range(first, last):
            policy[tree.action[child]] = self.improved(tree, child, prepared)
            more = standing(tree, child) - standing(tree, best)
            if more == 0:
                more = tree.visits[child] - tree.visits[best]
            better = self.merit(tree, child, prepared) > self.merit(tree, best, prepared)
            if more > 0 or (more == 0 and better):
                best = child
        return best
