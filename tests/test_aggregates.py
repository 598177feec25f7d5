"""Aggregates over boards: against their definitions, and the coverage of the interval."""

import numpy as np
import pytest

from agents.arena.aggregates import interquartile_mean, probability_of_improvement, with_interval


@pytest.mark.parametrize(
    ("scores", "mean"),
    [([5.0], 5), ([0, 1, 2, 9], 1.5), ([0, 2, 4, 6, 100], 4), ([9, 0, 1, 2, 3, 4, 5, 99], 3.5)],
)
def test_the_mean_of_the_middle_half(scores, mean):
    # five scores: half of 2.5 are the third and three quarters of its neighbours
    assert interquartile_mean(np.array(scores, float)) == pytest.approx(mean)


def test_improvement_counts_ties_as_half():
    one, other = [np.array([0.0, 1.0]), np.array([1.0])], [np.array([0.0, 0.5]), np.array([1.0])]
    assert probability_of_improvement(one, other) == pytest.approx(
        ((0.5 + 0 + 1 + 1) / 4 + 0.5) / 2
    )
    assert probability_of_improvement(one, one) == 0.5


def test_intervals_cover_the_truth():
    rng = np.random.default_rng(1)
    chances = rng.uniform(0.1, 0.9, size=8)  # a stratum each, of pairs of two games
    many = rng.binomial(2, chances[:, None], size=(8, 100_000)) / 2
    truth = interquartile_mean(many.ravel())
    covered = 0
    for number in range(200):
        strata = [rng.binomial(2, chance, size=20) / 2 for chance in chances]
        mean, low, high = with_interval(interquartile_mean, strata, seed=number)
        assert low <= mean <= high
        covered += low <= truth <= high
    assert 0.91 <= covered / 200 <= 0.99
