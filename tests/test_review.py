"""Reviews of games: the values of moves, against exact ones, and what is made of them."""

import json
from typing import get_args

import numpy as np
import pytest
from click.testing import CliRunner
from environments import make, play_out

from agents import Limit
from agents.apps.cli import main
from agents.apps.web.page import replay_page
from agents.arena.accuracy import own_sets
from agents.records import GameRecord, StartPosition
from agents.records.formats import save_games
from agents.records.review import ERRORS, THRESHOLDS, Mark, Review, review, summary
from agents.registry import make_environment
from agents.solvers import solver

BLUNDER = GameRecord.of("tictactoe", (), (4, 0, 1, 2, 7), agents=("me", "you"))  # 8 wins
BOARDS = {
    "tictactoe": ("tictactoe", ()),
    "hex-3": ("hex", ("board_size=3",)),
    "hex-3-swap": ("hex", ("board_size=3", "swap=true")),
    "gomoku-4": ("gomoku", ("board_size=4", "connect=3", "rule=standard")),
}


def random_game(board, seed):
    env = make(board, "env")
    env.reset()
    play_out(env, np.random.default_rng(seed))
    return GameRecord.of(*BOARDS[board], env.unwrapped.actions, agents=("a", "b"))


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_an_exact_review_tells_the_values(board, seed):
    """Against the solver, asked about the position before each move and after it."""
    record = random_game(board, seed)
    found = review(record, "solver")
    env = make(board, "env")
    env.reset()
    values = []
    for action in record.actions:
        values.append((env.unwrapped.game.to_play(env.unwrapped.state), solver.value(env)))
        env.step(action)
    values.append((0, record.outcome))
    for move, (mover, before), (then, value) in zip(found.moves, values, values[1:], strict=False):
        after = value if then == mover else -value
        assert (move.player, move.before, move.after, move.is_exact) == (mover, before, after, True)
        assert move.lost == (before - after) / 2
        assert (move.mark == "best") == (before == after)
        assert (move.mark == "blunder") == (before > after)


def test_a_review_tells_what_would_have_been_better():
    found = review(BLUNDER, "solver")
    (error,) = found.errors
    assert (error.ply, error.player, error.move, error.mark) == (3, 1, "3", "blunder")
    assert (error.best, error.before, error.after, error.lost) == ("8", 0, -1, 0.5)
    assert found.turned == 3


def test_accuracy_is_what_is_left_after_the_losses():
    found = review(BLUNDER, "solver")
    lost = [move.lost for move in found.moves if move.player == 1]
    assert found.accuracy(0) == 100
    assert found.accuracy(1) == pytest.approx(100 - 100 * sum(lost) / len(lost))
    empty = review(GameRecord.of("tictactoe", (), ()), "solver")
    assert (empty.accuracy(0), empty.moves, empty.errors) == (None, (), [])


def test_a_search_may_review_and_marks_follow_the_losses():
    found = review(random_game("hex-3", 5), "uct:simulations=40", Limit(simulations=80))
    for move, search in zip(found.moves, found.record.searches, strict=True):
        assert search.simulations <= 80
        assert move.mark in get_args(Mark)
        if move.mark in ERRORS:
            assert move.lost >= THRESHOLDS[move.mark]
        if move.mark == "best" and not move.is_exact:
            assert move.move == move.best
    found.record.check()


def test_a_game_that_turned_is_told():
    first_errs = GameRecord.of("tictactoe", (), (0, 4, 1, 2, 8, 6))  # 9 lets 3 5 7 stand
    found = review(first_errs, "solver")
    assert found.record.outcome == -1
    assert found.turned == found.errors[0].ply == 4
    assert review(GameRecord.of("tictactoe", (), (0, 4)), "solver").turned is None


def test_a_game_from_a_position_is_reviewed():
    start = StartPosition("X../.O./...", 0)
    found = review(GameRecord.of("tictactoe", (), (1, 2), start=start), "solver")
    assert [move.move for move in found.moves] == ["2", "3"]


def test_an_agent_without_values_is_refused():
    with pytest.raises(ValueError, match="values"):
        review(BLUNDER, "random")


def test_a_review_is_read_back():
    found = review(BLUNDER, "solver")
    assert Review.from_json(found.to_json()) == found
    changed = json.loads(found.to_json())
    changed["moves"] = changed["moves"][1:]
    with pytest.raises(ValueError, match="action"):
        Review.from_json(json.dumps(changed))


def test_the_story_can_be_told_from_the_json_alone():
    told = json.loads(review(BLUNDER, "solver").to_json())
    worst = max(told["moves"], key=lambda move: move["lost"])
    assert told["record"]["agents"][worst["player"]] == "you"
    assert (worst["mark"], worst["best"]) == ("blunder", "8")
    assert told["record"]["outcome"] == 1


def test_many_games_are_one_table():
    reviews = [review(BLUNDER, "solver"), review(random_game("tictactoe", 3), "solver")]
    heads, rows = summary(reviews)
    by_name = {row[-1]: dict(zip(heads, row, strict=True)) for row in rows}
    assert set(by_name) == {"me", "you", "a", "b"}
    assert by_name["you"]["games"] == "1"
    assert by_name["you"]["blunders"] == "1"
    assert by_name["you"]["mean ply"] == "4.0"
    assert by_name["me"]["mean ply"] == "-"


# ---- the command ---------------------------------------------------------------------------------


def run(*words):
    return CliRunner().invoke(main, ["review", *map(str, words)])


@pytest.fixture
def games(tmp_path):
    """A directory with five games."""
    save_games(
        [random_game("tictactoe", seed) for seed in range(4)] + [BLUNDER], tmp_path / "games"
    )
    return tmp_path / "games"


def test_the_command_prints_a_review(games):
    done = run(games / "000005.json", "--agent", "solver")
    assert done.exit_code == 0
    assert "blunder" in done.stdout
    done = run(games / "000005.json", "--agent", "solver", "--json")
    shown, found = Review.from_json(done.stdout), review(BLUNDER, "solver")
    assert [move.after for move in shown.moves] == [move.after for move in found.moves]


def test_the_command_goes_on_where_it_was_interrupted(games, tmp_path):
    target = tmp_path / "reviews"
    words = (games, "--agent", "solver", "--workers", "0", "--to", target)
    assert run(*words).exit_code == 0
    before = {path.name: path.stat().st_mtime_ns for path in target.iterdir()}
    assert len(before) == 5
    (target / "000002.json").unlink()
    done = run(*words)
    assert done.exit_code == 0
    after = {path.name: path.stat().st_mtime_ns for path in target.iterdir()}
    assert {name for name in after if after[name] != before[name]} == {"000002.json"}
    assert done.stdout.split()[:3] == ["games", "moves", "accuracy"]
    assert run(*words[:2], "uct", *words[3:]).exit_code != 0  # reviews of another agent


def test_a_page_leads_to_the_errors(games, tmp_path):
    page = tmp_path / "game.html"
    assert run(games / "000005.json", "--agent", "solver", "--to", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert '"notes":[{"ply":3,"text":"3 is a blunder; better: 8' in text
    assert '"notes":[]' in replay_page(BLUNDER)


@pytest.mark.parametrize(
    "words",
    [
        ("--agent", "utc"),
        ("--agent", "random"),
        ("--seconds", "0"),
        ("--to", "x.txt"),
        ("--to", "x.json"),
    ],
)
def test_the_command_refuses(games, words):
    done = run(games, "--workers", "0", *words)
    assert done.exit_code in (1, 2)
    assert "expected" in done.output


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("game", "options", "name", "seconds", "every"),
    [("connect4", (), "connect4", 0.05, 20), ("hex", ("board_size=5",), "hex_5x5", 0.5, 10)],
)
def test_exact_reviews_agree_with_solved_positions(game, options, name, seconds, every):
    """A drawn move after each of them: its values are right, and what keeps the value is no error.

    The positions were solved by other programs (`agents/arena/positions`).
    """
    rng, exact = np.random.default_rng(1), 0
    for position in own_sets(game, options)[name][::every]:
        env = make_environment(game, options)
        env.reset(options=position.start)
        action = int(rng.choice(list(position.values)))
        record = GameRecord.of(game, options, (*env.unwrapped.actions, action))
        move = review(record, f"solver:seconds={seconds},seed=1").moves[-1]
        best, value = max(position.values.values()), position.values[action]
        if move.is_exact:
            exact += 1
            assert (move.before, move.after) == (best, value)
            assert (move.mark == "best") == (value == best)
    assert exact > 10
