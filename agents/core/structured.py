"""Values from files, pages and users, converted to typed structures by `msgspec`.

A structure is a dataclass or a `msgspec.Struct`. A type says what a value may be, with its bounds:
``Annotated[int, Meta(ge=1, le=100)]``. What does not fit is an error that names the place, what was
expected, in the words of `msgspec`, and what came: a `ValueError`. A name that is nearly one that
there is comes with "did you mean". The size of a text is bounded before it is parsed, by
`agents.core.reading`.
"""

import dataclasses
import functools
import os
import re
import types
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta, UnsetType

from hexenv.common.messages import not_one_of, shortened, suggestion

T = TypeVar("T")

MAX_WHOLE: Final = 1 << 53
"""The greatest whole number that every reader of JSON represents exactly."""
Text: TypeAlias = Annotated[str, Meta(pattern=r"\A[^\ud800-\udfff]*\Z")]
"""A text that a file can hold: without half of a surrogate pair."""
WholeKey: TypeAlias = Annotated[str, Meta(pattern=r"\A(0|[1-9]\d*)\Z", title="whole numbers")]
"""A key of a JSON object that stands for a whole number."""
Count: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_WHOLE)]

_EXACT: Final = {bool, float, int, str, types.NoneType}
_AS_EXACT: Final[dict[type, Any]] = {
    float: float.__float__,
    int: int.__int__,
    str: str.__str__,
}
_MESSAGE: Final = re.compile(
    r"(?:Expected (?P<expected>.*?)(?:, got .*?)?|.*?(?:field `(?P<field>[^`]*)`)?)"
    r"(?: - at (?P<keys>`key` in )?`\$(?P<path>[^`]*)`)?"
)
"""What `msgspec` says: ``Expected `int` >= 1 - at `$.searches[3].simulations```."""
_WORDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "array": "a list",
    "object": "an object",
}


def convert(value: Any, kind: Any, where: str = "") -> Any:
    """A value of a type, from what JSON knows or a structure; see `to_structure` for a structure.

    Numbers and texts of subclasses, as of NumPy, become those of Python. Keys of objects may be
    texts of whole numbers. `where` is the place, for messages: ``search.simulations``.
    """
    value = _plain(value, where)
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(value, kind, where, error)) from None


def to_structure(value: Any, kind: type[T], where: str = "", *, complete: bool = False) -> T:
    """A structure, made of an object whose keys are the names of its fields.

    A `complete` one needs the fields with a default too; `where` is its place, for messages.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"expected {_place(where)}an object, got {shortened(value)}")
    values = cast("Mapping[str, Any]", value)
    expect_keys(values, fields_of(kind), where)
    for name in fields_of(kind):
        if complete and name not in values:
            raise ValueError(f"expected {_join(where, name)}, got none")
    return cast("T", convert(dict(values), kind, where))


def check_fields(structure: Any, *names: str, where: str = "") -> None:
    """Convert fields of a dataclass to their declared types, in place, in its constructor."""
    kinds = fields_of(cast("Any", type(structure)))
    for name in names:
        value = convert(getattr(structure, name), kinds[name], _join(where, name))
        object.__setattr__(structure, name, value)


def expect_unchanged(key: str, before: object, now: object, folder: str | os.PathLike[str]) -> None:
    """Refuse a value that differs from the one that a folder was begun with."""
    if now != before:
        raise ValueError(
            f"expected {key} of {before}, as in {folder}, got {now} (a new run needs a folder of "
            "its own)"
        )


def expect_keys(values: Mapping[str, Any], known: Iterable[str], where: str = "") -> None:
    """Refuse an unknown key."""
    names = list(known)
    for key in values:
        if key not in names:
            raise ValueError(_unknown_key(key, names, where))


@functools.cache
def fields_of(kind: Any) -> dict[str, Any]:
    """The fields of a structure and their types; empty for any other type."""
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
    else:
        names = list(getattr(kind, "__struct_fields__", ()))
    hints = get_type_hints(kind, include_extras=True) if names else {}
    return {name: hints[name] for name in names}


def meta_of(kind: Any) -> Meta:
    """The bounds and the description of a type."""
    annotations = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((each for each in annotations if isinstance(each, Meta)), Meta())


# ---- messages ------------------------------------------------------------------------------------


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _place(where: str) -> str:
    return f"{where} as " if where else ""


def _explained(value: Any, kind: Any, where: str, error: msgspec.ValidationError) -> str:
    """The message of `msgspec` in plain words, with what came, and what may have been meant."""
    found = cast("re.Match[str]", _MESSAGE.fullmatch(str(error).replace("\n", " ")))
    for step in re.findall(r"\w+|\.\.\.", found["path"] or ""):
        fields = fields_of(_bare(kind))
        parts = [each for each in get_args(_bare(kind)) if each is not Ellipsis]
        kind = fields.get(step, parts[-1] if parts else Any)
        if step.isdecimal():
            where, value = f"{where}[{step}]", value[int(step)]
        elif step == "...":  # `msgspec` does not say which value of a mapping
            step = next(key for key, each in value.items() if not _fits(each, kind))
            where, value = f"{where}[{shortened(step)}]", value[step]
        else:
            where, value = _join(where, step), value[step]
    if error.__cause__ is not None:  # raised by the structure's own check
        return f"{where}: {error.__cause__}" if where else str(error.__cause__)
    fields, parts = fields_of(_bare(kind)), get_args(_bare(kind))
    if found["field"] is not None:
        if found["field"] in fields:
            return f"expected {_join(where, found['field'])}, got none"
        return _unknown_key(found["field"], fields, where)
    if isinstance(value, str) and get_origin(_bare(kind)) is Literal:
        return not_one_of(where, parts, value)
    if found["keys"]:
        where, value, kind = f"keys of {where or 'the object'}", list(value), parts[0]
    expected = meta_of(kind).title or re.sub(
        "`([^`]*)`", _in_words, found["expected"] or "another value"
    )
    return f"expected {_place(where)}{expected}, got {shortened(value)}"


def _fits(value: Any, kind: Any) -> bool:
    with suppress(msgspec.ValidationError):
        msgspec.convert(value, kind, str_keys=True)
        return True
    return False


def _in_words(kind: re.Match[str]) -> str:
    return " or ".join(_WORDS.get(word, word) for word in kind[1].split(" | "))


def _unknown_key(key: str, names: Iterable[str], where: str) -> str:
    got = shortened(_join(where, str(key)))
    return f"expected a key of {', '.join(names)}, got {got}{suggestion(key, names)}"


def _plain(value: Any, where: str) -> Any:
    """A value with numbers and texts of Python's own types, and without sets."""
    if type(value) in _EXACT:
        return value
    for kind, exact in _AS_EXACT.items():
        if isinstance(value, kind):
            return exact(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value)
        if set(map(type, entries.values())) <= _EXACT:
            return entries
        return {key: _plain(each, _join(where, str(key))) for key, each in entries.items()}
    if isinstance(value, set | frozenset):  # `msgspec` takes one as a list, in any order
        raise ValueError(f"expected {_place(where)}a list, got {shortened(value)}")
    if type(value) in (list, tuple) and not set(map(type, value)) <= _EXACT:
        items = [_plain(each, f"{where}[{number}]") for number, each in enumerate(value)]
        return type(value)(items)
    return value


def _bare(kind: Any) -> Any:
    """A type without bounds; ``X`` of ``X | None``."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, types.UnionType):
        kinds = (each for each in get_args(kind) if each not in (types.NoneType, UnsetType))
        kind = _bare(next(kinds))
    return kind
