"""One number over several tasks: robust means with intervals (Agarwal et al. 2021).

"Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021, sections 3 and
4. A *stratum* is what is repeated under equal conditions: the runs of a task, or the pairs of games
against one opponent on one board. The authors' library, rliable 1.2, does not load beside today's
pandas.

Examples:
    >>> float(interquartile_mean([1.0, 2.0, 3.0, 100.0]))
    2.5
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES: Final = 10_000
LEVEL: Final = 0.95


def interquartile_mean(scores: Any, axis: int = -1) -> Any:
    """The mean of the middle half: without the lowest and the highest quarter, rounded down.

    Args:
        scores: ``(..., n, ...)``, at least one.
        axis: Where the n are. With fewer than four it is their mean.
    """
    ordered = np.sort(np.asarray(scores, np.float64), axis=axis)
    count = ordered.shape[axis]
    cut = count // 4
    return ordered.take(range(cut, count - cut), axis=axis).mean(axis=axis)


def bootstrap_interval(
    strata: Sequence[Any],
    statistic: Callable[..., Any] = interquartile_mean,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[Any, Any]:
    """The interval of 95 % for a statistic of several runs of several tasks.

    By the stratified percentile bootstrap: runs are drawn again with replacement, those of each
    task by themselves, and the interval has the middle 95 % of the statistics of what was drawn.
    Of a few runs of one task it is too narrow: with 3 it contains the true value in 0.73 of the
    cases, with 10 in 0.92 (``tests/benchmarks/INTERVALS.md``).

    Args:
        strata: For each task ``(runs,)`` scores, or ``(runs, n)`` of n moments, in which a run is
            drawn as a whole.
        statistic: A function of ``(..., all runs, ...)`` and an axis.
        resamples: How often it is drawn.
        seed: Of the draws.

    Returns:
        Its ends, numbers or ``(n,)`` each.

    Raises:
        ValueError: If there is no task, or one without a run.
    """
    tables = _tables(strata)
    rng = np.random.default_rng(seed)
    rows = [rng.integers(len(table), size=(resamples, len(table))) for table in tables]

    def part(some: slice) -> Any:
        each = zip(tables, rows, strict=True)
        return statistic(
            np.concatenate([table[which[some]] for table, which in each], axis=1), axis=1
        )

    return _percentiles(part, resamples)


def _tables(strata: Sequence[Any]) -> list[Floats]:
    """The scores of each stratum; ValueError if there are none."""
    tables = [np.asarray(stratum, np.float64) for stratum in strata]
    if not tables or any(table.ndim == 0 or len(table) == 0 for table in tables):
        raise ValueError("expected a run of each task, got none")
    return tables


def _percentiles(part: Callable[[slice], Any], resamples: int) -> tuple[Any, Any]:
    """The ends of the middle of what was drawn; all at once would take gigabytes."""
    drawn = [part(slice(begin, begin + 100)) for begin in range(0, resamples, 100)]
    tail = 50 * (1 - LEVEL)
    low, high = np.percentile(np.concatenate(drawn), [tail, 100 - tail], axis=0)
    return low, high


def probability_of_improvement(
    ours: Sequence[Sequence[float]],
    theirs: Sequence[Sequence[float]],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, tuple[float, float]]:
    """How likely a score of ours is better than one of theirs, and the bootstrap interval of it.

    Of a stratum taken at random; a tie is half.

    Args:
        ours: For each task its scores.
        theirs: The same tasks in the same order.
        resamples: How often scores are drawn again.
        seed: Of the draws.

    Raises:
        ValueError: If there is no task, one without a score, or not as many of theirs.
    """
    if len(ours) != len(theirs):
        raise ValueError(f"expected the same tasks, got {len(ours)} and {len(theirs)}")
    pairs = zip(_tables(ours), _tables(theirs), strict=True)
    ranks = [np.sign(np.subtract.outer(one, other)) / 2 + 0.5 for one, other in pairs]
    rng = np.random.default_rng(seed)
    drawn = [
        [rng.integers(count, size=(resamples, count)) for count in table.shape] for table in ranks
    ]

    def part(some: slice) -> Any:
        means = [
            table[rows[some][:, :, None], columns[some][:, None, :]].mean(axis=(1, 2))
            for table, (rows, columns) in zip(ranks, drawn, strict=True)
        ]
        return np.mean(means, axis=0)

    low, high = _percentiles(part, resamples)
    return float(np.mean([table.mean() for table in ranks])), (float(low), float(high))


def performance_profile(strata: Sequence[Sequence[float]], scores: Sequence[float]) -> list[float]:
    """The share of runs whose score is above each of some scores: the mean over the strata.

    Raises:
        ValueError: If there is no stratum, or one without a score.
    """
    tables = _tables(strata)
    return [float(np.mean([(table > score).mean() for table in tables])) for score in scores]
