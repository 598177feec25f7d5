"""Values from files, pages and users, converted to typed structures by `msgspec`.

A structure is a dataclass or a `msgspec.Struct`. A type says what a value may be, with its bounds:
``Annotated[int, Meta(ge=1, le=100)]``. What does not fit is an error that names the place, what was
expected and what came: a `ValueError`. The size of a text is bounded before it is parsed, by
`agents.core.reading`.
"""

import dataclasses
import functools
import os
import re
import types
from collections.abc import Iterable, Mapping, Sequence
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
from msgspec import Meta

from hexenv.common.messages import not_one_of, shortened, suggestion

T = TypeVar("T")

MAX_WHOLE: Final = 1 << 53
"""The greatest whole number that every reader of JSON represents exactly."""
Text: TypeAlias = Annotated[str, Meta(pattern=r"\A[^\ud800-\udfff]*\Z")]
"""A text that a file can hold: without half of a surrogate pair."""
WholeKey: TypeAlias = Annotated[str, Meta(pattern=r"\A(0|[1-9]\d*)\Z", title="whole numbers")]
"""A key of a JSON object that stands for a whole number."""
Count: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_WHOLE)]

_NAMES: Final[dict[Any, str]] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    types.NoneType: "null",
}

_EXACT: Final = {bool, float, int, str, types.NoneType}
_AS_EXACT: Final[dict[type, Any]] = {
    float: float.__float__,
    int: int.__int__,
    str: str.__str__,
}
_WHOLE: Final = re.compile(r"(0|[1-9][0-9]*)\Z")
_PLACE: Final = re.compile(r" - at `(key` in `)?\$((?:\.\w+|\[(?:\d+|\.\.\.)\])*)`\Z")
"""The end of a message of `msgspec`: ``at `$.searches[3].seconds```."""


def convert(value: Any, kind: Any, where: str = "") -> Any:
    """A value of a type, from what JSON knows or a structure; see `to_structure` for a structure.

    Numbers and texts of subclasses, as of NumPy, become those of Python. Keys of objects may be
    texts of whole numbers. `where` is the place, for messages: ``search.simulations``.
    """
    sets: list[tuple[Any, ...]] = []
    value = _plain(value, (), sets)
    try:
        found = msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(value, kind, where, error)) from None
    for path in sets:  # `msgspec` takes them as lists, in any order
        _expect_any(value, kind, where, path)
    return found


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
            got = shortened(_join(where, str(key)))
            raise ValueError(
                f"expected a key of {', '.join(names)}, got {got}{suggestion(key, names)}"
            )


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
    """What is wrong, of the innermost part that does not fit."""
    in_keys, path = _path(error)
    for step in path:
        key = _wrong_entry(value, kind) if step is Ellipsis else step
        part = _part(value, kind, where, key)
        if part is None:
            break
        where, value, kind = part
    present = _present(kind)
    if in_keys and isinstance(value, Mapping):
        return _wrong_key(cast("Mapping[Any, Any]", value), present, where)
    if error.__cause__ is not None:  # raised by the structure's own check
        return f"{where}: {error.__cause__}" if where else str(error.__cause__)
    if fields_of(present) and isinstance(value, Mapping):
        values = cast("Mapping[str, Any]", value)
        try:
            expect_keys(values, fields_of(present), where)
        except ValueError as unknown:
            return str(unknown)
        missing = [name for name in fields_of(present) if name not in values]
        return f"expected {_join(where, missing[0])}, got none"
    choices = get_args(_bare(kind)) if get_origin(_bare(kind)) is Literal else ()
    if choices and all(isinstance(choice, str) for choice in choices):
        return not_one_of(where, choices, value)
    return f"expected {_place(where)}{_in_words(kind)}, got {shortened(value)}"


def _path(error: msgspec.ValidationError) -> tuple[bool, list[Any]]:
    """Where an error is: whether in the keys, and the steps; `...` is any entry of a mapping."""
    found = _PLACE.search(str(error))
    if found is None:
        return False, []
    steps = re.findall(r"\w+|\.\.\.", found[2])
    return found[1] is not None, [
        ... if step == "..." else int(step) if step.isdecimal() else step for step in steps
    ]


def _part(value: Any, kind: Any, where: str, step: Any) -> tuple[str, Any, Any] | None:
    """A part of a value, by key or number: its place, itself and its type; None if unknown."""
    bare = _bare(_present(kind))
    origin, arguments, known = get_origin(bare), get_args(bare), fields_of(bare)
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value)
        if step in items and step in known:
            return _join(where, step), items[step], known[step]
        if step in items and arguments and _is_kind(origin, Mapping):
            return f"{where}[{shortened(step)}]", items[step], arguments[1]
    elif isinstance(value, list | tuple) and arguments and _is_kind(origin, Sequence):
        sequence = cast("Sequence[Any]", value)
        is_fixed = origin is tuple and arguments[-1] is not Ellipsis
        if isinstance(step, int) and step < (len(arguments) if is_fixed else len(sequence)):
            item_kind = arguments[step if is_fixed else 0]
            return f"{where}[{step}]", sequence[step], item_kind
    return None


def _wrong_entry(value: Any, kind: Any) -> Any:
    """The key of the first value in a mapping that does not fit."""
    entry_kind = get_args(_bare(_present(kind)))[1]
    try:
        msgspec.convert(list(value.values()), list[entry_kind], str_keys=True)
    except msgspec.ValidationError as error:
        return list(value)[_path(error)[1][0]]
    return None


def _wrong_key(value: Mapping[Any, Any], kind: Any, where: str) -> str:
    """What is wrong with the keys of a mapping."""
    words, got = "texts", next((key for key in value if not isinstance(key, str)), None)
    if _bare(get_args(_bare(kind))[0]) is int:
        keys = [str(key) for key in value]
        words, got = "whole numbers", next((key for key in keys if not _WHOLE.match(key)), None)
        if got is None:
            words += f" to {MAX_WHOLE}"
            digits = len(str(MAX_WHOLE))
            got = next((key for key in keys if len(key) > digits or int(key) > MAX_WHOLE), None)
    return f"expected keys of {where or 'the object'} as {words}, got {shortened(got)}"


def _expect_any(value: Any, kind: Any, where: str, path: Iterable[Any]) -> None:
    """Refuse the set at a place, except where anything may be."""
    for step in path:
        part = _part(value, kind, where, step)
        if part is None:
            return
        where, value, kind = part
    if _bare(kind) is not Any:
        raise ValueError(f"expected {_place(where)}{_in_words(kind)}, got {shortened(value)}")


def _plain(value: Any, path: tuple[Any, ...], sets: list[tuple[Any, ...]]) -> Any:
    """A value with numbers and texts of Python's own types; the places of sets are appended."""
    if type(value) in _EXACT:
        return value
    for kind, exact in _AS_EXACT.items():
        if isinstance(value, kind):
            return exact(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value)
        if set(map(type, items.values())) <= _EXACT:
            return items
        return {key: _plain(item, (*path, key), sets) for key, item in items.items()}
    if isinstance(value, set | frozenset):
        sets.append(path)
    elif type(value) in (list, tuple) and not set(map(type, value)) <= _EXACT:
        items = [_plain(item, (*path, number), sets) for number, item in enumerate(value)]
        return type(value)(items)
    return cast("Any", value)


def _is_kind(origin: Any, kind: type) -> bool:
    return isinstance(origin, type) and issubclass(origin, kind)


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _options(kind: Any) -> tuple[Any, ...]:
    """The types of a union, or the one type."""
    options = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    return tuple(option for option in options if option is not msgspec.UnsetType)


def _present(kind: Any) -> Any:
    """``X`` of ``X | None`` where that has parts; else the type itself."""
    others = [option for option in _options(kind) if option is not types.NoneType]
    has_parts = len(others) == 1 and (fields_of(_bare(others[0])) or get_origin(_bare(others[0])))
    return others[0] if has_parts else kind


def _in_words(kind: Any) -> str:
    kind, *others = _options(kind)
    if others:
        return " or ".join(map(_in_words, (kind, *others)))
    bare, meta = _bare(kind), meta_of(kind)
    origin, arguments = get_origin(bare), get_args(bare)
    if meta.title is not None:
        return meta.title
    if origin is Literal:
        return ", ".join(map(str, arguments[:-1])) + f" or {arguments[-1]}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "an object"
    if origin is tuple and arguments[-1] is not Ellipsis:
        return f"a list of {len(arguments)}"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return "a list" if meta.max_length is None else f"a list of at most {meta.max_length}"
    words = _NAMES.get(bare, "an object" if fields_of(bare) else "another value")
    if meta.ge is not None:
        words += f" from {_number(meta.ge)}"
    if meta.le is not None and meta.le < MAX_WHOLE:
        words += f" to {_number(meta.le)}"
    return words


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
