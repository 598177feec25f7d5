"""Agents for the tests of tournaments: deterministic ones, slow ones, and ones that fail."""

import os
import signal
import time
from pathlib import Path
from typing import ClassVar

import numpy as np

from agents.core.agent import ForfeitError
from agents.planning.environment import legal_actions
from hexenv import tictactoe_v0


class First:
    """Plays the lowest legal action."""

    statistics = None

    def reset(self, seed=None):
        pass

    def act(self, env):
        return int(legal_actions(env)[0])


class Last(First):
    """Plays the highest legal action."""

    def act(self, env):
        return int(legal_actions(env)[-1])


class Together(First):
    """Plays as `First`, and on many boards at once."""

    batches: ClassVar[list[int]] = []

    def __call__(self, observations, masks):
        self.batches.append(len(masks))
        return masks.argmax(axis=1)


class Apart(Together):
    """The same, trained with planes that no board shows."""

    def sees_as_shown(self, env):
        return False


class Even(First):
    """A policy whose numbers do not depend on the batch: by the hash of a position."""

    def evaluate(self, game, states):
        keys = np.array([game.position_hash(state) for state in states])
        priors = 1.0 + (keys[:, None] >> np.arange(game.num_actions())) % 7
        return priors, (keys % 19) / 9.0 - 1.0


class Slow(First):
    """Thinks long, and leaves a file named after its process in a folder."""

    def __init__(self, seconds: float = 0.02, folder: str = ""):
        self.seconds = seconds
        if folder:
            (Path(folder) / str(os.getpid())).touch()

    def act(self, env):
        time.sleep(self.seconds)
        return super().act(env)


class Illegal(First):
    """Plays an illegal action wherever there is one."""

    def act(self, env):
        return int((set(range(9)) - set(legal_actions(env).tolist())).pop())


class Unreliable(First):
    """Fails in some way wherever it plays the first side; else plays the lowest action.

    Args:
        way: ``raise``, ``exit``, ``crash``, ``hang`` or ``forfeit``.
    """

    def __init__(self, way: str):
        self.way = way

    def act(self, env):
        if env.agent_selection == env.possible_agents[0]:
            match self.way:
                case "raise":
                    raise ValueError("no idea")
                case "forfeit":
                    raise ForfeitError("no answer in 1 s")
                case "exit":
                    raise SystemExit(3)
                case "crash":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "hang":
                    time.sleep(1000)
        return super().act(env)


def refuse():
    """No agent at all."""
    raise ValueError("no agent today")


def highest(env):
    """A policy that is handed the environment."""
    return legal_actions(env)[-1]


def masked(observation, action_mask):
    """A policy that is handed what the agent to move sees."""
    assert observation["observation"].shape[:2] == (3, 3)
    return np.flatnonzero(action_mask)[-1]


class Checkpoint:
    """A policy kept in a file."""

    def __init__(self, path: str):
        self.place = int(Path(path).read_text(encoding="utf-8"))

    def __call__(self, observation, action_mask):
        return np.flatnonzero(action_mask)[self.place]


def three(one, two, three):
    """No policy."""


def tictactoe():
    """A game that is a function."""
    return tictactoe_v0.env()
