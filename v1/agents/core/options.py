"""Checks of agents' parameters, for their constructors; they raise `ValueError`."""

import math
from collections.abc import Collection
from numbers import Real
from typing import Any, Final

from hexenv.games.base import whole_number
from hexenv.messages import not_one_of

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
