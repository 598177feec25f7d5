"""What patterns are worth: the published table, and tables of one's own."""

import os
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agents.core.reading import read_object
from hexenv.games.gomoku.patterns import PATTERNS

PUBLISHED_WORTH: Final = {
    "one": 1,
    "open_one": 10,
    "two": 10,
    "open_two": 100,
    "three": 100,
    "broken_three": 1_000,
    "open_three": 1_000,
    "four": 10_000,
    "double_four": 100_000,
    "open_four": 100_000,
    "five": 10_000_000,
}
"""The table of RHMCTS (Zhang and Xie 2019, README). It knows no gaps: a broken three counts as the
open three, and fours twice in a line as the open four, which they answer to."""


def worth_array(worth: dict[str, int]) -> NDArray[np.int64]:
    """``(len(PATTERNS),)``: what the classes are worth; those that are not named, nothing.

    Raises:
        ValueError: If there is no such class, or its worth is no whole number from 0 to 10^9.
    """
    array = np.zeros(len(PATTERNS), np.int64)
    for name, value in worth.items():
        if name not in PATTERNS:
            raise ValueError(f"expected a pattern of {', '.join(PATTERNS)}, got {name!r}")
        if type(value) is not int or not 0 <= value <= 10**9:
            raise ValueError(f"expected a whole number from 0 to 10^9 for {name}, got {value!r}")
        array[PATTERNS.index(name)] = value
    array.setflags(write=False)
    return array


PUBLISHED: Final = worth_array(PUBLISHED_WORTH)


def load_worth(path: str | os.PathLike[str]) -> NDArray[np.int64]:
    """Read a table from a JSON file: an object such as ``{"open_three": 1000, "four": 500}``.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is no such object, or `path` is no path.
    """
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"expected the path of a file of patterns, got {path!r}")
    found = read_object(path)
    try:
        return worth_array(found)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None
