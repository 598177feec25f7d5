"""Search trees in files: ``npz`` without pickle, with a version, checked when they are read."""

import json
import os
import zipfile
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.files import replacing
from agents.search.mcts import Variant
from agents.search.tree import NODE_NUMBERS, Tree, new_tree, node_arrays
from hexenv.games import base, notation

FORMAT: Final = "hexenv-tree"
VERSION: Final = 1


class SavedTrees(NamedTuple):
    """Trees over one position, as an agent saved them."""

    game: str
    parameters: dict[str, Any]
    """The game's, by name."""
    actions: tuple[int, ...]
    """From the start of the game to the position."""
    position: bytes
    """The position, of `hexenv.games.notation.to_bytes`."""
    trees: list[Tree]


def describe(part: Any) -> Any:
    """A variant in words and numbers, without its memory: what has to agree to use a tree."""
    if hasattr(part, "_fields"):
        fields = {name: describe(value) for name, value in part._asdict().items()}
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
    """Write trees to a file, under a temporary name until it is whole.

    Raises:
        OSError: If the file cannot be written; one that was there is as it was.
    """
    about = {
        "format": FORMAT,
        "version": VERSION,
        "game": game.name,
        "parameters": base.parameters(game),
        "actions": [int(action) for action in actions],
        "variant": describe(variant),
        "trees": len(trees),
    }
    arrays: dict[str, NDArray[Any]] = {
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
        "position": np.frombuffer(notation.to_bytes(game, root), np.uint8),
    }
    for number, tree in enumerate(trees):
        count = int(tree.node_count[0])
        for name, array in node_arrays(tree).items():
            arrays[f"{number}.{name}"] = array[:count]
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_trees(path: str | os.PathLike[str], variant: Variant) -> SavedTrees:
    """Read trees of a variant.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is no such file, damaged, of another version or of another variant.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays: dict[str, NDArray[Any]] = {name: file[name] for name in file.files}
            about = json.loads(arrays["about"].tobytes())
            expect(path, "format", FORMAT, about["format"])
            expect(path, "format version", VERSION, about["version"])
            expect(path, "search", describe(variant), about["variant"])
            trees = [_tree(arrays, number, variant) for number in range(int(about["trees"]))]
            return SavedTrees(
                str(about["game"]),
                dict(about["parameters"]),
                tuple(map(int, about["actions"])),
                arrays["position"].tobytes(),
                trees,
            )
    except (KeyError, TypeError, EOFError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise ValueError(f"expected a saved tree in {path}, got damaged data: {error}") from None
    except ValueError as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"expected a saved tree in {path}, got damaged data: {error}") from None


def expect(path: Any, what: str, expected: Any, found: Any) -> None:
    """Refuse a file that is not of this kind.

    Raises:
        ValueError: Naming the file, what was expected and what came.
    """
    if found != expected:
        raise ValueError(f"{path}: expected the {what} {expected}, got {found}")


def _tree(arrays: dict[str, NDArray[Any]], number: int, variant: Variant) -> Tree:
    """One of the trees in a file.

    Raises:
        ValueError: If it is not a tree.
    """
    count = len(arrays[f"{number}.action"])
    tree = new_tree(max(count, 1), variant.selection.new_extras(max(count, 1)))
    for name, array in node_arrays(tree).items():
        found = arrays[f"{number}.{name}"]
        if found.shape != (count,) or found.dtype != array.dtype:
            raise ValueError(f"{name} is {found.dtype} {found.shape}")
        array[:count] = found
    tree.node_count[0] = count
    firsts, counts = tree.first_child[:count], tree.child_count[:count]
    inner = counts > 0
    nodes = np.arange(count)
    sound = (
        count > 0
        and bool((counts >= 0).all())
        and bool((firsts[inner] > nodes[inner]).all())
        and bool((firsts[inner].astype(np.int64) + counts[inner] <= count).all())
        and int(counts.sum()) == count - 1  # each node but the root is the child of one
        and bool((tree.visits[:count] >= 0).all())
        and bool(np.isfinite(tree.value[:count]).all() and np.isfinite(tree.spread[:count]).all())
        and bool(np.isin(tree.proof[:count], (-1, 0, 1, 2)).all())
    )
    for name, array in node_arrays(tree).items():
        if name in NODE_NUMBERS and name != "first_child":
            array[0] = 0
            sound = sound and bool(((array >= 0) & (array < count)).all())
    if not sound:
        raise ValueError("the nodes do not form a tree")
    return tree
