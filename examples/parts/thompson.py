"""Thompson sampling with normal distributions (Agrawal and Goyal 2013), from the search's seed."""

import math
from typing import NamedTuple

import numpy as np

from agents.search.selection import scored_first
from agents.search.simulation import part
from agents.search.tree import Tree


@part
class Thompson(NamedTuple):
    """A draw from N(mean, width ** 2 / (n + 1)) for every child; the highest is visited."""

    width: float = 0.5

    # Scores that are drawn are drawn once each: `scored_first`, and so without visits too.
    tries_all_first = scored_first

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> np.random.Generator:
        return rng  # for `score`

    def score(self, tree: Tree, child: int, prepared: np.random.Generator) -> float:
        radius = math.sqrt(-2.0 * math.log(1.0 - prepared.random()))  # Box and Muller 1958
        normal = radius * math.cos(2.0 * math.pi * prepared.random())
        return tree.value[child] + self.width * normal / math.sqrt(tree.visits[child] + 1.0)
