"""A game that keeps its contract, or breaks one promise of it; and who meets it, in a process.

    python tests/broken_games.py look rave ...

plays it with one agent after another and prints what each fault is told; `look` is ``1`` with the
first look at a game of one's own, and ``0`` without, so that only the guards are left.
"""

import faulthandler
import sys
from typing import NamedTuple

import numpy as np

from agents import ANETRolloutMCTS, GumbelAgent, PUCTAgent
from agents.registry import make_agent
from hexenv.envs.aec import BoardEnv
from hexenv.games import base
from hexenv.games.base import DRAW, IN_PLAY
from hexenv.games.own import game
from hexenv.learners.vector import BoardVectorEnv
from hexenv.testing import first_use

FAULTS = (
    "none", "short", "endless", "stuck", "action beyond", "action below", "many actions",
    "no player", "cell beyond", "few cells", "ply kept", "playout stops", "no next actions",
    "many next actions", "next action beyond", "index beyond in step", "index beyond in list",
    "ply at the start", "action beyond in the middle",
)  # fmt: skip
"""The promises that can be broken, by the number of the fault."""
(
    NONE, SHORT, ENDLESS, STUCK, BEYOND, BELOW, MANY, PLAYER, CELL, FEW_CELLS, PLY, PLAYOUT,
    NO_NEXT, MANY_NEXT, NEXT_BEYOND, IN_STEP, IN_LIST, START, IN_MIDDLE,
) = range(len(FAULTS))  # fmt: skip
CELLS = 12
FROM = 3
"""The ply from which on a fault shows."""
FAR = 1_000_000


@game
class Marks(NamedTuple):
    """Players mark cells; who marks the last one wins, if its number is even."""

    fault: int = 0

    state_dtype = base.state_dtype(("marked", np.int8, (CELLS,)))

    def num_actions(self):
        return CELLS

    def max_plies(self):
        return CELLS // 2 if self.fault == SHORT else CELLS

    def num_cells(self):
        return 2 if self.fault == FEW_CELLS else CELLS

    def initial(self, state):
        base.begin(state)
        if self.fault == START:
            state.ply = -FAR % 30_000
        for cell in range(CELLS):
            state.marked[cell] = 0

    def is_late(self, state, fault):
        return self.fault == fault and state.ply >= FROM

    def legal_actions(self, state, out):
        count = 0
        if state.winner != IN_PLAY or self.is_late(state, STUCK):
            return 0
        for cell in range(CELLS):
            if not state.marked[cell]:
                out[count] = cell
                count += 1
        if self.is_late(state, BEYOND):
            out[count - 1] = FAR
        if self.is_late(state, IN_MIDDLE):
            out[count // 2] = FAR
        if self.is_late(state, BELOW):
            out[0] = -FAR
        if self.is_late(state, IN_LIST):
            out[FAR] = 1
        return FAR if self.is_late(state, MANY) else count

    def next_actions(self, state, actions, count, played):
        if self.is_late(state, NO_NEXT):
            return 0
        if self.is_late(state, MANY_NEXT):
            return FAR
        count = self.legal_actions(state, actions)
        if self.is_late(state, NEXT_BEYOND):
            for pick in range(count):
                actions[pick] = FAR
        return count

    def to_play(self, state):
        return FAR if self.is_late(state, PLAYER) else int(state.ply) & 1

    def cell_of(self, state, action):
        return FAR if self.is_late(state, CELL) else action

    def random_playout(self, state, rng, buffer):
        if not self.is_late(state, PLAYOUT):
            base.play_randomly(self, state, rng, buffer)

    def step(self, state, action):
        state.marked[action + FAR * self.is_late(state, IN_STEP)] = 1
        if not self.is_late(state, PLY):
            state.ply += 1
        state.last_action = action
        left = 0
        for cell in range(CELLS):
            left += state.marked[cell] == 0
        if left == 0:
            if self.fault == ENDLESS:
                for cell in range(CELLS):
                    state.marked[cell] = 0
            else:
                state.winner = DRAW if action % 2 else int(state.ply - 1) & 1


class Even:
    """An evaluator that knows nothing."""

    def evaluate(self, rules, states):
        return np.ones((len(states), rules.num_actions())), np.zeros(len(states))


WITH_EVALUATOR = {"anet": ANETRolloutMCTS, "gumbel": GumbelAgent, "puct": PUCTAgent}


def play(env, agent):
    """Moves of an agent until the game is over."""
    env.reset()
    while env.agents and not env.terminations[env.agent_selection]:
        env.step(agent.act(env))


def play_vector(env):
    """Moves on many boards against a random opponent."""
    boards = BoardVectorEnv(lambda: env, 4, opponent="random")
    observations, _ = boards.reset(seed=0)
    for _ in range(4 * CELLS):
        observations = boards.step(observations["action_mask"].argmax(axis=1))[0]


def told(fault, name):
    """What a fault is told: the class of the error and its text, or nothing."""
    try:
        env = BoardEnv(Marks(fault), "marks")
        if name == "vector":
            play_vector(env)
        elif name in WITH_EVALUATOR:
            play(env, WITH_EVALUATOR[name](Even(), simulations=20))
        else:
            play(env, make_agent(name))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


if __name__ == "__main__":
    from broken_games import Marks, told  # that of a module can be kept

    looks, *names = sys.argv[1:]
    if looks == "0":
        first_use._play_games = lambda game, until: None
        first_use.mark_of = lambda *_: None  # later processes are to look
    for name in names:
        told(0, name)  # compiles
        for fault in range(len(FAULTS)):
            faulthandler.dump_traceback_later(60, exit=True)  # it may be a crowded machine
            print(name, "|", FAULTS[fault], "|", " ".join(told(fault, name).split()), flush=True)
            faulthandler.cancel_dump_traceback_later()
