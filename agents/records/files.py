"""Records in files: JSON, one file a game, checked when it is read; and directories of them.

A file that cannot be read or written is an `OSError`; anything but a record is a `ValueError`.
"""

import json
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from agents.core.files import write_text
from agents.core.formats import Format
from agents.core.reading import names_file, read_object
from agents.core.structured import WholeKey, convert, to_structure
from agents.records.record import GameRecord, Search, StartPosition
from agents.records.recorder import Recorder

if TYPE_CHECKING:  # a match imports records, never the reverse
    from agents.arena.match import GameResult

FORMAT: Final = Format("hexenv-game")
MOST_SEED: Final = (1 << 128) - 1
MOST_FILES: Final = 999_999
"""Of a directory; their names have six digits."""


# ---- writing -------------------------------------------------------------------------------------


def save_record(record: GameRecord, path: str | os.PathLike[str]) -> None:
    """Write a record as JSON; a file that is there is replaced.

    Raises:
        OSError: If it cannot be written; an earlier file is unchanged.
        ValueError: If the record contradicts the rules; nothing is written.
    """
    record.check()
    write_text(path, as_text(record))


def as_text(record: GameRecord) -> str:
    """A record as JSON: a line for each key, and for each search."""
    dump = partial(json.dumps, allow_nan=False, default=vars)
    about: dict[str, Any] = FORMAT.head(**vars(record))
    del about["searches"]
    for key, is_told in (("assumed", any(record.assumed)), ("start", record.start)):
        if not is_told:  # earlier versions do not know the key
            del about[key]
    lines = [f"{dump(key)}: {dump(value)}" for key, value in about.items()]
    searches = ",\n".join(map(dump, record.searches))
    lines.append(f'"searches": [\n{searches}\n]' if searches else '"searches": []')
    return "{\n" + ",\n".join(lines) + "\n}\n"


# ---- reading -------------------------------------------------------------------------------------


def load_record(path: str | os.PathLike[str]) -> GameRecord:
    """Read a record, and check it against the rules of its game.

    Nothing in it is executed or imported. The actions of a game that is not of `hexenv` are
    therefore checked by `GameRecord.replay` alone.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not a record; with the line or the key, and the reason.
    """
    record = load_unchecked(path)
    with names_file(path):
        record.check()
    return record


def load_unchecked(path: str | os.PathLike[str]) -> GameRecord:
    """Read a record without comparing it with the rules of its game, which takes time."""
    given = read_object(path)
    with names_file(path):
        return _from_object(given)


def record_of(given: dict[str, Any]) -> GameRecord:
    """The record of a JSON object, checked against the rules; ValueError if it is none."""
    record = _from_object(given)
    record.check()
    return record


def _from_object(given: dict[str, Any]) -> GameRecord:
    given = FORMAT.read_head(given)
    given.setdefault("assumed", [None, None])
    if given.setdefault("start", None) is not None:
        given["start"] = to_structure(given["start"], StartPosition, "start", complete=True)
    if "searches" in given:
        searches: list[Any] = convert(given["searches"], list[Any], "searches")
        given["searches"] = [
            None if search is None else _search(search, f"searches[{ply}]")
            for ply, search in enumerate(searches)
        ]
    record = to_structure(given, GameRecord, complete=True)
    if record.seed is not None and record.seed > MOST_SEED:  # too wide for a bound of `msgspec`
        raise ValueError(f"expected seed as a whole number to {MOST_SEED}, got {record.seed}")
    return record


def _search(given: Any, where: str) -> Search:
    if isinstance(given, dict):  # older records do not say which values were proven
        given = cast("Any", given)
        given.setdefault("proven_actions", [])  # last, as it is written
    search = to_structure(given, Search, where, complete=True)
    for name in ("visits", "values", "priors"):  # "-0" would be taken for 0
        convert(list(given[name]), list[WholeKey], f"keys of {where}.{name}")
    return search


# ---- directories ---------------------------------------------------------------------------------


def record_files(path: Path) -> list[Path]:
    """The records in a directory, without unfinished ones."""
    return sorted(file for file in path.glob("*.json") if not file.name.startswith("."))


class RecordDirectory:
    """A directory of so many records: ``000001.json``. It is made, but not its parents."""

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

    def save(self, number: int, record: GameRecord) -> None:
        save_record(record, self.file(number))


class MatchRecords:
    """The records of a match, in a directory without earlier records.

    Its `on_move`, the recorder's, is called for each move.
    """

    def __init__(
        self, path: str | os.PathLike[str], recorder: Recorder, games: int, seed: int
    ) -> None:
        self._directory = RecordDirectory(path, games)
        for _, file in self._directory.known():
            raise ValueError(
                f"expected a directory without records, got {file} in it (name another)"
            )
        self._recorder, self._seed, self._count = recorder, seed, 0
        self.on_move = recorder.on_move

    def add(self, result: "GameResult", env: Any) -> None:
        """Write the record of the game that has just been played in this environment."""
        record = self._recorder.record(result, seed=self._seed + self._count // 2, env=env)
        self._count += 1
        self._directory.save(self._count, record)
