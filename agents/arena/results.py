"""The results of a tournament's games and their file: one line a game, only ever appended to.

The first line is a header: the format, its version, the tournament's description and a hash of it.
Every further line is the result of a game. A line is written as a whole and forced to the disk, so
a killed tournament loses only the games that were being played. If a kill or a full disk leaves
half a line at the end, the next run keeps it, reports its number, and appends a line
``{"torn": number}``: readers skip the lines from that number on. (There are several if that run was
killed too, while it wrote this.) Any other line that cannot be read is an error, and the file stays
as it is.
"""

import errno
import json
import os
import stat
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, cast

from msgspec import Meta, Struct, structs

import hexenv
from agents.arena.match import GameResult
from agents.arena.schedule import Schedule, ScheduledGame
from agents.arena.specification import Tournament, digest
from agents.core.files import take_lock
from agents.core.formats import Format
from agents.core.reading import MOST_BYTES, as_object, parse_json
from agents.core.structured import Count, fields_of, to_structure
from agents.records.record import GameRecord

FORMAT: Final = Format("hexenv tournament")
MOST_TORN: Final = 100
"""Unfinished lines at the end of a file."""
TORN_HEADER: Final = (
    "expected a header, got the beginning of one: no game is lost if you delete the file"
)


@dataclass(frozen=True, kw_only=True)
class PlayedGame(GameResult):
    """A game of a tournament played to its end; no clock is kept.

    Attributes:
        game: Its place in the schedule.
        record: Its record where records are kept, until it is written.
    """

    game: ScheduledGame
    record: GameRecord | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class FailedGame:
    """A game without an outcome, because an agent, the environment or the worker failed."""

    game: ScheduledGame
    reason: str


Result: TypeAlias = PlayedGame | FailedGame


def as_line(result: Result, labels: tuple[str, ...]) -> dict[str, Any]:
    """A result as a line of the file."""
    game = result.game
    line: dict[str, Any] = {
        "game": game.number,
        "pair": game.pair,
        "agents": [labels[number] for number in game.agents],
        "first": game.first,
        "opening": list(game.opening),
    }
    if isinstance(result, FailedGame):
        return {**line, "failed": result.reason}
    line |= {
        "outcome": result.outcome,
        "illegal": result.illegal,
        "plies": len(result.actions),
        "actions": list(result.actions),
        "moves": list(result.moves),
        "seconds": list(result.seconds),
    }
    if result.forfeit is not None:
        line["forfeit"] = result.forfeit
    if result.adjudicated is not None:
        line["adjudicated"] = result.adjudicated
    if any(result.refused):
        line["refused"] = list(result.refused)
    if any(result.assumed):
        line["assumed"] = list(result.assumed)
    return line


Seconds: TypeAlias = Annotated[float, Meta(ge=0)]


class PlayedLine(Struct):
    """The fields of a played game's line besides those that describe the game."""

    outcome: Annotated[int, Meta(ge=-1, le=1)]
    illegal: Annotated[int, Meta(ge=0, le=1)] | None
    plies: Count
    actions: tuple[Count, ...]
    moves: tuple[Count, Count]
    seconds: tuple[Seconds, Seconds]
    forfeit: str | None = None
    assumed: tuple[str | None, str | None] = (None, None)
    adjudicated: str | None = None
    refused: tuple[Count, Count] = (0, 0)


def from_line(line: Mapping[str, Any], game: ScheduledGame, labels: tuple[str, ...]) -> Result:
    """The result in a line that `as_line` has written of a game.

    Raises:
        ValueError: If a field is wrong, or the line is of another game.
    """
    if isinstance(line.get("failed"), str):
        result: Result = FailedGame(game, line["failed"])
    else:
        fields = {key: line[key] for key in fields_of(PlayedLine) if key in line}
        found = to_structure(fields, PlayedLine)
        if found.forfeit is not None and found.outcome == 0:
            raise ValueError(f"expected forfeit as the reason of a loss, got {found.forfeit!r}")
        about = structs.asdict(found)
        del about["plies"]
        result = PlayedGame(first=game.first, game=game, opening=len(game.opening), **about)
    expected = as_line(result, labels)
    for key, value in expected.items():
        if line.get(key) != value:
            raise ValueError(f"expected {key} {value!r} in game {game.number}, got {line.get(key)}")
    for key in line:
        if key not in expected:
            raise ValueError(f"expected no {key!r}")
    return result


# ---- reading the file ----------------------------------------------------------------------------


class ResultsError(ValueError):
    """A file of results that cannot be used as it is; the message names the file and the line."""


class Contents(NamedTuple):
    """What a file of results holds."""

    results: list[Result]
    torn: range
    """The numbers of unfinished lines at the end."""
    lacks_newline: bool
    """Whether the last line is without its newline."""
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
    broken: list[_Broken] = []  # those after the last usable line
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
            elif "failed" in fields:
                failed.append(_result(fields, tournament, schedule, results))
            elif set(fields) != {"torn"}:
                result = _result(fields, tournament, schedule, results)
                results[result.game.number] = result
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
    """The lines of a file; one that is too long comes in parts."""
    with path.open("rb") as file:
        yield from iter(lambda: file.readline(MOST_BYTES + 1), b"")


def _parse(line: bytes) -> dict[str, Any]:
    try:
        return as_object(parse_json(line))
    except ValueError as error:
        raise ValueError(f"expected a line of JSON, got {line[:40]!r}: {error}") from None


def _result(
    line: Mapping[str, Any], tournament: Tournament, schedule: Schedule, known: Container[int]
) -> Result:
    number = line.get("game")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(schedule):
        raise ValueError(f"expected a game from 0 to {len(schedule) - 1}, got {number!r}")
    if number in known:
        raise ValueError(f"expected each game once, got game {number} again")
    return from_line(line, schedule[number], tournament.labels)


def _header(tournament: Tournament) -> dict[str, Any]:
    description = tournament.description()
    version, found = hexenv.__version__, digest(description)
    return FORMAT.head(hexenv=version, tournament=description, hash=found)


def _check_header(found: Mapping[str, Any], tournament: Tournament) -> None:
    """Refuse the header of anything but this tournament; only `pairs` may differ."""
    expected = _header(tournament)
    FORMAT.read_head(found)
    theirs: Any = found.get("tournament")
    if not isinstance(theirs, dict):
        raise ValueError(f"expected the description of a tournament, got {theirs!r}")
    for key, value in expected["tournament"].items():
        got = cast("dict[str, Any]", theirs).get(key)
        if key != "pairs" and got != value:
            raise ValueError(
                f"expected results of this tournament, with {key} {json.dumps(value)}, got those "
                f"of one with {json.dumps(got)}"
            )
    if found.get("hash") != expected["hash"]:
        raise ValueError(f"expected hash {expected['hash']}, got {found.get('hash')!r}")


# ---- writing the file ----------------------------------------------------------------------------


class ResultsFile:
    """A file of results, open for appending.

    Args:
        path: Where; an earlier file of the same tournament is read and continued.
        tournament: Whose results.
        schedule: Its games.

    Attributes:
        results: The results of the earlier file.
        notes: Messages for the user about it.

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
            if self._is_regular and not take_lock(self._descriptor):
                raise ResultsError(f"{self.path}: another tournament is writing to it")
            self._continue(tournament, schedule)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _continue(self, tournament: Tournament, schedule: Schedule) -> None:
        contents = Contents([], range(0), False, True)
        if self._is_regular:
            contents = _read(self.path, tournament, schedule)
        self.results = contents.results
        self._added = len(self.results)
        passed_over = "passed over, as it was not written to its end"
        self.notes += [f"{self.path}:{number}: {passed_over}" for number in contents.torn]
        text = "\n" if contents.lacks_newline else ""
        if contents.is_empty:
            text = json.dumps(_header(tournament)) + "\n"
        elif contents.torn:
            text += json.dumps({"torn": contents.torn.start}) + "\n"
        if text:
            self._write(text)

    def add(self, result: Result) -> None:
        """Write the line of a game; after an `OSError` the file is as before."""
        self._write(json.dumps(as_line(result, self._labels)) + "\n")
        self._added += 1

    def _write(self, text: str) -> None:
        data = text.encode()
        size = os.fstat(self._descriptor).st_size
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.EROFS, errno.ENOTSUP):
                    raise  # these come from pipes and the like
        except OSError as error:
            if self._is_regular:
                with suppress(OSError):
                    os.ftruncate(self._descriptor, size)  # remove half of this line
            raise self._named(error) from error

    def _named(self, error: OSError) -> OSError:
        kept = f"; the {self._added} games before it are kept" if self._added else ""
        return OSError(
            error.errno, f"expected to write results to {self.path}: {error.strerror}{kept}"
        )

    def close(self) -> None:
        """Release the lock too."""
        os.close(self._descriptor)
