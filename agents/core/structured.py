"""Values from files, pages and users, converted to typed structures by `msgspec`.

A structure is a dataclass or a `msgspec.Struct`. A type says what a value may be, with its bounds:
``Annotated[int, Meta(ge=1, le=100)]``. What does not fit is an error that names the place, what was
expected and what came: a `ValueError`. The size of a text is bounded before it is parsed, by
`agents.core.reading`.
"""

import dataclasses
import functools
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

from agents.core.messages import not_one_of, shortened, suggestion

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


def convert(value: Any, kind: Any, where: str = "") -> Any:
    """A value of a type; see `to_structure` for a structure.

    Args:
        value: What JSON knows, or a structure.
        kind: The type. Keys of objects may be texts of whole numbers.
        where: Place of the value, for messages: ``search.simulations``.
    """
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(value, kind, where, error)) from None


def to_structure(value: Any, kind: type[T], where: str = "", *, complete: bool = False) -> T:
    """A structure, made of an object whose keys are the names of its fields.

    Args:
        value: The object.
        kind: The type of the structure.
        where: Its place, for messages.
        complete: Whether fields with a default are required too.
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
    present = _present(kind)
    for name, item, item_kind in _parts(value, present, where):
        try:
            msgspec.convert(item, item_kind, str_keys=True)
        except msgspec.ValidationError as inner:
            return _explained(item, item_kind, name, inner)
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


def _parts(value: Any, kind: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """The parts of a value: place, value and type of each."""
    origin, arguments = get_origin(_bare(kind)), get_args(_bare(kind))
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        known = fields_of(_bare(kind))
        if known:
            yield from (
                (_join(where, key), item, known[key]) for key, item in items if key in known
            )
        elif arguments and isinstance(origin, type) and issubclass(origin, Mapping):
            for key, item in items:
                yield f"keys of {where}", key, WholeKey if arguments[0] is not str else str
                yield f"{where}[{shortened(key)}]", item, arguments[1]
    elif isinstance(value, list | tuple) and isinstance(origin, type):
        sequence = cast("Sequence[Any]", value)
        if origin is tuple and arguments[-1] is not Ellipsis:
            kinds = arguments if len(arguments) == len(sequence) else ()
        else:
            kinds = arguments[:1] * len(sequence) if issubclass(origin, Sequence) else ()
        for number, (item, item_kind) in enumerate(zip(sequence, kinds, strict=False)):
            yield f"{where}[{number}]", item, item_kind


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
