"""Match clocks: each agent has a time for all its moves of a game, and perhaps more with each."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, Final

from msgspec import Meta

from agents.core.budget import other_budget
from agents.core.structured import check_fields, to_structure

MOVES_AHEAD: Final = 20
"""The remaining time is divided by so many moves; games end sooner or later."""
SPARE: Final = 0.05
"""Seconds that are kept for what takes time beside the search."""

Seconds = Annotated[float, Meta(gt=0, le=1e6)]
Increment = Annotated[float, Meta(ge=0, le=1e6)]


@dataclass(frozen=True)
class TimeControl:
    """The time of each agent for a game. An agent that uses more loses.

    Examples:
        >>> TimeControl.of("60+0.5")
        TimeControl(seconds=60.0, increment=0.5)

    Attributes:
        seconds: For all its moves.
        increment: More seconds after each of its moves.
    """

    seconds: Seconds
    increment: Increment = 0.0

    def __post_init__(self) -> None:
        check_fields(self, "seconds", "increment", where="clock")

    @classmethod
    def of(cls, value: Any) -> "TimeControl":
        """From a text ``60`` or ``60+0.5``, a number of seconds, a dictionary, or itself."""
        if isinstance(value, TimeControl):
            return value
        if isinstance(value, int | float):
            return cls(value)
        if isinstance(value, str):
            seconds, plus, increment = value.partition("+")
            try:
                return cls(float(seconds), float(increment) if plus else 0.0)
            except ValueError:
                raise ValueError(
                    f"expected clock as seconds or seconds+increment, such as 60+0.5, got {value!r}"
                ) from None
        if not isinstance(value, Mapping):
            raise ValueError(f"expected clock as a text or a dictionary, got {value!r}")
        return to_structure(value, cls, "clock")

    def __str__(self) -> str:
        return f"{self.seconds:g}+{self.increment:g}"


class Clock:
    """The times of two agents in a game; without a `TimeControl` they have all the time."""

    def __init__(self, control: TimeControl | None) -> None:
        self._control = control
        self._left = [0.0, 0.0] if control is None else [control.seconds] * 2

    def limited(self, number: int, agent: Any) -> AbstractContextManager[None]:
        """Give an agent its share of the time for a move, instead of its own budget."""
        if self._control is None:
            return nullcontext()
        left = self._left[number]
        share = min(left / MOVES_AHEAD + self._control.increment, left) - SPARE
        return other_budget(getattr(agent, "wrapped", agent), None, max(share, left / 100))

    def count(self, number: int, taken: float) -> str | None:
        """Count the seconds of a move; why its agent has lost, if there were not so many left."""
        if self._control is None:
            return None
        self._left[number] -= taken
        if self._left[number] < 0.0:
            return f"out of time, by {-self._left[number]:.3f} s of {self._control}"
        self._left[number] += self._control.increment
        return None
