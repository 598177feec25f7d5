"""Thompson sampling with normal distributions (Agrawal and Goyal 2013), from the search's seed."""

import math
from typing import NamedTuple

import numpy as np

from agents.search.selection import no_extras, no_initialise, scored_first
from agents.search.simulation import no_memory, no_moves, no_update
from agents.search.tree import Tree
from hexenv.compiled import compiled


@compiled
class Thompson(NamedTuple):
    """A draw from N(mean, width ** 2 / (n + 1)) for every child; the highest is visited."""

    width: float = 0.5

    # Scores that are drawn are drawn once each: `scored_first`, and so without visits too.
    tries_all_first, needs_moves, update = scored_first, no_moves, no_update
    new_extras, initialise, with_memory = no_extras, no_initialise, no_memory

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> np.random.Generator:
        return rng  # for `score`

    def score(self, tree: Tree, child: int, prepared: np.random.Generator) -> float:
        radius = math.sqrt(-2.0 * math.log(1.0 - prepared.random()))  # Box and Muller 1958
        normal = radius * math.cos(2.0 * math.pi * prepared.random())
        return tree.value[child] + self.width * normal / math.sqrt(tree.visits[child] + 1.0)
