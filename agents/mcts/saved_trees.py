"""Search trees in files: ``npz`` without pickle, with a version, checked when they are read."""

import os
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.formats import Format, about_game
from agents.search.children import is_partial
from agents.search.tree import (
    MORE_TO_COME,
    ROOT,
    UNPROVEN,
    Tree,
    arrays_of,
    node_arrays,
    nodes_below,
)
from agents.search.variant import Variant, tree_for
from hexenv.compiled import CompiledFunction, kernel
from hexenv.games import base, notation

FORMAT: Final = Format("hexenv-tree", 4)
MOST_VISITS: Final = 2**30
"""The most visits of a node in a file: it can get as many again."""


class SavedTrees(NamedTuple):
    """Trees over one position, as an agent saved them."""

    game: str
    parameters: dict[str, Any]  # the game's, by name
    actions: tuple[int, ...]  # from the start of the game to the position
    position: bytes  # of `hexenv.games.notation.to_bytes`
    trees: list[Tree]
    path: str  # for messages

    def check_rules(self, game: Any, selection: Any, compiles: bool) -> Any:
        """The position of the trees, if they are of this game and keep its rules.

        Raises:
            ValueError: Naming the file.
        """
        of = (self.game, self.parameters)
        if of != (game.name, base.parameters(game)):
            raise ValueError(f"{self.path}: expected a tree of {game}, got one of {of[0]} {of[1]}")
        try:
            root = notation.from_bytes(game, self.position)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from error
        selection = selection.with_memory(game)
        check = compiled_first_breach.fitting(selection, compiles)
        for tree in self.trees:
            count = int(tree.node_count[0])
            # Only what `first_breach` writes is copied: the tree may be large.
            fresh = tree._replace(value=tree.value.copy(), extras=selection.new_extras(count))
            for name, array in node_arrays(fresh).items():
                if name.startswith("extras"):
                    array[:] = node_arrays(tree)[name]
            node = check(game, root, base.new_state(game), fresh, selection)
            if node == -1:  # what a rule keeps of a node in whole numbers does not change any more
                node = _changed_node(tree, fresh, count)
            if node != -1:
                raise ValueError(
                    f"{self.path}: expected what the rules of {game.name} allow, got something "
                    f"else at node {node} (damaged data?)"
                )
        return root


def _changed_node(tree: Tree, fresh: Tree, count: int) -> int:
    """The first node with other whole numbers in the extras; -1 if there is none."""
    node = -1
    for name, array in node_arrays(tree).items():
        if name.startswith("extras") and array.dtype.kind == "i":
            others = np.flatnonzero(array[1:count] != node_arrays(fresh)[name][1:count])
            node = max(node, int(others[0]) + 1 if len(others) else -1)
    return node


def describe(part: Any) -> Any:
    """A variant in words and numbers, without its memory; two equal ones can share a tree."""
    if hasattr(part, "_fields"):
        fields = {name: describe(value) for name, value in part._asdict().items()}
        fields.pop("knowledge", None)  # it changes what is searched, not the meaning of a tree
        known = {name: value for name, value in fields.items() if value is not None}
        return {"part": type(part).__name__, **known}
    return part if isinstance(part, (bool, int, float, str)) else None


def save_trees(
    path: str | os.PathLike[str],
    game: Any,
    root: Any,
    actions: Sequence[int],
    variant: Variant,
    trees: Sequence[Tree],
) -> None:
    """Write trees to a file, under a temporary name until it is whole."""
    arrays: dict[str, NDArray[Any]] = {
        "position": np.frombuffer(notation.to_bytes(game, root), np.uint8),
    }
    for number, tree in enumerate(trees):
        for name, array in arrays_of(tree, nodes_below(tree, ROOT)):
            arrays[f"{number}.{name}"] = array
    FORMAT.write_arrays(
        path,
        arrays,
        **about_game(game),
        actions=[int(action) for action in actions],
        variant=describe(variant),
        trees=len(trees),
    )


def load_trees(path: str | os.PathLike[str], variant: Variant, trees: int) -> SavedTrees:
    """Read so many trees that workers with this variant have saved; see `save_trees`."""
    about, arrays = FORMAT.read_arrays(path, finite=False)  # fpu may be infinite
    expect(path, *first_difference("variant", describe(variant), about.get("variant")))
    try:
        saved = SavedTrees(
            str(about["game"]),
            dict(about["parameters"]),
            tuple(map(int, about["actions"])),
            arrays["position"].tobytes(),
            [_tree(arrays, number, variant) for number in range(int(about["trees"]))],
            str(path),
        )
    except (KeyError, TypeError, OverflowError, ValueError) as error:
        raise ValueError(f"expected a saved tree, got a damaged {path}: {error}") from error
    expect(path, "number of trees", trees, len(saved.trees))
    return saved


def first_difference(name: str, expected: Any, found: Any) -> tuple[str, Any, Any]:
    """Where two descriptions differ first: its name, and what each has there."""
    if {type(expected), type(found)} != {dict}:
        return name, expected, found
    one, other = cast("dict[str, Any]", expected), cast("dict[str, Any]", found)
    for key in one | other:
        if one.get(key) != other.get(key):
            return first_difference(f"{name}.{key}", one.get(key), other.get(key))
    return name, one, other


def expect(path: Any, what: str, expected: Any, found: Any) -> None:
    """Refuse a file that is not of this kind."""
    if found != expected:
        raise ValueError(f"{path}: expected the {what} {expected}, got {found}")


def _tree(arrays: dict[str, NDArray[Any]], number: int, variant: Variant) -> Tree:
    """One of the trees in a file, checked."""
    count = len(arrays[f"{number}.action"])
    tree = tree_for(variant, max(count, 1))
    for name, array in node_arrays(tree).items():
        found = arrays.pop(f"{number}.{name}")  # so that memory holds it once
        if found.shape != (count, *array.shape[1:]) or found.dtype != array.dtype:
            raise ValueError(f"{name} is {found.dtype} {found.shape}")
        array[:count] = found
    tree.node_count[0] = count
    firsts, counts = tree.first_child[:count], tree.child_count[:count]
    if not (count > 0 and is_tree(firsts, counts)):
        raise ValueError("the nodes do not form a tree")
    visits, value = tree.visits[:count], tree.value[:count]
    lasts = (firsts + counts - 1)[counts > 0]
    partial = lasts[firsts[lasts] == MORE_TO_COME]
    seen = visits > 0
    sound = (
        bool((visits >= (counts > 0)).all())
        and not visits[partial].any()
        and int(visits.max()) <= MOST_VISITS
        and bool(np.isfinite(value).all())
        and bool(((value[seen] > -1e-9) & (value[seen] < 1 + 1e-9)).all())
        and bool(np.isin(tree.proof[:count], (-1, 0, 1, UNPROVEN)).all())
        and int(tree.plies_left[:count].min()) >= 0
        and all(bool(np.isfinite(array[1:count]).all()) for array in node_arrays(tree).values())
    )
    if not sound:
        raise ValueError("the nodes' statistics are out of range")
    firsts *= counts > 0
    firsts[partial] = MORE_TO_COME
    return tree


def is_tree(firsts: NDArray[np.int32], counts: NDArray[np.int32]) -> bool:
    """Whether each node but the first is the child of one node before it."""
    inner = np.flatnonzero(counts)
    inner = inner[np.argsort(firsts[inner])]
    ends = np.cumsum(counts[inner], dtype=np.int64) + 1
    return (
        bool((counts >= 0).all())
        and bool((firsts[inner] > inner).all())
        and bool((firsts[inner] == ends - counts[inner]).all())
        and int(ends[-1] if len(ends) else 1) == len(counts)
    )


@kernel
def first_breach(game: Any, root: Any, state: Any, tree: Tree, selection: Any) -> int:
    """The first node whose children are not legal actions of its position, or not all; -1: none.

    Values and extras of all nodes but the first are overwritten; `state` is one to work in.
    """
    nodes = tree.node_count[0]
    parents = np.zeros(nodes, np.int32)
    path = np.empty(nodes, np.int32)
    legal = np.empty(game.num_actions(), np.int32)
    seen = np.zeros(game.num_actions(), np.bool_)
    for node in range(nodes):
        first, count = tree.first_child[node], tree.child_count[node]
        if count == 0:
            continue
        depth = 0
        above = node
        while above != ROOT:
            path[depth] = tree.action[above]
            depth += 1
            above = parents[above]
        game.copy(root, state)
        for i in range(depth - 1, -1, -1):
            game.step(state, int(path[i]))
        known = game.legal_actions(state, legal)
        if known < count or (known > count) != is_partial(tree, node):
            return node
        seen[:] = False
        for child in range(first, first + count):
            action = tree.action[child]
            if not (legal[:known] == action).any() or seen[action]:
                return node
            seen[action] = True
        parents[first : first + count] = node
        selection.initialise(game, state, tree, node)
    return -1


compiled_first_breach: Final = CompiledFunction(first_breach, "the check of trees")
