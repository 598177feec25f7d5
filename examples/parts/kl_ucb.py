"""KL-UCB: the highest mean that the rewards do not contradict (Garivier and Cappe 2011)."""

import math
from typing import NamedTuple

import numpy as np

from agents.search.selection import all_first, no_extras, no_initialise
from agents.search.simulation import no_memory, no_moves, no_update
from agents.search.tree import Tree
from hexenv.compiled import compiled


@compiled
class KLUCB(NamedTuple):
    """The greatest q with n KL(mean, q) <= c ln N, where KL is that of Bernoulli variables."""

    c: float = 0.5

    tries_all_first, needs_moves, update = all_first, no_moves, no_update
    new_extras, initialise, with_memory = no_extras, no_initialise, no_memory

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
