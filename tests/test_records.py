"""Records of games: what is kept, that it plays again exactly, what is refused, who keeps them."""

import json
import os
import re
import sys
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from recorded import random_record, with_searches

from agents import UCT, ForfeitError, RandomAgent
from agents.apps.cli import main
from agents.apps.play.session import Session
from agents.arena import Tournament, TournamentRun
from agents.arena.match import play_game, play_match
from agents.learning.replay import Games, save_games
from agents.mcts.puct import PUCTAgent
from agents.records import (
    GameRecord,
    Recorder,
    Search,
    StartPosition,
    load_record,
    save_record,
)
from agents.records.files import as_text
from agents.records.formats import load_games
from agents.records.recorder import search_of
from agents.registry import make_environment
from hexenv import tictactoe_v0
from hexenv.games import base

GAMES = [
    ("tictactoe", ()),
    ("connect4", ()),
    ("hex", ("board_size=5", "swap=true")),
    ("gomoku", ("board_size=7", "opening=swap2")),
]
"""Games with their options; on small boards, as the rules are interpreted here."""
NAMES = [game for game, _ in GAMES]


@pytest.mark.parametrize("count", [25, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("game", "options"), GAMES, ids=NAMES)
def test_a_record_plays_again_as_it_was(game, options, count, tmp_path):
    """Record -> file -> record -> replay in an environment -> record."""
    env, path = make_environment(game, options), tmp_path / "game.json"
    for seed in range(count):
        record = random_record(game, options, seed, agents=("a", "b"), seed=seed)
        if seed % 10 == 0:
            record = with_searches(record, seed)
        save_record(record, path)
        loaded = load_record(path)
        assert loaded == record
        assert as_text(loaded) == path.read_text(encoding="utf-8")
        positions = [env.unwrapped.state.tobytes() for _ in loaded.replay(env)]
        assert positions == [state.tobytes() for state in loaded.states()]
        raw = env.unwrapped
        over = raw.game.is_terminal(raw.state)
        outcome = int(raw.game.outcome(raw.state, 0)) if over else None
        assert (outcome, tuple(raw.actions)) == (record.outcome, record.actions)


def test_a_record_tells_what_was_played():
    record = GameRecord.of("hex", ("board_size=3", "swap=true"), (0, 9, 4))
    assert record.moves == "a1 swap b2"
    assert record.outcome is None
    assert [int(state.ply) for state in record.states()] == [0, 1, 2, 3]
    assert base.cell_owners(record.rules(), record.states()[-1])[1, 1] == 0
    won = GameRecord.of("tictactoe", (), (0, 3, 1, 4, 2))
    assert (won.moves, won.outcome) == ("14253", 1)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.fixture
def document(tmp_path):
    """A record with everything, as what JSON knows, and a path."""
    search = Search(0.5, 100, 0.25, {4: 60, 0: 40}, {4: 0.3, 0: -0.1}, {4: 0.9}, (4, 0), None)
    record = GameRecord.of(
        "tictactoe", (), (4, 0, 8), agents=("a", "b"), seed=3, searches=(search, None, None)
    )
    save_record(record, tmp_path / "game.json")
    return json.loads((tmp_path / "game.json").read_text(encoding="utf-8"))


WON = {"actions": [0, 3, 1, 4, 2], "moves": "14253", "searches": []}


def refused(path, text):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(str(path))) as error:
        load_record(path)
    return str(error.value).removeprefix(str(path)).removeprefix(": ")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": "hexenv-games"}, "format 'hexenv-game', got 'hexenv-games'"),
        ({"version": 2}, "version 1, got 2"),
        ({"version": True}, "version 1, got True"),
        ({"action": 3}, r"got 'action' \(did you mean actions\?\)"),
        ({"game": 3}, "game as a text, got 3"),
        ({"game": "chess"}, "connect4, .*, got 'chess'"),
        ({"options": "board_size=3"}, "options as a list"),
        ({"options": ["board_size=3"]}, "tictactoe: .*'board_size'"),
        ({"actions": [4, 0, 4]}, r"illegal action 4: 5 is taken \(ply 2\)"),
        ({"actions": [4, 0, 9]}, r"illegal action 9: .*\(ply 2\)"),
        ({"actions": [4, 0, 1.0]}, r"actions\[2\] as a whole number.*got 1.0"),
        ({"actions": [4, 0, True]}, r"actions\[2\] as a whole number.*got True"),
        ({"actions": [4, 0, -1]}, r"actions\[2\] as a whole number.*got -1"),
        ({"actions": [4, 0, 10**30]}, r"actions\[2\] as a whole number.*got 1000"),
        ({"moves": "518"}, "moves '519' .*, got '518'"),
        ({"moves": None}, "moves '519' .*, got None"),
        ({"outcome": 1}, "expected no outcome of a game that is not over"),
        (WON | {"outcome": -1}, "outcome 1 of a game that is over.*got -1"),
        (WON | {"outcome": 1, "reason": "resigned"}, "no reason, got 1 and 'resigned'"),
        ({"outcome": 2}, "outcome as a whole number.*got 2"),
        ({"agents": ["a"]}, "agents as a list"),
        ({"agents": ["a", "\ud800"]}, r"agents\[1\] as a text"),
        ({"seed": -1}, "seed as a whole number.*got -1"),
        ({"seed": 1 << 128}, "seed as a whole number.* got 3402"),
        ({"opening": 4}, "opening from 0 to 3, got 4"),
        ({"seconds": [1, 2]}, "seconds for 3 plies or none, got 2"),
        ({"seconds": [1, 2, -1]}, r"seconds\[2\] as a number.*got -1"),
        ({"searches": 3}, "searches as a list, got 3"),
        ({"searches": [None]}, "searches for 3 plies or none, got 1"),
        ({"searches": [None, 3, None]}, r"searches\[1\] as an object, got 3"),
        ({"searches": [None, {}, None]}, r"searches\[1\].seconds, got none"),
        ({"start": {"board": "XX./.../...", "to_play": 1}}, "got 2 X and 0 O"),
        ({"start": {"board": "X..", "to_play": 1}}, "expected a board of 3 rows"),
        ({"start": {"board": "X../.../...", "to_play": 2}}, "start.to_play as a whole number"),
        ({"start": {"board": "X../.../..."}}, "start.to_play, got none"),
        ({"start": "X../.../..."}, "expected start as an object"),
    ],
)
def test_a_wrong_record_is_refused(document, tmp_path, changed, message):
    assert re.search(message, refused(tmp_path / "bad.json", json.dumps(document | changed)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"value": 1.5}, "value as a number.*got 1.5"),
        ({"seconds": "1"}, "seconds as a number.*got '1'"),
        ({"simulations": 1.5}, "simulations as a whole number.*got 1.5"),
        ({"visits": [1]}, r"visits as an object, got \[1\]"),
        ({"visits": {"4": 1, "04": 1}}, "visits as a whole number, got .*'04'"),
        ({"visits": {"0": 1, "-0": 1}}, r"visits\[1\] as whole numbers, got '-0'"),
        ({"visits": {"x": 1}}, "visits as a whole number, got .*'x'"),
        (
            {"visits": {"4": 1, "9007199254740993": 1}},
            "whole number .*, got .*9007199254740993",
        ),
        ({"visits": {"9" * 5000: 1}}, "visits as "),
        ({"visits": {"9": 1}}, "visits of legal actions, got 9"),
        ({"values": {"4": 2}}, r"values\['4'\] as a number.*got 2"),
        ({"priors": {"4": -0.5}}, r"priors\['4'\] as a number"),
        ({"principal_variation": [4, 4]}, "principal_variation of legal actions"),
        ({"proven_actions": [4, 9]}, "proven_actions of legal actions, got 9"),
        ({"proven": 0.5}, "proven as a whole number.*got 0.5"),
        ({"prior": 1}, r"prior' \(did you mean priors\?\)"),
    ],
)
def test_a_wrong_search_is_refused(document, tmp_path, changed, message):
    document["searches"][0] |= changed
    found = refused(tmp_path / "bad.json", json.dumps(document))
    assert re.search(r"searches\[0\].*" + message, found)


def test_a_long_wrong_record_is_refused_in_one_pass(document, tmp_path, monkeypatch):
    calls = []
    convert = msgspec.convert
    monkeypatch.setattr(
        msgspec, "convert", lambda *args, **kwargs: calls.append(1) or convert(*args, **kwargs)
    )
    text = json.dumps(document | {"actions": [4] * 10_000 + [-1]})
    assert "actions[10000] as a whole number >= 0, got -1" in refused(tmp_path / "a.json", text)
    assert len(calls) < 10


def test_the_largest_seed_is_read(document, tmp_path):
    path = tmp_path / "seed.json"
    path.write_text(json.dumps(document | {"seed": (1 << 128) - 1}), encoding="utf-8")
    assert load_record(path).seed == (1 << 128) - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1:1: expected JSON"),
        ('{\n"a": 1\n"b": 2}', ":3:1: expected JSON"),
        ("[]", "expected a JSON object, got []"),
        ('{"a": NaN}', "expected numbers, got NaN"),
    ],
)
def test_a_text_that_is_not_a_record_is_refused_with_its_line(tmp_path, text, message):
    assert refused(tmp_path / "bad.json", text).startswith(message)


def test_other_encodings_are_refused_or_read(document, tmp_path):
    path, text = tmp_path / "game.json", json.dumps(document)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load_record(path).moves == "519"
    for data in (text.encode("utf-16"), b"\x00\xff\xfe\x80", text.encode() + b"\n\xff"):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"game.json:\d+: expected text in UTF-8"):
            load_record(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    for name in ("game.json", "game.sgf", "game.npz"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match=f"{name}: expected a file, got a pipe"):
            list(load_games(tmp_path / name, None if name != "game.npz" else "hex"))


def test_what_a_file_says_is_told_in_short(document, tmp_path):
    long = "x" * 10**6
    for changed in ({"game": long}, {"moves": long}, {"options": [long]}, {long: 1}):
        assert len(refused(tmp_path / "bad.json", json.dumps(document | changed))) < 310
    told = refused(tmp_path / "bad.json", json.dumps(document | {"two\nlines \ud800": 1}))
    assert told.endswith(r", got 'two\nlines \ud800'")


def test_records_that_were_cut_off_are_refused(tmp_path):
    path = tmp_path / "game.json"
    record = with_searches(random_record("hex", ("board_size=5", "swap=true"), 0), 0)
    data = as_text(record).encode()
    assert len(record.actions) > 15
    tail = range(len(data) - 300, len(data) - 2)  # the last two are a brace and a line's end
    for size in (*range(500), *range(500, len(data) - 300, 37), *tail):
        path.write_bytes(data[:size])
        with pytest.raises(ValueError, match=r"game\.json"):
            load_record(path)


def test_a_record_that_is_wrong_is_not_written(tmp_path):
    path = tmp_path / "game.json"
    record = GameRecord.of("tictactoe", (), (4, 0))
    save_record(record, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="illegal action 4"):
        save_record(replace(record, actions=(4, 4)), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# ---- games that are not of hexenv ----------------------------------------------------------------


def test_a_foreign_game_is_loaded_without_an_import_and_replayed_where_asked(tmp_path):
    path = tmp_path / "game.json"
    record = GameRecord.of("no_such_module:env", ("size=3",), (0, 3, 1, 4, 2), outcome=1)
    save_record(record, path)
    loaded = load_record(path)
    assert loaded == record
    assert loaded.moves is None
    assert "no_such_module" not in sys.modules
    with pytest.raises(ValueError, match="expected a game of hexenv, got no_such_module:env"):
        next(loaded.replay())
    with pytest.raises(ValueError, match="expected a game of hexenv"):
        loaded.states()
    assert len(list(loaded.replay(tictactoe_v0.env()))) == 6
    for actions, message in (((0, 0), "legal action at ply 1, got 0"), ((0, 1), "no outcome of")):
        with pytest.raises(ValueError, match=message):
            list(replace(loaded, actions=actions).replay(tictactoe_v0.env()))


def test_convert_plays_a_foreign_game_that_is_named(tmp_path):
    path, out = tmp_path / "game.json", tmp_path / "out.json"
    save_record(GameRecord.of("hexenv.tictactoe_v0:env", (), (0, 0), outcome=None), path)
    named = ["--game", "hexenv.tictactoe_v0:env"]
    result = CliRunner().invoke(main, ["convert", str(path), str(out), *named])
    assert result.exit_code == 2
    assert "expected a legal action at ply 1, got 0" in result.output
    assert not out.exists()
    assert CliRunner().invoke(main, ["convert", str(path), str(out)]).exit_code == 0
    assert load_record(out) == load_record(path)


# ---- the recorder --------------------------------------------------------------------------------


def test_a_match_is_recorded_with_its_searches():
    env = make_environment("tictactoe")
    agents = [UCT(simulations=20), RandomAgent()]
    recorder = Recorder("tictactoe", (), ("uct", "random"), agents)
    for number, result in enumerate(play_match(env, agents, 4, 5, recorder.on_move)):
        record = recorder.record(result, seed=5 + number // 2)
        assert record.actions == result.actions
        assert record.outcome == result.outcome * (-1 if result.first else 1)
        assert record.agents == (("uct", "random") if number % 2 == 0 else ("random", "uct"))
        assert record.seed == 5 + number // 2
        assert record.seconds == pytest.approx(result.clock, rel=1e-5)
        searched = [search is not None for search in record.searches]
        assert searched == [ply % 2 == result.first for ply in range(len(record.actions))]
        for search in filter(None, record.searches):
            assert sum(search.visits.values()) >= search.simulations
            assert search.principal_variation[0] in search.visits
            assert search.priors == {}
        assert list(record.replay(env))[-1].unwrapped.actions == list(record.actions)


def test_priors_of_an_evaluator_are_kept():
    pytest.importorskip("torch", reason="the extra train is not installed")
    env = make_environment("tictactoe")
    env.reset()
    agent = PUCTAgent(policy="network:net=tictactoe", simulations=8)
    agent.act(env)
    priors = agent.statistics.priors
    assert priors.shape == (9,)
    assert priors.sum() == pytest.approx(1)
    kept = search_of(agent.statistics)
    assert kept.priors == {n: pytest.approx(priors[n], rel=1e-5) for n in range(9)}


class Loser(RandomAgent):
    """Plays what is not legal, or forfeits, at its second move."""

    forfeits = False

    def reset(self, seed=None):
        super().reset(seed)
        self.moves = 0

    def act(self, env):
        self.moves += 1
        if self.moves < 2:
            return super().act(env)
        if self.forfeits:
            raise ForfeitError("gone")
        return 99


@pytest.mark.parametrize("forfeits", [True, False])
def test_why_a_game_was_lost_is_kept(forfeits, tmp_path):
    agents = [RandomAgent(0), Loser(0)]
    agents[1].forfeits = forfeits
    reason = "forfeit: gone" if forfeits else "illegal action"
    recorder = Recorder("tictactoe", (), ("random", "loser"), agents)
    for result in play_match(make_environment("tictactoe"), agents, 2, 0, recorder.on_move):
        record = recorder.record(result)
        assert record.reason == reason
        assert record.outcome == (1 if result.first == 0 else -1)
        assert len(record.actions) == (3 if result.first == 0 else 2)
        save_record(record, tmp_path / "game.json")
        assert load_record(tmp_path / "game.json") == record


def test_a_search_of_another_position_is_left_out():
    env = make_environment("tictactoe")
    env.reset()
    thinker = UCT(simulations=50, seed=0)
    thinker.act(env)
    agent = RandomAgent()
    agent.statistics = None
    recorder = Recorder("tictactoe", (), ("a", "b"), [agent, agent])
    for action in (4, 0):
        env.step(action)
        agent.statistics = replace(thinker.statistics)  # of the empty board, each time anew
        recorder.on_move(env, 0, action)
    record = recorder.record_of(env)
    assert record.searches[0] is not None
    assert record.searches[1] is None


def test_a_game_of_somebody_else_is_recorded_with_its_opening_and_undo():
    env = make_environment("tictactoe")
    env.reset(options={"moves": "1"})
    recorder = Recorder("tictactoe", (), ("you", "it"), [None, None])
    for action in (4, 8):
        env.step(action)
        recorder.on_move(env, 0, action, seconds=1.5)
    assert recorder.record_of(env).seconds == (None, 1.5, 1.5)
    recorder.take_back(2)
    env.reset(options={"moves": "1"})
    env.step(3)
    recorder.on_move(env, 0, 3)
    record = recorder.record_of(env, first=1, outcome=1, reason="resigned")
    assert record.moves == "14"
    assert (record.opening, record.agents, record.seconds) == (1, ("it", "you"), ())
    assert (record.outcome, record.reason) == (1, "resigned")


def test_a_game_from_a_position_is_recorded_with_it(tmp_path):
    env = make_environment("hex", ("board_size=3",))
    env.reset(options={"board": "X../.O./...", "to_play": 0})
    players = [UCT(simulations=20, seed=0), RandomAgent(seed=1)]
    recorder = Recorder("hex", ("board_size=3",), ("a", "b"), players)
    record = recorder.record(play_game(env, players, on_move=recorder.on_move))
    assert record.start == StartPosition("X../.O./...", 0)
    assert record.searches[0] is not None
    *_, end = record.replay()
    assert end.unwrapped.state.tobytes() == env.unwrapped.state.tobytes()
    save_record(record, tmp_path / "game.json")
    assert load_record(tmp_path / "game.json") == record
    env.reset(options={"board": "X../.O./...", "to_play": 0})
    loser = Loser(0)
    loser.moves = 1
    lost = recorder.record(play_game(env, [loser, players[1]]), env=env)
    assert (lost.start, lost.actions, lost.reason) == (record.start, (), "illegal action")
    session = Session(env.unwrapped.clone(), players[1], 0)
    assert session.record_maker("hex", ("board_size=3",), ("a", "b"))().start == record.start
    env.unwrapped.begin_at(env.unwrapped.state, [])
    with pytest.raises(ValueError, match="expected a game whose start is known"):
        recorder.record_of(env)


def test_what_is_no_number_is_not_kept():
    env = make_environment("tictactoe")
    env.reset()
    agent = UCT(simulations=3, seed=0)
    agent.act(env)
    values = np.where(np.arange(9) % 2, np.nan, 7.0)
    kept = search_of(replace(agent.statistics, values=values, visits=np.ones(9, int)))
    assert kept.values == {0: 1.0, 2: 1.0, 4: 1.0, 6: 1.0, 8: 1.0}


# ---- who keeps them ------------------------------------------------------------------------------


def lines_of(path):
    """The games of a file of results, without times."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return sorted(
        ({key: line[key] for key in line if key != "seconds"} for line in lines),
        key=lambda line: line["game"],
    )


def records_of(directory):
    return {int(path.stem): load_record(path) for path in sorted(directory.iterdir())}


def test_the_command_match_keeps_records(tmp_path):
    directory = tmp_path / "games"
    words = ["match", "hex", "uct:simulations=5", "random", "--option", "board_size=3"]
    words += ["--games", "3", "--seed", "7", "--records", str(directory)]
    assert CliRunner().invoke(main, words).exit_code == 0
    records = records_of(directory)
    assert list(records) == [1, 2, 3]
    assert [record.seed for record in records.values()] == [7, 7, 8]
    assert records[2].agents == ("random", "uct:simulations=5")
    assert records[1].options == ("board_size=3",)
    before = [path.read_bytes() for path in sorted(directory.iterdir())]
    again = CliRunner().invoke(main, words)
    assert again.exit_code == 2
    assert "expected a directory without records, got" in again.output
    assert [path.read_bytes() for path in sorted(directory.iterdir())] == before


TOURNAMENT = Tournament(
    "tictactoe", ["quick=uct:simulations=5", "random"], kind="pair", pairs=4, seed=3
)


def play(results, records, workers=0, games=None):
    """Play so many of the games, or all that are missing."""
    run = TournamentRun(TOURNAMENT, results, workers=workers, records=records)
    try:
        for number, result in enumerate(run, 1):
            assert result.record is None
            if number == games:
                break
    finally:
        run.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_tournament_keeps_records(tmp_path, workers):
    results, directory = tmp_path / "results.jsonl", tmp_path / "games"
    play(results, directory, workers)
    records = records_of(directory)
    lines = lines_of(results)
    assert list(records) == list(range(1, 9))
    for line in lines:
        record = records[line["game"] + 1]
        assert list(record.actions) == line["actions"]
        assert record.opening == len(line["opening"]) == 2
        assert record.outcome == line["outcome"] * (-1 if line["first"] else 1)
        assert record.agents[line["first"]] == "quick=uct:simulations=5"
        searched = [search is not None for search in record.searches[2:]]
        assert searched == [ply % 2 == line["first"] for ply in range(2, len(record.actions))]
        assert list(record.replay())
    assert records[1].seed == records[2].seed != records[3].seed


def test_a_tournament_with_records_goes_on_where_it_stopped(tmp_path):
    whole, results, directory = (tmp_path / name for name in ("whole.jsonl", "r.jsonl", "games"))
    play(whole, tmp_path / "all")
    play(results, directory, games=3)
    lines = results.read_text(encoding="utf-8").splitlines(keepends=True)
    results.write_text("".join(lines[:-1]), encoding="utf-8")  # killed before the third line
    play(results, directory)
    assert lines_of(results) == lines_of(whole)
    one, other = records_of(directory), records_of(tmp_path / "all")
    assert list(one) == list(other)
    assert [r.actions for r in one.values()] == [r.actions for r in other.values()]


def test_records_may_be_asked_for_later(tmp_path):
    results, directory = tmp_path / "results.jsonl", tmp_path / "games"
    play(results, None, games=3)
    play(results, directory)
    records = records_of(directory)
    assert list(records) == list(range(1, 9))
    assert not records[1].searches
    assert records[8].searches
    assert [list(record.actions) for record in records.values()] == [
        line["actions"] for line in lines_of(results)
    ]


def test_records_of_another_tournament_are_left_alone(tmp_path):
    results, directory = tmp_path / "results.jsonl", tmp_path / "games"
    play(results, directory)
    before = {path: path.read_bytes() for path in directory.iterdir()}
    for other in (None, tmp_path / "other.jsonl"):
        with pytest.raises(ValueError, match="expected records of games in the file of results"):
            play(other, directory)
    record = load_record(directory / "000001.json")
    save_record(replace(record, seed=1), directory / "000001.json")
    with pytest.raises(ValueError, match=r"000001\.json: expected the record of game 0 of this"):
        play(results, directory)
    save_record(record, directory / "000001.json")
    assert {path: path.read_bytes() for path in directory.iterdir()} == before


def test_a_record_of_other_agents_is_not_replaced(tmp_path):
    for _ in range(2):  # at most one has no line: the same game is played again
        play(None, tmp_path, games=1)
    others = replace(TOURNAMENT, agents=("uct:simulations=2", "random"))
    before = (tmp_path / "000001.json").read_bytes()
    with pytest.raises(ValueError, match=r"000001\.json: expected the record of game 0 of this"):
        TournamentRun(others, workers=0, records=tmp_path)
    assert (tmp_path / "000001.json").read_bytes() == before


@pytest.mark.slow
def test_a_tournament_on_ray_keeps_records(tmp_path):
    pytest.importorskip("ray", reason="the extra distributed is not installed")
    run = TournamentRun(TOURNAMENT, engine="ray", workers=1, records=tmp_path / "games")
    played = {result.game.number + 1: result.actions for result in run}
    assert {n: r.actions for n, r in records_of(tmp_path / "games").items()} == played
    assert len(played) == 8


def test_the_games_of_training_are_records(tmp_path):
    (tmp_path / "games").mkdir()
    (tmp_path / "config.json").write_text('{"game": "hex", "options": {"board_size": 3}}')
    env = make_environment("hex", ("board_size=3",))
    actions = [(0, 1, 3, 2, 6), (4, 0, 1, 2, 7)]
    policies = np.zeros((10, 9), np.float32)
    policies[2:5, 6] = policies[6:10, 7] = 1
    policies[6, 7], policies[6, 3] = 0.75, 0.25
    games = Games(
        np.array([5, 5], np.int32),
        np.array([1, 1], np.int8),
        np.concatenate(actions).astype(np.int16),
        policies,
        np.linspace(-1, 1, 10).astype(np.float32),
    )
    path = tmp_path / "games" / "000001.npz"
    save_games(path, games, env.unwrapped.game, {})
    records = list(load_games(path))
    assert [record.actions for record in records] == actions
    assert [record.opening for record in records] == [2, 1]
    assert records[0].options == ("board_size=3",)
    search = records[1].searches[1]
    assert search.visits[7] == 3 * search.visits[3] == round(0.75 * search.simulations)
    assert search.value == pytest.approx(1 / 3, abs=1e-5)
    assert search.principal_variation == (7,)
    (tmp_path / "config.json").write_text('{"game": "hex", "options": {"pears": 3}}')
    with pytest.raises(ValueError, match=r"hex: expected an option of .*, got 'pears'"):
        list(load_games(path))
    (tmp_path / "config.json").write_text('{"game": "os:getcwd"}')
    with pytest.raises(ValueError, match="expected a game of hexenv, got 'os:getcwd'"):
        list(load_games(path))
    (tmp_path / "config.json").write_text('{"game": "hex", "options": {"board_size": 3}}')
    out = tmp_path / "records"
    assert CliRunner().invoke(main, ["convert", str(path), str(out)]).exit_code == 0
    assert list(records_of(out).values()) == records


def test_a_recorder_of_an_unknown_game_is_told_those_there_are():
    message = r"a game of connect4, .*tictactoe, got 'tictactoo' \(did you mean tictactoe\?\)"
    with pytest.raises(ValueError, match=message):
        Recorder("tictactoo", (), ("a", "b"), (None, None))
