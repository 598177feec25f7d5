"""The file of a tournament's results: one line a game, only ever added to.

The first line is a header: the format, its version, the tournament's description and a hash of it.
Every further line is the result of a game (see `agents.arena.games`). A line is written as
a whole and forced to the disk, so that a killed tournament loses the games in flight alone. Where a
kill or a full disk left half a line at the end, the next run leaves it there, says which line it
is, and adds a line ``{"torn": number}`` that tells readers to pass over the lines from that number
on. (There are more where that run was killed too, while it wrote this.) Any other line that cannot
be read is an error, and the file is left as it is.
"""

import errno
import importlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import hexenv
from agents.arena.games import Result, as_line, from_line
from agents.arena.schedule import Schedule
from agents.arena.specification import Tournament, digest
from agents.core.reading import MOST_BYTES, as_object, parse_json

FORMAT: Final = "hexenv tournament"
VERSION: Final = 1
MOST_TORN: Final = 100
"""Lines at the end of a file that were not written to their ends."""
TORN_HEADER: Final = (
    "expected a header, got the beginning of one: no game is lost if you delete the file"
)


class ResultsError(ValueError):
    """A file of results that cannot be used as it is; the message names the file and the line."""


class Contents(NamedTuple):
    """What a file of results holds."""

    results: list[Result]
    torn: range
    """The numbers of last lines that were not written to their ends."""
    lacks_newline: bool
    """Whether the last line has no end."""
    is_empty: bool


def read_results(path: str | os.PathLike[str], tournament: Tournament) -> list[Result]:
    """The results in a file of a tournament.

    Raises:
        ResultsError: If the file is of another tournament, or a line cannot be read.
        OSError: If the file cannot be read.
    """
    return _read(Path(path), tournament, Schedule(tournament)).results


class _Broken(NamedTuple):
    """A line that cannot be used."""

    number: int
    looks_torn: bool
    error: ValueError


def _read(path: Path, tournament: Tournament, schedule: Schedule) -> Contents:
    results: dict[int, Result] = {}
    failed: list[Result] = []
    broken: list[_Broken] = []  # since the last line that can be used
    number, is_ended = 0, True
    for number, line in enumerate(_lines(path), 1):
        is_ended = line.endswith(b"\n")
        try:
            fields = _parse(line)
            if broken and fields == {"torn": broken[0].number}:
                broken.clear()
            elif broken:
                break
            elif number == 1:
                _check_header(fields, tournament)
            elif set(fields) != {"torn"}:
                _add(fields, tournament, schedule, results, failed)
        except ValueError as error:
            if number == 1:
                raise ResultsError(f"{path}:1: {error if is_ended else TORN_HEADER}") from None
            looks_torn = not (is_ended and line.rstrip().endswith(b"}"))
            broken.append(_Broken(number, looks_torn, error))
            if len(broken) > MOST_TORN:
                break
    else:
        if all(each.looks_torn for each in broken):
            torn = range(number - len(broken) + 1, number + 1)
            return Contents([*failed, *results.values()], torn, not is_ended, number == 0)
    named = next((each for each in broken if not each.looks_torn), broken[0])
    raise ResultsError(f"{path}:{named.number}: {named.error}")


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, one after the other; a longer one than can be read, in parts."""
    with path.open("rb") as file:
        yield from iter(lambda: file.readline(MOST_BYTES + 1), b"")


def _parse(line: bytes) -> dict[str, Any]:
    try:
        return as_object(parse_json(line))
    except ValueError as error:
        raise ValueError(f"expected a line of JSON, got {line[:40]!r}: {error}") from None


def _add(
    line: Mapping[str, Any],
    tournament: Tournament,
    schedule: Schedule,
    results: dict[int, Result],
    failed: list[Result],
) -> None:
    number = line.get("game")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(schedule):
        raise ValueError(f"expected a game from 0 to {len(schedule) - 1}, got {number!r}")
    if number in results:
        raise ValueError(f"expected each game once, got game {number} again")
    result = from_line(line, schedule[number], tournament.labels)
    if "failed" in line:
        failed.append(result)
    else:
        results[number] = result


def _header(tournament: Tournament) -> dict[str, Any]:
    description = tournament.description()
    return {
        "format": FORMAT,
        "version": VERSION,
        "hexenv": hexenv.__version__,
        "tournament": description,
        "hash": digest(description),
    }


def _check_header(found: Mapping[str, Any], tournament: Tournament) -> None:
    """Refuse the header of anything but this tournament; only `pairs` may differ."""
    expected = _header(tournament)
    for key in ("format", "version"):
        if found.get(key) != expected[key]:
            raise ValueError(f"expected {key} {expected[key]!r}, got {found.get(key)!r}")
    theirs: Any = found.get("tournament")
    if not isinstance(theirs, dict):
        raise ValueError(f"expected the description of a tournament, got {theirs!r}")
    for key, value in expected["tournament"].items():
        if key != "pairs" and cast("dict[str, Any]", theirs).get(key) != value:
            got = json.dumps(cast("dict[str, Any]", theirs).get(key))
            raise ValueError(
                f"expected results of this tournament, with {key} {json.dumps(value)}, got those "
                f"of one with {got}"
            )
    if found.get("hash") != expected["hash"]:
        raise ValueError(f"expected hash {expected['hash']}, got {found.get('hash')!r}")


class ResultsFile:
    """A file of results, open to add to.

    Args:
        path: An earlier file of the same tournament is read and added to.
        tournament: Whose results.
        schedule: Its games.

    Attributes:
        results: What was there.
        notes: What to tell the user about it.

    Raises:
        ResultsError: If what is there cannot be used, or another process writes to it.
        OSError: If it cannot be read or written.
    """

    def __init__(
        self, path: str | os.PathLike[str], tournament: Tournament, schedule: Schedule
    ) -> None:
        self.path = Path(path)
        self.results: list[Result] = []
        self.notes: list[str] = []
        self._added = 0
        self._labels = tournament.labels
        try:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._descriptor = os.open(self.path, flags, 0o644)
        except OSError as error:
            raise self._named(error) from error
        try:
            self._is_regular = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
            self._lock()
            self._continue(tournament, schedule)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _lock(self) -> None:
        """Let no other process add to the file meanwhile, where the system can do that."""
        if not self._is_regular:
            return
        try:
            fcntl: Any = importlib.import_module("fcntl")
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsError(f"{self.path}: another tournament is writing to it") from None
        except (ImportError, OSError):
            pass  # a system without locks

    def _continue(self, tournament: Tournament, schedule: Schedule) -> None:
        contents = Contents([], range(0), False, True)
        if self._is_regular:
            contents = _read(self.path, tournament, schedule)
        self.results = contents.results
        self._added = len(self.results)
        self.notes += [
            f"{self.path}:{number}: passed over, as it was not written to its end"
            for number in contents.torn
        ]
        text = "\n" if contents.lacks_newline else ""
        if contents.is_empty:
            text = json.dumps(_header(tournament)) + "\n"
        elif contents.torn:
            text += json.dumps({"torn": contents.torn.start}) + "\n"
        if text:
            self._write(text)

    def add(self, result: Result) -> None:
        """Write the line of a game.

        Raises:
            OSError: If it cannot be written. What was there before still is.
        """
        self._write(json.dumps(as_line(result, self._labels)) + "\n")
        self._added += 1

    def _write(self, text: str) -> None:
        data = text.encode()
        size = os.fstat(self._descriptor).st_size
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            self._force_to_disk()
        except OSError as error:
            if self._is_regular:
                with suppress(OSError):
                    os.ftruncate(self._descriptor, size)  # half of this line
            raise self._named(error) from error

    def _force_to_disk(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EROFS, errno.ENOTSUP):
                raise  # those are of pipes and the like

    def _named(self, error: OSError) -> OSError:
        kept = f"; the {self._added} games before it are kept" if self._added else ""
        return OSError(
            error.errno, f"expected to write results to {self.path}: {error.strerror}{kept}"
        )

    def close(self) -> None:
        """Let others use the file."""
        os.close(self._descriptor)
