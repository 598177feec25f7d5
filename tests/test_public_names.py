"""What users import: everything that the guides, the examples and `__all__` name is there."""

import ast
import importlib
import inspect
import json
import re

import pytest
from sources import ROOT, SOURCES, text_of, tree_of

import agents
from agents.registry import agent_classes

WITH_LIST = [module for module in SOURCES if re.search(r"^__all__ = ", text_of(module), re.M)]
NEEDS = {"hexenv.adapters": "torch", "agents.learning": "torch", "agents.policies.models": "torch"}
"""Packages that need a library of an extra."""


def imported(text):
    """The names that a program imports of ours, each with its module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (
            "agents",
            "hexenv",
        ):
            for alias in node.names:
                yield node.module, alias.name


def programs():
    """The programs that users see."""
    for path in [ROOT / "README.md", *(ROOT / "docs" / "pages").rglob("*.md")]:
        blocks = re.findall(r"^( *)```python\n(.*?)^ *```", path.read_text("utf-8"), re.S | re.M)
        for indent, text in blocks:
            yield "\n".join(line.removeprefix(indent) for line in text.splitlines())
    for path in (ROOT / "examples").rglob("*.py"):
        yield path.read_text("utf-8")
    for path in (ROOT / "examples").rglob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        yield "\n".join(line for cell in code for line in cell.splitlines() if line[:1] not in "%!")


def made_in(module):
    """The names that a module makes itself."""
    found = set()
    for node in tree_of(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update(ast.unparse(target) for target in targets)
    return found


def listed_in(module):
    """The names of `__all__`."""
    for node in tree_of(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return []


def test_programs_import_what_is_public_from_where_it_is_made():
    found = {pair for text in programs() for pair in imported(text)}
    assert ("agents", "UCT") in found
    assert ("hexenv", "hex_v0") in found
    assert len(found) > 80
    for module, name in sorted(found):
        is_module = f"{module}.{name}" in SOURCES
        assert module in SOURCES, module
        assert not name.startswith("_"), name
        assert is_module or name in listed_in(module) or name in made_in(module), (module, name)


@pytest.mark.parametrize("module", WITH_LIST)
def test_what_a_module_lists_is_there_and_described(module):
    for package, needed in NEEDS.items():
        if module.startswith(package):
            pytest.importorskip(needed, reason=f"{needed} is not installed")
    listed, found = listed_in(module), importlib.import_module(module)
    assert len(set(listed)) == len(listed)
    for name in listed:
        each = getattr(found, name)
        is_ours = getattr(each, "__module__", "") in SOURCES
        if is_ours and "<locals>" not in getattr(each, "__qualname__", "<locals>"):
            assert inspect.getdoc(each), name


def test_every_agent_by_name_is_public():
    known = {getattr(agents, name) for name in agents.__all__}
    by_path = {kind.__name__ for kind in agent_classes().values() if kind not in known}
    assert by_path == {"RLlibPolicy", "SB3Policy"}  # made by `PolicyAgent`
