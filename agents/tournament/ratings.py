"""Ratings from the games of many agents, and how sure they are."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ELO: Final = 400 / np.log(10)
"""Elo points of one unit of log-odds."""
LONGEST_STEP: Final = 2.0
"""How far, in log-odds, one step of Newton's method may go."""
PRECISION: Final = 1e-10
STEPS: Final = 500


def bradley_terry(score: Any, games: Any, prior: float = 1.0) -> Floats:
    """Ratings on the Elo scale with mean 0, by the model of Bradley and Terry (1952).

    An agent with rating r is expected to score ``1 / (1 + 10 ** ((s - r) / 400))`` against one with
    rating s. A draw is half a win. The likelihood is concave and Newton's method finds its top; the
    MM algorithm of Hunter (2004) leads to the same, in more and cheaper steps.

    Args:
        score: ``(..., n, n)``: points of agent i in its games with agent j.
        games: ``(..., n, n)``: how many games these were, in the symmetric form.
        prior: Weight of the made-up game that every agent has drawn with an average one. It keeps
            the ratings finite after a clean sweep, and defined between agents who never met.

    Returns:
        ``(..., n)``.
    """
    if not prior > 0:
        raise ValueError(f"expected a prior above 0, got {prior}")
    points = np.asarray(score, np.float64)
    count = np.asarray(games, np.float64)
    size = points.shape[-1]
    strength: Floats = np.zeros(points.shape[:-1])
    for _ in range(STEPS):
        expected = _logistic(strength[..., :, None] - strength[..., None, :])
        expected_prior = _logistic(strength)
        slope = (points - count * expected).sum(-1) + prior * (0.5 - expected_prior)
        between = count * expected * (1 - expected)
        own = between.sum(-1) + prior * expected_prior * (1 - expected_prior)
        curvature = own[..., None] * np.eye(size) - between
        step = cast("Floats", np.linalg.solve(curvature, slope[..., None])[..., 0])
        longest = np.abs(step).max(-1, keepdims=True)
        strength = strength + step * np.minimum(1, LONGEST_STEP / np.maximum(longest, 1e-300))
        if longest.max(initial=0) < PRECISION:
            break
    return ELO * (strength - strength.mean(-1, keepdims=True))


def _logistic(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


class PairScores(NamedTuple):
    """The pairs of games that two agents played.

    Attributes:
        agents: Numbers of the two.
        points: ``(pairs,)``: what the first scored in each, 0 to 2.
        games: ``(pairs,)``: how many games of it were played, 1 or 2.
    """

    agents: tuple[int, int]
    points: Floats
    games: Floats


def tables(pairings: Sequence[PairScores], agents: int) -> tuple[Floats, Floats]:
    """Points and games of every agent against every other, both ``(agents, agents)``."""
    points, games = np.zeros((2, agents, agents))
    for pairing in pairings:
        i, j = pairing.agents
        _fill(points, games, i, j, pairing.points.sum(), pairing.games.sum())
    return points, games


def _fill(points: Floats, games: Floats, i: int, j: int, scored: Any, played: Any) -> None:
    points[..., i, j] = scored
    points[..., j, i] = played - scored
    games[..., i, j] = games[..., j, i] = played


def resampled_tables(
    pairings: Sequence[PairScores], agents: int, samples: int, seed: int
) -> tuple[Floats, Floats]:
    """The bootstrap (Efron 1979): `tables` of as many pairs, drawn again from those played.

    Pairs are drawn, not games, as the two games of a pair share their opening. In each pairing two
    made-up pairs are among those to be drawn, one won and one lost: without them a clean sweep
    would give an interval of no width. With them it is about as wide as Wilson's.

    Returns:
        Both ``(samples, agents, agents)``.
    """
    rng = np.random.default_rng(seed)
    points, games = np.zeros((2, samples, agents, agents))
    for pairing in pairings:
        count = len(pairing.points)
        if count == 0:
            continue
        shares = np.full(count + 2, 1 / (count + 2))
        drawn = rng.multinomial(count, shares, size=samples)
        scored = drawn @ np.append(pairing.points, (0.0, 2.0))
        played = drawn @ np.append(pairing.games, (2.0, 2.0))
        _fill(points, games, *pairing.agents, scored, played)
    return points, games


def interval(samples: Any, around: Any, share: float = 0.95) -> tuple[Floats, Floats]:
    """The middle `share` of samples along their first axis, widened to include `around`."""
    tail = 50 * (1 - share)
    low, high = np.percentile(np.asarray(samples), [tail, 100 - tail], axis=0)
    return np.minimum(low, around), np.maximum(high, around)


def superiority(ratings: Any) -> Floats:
    """Likelihood of superiority: how often i is above j in resampled ratings, ``(n, n)``.

    Args:
        ratings: ``(samples, n)``.
    """
    drawn = np.asarray(ratings)
    one, other = drawn[:, :, None], drawn[:, None, :]
    return ((one > other) + 0.5 * (one == other)).mean(axis=0)
