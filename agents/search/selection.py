"""Selection rules: which child a simulation goes down to.

The heart of a rule are two methods: `prepare` computes what all children of a node share, once a
visit; `score` is called for every child, and the highest score wins. A rule that keeps more than
the tree does brings arrays of its own (`new_extras`, `with_memory`), fills them for new children
(`initialise`) and learns from every simulation (`update`).
"""

import math
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.search.simulation import Simulation, no_memory, no_moves, no_update
from agents.search.tree import Tree
from hexenv.compiled import compiled, kernel

SQRT_LOGS: Final = np.sqrt(np.log(np.maximum(np.arange(4096), 1)))
"""sqrt(ln n) of small n, as most visit counts are: a logarithm takes as long as a ply."""


class Selection(Protocol):
    """What a selection rule offers."""

    def prepare(self, tree: Tree, node: int) -> Any:
        """The part of the score that all children of `node` share."""
        ...

    def score(self, tree: Tree, child: int, prepared: Any) -> float:
        """How much a simulation wants to go down to `child`."""
        ...

    def tries_all_first(self) -> bool:
        """Whether a node's children are all visited, in random order, before any is scored."""
        ...

    def initialise(self, game: Any, state: Any, tree: Tree, node: int) -> None:
        """Prepare the new children of `node`, whose position is `state`."""
        ...

    def update(self, tree: Tree, simulation: Simulation) -> None:
        """Learn from a simulation, which the nodes of its path have counted by now."""
        ...

    def needs_moves(self) -> bool:
        """Whether `update` reads the moves of the playouts."""
        ...

    def new_extras(self, max_nodes: int) -> Any:
        """Arrays ``(max_nodes,)`` for `Tree.extras`, as a NamedTuple. Plain Python."""
        ...

    def with_memory(self, game: Any) -> Any:
        """The rule with the arrays it needs for a game, empty. Plain Python."""
        ...


@kernel
def sqrt_log(count: int) -> float:
    """sqrt(ln n) of a visit count."""
    if count < SQRT_LOGS.size:
        return SQRT_LOGS[count]
    return math.sqrt(math.log(count))


# ---- what a rule does where it has nothing to say ------------------------------------------------


@kernel
def no_initialise(self: Any, game: Any, state: Any, tree: Tree, node: int) -> None:
    """New children need nothing."""


def no_extras(self: Any, max_nodes: int) -> Any:
    """Nothing besides what the tree keeps."""
    return ()


@kernel
def all_first(self: Any) -> bool:
    """Every child is visited once before any is scored."""
    return True


@kernel
def scored_first(self: Any) -> bool:
    """Children are scored before they are visited: `score` knows what to say of them."""
    return False


# ---- the rules -----------------------------------------------------------------------------------


@compiled
class UCB1(NamedTuple):
    """Upper confidence bound: mean reward + c * sqrt(ln N / n).

    N and n are the visits of the node and of the child, rewards are in [0, 1] (Auer, Cesa-Bianchi
    and Fischer 2002, section 2; on trees: Kocsis and Szepesvari 2006). Theory asks for c = sqrt(2),
    practice likes 0.3 (Hex) to 1 (Connect4). `fpu`, the first-play urgency, is the score of a child
    that has not been visited (Gelly and Wang 2006); infinite: all are visited first.
    """

    c: float = 1.0
    fpu: float = math.inf

    update = no_update
    needs_moves = no_moves
    new_extras = no_extras
    with_memory = no_memory

    def tries_all_first(self) -> bool:
        return self.fpu == math.inf

    def initialise(self, game: Any, state: Any, tree: Tree, node: int) -> None:
        if self.fpu < math.inf:
            first = tree.first_child[node]
            for child in range(first, first + tree.child_count[node]):
                tree.value[child] = self.fpu  # until the first visit replaces it

    def prepare(self, tree: Tree, node: int) -> float:
        return self.c * sqrt_log(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        return tree.value[child] + prepared * tree.spread[child]


class SquaresExtras(NamedTuple):
    """What `UCB1Tuned` keeps."""

    squares: NDArray[np.float64]
    """The mean of the squared rewards."""


@compiled
class UCB1Tuned(NamedTuple):
    """UCB1 with a bound on the variance: mean + c * sqrt(ln N / n * min(cap, V)).

    V is the variance of the child's rewards plus sqrt(2 ln N / n) (Auer, Cesa-Bianchi and Fischer
    2002, section 4). The cap 1/4 is the greatest variance of rewards in [0, 1]; with rewards of 0
    and 1 it binds nearly always, and the rule is then UCB1 with c / 2.
    """

    c: float = 1.0
    variance_cap: float = 0.25

    needs_moves = no_moves
    tries_all_first = all_first
    with_memory = no_memory

    def new_extras(self, max_nodes: int) -> SquaresExtras:
        return SquaresExtras(np.empty(max_nodes, np.float64))

    def initialise(self, game: Any, state: Any, tree: Tree, node: int) -> None:
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            tree.extras.squares[child] = 0.0

    def prepare(self, tree: Tree, node: int) -> float:
        return sqrt_log(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        mean = tree.value[child]
        width = prepared * tree.spread[child]
        variance = tree.extras.squares[child] - mean * mean + math.sqrt(2.0) * width
        return mean + self.c * width * math.sqrt(min(self.variance_cap, variance))

    def update(self, tree: Tree, simulation: Simulation) -> None:
        squares = tree.extras.squares
        for i in range(simulation.depth[0]):
            node = simulation.path[i]
            reward = simulation.rewards[i]
            squares[node] += (reward * reward - squares[node]) / tree.visits[node]


@compiled
class Evenly(NamedTuple):
    """The child with the fewest visits: the same share for all."""

    weight: float = 1.0

    update = no_update
    needs_moves = no_moves
    tries_all_first = all_first
    initialise = no_initialise
    new_extras = no_extras
    with_memory = no_memory

    def prepare(self, tree: Tree, node: int) -> float:
        return self.weight

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        return -prepared * tree.visits[child]
