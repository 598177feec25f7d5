"""The bench: fixed boards and anchors, the same figures twice, and after any interruption."""

import json

import pytest
from benchmarks.leaderboard import page
from click.testing import CliRunner
from interruptions import stop_after

from agents.apps.cli import main
from agents.arena import bench
from agents.arena.bench import chosen_boards, run_bench, slug
from agents.arena.recommended import boards
from agents.registry import make_agent, make_environment

AGENT = "uct:simulations=30"


def without_times(results):
    return [
        (one.board, one.rating, one.games_sha256, one.accuracy and one.accuracy["kept_by_position"])
        for one in results
    ]


def test_every_board_has_anchors_of_rising_strength():
    names = [board.name for board in boards()]
    assert len(set(map(slug, names))) == len(names) == 8
    for board in boards():
        ratings = list(board.anchors.values())
        assert ratings == sorted(ratings)
        assert board.anchors["uct:simulations=100"] == 1000
        make_environment(board.game, board.options)
        for name in board.anchors:
            make_agent(name)
        levels = [board.anchors[name] for name in board.levels]
        assert levels == sorted(levels)
        assert len(levels) == 0 or len(levels) >= 5


QUICK_ANCHORS = ("random", "uct:simulations=3", "uct:simulations=10", "greedy")
"""Those that search little, with their own ratings."""


@pytest.fixture
def quick_bench(monkeypatch):
    (board,) = (board for board in boards() if board.name == "TicTacToe")
    anchors = {name: board.anchors[name] for name in QUICK_ANCHORS}
    monkeypatch.setattr(bench, "boards", lambda: [board._replace(anchors=anchors)])


def test_one_seed_gives_the_same_figures_also_after_interruptions(
    quick_bench, tmp_path, monkeypatch
):
    first = run_bench(AGENT, tmp_path / "first", names=["tictactoe"], seed=3, workers=0)
    games = stop_after(9, monkeypatch)
    for _ in range(20):
        try:
            again = run_bench(AGENT, tmp_path / "again", names=["tictactoe"], seed=3, workers=0)
            break
        except KeyboardInterrupt:
            continue
    assert len(games) == first[0].rating.games == 40  # none was played twice
    assert without_times(again) == without_times(first)
    kept = json.loads((tmp_path / "again" / "bench.json").read_text())
    assert kept["suite"] == "hexenv-bench 1"
    assert kept["boards"][0]["rating"]["elo"] == first[0].rating.elo
    mean, low, high = kept["overall"]
    assert 0 <= low <= mean <= high <= 1
    scores = [score for each in kept["boards"][0]["pair_scores"] for score in each]
    assert len(scores) == first[0].rating.games / 2
    rows = page([kept]).splitlines()
    assert (
        sum(row.startswith(f"| `{AGENT}` | ") for row in rows) == 4
    )  # rating, together, time, accuracy


def test_boards_of_other_games_are_left_out(tmp_path):
    assert run_bench("hexpert:simulations=1", tmp_path, names=["connect4", "tictactoe"]) == []


def test_the_command(quick_bench, tmp_path):
    arguments = ["bench", "greedy", "random", "--board", "TicTacToe", "--to", str(tmp_path)]
    result = CliRunner().invoke(main, [*arguments, "--workers", "0", "--json"])
    assert result.exit_code == 0, result.output
    agents = json.loads(result.stdout)["agents"]
    ratings = {name: found[0]["rating"] for name, found in agents.items()}
    assert ratings["greedy"]["low"] < 950 < ratings["greedy"]["high"]  # as the anchors have them
    assert ratings["random"]["low"] < 528 < ratings["random"]["high"]
    assert "| TicTacToe |" in (tmp_path / "greedy" / "bench.md").read_text()
    assert "TicTacToe & " in (tmp_path / "greedy" / "bench.tex").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["uct", "--board", "hex-6-x-6"], "expected a board"),
        (["nobody"], "expected an agent"),
        ([], "AGENT"),
    ],
)
def test_the_command_refuses(arguments, message, tmp_path):
    result = CliRunner().invoke(main, ["bench", *arguments, "--to", str(tmp_path)])
    assert result.exit_code != 0
    assert message in result.stderr


def test_boards_are_named_in_two_ways():
    assert chosen_boards(["hex-7-x-7"]) == chosen_boards(["Hex 7 x 7"])
    with pytest.raises(ValueError, match="did you mean"):
        chosen_boards(["conect4"])
