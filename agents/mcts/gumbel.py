"""Gumbel AlphaZero: a search that improves a policy with few simulations (Danihelka et al. 2022).

The root's actions are drawn without replacement (the highest of logit + Gumbel noise). Q is
completed for unvisited actions by a mix of the evaluator's value and the visited ones' (the paper's
appendix D). The improved policy is better in expectation, however few simulations there are.
"""

import math
import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import Statistics
from agents.core.options import NonNegative
from agents.mcts.evaluated_search import EvaluatedSearchAgent
from agents.planning.environment import View
from agents.search.evaluated import (
    best_proven_sign,
    mean_reward,
    new_evaluated_extras,
    proven_sign,
    take_evaluation,
    visits_and_pending,
)
from agents.search.evaluator import EvaluatorSource
from agents.search.proofs import proof_rank
from agents.search.selection import scored_first
from agents.search.simulation import part
from agents.search.tree import ROOT, Tree
from hexenv.common.options import Within

SMALLEST: float = 1e-30
"""Added to priors before their logarithm is taken."""
FAR: float = 1e12
"""Subtracted from the scores of actions that are not considered now."""


def halving_schedule(most: int, simulations: int) -> NDArray[np.int32]:
    """Sequential halving as a table: how many visits an action needs to be considered now.

    Row m of ``(most + 1, simulations)`` is for m considered actions: in simulation i, the best one
    of those with that many visits is tried.
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

    considered: int  # at the root: how many visits an action needs to be considered; elsewhere -1
    total: int  # visits of all children
    scale: float  # sigma(q) = scale * q
    unvisited: float  # the completed Q of children without visits
    highest: float  # the greatest sigma(Q): taken off before `exp`
    mass: float  # the sum of P exp(sigma(Q) - highest)
    leaves_out: bool  # at the root: whether proven losses are left out, as there are others


@part
class Gumbel(NamedTuple):
    """The selection rule of Gumbel AlphaZero, for trees that are new in every move.

    Rewards are in [0, 1], as in the paper, whose c_visit is 50 and c_scale 1 (for Go and chess).
    """

    c_visit: float = 50.0
    c_scale: float = 1.0
    considered: int = 16
    simulations: int = 16
    table: NDArray[np.int32] = np.zeros((1, 1), np.int32)  # see `halving_schedule`
    evaluation: NDArray[np.float64] = np.zeros(1)
    """``(num_actions() + 1,)``: the priors and the value of the leaf that is being expanded."""

    tries_all_first = scored_first
    new_extras = new_evaluated_extras
    initialise = take_evaluation
    count_visits = visits_and_pending

    def with_memory(self, game: Any) -> "Gumbel":
        table = halving_schedule(self.considered, self.simulations)
        return self._replace(table=table, evaluation=np.zeros(game.num_actions() + 1))

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> Improvement:
        return self.compute_improvement(tree, node, -1)

    def compute_improvement(self, tree: Tree, node: int, sign: int) -> Improvement:
        """What the scores of a node's children share; of those with this `proven_sign`, or above.

        At the root, proven losses are not among the actions that are considered, and their visits
        do not move the schedule of the others, unless there are no others.
        """
        extras = tree.extras
        first = tree.first_child[node]
        last = first + tree.child_count[node]
        total = most = lost = spent = 0  # `spent` visits went to proven losses
        prior = mean = 0.0  # of the visited children
        for child in range(first, last):
            visits = tree.visits[child] + extras.pending[child]
            if tree.proof[child] == -1:
                lost += 1
                spent += visits
            if visits > 0:
                total += visits
                most = max(most, visits)
                prior += extras.prior[child]
                mean += extras.prior[child] * mean_reward(tree, child, 0.0)
        unvisited = extras.raw_value[node]
        if prior > 0.0:
            unvisited = (unvisited + total * mean / prior) / (1.0 + total)
        scale = (self.c_visit + most) * self.c_scale
        highest = 0.0
        for child in range(first, last):
            if proven_sign(tree, child) >= sign:
                highest = max(highest, scale * mean_reward(tree, child, unvisited))
        mass = 0.0
        for child in range(first, last):
            if proven_sign(tree, child) >= sign:
                merit = scale * mean_reward(tree, child, unvisited)
                mass += (extras.prior[child] + SMALLEST) * math.exp(merit - highest)
        considered = -1
        leaves_out = bool(node == ROOT and 0 < lost < last - first)
        if not leaves_out:
            lost = spent = 0
        if node == ROOT:
            row = self.table[min(self.table.shape[0] - 1, last - first - lost)]
            considered = row[min(total - spent, row.size - 1)]
        return Improvement(considered, total, scale, unvisited, highest, mass, leaves_out)

    def score(self, tree: Tree, child: int, prepared: Improvement) -> float:
        visits = tree.visits[child] + tree.extras.pending[child]
        if prepared.leaves_out and tree.proof[child] == -1:
            return -math.inf
        if prepared.considered >= 0:
            if visits == prepared.considered:
                return self.merit(tree, child, prepared)
            # Its turn comes where no child has that many visits: some were proven to lose.
            return tree.extras.prior[child] - FAR * abs(visits - prepared.considered)
        return self.improved(tree, child, prepared) - visits / (1.0 + prepared.total)

    def merit(self, tree: Tree, child: int, prepared: Improvement) -> float:
        """Noise + logit + sigma(Q) of a child of the root."""
        value = mean_reward(tree, child, prepared.unvisited)
        logit = math.log(tree.extras.prior[child] + SMALLEST)
        return tree.extras.root_noise[child] + logit + prepared.scale * value

    def improved(self, tree: Tree, child: int, prepared: Improvement) -> float:
        """Pi' of a child."""
        merit = prepared.scale * mean_reward(tree, child, prepared.unvisited)
        prior = tree.extras.prior[child] + SMALLEST
        return prior * math.exp(merit - prepared.highest) / prepared.mass

    def add_root_noise(self, tree: Tree, noise: NDArray[np.float64]) -> None:
        """Give the root's children their Gumbel noise, ``(num_actions(),)``."""
        first = tree.first_child[ROOT]
        for child in range(first, first + tree.child_count[ROOT]):
            tree.extras.root_noise[child] = noise[tree.action[child]]

    def read_policy(self, tree: Tree, policy: NDArray[np.float32]) -> int:
        """Write the improved policy; returns the child to play, as `read_visit_shares` does.

        It is the one with the highest score of those with the most visits; proven wins come before
        all others, proven losses after them (`proof_rank`). Nothing else than the first of these
        three has a share of the policy.
        """
        sign = best_proven_sign(tree)
        prepared = self.compute_improvement(tree, ROOT, sign)
        first = tree.first_child[ROOT]
        last = first + tree.child_count[ROOT]
        best = first
        for child in range(first, last):
            if proven_sign(tree, child) == sign:
                policy[tree.action[child]] = self.improved(tree, child, prepared)
            more = proof_rank(tree, child) - proof_rank(tree, best)
            if more == 0:
                more = tree.visits[child] - tree.visits[best]
            better = self.merit(tree, child, prepared) > self.merit(tree, best, prepared)
            if more > 0 or (more == 0 and better):
                best = child
        return best


class GumbelOptions(TypedDict, total=False):
    """What Gumbel's search takes of the parameters of `TreeSearchAgent`."""

    solver: str
    max_nodes: int
    threats: bool
    route: str
    seed: int | None
    assume: str | None
    knowledge: str | None
    knowledge_at: int


class GumbelAgent(EvaluatedSearchAgent):
    r"""Sequential halving at the root, improved policies below it (Danihelka et al. 2022).

    Formula:
        $$\text{at the root: } g + \ln\, P + \sigma(Q)$$

        $$\text{below it: } \pi' - \frac{n}{1 + \sum_b n_b} \qquad \pi' \propto P\, e^{\sigma(Q)}$$

        $$\sigma(Q) = \left(c_\mathit{visit} + \max_b\, n_b\right) c_\mathit{scale}\, Q$$

        $P$ is the policy's prior, $g$ its Gumbel noise (0 without `noise`), $n$ are visits, and $Q$
        is the mean reward, 0 to 1, or for a child without a visit a mix of the policy's value and
        of the means of its siblings. The $n_b$ are those of the child and its siblings. At the
        root, sequential halving gives the simulations to the children with the best score.

    Sources:
        Danihelka, Guez, Schrittwieser and Silver, "Policy improvement by planning with Gumbel",
        ICLR 2022.

    Args:
        simulations: Simulations a move, which are planned ahead: there is no budget in seconds.
        considered: How many actions are considered at the root.
        c_visit: Visits added to the most visited child's in the formula.
        c_scale: The scale of the mean rewards.
        noise: Scale of the Gumbel noise: 1 in self-play, 0 for the strongest play.
        **options: Those of `GumbelOptions`; see `TreeSearchAgent`.
    """

    name = "gumbel"

    def __init__(
        self,
        policy: EvaluatorSource,
        simulations: Annotated[int, Within(1, 1_000_000)] = 16,
        considered: Annotated[int, Within(1, 1024)] = 16,
        c_visit: NonNegative = 50.0,
        c_scale: NonNegative = 1.0,
        noise: NonNegative = 0.0,
        batch: int = 1,
        **options: Unpack[GumbelOptions],
    ) -> None:
        self.noise = noise
        rule = Gumbel(c_visit, c_scale, considered, simulations)
        super().__init__(policy, rule, simulations, None, batch, reuse=False, **options)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Raise a `ValueError`: every search starts a new tree."""
        raise ValueError(f"expected no tree (Gumbel's search starts anew every move), got {path}")

    def draw_noise(self, rng: np.random.Generator, num_actions: int) -> NDArray[np.float64] | None:
        return self.noise * rng.gumbel(size=num_actions) if self.noise else None

    def choose_action(
        self,
        view: View,
        trees: Sequence[Tree],
        rng: np.random.Generator,
        find_statistics: Callable[[], Statistics],
    ) -> int:
        rule: Any = self.variant.selection
        policy = np.zeros(view.game.num_actions(), np.float32)
        return int(trees[0].action[rule.read_policy(trees[0], policy)])
