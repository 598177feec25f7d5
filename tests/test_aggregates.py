"""Aggregates over boards: against their definitions, and the coverage of the interval."""

import numpy as np
import pytest

from agents.arena.aggregates import (
    bootstrap_interval,
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
)


@pytest.mark.parametrize(
    ("scores", "mean"),
    [([5.0], 5), ([0, 1, 2, 9], 1.5), ([0, 2, 4, 6, 100], 4), ([9, 0, 1, 2, 3, 4, 5, 99], 3.5)],
)
def test_the_mean_of_the_middle_half(scores, mean):
    assert interquartile_mean(np.array(scores, float)) == pytest.approx(mean)
    table = np.random.default_rng(0).normal(size=(4, 9, 3))
    found = interquartile_mean(table, axis=1)
    assert found.shape == (4, 3)
    assert found[2, 1] == pytest.approx(np.sort(table[2, :, 1])[2:-2].mean())


def test_the_bootstrap_interval_contains_the_true_mean_of_ten_runs():
    rng = np.random.default_rng(2)
    covered = []
    for seed in range(400):
        scores = rng.normal(3.0, 2.0, 10)
        low, high = bootstrap_interval([scores], resamples=500, seed=seed)
        covered.append(low <= 3.0 <= high)
    assert 0.88 <= np.mean(covered) <= 0.96


def test_strata_are_drawn_by_themselves():
    """Between tasks there is any distance; each resample has as many runs of each."""
    tasks = [np.array([0.0, 1.0, 2.0]), np.array([100.0, 101.0, 102.0])]
    low, high = bootstrap_interval(tasks, np.mean)
    assert 50.0 < low < 51.0 < high < 52.0
    pooled = bootstrap_interval([np.concatenate(tasks)], np.mean)
    assert pooled[1] - pooled[0] > 50.0
    with pytest.raises(ValueError, match="expected a run of each task, got none"):
        bootstrap_interval([tasks[0], []])


def test_improvement_counts_ties_as_half():
    one, other = [[0.0, 1.0], [1.0]], [[0.0, 0.5], [1.0]]
    found, (low, high) = probability_of_improvement(one, other)
    assert found == pytest.approx(((0.5 + 0 + 1 + 1) / 4 + 0.5) / 2)
    assert low < found < high
    assert probability_of_improvement(one, one)[0] == 0.5


def test_a_profile_counts_what_is_above():
    assert performance_profile([[0.0, 1.0], [0.5]], [-1, 0, 0.5, 1]) == [1, 0.75, 0.25, 0]


def test_intervals_cover_the_truth():
    rng = np.random.default_rng(1)
    chances = rng.uniform(0.1, 0.9, size=8)  # a stratum each, of pairs of two games
    many = rng.binomial(2, chances[:, None], size=(8, 100_000)) / 2
    truth = interquartile_mean(many.ravel())
    covered = 0
    for number in range(200):
        strata = [rng.binomial(2, chance, size=20) / 2 for chance in chances]
        mean = interquartile_mean(np.concatenate(strata))
        low, high = bootstrap_interval(strata, resamples=2000, seed=number)
        assert low <= mean <= high
        covered += low <= truth <= high
    assert 0.91 <= covered / 200 <= 0.99


@pytest.mark.parametrize(
    ("ours", "theirs"), [([2, 3], [0, 1]), ([], []), ([[]], [[1.0]]), ([[1.0]], [[1.0], [2.0]])]
)
def test_tasks_without_scores_are_refused(ours, theirs):
    with pytest.raises(ValueError, match="expected"):
        probability_of_improvement(ours, theirs)
    with pytest.raises(ValueError, match="expected"):
        performance_profile([], [0.5])
