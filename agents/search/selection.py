"""Selection rules: which child a simulation goes down to, once all have been visited."""

import math
from typing import NamedTuple

from agents.search.tree import Tree
from hexenv.compiled import compiled


@compiled
class UCB1(NamedTuple):
    """Upper confidence bound: mean reward + c * sqrt(ln N / n)."""

    c: float = 1.0

    def prepare(self, tree: Tree, node: int) -> float:
        return self.c * math.sqrt(math.log(tree.visits[node]))

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        share = 1.0 / tree.visits[child]
        return tree.reward_sum[child] * share + prepared * math.sqrt(share)
