"""Tournaments: the schedule, the engines, the file of results, the tables, the command."""

import csv
import functools
import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import competitors
import numpy as np
import pytest
from click.testing import CliRunner
from environments import hearing_interrupts
from processes import is_alive, wait_for

from agents import RandomAgent, TextAgent
from agents.apps.cli import INTERRUPTED, following, main
from agents.arena import (
    CallableAgent,
    Entrant,
    ResultsError,
    Sprt,
    Tournament,
    TournamentRun,
    read_results,
    run_tournament,
)
from agents.arena.intervals import score_interval
from agents.arena.results import FailedGame, PlayedGame
from agents.arena.schedule import Schedule, ScheduledGame, new_environment
from agents.arena.standings import SprtMonitor, interval_text, remarks, standings
from hexenv import tictactoe_v0

HERE = Path(__file__).parent
UCT = "uct:simulations=10"


def table(tournament, **how):
    """The table of a tournament without what differs between two runs."""
    return run_tournament(tournament, **{"workers": 0, **how}).as_json(measured=False)


def game_lines(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()[1:]]


# ---- the description -----------------------------------------------------------------------------


def test_a_description_makes_the_same_tournament():
    agents = ["a=uct:simulations=5", {"b": "random"}]
    options = ["board_size=4"]
    tournament = Tournament("hex", agents, "pair", 3, seed=4, options=options, sprt="0,20,0.1")
    description = json.loads(json.dumps(tournament.description()))
    assert description["agents"] == [{"a": "uct:simulations=5"}, {"b": "random"}]
    assert description["sprt"] == {"elo0": 0, "elo1": 20, "alpha": 0.1, "beta": 0.05}
    assert Tournament.from_description(description).description() == description


def test_the_same_test_in_other_words_is_the_same_tournament():
    said = ["0,50", {"elo0": 0, "elo1": 50}, Sprt(0, 50), Sprt(np.float64(0), np.float64(50))]
    said.append({"elo0": 0.0, "elo1": 50.0, "alpha": 0.05})
    one = [Tournament("hex", [UCT, "random"], kind="pair", sprt=sprt) for sprt in said]
    assert len({json.dumps(tournament.description()) for tournament in one}) == 1


def test_equal_agents_are_told_apart():
    assert Tournament("hex", ["random"] * 3).labels == ("random", "random (2)", "random (3)")
    assert Tournament("hex", [UCT, "x=random"]).labels == (UCT, "x")
    agents = [RandomAgent(), competitors.highest, Entrant("mine", competitors.First())]
    assert Tournament("hex", agents).labels == (
        "agents.core.baselines.RandomAgent", "competitors.highest", "mine",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "agents", "pairings"),
    [
        ("round-robin", 3, ((0, 1), (0, 2), (1, 2))),
        ("gauntlet", 4, ((0, 1), (0, 2), (0, 3))),
        ("pair", 2, ((0, 1),)),
    ],
)
def test_who_meets_whom(kind, agents, pairings):
    tournament = Tournament("tictactoe", ["random"] * agents, kind=kind, pairs=5)
    assert tournament.pairings == pairings
    assert tournament.games == 10 * len(pairings)


TWO = {"game": "tictactoe", "agents": ["random", "greedy"]}
AGENT = RandomAgent()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pears": 3}, "expected a key of game, agents, .*got 'pears'"),
        ({"pairs": 0}, "pairs as a whole number.*got 0"),
        ({"pairs": True}, "pairs as .*got True"),
        ({"pairs": "3"}, "pairs as .*got '3'"),
        ({"opening_plies": -1}, "expected opening_plies as a whole number.*got -1"),
        ({"seed": 0.5}, "expected seed as a whole number.*got 0.5"),
        ({"kind": "cup"}, "expected kind of round-robin, gauntlet, pair, got 'cup'"),
        ({"game": 3}, "expected a game as a text or a function, got 3"),
        ({"agents": "random"}, "expected agents as a list, got 'random'"),
        ({"agents": ["random"]}, "expected at least two agents, got 1"),
        ({"agents": ["random"] * 3, "kind": "pair"}, "expected two agents, got 3"),
        ({"agents": ["random", 3]}, "expected a text, an agent or a function, got 3"),
        ({"agents": ["a=random", "a=greedy"]}, "expected different labels, got 'a' twice"),
        ({"agents": [{"a": "random", "b": "greedy"}] * 2}, "expected an agent as {label: agent}"),
        ({"agents": [{" ": "random"}, "greedy"]}, "expected a label for every agent, got ' '"),
        ({"options": "board_size=3"}, "expected options as a list"),
        ({"options": {"board_size=3"}}, "expected options as a list"),
        ({"options": [3]}, r"options\[0\] as a text, got 3"),
        ({"game": tictactoe_v0.env, "options": ["a=1"]}, "expected no options for a function"),
        ({"agents": [AGENT, AGENT]}, "an agent object of its own"),
        ({"sprt": "0,50"}, "expected kind \"pair\" for an sprt, got 'round-robin'"),
        ({"kind": "pair", "sprt": "50"}, "expected sprt as elo0,elo1.*got '50'"),
        ({"kind": "pair", "sprt": "a,b"}, "expected sprt as numbers, got 'a,b'"),
        ({"kind": "pair", "sprt": {"elo2": 3}}, "expected a key of elo0.*'sprt.elo2'"),
        ({"kind": "pair", "sprt": "50,0"}, "expected sprt elo0 below elo1, got 50.0 and 0.0"),
        ({"kind": "pair", "sprt": {"alpha": 1}}, "sprt.alpha as a number.*got 1"),
        ({"kind": "pair", "sprt": "0,nan"}, "sprt.elo1 as a number.*got nan"),
    ],
)
def test_what_is_wrong_is_named(changed, message):
    with pytest.raises(ValueError, match=message):
        Tournament.from_description({**TWO, **changed})


def three_players():
    env = tictactoe_v0.env()
    env.unwrapped.possible_agents = ["a", "b", "c"]
    return env


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"game": "chess"}, "expected a game of .*got 'chess'"),
        ({"options": ["size=3"]}, "tictactoe: expected no options, got 'size'"),
        ({"agents": ["random", "nobody"]}, "expected an agent of .*got 'nobody'"),
        ({"agents": ["random", "competitors.nobody"]}, "expected a name to import"),
        ({"agents": ["random", competitors.three]}, "which takes 3 arguments"),
        ({"opening_plies": 9}, "expected an opening of 9 plies after which"),
        ({"game": three_players}, "expected an environment of two agents"),
        ({"agents": ["os.getcwd", "random"]}, r"os\.getcwd: expected an agent, with act"),
        ({"game": "os:getcwd"}, "os:getcwd: expected an environment, which has step"),
    ],
)
def test_what_cannot_be_played_is_named(changed, message):
    with pytest.raises(ValueError, match=message):
        TournamentRun(Tournament(**{**TWO, **changed}), workers=0)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"engine": "steam"}, "expected engine of processes, ray, got 'steam'"),
        ({"workers": -1}, "workers as a whole number.*got -1"),
        ({"workers": 1.5}, "workers as a whole number"),
        ({"engine": "ray", "workers": 0}, "workers as a whole number"),
        ({"game_seconds": 0}, "timeout as a number"),
        ({"game_seconds": "1"}, "timeout as a number.*got '1'"),
    ],
)
def test_a_wrong_way_of_playing_is_named(how, message):
    with pytest.raises(ValueError, match=message):
        TournamentRun(Tournament(**TWO), **how)


# ---- the schedule --------------------------------------------------------------------------------


def test_every_pair_swaps_sides_from_one_opening():
    tournament = Tournament("tictactoe", ["random"] * 3, pairs=6, opening_plies=3)
    games = list(Schedule(tournament))
    assert [game.number for game in games] == list(range(36))
    pairs = {}
    for game in games:
        assert game.agents == tournament.pairings[game.pairing]
        pairs.setdefault((game.pairing, game.pair), []).append(game)
    assert len(pairs) == 18
    for one, other in pairs.values():
        assert (one.first, other.first) == (0, 1)
        assert one.opening == other.opening
        assert len(one.opening) == 3
    for pairing in range(3):
        assert len({pairs[pairing, pair][0].opening for pair in range(6)}) == 6


@pytest.mark.parametrize(
    ("game", "options", "plies"),
    [
        ("tictactoe", [], 4),
        ("connect4", ["rows=4", "columns=4", "connect=3"], 4),
        ("hex", ["board_size=3", "swap=true"], 2),
        ("competitors:tictactoe", [], 5),
    ],
)
def test_openings_are_legal_and_leave_something_to_play(game, options, plies):
    tournament = Tournament(game, ["random"] * 2, pairs=8, opening_plies=plies, options=options)
    for scheduled in Schedule(tournament):
        env = new_environment(tournament)
        env.reset()
        for action in scheduled.opening:
            assert env.unwrapped.is_legal(action)
            env.step(action)
        assert not any(env.terminations.values())
        raw = env.unwrapped
        for action in np.flatnonzero(raw.observe(raw.agent_selection)["action_mask"]):
            after = raw.clone()
            after.step(int(action))
            assert after.rewards[raw.agent_selection] <= 0


def test_openings_come_from_the_seed_and_not_from_how_many_there_are():
    def openings(**changed):
        return [game.opening for game in Schedule(Tournament(**{**TWO, "pairs": 5, **changed}))]

    assert openings() == openings(pairs=9)[:10]
    assert openings() != openings(seed=1)
    assert set(openings(opening_plies=0)) == {()}


def test_when_there_are_no_more_openings_they_are_used_in_turn():
    games = list(Schedule(Tournament(**TWO, pairs=20, opening_plies=1)))
    openings = [game.opening for game in games[::2]]
    assert len(set(openings)) == 9
    assert openings[9:18] == openings[:9]


# ---- the same results everywhere -----------------------------------------------------------------


def test_the_table_is_the_same_for_any_number_of_workers():
    tournament = Tournament("tictactoe", [UCT, "greedy", "random"], pairs=3, seed=7)
    here = table(tournament)
    assert here["played"] == here["wanted"] == 18
    assert [table(tournament, workers=workers) == here for workers in (1, 2)] == [True, True]
    assert table(Tournament("tictactoe", [UCT, "greedy", "random"], pairs=3, seed=8)) != here


def test_a_game_does_not_depend_on_those_before(tmp_path):
    """Games played in another order, by agents that have played others, are the same games."""
    tournament = Tournament("connect4", ["uct:simulations=10,reuse=true", "greedy"], pairs=3)
    run_tournament(tournament, tmp_path / "all.jsonl", workers=0)
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    part = tmp_path / "part.jsonl"
    part.write_text("".join([lines[0], lines[4], lines[2]]), encoding="utf-8")
    run_tournament(tournament, part, workers=0)
    found = [
        {line["game"]: line["actions"] for line in game_lines(tmp_path / name)}
        for name in ("all.jsonl", "part.jsonl")
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 6


def test_more_pairs_go_on_with_the_games_there_are(tmp_path):
    path = tmp_path / "games.jsonl"
    run_tournament(Tournament(**TWO, pairs=2), path, workers=0)
    before = path.read_bytes()
    longer = Tournament(**TWO, pairs=5)
    assert table(longer, results=path) == table(longer)
    assert path.read_bytes().startswith(before)
    with pytest.raises(ResultsError, match=r"games.jsonl:6: expected a game from 0 to 3, got 4"):
        run_tournament(Tournament(**TWO, pairs=2), path, workers=0)


def test_agents_of_all_kinds(tmp_path):
    checkpoint = tmp_path / "weights.txt"
    checkpoint.write_text("-1", encoding="utf-8")
    same = [
        "competitors.Last",
        "competitors.highest",
        "competitors.masked",
        f"competitors.Checkpoint:path={checkpoint}",
        competitors.highest,
        competitors.masked,
        competitors.Checkpoint(checkpoint),
        competitors.Last(),
    ]
    agents = ["random", *({f"{number}": agent} for number, agent in enumerate(same))]
    found = table(Tournament("tictactoe", agents, kind="gauntlet", pairs=1, opening_plies=1))
    assert found["failed"] == ()
    assert found["played"] == 2 * len(same)
    assert all(agent["illegal_moves"] == 0 for agent in found["agents"])
    env = tictactoe_v0.env()
    env.reset(options={"moves": "5 9"})
    assert CallableAgent(competitors.highest).act(env) == 7
    assert CallableAgent(competitors.masked).act(env) == 7


def test_openings_by_other_move_orders_are_no_new_ones():
    run = Schedule(Tournament("tictactoe", ["random", "random"], opening_plies=3, pairs=150))
    openings = {run[number].opening for number in range(len(run))}
    positions = {(frozenset(line[::2]), frozenset(line[1::2])) for line in openings}
    assert len(positions) == len(openings) > 50


def test_the_integers_of_numpy_and_truth_values_are_actions(tmp_path):
    def truth(env):
        allowed = env.last()[0]["action_mask"]
        return bool(allowed[1]) if allowed[0] or allowed[1] else int(np.argmax(allowed))

    path = tmp_path / "games.jsonl"
    agents = [competitors.highest, Entrant("truth", truth)]
    tournament = Tournament("tictactoe", agents, kind="pair", pairs=2, opening_plies=1)
    first = table(tournament, results=path)
    assert first["failed"] == ()
    assert first["played"] == 4
    assert table(tournament, results=path) == first
    for line in game_lines(path):
        assert all(type(action) is int for action in line["actions"])


def test_what_cannot_be_sent_to_a_process_is_named():
    tournament = Tournament("tictactoe", ["random", Entrant("mine", lambda env: 0)], pairs=1)
    with pytest.raises(ValueError, match=r"the agent 'mine': .*pickled"):
        TournamentRun(tournament)
    assert run_tournament(tournament, workers=0).played == 2


def test_environments_of_others():
    for game in ("pettingzoo.classic.tictactoe.tictactoe:env", tictactoe_v0.env):
        found = table(Tournament(game, ["random", "greedy"], pairs=2, opening_plies=2))
        assert found["failed"] == ()
        assert found["played"] == 4


def test_a_file_for_each_purpose(tmp_path):
    one = str(tmp_path / "one")
    result = run("tictactoe", "random", "greedy", "--results", one, "--table", one, status=2)
    assert f"got {one} for two things" in result.output
    spec = tmp_path / "spec.json"
    described = {**TWO, "table": str(spec)}
    spec.write_text(json.dumps(described), encoding="utf-8")
    run("--spec", spec, status=2)
    assert json.loads(spec.read_text(encoding="utf-8")) == described


# ---- agents that fail ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "workers", "limit", "reason"),
    [
        ("raise", 2, 60, r"^bad: ValueError: no idea$"),
        ("exit", 0, 60, r"^bad: SystemExit: 3$"),
        ("crash", 2, 60, r"^its process was ended by SIGKILL$"),
        ("hang", 2, 1, r"^it took longer than 1 s$"),
    ],
)
def test_a_failed_game_is_reported_and_the_rest_go_on(way, workers, limit, reason, tmp_path):
    bad = {"bad": f"competitors.Unreliable:way={way}"}
    tournament = Tournament("tictactoe", [bad, "random", "greedy"], pairs=1, opening_plies=2)
    path = tmp_path / "games.jsonl"
    found = run_tournament(tournament, path, workers=workers, game_seconds=limit)
    assert found.played == 4
    assert [failure["game"] for failure in found.failed] == [0, 2]
    for failure in found.failed:
        assert failure["agents"][0] == "bad"
        assert re.search(reason, failure["reason"])
    by_label = {agent.agent: agent for agent in found.agents}
    assert by_label["bad"].games == 2
    assert by_label["random"].games == 3
    assert sum("failed" in line for line in game_lines(path)) == 2


def test_failed_games_are_tried_again(tmp_path):
    path = tmp_path / "games.jsonl"
    tournament = Tournament("tictactoe", ["competitors.Unreliable:way=raise", "random"], pairs=2)
    first = table(tournament, results=path)
    assert len(game_lines(path)) == 4
    run = TournamentRun(tournament, path, workers=0)
    assert [game.number for game in run.missing()] == [0, 2]
    assert run.count_missing() == 2
    for _ in run:
        pass
    assert run.standings().as_json(measured=False) == first
    run.close()
    assert [line["game"] for line in game_lines(path)] == [0, 1, 2, 3, 0, 2]
    records = read_results(path, tournament)
    assert sum(isinstance(record, FailedGame) for record in records) == 4
    assert sum(isinstance(record, PlayedGame) for record in records) == 2


def test_an_agent_that_cannot_be_made_is_found_before_anything_is_played(tmp_path):
    path = tmp_path / "games.jsonl"
    with pytest.raises(ValueError, match="no agent today"):
        run_tournament(Tournament("tictactoe", ["random", "competitors.refuse:"]), path)
    assert not path.exists()


# ---- repeated games ------------------------------------------------------------------------------


def test_what_deterministic_agents_repeat_adds_nothing():
    agents = ["competitors.First", "competitors.Last"]

    def of(pairs, plies):
        tournament = Tournament("tictactoe", agents, pairs=pairs, opening_plies=plies)
        return run_tournament(tournament, workers=0)

    once, repeated = of(1, 0), of(4, 0)
    assert (once.played, once.distinct, repeated.played, repeated.distinct) == (2, 2, 8, 2)
    assert (repeated.pairings[0].games, repeated.pairings[0].distinct) == (8, 2)
    assert repeated.agents[0].games == 8
    assert repeated.cross_table[0][1] == 4 * once.cross_table[0][1]
    assert repeated.pairings[0].interval == pytest.approx(once.pairings[0].interval)
    for of_repeated, of_once in zip(repeated.agents, once.agents, strict=True):
        assert of_repeated.elo == pytest.approx(of_once.elo)
        assert of_repeated.interval == pytest.approx(of_once.interval)
    found = of(12, 1)  # nine openings
    assert (found.played, found.distinct) == (24, 18)


def game(number, actions, opening=(), outcome=1):
    about = ScheduledGame(number, 0, number // 2, (0, 1), number % 2, opening)
    return PlayedGame(number % 2, outcome, actions, None, (0, 0), (1, 1), game=about)


def test_what_agents_of_chance_repeat_adds_nothing_either():
    tournament = Tournament("tictactoe", ["random", "greedy"], pairs=3, opening_plies=0)
    outcomes = {(1, 2): 1, (3,): -1, (4,): 0}
    lines = [(1, 2), (3,), (1, 2), (3,), (1, 2), (4,)]  # three distinct ones
    games = {n: game(n, line, outcome=outcomes[line]) for n, line in enumerate(lines)}
    (pairing,) = standings(tournament, games).pairings
    assert (pairing.games, pairing.distinct, pairing.wins, pairing.losses) == (6, 3, 3, 2)
    assert pairing.score == pytest.approx(3.5 / 6)
    assert pairing.interval == score_interval([1, 1, 1.5], 2, 0.5)


# ---- the sequential test -------------------------------------------------------------------------


def test_a_match_stops_when_its_test_decides(tmp_path):
    path = tmp_path / "games.jsonl"
    tournament = Tournament("tictactoe", ["greedy", "random"], "pair", pairs=300, sprt="0,200")
    first = table(tournament, results=path)
    assert first["sprt"]["accepted"] == "elo1"
    assert first["is_biased"] is True
    assert first["played"] == 2 * first["sprt"]["pairs"] < 200
    assert table(tournament, workers=2) == first
    before = path.read_bytes()
    assert table(tournament, results=path) == first  # it stays decided
    assert path.read_bytes() == before


def test_the_test_waits_for_the_pairs_before():
    def one(number):
        return game(number, (number,), (number // 2,))

    records = {number: one(number) for number in range(2, 80)}
    monitor = SprtMonitor(Sprt(), 40)
    assert monitor.follow(records).pairs == 0
    records |= {0: one(0), 1: FailedGame(one(1).game, "gone")}
    state = monitor.follow(records)
    assert (state.accepted, state.pairs) == ("elo1", 23)
    assert monitor.pairs == 24  # the failed one was skipped


@pytest.mark.parametrize("chance", [False, True])
def test_repeated_games_are_no_evidence_for_the_test(chance):
    """Seven pairs, each played four times; with chance, all but the first seven differ."""
    records = {}
    for number in range(56):
        opening = (number // 2 % 7,)
        actions = (*opening, number if chance else 99)
        records[number] = game(number, actions, opening, number // 2 % 7 % 2 * 2 - 1)
    monitor, of_seven = SprtMonitor(Sprt(0, 50), 28), SprtMonitor(Sprt(0, 50), 7)
    found, once = monitor.follow(records), of_seven.follow(records)
    assert (found.pairs, once.pairs) == (28, 7)
    assert (found.llr == pytest.approx(once.llr, abs=1e-3)) is not chance


# ---- the file ------------------------------------------------------------------------------------


@pytest.fixture
def played(tmp_path):
    """A file of results with six games, and its tournament."""
    path = tmp_path / "games.jsonl"
    tournament = Tournament(**TWO, pairs=3)
    run_tournament(tournament, path, workers=0)
    return path, tournament


def test_what_a_line_holds(played):
    path, tournament = played
    header = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert (header["format"], header["version"]) == ("hexenv tournament", 1)
    assert header["tournament"] == tournament.description()
    for number, line in enumerate(game_lines(path)):
        assert list(line) == [
            "game", "pair", "agents", "first", "opening", "outcome", "illegal", "plies", "actions",
            "moves", "seconds",
        ]  # fmt: skip
        assert (line["game"], line["pair"], line["first"]) == (number, number // 2, number % 2)
        assert line["actions"][:2] == line["opening"]
        assert line["plies"] == len(line["actions"]) == sum(line["moves"]) + 2
        env = tictactoe_v0.env()
        env.reset()
        for action in line["actions"]:
            env.step(action)
        assert all(env.terminations.values())


def test_a_finished_tournament_is_not_played_again(played):
    path, tournament = played
    before = path.read_bytes()
    again = TournamentRun(tournament, path, workers=0)
    assert list(again) == []
    assert again.standings().played == 6
    again.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("line", "old", "new", "message"),
    [
        (1, "{", "", "expected a line of JSON"),
        (1, "hexenv tournament", "diary", "expected format 'hexenv tournament', got 'diary'"),
        (1, '"version": 1', '"version": 2', "expected version 1, got 2"),
        (1, '"seed": 0', '"seed": 1', "with seed 0, got those of one with 1"),
        (1, '"hash": "', '"hash": "0', "expected hash"),
        (1, '"greedy"', '"x"', "with agents "),
        (3, ":", "", "expected a line of JSON"),
        (3, '"game": 1', '"game": 6', "expected a game from 0 to 5, got 6"),
        (3, '"game": 1', '"game": 0', "expected each game once, got game 0 again"),
        (3, '"first": 1', '"first": 0', "expected first 1 in game 1, got 0"),
        (3, '"opening": [', '"opening": [8, ', "expected opening"),
        (3, '"outcome": ', '"outcome": 7, "x": ', "expected outcome as a whole number"),
        (3, '"outcome"', '"result"', "expected outcome, got none"),
        (3, '"plies": ', '"plies": 1', "expected plies"),
        (3, '"seconds": [', '"seconds": [-', "expected seconds[0] as a number"),
        (3, "}", ', "x": 1}', "expected no 'x'"),
    ],
)
def test_a_corrupt_line_is_named_and_nothing_is_overwritten(played, line, old, new, message):
    path, tournament = played
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    path.write_text("".join(lines), encoding="utf-8")
    before = path.read_bytes()
    for read in (lambda: run_tournament(tournament, path, workers=0),
                 lambda: read_results(path, tournament)):  # fmt: skip
        with pytest.raises(ResultsError, match=f"games.jsonl:{line}: ") as caught:
            read()
        assert message in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("data", [b"\x00" * 100, b"\xff\xfe\n", b"[1]\n", b"{}", b"1,2\n3,4\n"])
def test_what_is_no_file_of_results_is_left_alone(tmp_path, data):
    path = tmp_path / "notes.txt"
    path.write_bytes(data)
    with pytest.raises(ResultsError, match=r"notes.txt:1: expected"):
        run_tournament(Tournament(**TWO), path, workers=0)
    assert path.read_bytes() == data


@pytest.mark.parametrize("lost", [1, 2, 60])
def test_a_torn_last_line_is_passed_over(played, lost):
    path, tournament = played
    whole = table(tournament)
    torn = path.read_bytes()[:-lost]
    path.write_bytes(torn)
    run = TournamentRun(tournament, path, workers=0)
    assert [game.number for game in run.missing()] == ([] if lost == 1 else [5])
    assert run.notes == [
        f"{path}:7: passed over, as it was not written to its end" for _ in range(lost != 1)
    ]
    for _ in run:
        pass
    run.close()
    assert run.standings().as_json(measured=False) == whole
    assert path.read_bytes().startswith(torn)
    assert table(tournament, results=path) == whole  # and so it stays


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        ("", [7]),
        ("\n", [7]),
        ("\n{", [7, 8]),
        ('\n{"torn": 7', [7, 8]),
        ('\n{"torn": 7}', []),
        ('\n{"game": 5, "pa', [7, 8]),
        ('\n{"game": 5, "pa\n{"game": 5, "pair": 2, "a', [7, 8, 9]),
    ],
    ids=range(7),
)
def test_a_file_torn_twice_is_mended_like_one_torn_once(played, after, lines):
    path, tournament = played
    whole = table(tournament)
    torn = path.read_bytes()[:-60] + after.encode()
    path.write_bytes(torn)
    for _ in range(2):  # the run that mends it is killed too
        run = TournamentRun(tournament, path, workers=0)
        assert [game.number for game in run.missing()] == [5]
        assert run.notes == [
            f"{path}:{line}: passed over, as it was not written to its end" for line in lines
        ]
        run.close()
        lines = []
    assert path.read_bytes().startswith(torn)
    assert table(tournament, results=path) == whole
    assert table(tournament, results=path) == whole  # and so it stays


def test_a_damaged_line_before_a_torn_one_is_an_error(played):
    path, tournament = played
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:5]) + lines[5].replace('"', "", 1) + lines[6][:20])
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=r"games.jsonl:6: expected a line of JSON"):
        TournamentRun(tournament, path, workers=0)
    assert path.read_bytes() == before


@pytest.mark.parametrize("odd", ["[" * 100_000, '"seconds": [Infinity, '], ids=range(2))
def test_a_line_beyond_the_bounds_is_an_error(played, odd):
    path, tournament = played
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[2] = re.sub(r'"seconds": \[[^,]*, ', lambda _: odd, lines[2])
    path.write_text("".join(lines))
    with pytest.raises(ResultsError, match=r"games.jsonl:3: expected a line of JSON"):
        read_results(path, tournament)


def test_an_empty_file_is_begun_and_the_beginning_of_a_header_is_named(played):
    path, tournament = played
    header = path.read_bytes()
    path.write_bytes(b"")
    assert table(tournament, results=path)["played"] == 6
    path.write_bytes(header[:40])
    with pytest.raises(ResultsError, match=r"games\.jsonl:1: expected a header, got the beginning"):
        run_tournament(tournament, path, workers=0)


def test_two_tournaments_do_not_share_a_file(played):
    path, tournament = played
    run = TournamentRun(tournament, path, workers=0)
    with pytest.raises(ResultsError, match="another tournament is writing to it"):
        TournamentRun(tournament, path, workers=0)
    run.close()
    TournamentRun(tournament, path, workers=0).close()


@pytest.mark.parametrize("name", ["missing/games.jsonl", "file/games.jsonl", "."])
def test_a_path_that_cannot_be_written_is_a_clear_error(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="expected to write results to"):
        TournamentRun(Tournament(**TWO), tmp_path / name, workers=0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_a_clear_error():
    with pytest.raises(OSError, match=r"expected to write results to /dev/full: No space left"):
        TournamentRun(Tournament(**TWO), "/dev/full", workers=0)


def test_a_disk_that_fills_up_keeps_earlier_results(tmp_path):
    path = tmp_path / "games.jsonl"
    words = ("tictactoe", "greedy", "random", "--pairs", 5, "--workers", 0, "--results", path)
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1200, 1200))
    process = start(*words, preexec_fn=limit)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1, errors
    kept = len(game_lines(path))
    assert 2 <= kept <= 5
    expected = f"expected to write results to {path}: File too large; the {kept} games before"
    assert expected in " ".join(errors.split("Error: ")[1].split("\n"))
    tournament = Tournament("tictactoe", ["greedy", "random"], pairs=5)
    assert table(tournament, results=path) == table(tournament)


# ---- killed and started again --------------------------------------------------------------------


def start(*arguments, **options):
    """Start the command in a process of its own."""
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    with hearing_interrupts():
        return subprocess.Popen(
            [sys.executable, "-m", "agents.apps.cli", "tournament", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
            **options,
        )


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks into /proc")
def test_a_killed_tournament_goes_on_where_it_stopped(tmp_path):
    path, folder = tmp_path / "games.jsonl", tmp_path / "processes"
    folder.mkdir()
    slow = {"slow": f"competitors.Slow:folder={folder}"}
    tournament = Tournament("tictactoe", [slow, UCT, "random"], pairs=5)
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(tournament.description()), encoding="utf-8")
    arguments = ("--spec", spec, "--results", path, "--workers", 2, "--json")
    process = start(*arguments)
    wait_for(lambda: path.exists() and len(path.read_bytes().splitlines()) > 8)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=180)
    kept = len(game_lines(path))
    assert 8 <= kept < 30
    workers = [int(file.name) for file in folder.iterdir()]
    assert len(workers) >= 2
    wait_for(lambda: not any(map(is_alive, workers)), seconds=20)

    again = start(*arguments)
    printed, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    found = json.loads(printed)
    assert sorted(line["game"] for line in game_lines(path)) == list(range(30))
    del found["interrupted"], found["beyond_stop"]
    for agent in found["agents"]:
        del agent["seconds_per_move"]
    assert found == json.loads(json.dumps(table(tournament)))


def test_ctrl_c_shows_what_was_played(tmp_path):
    path = tmp_path / "games.jsonl"
    process = start(
        "tictactoe", "competitors.Slow", "random", "--pairs", 500, "--results", path, "--workers", 1
    )
    wait_for(lambda: path.exists() and len(path.read_bytes().splitlines()) > 2)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=180)
    assert process.returncode == INTERRUPTED
    assert "of 1000 games played" in printed
    assert "interrupted after" in errors
    assert "Traceback" not in errors


# ---- the command ---------------------------------------------------------------------------------


def run(*arguments, status=0):
    result = CliRunner().invoke(main, ["tournament", *map(str, arguments), "--workers", "0"])
    assert result.exit_code == status, result.output
    return result


def test_the_tables_on_the_terminal():
    output = run("tictactoe", "fast=greedy", "random", "competitors.First", "--pairs", 2).stdout
    assert re.match(r"12 of 12 games played, \d+ distinct\n", output)
    assert "A = fast\nB = random\nC = competitors.First\n" in output
    lines = [line.split() for line in output.splitlines()]
    head = "Elo 95 % los points won drawn lost illegal ms/move"
    assert head.split() in lines
    start = next(number for number, line in enumerate(lines) if sorted(line) == ["A", "B", "C"])
    cross, _, *rows = lines[start : start + 5]
    assert [row[0] for row in rows] == cross
    assert [row.index("-") for row in rows] == [1, 2, 3]


def test_json_csv_and_remarks(tmp_path):
    path = tmp_path / "table.csv"
    arguments = ("tictactoe", "competitors.First", "competitors.Last", "--opening-plies", 0)
    found = json.loads(run(*arguments, "--json", "--table", path, "--pairs", 3).stdout)
    assert found["interrupted"] is False
    assert found["tournament"]["agents"] == [
        {"competitors.First": "competitors.First"},
        {"competitors.Last": "competitors.Last"},
    ]
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["agent"] for row in rows] == [agent["agent"] for agent in found["agents"]]
    for row, agent in zip(rows, found["agents"], strict=True):
        assert float(row["elo"]) == agent["elo"]
        ends = [float(row[end]) if row[end] else None for end in ("low", "high")]
        assert ends == agent["interval"]
    output = run(*arguments, "--pairs", 3).stdout
    assert output.startswith("6 of 6 games played, 2 distinct")
    assert "competitors.First - competitors.Last 2 of 6" in output


def test_illegal_moves_lose_and_an_agent_that_won_all_has_an_open_interval():
    arguments = ("tictactoe", "competitors.Illegal", "random", "--pairs", 4)
    found = json.loads(run(*arguments, "--json").stdout)
    best, worst = found["agents"]
    assert (best["wins"], worst["illegal_moves"]) == (8, 8)
    (low, above), (below, high) = best["interval"], worst["interval"]
    assert (above, below) == (None, None)
    assert low == pytest.approx(-high)
    assert found["separated"]
    output = run(*arguments).stdout
    assert f"over {low:.0f} " in output
    assert f"under {high:.0f} " in output
    assert (interval_text((-20.4, 35.0)), interval_text(None)) == ("-20 to 35", "-")


def test_a_failure_and_a_stopped_test_are_told():
    bad = "bad=competitors.Unreliable:way=raise"
    output = run("tictactoe", bad, "random", "--pairs", 1).stdout
    assert "game 0 of bad - random failed and is not counted: bad: ValueError: no idea" in output
    sprt = ("--kind", "pair", "--sprt", "0,200", "--pairs", 99)
    output = run("tictactoe", "greedy", "random", *sprt).stdout
    assert "accepted elo1" in output
    assert "score, Elo and intervals are biased" in output


def test_a_forfeit_is_a_lost_game_and_is_told(tmp_path):
    bad, path = "bad=competitors.Unreliable:way=forfeit", tmp_path / "games.jsonl"
    arguments = ("tictactoe", bad, "random", "--opening-plies", 0, "--results", path)
    output = run(*arguments, "--pairs", 1).stdout
    assert "2 of 2 games played" in output
    assert "game 0 of bad - random: bad forfeits: no answer in 1 s" in output
    first, second = game_lines(path)
    assert (first["outcome"], first["forfeit"], first["illegal"]) == (-1, "no answer in 1 s", None)
    assert (first["actions"], first["moves"]) == ([], [1, 0])
    assert "forfeit" not in second
    found = json.loads(run(*arguments, "--pairs", 1, "--json").stdout)  # read from the file
    about = {"game": 0, "agents": ["bad", "random"], "by": "bad", "reason": "no answer in 1 s"}
    assert (found["forfeited"], found["failed"]) == ([about], [])
    forfeits = {agent["agent"]: agent["forfeits"] for agent in found["agents"]}
    assert forfeits == {"bad": 1, "random": 0}
    line = path.read_text(encoding="utf-8").replace('"forfeit": "no answer in 1 s"', '"forfeit": 3')
    path.write_text(line, encoding="utf-8")
    output = run(*arguments, "--pairs", 1, status=2).output
    assert "games.jsonl:2: expected forfeit as a text or null, got 3" in output


def test_a_file_describes_it_as_flags_do(tmp_path):
    spec = tmp_path / "spec.json"
    described = {"game": "hex", "agents": [{"g": "greedy"}, "random"], "options": ["board_size=3"]}
    described |= {"pairs": 2, "seed": 5, "results": str(tmp_path / "games.jsonl")}
    spec.write_text(json.dumps(described), encoding="utf-8")
    flags = ("hex", "g=greedy", "random", "--option", "board_size=3", "--pairs", 2, "--seed", 5)
    found = [json.loads(run(*given, "--json").stdout) for given in (("--spec", spec), flags)]
    for one in found:
        for agent in one["agents"]:
            del agent["seconds_per_move"]
    assert found[0] == found[1]
    assert len(game_lines(tmp_path / "games.jsonl")) == 4
    before_it = ("--pairs", 1, "--results", tmp_path / "b")
    other = json.loads(run("--spec", spec, *before_it, "--json").stdout)
    assert other["tournament"]["pairs"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "spec.json:1:2: expected JSON"),
        ("[]", "spec.json: expected a JSON object, got []"),
        ('{"pears": 1}', "expected a key of game, agents, kind"),
        ('{"pairs": "many"}', "spec.json: expected pairs as a whole number"),
        ('{"engine": "steam"}', "spec.json: expected engine of processes, ray, got 'steam'"),
        ('{"timeout": -1}', "spec.json: expected timeout as a number"),
        ('{"table": 3}', "expected table as a text or null, got 3"),
        ('{"results": "no/such/file"}', "expected results in a folder that exists"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path, text, message):
    spec = tmp_path / "spec.json"
    spec.write_text(text, encoding="utf-8")
    result = run("tictactoe", "random", "greedy", "--spec", spec, status=2)
    assert message in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "expected a tournament with game and agents, got none"),
        (("hex", "random"), "expected at least two agents, got 1"),
        (("hex", "random", "greedy", "--kind", "cup"), "'cup' is not one of"),
        (("hex", "random", "greedy", "--sprt", "0,50"), 'expected kind "pair" for an sprt'),
        (
            ("hex", "random", "greedy", "--table", "/no/such/folder/x.csv"),
            "expected table in a folder",
        ),
        (("--spec", "/no/such/spec.json"), "No such file"),
    ],
)
def test_mistakes_on_the_command_line_are_named(arguments, message):
    result = CliRunner().invoke(main, ["tournament", *arguments])
    assert result.exit_code in (1, 2)
    assert message in result.output


def test_a_missing_library_is_not_blamed_on_the_file(tmp_path, monkeypatch):
    for name in {"matplotlib", *(name for name in sys.modules if name[:11] == "matplotlib.")}:
        monkeypatch.setitem(sys.modules, name, None)
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(TWO), encoding="utf-8")
    output = run("--spec", spec, "--plot", tmp_path / "plot.png", status=2).output
    assert "expected matplotlib" in " ".join(output.split())
    assert "spec.json" not in output


# ---- what needs an extra -------------------------------------------------------------------------


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
def test_ray_plays_the_same_games():
    """Connects to a Ray of two processors."""
    ray = pytest.importorskip("ray", reason="the extra distributed is not installed")
    agents = [UCT, "random", {"bad": "competitors.Unreliable:way=crash"}]
    tournament = Tournament("tictactoe", agents, pairs=1)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        with_ray = table(tournament, engine="ray", workers=None, game_seconds=60)
    finally:
        ray.shutdown()
    here = table(tournament, workers=1)
    assert len(here["failed"]) == len(with_ray["failed"]) == 2
    for found in (here, with_ray):  # the reasons are in the pools' own words
        for failure in found["failed"]:
            del failure["reason"]
    assert with_ray == here


def test_a_page_follows_the_tournament(tmp_path, monkeypatch):
    """It loads anew while games are played, and no more in the end."""
    written = []
    monkeypatch.setattr(following, "SECONDS", 0)
    monkeypatch.setattr(following, "SHARE", 1e9)
    original = following.write_text
    monkeypatch.setattr(
        following, "write_text", lambda path, text: (written.append(text), original(path, text))
    )
    page = tmp_path / "page.html"
    found = CliRunner().invoke(
        main,
        [
            "tournament",
            "tictactoe",
            "greedy",
            "random",
            "--pairs",
            "2",
            "--workers",
            "0",
            "--page",
            str(page),
        ],
    )
    assert found.exit_code == 0, found.output
    assert len(written) == 5  # after each game, and in the end
    assert "1 of 4 games" in written[0]
    assert "4 of 4 games" in page.read_text()
    assert "greedy" in page.read_text()


def test_a_page_loads_anew_until_the_end():
    table = run_tournament(Tournament("tictactoe", ["greedy", "random"], pairs=1), workers=0)
    assert 'http-equiv="refresh" content="2"' in following.page_of(table, 2)
    assert "refresh" not in following.page_of(table, None)


def test_answers_that_are_no_move_are_counted(tmp_path):
    """Each of its games has one; the file keeps them."""
    asked = []

    def ask(prompt):
        asked.append(prompt)
        if len(asked) % 4 == 1:
            return "I resign"
        return re.search(r"Legal moves: (\w+)", prompt)[1]

    agent = TextAgent(ask, legal_moves=True)
    made = Tournament("tictactoe", [Entrant("speaker", agent), "random"], pairs=3)
    table = run_tournament(made, tmp_path / "games.jsonl", workers=0)
    speaker = next(one for one in table.agents if one.agent == "speaker")
    wrong = (len(asked) + 3) // 4
    assert speaker.refused == wrong > 2
    kept = read_results(tmp_path / "games.jsonl", made)
    assert sum(sum(game.refused) for game in kept) == wrong
    assert any(f"speaker {wrong}" in line for line in remarks(table))


@pytest.mark.parametrize(("suffix", "begins"), [(".md", "| agent | Elo |"), (".tex", r"\begin{")])
def test_a_table_in_other_formats(tmp_path, suffix, begins):
    path = tmp_path / f"table{suffix}"
    run("tictactoe", "greedy", "random", "--pairs", 1, "--table", path)
    lines = path.read_text().splitlines()
    assert lines[0].startswith(begins)
    assert sum("greedy" in line for line in lines) == 1


def test_a_table_of_no_known_format(tmp_path):
    words = run("tictactoe", "greedy", "random", "--table", tmp_path / "table.xls", status=2).output
    assert "expected a table to end with one of .csv, .md, .tex" in words
