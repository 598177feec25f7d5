"""KL-UCB: the highest mean that the rewards do not contradict (Garivier and Cappe 2011)."""

import math
from typing import NamedTuple

import numpy as np

from agents.search.simulation import part
from agents.search.tree import Tree


@part
class KLUCB(NamedTuple):
    """The greatest q with n KL(mean, q) <= c ln N, where KL is that of Bernoulli variables."""

    c: float = 0.5

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> float:
        return self.c * math.log(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        mean = min(max(tree.value[child], 1e-9), 1.0 - 1e-9)
        low, high = mean, 1.0
        for _ in range(20):
            q = 0.5 * (low + high)
            kl = mean * math.log(mean / q) + (1 - mean) * math.log((1 - mean) / (1 - q))
            within = kl * tree.visits[child] <= prepared
            low, high = (q, high) if within else (low, q)
        return low
