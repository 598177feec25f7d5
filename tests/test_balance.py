"""Openings from lists, and those that are balanced."""

import json

import pytest
from click.testing import CliRunner

from agents.apps.cli import main
from agents.arena import Tournament
from agents.arena.balance import (
    drawn_openings,
    expected_openings,
    is_balanced,
    score_openings,
)
from agents.arena.bench import openings_of
from agents.arena.opening_files import read_openings
from agents.arena.recommended import boards
from agents.arena.schedule import Schedule
from agents.registry import make_environment
from hexenv.games import notation


def listed(openings, **settings):
    game = settings.pop("game", "connect4")
    return Schedule(Tournament(game, ["greedy", "random"], openings=openings, **settings))


def test_all_openings_are_played_before_any_comes_again():
    schedule = listed(["11", "12", "4"], pairs=6, seed=3)
    openings = [schedule[2 * pair].opening for pair in range(6)]
    assert set(openings[:3]) == {(0, 0), (0, 1), (3,)}
    again = sorted(min(opening[0], 6 - opening[0]) for opening in openings[3:])
    assert again == [0, 0, 3]  # perhaps mirrored
    assert openings == [schedule[2 * pair + 1].opening for pair in range(6)]  # both ways


def test_images_are_positions_of_the_same_kind():
    schedule = listed(["15"], game="tictactoe", pairs=40)
    found = {schedule[2 * pair].opening for pair in range(40)}
    assert found == {(corner, 4) for corner in (0, 2, 6, 8)}


@pytest.mark.parametrize(
    ("openings", "message"),
    [
        (["12", "18"], r"opening 2, '18'.*move 2"),
        (["1212121"], "does not end the game"),
    ],
)
def test_a_wrong_opening_is_refused(openings, message):
    with pytest.raises(ValueError, match=message):
        listed(openings)


def test_openings_of_files(tmp_path):
    text, games = tmp_path / "list.txt", tmp_path / "games.sgf"
    text.write_text("# a comment\na1 b2  # another\n\nc3\n")
    games.write_text("(;GM[11]SZ[5];B[a1];W[b2])(;GM[11]SZ[5];B[c3])")
    options = ("board_size=5",)
    for file in (text, games):
        assert read_openings(file, "hex", options) == ("a1 b2", "c3")
    with pytest.raises(ValueError, match=r"games\.sgf: expected openings of Hex.*rows=11"):
        read_openings(games, "hex")
    text.write_text("# nothing\n")
    with pytest.raises(ValueError, match=r"list\.txt: expected an opening"):
        read_openings(text, "hex")


def test_what_the_solver_expects_is_what_it_scores():
    drawn = drawn_openings("tictactoe")
    expected = expected_openings("solver", "tictactoe", drawn)
    scored = score_openings("solver", "tictactoe", drawn, games=2, workers=0)
    assert [one[:2] for one in expected] == [one[:2] for one in scored]
    odd = expected_openings("solver", "tictactoe", drawn_openings("tictactoe", plies=1))
    assert [one.score for one in odd] == [0.5] * 3  # a corner, an edge, the centre


def test_listed_openings_are_taken_in_place_of_random_ones(tmp_path):
    file, chosen = tmp_path / "listed.txt", tmp_path / "chosen.txt"
    file.write_text("5 1\n5 2  # lost\n5 9  # an image of the first\n")
    command = ["openings", "tictactoe", "solver", "--ask", "--openings", str(file)]
    assert CliRunner().invoke(main, [*command, "--to", str(chosen)]).exit_code == 0
    assert read_openings(chosen, "tictactoe") == ("51",)
    assert CliRunner().invoke(main, [*command, "--count", "3"]).exit_code == 2
    assert CliRunner().invoke(main, [*command, "--games", "2"]).exit_code == 2
    file.write_text("5 2\n")
    assert CliRunner().invoke(main, [*command, "--to", str(chosen)]).exit_code == 1
    assert read_openings(chosen, "tictactoe") == ("51",)
    scored = score_openings("solver", "tictactoe", ("5 1", "5 2", "5 9"), games=2, workers=0)
    assert [one[:2] for one in scored] == [("51", 0.5), ("52", 1.0)]


def test_openings_from_the_middle():
    assert drawn_openings("tictactoe", plies=1, middle=0) == ["5"]
    with pytest.raises(ValueError, match="opening of 2 plies"):
        drawn_openings("tictactoe", plies=2, middle=0)
    with pytest.raises(ValueError, match="agent with values"):
        expected_openings("random", "tictactoe", ["5"])


def test_balanced_are_those_that_perfect_play_draws():
    found = score_openings("solver", "tictactoe", drawn_openings("tictactoe"), games=2, workers=0)
    assert len(found) == 12  # orbits of two stones under the eight symmetries
    balanced = {one.moves for one in found if is_balanced(one)}
    game = make_environment("tictactoe", ()).unwrapped.game
    for one in found:
        corner, centre = (notation.parse_moves(game, one.moves)[n] for n in (0, 1))
        if corner in (0, 2, 6, 8):  # the reply to a corner has to be the centre
            assert (one.moves in balanced) == (centre == 4)


def test_the_openings_of_the_bench_can_be_played():
    for board in boards():
        openings = openings_of(board)
        assert len(openings) >= 5
        listed(openings, game=board.game, options=board.options)


def test_the_command_writes_what_a_tournament_reads(tmp_path):
    file = tmp_path / "openings.txt"
    command = ["openings", "tictactoe", "solver", "--games", "2", "--to", str(file)]
    result = CliRunner().invoke(main, [*command, "--workers", "0"])
    assert result.exit_code == 0, result.output
    arguments = ["tournament", "tictactoe", "greedy", "random", "--pairs", "2"]
    arguments += ["--openings", str(file), "--workers", "0", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)["tournament"]["openings"]
    assert told == list(read_openings(file, "tictactoe"))
    arguments[arguments.index(str(file))] = str(tmp_path / "no.txt")
    assert CliRunner().invoke(main, arguments).exit_code == 1
