"""One number over several boards: robust means with intervals (Agarwal et al. 2021).

"Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021, sections 3 and
4. A *stratum* is what is repeated under equal conditions: the pairs of games against one opponent
on one board. The authors' library, rliable 1.2, does not load beside today's pandas.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
RESAMPLED: Final = 2000


def interquartile_mean(scores: Floats) -> Floats:
    """The mean of the middle half of ``(..., n)`` scores."""
    ordered = np.sort(scores, axis=-1)
    count = scores.shape[-1]
    place: Floats = np.arange(count, dtype=np.float64)
    inside: Floats = np.minimum(place + 1, 0.75 * count) - np.maximum(place, 0.25 * count)
    weights = np.maximum(inside, 0.0)
    return (ordered * weights).sum(-1) / weights.sum()


def probability_of_improvement(scores: Sequence[Floats], others: Sequence[Floats]) -> float:
    """How likely an agent scores more than another on a stratum taken at random, a tie being half.

    Both have the scores of the same strata in the same order.
    """
    found = [
        float(((one[:, None] > other) + 0.5 * (one[:, None] == other)).mean())
        for one, other in zip(scores, others, strict=True)
    ]
    return sum(found) / len(found)


def with_interval(
    statistic: Callable[[Floats], Floats], strata: Sequence[Floats], seed: int = 0
) -> tuple[float, float, float]:
    """A statistic of all scores, and the ends of its interval of 95 % by the stratified bootstrap.

    Args:
        statistic: Of ``(..., n)`` scores.
        strata: The scores of each stratum; they are drawn again within it alone.
        seed: Of the draws.
    """
    rng = np.random.default_rng(seed)
    drawn = [one[rng.integers(len(one), size=(RESAMPLED, len(one)))] for one in strata]
    low, high = np.quantile(statistic(np.concatenate(drawn, axis=-1)), [0.025, 0.975])
    return float(statistic(np.concatenate(strata))), float(low), float(high)
