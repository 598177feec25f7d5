"""Ratings from games with their uncertainty, and the sequential test of a match (Wald 1945)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, inf
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from agents.arena.intervals import (
    PRIOR_FREEDOM,
    QUANTILE,
    Floats,
    binomial_moments,
    dispersion,
    score_interval,
)
from agents.arena.specification import Sprt
from agents.core.structured import Count

ELO: Final = 400 / np.log(10)
"""Elo points of one unit of log-odds."""
LONGEST_STEP: Final = 2.0
"""The most that one step of the fit changes a strength, in log-odds."""
PRECISION: Final = 1e-10
STEPS: Final = 500
SMALLEST_VARIANCE: Final = 1e-12
"""In squared log-odds; less is rounding, of an agent that has not played."""
POOL_FREEDOM: Final = 30.0
"""How strongly the dispersion of one agent's games is shrunk towards that of all games.

In degrees of freedom. Of 8 and 30 the one with better coverage for 8 and 16 agents with ten pairs
of games.
"""

SKEW_SHIFT, SKEW_WIDTH = 0.9, 0.35
"""By how much a skewed likelihood shifts and widens an interval; see `rate`."""


class Fit(NamedTuple):
    """The most likely strengths, in log-odds."""

    strength: Floats
    """``(..., n)``: their mean is 0 in every group of agents that have met, even through others."""
    covariance: Floats
    """``(..., n, n)``: the inverse of the information of independent games without draws."""
    expected: Floats
    """``(..., n, n)``: expected score of agent i in a game with agent j."""
    leverage: Floats
    """``(..., n, n)``: how many parameters the games of i and j determine."""


def bradley_terry(score: Any, games: Any, prior: float = 1.0) -> Floats:
    """Ratings on the Elo scale with mean 0, by the model of Bradley and Terry (1952).

    An agent with rating r is expected to score ``1 / (1 + 10 ** ((s - r) / 400))`` against one with
    rating s. A draw is half a win. The likelihood is multiplied by Jeffreys' prior, which keeps the
    ratings finite after a clean sweep and removes most of their bias (Firth 1993; Heinze and
    Schemper 2002). It is as weak as one drawn game for every agent but one, among the pairings that
    say most about the ratings. Agents who have not met, not even through others, cannot be
    compared: the mean of each such group is 0.

    Args:
        score: ``(..., n, n)``: points of agent i in its games with agent j.
        games: ``(..., n, n)``: how many games these were, in the symmetric form.
        prior: Power of Jeffreys' prior.

    Returns:
        ``(..., n)``.

    Raises:
        ValueError: If `prior` is not above 0.
    """
    if not prior > 0:
        raise ValueError(f"expected a prior above 0, got {prior}")
    strength = _fit(np.asarray(score, np.float64), np.asarray(games, np.float64), prior).strength
    return ELO * (strength - strength.mean(-1, keepdims=True))


def _fit(points: Floats, games: Floats, prior: float) -> Fit:
    """The maximum of the likelihood with its prior, by Fisher's scoring."""
    groups = _groups(games)
    means = groups / groups.sum(-1, keepdims=True)
    strength: Floats = np.zeros(points.shape[:-1])
    fit = Fit(strength, points, points, points)
    for _ in range(STEPS):
        ahead = strength[..., :, None] - strength[..., None, :]
        expected = np.exp(-np.logaddexp(0, -ahead))  # without an overflow, however far apart
        of_game = expected * (1 - expected)
        covariance = cast("Floats", np.linalg.inv(_laplacian(games * of_game) + means)) - means
        leverage = games * of_game * difference_variances(covariance)
        fit = Fit(strength, covariance, expected, leverage)
        added = prior * leverage  # games, of which each agent wins half
        slope = (points - games * expected + added * (0.5 - expected)).sum(-1)
        curvature = _laplacian((games + added) * of_game) + means
        step = cast("Floats", np.linalg.solve(curvature, slope[..., None]))[..., 0]
        longest = np.abs(step).max(-1, keepdims=True)
        if longest.max(initial=0) < PRECISION:
            break
        strength = strength + step * np.minimum(1, LONGEST_STEP / np.maximum(longest, 1e-300))
    return fit


def _laplacian(weights: Floats) -> Floats:
    """The information about the strengths, from that about each of their differences."""
    return weights.sum(-1)[..., None] * np.eye(weights.shape[-1]) - weights


def difference_variances(covariance: Floats) -> Floats:
    """The variance of the difference of every two variables, ``(..., n, n)``."""
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    return own[..., :, None] + own[..., None, :] - 2 * covariance


def _groups(links: Floats) -> Floats:
    """1 where agent j can be reached from agent i through positive links, else 0."""
    reached = (links > 0) | np.eye(links.shape[-1], dtype=bool)
    for _ in range(links.shape[-1].bit_length()):
        reached = reached @ reached
    return reached.astype(np.float64)


class PairScores(NamedTuple):
    """The pairs of games that two agents played."""

    agents: tuple[int, int]
    points: Floats
    """``(pairs,)``: what the first scored in each, 0 to 2."""
    games: Floats
    """``(pairs,)``: how many games of it were played, 1 or 2."""
    distinct: int
    """How many of all these games do not repeat an earlier one."""

    @property
    def share(self) -> float:
        """The share of the distinct games: each game weighs as much."""
        return self.distinct / float(self.games.sum()) if len(self.games) else 1.0

    @property
    def score(self) -> float | None:
        """The points of the first for a game, 0 to 1; None without a game."""
        return float(self.points.sum() / self.games.sum()) if len(self.games) else None

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of `score`, by `agents.arena.intervals.score_interval`."""
        return score_interval(self.points, self.games, self.share)

    @property
    def normalised_elo(self) -> tuple[float, float, float] | None:
        """The advantage in standard deviations of a game, in units of Elo, with its interval.

        ``800 / ln 10`` times (score - 1/2) over the deviation that one game of the pairs stands
        for (Van den Bergh, "Normalized Elo", 2022). Draws and unbalanced openings change Elo but
        hardly this. The interval of 95 % is by the delta method: with d the standardised mean of
        the pairs, g their skewness and k their kurtosis, the variance of d is ``(1 - d g +
        d^2 (k - 1) / 4) / pairs``; of 10 pairs it covers 89 to 95 %. None where pairs do not vary.
        """
        means = self.points / self.games
        units = self.share * len(means)
        if units < 2 or np.ptp(means) == 0:
            return None
        deviation = means.std(ddof=1)
        apart = (means.mean() - 0.5) / deviation
        third, fourth = (float((((means - means.mean()) / deviation) ** n).mean()) for n in (3, 4))
        variance = max(1 - apart * third + apart**2 * (fourth - 1) / 4, 0) / (units - 1)
        margin = QUANTILE * math.sqrt(variance)
        low, middle, high = (
            2 * ELO / math.sqrt(2) * float(each) for each in (apart - margin, apart, apart + margin)
        )
        return middle, low, high


def tables(pairings: Sequence[PairScores], agents: int) -> tuple[Floats, Floats]:
    """Points and games of every agent against every other, both ``(agents, agents)``, weighed."""
    points, games = np.zeros((2, agents, agents))
    for pairing in pairings:
        i, j = pairing.agents
        points[i, j] = pairing.share * pairing.points.sum()
        games[i, j] = games[j, i] = pairing.share * pairing.games.sum()
        points[j, i] = games[i, j] - points[i, j]
    return points, games


class Ratings(NamedTuple):
    """What games say about the strength of agents.

    Attributes:
        elo: ``(agents,)``: by `bradley_terry`; the mean is 0.
        intervals: For each agent the interval of 95 % of its `elo`. An agent that won all its games
            has the upper end inf, one that lost all the lower end -inf.
        superiority: ``(agents, agents)``: likelihood that agent i is better than agent j.
        separated: Whether some agents scored no point against all the others they met: the prior,
            not the games, decides how far apart these two groups are.
    """

    elo: Floats
    intervals: tuple[tuple[float, float], ...]
    superiority: Floats
    separated: bool


def rate(pairings: Sequence[PairScores], agents: int) -> Ratings:
    """Ratings with intervals, and who is better.

    The variance is the sandwich estimate of White (1982), over pairs of games: it holds with draws,
    which vary less than wins and losses, and for games that depend on their opening. It is shrunk
    towards the `dispersion` of all games, which also weighs the prior: the bias that it removes is
    smaller where games vary less.

    Few losses bound a rating firmly from below and loosely from above. With skewness g of the
    likelihood the ends of the interval are ``s g - q (1 + w g**2)`` and ``s g + q (1 + w g**2)``
    standard deviations from the rating, where q is `QUANTILE`, s `SKEW_SHIFT` and w `SKEW_WIDTH`:
    the form of Cornish and Fisher (1938). Like `PRIOR_FREEDOM`, s and w were chosen by the exact
    coverage of two agents with ten pairs of games, and by that of an agent who is 1,000 Elo above
    seven others.
    """
    points, games = tables(pairings, agents)
    played = [pairing for pairing in pairings if len(pairing.points)]
    fit = _fit(points, games, 1.0)
    pool = 1.0
    if played:
        squares, variance, of_squares = _moments(played, fit).sum(axis=0)
        pool = float(dispersion(squares, variance, of_squares, PRIOR_FREEDOM))
        fit = _fit(points, games, pool)
    first, second = (np.array([pair.agents[n] for pair in played], int) for n in (0, 1))
    moments = _moments(played, fit)
    influence = fit.covariance[:, first] - fit.covariance[:, second]
    variance = np.diagonal(fit.covariance)
    error = np.sqrt(variance * _dispersions(influence, moments, pool))
    third = influence**3 @ (moments[:, 1] * (2 * fit.expected[first, second] - 1))
    elo: Floats = ELO * (fit.strength - fit.strength.mean())
    low, high = _ends(elo, variance, error, third)
    won, lost = ((table.sum(1) == 0) & (games.sum(1) > 0) for table in (points.T, points))
    of_differences = [_dispersions(own - influence, moments, pool) for own in influence]
    apart = difference_variances(fit.covariance) * np.reshape(of_differences, (agents, agents))
    met = _groups(games) > 0
    return Ratings(
        elo,
        tuple(
            (
                -inf if lost[n] else float(low[n]),
                inf if won[n] else float(high[n]),
            )
            for n in range(agents)
        ),
        _superiority(fit.strength, np.where(met, apart, 0)),
        not bool((_groups(points) > 0)[met].all()),
    )


def _ends(elo: Floats, variance: Floats, error: Floats, third: Floats) -> tuple[Floats, Floats]:
    """The ends of the intervals of ratings, as `rate` says; all arrays are ``(agents,)``.

    `variance` is of the strengths if games were independent, `error` what their standard deviation
    is, `third` their third moment.
    """
    skewness = np.divide(
        third * error, variance**2, out=np.zeros_like(elo), where=variance > SMALLEST_VARIANCE
    )
    shift = ELO * error * SKEW_SHIFT * skewness
    margin = ELO * error * QUANTILE * (1 + SKEW_WIDTH * skewness**2)
    return elo + shift - margin, elo + shift + margin


def rate_beside(
    pairings: Sequence[PairScores], anchors: Sequence[float]
) -> tuple[float, tuple[float, float]]:
    """The rating of one agent from its games against others whose ratings are known.

    As the others' ratings are fixed, ratings from games of different days are on one scale. The
    interval is that of `rate`, for anchors whose ratings are exact.

    Args:
        pairings: Its pairs of games with each of the others, in their order; it comes first.
        anchors: ``(others,)``: their ratings.

    Returns:
        Its rating on the anchors' scale, and the interval of 95 %, of which an end is infinite if
        the agent won, or lost, all its games.

    Raises:
        ValueError: If there is no game.
    """
    played = [(one, elo) for one, elo in zip(pairings, anchors, strict=True) if len(one.points)]
    if not played:
        raise ValueError("expected a game to rate, got none")
    games = np.array([one.share * one.games.sum() for one, _ in played])
    points = np.array([one.share * one.points.sum() for one, _ in played])
    known = np.array([elo for _, elo in played]) / ELO
    renumbered = [PairScores((0, n), *one[1:]) for n, (one, _) in enumerate(played)]
    fit = _fit_beside(points, games, known, 1.0)
    squares, variance, of_squares = _moments(renumbered, fit).sum(axis=0)
    pool = float(dispersion(squares, variance, of_squares, PRIOR_FREEDOM))
    fit = _fit_beside(points, games, known, pool)
    moments, own = _moments(renumbered, fit), fit.covariance
    error = np.sqrt(own * _dispersions(np.broadcast_to(own, len(played)), moments, pool))
    third = own**3 * (moments[:, 1] * (2 * fit.expected[0] - 1)).sum()
    elo = ELO * fit.strength
    low, high = (float(end[0]) for end in _ends(elo, own, error, third))
    lost, won = not points.any(), points.sum() == games.sum()
    return float(elo[0]), (-inf if lost else low, inf if won else high)


@dataclass(frozen=True)
class Score:
    """The games of a policy against one anchor, from the policy's side.

    Examples:
        >>> from agents import GreedyAgent
        >>> from agents.learning.progress import Anchors, rate_policy
        >>> anchors = Anchors("tictactoe", {"random": 0.0})
        >>> rating, _ = rate_policy(GreedyAgent(seed=1), anchors, pairs=2, step=1000)
        >>> found = rating.opponents["random"]
        >>> found.wins + found.draws + found.losses
        4

    Attributes:
        distinct: How many of the games do not repeat an earlier one.
        score: Points for a game, 0 to 1.
        low: Lower end of the 95 % interval of `score`.
        high: Upper end.
    """

    wins: Count
    draws: Count
    losses: Count
    distinct: Count
    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Rating:
    """How strong a policy was at a moment of its training.

    Examples:
        >>> from agents import GreedyAgent
        >>> from agents.learning.progress import Anchors, rate_policy
        >>> anchors = Anchors("tictactoe", {"random": 0.0})
        >>> rating, _ = rate_policy(GreedyAgent(seed=1), anchors, pairs=2, step=1000)
        >>> rating.step, rating.games, rating.illegal_moves
        (1000, 4, 0)

    Attributes:
        step: The moment, in steps of the learner.
        elo: Its rating on the scale of the anchors.
        low: Lower end of its 95 % interval; None if it lost all games, which bound it only above.
        high: Upper end; None if it won all games.
        illegal_moves: Games lost by an illegal action.
        opponents: The results against each anchor, by its name.
    """

    step: Count
    elo: float
    low: float | None
    high: float | None
    illegal_moves: Count
    opponents: dict[str, Score]

    @property
    def games(self) -> int:
        return sum(one.wins + one.draws + one.losses for one in self.opponents.values())

    @property
    def interval(self) -> tuple[float, float]:
        """`low` and `high`; infinite where there is no bound."""
        return -inf if self.low is None else self.low, inf if self.high is None else self.high

    def scalars(self) -> dict[str, float]:
        """Its numbers by the names that they have in TensorBoard."""
        ends = {"rating/low": self.low, "rating/high": self.high}
        return {
            "rating/elo": self.elo,
            **{name: end for name, end in ends.items() if end is not None},
            **{f"score/{name}": one.score for name, one in self.opponents.items()},
        }


def _fit_beside(points: Floats, games: Floats, known: Floats, prior: float) -> Fit:
    """As `_fit`, for one agent beside others of known strengths; all arrays are ``(others,)``.

    Of the fit, `strength` and `covariance` are ``(1,)``, `expected` and `leverage` ``(1, others)``.
    """
    strength = float(known.mean())
    fit = Fit(known, known, known, known)
    for _ in range(STEPS):
        expected = np.exp(-np.logaddexp(0, known - strength))
        information = games * expected * (1 - expected)
        leverage = information / information.sum()
        variance = np.array([1 / information.sum()])
        fit = Fit(np.array([strength]), variance, expected[None], leverage[None])
        slope = (points - games * expected + prior * leverage * (0.5 - expected)).sum()
        curvature = ((games + prior * leverage) * expected * (1 - expected)).sum()
        step = float(np.clip(slope / curvature, -LONGEST_STEP, LONGEST_STEP))
        if abs(step) < PRECISION:
            break
        strength += step
    return fit


def _moments(pairings: Sequence[PairScores], fit: Fit) -> NDArray[np.float64]:
    """For each pairing: the squared residuals of its pairs, and `binomial_moments`, ``(n, 3)``."""
    found: list[Floats] = []
    for pairing in pairings:
        expected = fit.expected[pairing.agents]
        squares = ((pairing.points - expected * pairing.games) ** 2).sum()
        units = pairing.share * len(pairing.points)
        fitted = min(fit.leverage[pairing.agents] / units, 0.5)
        moments = squares / (1 - fitted), *binomial_moments(expected, pairing.games)
        found.append(pairing.share * np.array(moments))
    return np.array(found).reshape(-1, 3)


def _dispersions(influence: Floats, moments: Floats, pool: float) -> Floats:
    """The dispersion of each quantity, from the influence of every pairing on it.

    It is shrunk towards that of all games, but is at least what these games alone would give if
    they did not vary at all. The influence is ``(..., pairings)``.
    """
    weights = influence**2
    sums = weights @ moments[:, 0], weights @ moments[:, 1], weights**2 @ moments[:, 2]
    is_known = sums[1] > 0
    squares, variance, of_squares = (np.where(is_known, each, 1.0) for each in sums)
    found = dispersion(squares, variance, of_squares, POOL_FREEDOM, pool)
    least = dispersion(0.0, variance, of_squares, PRIOR_FREEDOM)
    return np.where(is_known, np.maximum(found, least), 1.0)


def _superiority(strength: Floats, variances: Floats) -> Floats:
    """How likely i is above j, ``(n, n)``: 1/2 where the variance of their difference is 0."""
    apart = strength[:, None] - strength[None, :]
    scale = np.sqrt(2 * variances)
    steps = np.divide(apart, scale, out=np.zeros_like(apart), where=scale > 0)
    return np.array([[(1 + erf(step)) / 2 for step in row] for row in steps])


# ---- the sequential probability ratio test -------------------------------------------------------

PAIR_SCORES: Final = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""The possible scores of an agent in a pair of games, as shares of its points."""

BISECTIONS: Final = 60
"""Enough for the last bit of a float64."""

LEAST_COUNT: Final = 1e-3
"""The count of a score that has not been seen, so that no likelihood is 0."""


@dataclass(frozen=True)
class SprtState:
    """The state of a test.

    Attributes:
        pairs: Pairs of games it has seen.
        llr: Logarithm of the likelihood of `elo1` over that of `elo0`.
        bounds: At or below the first, `elo0` is accepted; at or above the second, `elo1`.
        accepted: ``"elo0"``, ``"elo1"``, or None while the test is open.
    """

    pairs: int
    llr: float
    bounds: tuple[float, float]
    accepted: str | None


def expected_score(elo: float) -> float:
    """The score that an agent is expected to reach with this advantage in Elo."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(score: float) -> float:
    """The advantage in Elo at which a score, 0 to 1, is expected; infinite at its ends."""
    if not 0 < score < 1:
        return math.copysign(inf, score - 0.5)
    return 400 * math.log10(score / (1 - score))


def log_likelihood_ratio(
    counts: Sequence[int] | NDArray[Any], elo0: float, elo1: float
) -> NDArray[np.float64]:
    """Generalised log-likelihood ratio of two strengths, from the scores of pairs of games.

    The pairs are taken as draws from an unknown distribution over the five scores; under each
    hypothesis it is the most likely one whose mean is the expected score (Van den Bergh, "A
    practical introduction to the GSPRT", as in fishtest's pentanomial model). For long matches
    this comes near ``(s1 - s0) (2 mean - s0 - s1) n / (2 variance)``, which however explodes in a
    clean sweep, where the variance is 0.

    The counts, ``(..., 5)``, say how many pairs had each of `PAIR_SCORES`. Without a pair it is 0.
    """
    played = np.asarray(counts, np.float64)
    seen = np.maximum(played, LEAST_COUNT)
    share = seen / seen.sum(-1, keepdims=True)
    likely = [_most_likely(share, expected_score(elo)) for elo in (elo0, elo1)]
    found = (seen * np.log(likely[1] / likely[0])).sum(-1)
    return np.where(played.sum(-1) > 0, found, 0.0)


def _most_likely(share: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """The distribution over `PAIR_SCORES` with this mean that makes the shares most likely.

    By Lagrange it is ``share / (1 + x (score - mean))``, with the x at which its mean is right.
    """
    away = PAIR_SCORES - mean
    rows = (*share.shape[:-1], 1)
    low, high = np.full(rows, -1 / away[-1]), np.full(rows, -1 / away[0])
    for _ in range(BISECTIONS):
        x = (low + high) / 2
        is_low = (share * away / (1 + x * away)).sum(-1, keepdims=True) > 0
        low, high = np.where(is_low, x, low), np.where(is_low, high, x)
    return share / (1 + (low + high) / 2 * away)


def walds_bounds(sprt: Sprt) -> tuple[float, float]:
    """The log-likelihood ratios at and beyond which `elo0`, and `elo1`, are accepted."""
    return math.log(sprt.beta / (1 - sprt.alpha)), math.log((1 - sprt.beta) / sprt.alpha)


def state_of_test(
    sprt: Sprt, counts: Sequence[int] | NDArray[Any], share: float = 1.0
) -> SprtState:
    """The state of a test, from how many pairs of games had each of `PAIR_SCORES`.

    `share` is that of distinct games: they weigh as much as these alone.
    """
    llr = float(log_likelihood_ratio(share * np.asarray(counts), sprt.elo0, sprt.elo1))
    lower, upper = walds_bounds(sprt)
    accepted = "elo1" if llr >= upper else "elo0" if llr <= lower else None
    return SprtState(int(np.sum(counts)), llr, (lower, upper), accepted)
