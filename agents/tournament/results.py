"""The file of a tournament's results: one line a game, only ever added to.

The first line is a header: the format, its version, the tournament's description and a hash of it.
Every further line is the result of a game (see `agents.tournament.games`). A line is written as
a whole and forced to the disk, so that a killed tournament loses the games in flight alone. Where a
kill or a full disk left half a line at the end, the next run leaves it there, says which line it
is, and adds a line ``{"torn": number}`` that tells readers to pass over it. Any other line that
cannot be read is an error, and the file is left as it is.
"""

import errno
import importlib
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import hexenv
from agents.tournament.games import Result, as_line, from_line
from agents.tournament.schedule import Schedule
from agents.tournament.specification import Tournament, digest

FORMAT: Final = "hexenv tournament"
VERSION: Final = 1


class ResultsError(ValueError):
    """A file of results that cannot be used as it is; the message names the file and the line."""


class Contents(NamedTuple):
    """What a file of results holds."""

    results: list[Result]
    torn: int | None
    """The number of a last line that was not written to its end."""
    lacks_newline: bool
    """Whether the last line is whole but for its end."""
    is_empty: bool


def read_results(path: str | os.PathLike[str], tournament: Tournament) -> list[Result]:
    """The results in a file of a tournament.

    Raises:
        ResultsError: If the file is of another tournament, or a line cannot be read.
        OSError: If the file cannot be read.
    """
    return _read(Path(path), tournament, Schedule(tournament)).results


def _read(path: Path, tournament: Tournament, schedule: Schedule) -> Contents:
    data = path.read_bytes()
    lines = data.split(b"\n")
    last_is_whole = lines[-1] == b""
    if last_is_whole:
        lines.pop()
    results: dict[int, Result] = {}
    failed: list[Result] = []
    for number, line in enumerate(lines, 1):
        is_last = number == len(lines)
        try:
            fields = _parse(line)
            if number == 1:
                _check_header(fields, tournament)
            elif set(fields) != {"torn"}:
                _add(fields, tournament, schedule, results, failed)
        except ValueError as error:
            if number == 1 and is_last and not last_is_whole:
                raise ResultsError(
                    f"{path}:1: expected a header, got the beginning of one: no game is lost if "
                    "you delete the file"
                ) from None
            if number > 1 and is_last and not last_is_whole:
                return Contents([*failed, *results.values()], number, False, False)
            if number > 1 and not is_last and _marks_torn(lines[number], number):
                continue
            raise ResultsError(f"{path}:{number}: {error}") from None
    found = [*failed, *results.values()]
    return Contents(found, None, bool(lines) and not last_is_whole, not lines)


def _parse(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise ValueError(f"expected a line of JSON, got {line[:40]!r}: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {line[:40]!r}")
    return cast("dict[str, Any]", value)


def _marks_torn(line: bytes, number: int) -> bool:
    with suppress(ValueError):
        return _parse(line) == {"torn": number}
    return False


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
        contents = Contents([], None, False, True)
        if self._is_regular:
            contents = _read(self.path, tournament, schedule)
        self.results = contents.results
        self._added = len(self.results)
        if contents.is_empty:
            self._write(json.dumps(_header(tournament)) + "\n")
        elif contents.torn is not None:
            self.notes.append(
                f"{self.path}:{contents.torn}: passed over, as it was not written to its end"
            )
            self._write("\n" + json.dumps({"torn": contents.torn}) + "\n")
        elif contents.lacks_newline:
            self._write("\n")

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
