"""Adjudication: games that end early end as they would have ended."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from agents import Statistics
from agents.apps.cli import main
from agents.arena import Tournament, TournamentRun, run_tournament
from agents.arena.adjudication import Adjudication, Judge, Verdict
from agents.registry import make_agent, make_environment


def search(value, proven=None, assumed=None):
    return Statistics(np.ones(2, np.int64), np.full(2, value), [0], 1, 0.0, proven, assumed=assumed)


def verdicts(rule, *searches):
    """The first verdict in a game of alternating agents, and after how many plies."""
    judge = Judge(Adjudication.of(rule))
    for ply, one in enumerate(searches):
        if (found := judge.after(ply % 2, 0, one, ply + 1)) is not None:
            return ply + 1, found
    return None


def test_a_proof_ends_the_game_for_the_side_that_has_it():
    assert verdicts("proof", search(0.2), search(0.9, proven=1)) == (2, Verdict(-1, "proof"))
    assert verdicts("proof", search(0.2, proven=0)) == (1, Verdict(0, "proof"))
    assert verdicts("proof", search(0.9, proven=1, assumed="determinism")) is None
    assert verdicts("proof", None, search(1.0)) is None


def test_both_have_to_be_sure_of_the_same_winner_in_a_row():
    sure = [search(0.99), search(-0.96)]
    assert verdicts("values=4", *sure, *sure) == (4, Verdict(1, "values"))
    assert verdicts("values=4", *sure, search(0.5), *sure) is None
    assert verdicts("values=2", search(0.99), search(0.99)) is None  # each is sure of its own win
    assert verdicts("values=2", search(-0.99), search(0.99)) == (2, Verdict(-1, "values"))
    assert verdicts("values=2", search(0.99), None, search(0.99)) is None
    assert verdicts("values=2", search(np.nan), search(np.nan)) is None


def test_length_makes_a_draw_and_a_proof_comes_before_it():
    assert verdicts("plies=2", None, None) == (2, Verdict(0, "plies"))
    assert verdicts("plies=2", None, search(1.0, proven=1)) == (2, Verdict(-1, "proof"))


@pytest.mark.parametrize("text", ["", "values", "values=1", "values=-3", "moves=3", "proof=1"])
def test_what_is_no_adjudication_is_refused(text):
    with pytest.raises(ValueError, match="adjudicate"):
        Adjudication.of(text)


def test_no_result_differs_from_perfect_play():
    agents = ["uct:simulations=60", "rave:simulations=60"]
    tournament = Tournament("tictactoe", agents, pairs=10, adjudicate="proof")
    run = TournamentRun(tournament, workers=0)
    games = list(run)
    ended = [game for game in games if game.adjudicated]
    assert len(ended) > 5
    assert run.standings().adjudicated == len(ended)
    env, solver = make_environment("tictactoe", ()), make_agent("solver")
    for game in ended:
        env.reset()
        for action in game.actions:
            env.step(action)
        solver.act(env)
        side = 1 if len(game.actions) % 2 == game.first else -1  # whether agent 0 is to move
        assert game.outcome == side * solver.statistics.proven


def test_files_keep_it_and_records_say_why(tmp_path):
    file, records = tmp_path / "games.jsonl", tmp_path / "records"
    agents = ["uct:simulations=100", "uct:simulations=100"]
    tournament = Tournament("connect4", agents, pairs=2, adjudicate="values=6,plies=9", seed=1)
    first = run_tournament(tournament, file, workers=0, records=records)
    assert first.adjudicated > 0
    again = TournamentRun(tournament, file, workers=0, records=records)
    assert list(again) == []
    assert again.standings().as_json(measured=False) == first.as_json(measured=False)
    reasons = {json.loads(path.read_text())["reason"] for path in records.glob("*.json")}
    assert reasons <= {"adjudicated: proof", "adjudicated: values", "adjudicated: plies", None}
    assert len(reasons - {None}) > 0
    again.close()


def test_the_command():
    arguments = ["tournament", "tictactoe", "uct:simulations=50", "greedy", "--pairs", "2"]
    result = CliRunner().invoke(main, [*arguments, "--adjudicate", "proof", "--workers", "0"])
    assert result.exit_code == 0, result.output
    assert "games were adjudicated" in result.stdout
