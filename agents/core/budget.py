"""Spending the budget of a move: in slices, and after each a look at the clock."""

import math
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from typing import Any, Final

ENDLESS: Final = 2**62
"""The simulations where only the seconds are limited."""
CHECKS: Final = 32
"""How many times a search with a number of simulations checks whether its choice is decided."""


SLICE: Final = 0.001
"""The least seconds between two looks at the clock where the seconds are limited."""
MOST_SLICES: Final = 1000
"""A thousandth of a long time is precise enough; many searches hinder each other by every look."""
LONGEST_SLICE: Final = 0.02
"""Seconds in which a search that is stopped ends."""
LONG_SLICE: Final = 0.05
"""Seconds between two looks at the clock where the seconds are not limited."""


class Pace:
    """How much a search does before its next look at the clock: what it does in a millisecond.

    A search counts in units of its own, such as simulations or positions. The first slices are
    small; then the speed so far says how large they are.

    Args:
        started: The time of the start, of `time.perf_counter`.
        seconds: How long from then on; None for no limit.
        smallest: The units of the smallest slice.
        first: The units of the first slice, if they are more.

    Attributes:
        done: Units so far.
        elapsed: Seconds to the last look at the clock.
        size: The units of the next slice.
        rate: Units a second.
    """

    def __init__(
        self, started: float, seconds: float | None, smallest: int = 1, first: int = 1
    ) -> None:
        self._started = started
        self._deadline = math.inf if seconds is None else seconds
        self._slice_seconds = LONG_SLICE
        if seconds is not None:
            self._slice_seconds = min(max(SLICE, seconds / MOST_SLICES), LONGEST_SLICE)
        self._smallest = smallest
        self.done, self.elapsed, self.rate = 0, 0.0, 0.0
        self.size = max(smallest, first)

    @property
    def left(self) -> float:
        """Seconds from the last look at the clock to the end."""
        return self._deadline - self.elapsed

    @property
    def is_over(self) -> bool:
        """Whether to stop: more than half of the smallest slice would come too late.

        There is one slice in any case.
        """
        return self.done > 0 and self.left * self.rate < 0.5 * self._smallest

    def count(self, units: int) -> None:
        """Count a slice, and look at the clock."""
        self.done += units
        self.elapsed = time.perf_counter() - self._started
        self.rate = self.done / max(self.elapsed, 1e-9)
        wanted = int(self.rate * min(self._slice_seconds, self.left))
        self.size = max(self._smallest, min(wanted, 2 * self.size))


def spend(
    search: Callable[[int], int],
    started: float,
    simulations: int | None,
    seconds: float | None,
    batch: int = 1,
    is_decided: Callable[[int], bool] | None = None,
    after_slice: Callable[[int, float], None] | None = None,
    first: int = 1,
) -> int:
    """Search in slices until the budget is spent, or there is nothing more to find out.

    Args:
        search: Runs a number of simulations; returns how many it ran, fewer if it proves the root.
        started: The time of the start, of `time.perf_counter`.
        simulations: How many; None for no limit.
        seconds: How long; None for no limit.
        batch: Simulations that are begun together: the smallest slice.
        is_decided: Whether a number of further simulations cannot change the choice.
        after_slice: Called with the simulations and the seconds so far.
        first: Simulations of the first slice, where only the simulations are limited.

    Returns:
        The simulations run.
    """
    limit = ENDLESS if simulations is None else simulations
    pace = Pace(started, seconds, batch, first if seconds is None else 1)
    while pace.done < limit and not pace.is_over:
        count = min(pace.size, limit - pace.done)
        ran = search(count)
        pace.count(ran)
        if ran < count:  # proven
            break
        if after_slice is not None:
            after_slice(pace.done, pace.elapsed)
        if is_decided is not None:
            if is_decided(min(limit - pace.done, int(pace.rate * min(pace.left, 1e9)))):
                break
            if seconds is None:  # at fixed counts, for the same result on every machine
                pace.size = max(batch, min(max(limit // CHECKS, 1), 2 * count))
    return pace.done


def shares(simulations: int | None, count: int) -> list[int | None]:
    """The simulations of each of a number of trees: equal parts, up to one simulation."""
    if simulations is None:
        return [None] * count
    upto = [simulations * number // count for number in range(count + 1)]
    return [end - start for start, end in pairwise(upto)]


@contextmanager
def other_budget(agent: Any, simulations: int | None, seconds: float | None) -> Generator[None]:
    """Give an agent another budget for a while, where it has one; it makes no move meanwhile.

    Without a limit on what it has, it keeps to its own.
    """
    given = {"simulations": simulations, "seconds": seconds}
    wanted = {name: value for name, value in given.items() if hasattr(agent, name)}
    if all(value is None for value in wanted.values()):
        yield
        return
    with getattr(agent, "turn", nullcontext()):
        before = {name: getattr(agent, name) for name in wanted}
        for name, value in wanted.items():
            setattr(agent, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(agent, name, value)
