"""The file that keeps the ratings of a policy beside anchors."""

import os
from pathlib import Path
from typing import Final

from agents.arena.ratings import Rating
from agents.core.reading import read_objects
from agents.core.structured import to_structure
from hexenv.common.messages import error_in

RATINGS: Final = "ratings.jsonl"


def read_ratings(folder: str | os.PathLike[str]) -> list[Rating]:
    """The ratings in a folder by step; none if there is no file.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is damaged, with its path and line.
    """
    path = Path(folder) / RATINGS
    if not path.exists():
        return []
    found: list[Rating] = []
    for number, line in enumerate(read_objects(path), 1):
        try:
            found.append(to_structure(line, Rating, complete=True))
        except ValueError as error:
            raise error_in(f"{path}:{number}", error) from None
    return found
