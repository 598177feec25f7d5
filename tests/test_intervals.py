"""Intervals of scores: known cases by hand, and how often they contain the true value."""

import math

import numpy as np
import pytest
from benchmarks.intervals import repeated_lines, repeated_openings

from agents.arena.intervals import (
    binomial_moments,
    difference_interval,
    dispersion,
    score_interval,
)


def test_independent_games_have_agrestis_and_coulls_interval():
    low, high = score_interval([0, 1] * 50)
    total = 100 + 1.96**2
    assert (low + high) / 2 == pytest.approx(0.5)
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(0.25 / total), rel=0.01)


def test_a_clean_sweep_has_a_lower_end_alone():
    low, high = score_interval(np.full(50, 2.0), 2)
    assert high == 1.0
    assert 0.9 < low < 1.0
    assert score_interval(np.zeros(50), 2) == pytest.approx((0.0, 1 - low))


def test_nothing_played_is_not_known_and_one_unit_is_wide():
    assert score_interval([]) == (0.0, 1.0)
    low, high = score_interval([2.0], 2)
    assert low < 0.4
    assert high == 1


def test_half_a_pair_counts_as_one_game():
    whole, half = score_interval([2, 1, 0], [2, 2, 2]), score_interval([2, 1, 0], [2, 2, 1])
    assert half[0] < half[1]
    assert half != whole


def test_units_that_vary_less_have_narrower_intervals():
    def width(points):
        low, high = score_interval(points, 2)
        return high - low

    assert width([1.0] * 40) < width([0, 1, 1, 2] * 10) < width([0, 2] * 20)


def test_moments_are_those_of_binomial_points():
    games, score = np.array([2.0, 3.0, 5.0]), 0.7
    rng = np.random.default_rng(0)
    points = rng.binomial(games.astype(int), score, (400_000, 3))
    squares = (points - games * score) ** 2
    variance, of_squares = binomial_moments(score, games)
    assert squares.mean(0).sum() == pytest.approx(variance, rel=0.01)
    assert squares.var(0).sum() == pytest.approx(of_squares, rel=0.02)


@pytest.mark.parametrize("games", [1, 2])
@pytest.mark.parametrize("units", [1, 2, 50])
def test_what_was_always_drawn_is_not_known_exactly(units, games):
    """The variance of a single game's squared distance is 0 where nobody draws."""
    low, high = score_interval([games / 2] * units, games)
    assert 0 < low < 0.5 - 0.2 / units**1.5
    assert low + high == pytest.approx(1)


def test_much_evidence_outweighs_what_is_expected():
    assert dispersion(0.0, 5.0, 2.0, 4.0) == pytest.approx(4 / (4 + 2 * 5**2 / 2))
    assert dispersion(400.0, 1000.0, 100.0, 4.0) == pytest.approx(0.4, abs=1e-3)


@pytest.mark.parametrize("score", [0.5, 0.76, 0.95, 0.99])
@pytest.mark.parametrize(("units", "games"), [(40, 2), (100, 1)])
def test_intervals_of_scores_cover(score, units, games):
    """A small form of `tests/benchmarks/intervals.py`; near 1 they are on the safe side."""
    rng = np.random.default_rng(units)
    points = rng.binomial(games, score, (1000, units))
    covered = [low <= score <= high for low, high in (score_interval(row, games) for row in points)]
    assert np.mean(covered) >= 0.93
    assert score > 0.9 or np.mean(covered) <= 0.97


def test_intervals_cover_where_deterministic_agents_repeat_their_openings():
    """Taken for distinct ones, pairs from 20 openings, each played six times, cover 0.6."""
    points, share = repeated_openings(np.random.default_rng(6), 0.6, 20, 6, 1000)
    covered, believed = (
        np.mean([low <= 0.6 <= high for low, high in (score_interval(row, 2, s) for row in points)])
        for s in (share, 1.0)
    )
    assert 0.93 <= covered <= 0.98
    assert believed < 0.7


@pytest.mark.parametrize("score", [0.5, 0.9])
def test_intervals_cover_where_agents_of_chance_repeat_games(score):
    """A win is one of three games, a loss one of a hundred: the score is not that of the lines."""
    covered, of_distinct = [], []
    for points, share, distinct in repeated_lines(np.random.default_rng(7), score, 80, 3, 100, 500):
        low, high = score_interval(points, 2, share)
        covered.append(low <= score <= high)
        of_distinct.append(distinct)
    assert np.mean(covered) >= 0.95
    assert np.mean(of_distinct) < score / 2


@pytest.mark.parametrize("share", [0.9, 0.97, 0.99])
def test_intervals_of_shares_of_positions_cover_where_nearly_all_are_right(share):
    """The bootstrap that was here before covered 0.87, 0.59 and 0.31 of these."""
    rng = np.random.default_rng(3)
    chance = rng.beta(0.3 * share, 0.3 * (1 - share), (1000, 77))
    seen = rng.binomial(5, chance) / 5
    covered = [low <= share <= high for low, high in map(score_interval, seen)]
    assert np.mean(covered) >= 0.93


@pytest.mark.parametrize(("one", "other"), [(0.8, 0.7), (0.97, 0.97), (0.99, 0.95)])
def test_intervals_of_differences_cover(one, other):
    rng = np.random.default_rng(4)
    gains = (rng.random((1000, 200)) < one) * 1.0 - (rng.random((1000, 200)) < other)
    covered = [low <= one - other <= high for low, high in map(difference_interval, gains)]
    assert np.mean(covered) >= 0.93


@pytest.mark.parametrize("gain", [-1, 0, 1])
def test_equal_differences_have_an_interval_with_a_width(gain):
    low, high = difference_interval([gain] * 100)
    assert low <= gain <= high
    assert 0.01 < high - low < 0.1
