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
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from hexenv.common.messages import not_one_of, shortened, true_or_false, whole_number

F = TypeVar("F", bound=Callable[..., Any])
NO_BOUND: Final = 2**53
"""As a bound of an option: only the other one counts."""


class OneOf(NamedTuple):
    """The words that an option may have for its value: ``Annotated[str, OneOf(...)]``."""

    words: Collection[str]


class Within(NamedTuple):
    """The least and the greatest value of an option: ``Annotated[float, Within(0.0, 1.0)]``."""

    least: float = 0.0
    most: float = 1e9

    def __str__(self) -> str:
        if self.most >= NO_BOUND:
            return f"of at least {self.least:g}"
        if self.least <= -NO_BOUND:
            return f"of at most {self.most:g}"
        return f"from {self.least:.10g} to {self.most:.10g}"


AtLeastOne: TypeAlias = Annotated[int, Within(1, NO_BOUND)]


class Option(NamedTuple):
    """What a type says of an option."""

    kinds: tuple[Any, ...]  # the types of its values
    bounds: OneOf | Within | None

    @classmethod
    def of(cls, hint: Any) -> Self:
        """The option with a type."""
        if get_origin(hint) in (Union, UnionType):
            kinds = [each for each in get_args(hint) if each is not NoneType]
            found = cls.of(kinds[0]) if len(kinds) == 1 else cls(tuple(kinds), None)
            return cls((*found.kinds, *set(get_args(hint)) - set(kinds)), found.bounds)
        if get_origin(hint) is Literal:
            return cls((str,), OneOf(get_args(hint)))
        said = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, BOUNDS)]
        return cls(cls.of(hint.__origin__).kinds, said[0]) if said else cls((hint,), None)

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
        number = whole_number(name, value) if int in self.kinds else number_or_nan(value)
        if not self.bounds.least <= number <= self.bounds.most:
            raise ValueError(f"expected {name} {self.bounds}, got {shortened(value)}")
        return number


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
    parameters = inspect.signature(function).parameters.values()
    found = {each.name: Option.of(each.annotation) for each in parameters}
    options = {name: each for name, each in found.items() if each.bounds or each.kinds == (bool,)}
    if not options:
        return function
    in_order = [(each.name, options.get(each.name)) for each in parameters]

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        given = list(arguments)
        for place, (name, option) in enumerate(in_order[: len(given)]):
            if option is not None:
                given[place] = option.checked(name, given[place])
        for name in named:
            if name in options:
                named[name] = options[name].checked(name, named[name])
        return function(*given, **named)

    return cast("F", call)


# ---- one value -----------------------------------------------------------------------------------


def expect_one_of(name: str, value: str, known: Collection[str]) -> str:
    """A parameter that must be one of the known names."""
    if value not in tuple(known):  # which takes what cannot be hashed
        raise ValueError(not_one_of(name, known, value))
    return value


def number_or_nan(value: Any) -> float:
    """A number as Python has it; anything else, a text too, is NaN, which is within no range."""
    try:
        return math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
