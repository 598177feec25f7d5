"""Intervals of 95 % for mean scores.

What is independent of each other is a *unit*: a pair of games that share an opening, or a position
that is played with several seeds. A game that repeats another one adds nothing to what is known:
games count, in score and rating, as often as they were played, but together they weigh as much as
the distinct ones among them (`distinct_share`). So the score of agents that leave something to
chance is not biased towards games that are rare. `tests/benchmarks/intervals.py` measures how often
the intervals contain the true value.
"""

import math
from collections.abc import Hashable, Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

QUANTILE: Final = 1.96
"""95 % of a normal distribution lie within as many standard deviations of its mean."""
PRIOR_FREEDOM: Final = 4.0
"""How strongly `dispersion` is drawn to that of independent games without draws.

In degrees of freedom. Of 2, 3, 4, 6 and 7.5 chosen by the exact coverage of the rating intervals of
two agents with ten pairs of games, with draws and without, 0 to 400 Elo apart.
"""


def distinct_share(games: Iterable[Hashable]) -> float:
    """The share of games that do not repeat an earlier one; 1 without a game.

    Two games are the same if sides, moves (with those of the opening) and outcome are the same, as
    `agents.arena.match.GameResult.course` has them.
    """
    every = list(games)
    return len(set(every)) / len(every) if every else 1.0


def score_interval(points: Any, games: Any = 1.0, share: float = 1.0) -> tuple[float, float]:
    """The interval of Agresti and Coull (1998) for a mean score.

    It contains Wilson's, and covers as well where scores are near 0 and 1. The number of games is
    the effective one: draws vary less than games that are won or lost, and so do pairs in which the
    same side wins both games. See `dispersion`.

    Args:
        points: ``(units,)``: what was scored in each unit, from 0 to its number of games.
        games: ``(units,)``, or one number for all: how many games a unit has.
        share: Of them all, the distinct ones: `distinct_share`.

    Returns:
        Its ends, within 0 and 1; (0, 1) without a unit.
    """
    scored = np.asarray(points, np.float64)
    played = np.broadcast_to(np.asarray(games, np.float64), scored.shape)
    if len(scored) == 0:
        return 0.0, 1.0
    units, count = share * len(scored), share * played.sum()
    mean = scored.sum() / played.sum()
    inner = (share * scored.sum() + 0.5) / (count + 1)  # never 0 or 1
    squares = share * ((scored - mean * played) ** 2).sum() * units / max(units - 1, 1)
    variance, of_squares = binomial_moments(inner, played)
    scatter = dispersion(squares, share * variance, share * of_squares, PRIOR_FREEDOM)
    effective = count / scatter
    total = effective + QUANTILE**2
    middle = (mean * effective + QUANTILE**2 / 2) / total
    margin = QUANTILE * math.sqrt(middle * (1 - middle) / total)
    return max(0.0, float(middle - margin)), min(1.0, float(middle + margin))


def difference_interval(gains: Any) -> tuple[float, float]:
    """The interval of Bonett and Price (2012) for a mean difference of scores on the same units.

    The gains of the ``(units,)``, and the ends, are from -1 to 1. Two made-up units, one with a
    gain of 1 and one of -1, keep its width above 0.
    """
    every = np.append(np.asarray(gains, np.float64), (1.0, -1.0))
    margin = QUANTILE * every.std() / math.sqrt(len(every))
    return max(-1.0, float(every.mean() - margin)), min(1.0, float(every.mean() + margin))


def binomial_moments(expected: Any, games: Floats) -> tuple[Any, Any]:
    """How the points of units vary if games are independent and none is drawn.

    The second variance is at least the square of the first one in every unit, as in a pair of equal
    agents. In a single game of equal agents it is 0: without a draw the distance is always 1/2. But
    there are draws, and a few of them must not count as games that never vary.

    Returns:
        The variance of the points, and the variance of their squared distance from the expected
        ones, each summed over the ``(units,)`` of so many games. The expected score of a game is
        above 0 and below 1.
    """
    of_game = expected * (1 - expected)
    variances = of_game * games
    of_squares = variances * np.maximum(2 * variances + 1 - 6 * of_game, variances)
    return variances.sum(), of_squares.sum()


def dispersion(
    squares: Any, variance: Any, of_squares: Any, freedom: float, around: Any = 1
) -> Any:
    """How much units vary, as a multiple of what `binomial_moments` says.

    This is the ratio of the two variances, drawn towards `around`: a few units that happen to be
    equal must not count as units that never vary. The squares are the squared distances of the
    points from the expected ones, summed; `around`, the multiple to expect, has degrees of freedom.
    """
    doubt = freedom * of_squares / (2 * variance**2)  # freedom, over that of the ratio itself
    return (squares / variance + doubt * around) / (1 + doubt)
