"""Selection rules: which child a simulation goes down to, once all have been visited.

A rule has two methods: `prepare` computes what all children of a node share, once a visit; `score`
is called for every child, and the highest score wins. Another rule is another such class.
"""

import math
from typing import Final, NamedTuple, Protocol

import numpy as np

from agents.search.tree import Tree
from hexenv.compiled import compiled, kernel

SQRT_LOGS: Final = np.sqrt(np.log(np.maximum(np.arange(4096), 1)))
"""sqrt(ln n) of small n, as most visit counts are: a logarithm takes as long as a ply."""


class Selection(Protocol):
    """What a selection rule offers."""

    def prepare(self, tree: Tree, node: int) -> float:
        """The part of the score that all children of `node` share."""
        ...

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        """How much a simulation wants to go down to `child`, which has been visited before."""
        ...


@kernel
def sqrt_log(count: int) -> float:
    """sqrt(ln n) of a visit count."""
    if count < SQRT_LOGS.size:
        return SQRT_LOGS[count]
    return math.sqrt(math.log(count))


@compiled
class UCB1(NamedTuple):
    """Upper confidence bound: mean reward + c * sqrt(ln N / n).

    N and n are the visits of the node and of the child, rewards are in [0, 1] (Auer, Cesa-Bianchi
    and Fischer 2002, section 2; on trees: Kocsis and Szepesvari 2006). Theory asks for c = sqrt(2),
    practice likes 0.3 (Hex) to 1 (Connect4).
    """

    c: float = 1.0

    def prepare(self, tree: Tree, node: int) -> float:
        return self.c * sqrt_log(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        return tree.value[child] + prepared * tree.spread[child]
