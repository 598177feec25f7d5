"""Spending the budget of a move: in slices, and after each a look at the clock."""

import math
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Final

ENDLESS: Final = 2**62
"""The simulations where only the seconds are limited."""
CHECKS: Final = 32
"""How many times a search with a number of simulations checks whether its choice is decided."""


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
    deadline = math.inf if seconds is None else seconds
    slice_seconds = 0.05 if seconds is None else 0.001
    done, elapsed = 0, 0.0
    count = min(max(batch, first if seconds is None else 1), limit)
    while done < limit and (done == 0 or elapsed < deadline):
        ran = search(count)
        done += ran
        if ran < count:  # proven
            break
        elapsed = time.perf_counter() - started
        if after_slice is not None:
            after_slice(done, elapsed)
        rate = done / max(elapsed, 1e-9)
        wanted = int(rate * min(slice_seconds, deadline - elapsed))
        if is_decided is not None:
            if is_decided(min(limit - done, int(rate * min(deadline - elapsed, 1e9)))):
                break
            if seconds is None:  # at fixed counts, for the same result on every machine
                wanted = max(limit // CHECKS, 1)
        count = min(max(batch, min(wanted, 2 * count)), limit - done)
    return done


def shares(simulations: int | None, count: int) -> list[int | None]:
    """The simulations of each of a number of trees: equal parts, up to one simulation."""
    if simulations is None:
        return [None] * count
    upto = [simulations * number // count for number in range(count + 1)]
    return [end - start for start, end in pairwise(upto)]
