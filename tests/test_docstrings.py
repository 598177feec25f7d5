"""The examples in docstrings, all of them: they run, and say what they print."""

import doctest
import importlib
import re
from pathlib import Path

import gymnasium
import pytest

import hexenv  # whose environments `gymnasium.make` then knows

PACKAGES = Path(hexenv.__file__).parents[1]
EXAMPLES = {
    "agents": 5,
    "agents.arena": 4,
    "agents.data.folder": 3,
    "agents.learning.data": 5,
    "agents.pictures.plots": 4,
    "agents.progress": 6,
    "agents.progress.curves": 4,
    "agents.policies.policy": 2,
    "agents.records": 4,
    "agents.records.recorder": 8,
    "agents.knowledge.gomoku.threats": 5,
    "agents.arena.running": 3,
    "hexenv": 4,
    "hexenv.learners.pool": 6,
    "hexenv.learners.single": 4,
    "hexenv.learners.vector": 4,
    "hexenv.wrappers": 5,
    "hexenv.wrappers.rewards": 2,
    "hexenv.wrappers.shape": 5,
    "hexenv.wrappers.symmetry": 5,
}
"""How many there are in each module: none vanishes unseen."""
NEEDS = {
    "agents.pictures.plots": ("matplotlib", "plot"),
    "agents.learning.data": ("torch", "torch"),
}
"""The library that the examples of a module need, and its extra."""


def sources():
    """The text of each module by name."""
    for package in ("hexenv", "agents"):
        for path in sorted((PACKAGES / package).rglob("*.py")):
            name = ".".join(path.relative_to(PACKAGES).with_suffix("").parts)
            yield name.removesuffix(".__init__"), path.read_text(encoding="utf-8")


def test_the_modules_with_examples_are_known():
    counts = {name: len(re.findall(r"^ *>>> ", text, re.MULTILINE)) for name, text in sources()}
    assert {name: count for name, count in counts.items() if count} == EXAMPLES


def test_there_are_no_examples_of_another_form():
    assert [
        name for name, text in sources() if re.search(r"^ *(```|\.\. code)", text, re.MULTILINE)
    ] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_module(name, tmp_path, monkeypatch):
    if name in NEEDS:
        library, extra = NEEDS[name]
        pytest.importorskip(library, reason=f"the extra {extra} is not installed")
    monkeypatch.chdir(tmp_path)  # some write files
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(verbose=False)
    said = []
    for test in doctest.DocTestFinder().find(module, extraglobs={"gymnasium": gymnasium}):
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)
    assert runner.tries == EXAMPLES[name]


def test_a_wrong_example_is_noticed():
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    assert doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None).failed == 1
