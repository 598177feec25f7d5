"""Options, each declared in one place: by the type of a parameter or of a field.

``c: Annotated[float, Within(0.0, 1.0)]`` says what is allowed. `checks_options` checks what a
function or a constructor is given, `check_fields` a dataclass.
"""

import functools
import inspect
import math
from collections.abc import Callable, Collection
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from hexenv.common.messages import not_one_of, true_or_false, whole_number

F = TypeVar("F", bound=Callable[..., Any])


class OneOf(NamedTuple):
    """The words that an option may have for its value: ``Annotated[str, OneOf(...)]``."""

    words: Collection[str]


class Within(NamedTuple):
    """The least and the greatest value of an option: ``Annotated[float, Within(0.0, 1.0)]``."""

    least: float = 0.0
    most: float = 1e9


class Option(NamedTuple):
    """What a type says of an option."""

    kinds: tuple[Any, ...]  # the types of its values
    bounds: OneOf | Within | None

    @classmethod
    def of(cls, hint: Any) -> Self:
        """The option with a type."""
        known = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, BOUNDS)]
        kind = hint.__origin__ if known else hint
        if get_origin(kind) is Literal:
            return cls((str,), OneOf(get_args(kind)))
        kinds = get_args(kind) if get_origin(kind) is UnionType else (kind,)
        return cls(kinds, known[0] if known else None)

    def checked(self, name: str, value: Any) -> Any:
        """A value in the form that is declared, or a ValueError."""
        if NoneType in self.kinds and value is None:
            return None
        if bool in self.kinds:
            return true_or_false(name, value)
        if isinstance(self.bounds, OneOf):
            return expect_one_of(name, value, self.bounds.words)
        if self.bounds is None:
            return value
        if int in self.kinds:
            return whole_number_within(name, value, int(self.bounds.least), int(self.bounds.most))
        return number_within(name, value, *self.bounds)


BOUNDS: Final = (OneOf, Within)


@functools.cache
def declared(cls: type[Any]) -> dict[str, Option]:
    """The options that a dataclass declares."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: Option.of(hint) for name, hint in hints.items()}


def check_fields(options: Any) -> None:
    """Put the fields of a dataclass into the form that they are declared in, or refuse them."""
    for name, option in declared(cast("type[Any]", type(options))).items():
        object.__setattr__(options, name, option.checked(name, getattr(options, name)))


def checks_options(function: F) -> F:
    """A function or constructor that gets its options in the form that its parameters declare."""
    signature = inspect.signature(function)
    options = {name: Option.of(each.annotation) for name, each in signature.parameters.items()}
    options = {name: each for name, each in options.items() if each.bounds or each.kinds == (bool,)}
    if not options:
        return function

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named)
        for name, option in options.items():
            if name in given.arguments:
                given.arguments[name] = option.checked(name, given.arguments[name])
        return function(*given.args, **given.kwargs)

    return cast("F", call)


# ---- one value -----------------------------------------------------------------------------------


def expect_one_of(name: str, value: str, known: Collection[str]) -> str:
    """A parameter that must be one of the known names."""
    if value not in tuple(known):  # which takes what cannot be hashed
        raise ValueError(not_one_of(name, known, value))
    return value


def whole_number_within(name: str, value: Any, least: int, most: int) -> int:
    """A whole number from `least` to `most`."""
    number = whole_number(name, value)
    if not least <= number <= most:
        raise ValueError(f"expected {name} from {least} to {most}, got {number}")
    return number


def number_within(name: str, value: float, least: float, most: float) -> float:
    """A number from `least` to `most`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not least <= number <= most:
        raise ValueError(f"expected {name} from {least:g} to {most:g}, got {value!r}")
    return number
