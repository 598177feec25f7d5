"""The examples in docstrings, all of them: they run, and say what they print."""

import ast
import doctest
import importlib
import re

import gymnasium
import pytest
from sources import ROOT, SOURCES, text_of, tree_of
from test_public_names import WITH_LIST, imported, listed_in, programs

from agents.registry import AGENTS

PROMPT = re.compile(r"^ *>>> ", re.MULTILINE)
COUNTS = {name: len(PROMPT.findall(text_of(name))) for name in SOURCES}
EXAMPLES = {name: count for name, count in COUNTS.items() if count}
"""How many there are in each module that has some."""
NEEDS = {
    "agents.learning.dataset": ("torch", "train"),
    "agents.records.plots": ("matplotlib", "plot"),
    "agents.learning.progress.writers": ("tensorboard", "train"),
    "hexenv.adapters.networks": ("torch", "train"),
}
"""The library that the examples of a module need, and its extra."""
ADAPTERS = ("hexenv.adapters.rllib", "hexenv.adapters.sb3", "hexenv.adapters.torchrl")
"""Whose libraries CI has in an environment of their own; `test_rl.py` runs their examples."""
OF_MODULES = (
    "agents", "agents.arena", "agents.knowledge.gomoku.threats", "agents.policies.policy",
    "agents.learning.progress", "agents.records", "hexenv", "hexenv.learners.pool",
    "hexenv.learners.single", "hexenv.learners.vector", "hexenv.wrappers",
)  # fmt: skip
"""Modules that begin with an example."""
PARTS = (
    "agents.search.backups", "agents.search.playout", "agents.search.proofs",
    "agents.search.reward", "agents.search.selection", "agents.search.variant",
)  # fmt: skip
"""Modules whose compiled classes are parts of a search."""
MADE_ELSEWHERE = {"RandomStream", "WandbWriter"}
"""What compiled code or a service makes, so that an example would show nothing."""


def classes_of(module):
    """The classes that a module of ours defines, by name."""
    if module not in SOURCES:
        return {}
    return {node.name: node for node in tree_of(module).body if isinstance(node, ast.ClassDef)}


def is_made_by_users(node):
    """Whether a class is made by who uses it.

    Errors are raised, protocols are followed, and the options that a TypedDict names are given.
    """
    bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
    is_error = any(base.endswith("Error") or base == "Exception" for base in bases)
    return (
        not is_error and not bases & {"Protocol", "TypedDict"} and node.name not in MADE_ELSEWHERE
    )


def imported_classes():
    """The classes that users import, as pairs of a module and a name."""
    for module in WITH_LIST:
        public = importlib.import_module(module)
        for name in listed_in(module):
            yield getattr(getattr(public, name), "__module__", ""), name
    for text in programs():
        yield from ((module, name) for module, name in imported(text) if module[0] == "h")


def parts_of_a_search():
    """The compiled classes that the reference names: rules, playouts, rewards, backups, proofs."""
    reference = (ROOT / "docs" / "generator" / "reference_pages.py").read_text(encoding="utf-8")
    for module in SOURCES:
        for name, node in classes_of(module).items():
            decorators = [ast.unparse(each) for each in node.decorator_list]
            is_compiled = not {"compiled", "part"}.isdisjoint(decorators)
            if is_compiled and (module in PARTS or f'"{module}.{name}"' in reference):
                yield module, name


def public_classes():
    """The classes that users import, and the parts of a search.

    Agents by name are not among them: the page of each has an example that is made from the class,
    and the reference shows it (`test_site.py`).
    """
    by_name = {tuple(path.split(":")) for path in AGENTS.values()}
    found = {*imported_classes(), *parts_of_a_search()} - by_name
    known = {(m, name): classes_of(m)[name] for m, name in found if name in classes_of(m)}
    return {pair: node for pair, node in known.items() if is_made_by_users(node)}


def test_every_public_class_has_an_example():
    known = public_classes()
    assert len(known) > 70
    without = [
        pair for pair, node in known.items() if not PROMPT.search(ast.get_docstring(node) or "")
    ]
    assert without == []
    assert [m for m in OF_MODULES if ">>> " not in (ast.get_docstring(tree_of(m)) or "")] == []


def test_there_are_no_examples_of_another_form():
    another = re.compile(r"^ *(```|\.\. code)", re.MULTILINE)
    assert [name for name in SOURCES if another.search(text_of(name))] == []


def set_up():
    """The names that each example may use: what the reference shows before them all."""
    reference = ast.parse((ROOT / "docs" / "generator" / "reference_pages.py").read_text("utf-8"))
    lines = next(
        ast.literal_eval(node.value)
        for node in reference.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SETUP"
    )
    names = {"gymnasium": gymnasium}
    exec("".join(line.removeprefix(">>> ") for line in lines.splitlines(keepends=True)), names)
    return names


def run_examples(name):
    """Run the examples of a module: how many there were, and what was wrong."""
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(verbose=False)
    said = []
    for test in doctest.DocTestFinder().find(module):
        test.globs = set_up() | test.globs
        runner.run(test, out=said.append)
    return runner.tries, "".join(said) if runner.failures else ""


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - set(ADAPTERS)))
def test_the_examples_of_a_module(name, tmp_path, monkeypatch):
    if name in NEEDS:
        library, extra = NEEDS[name]
        pytest.importorskip(library, reason=f"the extra {extra} is not installed")
    monkeypatch.chdir(tmp_path)  # some write files
    assert run_examples(name) == (EXAMPLES[name], "")


def test_a_wrong_example_is_noticed():
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    assert doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None).failed == 1
