"""Without numba, or without a name of it, everything still runs, and a warning says how."""

import ast
import os
import runpy
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest
from conftest import HAS_COMPILER

from agents import UCT
from hexenv import tictactoe_v0
from hexenv.compiled import numba_parts

ROOT = Path(__file__).parents[1]
NAMES = [(use, name) for use, (_, names) in numba_parts.PRIVATE.items() for name in names.split()]
needs_numba = pytest.mark.skipif(not HAS_COMPILER, reason="there is no numba")
SEARCH = """
from agents import UCT
from hexenv import compiled, tictactoe_v0
env = tictactoe_v0.env()
env.reset()
agent = UCT(simulations=200, seed=1)
agent.act(env)
print(compiled.uses_machine_code(), agent.statistics.visits.tolist())
"""


def visits():
    env = tictactoe_v0.env()
    env.reset()
    agent = UCT(simulations=200, seed=1)
    agent.act(env)
    return agent.statistics.visits.tolist()


def searched(prelude):
    """What `SEARCH` prints in a process of its own, after a prelude; and the warnings."""
    environment = {name: each for name, each in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    command = [sys.executable, "-c", prelude + SEARCH]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "Warning: " in line]
    return done.stdout.strip(), told


def test_without_numba_everything_runs_as_plain_python():
    printed, told = searched("import sys; sys.modules['numba'] = None")
    assert printed == f"False {visits()}"
    assert len(told) == 1
    assert "RuntimeWarning" in told[0]


def remove(name, delete, replace):
    """Take a name of numba from those who import it from now on; numba itself has it already."""
    module, _, path = name.partition(":")
    *owner, last = path.split(".")
    found = import_module(module)
    if owner:
        known = set(dir(getattr(found, owner[0]))) - {last}
        kept = {each: None for each in known if not each.startswith("__")}
        replace(found, owner[0], type(owner[0], (), kept))
    else:
        delete(found, last)


def read_again():
    """`numba_parts` as it is in a process that finds numba as it is now; and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return runpy.run_path(numba_parts.__file__), [str(one.message) for one in told]


@pytest.fixture
def wants_code(monkeypatch):
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)


@needs_numba
def test_this_numba_has_every_name(wants_code):
    found, told = read_again()
    assert found["HAS_NUMBA"]
    assert (found["MISSING"], told) == ({}, [])


@needs_numba
@pytest.mark.parametrize(("use", "name"), NAMES)
def test_a_private_name_that_is_missing_is_told_once(use, name, monkeypatch, wants_code):
    remove(name, monkeypatch.delattr, monkeypatch.setattr)
    found, told = read_again()
    assert found["HAS_NUMBA"]
    assert name in found["MISSING"][use]
    assert len(told) == 1
    assert name in told[0]


def imports():
    """The modules and names that `numba_parts` imports of numba and llvmlite."""
    tree = ast.parse(Path(numba_parts.__file__).read_text(encoding="utf-8"))
    (attempt,) = [node for node in tree.body if isinstance(node, ast.Try)]
    return [
        (node.module, alias.name)
        for node in attempt.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


@needs_numba
@pytest.mark.parametrize(("module", "name"), imports())
def test_without_what_machine_code_needs_there_is_none(module, name, monkeypatch, wants_code):
    monkeypatch.delattr(f"{module}.{name}")
    if f"{module}.{name}" in sys.modules:
        monkeypatch.setitem(sys.modules, f"{module}.{name}", None)
    found, told = read_again()
    assert not found["HAS_NUMBA"]
    assert len(told) == 1


LACKING = """
import sys
import types
from importlib.util import find_spec
# A package that is not read yet, as it takes from `numba_parts` what it finds.
package = types.ModuleType("hexenv.compiled")
package.__path__ = find_spec("hexenv.compiled").submodule_search_locations
sys.modules["hexenv.compiled"] = package
from hexenv.compiled import numba_parts
del sys.modules["hexenv.compiled"]
names = numba_parts.MISSING[USE] = numba_parts.PRIVATE[USE][1].split()
numba_parts._found |= dict.fromkeys(names, numba_parts.NOTHING)
"""


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("use", numba_parts.PRIVATE)
def test_public_numba_finds_the_same(use):
    printed, _ = searched(LACKING.replace("USE", repr(use)))
    assert printed == f"True {visits()}"
