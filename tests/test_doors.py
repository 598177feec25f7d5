"""Where users come in: what a wrong input is told, and what is shown of what they hold.

Each input below once gave an error of a class the user had not named, an error from inside a
library, or nothing at all.
"""

import copy
import gc
import inspect
import io
import linecache
import warnings
import weakref
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import agents
from agents import (
    NRPA,
    RAVE,
    UCT,
    AlphaBeta,
    GomocupEngine,
    GreedyAgent,
    PolicyAgent,
    PUCTAgent,
    RandomAgent,
    Solver,
    TreeSearchAgent,
)
from agents.arena import play_game, play_match
from agents.arena.match import prepare
from agents.mcts.settings import SearchOptions
from agents.registry import make_agent, make_environment
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.common.messages import suggestion
from hexenv.envs.aec import ViewOptions
from hexenv.games.tictactoe import TicTacToe
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv


def begun(env, **given):
    env.reset(**given)
    return env


def single(**options):
    return gymnasium.make("hexenv/Hex-v0", board_size=3, side="first", **options)


def vector(**options):
    return gymnasium.make_vec("hexenv/Hex-v0", num_envs=2, board_size=3, **options)


def tictactoe():
    return begun(tictactoe_v0.env())


TWO = [RandomAgent(0), RandomAgent(1)]

# What is called, the type of its error, and words of the message.
WRONG = [
    # names of parameters
    (lambda: hex_v0.env(boardsize=7), TypeError, r"hex_v0\.env: .*mean board_size\?"),
    (lambda: hex_v0.raw_env(boardsize=7), TypeError, r"hex_v0\.raw_env: .*mean board_size\?"),
    (lambda: connect4_v0.env(rendermode="ansi"), TypeError, r"connect4_v0.*mean render_mode\?"),
    (lambda: tictactoe_v0.env(board_size=7), TypeError, r"tictactoe_v0\.env: .*'board_size'"),
    (lambda: hex_v0.env(5, False, "ansi"), TypeError, r"at most 2 .* got 5, False, 'ansi'"),
    (lambda: single(boardsize=7), TypeError, r"mean board_size\?"),
    (lambda: single(oponent="random"), TypeError, r"mean opponent\?"),
    (lambda: vector(boardsize=7), TypeError, r"mean board_size\?"),
    (lambda: vector(thread=1), TypeError, r"mean threads\?"),
    (lambda: UCT(simulation=5), TypeError, r"UCT: .*mean simulations\?"),
    (lambda: RAVE(shedule="hand"), TypeError, r"RAVE: .*mean schedule\?"),
    (lambda: RandomAgent(sed=3), TypeError, r"RandomAgent: .*mean seed\?"),
    (lambda: AlphaBeta(depht=3), TypeError, r"AlphaBeta: .*mean depth\?"),
    (lambda: PUCTAgent(evaluator=3), TypeError, r"PUCTAgent: .*policy"),
    (lambda: UCT(1, 2.0, 1.0, 1.0, "fast", 7), TypeError, "UCT: expected at most 5"),
    (lambda: RandomAgent(1, 2), TypeError, "RandomAgent: expected at most 1"),
    (lambda: agents.UTC, AttributeError, r"mean UCT\?"),
    # values of parameters
    (lambda: hex_v0.env(theme="drak"), ValueError, r"mean dark\?"),
    (lambda: hex_v0.env(render_mode="asci"), ValueError, r"mean ansi\?"),
    (lambda: hex_v0.env(mask_in="infos"), ValueError, r"mean info\?"),
    (lambda: hex_v0.env(planes=["sid"]), ValueError, r"mean side\?"),
    (lambda: hex_v0.env(planes=3), ValueError, "planes of .*, got 3"),
    (lambda: hex_v0.env(dtype="int7"), ValueError, "dtype .*'int7'"),
    (lambda: hex_v0.env(dtype="U5"), ValueError, "dtype .*'U5'"),
    (lambda: hex_v0.env(coordinates="no"), ValueError, "coordinates .*'no'"),
    (lambda: hex_v0.env(channels_first="no"), ValueError, "channels_first .*'no'"),
    (lambda: gomoku_v0.env(rule="renj"), ValueError, r"mean renju\?"),
    (lambda: gomoku_v0.env(rule="karo"), ValueError, r"mean caro\?"),
    (lambda: gomoku_v0.env(opening="swap3"), ValueError, r"mean swap"),
    (lambda: gomoku_v0.env(rule="renju", forbidden="lose"), ValueError, r"mean loses\?"),
    (lambda: single(render_mode=0), ValueError, "render_mode .*got 0"),
    (lambda: single(render_mode=["ansi"]), ValueError, "render_mode .*ansi"),
    (lambda: BoardVectorEnv(hex_v0.raw_env, 10**13), ValueError, "num_envs .*10000000000000"),
    (lambda: vector(autoreset_mode="Same"), ValueError, r"mean SameStep\?"),
    (lambda: single(illegal="terminat"), ValueError, r"mean terminate\?"),
    (lambda: gymnasium.make("hexenv/Hex-v0", side="frist"), ValueError, r"mean first\?"),
    (lambda: single(penalty="x"), ValueError, "penalty .*'x'"),
    (lambda: UCT(simulations=10**30), ValueError, "expected simulations"),
    (lambda: UCT(playout="fst"), ValueError, r"mean fast\?"),
    (lambda: UCT(playout=3), ValueError, "a playout of"),
    (lambda: UCT(solver=["soft"]), ValueError, "solver of"),
    (lambda: UCT(route="compile"), ValueError, r"mean compiled\?"),
    (lambda: UCT(early_stop="no"), ValueError, "early_stop .*'no'"),
    (lambda: UCT(threats="no"), ValueError, "threats .*'no'"),
    (lambda: UCT(seed="x"), ValueError, "seed .*'x'"),
    (lambda: UCT(seed=-1), ValueError, "seed .*-1"),
    (lambda: UCT(workers=2, seed=1.5), ValueError, "seed .*1.5"),
    (lambda: NRPA(seed="x"), ValueError, "seed .*'x'"),
    (lambda: GreedyAgent(seed=-3), ValueError, "seed .*-3"),
    (lambda: RandomAgent().reset("x"), ValueError, "seed .*'x'"),
    (lambda: UCT().reset(-1), ValueError, "seed .*-1"),
    (lambda: Solver(choice="bst"), ValueError, r"mean best\?"),
    (lambda: Solver(table_entries="x"), ValueError, "table_entries"),
    (lambda: PolicyAgent(3), ValueError, "a policy"),
    (lambda: GomocupEngine(3), ValueError, "a command"),
    (lambda: TreeSearchAgent("uct"), ValueError, "a Variant"),
    # names of agents, games and functions
    (lambda: make_agent("uct simulations=5"), ValueError, "mean uct:parameter=value"),
    (lambda: make_agent("uct:simulations=5,simulations=6"), ValueError, "simulations once"),
    (lambda: make_agent(UCT), ValueError, "name of an agent"),
    (lambda: make_agent(None), ValueError, "name of an agent"),
    (lambda: make_environment(None), ValueError, "name of a game"),
    (lambda: SingleEnv("hex"), ValueError, "module:function"),
    (lambda: SingleEnv("hexenv.hex_v0:rawenv"), ValueError, "module:function"),
    (lambda: SingleEnv(lambda: None), TypeError, "that makes a BoardEnv, got one of None"),
    (lambda: SingleEnv(TicTacToe), TypeError, "that makes a BoardEnv, got one of TicTacToe"),
    (lambda: SingleEnv(partial(hex_v0.raw_env), sise=3), TypeError, r"^hex_v0: .*'sise'"),
    (lambda: SingleEnv(hex_v0), TypeError, "a function that makes an environment"),
    # calls out of order
    (lambda: hex_v0.raw_env().step(3), AttributeError, "expected reset"),
    (lambda: hex_v0.raw_env().last(), AttributeError, "expected reset"),
    (lambda: single().unwrapped.step(3), ValueError, "expected reset before the first step"),
    # agents that are none
    (lambda: play_game(tictactoe(), TWO[:1]), ValueError, "two agents"),
    (lambda: play_game(tictactoe(), TWO[0]), ValueError, "two agents"),
    (lambda: play_game(tictactoe(), ["uct", "uct"]), ValueError, "make_agent"),
    (lambda: play_game(tictactoe(), TWO, first=7), ValueError, "first .*7"),
    (lambda: play_game(tictactoe(), TWO, opening=(4, 4)), ValueError, r"legal actions, got 4 in"),
    (lambda: play_game(tictactoe(), TWO, opening=(0, 3, 1, 4, 2)), ValueError, "one that ends it"),
    (lambda: list(play_match(tictactoe(), [UCT, UCT], 2)), ValueError, "two agents"),
    (lambda: list(play_match(tictactoe(), TWO, "3")), ValueError, "games"),
    (lambda: list(play_match(tictactoe(), TWO, -1)), ValueError, "games"),
    (lambda: list(play_match(tictactoe_v0, TWO, 2)), ValueError, "an environment"),
    # reset and observations
    (lambda: tictactoe().reset(options="a1"), ValueError, "dict"),
    (lambda: single().reset(options="a1"), ValueError, "dict"),
    (lambda: tictactoe().reset(options={"moves": "1", "to_play": 0}), ValueError, "to_play"),
    (lambda: tictactoe().reset(seed="x"), ValueError, "seed .*'x'"),
    (lambda: tictactoe().reset(seed=-1), ValueError, "seed .*-1"),
    (lambda: vector().reset(seed="x"), ValueError, "seed .*'x'"),
    (lambda: vector().reset(seed=1.5), ValueError, "seed .*1.5"),
    (lambda: tictactoe().observe("player0"), KeyError, r"mean player_0\?"),
    (lambda: tictactoe().observe([]), KeyError, "player_0, player_1, got "),
    (lambda: tictactoe().action_space([]), KeyError, "player_0, player_1, got "),
    (lambda: make_environment("hex", "board_size=3"), ValueError, "a list of key=value"),
    (lambda: tictactoe().action_space(0), KeyError, "player_0, player_1, got 0"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_wrong_is_told_where_it_is_given(number):
    call, kind, words = WRONG[number]
    with pytest.raises(kind, match=words):
        call()


ACTIONS = ["a1", 99, -1, None, 3.0, [3]]


@pytest.mark.parametrize("action", ACTIONS, ids=repr)
@pytest.mark.parametrize("make", [hex_v0.env, hex_v0.raw_env])
def test_an_action_that_is_none_is_shown_with_what_is_expected(make, action):
    env = begun(make(3))
    with pytest.raises((AssertionError, ValueError)) as caught:
        env.step(action)
    assert repr(action) in str(caught.value)
    assert "0 to 8" in str(caught.value)
    assert ("is action 0" in str(caught.value)) == (action == "a1")


@pytest.mark.parametrize("action", ACTIONS, ids=repr)
def test_an_action_for_a_learner_is_shown_with_what_is_expected(action):
    env = single(illegal="raise")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="0 to 8") as caught:
        env.step(action)
    assert repr(action) in str(caught.value)


@pytest.mark.parametrize("actions", ["a1", ["a1", "b1"], 99, [0], [0, 99], None, [0.0, 1.0]])
def test_actions_of_many_boards_are_shown_with_what_is_expected(actions):
    envs = vector(illegal="raise")
    envs.reset(seed=0, options={"moves": "c3 c2"})
    with pytest.raises(ValueError, match="0 to 8") as caught:
        envs.step(actions)
    assert (repr(actions) if actions != [0, 99] else "99") in str(caught.value)


# ---- options of reset ----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: hex_v0.env(3), lambda: hex_v0.raw_env(3), single, vector])
def test_an_option_of_reset_that_nobody_knows_warns(make):
    env = make()
    with pytest.warns(UserWarning, match=r"'move' \(did you mean moves\?\)") as caught:
        env.reset(options={"move": "a1"})
    assert [Path(warning.filename) for warning in caught] == [Path(__file__)]
    assert linecache.getline(__file__, caught[0].lineno).strip().startswith("env.reset(")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.reset(options={"options": 1})  # PettingZoo's API test gives it
        env.reset(options={})  # Gymnasium's checker
        env.reset(options={"moves": "a1 b2", "board": None})


# ---- signatures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [connect4_v0, gomoku_v0, hex_v0, tictactoe_v0])
@pytest.mark.parametrize("name", ["env", "raw_env"])
def test_help_names_every_option_of_an_environment(module, name):
    function = getattr(module, name)
    known = inspect.signature(function).parameters
    assert known.keys() >= ViewOptions.__annotations__.keys()
    assert known["render_mode"].default is None
    assert known["theme"].default == "light"
    lines = function.__doc__.splitlines()
    assert all(any(line.startswith(f"    {option}: ") for line in lines) for option in known)
    assert inspect.signature(function).return_annotation is type(function())


@pytest.mark.parametrize("kind", [UCT, RAVE, agents.FlatMonteCarlo, agents.AlphaZero])
def test_help_names_every_parameter_of_an_agent(kind):
    known = inspect.signature(kind).parameters
    assert known.keys() >= SearchOptions.__annotations__.keys()
    assert "options" not in known
    assert known["final_move"].default == ("value" if kind is agents.FlatMonteCarlo else "visits")


def test_a_class_of_ones_own_is_told_of_its_own_parameters():
    class Mine(UCT):
        def __init__(self, depth: int = 3) -> None:
            super().__init__(simulations=depth)

    class Open(UCT):
        def __init__(self, **anything: object) -> None:
            super().__init__(simulations=int(str(anything["any"])))

    assert repr(Mine(4)) == "Mine(depth=4)"
    assert Open(any=7).simulations == 7
    with pytest.raises(TypeError, match=r"Mine: .*mean depth\?"):
        Mine(deph=3)


def test_no_render_mode_can_be_looked_for_in_the_list():
    assert None not in SingleEnv.metadata["render_modes"]
    for count in (np.int64(2), True):
        assert type(BoardVectorEnv(tictactoe_v0.raw_env, count).num_envs) is int


@dataclass
class Maker:
    """A function that cannot be hashed."""

    board_size: int

    def __call__(self):
        return hex_v0.raw_env(self.board_size)


def test_a_maker_may_be_any_callable_and_is_not_kept():
    maker = Maker(3)
    assert SingleEnv(maker).action_space.n == 9
    kept = weakref.ref(maker)
    del maker
    gc.collect()
    assert kept() is None


def test_an_agent_that_can_be_called_has_a_signature_of_its_call():
    agent = PolicyAgent.from_function(lambda observation, mask: 0)
    assert "policy" in inspect.signature(PolicyAgent).parameters
    assert "policy" not in inspect.signature(agent).parameters


@pytest.mark.parametrize(
    ("got", "known", "meant"),
    [
        *((name, agents.PUBLIC, "UCT") for name in ("MCTS", "mcts", "MCTSAgent", "UCTAgent")),
        ("PUCT", agents.PUBLIC, "PUCTAgent"),
        ("Minimax", agents.PUBLIC, "AlphaBeta"),
        *((word, ViewOptions.__annotations__ | {"board_size": int}, "board_size")
          for word in ("size", "width", "boardsize", "rows")),
        ("size", ["rows", "columns", "cell_size"], "columns"),
        ("threads", ["simulations", "seconds", "threats", "workers"], "workers"),
        ("agent", ["agents", "seed"], "agents"),
        ("agnt", ["agent", "seed"], "agent"),
        *((word, ["simulations", "seconds", "c", "seed", "workers"], meant)
          for word, meant in {
              "n_simulations": "simulations", "rollouts": "simulations",
              "iterations": "simulations", "time_limit": "seconds", "max_time": "seconds",
              "exploration_constant": "c",
              "c_puct": "c", "rng": "seed", "num_threads": "workers",
          }.items()),
    ],
)  # fmt: skip
def test_words_of_other_libraries_are_understood(got, known, meant):
    assert suggestion(got, known) == f" (did you mean {meant}?)"


def test_an_agent_that_does_not_play_a_game_says_who_it_is():
    env = begun(connect4_v0.env())
    for agent, name in ((agents.Hexpert(5), "hexpert"), (agents.RHMCTS(5), "rhmcts")):
        with pytest.raises(ValueError, match=f"^{name}: expected "):
            prepare(env, [agent])


# ---- what is shown -------------------------------------------------------------------------------


def test_an_agent_shows_the_parameters_that_differ():
    agent = UCT(200, c=0.7, seed=3, solver="hard")
    assert repr(agent) == "UCT(simulations=200, c=0.7, solver='hard', seed=3)"
    assert repr(copy.deepcopy(agent)) == repr(agent)
    agent.simulations = 10
    assert "simulations=10," in repr(agent)
    assert repr(RandomAgent(3)) == "RandomAgent(seed=3)"
    assert repr(GreedyAgent()) == "GreedyAgent()"
    policy = PolicyAgent.from_function(lambda observation, mask: 0)
    assert "policy=PolicyAgent" in repr(PUCTAgent(policy, simulations=2))
    assert "<b>seed</b></td><td>3" in agent._repr_html_()


def test_statistics_show_the_best_actions():
    env = begun(tictactoe_v0.env(), options={"moves": "152"})
    agent = UCT(simulations=60, seed=0)
    assert agent.act(env) == 2
    found = agent.statistics
    visits = found.visits[2]
    assert "\n" not in repr(found)
    assert f"best actions: 2 ({visits} visits" in repr(found)
    assert f"<td>2</td><td>{visits}</td>" in agent._repr_html_()
    nothing = agents.Statistics(np.zeros(9, int), np.zeros(9), [], 0, 0.0, priors=np.ones(9) / 9)
    assert "none" in repr(nothing)
    assert "prior" in nothing._repr_html_()


def test_environments_and_states_show_where_the_game_stands():
    env = tictactoe_v0.env()
    assert "before reset" in repr(env)
    env.reset(options={"moves": "15"})
    for shown in (repr(env), repr(env.unwrapped), repr(env.state)):
        assert "TicTacToe" in shown
        assert "ply 2" in shown
        assert "last move 5" in shown
        assert "\n" not in shown
    assert str(env) == "tictactoe_v0"
    assert "X . ." in str(env.state)
    assert env.state._repr_html_() == env._repr_html_()
    assert "ply 2" in repr(copy.deepcopy(env).state)
    np.save(io.BytesIO(), env.state)  # without a warning
    env.step(8)
    assert "ply 3" in repr(env.clone())


def test_environments_of_learners_show_what_they_hold():
    env = single()
    assert "before reset" in repr(env.unwrapped)
    env.reset(seed=0)
    assert "learner player_0, opponent random" in repr(env.unwrapped)
    assert "ply 0" in repr(env.unwrapped.state)
    assert str(env) == "<OrderEnforcing<PassiveEnvChecker<SingleEnv<hexenv/Hex-v0>>>>"
    envs = gymnasium.make_vec("hexenv/Hex-v0", num_envs=6, board_size=3)
    envs.reset(seed=0)
    assert repr(envs).startswith("BoardVectorEnv(hexenv/Hex-v0, num_envs=6")
    assert "Hex(rows=3" in repr(envs)
    assert envs._repr_html_().count("<img") == 4
