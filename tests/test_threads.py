"""Agents that threads share, and forks of processes that have threads."""

import copy
import os
import pickle
import subprocess
import sys
from threading import Event

import pytest

from agents import UCT, AlphaBeta, RandomAgent
from agents.core.agent import Turn
from agents.core.background import in_background
from hexenv import tictactoe_v0
from hexenv.learners.pool import OpponentPool


def started():
    env = tictactoe_v0.env()
    env.reset()
    return env


INSIDE, GO_ON = Event(), Event()


def hold(*_):
    """Stay in the middle of a move. (Here, so that it can be pickled.)"""
    INSIDE.set()
    assert GO_ON.wait(60)
    return 0.0


class WatchedTurn(Turn):
    """Tells when somebody asks for it."""

    def __init__(self):
        super().__init__()
        self.is_asked_for = Event()

    def __enter__(self):
        self.is_asked_for.set()
        super().__enter__()


def uct():
    agent = UCT(simulations=200, seed=1, route="interpreted")
    agent.on_slice = hold
    return agent


COPIES = {
    "copy": copy.deepcopy,
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
}


@pytest.mark.parametrize("new_agent", [uct, lambda: AlphaBeta(2, hold, seed=1)], ids=["uct", "ab"])
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_an_agent_is_copied_between_two_moves(new_agent, copied):
    INSIDE.clear(), GO_ON.clear()
    env, agent = started(), new_agent()
    agent.turn = WatchedTurn()
    acting = in_background(lambda: agent.act(env))
    assert INSIDE.wait(60)
    agent.turn.is_asked_for.clear()
    copying = in_background(lambda: copied(agent))
    while not (agent.turn.is_asked_for.wait(0.01) or copying.done()):
        pass
    GO_ON.set()
    acting.result(60)
    twin = copying.result(60)
    assert twin.statistics.visits.tolist() == agent.statistics.visits.tolist()
    assert twin.act(env) == agent.act(env)
    assert twin.statistics.values.tolist() == agent.statistics.values.tolist()


def test_what_is_being_pickled_changes_no_more():
    env = started()
    agent = UCT(simulations=50, seed=1)
    env.step(agent.act(env))
    state = agent.__getstate__()
    tree, rng = state["planner"].workers[0].tree, state["planner"].workers[0].rng
    before = tree.visits.tolist(), rng.bit_generator.state
    env.step(agent.act(env))
    assert (tree.visits.tolist(), rng.bit_generator.state) == before
    pool = OpponentPool(["random"])
    state = pool.__getstate__()
    pool.record("random", wins=1)
    assert state["_tallies"]["random"].wins == 0


def test_functions_of_a_class_wait_for_no_agent():
    class Kept(RandomAgent):
        @classmethod
        def load(cls, seed):
            return cls(seed)

        @staticmethod
        def save(path):
            return path

    assert isinstance(Kept.load(1), Kept)
    assert Kept.save("here") == Kept.load(1).save("here") == "here"


# ---- forks ---------------------------------------------------------------------------------------

FORK = """
import os, signal, sys, threading
def run_forked(work):
    process = os.fork()
    if process == 0:
        signal.alarm(120)  # ends a process that waits for threads that it does not have
        code = 1
        try:
            code = work() or 0
        finally:
            os._exit(code)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""
SEARCHING = """
from agents import UCT
from hexenv import tictactoe_v0
env = tictactoe_v0.env()
env.reset()
agent = UCT(simulations=20, seed=1)
inside, go_on = threading.Event(), threading.Event()
def hold(found):
    inside.set()
    go_on.wait(60)
agent.on_slice = hold
threading.Thread(target=agent.act, args=(env,), daemon=True).start()
inside.wait(60)
def work():
    try:
        agent.act(env)
    except RuntimeError as error:
        return 0 if "fork" in str(error) else 2
    return 3
"""
NETWORK = """
import torch
from agents import PolicyAgent
from hexenv import tictactoe_v0
class Large(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1000, 1000)
    def forward(self, seen):
        return self.layer(torch.ones(500, 1000))[: len(seen), :9]
torch.set_num_threads(2)
env = tictactoe_v0.env()
env.reset()
agent = PolicyAgent.from_torch(Large())
first = agent.act(env)
work = lambda: agent.act(env) != first
"""
VECTOR = """
import numpy as np
from hexenv import tictactoe_v0
from hexenv.learners.vector import BoardVectorEnv
envs = BoardVectorEnv(tictactoe_v0.raw_env, 4, threads=2, opponent="random", illegal="penalise")
envs.reset(seed=1)
def work():
    envs.step(np.full(4, 4))
    envs.close()
envs.step(np.zeros(4, int))
"""
COMPILING = """
import time
from hexenv import compiled
inside = threading.Event()
def hold():
    with compiled._lock:
        inside.set()
        time.sleep(0.3)
threading.Thread(target=hold).start()
inside.wait(60)
work = lambda: not compiled._lock.acquire(timeout=20)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize(
    "program", [SEARCHING, NETWORK, VECTOR, COMPILING], ids=["agent", "network", "vector", "lock"]
)
def test_a_fork_waits_for_no_thread_that_it_does_not_have(program):
    if program is NETWORK:
        pytest.importorskip("torch", reason="the extra train is not installed")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{FORK}{program}\nrun_forked(work)"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-2000:]
