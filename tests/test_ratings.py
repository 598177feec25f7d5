"""Ratings, their intervals, and the sequential test: exact small cases and known laws."""

import math

import numpy as np
import pytest

from agents.root import wilson_interval
from agents.tournament.ratings import (
    PairScores,
    bradley_terry,
    interval,
    resampled_tables,
    superiority,
    tables,
)
from agents.tournament.specification import Sprt
from agents.tournament.sprt import PAIR_SCORES, expected_score, log_likelihood_ratio, state_of_test

HARDLY_ANY = 1e-7
"""A prior that leaves the likelihood alone."""


def points_of(ratings, games):
    """The tables of agents who score exactly what their ratings let expect."""
    away = np.subtract.outer(ratings, ratings)
    played = games * (1 - np.eye(len(ratings)))
    return played / (1 + 10 ** (-away / 400)), played


# ---- Bradley-Terry -------------------------------------------------------------------------------


@pytest.mark.parametrize("wins", [1, 2, 3, 7.5])
def test_two_agents(wins):
    points = [[0, wins], [10 - wins, 0]]
    found = bradley_terry(points, [[0, 10], [10, 0]], HARDLY_ANY)
    assert found[0] - found[1] == pytest.approx(400 * math.log10(wins / (10 - wins)), abs=1e-3)
    assert found.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ratings", [[0, 0, 0], [300, 0, -300], [900, -100, -200, -600]])
def test_exact_scores_give_the_ratings_back(ratings):
    assert bradley_terry(*points_of(ratings, 10), HARDLY_ANY) == pytest.approx(ratings, abs=1e-2)


def test_hunters_algorithm_finds_the_same():
    rng = np.random.default_rng(0)
    games = np.triu(rng.integers(5, 20, (5, 5)), 1)
    wins = np.triu(rng.random((5, 5)) * games, 1)
    points = wins + np.tril((games - wins).T, -1)
    games = games + games.T
    strength = np.ones(5)
    for _ in range(5000):  # with the made-up drawn game against strength 1
        against = games / np.add.outer(strength, strength)
        strength = (points.sum(axis=1) + 0.5) / (against.sum(axis=1) + 1 / (strength + 1))
    expected = 400 * np.log10(strength)
    assert bradley_terry(points, games) == pytest.approx(expected - expected.mean(), abs=1e-6)


@pytest.mark.parametrize("games", [1, 10, 1000])
def test_a_clean_sweep_stays_finite(games):
    high, low = bradley_terry([[0, games], [0, 0]], [[0, games], [games, 0]])
    assert math.isfinite(high)
    assert high == pytest.approx(-low)
    # Where the slope of the likelihood with its prior is 0:
    lost = games * (1 - expected_score(high - low))
    assert lost == pytest.approx(expected_score(high) - 0.5, abs=1e-8)


def test_more_wins_and_a_weaker_prior_move_ratings_further_apart():
    def apart(games, prior):
        return np.ptp(bradley_terry([[0, games], [0, 0]], [[0, games], [games, 0]], prior))

    assert 0 < apart(1, 1) < apart(2, 1) < apart(100, 1) < apart(100, 0.1)


def test_draws_are_half_wins():
    drawn = bradley_terry([[0, 5, 4], [5, 0, 4], [0, 0, 0]], [[0, 10, 4], [10, 0, 4], [4, 4, 0]])
    assert drawn[0] == pytest.approx(drawn[1])
    assert drawn[2] < drawn[0]


def test_who_never_met_is_rated_by_common_opponents():
    points = [[0, 8, 0], [2, 0, 8], [0, 2, 0]]
    found = bradley_terry(points, np.add(points, np.transpose(points)), HARDLY_ANY)
    assert found == pytest.approx([400 * math.log10(4), 0, -400 * math.log10(4)], abs=1e-2)


def test_no_games_leave_all_equal():
    assert bradley_terry(np.zeros((3, 3)), np.zeros((3, 3))) == pytest.approx([0, 0, 0])


def test_many_tables_at_once():
    rng = np.random.default_rng(1)
    games = np.broadcast_to(4 * (1 - np.eye(3)), (20, 3, 3))
    wins = np.triu(rng.integers(0, 5, (20, 3, 3)), 1)
    points = wins + np.tril((games - wins).transpose(0, 2, 1), -1)
    found = bradley_terry(points, games)
    for one, table in zip(found, points, strict=True):
        assert one == pytest.approx(bradley_terry(table, games[0]), abs=1e-6)


@pytest.mark.parametrize("prior", [0, -1, math.nan])
def test_there_is_always_a_prior(prior):
    with pytest.raises(ValueError, match="expected a prior above 0"):
        bradley_terry(np.zeros((2, 2)), np.zeros((2, 2)), prior)


# ---- the bootstrap -------------------------------------------------------------------------------


def pairing(*points, agents=(0, 1)):
    return PairScores(agents, np.array(points, float), np.full(len(points), 2.0))


def test_tables_of_pairs():
    points, games = tables([pairing(2, 1.5, 0), pairing(1, agents=(1, 2))], 3)
    assert points.tolist() == [[0, 3.5, 0], [2.5, 0, 1], [0, 1, 0]]
    assert games.tolist() == [[0, 6, 0], [6, 0, 2], [0, 2, 0]]


def test_resampling_keeps_the_number_of_games_and_is_reproducible():
    pairings = [pairing(2, 1, 0, 1.5), pairing(1, 1, agents=(1, 2)), pairing(agents=(0, 2))]
    points, games = resampled_tables(pairings, 3, 50, seed=3)
    assert (games == tables(pairings, 3)[1]).all()
    assert (points + points.transpose(0, 2, 1) == games).all()
    again, other = (resampled_tables(pairings, 3, 50, seed)[0] for seed in (3, 4))
    assert (again == points).all()
    assert (other != points).any()


@pytest.mark.parametrize("pairs", [1, 5, 20, 100])
def test_a_clean_sweep_has_an_interval_like_wilsons(pairs):
    points, games = resampled_tables([pairing(*[2] * pairs)], 2, 4000, seed=0)
    low, high = interval(points[:, 0, 1] / games[:, 0, 1], 1.0)
    assert high == 1
    assert low == pytest.approx(wilson_interval(1.0, pairs)[0], abs=0.05 if pairs > 1 else 0.3)


def test_the_interval_is_that_of_pairs_not_games():
    """Pairs in which each side wins once vary not at all; half of them swept vary most."""
    widths = []
    for points in ([1] * 50, [2, 0] * 25):
        scored, played = resampled_tables([pairing(*points)], 2, 2000, seed=0)
        low, high = interval(scored[:, 0, 1] / played[:, 0, 1], 0.5)
        assert low < 0.5 < high
        widths.append(high - low)
    assert widths[1] == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 50), rel=0.1)
    assert widths[0] < widths[1] / 3


def test_an_interval_contains_its_middle():
    low, high = interval([[1.0, 5.0], [2.0, 6.0]], np.array([9.0, 5.5]))
    assert low.tolist() == pytest.approx([1.025, 5.025])
    assert high.tolist() == pytest.approx([9.0, 5.975])


def test_superiority():
    found = superiority([[1, 0, 0], [2, 3, 0], [2, 1, 1], [5, 4, 3]])
    assert found[0].tolist() == [0.5, 0.75, 1]
    assert (found + found.T == 1).all()


# ---- the sequential test -------------------------------------------------------------------------


def test_expected_scores():
    assert expected_score(0) == 0.5
    assert expected_score(400) == pytest.approx(10 / 11)
    assert expected_score(-400) == pytest.approx(1 / 11)


def test_without_games_nothing_is_likelier():
    assert log_likelihood_ratio([0] * 5, 0, 50) == 0


def test_bounds_are_walds():
    state = state_of_test(Sprt(0, 50, alpha=0.05, beta=0.1), [0] * 5)
    assert state.bounds == pytest.approx((math.log(0.1 / 0.95), math.log(0.9 / 0.05)))
    assert state.accepted is None


def test_a_clean_sweep_is_decided_after_a_known_number_of_pairs():
    """Under a mean of s a sweep of n pairs has likelihood s^n at most."""
    needed = math.ceil(math.log(19) / math.log(expected_score(50) / 0.5))
    assert needed == 23
    assert state_of_test(Sprt(), [0, 0, 0, 0, needed - 1]).accepted is None
    assert state_of_test(Sprt(), [0, 0, 0, 0, needed]).accepted == "elo1"
    assert state_of_test(Sprt(), [needed, 0, 0, 0, 0]).accepted == "elo0"


def test_mirrored_matches_give_mirrored_ratios():
    counts = [3, 10, 40, 17, 5]
    one = log_likelihood_ratio(counts, 0, 30)
    other = log_likelihood_ratio(counts[::-1], -30, 0)
    assert one == pytest.approx(-other, rel=1e-9)


@pytest.mark.parametrize("counts", [[20, 60, 200, 80, 40], [50, 50, 200, 50, 50], [5, 9, 9, 8, 4]])
def test_in_a_long_match_it_is_nearly_the_normal_ratio(counts):
    share = np.array(counts) / sum(counts)
    mean = (share * PAIR_SCORES).sum()
    variance = (share * (PAIR_SCORES - mean) ** 2).sum()
    s0, s1 = expected_score(0), expected_score(10)
    normal = (s1 - s0) * (2 * mean - s0 - s1) * sum(counts) / (2 * variance)
    assert log_likelihood_ratio(counts, 0, 10) == pytest.approx(normal, rel=0.05, abs=0.01)


def test_errors_are_as_rare_as_promised():
    """Matches of equal agents accept elo1 in about alpha of all cases, and most are decided."""
    rng = np.random.default_rng(5)
    sprt = Sprt(0, 100, alpha=0.1, beta=0.1)
    accepted = []
    for _ in range(100):
        places = rng.choice([0, 2, 4], 150, p=[0.25, 0.5, 0.25])
        counts = (np.bincount(places[:n], minlength=5) for n in range(4, 151, 4))
        states = (state_of_test(sprt, count) for count in counts)
        accepted.append(next((s.accepted for s in states if s.accepted is not None), None))
    assert accepted.count("elo1") <= 18
    assert accepted.count("elo0") >= 75
