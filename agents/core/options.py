"""The parameters of agents, checked as they are given."""

import math
from collections.abc import Collection
from numbers import Real
from typing import Any, Final

from hexenv.games.base import whole_number

DEFAULT_SIMULATIONS: Final = 1_000


def check_budget(simulations: int | None, seconds: float | None) -> tuple[int | None, float | None]:
    """The budget of a move, checked; 1,000 simulations where there is none.

    Raises:
        ValueError: If one of them is not positive.
    """
    if simulations is not None:
        simulations = whole_number("simulations", simulations)
        if simulations < 1:
            raise ValueError(f"expected at least one simulation, got {simulations}")
    if seconds is not None and not (isinstance(seconds, Real) and 0 < seconds < math.inf):
        raise ValueError(f"expected a positive number of seconds, got {seconds!r}")
    if simulations is None and seconds is None:
        simulations = DEFAULT_SIMULATIONS
    return simulations, seconds


def expect_one_of(name: str, value: str, known: Collection[str]) -> str:
    """A parameter that is one of the known names.

    Raises:
        ValueError: If it is none of them.
    """
    if value not in known:
        raise ValueError(f"expected {name} of {', '.join(known)}, got {value!r}")
    return value


def whole_number_within(name: str, value: Any, least: int, most: int) -> int:
    """A parameter that is a whole number.

    Raises:
        ValueError: If it is none, or not from `least` to `most`.
    """
    number = whole_number(name, value)
    if not least <= number <= most:
        raise ValueError(f"expected {name} from {least} to {most}, got {number}")
    return number


def number_within(name: str, value: float, least: float = 0.0, most: float = 1e9) -> float:
    """A parameter that is a number.

    Raises:
        ValueError: If it is none, or not from `least` to `most`.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not least <= number <= most:
        raise ValueError(f"expected {name} from {least:g} to {most:g}, got {value!r}")
    return number
