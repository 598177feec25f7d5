"""Selection rules: which child a simulation goes down to.

`prepare` computes, once a visit, what all children of a node share; `score` is called for every
child, and the highest wins. A rule that keeps more than the tree does has arrays of its own
(`new_extras`, `with_memory`), fills them for new children (`initialise`) and learns from every
simulation (`update`).
"""

import math
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from agents.search.simulation import Part, part
from agents.search.tree import Tree
from hexenv.compiled import inlined_kernel, kernel
from hexenv.games.base import Game, State

SQRT_LOGS: Final = np.sqrt(np.log(np.maximum(np.arange(4096), 1)))
"""sqrt(ln n) for n below 4096, as most visit counts are: a logarithm takes as long as a ply."""


class Selection(Part, Protocol):
    """What a selection rule offers besides."""

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> Any:
        """The part of the score that all children of `node` share; it is called once a visit.

        `rng` is the random stream of the search. A rule whose scores are drawn, as Thompson
        sampling, returns it too, for `score` to draw from, and has `tries_all_first` False.
        """
        ...

    def score(self, tree: Tree, child: int, prepared: Any) -> float:
        """The score of `child`; a simulation goes down to the child with the highest."""
        ...

    def tries_all_first(self) -> bool:
        """Whether a node's children are all visited, in random order, before any is scored.

        Then most children get nodes only shortly before their first visit, and nodes move: such a
        rule keeps no numbers of nodes. Its scores are compared eight at once, so some are computed
        twice, and may not be drawn. A rule that needs all children may score those without a visit
        infinite instead.
        """
        ...

    def initialise(self, game: Game, state: State, tree: Tree, node: int) -> None:
        """Prepare the new children of `node`, whose position is `state`.

        In the tree they are all its children then, though it may have others.
        """
        ...

    def new_extras(self, max_nodes: int) -> Any:
        """Arrays ``(max_nodes,)`` for `Tree.extras`, as a NamedTuple. Plain Python."""
        ...


@kernel
def wilson_interval(mean: Any, count: Any, z: float = 1.96) -> tuple[Any, Any]:
    """Confidence interval (Wilson 1927) of means of `count` numbers in [0, 1]: both of its ends.

    The quantile `z` of the normal distribution is that of 95 %.
    """
    centre = mean + z * z / (2 * count)
    half = z * np.sqrt(mean * (1 - mean) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return np.maximum((centre - half) / scale, 0.0), np.minimum((centre + half) / scale, 1.0)


@kernel
def sqrt_log(count: int) -> float:
    """sqrt(ln n) of a visit count."""
    if count < SQRT_LOGS.size:
        return SQRT_LOGS[count]
    return math.sqrt(math.log(count))


# ---- defaults for the methods that a rule does not need ------------------------------------------


@kernel
def scored_first(self: Any) -> bool:
    """`Selection.tries_all_first` of a rule that also scores children without a visit."""
    return False


# ---- a rule behind another one -------------------------------------------------------------------


@inlined_kernel
def inner_tree(tree: Tree) -> Tree:
    """The tree as the rule behind sees it, with ``extras.inner``; the same memory."""
    return Tree(
        tree.first_child,
        tree.child_count,
        tree.action,
        tree.visits,
        tree.value,
        tree.spread,
        tree.proof,
        tree.plies_left,
        tree.node_count,
        tree.extras.inner,
        tree.backed_up,
    )


# ---- the rule of UCT -----------------------------------------------------------------------------


@part
class UCB1(NamedTuple):
    """Upper confidence bound: mean reward + c * sqrt(ln N / n).

    N and n are the visits of the node and of the child, rewards are in [0, 1] (Auer, Cesa-Bianchi
    and Fischer 2002, section 2; on trees: Kocsis and Szepesvari 2006). Theory asks for c = sqrt(2),
    practice likes 0.3 (Hex) to 1 (Connect4). `fpu`, the first-play urgency, is the score of a child
    that has not been visited (Gelly and Wang 2006); infinite: all are visited first.

    Examples:
        >>> variant = UCT().variant._replace(selection=UCB1(c=0.7))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    c: float = 1.0
    fpu: float = math.inf

    def tries_all_first(self) -> bool:
        return self.fpu == math.inf

    def initialise(self, game: Game, state: State, tree: Tree, node: int) -> None:
        if self.fpu < math.inf:
            first = tree.first_child[node]
            for child in range(first, first + tree.child_count[node]):
                tree.value[child] = self.fpu  # until the first visit replaces it

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> float:
        return self.c * sqrt_log(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        return tree.value[child] + prepared * tree.spread[child]
