"""Accuracy: what is counted is what the solved positions say."""

import functools
import json
import operator
from importlib import resources

import numpy as np
import pytest
from click.testing import CliRunner

from agents.apps.cli import main
from agents.arena.accuracy import (
    Accuracy,
    difference,
    interval,
    load_positions,
    measure,
    own_sets,
    read_positions,
)
from agents.registry import make_environment

LIMIT = 60


def shown(env):
    board = env.observe(env.agent_selection)["observation"][..., :2].tobytes()
    return env.unwrapped.game.name, env.unwrapped.game.rows, board


@functools.cache
def answers():
    """The scores of all positions that `few` has, by what an environment shows."""
    found = {}
    for game in ("hex", "tictactoe", "connect4"):
        for positions in few(game).values():
            env = make_environment(game, positions[0].options)
            for position in positions:
                env.reset(options=dict(position.start))
                found[shown(env)] = position.scores
    return found


class Oracle:
    """Plays the best, or the worst, of what a set says."""

    def __init__(self, worst: bool = False) -> None:
        self.pick = min if worst else max

    def reset(self, seed=None):
        pass

    def act(self, env):
        scores = answers()[shown(env)]
        return self.pick(scores, key=scores.get)


def few(game):
    return {
        name: [p for p in positions if p.mistake_possible][:LIMIT]
        for name, positions in own_sets(game).items()
    }


def test_the_sets_have_the_counts_they_are_known_by():
    tictactoe = own_sets("tictactoe")["tictactoe"]
    assert len(tictactoe) == 4_520
    assert sum(position.mistake_possible for position in tictactoe) == 3_191
    sets = own_sets("hex") | own_sets("connect4")
    counts = {"hex_4x4": 150, "hex_5x5": 200, "hex_6x6": 200, "hex_7x7": 77, "connect4": 560}
    counts |= {"hex_8x8": 100, "hex_9x9": 100}
    assert {name: len(positions) for name, positions in sets.items()} == counts
    assert all(p.mistake_possible for positions in own_sets("hex").values() for p in positions)
    assert list(own_sets("hex", ["board_size=6"])) == ["hex_6x6"]


def test_connect4_knows_where_a_mistake_is_possible():
    text = (resources.files("agents.arena") / "positions" / "connect4.jsonl").read_text()
    said = [json.loads(line)["mistake_possible"] for line in text.splitlines()]
    assert [position.mistake_possible for position in read_positions(text, "x.jsonl")] == said


@pytest.mark.parametrize("game", ["hex", "tictactoe", "connect4"])
@pytest.mark.parametrize("worst", [False, True], ids=["best", "worst"])
def test_who_knows_the_answers_is_always_right_or_always_wrong(game, worst):
    agent = f"test_accuracy.Oracle:worst={str(worst).lower()}"
    for every in few(game).values():
        positions = every[:5]
        result = measure(agent, positions, seeds=1, workers=0)
        assert result.kept.shape == (1, len(positions))
        assert (result.kept == (not worst)).all()
        assert (result.optimal == (not worst)).all()
        losses = [max(p.values.values()) - min(p.values.values()) for p in positions]
        np.testing.assert_array_equal(result.loss[0], losses if worst else np.zeros(len(positions)))


def test_a_random_mover_is_right_as_often_as_there_are_good_moves():
    positions = [p for p in own_sets("hex")["hex_5x5"] if p.mistake_possible]
    result = measure("random", positions, seeds=2, workers=0)
    shares = [np.mean([value == 1 for value in p.values.values()]) for p in positions]
    deviation = np.sqrt(np.mean([share * (1 - share) for share in shares]) / result.kept.size)
    assert abs(result.kept.mean() - np.mean(shares)) < 4 * deviation


def test_the_number_of_workers_makes_no_difference():
    positions = few("hex")["hex_4x4"]
    one, two = (measure("uct:simulations=20", positions, seeds=2, workers=n) for n in (0, 2))
    np.testing.assert_array_equal(one.kept, two.kept)
    np.testing.assert_array_equal(one.loss, two.loss)


def test_a_process_that_does_not_start_is_a_mistake_of_the_user(monkeypatch):
    monkeypatch.setattr("agents.core.workers._serve", operator.is_)  # ends at once
    with pytest.raises(ValueError, match="random: expected a worker to start"):
        measure("random", few("tictactoe")["tictactoe"], workers=1)


def test_seeds_and_positions_have_streams_of_their_own():
    positions = few("hex")["hex_4x4"]
    one = measure("random", positions, seeds=2, workers=0)
    other = measure("random", positions, seeds=2, seed=1, workers=0)
    assert not np.array_equal(one.kept[0], one.kept[1])
    assert not np.array_equal(one.kept, other.kept)


def test_the_interval_counts_a_position_once_however_many_seeds():
    rng = np.random.default_rng(0)
    once = rng.random((1, 400)) < 0.7
    low, high = interval(once)
    assert low < once.mean() < high
    assert interval(np.repeat(once, 5, axis=0)) == (low, high)
    # A normal approximation of the same: 1.96 sqrt(p (1 - p) / n).
    half = 1.96 * np.sqrt(once.mean() * (1 - once.mean()) / 400)
    assert high - low == pytest.approx(2 * half, rel=0.1)
    assert interval(np.ones((3, 100), bool)) == (pytest.approx(0.96, abs=0.01), 1.0)


def with_kept(kept):
    kept = np.array([kept], bool)
    return Accuracy("a", "s", kept, kept, 1 - kept.astype(int), 0.0)


def test_a_position_that_a_set_has_twice_counts_once():
    (positions, *_) = few("tictactoe").values()
    once, twice = (measure("random", set_, seeds=1) for set_ in (positions, [*positions] * 2))
    assert twice.kept.shape == once.kept.shape
    assert twice.as_json()["kept_interval"] == once.as_json()["kept_interval"]


@pytest.mark.parametrize("gain", [-1, 0, 1])
def test_the_interval_of_equal_differences_is_symmetric(gain):
    found, (low, high), _ = difference(with_kept([gain == 1] * 100), with_kept([gain == -1] * 100))
    assert found == gain
    assert -1 <= low <= gain <= high <= 1
    assert low + high == pytest.approx(0, abs=1e-9) or gain


def test_mcnemar():
    one = with_kept([1] * 8 + [0] * 2 + [1] * 10)
    other = with_kept([0] * 8 + [1] * 2 + [1] * 10)
    gain, (low, high), p = difference(one, other)
    assert gain == pytest.approx(6 / 20)
    assert low < gain < high
    assert p == pytest.approx(2 * (1 + 10 + 45) / 2**10)  # 2 or fewer of 10 by chance, both sides


PUBLIC = "52753311433677442422121 9 8 x 3 7 7 8 -7\n32164625 11 -1 -1 1 1 0 -1 -1\n"


def test_public_sets_are_read(tmp_path):
    path = tmp_path / "moves.txt"
    path.write_text(PUBLIC)
    one, other = load_positions(path)
    assert one.start == {"moves": "52753311433677442422121"}
    assert one.scores == {0: 8, 2: 3, 3: 7, 4: 7, 5: 8, 6: -7}
    assert other.values == {0: -1, 1: -1, 2: 1, 3: 1, 4: 0, 5: -1, 6: -1}


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("a.txt", PUBLIC + "31 1 2 3\n", "a.txt:3: expected"),
        ("a.txt", "389 1 2 3 4 5 6 7\n", "a.txt:1: expected"),
        ("a.jsonl", '{"moves": "1"}\n', "a.jsonl:1: expected"),
        ("a.jsonl", '{"moves": "1", "scores": [1, 2', "a.jsonl:1: expected"),
        ("a.jsonl", "", "expected solved positions, got an empty file"),
        ("a.jsonl", '{"size": 3, "moves": "a1", "winning": []}', "a.jsonl:1: expected"),
        ("a.jsonl", '{"size": 3, "moves": ["a1"], "winning": ["z9"]}', "a.jsonl:1: expected"),
        ("a.json", '{"X": {"to_move": "O", "value": 0, "optimal": []}}', "a.json: expected solved"),
        ("a.json", "[]", "a.json: expected solved boards of tictactoe"),
        ("a.json", "{", "a.json: expected solved boards of tictactoe"),
    ],
)
def test_damaged_sets_are_named_with_their_line(tmp_path, name, text, where):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=where):
        load_positions(path)


def test_the_command_prints_json(tmp_path):
    table = tmp_path / "table.csv"
    words = "accuracy hex random greedy --option board_size=4 --limit 20 --seeds 2 --workers 0"
    result = CliRunner().invoke(main, [*words.split(), "--json", "--table", str(table)])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [row["agent"] for row in rows] == ["random", "greedy"]
    for row in rows:
        assert (row["set"], row["positions"]) == ("hex_4x4", 20)
        low, high = row["kept_interval"]
        assert low <= row["kept"] <= high
        assert row["loss"] == pytest.approx(2 * (1 - row["kept"]))
        assert np.sum(row["kept_by_position"]) == pytest.approx(row["kept"] * 20 * 2)
        assert len(row["kept_by_position"]) == 20
    assert len(table.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("accuracy gomoku random", "expected a game with a set of solved positions, got gomoku"),
        ("accuracy hex random --option board_size=11", "expected a game with a set"),
        ("accuracy hex foo --workers 0", "expected an agent of"),
        ("accuracy hex random --positions missing.txt", "missing.txt"),
        ("accuracy hex random --table no/where.csv", "expected table in a folder that exists"),
        ("accuracy hex random --positions missing.txt --option a=1", "no --option beside"),
        ("accuracy hex competitors.Unreliable:way=raise --workers 0", "ValueError('no idea')"),
        ("accuracy hex competitors.Unreliable:way=crash --workers 1", "a process in which it"),
    ],
)
def test_mistakes_are_explained(words, message):
    result = CliRunner().invoke(main, words.split())
    assert result.exit_code != 0
    assert "Traceback" not in result.output
    assert message in result.output
