"""Who may import whom, and what lies where."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("hexenv", "agents")
    for path in sorted((ROOT / package).rglob("*.py"))
}
"""The modules of the two packages by name."""

FORBIDDEN_EVERYWHERE = {"tensorflow", "jax", "tests", "open_spiel", "pyspiel", "pytest"}


def imports_of(module):
    """The names that a module imports, at its top or anywhere in it: ``a.b`` of from a.b import c.

    For names of our own modules, ``a.b.c`` is among them too.
    """
    path = SOURCES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
            within = {f"{base}.{alias.name}" for alias in node.names} & set(SOURCES)
            # `from hexenv.games import base` is about the module base, not about all games.
            found |= within if len(within) == len(node.names) else within | {base}
    return found


def tops_of(module):
    return {name.partition(".")[0] for name in imports_of(module)}


def modules_below(*packages):
    return [
        module
        for module in SOURCES
        if any(module == package or module.startswith(f"{package}.") for package in packages)
    ]


LAYERS = {
    "compiled": ["hexenv.compiled", "hexenv.compiled_cache"],
    "games": modules_below("hexenv.games"),
    "parts": [
        "hexenv.extras",
        "hexenv.envs.observation",
        "hexenv.learners.policies",
        "hexenv.envs.position",
        *modules_below("hexenv.render"),
    ],
    "environments": ["hexenv.envs.aec", "hexenv.envs.standard_wrapper"],
    "learners": [
        "hexenv.learners.boards",
        "hexenv.learners.opponents",
        "hexenv.learners.single",
        "hexenv.learners.vector",
        *modules_below("hexenv.wrappers"),
    ],
    "versions": [module for module in SOURCES if module.rpartition("_v")[2].isdecimal()],
    "package": ["hexenv", *modules_below("hexenv.testing")],
    "adapters": modules_below("hexenv.adapters"),
}
"""The layers of `hexenv`, from the lowest: each may import itself and those before it."""


def layer_of(module):
    for number, members in enumerate(LAYERS.values()):
        if module in members:
            return number
    return None


def test_the_sources_are_found():
    for module in ("hexenv", "hexenv.compiled", "hexenv.games.hex", "agents", "agents.search.mcts"):
        assert module in SOURCES


def test_imports_are_found():
    assert "hexenv.games.base" in imports_of("hexenv.games.hex")
    assert "hexenv.games" not in imports_of("hexenv.games.hex")
    assert "hexenv.compiled" in imports_of("hexenv.games.base")
    assert "pygame" in imports_of("hexenv.render.window")  # inside a function
    assert "agents.mcts.uct" in imports_of("agents")
    assert {"numba", "numpy", "gymnasium", "pettingzoo", "click", "rich"} <= {
        top for module in SOURCES for top in tops_of(module)
    }


@pytest.mark.parametrize("module", modules_below("hexenv"))
def test_every_module_has_its_layer_and_imports_from_below(module):
    layer = layer_of(module)
    assert layer is not None, f"{module} is in no layer of this test"
    for imported in imports_of(module):
        if imported.partition(".")[0] == "hexenv":
            assert layer_of(imported) is not None, imported
            assert layer_of(imported) <= layer, f"{module} imports {imported}"


@pytest.mark.parametrize("module", SOURCES)
def test_what_no_module_imports(module):
    assert not tops_of(module) & FORBIDDEN_EVERYWHERE


def heads_of(module):
    """The names that a module imports at its top, where every import of it brings them."""
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("module", SOURCES)
def test_pytorch_is_for_alphahex(module):
    """Elsewhere it is imported by `hexenv.extras.library`, when a model is given."""
    assert "torch" not in tops_of(module) or module.startswith("agents.learning.")


def test_alphahex_is_loaded_only_when_a_network_is():
    with_torch = {module for module in SOURCES if "torch" in tops_of(module)}
    grown = set()
    while grown != with_torch:  # and what imports these at its top
        grown = set(with_torch)
        with_torch |= {module for module in SOURCES if heads_of(module) & grown}
    assert "agents.learning.training" in with_torch
    assert {module for module in with_torch if not module.startswith("agents.learning.")} == set()


def test_the_command_line_needs_no_pytorch():
    code = (
        "import sys, agents.cli; from agents.registry import agent_classes; agent_classes()\n"
        "assert not {'torch', 'safetensors', 'ray', 'prompt_toolkit', 'pygame'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("module", SOURCES)
def test_learning_libraries_are_for_the_adapters(module):
    libraries = {"stable_baselines3", "sb3_contrib", "torchrl", "tianshou", "skrl"}
    assert not tops_of(module) & libraries or module.startswith("hexenv.adapters.")


@pytest.mark.parametrize("module", SOURCES)
def test_one_module_touches_the_web_server(module):
    """What is a game's, and the pages themselves, need no extra."""
    libraries = {"starlette", "uvicorn", "websockets"}
    assert not tops_of(module) & libraries or module in ("agents.web.server", "agents.cli.serve")


@pytest.mark.parametrize("module", modules_below("hexenv"))
def test_one_module_reaches_for_agents(module):
    assert ("agents" in tops_of(module)) == (module == "hexenv.learners.opponents")


def test_agents_are_imported_only_when_one_is_asked_for():
    code = "import sys, hexenv.learners.vector; assert not {'agents', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "module", [*LAYERS["compiled"], *modules_below("hexenv.games", "agents.search")]
)
def test_the_core_knows_no_environment_library(module):
    assert not tops_of(module) & {"gymnasium", "pettingzoo", "pygame", "PIL", "rich", "click"}


@pytest.mark.parametrize("module", SOURCES)
def test_one_module_touches_prompt_toolkit(module):
    assert ("prompt_toolkit" in tops_of(module)) == (module == "agents.play.terminal")


@pytest.mark.parametrize(
    "module", ["agents.play.session", "agents.play.live", "agents.play.cursor"]
)
def test_a_persons_game_does_not_know_its_faces(module):
    assert not tops_of(module) & {"click", "PIL"}
    faces = {"plain", "terminal", "window", "picture", "command"}
    assert not imports_of(module) & {f"agents.play.{face}" for face in faces}
    assert not any(name.startswith("hexenv.render") for name in imports_of(module))


@pytest.mark.parametrize("module", modules_below("agents.search"))
def test_the_search_needs_only_the_games(module):
    ours = {name for name in imports_of(module) if name.partition(".")[0] in ("hexenv", "agents")}
    assert all(
        name.startswith(("agents.search", "hexenv.games")) or name == "hexenv.compiled"
        for name in ours
    )


@pytest.mark.parametrize("module", SOURCES)
def test_one_module_touches_pygame(module):
    assert ("pygame" in tops_of(module)) == (module == "hexenv.render.window")


@pytest.mark.parametrize("module", SOURCES)
def test_one_layer_touches_numba(module):
    assert ("numba" in tops_of(module)) == (module in LAYERS["compiled"])


@pytest.mark.parametrize("module", modules_below("hexenv.games"))
def test_games_do_not_know_each_other(module):
    shared = {f"hexenv.games.{name}" for name in ("base", "contract", "lines", "notation")}
    of_gomoku = {
        f"hexenv.games.{name}"
        for name in ("gomoku", "renju", "stone_lines", "openings", "opening_phases")
    }
    if module in of_gomoku:  # one game
        shared |= of_gomoku
    others = {name for name in imports_of(module) if name.startswith("hexenv.games")}
    assert others <= shared


@pytest.mark.parametrize("module", SOURCES)
def test_the_contract_comes_by_way_of_base(module):
    imports = imports_of(module)
    assert ("hexenv.games.contract" in imports) == (module == "hexenv.games.base")


# ---- the size of things --------------------------------------------------------------------------

MOST_LINES_OF_A_FUNCTION = 60
LONG_FUNCTIONS = {}
"""Functions that may be longer, ``module.function``, and why."""


def functions_of(module):
    """The functions of a module, those in classes and in functions too, with their lines."""
    for node in ast.walk(ast.parse(SOURCES[module].read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{module}.{node.name}", node.end_lineno - node.lineno + 1


def test_functions_are_short():
    functions = [function for module in SOURCES for function in functions_of(module)]
    assert len(functions) > 1000
    long = {name for name, lines in functions if lines > MOST_LINES_OF_A_FUNCTION}
    assert long <= set(LONG_FUNCTIONS)


# ---- the repository ------------------------------------------------------------------------------

AT_THE_TOP = {
    "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md",
    "hexenv", "agents", "tests", "examples", "docs",
}  # fmt: skip
ARTEFACTS = {"build", "dist", "htmlcov", "venv", "__pycache__"}

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
@pytest.mark.parametrize("package", ["hexenv", "agents"])
def test_packages_hold_sources_alone(package):
    files = [path for path in (ROOT / package).rglob("*") if path.is_file()]
    strangers = {
        str(path.relative_to(ROOT / package))
        for path in files
        if path.suffix != ".py" and "__pycache__" not in path.parts
    }
    solved = {name for name in strangers if name.startswith("positions")}
    nets = {name for name in strangers if re.fullmatch(r"alphahex/nets/\w+\.safetensors", name)}
    pages = {name for name in strangers if re.fullmatch(r"web/static/\w+\.(html|js|css)", name)}
    assert strangers - solved - nets - pages <= {"py.typed"}
    assert not solved | nets | pages or package == "agents"
