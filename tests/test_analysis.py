"""Asking agents about a position, and a search that is watched while it goes on."""

import importlib
import json
import threading
import time

import numpy as np
import pytest
from click.testing import CliRunner
from environments import legal_actions, make, play_out
from test_options import AGENTS
from test_options import make as make_one
from test_variants import OF_LINES

from agents import (
    UCT,
    Analysis,
    Limit,
    PolicyAgent,
    Solver,
    Statistics,
    analyse,
    analysis,
    compare,
)
from agents.apps.cli import main
from agents.core.background import Slots
from agents.planning.environment import UnfitEnvironmentError
from agents.records import GameRecord
from agents.records.formats import save_games
from agents.registry import make_agent, parameters
from hexenv import connect4_v0

GAMES = ("tictactoe", "connect4-4x5", "hex-3-swap", "gomoku-4")
OF_HEX = ("hexpert", "hex-alphabeta", "distance")
SOON = 20.0
"""Seconds in which a thread has come to an end on any machine."""


def at(board, moves=()):
    env = make(board, "env")
    env.reset(seed=1)
    for action in moves:
        env.step(action)
    return env


def small(name):
    """An agent that thinks for a moment."""
    budget = {"simulations": 20, "depth": 2}
    known = parameters(type(make_one(name)))
    return make_one(name, **{key: value for key, value in budget.items() if key in known})


def plays(name, board):
    if name in OF_HEX:
        return board.startswith("hex")
    if name in ("ppo", "dqn"):  # of boards that they were trained on, or hardly smaller ones
        return board not in ("connect4-4x5", "hex-3-swap", "gomoku-4")
    return name not in OF_LINES or board in ("tictactoe", "gomoku-4")


CASES = [(name, board) for name in AGENTS for board in GAMES if plays(name, board)]


@pytest.mark.parametrize(("name", "board"), CASES)
def test_an_analysis_is_well_formed(name, board):
    env = at(board)
    if board == "connect4-4x5" and name == "solver":  # not one of its games: it is too long
        env = connect4_v0.env(4, 4)
        env.reset()
    before = env.unwrapped.moves
    found = analyse(env, small(name), lines=4)
    assert env.unwrapped.moves == before
    rules, legal = env.unwrapped.game, set(legal_actions(env))
    assert 1 <= len(found.lines) <= 4
    assert len({line.action for line in found.lines}) == len(found.lines)
    for line in found.lines:
        assert line.action in legal
        assert line.move == rules.action_text(line.action)
        twin = env.clone()
        for move in line.line:
            action = rules.parse_action(move)
            assert twin.unwrapped.is_legal(action)
            twin.step(action)
        assert line.line[:1] in ((), (line.move,))
        assert line.value is None or -1 <= line.value <= 1
        if line.low is not None:
            assert -1 <= line.low <= line.value <= line.high <= 1
            assert not line.is_exact or line.low == line.high == line.value in (-1, 0, 1)
    assert Analysis.from_json(found.to_json()) == found
    assert "<svg" in found._repr_html_()
    assert str(found).splitlines()[-1]


def test_the_best_moves_come_first():
    found = analyse(at("tictactoe"), UCT(200, seed=1), lines=9)
    visits = [line.visits for line in found.lines]
    assert visits == sorted(visits, reverse=True)
    assert sum(visits) == found.search.simulations == 200


def test_an_analysis_is_of_the_search_that_act_makes():
    env = at("tictactoe", [0, 4])
    agent, other = UCT(150, seed=3), UCT(150, seed=3)
    found = analyse(env, agent, lines=7)
    assert found.best.action == other.act(env)
    seen = other.statistics
    for line in found.lines:
        assert line.visits == seen.visits[line.action]
        assert line.value == pytest.approx(seen.values[line.action], rel=1e-5)
    moves = [env.unwrapped.game.action_text(action) for action in seen.principal_variation]
    assert list(found.best.line) == moves


@pytest.mark.parametrize("spec", ["uct", "rave", "transposition", "nrpa", "uct:workers=2"])
@pytest.mark.parametrize("board", ["tictactoe", "hex-3"])
def test_the_last_answer_of_a_stream_is_what_act_finds(spec, board):
    env, plain = at(board), make_agent(spec, seed=5)
    plain.simulations = 90
    plain.act(env)
    with analysis(env, make_agent(spec, seed=5), Limit(simulations=90), every=0.0) as going_on:
        answers = list(going_on)
    seen, last = plain.statistics, answers[-1].search
    assert last.simulations == seen.simulations
    assert last.visits == {int(a): int(seen.visits[a]) for a in np.flatnonzero(seen.visits)}
    assert last.proven == seen.proven
    counts = [each.search.simulations for each in answers]
    assert counts == sorted(counts)


@pytest.mark.parametrize("spec", ["uct", "alphabeta", "solver", "puct", "nrpa", "uct:workers=2"])
def test_a_search_goes_on_until_it_is_stopped(spec):
    env = at("gomoku-4" if spec == "solver" else "hex-3-swap")
    agent = make_one(spec) if spec == "puct" else make_agent(spec, seed=1)
    before = vars(agent).copy()
    with analysis(env, agent, every=0.001) as going_on:
        for number, found in enumerate(going_on):
            assert found.lines
            if number == 3:
                going_on.stop()
    assert number >= 3 or found.proven is not None
    for name in ("seconds", "simulations", "on_slice"):
        assert getattr(agent, name, None) == before.get(name)
    agent.act(env)  # it plays on as before


def test_who_leaves_the_block_ends_the_search():
    threads = threading.active_count()
    with analysis(at("hex-3-swap"), UCT(seed=1)) as going_on:
        next(iter(going_on))
    deadline = time.monotonic() + SOON
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == threads


def test_an_error_of_the_agent_is_raised_where_its_answers_are_awaited():
    class Broken:
        statistics = None

        def act(self, env):
            raise RuntimeError("no idea")

    with analysis(at("tictactoe"), Broken()) as going_on, pytest.raises(RuntimeError, match="idea"):
        list(going_on)


def test_any_object_with_act_is_asked():
    class Centre:
        def act(self, env):
            return 4

    class Searcher(Centre):
        statistics = None

        def act(self, env):
            visits = np.array([1, 0, 0, 0, 3, 0, 0, 0, 0])
            self.statistics = Statistics(visits, visits / 8, [4, 0], 4, 0.5)
            return 4

    assert analyse(at("tictactoe"), Centre()).best.move == "5"
    found = analyse(at("tictactoe"), Searcher())
    assert [(line.move, line.visits, line.value) for line in found.lines] == [
        ("5", 3, 0.375),
        ("1", 1, 0.125),
    ]
    assert found.best.line == ("5", "1")


def test_a_policy_tells_its_probabilities():
    logits = np.log([4.0, 1, 1, 1, 2, 1, 1, 1, 1])

    def policy(planes, masks):
        return np.tile(logits, (len(masks), 1)), np.full(len(masks), 0.25)

    found = analyse(at("tictactoe", [8]), PolicyAgent(policy, temperature=3.0), lines=2)
    assert [line.move for line in found.lines] == ["1", "5"]
    assert [line.prior for line in found.lines] == pytest.approx([4 / 12, 2 / 12], rel=1e-5)
    assert found.value == 0.25
    assert sum(found.search.priors.values()) == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("moves", [[0, 4, 8], [0, 1, 4], [4, 0, 8, 1]])
def test_the_solver_tells_in_how_many_plies_a_game_ends(moves):
    env = at("tictactoe", moves)
    found = analyse(env, Solver(), lines=9)
    for line in found.lines:
        assert line.is_exact
        assert (line.value, line.plies_left) == value_and_plies(env, line.action)


def value_and_plies(env, action):
    """By trying everything: the value of an action for who plays it, and when the game ends."""
    twin, mover = env.clone(), env.agent_selection
    twin.step(action)
    if any(twin.terminations.values()):
        value = twin.rewards[mover]
        return (value, 1) if value else (0, None)
    replies = [value_and_plies(twin, reply) for reply in legal_actions(twin)]
    value, plies = max(replies, key=lambda found: (found[0], -found[0] * (found[1] or 0)))
    return (-value, plies + 1) if value else (0, None)


def test_several_agents_are_compared():
    env = at("tictactoe", [0, 4, 8, 2])  # 7 makes two threats
    found = compare(env, ["solver", "uct:simulations=60", "random"], lines=2)
    heads, rows = found.table()
    assert heads == ["move", "solver", "uct:simulations=60", "random"]
    assert rows[0][:2] == ["7", "1. +1.00"]
    assert "<svg" in found._repr_html_()


def test_a_seconds_limit_deepens_alpha_beta():
    found = analyse(at("tictactoe", [0, 4, 8]), "alphabeta", Limit(seconds=60))
    assert found.depth == 6
    assert found.proven == 0


def test_bad_questions_are_refused():
    env = at("tictactoe")
    with pytest.raises(ValueError, match="lines"):
        analyse(env, "random", lines=0)
    with pytest.raises(ValueError, match="seconds"):
        Limit(seconds=-1)
    with pytest.raises(ValueError, match="uct"):
        analyse(env, "utc")
    with pytest.raises(ValueError, match="block"):
        next(iter(analysis(env, "random")))
    play_out(env, np.random.default_rng(1))
    with pytest.raises(ValueError, match="over"):
        analyse(env, "random")
    with pytest.raises(UnfitEnvironmentError):
        analyse(object(), "random")


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"format": "hexenv-analysis", "version": 1}', "null"]
)
def test_what_is_no_analysis_is_refused(text):
    with pytest.raises(ValueError, match="expected"):
        Analysis.from_json(text)


def test_an_environment_of_others_is_analysed():
    env = importlib.import_module("pettingzoo.classic.tictactoe.tictactoe").env()
    env.reset(seed=1)
    found = analyse(env, UCT(30, seed=1))
    assert found.best.move == str(found.best.action)
    assert found.position.board == ""
    assert Analysis.from_json(found.to_json()) == found


def test_an_opening_with_rules_of_its_own_is_not_shown_as_another_position():
    env = make("gomoku-6-swap2", "env")
    env.reset()
    with analysis(env, "rhmcts:simulations=20", Limit(simulations=20), every=0.0) as going_on:
        for found in going_on:
            assert all(env.unwrapped.is_legal(line.action) for line in found.lines)


# ---- the command ---------------------------------------------------------------------------------


def run(*words):
    return CliRunner().invoke(main, ["analyse", *words])


def test_the_command_prints_what_analyse_finds():
    done = run("tictactoe", "--position", "15", "--agent", "solver", "--lines", "9", "--json")
    assert done.exit_code == 0
    found = analyse(at("tictactoe", [0, 4]), Solver(seed=1), lines=9)
    by_move = {line.move: line for line in found.lines}
    assert {line.move: line for line in Analysis.from_json(done.stdout).lines} == by_move


def test_the_command_compares_agents():
    done = run("tictactoe", "--agent", "random", "--agent", "uct", "--simulations", "9")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[1].split() == ["move", "random", "uct"]


@pytest.mark.parametrize("suffix", [".json", ".sgf"])
def test_the_command_looks_at_every_position_of_a_file(tmp_path, suffix):
    path = tmp_path / f"game{suffix}"
    record = GameRecord.of("hex", ("board_size=3",), (0, 1, 3, 4, 6))  # the last move wins
    save_games([record], path)
    done = run(str(path), "--agent", "random", "--json")
    positions = [json.loads(line)["position"] for line in done.stdout.splitlines()]
    assert [position["to_play"] for position in positions] == [0, 1, 0, 1, 0]
    assert positions[2]["board"] == "XO./.../..."
    done = run(str(path), "--agent", "random", "--json", "--ply", "2")
    assert [json.loads(done.stdout)["position"]] == positions[2:3]


@pytest.mark.parametrize(
    "words",
    [
        ("tictactoe", "--position", "11"),
        ("tictactoe", "--position", "1 4 2 5 3"),
        ("tictactoe", "--ply", "1"),
        ("tictactoe", "--seconds", "-1"),
        ("tictactoe", "--agent", "utc"),
        ("chess",),
        ("nothing.sgf",),
        ("tictactoe", "--stdin", "--agent", "uct", "--agent", "random"),
        ("chess", "--stdin"),
    ],
)
def test_the_command_refuses(words):
    done = run(*words)
    assert done.exit_code in (1, 2)
    assert "Traceback" not in done.output
    assert any(word in done.output for word in ("expected", "illegal", "No such file"))


@pytest.mark.parametrize(("slots", "searches"), [(1, 3), (2, 5)])
def test_searches_that_share_slots_take_turns(slots, searches):
    """No more than the slots compute at the same time, and none is left out."""
    shared, computing, most = Slots(slots), [], []
    turns = [0] * searches

    def search(number):
        with shared:
            for _ in range(20):
                computing.append(number)
                most.append(len(computing))
                turns[number] += 1
                time.sleep(0.0005)
                computing.remove(number)
                shared.give_way()

    threads = [threading.Thread(target=search, args=(number,)) for number in range(searches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert turns == [20] * searches
    assert max(most) <= slots
    with shared:  # all slots are free again
        pass


def test_some_moves_alone_are_as_the_solver_says():
    """Each is searched by itself, and values are for the side to move."""
    env = at("connect4", [3, 3, 2, 2, 1])
    moves = [0, 4, 6]
    found = analyse(env, "solver:seconds=5", lines=7, moves=moves)
    every = {line.action: line for line in analyse(env, "solver:seconds=5", lines=7).lines}
    assert {line.action for line in found.lines} == set(moves)
    for line in found.lines:
        assert (line.value, line.is_exact) == (every[line.action].value, True)
        assert line.line[0] == line.move
    searched = analyse(env, "uct:seed=1", Limit(simulations=300), moves=moves)
    assert sum(line.visits for line in searched.lines) <= 300
    for wrong in ([], [7], [0, -1]):
        with pytest.raises(ValueError, match="expected legal moves"):
            analyse(env, "uct", moves=wrong)
