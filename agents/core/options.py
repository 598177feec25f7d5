"""Checks of agents' parameters, for their constructors; they raise `ValueError`."""

import functools
import math
from collections.abc import Collection
from numbers import Real
from typing import Any, Final, NamedTuple, cast, get_type_hints

from hexenv.common.messages import not_one_of, true_or_false
from hexenv.games.base import whole_number

DEFAULT_SIMULATIONS: Final = 1_000
MOST_SIMULATIONS: Final = 10**12
"""Of a move: days of the fastest search."""


def check_budget(simulations: int | None, seconds: float | None) -> tuple[int | None, float | None]:
    """The budget of a move; `DEFAULT_SIMULATIONS` if there is none."""
    if simulations is not None:
        simulations = whole_number("simulations", simulations)
        if simulations < 1:
            raise ValueError(f"expected at least one simulation, got {simulations}")
        if simulations > MOST_SIMULATIONS:
            raise ValueError(f"expected simulations up to {MOST_SIMULATIONS}, got {simulations}")
    if seconds is not None and not (isinstance(seconds, Real) and 0 < seconds < math.inf):
        raise ValueError(f"expected a positive number of seconds, got {seconds!r}")
    if simulations is None and seconds is None:
        simulations = DEFAULT_SIMULATIONS
    return simulations, seconds


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


def number_within(name: str, value: float, least: float = 0.0, most: float = 1e9) -> float:
    """A number from `least` to `most`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not least <= number <= most:
        raise ValueError(f"expected {name} from {least:g} to {most:g}, got {value!r}")
    return number


# ---- options that a class declares, each in one place --------------------------------------------


class OneOf(NamedTuple):
    """The words that an option may have for its value: ``Annotated[str, OneOf(...)]``."""

    words: Collection[str]


class Within(NamedTuple):
    """The least and the greatest value of an option: ``Annotated[float, Within(0.0, 1.0)]``."""

    least: float
    most: float


@functools.cache
def declared(cls: type[Any]) -> dict[str, tuple[Any, Any]]:
    """The type of each field of a class, and its `OneOf` or `Within`, or None."""
    found: dict[str, tuple[Any, Any]] = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        bounds = getattr(hint, "__metadata__", (None,))
        found[name] = getattr(hint, "__origin__", hint) if bounds[0] else hint, bounds[0]
    return found


def check_fields(options: Any) -> None:
    """Put the fields of a dataclass into the form that they are declared in, or refuse them."""
    for name, (kind, bounds) in declared(cast("type[Any]", type(options))).items():
        value = getattr(options, name)
        if kind is bool:
            value = true_or_false(name, value)
        elif isinstance(bounds, OneOf):
            value = expect_one_of(name, value, bounds.words)
        elif isinstance(bounds, Within) and kind is int:
            value = whole_number_within(name, value, int(bounds.least), int(bounds.most))
        elif isinstance(bounds, Within):
            value = number_within(name, value, bounds.least, bounds.most)
        object.__setattr__(options, name, value)
