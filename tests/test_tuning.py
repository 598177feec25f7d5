"""Tuning: ranges from declarations, a run that goes on, and what it finds."""

import json
import math

import pytest
from click.testing import CliRunner
from interruptions import stop_after

from agents.apps.cli import main
from agents.arena.ratings import elo_of
from agents.arena.tuning import LEAST_GAMES, Range, ranges_of, tune

pytest.importorskip("optuna")


def test_ranges_come_from_the_declarations():
    found = {one.name: one for one in ranges_of("rave:simulations=100")}
    assert found["schedule"].words == ("mse", "hand")
    assert found["k"] == Range("k", (), 3000 / 16, 3000 * 16, is_whole=False, is_log=True)
    assert "simulations" not in found
    assert "c" not in {one.name for one in ranges_of("rave:c=0.1")}  # the user has said it


def test_ranges_of_ones_own():
    wanted = ["k=10:100:log", "c=0:2", "schedule=hand/mse", "plain_every=1.5:9"]
    assert ranges_of("rave", wanted) == [
        Range("k", (), 10, 100, is_whole=False, is_log=True),
        Range("c", (), 0, 2),
        Range("schedule", ("hand", "mse")),
        Range("plain_every", (), 2, 9, is_whole=True),
    ]


@pytest.mark.parametrize(
    ("agent", "wanted", "message"),
    [
        ("rav", (), "did you mean rave"),
        ("rave", ["q"], "a parameter of rave"),
        ("rave", ["k=5:1"], "expected a range such as"),
        ("rave", ["k=0:1:log"], "above 0"),
        ("rave", ["fpu"], "expected a range for fpu"),
        ("rave", ["c=0.1"], "two values of c"),
        ("rave", ["plain_every=1.2:1.8"], "two whole numbers"),
        ("alphabeta", (), "expected a parameter of alphabeta"),
        ("random", (), "expected a parameter of random"),
    ],
)
def test_what_has_no_range_is_refused(agent, wanted, message):
    with pytest.raises(ValueError, match=message):
        ranges_of(agent, wanted)


def test_a_run_that_was_stopped_finds_the_same(tmp_path, monkeypatch):
    ranges = ranges_of("uct", ["c=0.01:30:log", "fpu=0:5"])
    settings = {"ranges": ranges, "games": LEAST_GAMES, "seed": 2, "workers": 0}
    first = tune("uct:simulations=8", "tictactoe", tmp_path / "first", **settings)
    played = stop_after(7, monkeypatch)
    for _ in range(100):
        try:
            again = tune("uct:simulations=8", "tictactoe", tmp_path / "again", **settings)
            break
        except KeyboardInterrupt:
            continue
    assert again == first
    files = (tmp_path / "again").glob("*.jsonl")
    assert len(played) == sum(len(file.read_text().splitlines()) - 1 for file in files)
    assert first.importance == {}  # of two trials nothing can be said
    assert first.interval[0] <= first.score <= first.interval[1]


@pytest.mark.slow
def test_it_finds_what_is_known_to_be_better(tmp_path):
    result = CliRunner().invoke(
        main,
        [
            "tune",
            "connect4",
            "uct",
            "simulated=1:2",
            "--games",
            "200",
            "--to",
            str(tmp_path / "no"),
        ],
    )
    assert result.exit_code == 2
    agent = "uct:c=50,solver=off"  # of what it visits alike it could else prove much
    arguments = ["tune", "tictactoe", agent, "c=0.5:50:log", "--simulations", "20"]
    arguments += ["--games", "400", "--to", str(tmp_path), "--workers", "0", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["interval"][0] > 0.5  # c=50 is the worst that can be tried
    assert json.loads((tmp_path / "tuning.json").read_text())["best"] == found["best"]


@pytest.mark.parametrize("text", ["c=-5:5", "schedule=hand/bogus"])
def test_a_range_beyond_the_declaration_is_told_before_a_game(text, tmp_path):
    ranges = ranges_of("rave:simulations=2", [text])
    with pytest.raises(ValueError, match="expected"):
        tune("rave:simulations=2", "tictactoe", tmp_path, ranges=ranges, games=100, workers=0)
    assert list(tmp_path.iterdir()) == []


def test_the_parts_have_openings_of_their_own(tmp_path):
    ranges = ranges_of("uct", ["c=0.1:2"])
    tune("uct:simulations=2", "connect4", tmp_path, ranges=ranges, games=200, workers=0)
    used = {
        stage: {
            tuple(json.loads(line)["opening"])
            for file in tmp_path.glob(f"{stage}-*.jsonl")
            for line in file.read_text().splitlines()[1:]
        }
        for stage in ("trial", "finalist", "last")
    }
    assert all(used.values())
    mirrored = {tuple(6 - action for action in opening) for opening in used["last"]}
    assert not (used["last"] | mirrored) & (used["trial"] | used["finalist"])
    with pytest.raises(ValueError, match="more opening plies"):
        tune("uct", "tictactoe", tmp_path, ranges=ranges, opening_plies=1)


def test_differences_in_elo():
    assert elo_of(0.5) == 0
    assert elo_of(0.76) == pytest.approx(200, abs=1)
    assert elo_of(1.0) == math.inf
    assert elo_of(0.0) == -math.inf


def test_an_agent_of_a_module_can_be_tuned():
    (found,) = ranges_of("agents.mcts.uct.UCT", ["c"])
    assert found == ranges_of("uct", ["c"])[0]
    with pytest.raises(ValueError, match="expected a parameter of uct of") as refused:
        ranges_of("uct", ["simulations=1:10"])
    assert "simulations" not in str(refused.value).partition(", got")[0]  # it cannot be tuned
