"""The sequential probability ratio test for matches of two agents (Wald 1945)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agents.arena.specification import Sprt

PAIR_SCORES: Final = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""What an agent can score in a pair of games, as a share of it."""

BISECTIONS: Final = 60
"""Enough for the last bit of a float64."""

LEAST_COUNT: Final = 1e-3
"""What a score counts that has not been seen, so that no likelihood is 0."""


@dataclass(frozen=True)
class SprtState:
    """How far a test has come.

    Attributes:
        pairs: Pairs of games it has seen.
        llr: Logarithm of the likelihood of `elo1` over that of `elo0`.
        bounds: At or below the first, `elo0` is accepted; at or above the second, `elo1`.
        accepted: ``"elo0"``, ``"elo1"``, or None as long as it is open.
    """

    pairs: int
    llr: float
    bounds: tuple[float, float]
    accepted: str | None


def expected_score(elo: float) -> float:
    """The share of the points that an agent better by so many Elo scores."""
    return 1 / (1 + 10 ** (-elo / 400))


def log_likelihood_ratio(
    counts: Sequence[int] | NDArray[Any], elo0: float, elo1: float
) -> NDArray[np.float64]:
    """Generalised log-likelihood ratio of two strengths, from the scores of pairs of games.

    The pairs are taken as draws from an unknown distribution over the five scores; under each
    hypothesis it is the most likely one whose mean is the expected score (Van den Bergh, "A
    practical introduction to the GSPRT", as in fishtest's pentanomial model). For long matches
    this comes near ``(s1 - s0) (2 mean - s0 - s1) n / (2 variance)``, which however explodes in a
    clean sweep, where the variance is 0.

    Args:
        counts: ``(..., 5)``: how many pairs had each of `PAIR_SCORES`.
        elo0: The lower strength.
        elo1: The higher.

    Returns:
        ``(...)``; 0 without a pair.
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


def state_of_test(sprt: Sprt, counts: Sequence[int] | NDArray[Any]) -> SprtState:
    """What a test says to how many pairs of games had each of `PAIR_SCORES`."""
    llr = float(log_likelihood_ratio(counts, sprt.elo0, sprt.elo1))
    lower, upper = walds_bounds(sprt)
    accepted = "elo1" if llr >= upper else "elo0" if llr <= lower else None
    return SprtState(int(np.sum(counts)), llr, (lower, upper), accepted)
