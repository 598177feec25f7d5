"""Records as JSON: one file a game, checked when it is read."""

import json
import os
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final, cast

from agents.core.files import write_text
from agents.core.messages import error_in, shortened
from agents.core.reading import as_object, parse_json, read_text
from agents.records.record import GameRecord, Search

FORMAT: Final = "hexenv-game"
VERSION: Final = 1
MOST: Final = 1 << 53
"""The greatest whole number that every reader of JSON has."""
LONGEST: Final = 1e9
"""Seconds: thirty years."""


# ---- writing -------------------------------------------------------------------------------------


def save_record(record: GameRecord, path: str | os.PathLike[str]) -> None:
    """Write a record as JSON, in the place of what is there.

    Raises:
        OSError: If it cannot be written; what was there is as it was.
        ValueError: If it is no record of such a game; nothing is written.
    """
    record.check()
    write_text(path, as_text(record))


def as_text(record: GameRecord) -> str:
    """A record as JSON: a line for each key, and for each search."""
    about: dict[str, Any] = {"format": FORMAT, "version": VERSION, **_as_object(record)}
    del about["searches"]
    if not any(record.assumed):  # so that whoever knows no such key reads all other records
        del about["assumed"]
    lines = [f"{json.dumps(key)}: {_dump(value)}" for key, value in about.items()]
    entries = [_dump(None if each is None else _as_object(each)) for each in record.searches]
    searches = "\n" + ",\n".join(entries) + "\n" if entries else ""
    lines.append(f'"searches": [{searches}]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _as_object(kept: GameRecord | Search) -> dict[str, Any]:
    return {key.name: getattr(kept, key.name) for key in fields(kept)}


def _dump(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


# ---- reading -------------------------------------------------------------------------------------


def load_record(path: str | os.PathLike[str]) -> GameRecord:
    """Read a record, and check it against the rules of its game.

    Nothing in it is executed or imported; the actions of a game that is not of `hexenv` are
    therefore checked by `GameRecord.replay` alone.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is no such record; with the line, or the key, and the reason.
    """
    record = load_fields(path)
    try:
        record.check()
    except ValueError as error:
        raise error_in(path, error) from None
    return record


def load_fields(path: str | os.PathLike[str]) -> GameRecord:
    """Read a record as `load_record` does, but for the rules of its game, which take time.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it has not the keys of a record, and values of their kinds.
    """
    text = read_text(path)
    try:
        return fields_from(text)
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}:{error.colno}"
        raise ValueError(f"{where}: expected JSON: {error.msg}") from None
    except ValueError as error:
        raise error_in(path, error) from None


def fields_from(text: str) -> GameRecord:
    """The record in a text, not compared with the rules of its game.

    Raises:
        ValueError: If it is no such text.
    """
    given = as_object(parse_json(text))
    if given.get("format") != FORMAT:
        raise ValueError(f"expected format {FORMAT!r}, got {shortened(given.get('format'))}")
    if given.get("version") != VERSION or given["version"] is True:
        raise ValueError(f"expected version {VERSION}, got {shortened(given.get('version'))}")
    del given["format"], given["version"]
    given.setdefault("assumed", [None, None])
    return GameRecord(**_checked(given, RECORD, ""))


Reader = Callable[[Any], Any]
"""Makes of a value of JSON what a record keeps, or raises an error."""


def _checked(given: dict[str, Any], known: dict[str, tuple[str, Reader]], where: str) -> Any:
    """The values of an object, as a record keeps them.

    Args:
        given: The object.
        known: What each key is to be, in words, and its reader.
        where: The place of the object in the record, for messages.

    Raises:
        ValueError: Naming a key that is missing, not known, or of another kind.
    """
    found: dict[str, Any] = {}
    for key, (words, read) in known.items():
        if key not in given:
            raise ValueError(f"expected {where}{key}, got none")
        try:
            found[key] = read(given[key])
        except _Inside as error:
            raise ValueError(f"{where}{key}{error}") from None
        except (TypeError, ValueError, KeyError, OverflowError):
            got = shortened(given[key])
            raise ValueError(f"expected {where}{key} as {words}, got {got}") from None
    for key in given:
        if key not in known:
            raise ValueError(f"expected no {where}{key!r}")
    return found


class _Inside(Exception):  # noqa: N818  (carries a message on to where the key is known)
    """What is wrong within a list."""


def _whole(least: int, most: int = MOST) -> Reader:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError
        return value

    return read


def _number(least: float, most: float) -> Reader:
    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError
        if not least <= value <= most:
            raise ValueError
        return float(value)

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # half of a surrogate pair, which no file can hold
    return value


def _or_none(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _list_of(read: Reader, size: int | None = None) -> Reader:
    def read_list(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise TypeError
        items = cast("list[Any]", value)
        if size not in (None, len(items)):
            raise ValueError
        return tuple(map(read, items))

    return read_list


def _by_action(read: Reader) -> Reader:
    """A reader of ``{"action": value}``."""

    def read_object(value: Any) -> dict[int, Any]:
        if not isinstance(value, dict):
            raise TypeError
        items = cast("dict[str, Any]", value)
        found = {int(key): read(item) for key, item in items.items() if key.isdecimal()}
        if [str(action) for action in found] != list(items):
            raise ValueError
        return found

    return read_object


def _searches(value: Any) -> tuple[Search | None, ...]:
    if not isinstance(value, list):
        raise TypeError
    found: list[Search | None] = []
    for number, item in enumerate(cast("list[Any]", value)):
        try:
            found.append(None if item is None else _search(item))
        except ValueError as error:
            raise _Inside(f"[{number}]: {error}") from None
    return tuple(found)


def _search(value: Any) -> Search:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object or null, got {shortened(value)}")
    return Search(**_checked(cast("dict[str, Any]", value), SEARCH, ""))


_SIGNED: Final = _number(-1, 1)
_OUTCOME: Final = _or_none(_whole(-1, 1))
_ACTIONS: Final = _list_of(_whole(0))

SEARCH: Final[dict[str, tuple[str, Reader]]] = {
    "seconds": ("seconds", _number(0, LONGEST)),
    "simulations": ("a whole number from 0", _whole(0)),
    "value": ("a number from -1 to 1, or null", _or_none(_SIGNED)),
    "visits": ("an object of whole numbers from 0 by action", _by_action(_whole(0))),
    "values": ("an object of numbers from -1 to 1 by action", _by_action(_SIGNED)),
    "priors": ("an object of numbers from 0 to 1 by action", _by_action(_number(0, 1))),
    "principal_variation": ("a list of whole numbers from 0", _ACTIONS),
    "proven": ("-1, 0, 1 or null", _OUTCOME),
}
"""What the keys of a search are to be."""

RECORD: Final[dict[str, tuple[str, Reader]]] = {
    "game": ("a text", _text),
    "options": ("a list of texts", _list_of(_text)),
    "actions": ("a list of whole numbers from 0", _ACTIONS),
    "moves": ("a text or null", _or_none(_text)),
    "outcome": ("-1, 0, 1 or null", _OUTCOME),
    "reason": ("a text or null", _or_none(_text)),
    "agents": ("two texts", _list_of(_text, 2)),
    "seed": ("a whole number from 0, or null", _or_none(_whole(0, (1 << 128) - 1))),
    "opening": ("a whole number from 0", _whole(0)),
    "seconds": ("a list of seconds and nulls", _list_of(_or_none(_number(0, LONGEST)))),
    "searches": ("a list of objects and nulls", _searches),
    "assumed": ("two texts or nulls", _list_of(_or_none(_text), 2)),
}
"""What the keys of a record are to be, beside its format and version."""
