"""The graph of imports: few floors, and general code that knows no game."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("hexenv", "agents")
    for path in (ROOT / package).rglob("*.py")
}
GENERAL = tuple(
    f"agents.{room}" for room in ["arena", "core", "mcts", "planning", "search", "solvers"]
)
"""Packages that name no game."""


def named_in(nodes):
    """The modules of ours that some statements import."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in SOURCES else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(found & SOURCES.keys())


@cache
def needs(module, deep=False):
    """The modules of ours that one imports at its top, or anywhere in it."""
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    return named_in(ast.walk(tree) if deep else tree.body) - {module}


@cache
def floors(module):
    """The modules on the longest chain of imports from one down."""
    return 1 + max(map(floors, needs(module)), default=0)


def all_needs(module):
    """All modules of ours that are imported with one."""
    found, waiting = {module}, [module]
    while waiting:
        new = needs(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def test_no_chain_of_imports_is_long():
    longest = max(SOURCES, key=floors)  # a circle would raise a RecursionError
    assert floors(longest) <= 15, longest


@cache
def needs_at_all(module):
    """The modules of ours that one imports at its top or in a function, not for types alone."""
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    for_types = {
        node
        for top in tree.body
        if isinstance(top, ast.If) and "TYPE_CHECKING" in ast.unparse(top.test)
        for node in ast.walk(top)
    }
    return named_in(set(ast.walk(tree)) - for_types) - {module, "agents", "hexenv"}


def test_there_are_no_circles_of_imports():
    for module in SOURCES:
        found, waiting = set(), [module]
        while waiting:
            new = needs_at_all(waiting.pop()) - found
            found |= new
            waiting += new
        assert module not in found, module


def test_uct_needs_few_modules():
    assert len(all_needs("agents.mcts.uct")) <= 37


def test_importing_uct_loads_few_modules():
    code = (
        "import sys; from agents import UCT; UCT\n"
        "print(sum(name.partition('.')[0] in ('hexenv', 'agents') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert int(done.stdout) <= 47


@pytest.mark.parametrize("package", GENERAL)
def test_general_code_imports_nothing_that_is_known_of_a_game(package):
    for module in SOURCES:
        if f"{module}.".startswith(f"{package}."):
            assert not [name for name in needs(module, True) if "agents.knowledge" in name], module


def test_agents_holds_rooms_and_a_registry():
    assert {path.name for path in (ROOT / "agents").glob("*.py")} == {"__init__.py", "registry.py"}
