"""The search tree: parallel arrays over nodes.

A node stands for the edge that leads to it, and its statistics are kept from the view of the player
who chooses that edge. The children of a node are neighbours in the arrays, in random order.
"""

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled, copy_entry, inlined_kernel

ROOT: Final = 0
NODE_NUMBERS: Final = ("first_child", "parents")
"""The arrays that hold numbers of nodes."""
UNPROVEN: Final = 2
"""The proof of a node whose outcome is not known."""
MORE_TO_COME: Final = -1
"""See `Tree.first_child`."""


@compiled
class Tree(NamedTuple):
    """A tree of at most ``len(action)`` nodes (N); node 0 is the root."""

    first_child: NDArray[np.int32]
    """``(N,)``: the first of the node's children; or `MORE_TO_COME` in the last child of a node
    that has more actions than children. It is not visited before its parent has got the others."""
    child_count: NDArray[np.int32]
    """``(N,)``: how many children it has; 0 until it is expanded, and where the game is over."""
    action: NDArray[np.int32]
    """``(N,)``: the action that leads to the node."""
    visits: NDArray[np.int32]
    """``(N,)``: simulations through the node. The root starts with one."""
    value: NDArray[np.float64]
    """``(N,)``: their mean reward, 0 to 1, for the player who chose the node; or what the
    variant's backup puts in its place."""
    spread: NDArray[np.float64]
    """``(N,)``: 1 / sqrt(visits), to which the standard error of `value` is proportional. It is
    kept because selection rules read it for every child."""
    proof: NDArray[np.int8]
    """``(N,)``: the outcome with perfect play, -1, 0 or 1 for the player who chose the node (of the
    root: the player who is not to move), or `UNPROVEN`."""
    plies_left: NDArray[np.int16]
    """``(N,)``: of a proven node, the plies to the end by the shortest win and the longest loss
    that are known; where knowledge has proven it, at least so many."""
    node_count: NDArray[np.int32]
    """``(1,)``: nodes in use."""
    extras: Any = ()
    """The selection rule's own NamedTuple of arrays ``(N,)``, or an empty tuple."""
    backed_up: Any = ()
    """That of the backup."""


def new_tree(max_nodes: int, extras: Any = (), backed_up: Any = ()) -> Tree:
    """An empty tree. Memory is touched only as nodes come into use."""
    return Tree(
        first_child=np.empty(max_nodes, np.int32),
        child_count=np.empty(max_nodes, np.int32),
        action=np.empty(max_nodes, np.int32),
        visits=np.empty(max_nodes, np.int32),
        value=np.empty(max_nodes, np.float64),
        spread=np.empty(max_nodes, np.float64),
        proof=np.empty(max_nodes, np.int8),
        plies_left=np.zeros(max_nodes, np.int16),
        node_count=np.zeros(1, np.int32),
        extras=extras,
        backed_up=backed_up,
    )


@inlined_kernel
def add_node(tree: Tree, action: int, visits: int) -> None:
    """Add a node after the last one."""
    node = tree.node_count[0]
    tree.first_child[node] = 0
    tree.child_count[node] = 0
    tree.action[node] = action
    tree.visits[node] = visits
    tree.value[node] = 0.0
    tree.spread[node] = 0.0
    tree.proof[node] = UNPROVEN
    tree.node_count[0] = node + 1


@inlined_kernel
def copy_node(tree: Tree, node: int, into: int) -> None:
    """Copy all that is kept of a node over another one."""
    tree.first_child[into] = tree.first_child[node]
    tree.child_count[into] = tree.child_count[node]
    tree.action[into] = tree.action[node]
    tree.visits[into] = tree.visits[node]
    tree.value[into] = tree.value[node]
    tree.spread[into] = tree.spread[node]
    tree.proof[into] = tree.proof[node]
    tree.plies_left[into] = tree.plies_left[node]
    copy_entry(tree.extras, node, into)
    copy_entry(tree.backed_up, node, into)


@inlined_kernel
def record_visit(tree: Tree, node: int, reward: float) -> None:
    """Count one more simulation through a node."""
    tree.visits[node] += 1
    share = 1.0 / tree.visits[node]
    tree.value[node] += (reward - tree.value[node]) * share
    tree.spread[node] = math.sqrt(share)


# ---- plain Python --------------------------------------------------------------------------------


def children(tree: Tree, node: int) -> slice:
    """The places of a node's children in the arrays."""
    first = int(tree.first_child[node])
    return slice(first, first + int(tree.child_count[node]))


def child_by_action(tree: Tree, node: int, action: int) -> int | None:
    """The child that an action leads to, or None."""
    below = children(tree, node)
    found = np.flatnonzero(tree.action[below] == action)
    return below.start + int(found[0]) if len(found) else None


def node_arrays(tree: Tree) -> dict[str, NDArray[Any]]:
    """The arrays over nodes by name, with those that parts keep; not copies."""
    arrays = cast("dict[str, NDArray[Any]]", tree._asdict())
    del arrays["node_count"], arrays["extras"], arrays["backed_up"]
    kept = extra_arrays("extras", tree.extras) | extra_arrays("backed_up", tree.backed_up)
    return arrays | kept


def number_arrays(tree: Tree) -> tuple[NDArray[np.int32], ...]:
    """Those of `node_arrays` that hold numbers of nodes."""
    arrays = node_arrays(tree)
    return tuple(arrays[name] for name in arrays if name.rpartition(".")[2] in NODE_NUMBERS)


def extra_arrays(prefix: str, extras: Any) -> dict[str, NDArray[Any]]:
    """The arrays in a NamedTuple of arrays, or of more such, by name."""
    found: dict[str, NDArray[Any]] = {}
    for name, value in cast("dict[str, Any]", extras._asdict() if extras else {}).items():
        path = f"{prefix}.{name}"
        found |= extra_arrays(path, value) if isinstance(value, tuple) else {path: value}
    return found


def nodes_below(tree: Tree, node: int) -> NDArray[np.int64]:
    """A node and all below it, from the top to the bottom."""
    parents = np.array([node], np.int64)
    kept = [parents]
    while len(parents):
        firsts, counts = tree.first_child[parents], tree.child_count[parents]
        ends = np.cumsum(counts)
        shifts = cast("NDArray[np.int64]", np.repeat(firsts - ends + counts, counts))
        parents = shifts + np.arange(int(ends[-1]), dtype=np.int64)
        kept.append(parents)
    return np.concatenate(kept)


def arrays_of(tree: Tree, nodes: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays over some nodes of a tree, a root and all below it, by name; copies."""
    place = np.zeros(int(tree.node_count[0]), np.int32)
    place[nodes] = np.arange(len(nodes))
    for name, array in node_arrays(tree).items():
        found = array[nodes]
        if name.rpartition(".")[2] in NODE_NUMBERS:
            places = place.take(found, mode="clip")  # the root's own parent is any number
            found = np.where(found == MORE_TO_COME, found, places)
        yield name, found


def keep_subtree(tree: Tree, node: int) -> None:
    """Make a node the root, and remove all nodes that are not below it."""
    nodes = nodes_below(tree, node)
    nodes[1:].sort()  # siblings stay neighbours
    arrays = node_arrays(tree)
    for name, kept in arrays_of(tree, nodes):
        arrays[name][: len(nodes)] = kept
    tree.node_count[0] = len(nodes)


def first_nodes(arrays: Any, count: int) -> Any:
    """A tree, or a part of it, with its first nodes alone; not copies."""
    parts = (
        first_nodes(part, count) if isinstance(part, tuple) else part[:count] for part in arrays
    )
    return type(arrays)(*parts)


def copy_nodes(source: Tree, into: Tree) -> None:
    """Copy all nodes to a tree that has room for them."""
    count = int(source.node_count[0])
    for array, target in zip(node_arrays(source).values(), node_arrays(into).values(), strict=True):
        target[:count] = array[:count]
    into.node_count[0] = count
