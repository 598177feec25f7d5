"""Sessions for the tests of games with a person, and agents that are easy to predict."""

import threading
import time

import numpy as np

from agents.apps.play.session import Session
from agents.core.agent import ForfeitError, Statistics
from agents.registry import make_environment

GAMES = {
    "hex": ("hex", ("board_size=3",)),
    "hex-swap": ("hex", ("board_size=3", "swap=true")),
    "connect4": ("connect4", ("rows=4", "columns=5", "connect=3")),
    "tictactoe": ("tictactoe", ()),
    "gomoku-swap2": ("gomoku", ("board_size=6", "opening=swap2")),
}


class Lowest:
    """Plays the lowest legal action, with the value 0.5."""

    def __init__(self):
        self.statistics = None
        self.gate = threading.Event()
        self.gate.set()

    def reset(self, seed=None):
        pass

    def act(self, env):
        assert self.gate.wait(10)
        mask = env.unwrapped.observe(env.agent_selection)["action_mask"]
        action = int(mask.nonzero()[0][0])
        visits = np.zeros(len(mask), np.int64)
        visits[action] = 7
        self.statistics = Statistics(visits, visits / 14, [action], 7, 0.0)
        return action


class Quitter(Lowest):
    def act(self, env):
        raise ForfeitError("its engine crashed")


class Cheat(Lowest):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def act(self, env):
        return self.answer


class Broken(Lowest):
    def act(self, env):
        raise RuntimeError("no idea")


def session_of(name="tictactoe", moves="", side=0, agent=None):
    game, options = GAMES[name]
    env = make_environment(game, options)
    env.reset(options={"moves": moves} if moves else None)
    return Session(env, agent or Lowest(), side)


def settle(live):
    """Wait until the agent has nothing to look for."""
    for _ in range(1000):
        live.update()
        if "thinking" not in live.status:
            return
        time.sleep(0.002)
    raise AssertionError("the agent thinks forever")
