"""The tables of the benchmark pages are those of the results that are kept."""

import importlib.util
import json
import re

import click
import pytest
from benchmarks import published

from agents.apps.cli import main

MARKS = [
    mark
    for page in published.pages()
    for mark in map(published.MARK.match, page.read_text().splitlines())
    if mark
]
KEPT = json.loads(published.INDEX.read_text())


def test_all_results_are_published_and_say_what_made_them():
    named = {name for mark in MARKS for name in mark[2].split()}
    assert named == {file.partition(".")[0] for file in KEPT}
    assert {f"{file}.xz" for file in KEPT} == {
        path.name for path in published.RESULTS.iterdir() if path.suffix == ".xz"
    }
    for about in KEPT.values():
        assert about["commit"]
        assert about["command"]
        assert about["date"]


def shown(mark):
    """The rows of the table under a mark."""
    (text,) = (page.read_text() for page in published.pages() if mark[0] in page.read_text())
    lines = text.partition(mark[0])[2].split("\n\n")[1].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def cases():
    for mark in MARKS:
        is_quick = mark[1] in ("accuracy", "openspiel")
        yield pytest.param(mark, marks=() if is_quick else pytest.mark.slow)


@pytest.mark.parametrize("mark", list(cases()))
def test_tables_are_those_of_their_results(mark):
    header, *rows = published.TABLES[mark[1]](*mark[2].split())
    assert shown(mark) == [header, ["---"] * len(header), *rows]


def test_a_page_is_made_anew():
    text = "# A\n\n<!-- table other one -->\n\n| old |\n|---|\n| 1 |\n\nAfter.\n"
    tables = {**published.TABLES, "other": lambda name: [["new"], [name]]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published, "TABLES", tables)
        found = published.made_anew(text)
        assert found == "# A\n\n<!-- table other one -->\n\n| new |\n| --- |\n| one |\n\nAfter.\n"
        assert published.made_anew(found) == found


COMMAND = re.compile(r"(?<![\w.])(hexenv|pytest|python3?(?: -m)?)\s+([\w./-]+)")


def is_there(program, word):
    """Whether a command runs something that exists."""
    root = published.HERE.parents[1]
    if program == "hexenv":
        return word in main.list_commands(click.Context(main))
    if program.endswith("-m"):
        return word == "pytest" or importlib.util.find_spec(word) is not None
    return (root / word).exists() or "NAME" in word


@pytest.mark.parametrize("page", sorted(published.HERE.glob("*.md")), ids=lambda page: page.name)
def test_each_section_with_figures_names_a_command_that_exists(page):
    head, *parts = re.split(r"^(?=## )", page.read_text(), flags=re.M)
    of_page = COMMAND.findall(head)
    for part in parts:
        commands = COMMAND.findall(part) + of_page
        assert all(is_there(*each) for each in commands), part.splitlines()[0]
        has_results = "<!-- table" in part  # `index.json` has their commands
        assert commands or has_results or not re.search(r"^\|.*\d", part, re.M), part[:80]
