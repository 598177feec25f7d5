"""How often the intervals of 95 % contain the true value, and how often tests err.

    python tests/benchmarks/intervals.py [--scale 1] [ratings] [sweeps] [los] [scores] [repeats]
        [sprt] [beside] [seeds]

Everything is simulated with the package's own functions. A game between agents whose strengths are
Elo points apart is won or lost by the model of Bradley and Terry. With draws, some wins and
losses are draws, and the expected score is as before.
"""

import argparse
import itertools
import math
from collections.abc import Iterator

import numpy as np

from agents.arena.aggregates import bootstrap_interval, interquartile_mean
from agents.arena.intervals import difference_interval, distinct_share, score_interval
from agents.arena.ratings import (
    PairScores,
    Ratings,
    expected_score,
    log_likelihood_ratio,
    rate,
    rate_beside,
    walds_bounds,
)
from agents.arena.specification import Sprt

DRAWS = 0.6
"""Share of draws among games of equal agents, where there are draws."""
PAIRS, APART, AGENTS = (10, 50, 200), (0, 100, 200, 400), (2, 8, 16)
REPETITIONS = {2: 4000, 8: 800, 16: 600}


def play_pairs(rng, score, draws, shape):
    """Points of pairs of games, in this shape, for the agent with this expected score."""
    drawn = 2 * draws * np.minimum(score, 1 - score)
    won = score - drawn / 2
    chance = rng.random((*shape, 2))
    of_games = np.where(chance < won, 1.0, np.where(chance < won + drawn, 0.5, 0.0))
    return of_games.sum(-1)


def tournaments(rng, strengths, pairs, draws, repetitions) -> Iterator[Ratings]:
    """Ratings of round robins of agents with these strengths, in Elo."""
    size = len(strengths)
    first, second = np.triu_indices(size, 1)
    score = 1 / (1 + 10 ** ((strengths[second] - strengths[first]) / 400))
    for _ in range(repetitions):
        points = play_pairs(rng, score[:, None, None], draws, (len(first), pairs))
        meetings = zip(first, second, points, strict=True)
        yield rate(
            [
                PairScores((int(i), int(j)), row, np.full(pairs, 2.0), 2 * pairs)
                for i, j, row in meetings
            ],
            size,
        )


def covers(ratings, strengths):
    """Whether the interval of each agent contains its strength."""
    low, high = np.array(ratings.intervals).T
    truth = strengths - strengths.mean()
    return (low <= truth) & (truth <= high)


def exact_coverage(pairs, apart, draws):
    """The coverage for two agents: every outcome of so many pairs, with its probability."""
    score = expected_score(apart)
    drawn = 2 * draws * min(score, 1 - score)
    of_game = {1.0: score - drawn / 2, 0.5: drawn, 0.0: 1 - score - drawn / 2}
    of_pair: dict[float, float] = {}
    for one, chance in of_game.items():
        for other, another in of_game.items():
            of_pair[one + other] = of_pair.get(one + other, 0.0) + chance * another
    possible = sorted((points, chance) for points, chance in of_pair.items() if chance > 0)
    covered = 0.0
    for counts in compositions(pairs, len(possible)):
        points = np.repeat([each for each, _ in possible], counts)
        scores = PairScores((0, 1), points, np.full(pairs, 2.0), 2 * pairs)
        low, high = rate([scores], 2).intervals[0]
        if low <= apart / 2 <= high:
            logarithm = math.lgamma(pairs + 1)
            for count, (_, chance) in zip(counts, possible, strict=True):
                logarithm += count * math.log(chance) - math.lgamma(count + 1)
            covered += math.exp(logarithm)
    return covered


def compositions(total, parts):
    """All ways to write a number as a sum of so many numbers from 0."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        yield np.diff((-1, *bars, total + parts - 1)) - 1


def print_ratings(scale: float) -> None:
    """The coverage of rating intervals, for every size of tournament."""
    print("\nratings: coverage; agents, pairs | without draws, Elo apart | with draws")
    print("| agents | pairs |" + "".join(f" {a} apart |" for a in (*APART, *APART)))
    for agents in AGENTS:
        for pairs in PAIRS:
            cells = []
            for draws in (0.0, DRAWS):
                for apart in APART:
                    if agents == 2 and (pairs == 10 or (pairs == 50 and not draws)):
                        cells.append(f"{exact_coverage(pairs, apart, draws):.3f} (exact)")
                        continue
                    rng = np.random.default_rng([agents, pairs, apart, int(draws > 0)])
                    strengths = np.arange(agents) * float(apart)
                    repetitions = max(1, round(scale * REPETITIONS[agents]))
                    played = tournaments(rng, strengths, pairs, draws, repetitions)
                    hits = [covers(ratings, strengths) for ratings in played]
                    cells.append(f"{np.mean(hits):.3f}")
            print(f"| {agents} | {pairs} | {' | '.join(cells)} |", flush=True)


def print_sweeps(scale: float) -> None:
    """The coverage where one agent is so much better that it mostly wins all its games."""
    print("\nan agent 1,000 Elo above all others, who are 100 apart: won all, coverage of its")
    print("interval, of the others' intervals")
    for agents in AGENTS[1:]:
        for pairs in PAIRS[:2]:
            rng = np.random.default_rng([7, agents, pairs])
            strengths = np.append(np.arange(agents - 1) * 100.0, 100.0 * (agents - 2) + 1000)
            repetitions = max(1, round(scale * REPETITIONS[agents]))
            played = list(tournaments(rng, strengths, pairs, 0.0, repetitions))
            won = np.mean([math.isinf(ratings.intervals[-1][1]) for ratings in played])
            hits = np.mean([covers(ratings, strengths) for ratings in played], axis=0)
            shares = f"{won:.2f} | {hits[-1]:.3f} | {hits[:-1].mean():.3f}"
            print(f"| {agents} | {pairs} | {shares} |", flush=True)


def print_superiority(scale: float) -> None:
    """How often `los` of equal agents is in the middle 95 %, and whether it is right as often."""
    print("\nlos: share within 0.025 to 0.975 for equal agents, without and with draws")
    for agents in AGENTS:
        for pairs in PAIRS:
            cells = []
            for draws in (0.0, DRAWS):
                rng = np.random.default_rng([3, agents, pairs, int(draws > 0)])
                repetitions = max(1, round(scale * REPETITIONS[agents] / 2))
                played = tournaments(rng, np.zeros(agents), pairs, draws, repetitions)
                above = np.triu_indices(agents, 1)
                found = np.array([ratings.superiority[above] for ratings in played])
                cells.append(f"{((found > 0.025) & (found < 0.975)).mean():.3f}")
            print(f"| {agents} | {pairs} | {' | '.join(cells)} |", flush=True)
    print("los, agents with normal strengths (standard deviation 200 Elo, 8 agents, 10 pairs):")
    rng = np.random.default_rng(4)
    said, right = [], []
    for _ in range(max(1, round(scale * 1000))):
        strengths = rng.normal(0, 200, 8)
        (ratings,) = tournaments(rng, strengths, 10, 0.0, 1)
        first, second = np.triu_indices(8, 1)
        los, better = ratings.superiority[first, second], strengths[first] > strengths[second]
        said.append(np.maximum(los, 1 - los))
        right.append(np.where(los > 0.5, better, ~better))
    likely, true = np.concatenate(said), np.concatenate(right)
    for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 0.975), (0.975, 1.01)):
        inside = (likely >= low) & (likely < high)
        print(f"| los {likely[inside].mean():.3f} | right {true[inside].mean():.3f} |", flush=True)


def print_scores(scale: float) -> None:
    """The coverage of intervals of scores, of shares of solved positions, and of differences."""
    repetitions = max(1, round(scale * 4000))
    scores = (0.5, 0.64, 0.76, 0.91, 0.97, 0.995)
    print("\nscore of pairs (matches, pairings): coverage; pairs | score " + repr(scores))
    for draws in (0.0, DRAWS):
        for pairs in PAIRS:
            rng = np.random.default_rng([5, pairs, int(draws > 0)])
            cells = []
            for score in scores:
                points = play_pairs(rng, score, draws, (repetitions, pairs))
                cells.append(covered((score_interval(row, 2) for row in points), score))
            print(f"| {'draws' if draws else 'no draws'} | {pairs} | {' | '.join(cells)} |")
    print("share of moves that are right, five seeds: coverage; positions | share " + repr(scores))
    for positions in (77, 200, 338):
        rng = np.random.default_rng([6, positions])
        cells = []
        for share in scores:
            chance = rng.beta(0.4 * share, 0.4 * (1 - share), (repetitions, positions))
            seen = rng.binomial(5, chance) / 5
            cells.append(covered((score_interval(row) for row in seen), share))
        print(f"| {positions} | {' | '.join(cells)} |", flush=True)
    twos = ((0.5, 0.5), (0.8, 0.7), (0.95, 0.9), (0.97, 0.97), (0.99, 0.95))
    print("difference of two such shares: coverage; positions | shares " + repr(twos))
    for positions in (77, 200, 338):
        rng = np.random.default_rng([8, positions])
        cells = []
        for one, other in twos:
            easy = rng.random((repetitions, positions)) < 0.25  # both are right in these
            hard = [rng.binomial(5, (4 * s - 1) / 3, easy.shape) / 5 for s in (one, other)]
            gains = np.where(easy, 0.0, hard[0] - hard[1])
            cells.append(covered((difference_interval(row) for row in gains), one - other))
        print(f"| {positions} | {' | '.join(cells)} |", flush=True)


def repeated_openings(rng, score, openings, times, repetitions):
    """Points of pairs that deterministic agents play so many times from each of some openings."""
    points = play_pairs(rng, score, 0.0, (repetitions, openings))
    return np.tile(points, times), 1 / times


def repeated_lines(rng, score, games, won, lost, repetitions):
    """Points of pairs of agents who win by one of `won` games and lose by one of `lost` ones.

    With each row come the share of distinct games, and the score of these alone.
    """
    for _ in range(repetitions):
        is_won = rng.random(games) < score
        lines = np.where(is_won, rng.integers(won, size=games), -rng.integers(1, lost + 1, games))
        of_distinct = float(np.mean(np.unique(lines) >= 0))
        yield is_won.reshape(-1, 2).sum(1), distinct_share(lines.tolist()), of_distinct


def print_repeats(scale: float) -> None:
    """The coverage where games are repeated: of all games as distinct ones, and as it is."""
    repetitions = max(1, round(scale * 4000))
    print("\nrepeats: 20 openings, times played | score | believed distinct | coverage")
    for times, score in itertools.product((1, 2, 6), (0.5, 0.76, 0.91)):
        rng = np.random.default_rng([12, times, round(100 * score)])
        points, share = repeated_openings(rng, score, 20, times, repetitions)
        cells = (covered((score_interval(row, 2, s) for row in points), score) for s in (1, share))
        print(f"| {times} | {score} | {' | '.join(cells)} |", flush=True)
    print("chance: 80 games, lines that win, that lose | score | coverage, mean of the distinct")
    for won, lost, score in itertools.product((3, 1000), (100, 1000), (0.5, 0.76, 0.91)):
        rng = np.random.default_rng([13, won, lost, round(100 * score)])
        found = list(repeated_lines(rng, score, 80, won, lost, repetitions))
        cell = covered((score_interval(row, 2, share) for row, share, _ in found), score)
        mean = np.mean([of_distinct for *_, of_distinct in found])
        print(f"| {won}, {lost} | {score} | {cell} | {mean:.2f} |", flush=True)


def covered(intervals, true):
    """The share of intervals that contain the true value, as a text."""
    return f"{np.mean([low <= true <= high for low, high in intervals]):.3f}"


def print_sprt(scale: float) -> None:
    """How often the test accepts the wrong one of its two strengths; both should be 0.05."""
    print("\nsprt, alpha and beta 0.05: wrong if elo0 is true, wrong if elo1 is true, pairs needed")
    for bounds in ((0, 20), (0, 50), (0, 100), (-25, 25)):
        for draws in (0.0, DRAWS):
            rng = np.random.default_rng([9, *np.add(bounds, 1000), int(draws > 0)])
            repetitions = max(1, round(scale * 2000))
            wrong, lengths = [], []
            for true in bounds:
                accepted, pairs = decisions(rng, Sprt(*bounds), true, draws, repetitions)
                wrong.append(np.mean(accepted == (1 if true == bounds[0] else -1)))
                lengths.append(pairs.mean())
            about = f"{bounds[0]}, {bounds[1]} | {'draws' if draws else 'no draws'}"
            found = f"{wrong[0]:.3f} | {wrong[1]:.3f} | {lengths[0]:.0f}, {lengths[1]:.0f}"
            print(f"| {about} | {found} |", flush=True)


def decisions(rng, sprt, true, draws, repetitions, most=20_000):
    """What the test accepts, 1 for `elo1` and -1 for `elo0`, and after how many pairs."""
    counts = np.zeros((repetitions, 5))
    accepted, lengths = np.zeros((2, repetitions), np.int64)
    open_matches = np.arange(repetitions)
    lower, upper = walds_bounds(sprt)
    for pairs in range(1, most + 1):
        points = play_pairs(rng, expected_score(true), draws, (len(open_matches),))
        counts[open_matches, (2 * points).astype(int)] += 1
        ratio = log_likelihood_ratio(counts[open_matches], sprt.elo0, sprt.elo1)
        found = (ratio >= upper).astype(int) - (ratio <= lower)
        accepted[open_matches], lengths[open_matches] = found, pairs
        open_matches = open_matches[found == 0]
        if not len(open_matches):
            break
    return accepted, lengths


ANCHORS = (0.0, 496.5, 714.1, 912.7, 1122.9)
"""Those of Connect4 (`agents.arena.anchors.AGENTS`)."""


def print_beside(scale: float) -> None:
    """The coverage of a rating beside anchors, for true ratings among them and above."""
    print("\nbeside anchors: coverage by pairs against each, with and without draws")
    for pairs in (5, 10, 20):
        for draws in (0.0, DRAWS):
            cells = []
            for true in (0, 300, 600, 900, 1200):
                rng = np.random.default_rng([10, pairs, true, int(draws > 0)])
                score = expected_score(true - np.array(ANCHORS))[:, None, None]
                found = []
                for _ in range(round(scale * 1000)):
                    points = play_pairs(rng, score, draws, (len(ANCHORS), pairs))
                    games = np.full(pairs, 2.0)
                    rows = [
                        PairScores((0, n + 1), row, games, 2 * pairs)
                        for n, row in enumerate(points)
                    ]
                    found.append(rate_beside(rows, ANCHORS)[1])
                cells.append(covered(found, true))
            about = f"{pairs} | {'draws' if draws else 'no draws'}"
            print(f"| {about} | {' | '.join(cells)} |", flush=True)


def print_seeds(scale: float) -> None:
    """The coverage of the bootstrap interval of an interquartile mean."""
    print("\nseeds: coverage of the interquartile mean, normal scores, then exponential ones")
    for tasks in (1, 4):
        for runs in (3, 5, 10, 20):
            cells = []
            for draw in ("normal", "exponential"):
                rng = np.random.default_rng([11, tasks, runs, draw == "normal"])
                sample = getattr(rng, draw)
                true = interquartile_mean(sample(size=(200_000, runs * tasks))).mean()
                found = [
                    bootstrap_interval([sample(size=runs) for _ in range(tasks)], resamples=1000)
                    for _ in range(round(scale * 1000))
                ]
                cells.append(covered(found, true))
            print(f"| {tasks} | {runs} | {' | '.join(cells)} |", flush=True)


PARTS = {"ratings": print_ratings, "sweeps": print_sweeps, "los": print_superiority}
PARTS |= {"scores": print_scores, "repeats": print_repeats, "sprt": print_sprt}
PARTS |= {"beside": print_beside, "seeds": print_seeds}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--scale", type=float, default=1.0, help="of the repetitions")
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        PARTS[part](arguments.scale)


if __name__ == "__main__":
    main()
