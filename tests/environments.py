"""What the tests share: boards, random games, all that an env shows, processes to interrupt."""

import importlib
import signal
from contextlib import contextmanager

import numpy as np
import pytest

from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.compiled import uses_machine_code
from hexenv.games import base
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv


class MachineCode:
    """True in a test that is marked `compiled`, where there is a compiler."""

    def __bool__(self):
        return uses_machine_code()


JIT = MachineCode()

MODULES = (hex_v0, connect4_v0, tictactoe_v0, gomoku_v0)

SMALL = {
    "hex-3": (hex_v0, {"board_size": 3}),
    "hex-2x4": (hex_v0, {"board_size": (2, 4)}),
    "hex-3-swap": (hex_v0, {"board_size": 3, "swap": True}),
    "connect4-4x5": (connect4_v0, {"rows": 4, "columns": 5, "connect": 3}),
    "tictactoe": (tictactoe_v0, {}),
    "gomoku-4": (gomoku_v0, {"board_size": 4, "connect": 3, "rule": "standard"}),
}
LARGE = {
    "hex": (hex_v0, {}),
    "hex-5": (hex_v0, {"board_size": 5}),
    "hex-3x5": (hex_v0, {"board_size": (3, 5)}),
    "hex-5-swap": (hex_v0, {"board_size": 5, "swap": True}),
    "connect4": (connect4_v0, {}),
    "gomoku-9": (gomoku_v0, {"board_size": 9, "rule": "standard"}),
    "gomoku-7x9": (gomoku_v0, {"board_size": (7, 9)}),
    "gomoku-6-swap2": (gomoku_v0, {"board_size": 6, "opening": "swap2"}),
    "renju-7": (gomoku_v0, {"board_size": 7, "rule": "renju"}),
    "caro-6": (gomoku_v0, {"board_size": 6, "rule": "caro"}),
}
BOARDS = SMALL | LARGE
"""Boards by name: the module of the environment and its options."""

KINDS = ("raw_env", "env")
"""The functions of a module that make environments: without and with the wrapper."""


def played(env, actions=()):
    """The environment, reset and with these actions played."""
    env.reset()
    for action in actions:
        env.step(action)
    return env


def theirs(name):
    """A module of PettingZoo's: by its own path, as the one with a version is deprecated."""
    pytest.importorskip("pygame")
    return importlib.import_module(f"pettingzoo.classic.{name}.{name}")


def make(board, kind="raw_env", **view):
    module, options = BOARDS[board]
    return getattr(module, kind)(**options, **view)


def single(board="tictactoe", opponent="random", **options):
    """A small board for one learner."""
    module, of_game = SMALL[board]
    return SingleEnv(module.raw_env, opponent, **of_game, **options)


def vector(board="tictactoe", num_envs=3, opponent="random", **options):
    """Many of a small board for a learner."""
    module, of_game = SMALL[board]
    return BoardVectorEnv(module.raw_env, num_envs, opponent, **of_game, **options)


def plain(value):
    """A value that `==` compares in full: arrays with their type and shape, dicts in order."""
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tolist())
    if isinstance(value, dict):
        return [(key, plain(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def view(env):
    """All that an environment shows of its game, as a value of its own that `==` compares."""
    raw = env.unwrapped
    shown = {
        "position": raw.state.tobytes(),
        "bytes": raw.to_bytes(),
        "actions": raw.actions,
        "moves": raw.moves,
        "was reset": hasattr(env, "agents"),
    }
    if hasattr(env, "agents"):
        shown |= {
            "agents": env.agents,
            "agent_selection": env.agent_selection,
            "rewards": env.rewards,
            "cumulative rewards": env._cumulative_rewards,
            "terminations": env.terminations,
            "truncations": env.truncations,
            "infos": env.infos,
            "observations": {agent: env.observe(agent) for agent in env.possible_agents},
            "last": env.last() if env.agents else None,
        }
    return plain(shown)


def shown(env):
    """What an environment of anybody's shows, as a value of its own that `==` compares."""
    return {
        "agents": list(env.agents),
        "agent_selection": env.agent_selection,
        "rewards": dict(env.rewards),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "infos": repr(env.infos),
        "observations": [repr(env.observe(agent)) for agent in env.agents],
        "last": repr(env.last()) if env.agents else None,
    }


def legal_actions(env):
    """The legal actions of the agent to move; none for an agent whose game is over."""
    raw = env.unwrapped
    return [a for a in range(raw.action_space(raw.agent_selection).n) if raw.is_legal(a)]


def random_action(env, rng):
    """A legal action of the agent to move, as a Python integer; None if its game is over."""
    legal = legal_actions(env)
    return int(rng.choice(legal)) if legal else None


def random_game(env, rng):
    """The actions of a random game from here to its end, for the caller to step."""
    while not any(env.terminations.values()):
        yield random_action(env, rng)


def random_states(game, seed):
    """The positions of a random game, from the start to the end."""
    rng = np.random.default_rng(seed)
    states = [base.new_state(game)]
    while not game.is_terminal(states[-1]):
        states.append(base.clone(game, states[-1]))
        game.step(states[-1], int(rng.choice(base.legal_actions(game, states[-1]))))
    return states


def play_out(env, rng):
    """Play at random until no agent is left."""
    while env.agents:
        env.step(random_action(env, rng))


def whole_game(env, rng, illegal_at=None):
    """The actions of a game to its last agent, for the caller to step.

    The first action that can be illegal from ply `illegal_at` on is; that takes a wrapped env.
    """
    ply = 0
    while env.agents:
        is_live = not any(env.terminations.values())
        illegal = set(range(env.action_space("player_0").n)) - set(legal_actions(env))
        if illegal_at is not None and is_live and ply >= illegal_at and illegal:
            yield int(rng.choice(sorted(illegal)))
        else:
            yield random_action(env, rng)
        ply += 1


@contextmanager
def hearing_interrupts():
    """Start processes here that Ctrl-C reaches.

    In the background of a shell interrupts are ignored, and a new process would inherit that.
    """
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


class Trap:
    """Leaves a trace when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")
