"""The loop under every alpha-beta of the project: depth first, over a stack of open nodes.

What a node is, and what a score of it, says the value under `@compiled` that the loop is given.
The loop is no recursion, so that it can stop at any node for a look at the clock and go on later.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import COMPILE_ERRORS, CompiledFunction, kernel

UNKNOWN: Final = -(2**20)
"""No score yet."""
DEPTH: Final = 0
NODES: Final = 1
"""Where a search's `control` has the depth it is at, and the nodes it has opened."""


class OpenNodes(Protocol):
    """The nodes from the root to where a search is, and all that it needs to go on."""

    @property
    def control(self) -> NDArray[np.int64]:
        """``(2,)``: see `DEPTH` and `NODES`."""
        ...

    def open_node(self, depth: int) -> Any:
        """Count a new node; its score, or `UNKNOWN` where its moves have to be tried."""
        ...

    def open_child(self, depth: int) -> None:
        """Write the position after the next move of a node into the row below it."""
        ...

    def close_child(self, depth: int, score: Any) -> Any:
        """Take the score of the child of a node; the node's score, or `UNKNOWN` to go on with it.

        Args:
            depth: Of the node.
            score: Of the child, as `open_node` and `close_child` gave it.
        """
        ...


@kernel
def search(nodes: Any, budget: int) -> Any:
    """Go on with a search until it is over, or has opened `budget` nodes more.

    Returns:
        The score of the root, or `UNKNOWN` if there is more to do.
    """
    control = nodes.control
    depth = int(control[DEPTH])
    end = int(control[NODES]) + budget
    while control[NODES] < end:
        score = nodes.open_node(depth)
        while score != UNKNOWN:
            if depth == 0:
                control[DEPTH] = 0
                return score
            depth -= 1
            score = nodes.close_child(depth, score)
        nodes.open_child(depth)
        depth += 1
    control[DEPTH] = depth
    return UNKNOWN


_lean_search: Final = CompiledFunction(search, allocates=False)
_search: Final = CompiledFunction(search)
_need_counts: Final[set[tuple[type, ...]]] = set()
"""Kinds of nodes whose code does not compile without counted references."""


def specialise(nodes: OpenNodes) -> Callable[[Any, int], Any]:
    """`search` as machine code for nodes of this kind.

    Without counted references to arrays it takes half the time. Code that makes arrays, such as a
    user's own game, needs them counted, and texts and generators would never be freed without.
    """
    kinds = tuple(_kinds(nodes))
    if kinds not in _need_counts and not {str, np.random.Generator}.intersection(kinds):
        try:
            return _lean_search.specialise(nodes, 1)
        except COMPILE_ERRORS:
            _need_counts.add(kinds)
    return _search.specialise(nodes, 1)


def _kinds(value: Any) -> Iterator[type]:
    """The types of a value and, within tuples, of their items."""
    yield type(value)
    if isinstance(value, tuple):
        for item in cast("tuple[Any, ...]", value):
            yield from _kinds(item)
