"""Directories of records, one file for each game of a match: ``000001.json``."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agents.records.files import save_record
from agents.records.record import GameRecord
from agents.records.recorder import Recorder

if TYPE_CHECKING:
    from agents.arena.match import GameResult

MOST_FILES: Final = 999_999
"""Of a directory; their names have six digits."""


def record_files(path: Path) -> list[Path]:
    """The records in a directory, without those that are only being written."""
    return sorted(file for file in path.glob("*.json") if not file.name.startswith("."))


class RecordDirectory:
    """Where the records of some games are kept.

    Args:
        path: The directory; it is made, but not what it would be in.
        games: How many games there may be.

    Raises:
        OSError: If it cannot be made.
        ValueError: If there are too many games.
    """

    def __init__(self, path: str | os.PathLike[str], games: int) -> None:
        if games > MOST_FILES:
            raise ValueError(f"expected at most {MOST_FILES} games to record, got {games}")
        self._path = Path(path)
        self._path.mkdir(exist_ok=True)

    def file(self, number: int) -> Path:
        """The file of a game by its number, from 1."""
        return self._path / f"{number:06}.json"

    def known(self) -> Iterator[tuple[int, Path]]:
        """The games that have a file, by number."""
        for path in record_files(self._path):
            if re.fullmatch(r"\d{6}", path.stem):
                yield int(path.stem), path

    def check_empty(self) -> None:
        """Refuse a directory in which there are records.

        Raises:
            ValueError: Naming the first.
        """
        for _, path in self.known():
            raise ValueError(
                f"expected a directory without records, got {path} in it (name another)"
            )

    def save(self, number: int, record: GameRecord) -> None:
        """Write the record of a game.

        Raises:
            OSError: If it cannot be written.
        """
        save_record(record, self.file(number))


class MatchRecords:
    """The records of a match, in a directory where there are none yet.

    Args:
        path: The directory.
        recorder: Whose `on_move` sees the moves.
        games: How many games the match has.
        seed: Of the match.

    Raises:
        OSError: If the directory cannot be made.
        ValueError: If there are records in it, or too many games.
    """

    def __init__(
        self, path: str | os.PathLike[str], recorder: Recorder, games: int, seed: int
    ) -> None:
        self._directory = RecordDirectory(path, games)
        self._directory.check_empty()
        self._recorder, self._seed, self._count = recorder, seed, 0
        self.on_move = recorder.on_move

    def add(self, result: "GameResult") -> None:
        """Write the record of the game that has just been played.

        Raises:
            OSError: If it cannot be written.
        """
        record = self._recorder.record(result, seed=self._seed + self._count)
        self._count += 1
        self._directory.save(self._count, record)
