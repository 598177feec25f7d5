"""A promise of the contract that one's own game breaks is told: no signal, no hang, no garbage."""

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from broken_games import FAR, FAULTS, Marks
from test_foreign import Heap

from agents import UCT
from agents.planning import foreign
from agents.planning.environment import UnfitEnvironmentError
from agents.search.selection import UCB1
from agents.search.simulation import part
from hexenv import tictactoe_v0
from hexenv.compiled import CompiledFunction, compiled
from hexenv.compiled.numba_parts import numba
from hexenv.envs.aec import BoardEnv
from hexenv.games import base
from hexenv.testing import first_use

HERE = Path(__file__).parent
NOT_ALWAYS_ASKED = {
    "none", "cell beyond", "few cells", "playout stops", "no next actions", "many next actions",
    "next action beyond",
}  # fmt: skip
"""The faults of verbs that only some agents ask."""
OTHERS = (
    "alphabeta:depth=3", "anet", "flat:simulations=100", "grave:simulations=200",
    "greedy", "gumbel", "history:simulations=200", "lgr:simulations=200",
    "mast:simulations=200", "nrpa:simulations=100", "puct",
    "quality:simulations=200", "random", "solver", "transposition:simulations=200",
    "ucb1-tuned:simulations=200", "uct:simulations=300", "vector",
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS[1:])
def test_the_first_look_at_a_game_tells_every_fault(fault):
    with pytest.raises(ValueError, match=r"Marks.*check_game"):
        BoardEnv(Marks(FAULTS.index(fault)), "marks")


def check_all_are_told(*agents):
    """Each fault, under each agent, without the first look."""
    run = subprocess.run(
        [sys.executable, HERE / "broken_games.py", "0", *agents],
        capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    rows = [line.split(" | ") for line in run.stdout.splitlines()]
    assert run.returncode == 0, (rows[-1:], run.stderr[-2000:])
    assert [row[:2] for row in rows] == [[agent, fault] for agent in agents for fault in FAULTS]
    for agent, fault, told in rows:
        is_told = told.startswith("IndexError: " if "index" in fault else "ValueError: Marks: ")
        assert is_told if fault not in NOT_ALWAYS_ASKED else is_told or told == "nothing", agent
        assert fault != "none" or told == "nothing", agent


def test_faults_that_come_later_are_told_in_plain_python():
    check_all_are_told("rave:simulations=20", "random", "puct", "vector")


@pytest.mark.compiled(only=True)
def test_faults_that_come_later_are_told_in_machine_code():
    check_all_are_told("rave:simulations=300")


@pytest.mark.slow
@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("agent", OTHERS)
def test_they_are_told_under_every_agent(agent):
    check_all_are_told(agent)


# ---- the first look ------------------------------------------------------------------------------

SOURCE = """
from typing import NamedTuple
from broken_games import Marks
from hexenv.games.own import game

@game
class Kept(Marks):
    pass
"""


def test_it_is_remembered_until_the_source_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(first_use, "_tried", set())
    monkeypatch.syspath_prepend(tmp_path)
    looks = []
    monkeypatch.setattr(first_use, "_play_games", lambda game, until: looks.append(game))
    file = tmp_path / "kept_game.py"
    counts = []
    for source in (SOURCE, SOURCE, SOURCE + "\n# another one\n"):
        file.write_text(source)
        os.utime(file, (time.time() - 1e6, time.time() - 1e6 + len(source)))
        sys.modules.pop("kept_game", None)
        importlib.invalidate_caches()
        first_use.try_game(importlib.import_module("kept_game").Kept())
        counts.append(len(looks))
    sys.modules.pop("kept_game")
    assert counts == [1, 1, 2]


class Endless(Marks):
    """Its playouts do not come to an end."""

    def random_playout(self, state, rng, buffer):
        while True:
            pass


def test_a_method_that_never_ends_is_told(monkeypatch):
    monkeypatch.setattr(first_use, "LONGEST", 0.5)
    with pytest.raises(ValueError, match=r"Endless.*has not ended"):
        BoardEnv(Endless(), "endless")


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="a thread has no clock")
def test_time_without_work_does_not_count():
    with first_use.limited(0.05):
        time.sleep(0.2)


def test_a_class_without_the_decorator_is_looked_at_too():
    class Bare(Marks):
        def legal_actions(self, state, out):
            return 0

    with pytest.raises(ValueError, match=r"Bare.*legal"):
        BoardEnv(Bare(), "bare")


# ---- parts, and environments of others -----------------------------------------------------------


@part
class RuleBeyond(NamedTuple):
    """A rule that reads what is not in the tree."""

    c: float = 1.0

    prepare = UCB1.prepare

    def score(self, tree, child, prepared):
        return tree.value[child + FAR]


@part
class PlayoutBeyond(NamedTuple):
    """A playout that reads beyond the actions."""

    c: float = 1.0

    def choose(self, game, state, rng, actions, count, simulation):
        return actions[count + FAR]


@pytest.mark.sample
@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("beyond", [{"selection": RuleBeyond()}, {"playout": PlayoutBeyond()}])
def test_an_index_out_of_range_in_a_part_is_told_before_it_is_compiled(beyond):
    agent = UCT(simulations=100, seed=0)
    agent.variant = agent.variant._replace(**beyond)
    env = tictactoe_v0.env()
    env.reset()
    with pytest.raises(ValueError, match=r"Beyond.*index"):
        agent.act(env)


def read(rule, values, index):
    return rule.read(values, index)


@compiled
class Reader(NamedTuple):
    """Reads an entry of an array."""

    c: float = 1.0

    def read(self, values, index):
        return values[index]


@pytest.mark.sample
@pytest.mark.compiled(only=True)
def test_machine_code_of_ones_own_class_checks_its_indexes():
    run, values = CompiledFunction(read), np.arange(4)
    assert run(Reader(), values, 3) == 3
    for index in (4, FAR, -FAR):
        with pytest.raises(IndexError, match="Reader"):
            run(Reader(), values, index)


class EndlessHeap(Heap):
    """The heap is filled up again."""

    def step(self, action):
        self.left = 10
        super().step(action)


@pytest.mark.parametrize("playout", ["fast", "mast"])
def test_an_environment_of_others_that_never_ends_is_refused(playout, monkeypatch):
    monkeypatch.setattr(foreign, "MAX_PLIES", 50)
    env = EndlessHeap()
    env.reset()
    with pytest.raises(UnfitEnvironmentError, match="within 50 plies"):
        UCT(simulations=20, playout=playout).act(env)


@pytest.mark.parametrize("verb", ["num_actions", "max_plies"])
def test_a_game_without_actions_or_plies_is_refused(verb):
    kind = type("Nothing", (Marks,), {verb: lambda self: 0})
    with pytest.raises(ValueError, match="from 1 to"):
        base.expect_game(kind())
