"""Who may import whom, how long a function may be, and what lies where."""

import ast
import re
import subprocess
import sys
from itertools import chain

import pytest
from sources import (
    ROOT,
    SOURCES,
    importers_of,
    imports_at_the_top_of,
    imports_of,
    is_below,
    tree_of,
)

# ---- imports -------------------------------------------------------------------------------------

LAYERS = (
    "common",
    "compiled",
    "games",
    "testing",
    "render",
    "envs",
    "learners wrappers",
    "connect4_v0 gomoku_v0 hex_v0 tictactoe_v0",
    "adapters",
)
"""The rooms of `hexenv`, from the lowest layer: each imports its own layer and those below."""


def layer_of(module):
    room = module.split(".")[1]
    return next(number for number, rooms in enumerate(LAYERS) if room in rooms.split())


NEVER = "tensorflow jax tests open_spiel pyspiel pytest"
ONLY = {
    # elsewhere `hexenv.common.extras.library`
    "torch": "agents.learning hexenv.adapters agents.knowledge.gomoku.learn_values",
    "numba llvmlite": "hexenv.compiled.numba_parts",
    "pygame": "hexenv.render.window",
    "prompt_toolkit": "agents.apps.play.terminal",
    "starlette uvicorn websockets": "agents.apps.web.server agents.apps.cli.serve",
    "stable_baselines3 sb3_contrib torchrl tianshou skrl": "hexenv.adapters",
    "hexenv.games.contract": "hexenv.games.base",  # all others import `base`
}
"""Libraries and modules, and the only ones that may import them, and that do."""
NOT = {
    "agents.search": "agents.planning agents.mcts agents.solvers agents.learning agents.arena "
    "agents.records agents.apps agents.core hexenv.envs hexenv.learners hexenv.render",
    "agents.planning": "agents.mcts agents.solvers agents.learning agents.arena agents.records "
    "agents.apps agents.core hexenv.envs hexenv.learners hexenv.render",
    "agents.search agents.planning agents.mcts agents.core agents.arena": "agents.knowledge",
    "hexenv.compiled hexenv.games agents.search": "gymnasium pettingzoo pygame PIL rich click",
    "agents.apps.play.session agents.apps.play.live agents.apps.play.commands": "click PIL "
    "hexenv.render agents.apps.play.plain agents.apps.play.terminal agents.apps.play.window",
}
"""Rooms and modules, and what they may not import."""


def test_the_imports_are_found():
    assert {"hexenv", "hexenv.compiled", "agents", "agents.mcts.uct"} <= set(SOURCES)
    assert "hexenv.games.base" in imports_of("hexenv.games.hex")
    assert "hexenv.games" not in imports_of("hexenv.games.hex")
    assert "pygame" in imports_of("hexenv.render.window")  # inside a function
    assert "pygame" not in imports_at_the_top_of("hexenv.render.window")
    assert all(importers_of(name) for name in ["numpy", "gymnasium", "pettingzoo", "click", "rich"])


def test_hexenv_is_built_in_layers():
    for module in SOURCES:
        if module.startswith("hexenv."):
            ours = {name for name in imports_of(module) if name.startswith("hexenv.")}
            above = {name for name in ours if layer_of(name) > layer_of(module)}
            assert not above, module


@pytest.mark.parametrize("libraries", ONLY)
def test_what_only_some_modules_import(libraries):
    importers = importers_of(libraries)
    assert importers
    assert {module for module in importers if not is_below(module, ONLY[libraries])} == set()


@pytest.mark.parametrize("modules", NOT)
def test_what_some_modules_do_not_import(modules):
    members = {module for module in SOURCES if is_below(module, modules)}
    assert members
    assert members & importers_of(NOT[modules]) == set()


def test_what_no_module_imports():
    assert importers_of(NEVER) == set()


def test_one_module_of_hexenv_imports_agents():
    importers = {module for module in importers_of("agents") if is_below(module, "hexenv")}
    assert importers == {"hexenv.learners.opponents"}


def test_games_do_not_know_each_other():
    games = ("connect4", "gomoku", "hex", "tictactoe")
    for game in games:
        others = " ".join(f"hexenv.games.{other}" for other in games if other != game)
        known = {module for module in importers_of(others) if is_below(module, "hexenv.games")}
        assert all(is_below(module, others) for module in known), game


def test_pytorch_is_loaded_only_with_alphahex_and_for_learning_libraries():
    loaders, before = importers_of("torch"), set()
    while loaders != before:  # and what imports these at its top
        before = set(loaders)
        loaders |= {module for module in SOURCES if imports_at_the_top_of(module) & before}
    assert "agents.learning.training" in loaders
    assert {module for module in loaders if not is_below(module, ONLY["torch"])} == set()


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        (
            "import agents.apps.cli, agents.registry as r; r.agent_classes()",
            "torch safetensors",
        ),
        ("import agents.apps.cli", "ray prompt_toolkit pygame uvicorn matplotlib"),
        ("import hexenv.learners.vector", "agents torch"),
    ],
)
def test_what_a_program_does_not_load(program, absent):
    check = f"import sys; assert not set({absent.split()!r}) & set(sys.modules)"
    subprocess.run([sys.executable, "-c", f"{program}\n{check}"], check=True)


# ---- the size of things --------------------------------------------------------------------------

MOST_LINES_OF_A_FUNCTION = 60


def test_functions_are_short():
    functions = {
        f"{module}.{node.name}": node.end_lineno - node.lineno + 1
        for module in SOURCES
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert len(functions) > 1000
    assert {name for name, n in functions.items() if n > MOST_LINES_OF_A_FUNCTION} == set()


# ---- the repository ------------------------------------------------------------------------------

AT_THE_TOP = {
    "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md",
    "hexenv", "agents", "tests", "examples", "docs",
}  # fmt: skip
ARTEFACTS = {"build", "dist", "htmlcov", "venv", "__pycache__"}
DATA = (
    r"hexenv/py\.typed|agents/py\.typed|agents/arena/positions/.*|"
    r"agents/arena/(which_agent|anchors)\.toml|agents/arena/balanced/[\w-]+\.txt|"
    r"agents/knowledge/connect4/book\.npz|agents/knowledge/gomoku/(values\.npz|first_stones\.txt)|"
    r"agents/knowledge/hex/(priors\.npz|(openings|pattern_tables)\.json)|"
    r"agents/learning/nets/[\w-]+\.safetensors|agents/apps/web/static/\w+\.(html|js|css)"
)
"""The files of the packages that are not Python."""

needs_checkout = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="not a checkout of the repository"
)


@needs_checkout
def test_the_top_level_is_tidy():
    names = {path.name for path in ROOT.iterdir()}
    kept = {name for name in names if not name.startswith(".") and not name.endswith(".egg-info")}
    assert kept - ARTEFACTS <= AT_THE_TOP
    assert {"pyproject.toml", "README.md", "LICENSE", "hexenv", "agents", "tests"} <= names


@needs_checkout
def test_packages_hold_sources_and_their_data():
    files = chain.from_iterable((ROOT / package).rglob("*") for package in ("hexenv", "agents"))
    others = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    }
    assert {name for name in others if not re.fullmatch(DATA, name)} == set()
