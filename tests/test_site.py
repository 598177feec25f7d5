"""The documentation's site: built with warnings as errors, complete, and without a network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agents.registry import agent_classes, environment_makers

ROOT = Path(__file__).parents[1]

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q"]
    done = subprocess.run(
        [*command, "-f", str(ROOT / "docs" / "mkdocs.yml"), "-d", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_game_and_agent_has_a_page(site):
    for name in environment_makers():
        page = (site / "games" / f"{name}.html").read_text(encoding="utf-8")
        assert f'src="{name}.gif"' in page
        assert (site / "games" / f"{name}.gif").read_bytes().startswith(b"GIF89a")
        for heading in ("Names", "Rules", "Actions", "Planes", "Options", "Version history"):
            assert f">{heading}<a" in page, f"{name}: {heading}"
    for name, agent in agent_classes().items():
        page = (site / "agents" / f"{name}.html").read_text(encoding="utf-8")
        assert agent.__name__ in page
        assert ">Measured strength<a" in page


def test_formulas_are_mathml(site):
    page = (site / "agents" / "uct.html").read_text(encoding="utf-8")
    assert "<msqrt>" in page
    for path in site.rglob("*.html"):
        assert 'class="arithmatex"' not in path.read_text(encoding="utf-8"), path


def test_figures_are_those_of_the_benchmarks(site):
    page = (site / "agents" / "rave.html").read_text(encoding="utf-8")
    results = (ROOT / "tests" / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `rave` \| ([^|]+) \|", results, re.MULTILINE)
    assert len(rows) > 10
    assert all(row in page for row in rows)
    assert "No figure of this agent" in (site / "agents" / "htp.html").read_text(encoding="utf-8")


def test_nothing_is_loaded_from_the_network(site):
    loaded = r'<(?:script|link|img|iframe)[^>]+(?:src|href)="?(?:https?:)?//[^>]*>'
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        found = [tag for tag in re.findall(loaded, text) if 'rel="canonical"' not in tag]
        assert not found, f"{path}: {found}"
    for path in (site / "assets").rglob("*.css"):
        assert not re.search(r"url\(\W?https?:", path.read_text(encoding="utf-8")), path
