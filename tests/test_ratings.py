"""Ratings, their intervals, and the sequential test: exact small cases and known laws."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from benchmarks.intervals import covers, decisions, tournaments

from agents.arena.ratings import (
    PAIR_SCORES,
    PairScores,
    bradley_terry,
    expected_score,
    log_likelihood_ratio,
    rate,
    rate_beside,
    state_of_test,
    tables,
)
from agents.arena.specification import Sprt

HARDLY_ANY = 1e-7
"""A prior that leaves the likelihood alone."""


def points_of(ratings, games):
    """The tables of agents who score exactly what their ratings let expect."""
    away = np.subtract.outer(ratings, ratings)
    played = games * (1 - np.eye(len(ratings)))
    return played / (1 + 10 ** (-away / 400)), played


# ---- Bradley-Terry -------------------------------------------------------------------------------


@pytest.mark.parametrize("ratings", [[0, 0, 0], [300, 0, -300], [900, -100, -200, -600]])
def test_exact_scores_give_the_ratings_back(ratings):
    assert bradley_terry(*points_of(ratings, 10), HARDLY_ANY) == pytest.approx(ratings, abs=1e-2)


def test_the_prior_is_firths():
    """The ratings maximise the likelihood times the root of the determinant of the information."""
    rng = np.random.default_rng(0)
    games = np.triu(rng.integers(2, 9, (4, 4)), 1)
    wins = np.triu(rng.random((4, 4)) * games, 1)
    points, games = wins + np.tril((games - wins).T, -1), games + games.T

    def penalised(ratings):
        apart = np.subtract.outer(ratings, ratings) * math.log(10) / 400
        expected = 1 / (1 + np.exp(-apart))
        between = games * expected * (1 - expected)
        information = np.diag(between.sum(1)) - between
        return (points * np.log(expected)).sum() + np.linalg.slogdet(information[1:, 1:])[1] / 2

    found = bradley_terry(points, games)
    for step in (1.0, -1.0):
        for agent in range(4):
            beside = found + step * np.eye(4)[agent]
            assert penalised(beside) < penalised(found)


@pytest.mark.parametrize(("wins", "games"), [(0, 10), (3, 10), (7.5, 10), (10, 10), (1000, 1000)])
def test_two_agents_with_the_prior_have_half_a_win_each_more(wins, games):
    """Jeffreys' prior of one proportion, which keeps a clean sweep finite."""
    found = bradley_terry([[0, wins], [games - wins, 0]], [[0, games], [games, 0]])
    expected = 400 * math.log10((wins + 0.5) / (games + 0.5 - wins))
    assert found[0] - found[1] == pytest.approx(expected, abs=1e-6)
    assert found.sum() == pytest.approx(0, abs=1e-9)


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


def test_groups_that_have_not_met_each_have_mean_0():
    points = np.zeros((5, 5))
    points[0, 1] = points[2, 3] = 6
    points[1, 0] = points[3, 2] = 4
    found = bradley_terry(points, points + points.T)
    assert found[:2].sum() == pytest.approx(0, abs=1e-9)
    assert found.tolist() == pytest.approx([*found[:2], *found[:2], 0], abs=1e-9)


# ---- intervals -----------------------------------------------------------------------------------


def pairing(*points, agents=(0, 1)):
    return PairScores(agents, np.array(points, float), np.full(len(points), 2.0), 2 * len(points))


def test_tables_of_pairs():
    points, games = tables([pairing(2, 1.5, 0), pairing(1, agents=(1, 2))], 3)
    assert points.tolist() == [[0, 3.5, 0], [2.5, 0, 1], [0, 1, 0]]
    assert games.tolist() == [[0, 6, 0], [6, 0, 2], [0, 2, 0]]


@pytest.mark.parametrize(
    ("agents", "pairs", "apart", "draws"),
    [(2, 50, 200, 0.6), (8, 10, 200, 0), (8, 10, 400, 0.6), (8, 50, 100, 0), (16, 10, 100, 0.6)],
)
def test_intervals_cover_what_they_say(agents, pairs, apart, draws):
    """A small form of `tests/benchmarks/intervals.py`."""
    rng = np.random.default_rng(agents * pairs + apart)
    strengths = np.arange(agents) * float(apart)
    played = tournaments(rng, strengths, pairs, draws, 1200 // agents)
    hits = [covers(ratings, strengths) for ratings in played]
    assert 0.92 <= np.mean(hits) <= 0.98


@pytest.mark.parametrize("draws", [0.0, 0.6])
def test_the_likelihood_of_superiority_is_calibrated(draws):
    """Of equal agents it is below 0.025 or above 0.975 once in twenty cases."""
    rng = np.random.default_rng(5)
    played = tournaments(rng, np.zeros(6), 10, draws, 150)
    found = np.array([ratings.superiority[np.triu_indices(6, 1)] for ratings in played])
    assert 0.03 <= np.mean((found < 0.025) | (found > 0.975)) <= 0.07
    assert 0.45 <= np.mean(found < 0.5) <= 0.55


@pytest.mark.parametrize("pairs", [1, 5, 20, 100])
def test_who_won_all_has_no_upper_end_and_who_lost_all_no_lower(pairs):
    found = rate([pairing(*[2] * pairs), pairing(*[2, 0] * pairs, agents=(1, 2))], 3)
    (low, high), (_, _), _ = found.intervals
    assert low < found.elo[0]
    assert high == math.inf
    assert np.isfinite(found.intervals[1:]).all()
    assert found.separated
    (_, high), (low, _) = rate([pairing(*[2] * pairs)], 2).intervals
    assert (high, low) == (math.inf, -math.inf)


def test_two_groups_of_which_one_scored_nothing_are_separated():
    inside = [pairing(2, 0), pairing(2, 0, agents=(2, 3))]
    between = [pairing(2, 2, agents=(i, j)) for i in (0, 1) for j in (2, 3)]
    found = rate([*inside, *between], 4)
    assert found.separated
    low, high = np.transpose(found.intervals)
    assert ((low < found.elo) & (found.elo < high)).all()
    assert not rate([*inside, *between[:-1], pairing(2, 1.5, agents=(1, 3))], 4).separated


def test_agents_without_games_and_groups_that_have_not_met_are_as_likely_better():
    found = rate([pairing(2, 2, 1), pairing(2, 0, agents=(2, 3))], 5)
    assert found.superiority[0, 1] > 0.8
    assert found.superiority[0, 2:].tolist() == [0.5] * 3
    assert found.superiority[4].tolist() == [0.5] * 5
    assert found.elo[4] == pytest.approx(0, abs=1e-9)
    assert not rate([], 3).separated


def width(*points, games=2.0):
    count = len(points)
    pairs = PairScores((0, 1), np.array(points), np.full(count, games), int(games * count))
    (low, high), _ = rate([pairs], 2)[1]
    return high - low


@pytest.mark.parametrize("count", [1, 2, 10])
def test_single_games_that_were_drawn_do_not_make_ratings_exact(count):
    """Of a pair one game may count: the other has failed, is repeated, or still to be played."""
    assert width(*[0.5] * count, games=1.0) > 40 / count


def test_a_long_match_with_hardly_a_win_covers():
    """Of two agents of which one never loses, and wins once in 3,000 games."""
    rng = np.random.default_rng(6)
    truth = 200 * math.log10((0.5 + 1 / 6000) / (0.5 - 1 / 6000))
    hits = []
    for _ in range(100):
        points = 1 + rng.binomial(2, 1 / 3000, 1000) / 2
        (low, high), _ = rate([pairing(*points)], 2).intervals
        hits.append(low <= truth <= high)
    assert np.mean(hits) >= 0.93


def test_the_memory_grows_with_the_agents_times_their_pairings():
    agents = 50
    pairings = [pairing(2, 1, agents=met) for met in itertools.combinations(range(agents), 2)]
    tracemalloc.start()
    rate(pairings, agents)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 8 * agents * len(pairings) + 5_000_000


def test_a_long_chain_of_clean_sweeps_has_no_overflow():
    """The first is more than the logarithm of the largest float above the last."""
    agents = 60
    points = np.diag(np.full(agents - 1, 1e7), 1)
    found = bradley_terry(points, points + points.T)
    assert np.diff(found) == pytest.approx(np.full(agents - 1, -400 * math.log10(2e7 + 1)))


def test_the_interval_is_that_of_pairs_not_games():
    """Pairs in which each side wins once vary not at all; half of them swept vary most."""
    independent = [0, 1, 1, 2] * 25
    assert width(*[2, 0] * 50) > 1.3 * width(*independent) > 1.3 * 1.3 * width(*[1] * 100)


def test_repeated_games_weigh_as_much_as_the_distinct_ones():
    once = [pairing(2, 1, 0.5), pairing(2, 2, 1.5, agents=(1, 2)), pairing(1, agents=(0, 2))]
    often = [
        PairScores(one.agents, np.tile(one.points, n), np.tile(one.games, n), one.distinct)
        for n, one in enumerate(once, 2)
    ]
    for one, other in zip(rate(once, 3), rate(often, 3), strict=True):
        assert np.ravel(one) == pytest.approx(np.ravel(other))
    beside = [rate_beside([rows[0], rows[2]], [0.0, 100.0]) for rows in (once, often)]
    assert np.hstack(beside[0]) == pytest.approx(np.hstack(beside[1]))
    assert [one.interval for one in often] == [pytest.approx(one.interval) for one in once]


def test_superiority_of_both_sides_adds_up_to_1():
    rng = np.random.default_rng(2)
    (ratings,) = tournaments(rng, np.arange(5) * 80.0, 10, 0.0, 1)
    found = ratings.superiority
    assert found + found.T == pytest.approx(np.ones((5, 5)))
    assert found[4, 0] > 0.975


# ---- the sequential test -------------------------------------------------------------------------


def test_expected_scores():
    assert [expected_score(elo) for elo in (0, 400, -400)] == pytest.approx([0.5, 10 / 11, 1 / 11])


def test_without_games_nothing_is_likelier_and_bounds_are_walds():
    state = state_of_test(Sprt(0, 50, alpha=0.05, beta=0.1), [0] * 5)
    assert state.bounds == pytest.approx((math.log(0.1 / 0.95), math.log(0.9 / 0.05)))
    assert (state.llr, state.accepted) == (0, None)


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


@pytest.mark.parametrize("draws", [0.0, 0.6])
@pytest.mark.parametrize("true", ["elo0", "elo1"])
def test_errors_are_as_rare_as_promised(draws, true):
    """The wrong strength is accepted in about alpha, or beta, of all matches."""
    rng = np.random.default_rng(5)
    sprt = Sprt(0, 100, alpha=0.1, beta=0.1)
    accepted, _ = decisions(rng, sprt, getattr(sprt, true), draws, 400, most=250)
    wrong = 1 if true == "elo0" else -1
    assert np.mean(accepted == wrong) <= 0.13
    assert np.mean(accepted == 0) < 0.01


def test_many_ratios_at_once():
    counts = np.array([[3, 10, 40, 17, 5], [0, 0, 0, 0, 0], [1, 0, 0, 0, 9]])
    found = log_likelihood_ratio(counts, 0, 30)
    assert found == pytest.approx([float(log_likelihood_ratio(row, 0, 30)) for row in counts])


@pytest.mark.parametrize(
    "chances", [(0.1, 0.2, 0.4, 0.2, 0.1), (0.05, 0.1, 0.3, 0.3, 0.25), (0, 0.05, 0.8, 0.1, 0.05)]
)
def test_intervals_of_normalised_elo_cover_the_truth(chances):
    points = np.array([0, 0.5, 1, 1.5, 2])
    mean = points @ chances / 2
    deviation = math.sqrt((points / 2 - mean) ** 2 @ chances)
    truth = 800 / math.log(10) * (mean - 0.5) / (math.sqrt(2) * deviation)
    rng, covered = np.random.default_rng(1), 0
    for _ in range(500):
        drawn = rng.choice(points, size=100, p=chances)
        _, low, high = PairScores((0, 1), drawn, np.full(100, 2.0), 200).normalised_elo
        covered += low <= truth <= high
    assert 0.92 <= covered / 500 <= 0.98


def test_equal_pairs_have_no_normalised_elo():
    assert PairScores((0, 1), np.ones(10), np.full(10, 2.0), 20).normalised_elo is None
