"""UCB-V: a bound by the variance of the rewards (Audibert, Munos and Szepesvari 2009)."""

import math
from typing import NamedTuple

import numpy as np

from agents.mcts.ucb1_tuned import UCB1Tuned
from agents.search.simulation import part
from agents.search.tree import Tree


@part
class UCBV(NamedTuple):
    """Mean + sqrt(2 v e / n) + 3 c e / n, where v is the variance and e = zeta ln N."""

    zeta: float = 0.5
    c: float = 0.3

    # The mean of the squared rewards, kept for every node as UCB1-Tuned does.
    new_extras, initialise = UCB1Tuned.new_extras, UCB1Tuned.initialise
    update = UCB1Tuned.update

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> float:
        return self.zeta * math.log(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        mean, share = tree.value[child], prepared / tree.visits[child]
        variance = max(tree.extras.squares[child] - mean * mean, 0.0)
        return mean + math.sqrt(2.0 * variance * share) + 3.0 * self.c * share
