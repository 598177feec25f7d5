"""The documentation's site: built with warnings as errors, complete, and without a network."""

import html
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest
from test_browser import CHROMIUM, browser

from agents.apps.cli import COMMANDS
from agents.arena import recommended
from agents.registry import agent_classes, environment_makers, parameters
from hexenv.envs.aec import ViewOptions

__all__ = ["browser"]

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "tests" / "benchmarks"

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site: `SITE`, where CI has built it, or a new one."""
    if "SITE" in os.environ:
        return Path(os.environ["SITE"])
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]  # -q would let warnings pass
    done = subprocess.run(
        [*command, "-f", str(ROOT / "docs" / "mkdocs.yml"), "-d", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def read(path):
    """The text of a file."""
    return path.read_text(encoding="utf-8")


def plain(page):
    """What a reader sees of a page's text or of a part of it."""
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def below(page, place):
    """A page's text from a place that links lead to, up to the next heading of the second level."""
    return read(page).partition(f'id="{place}"')[2].partition("<h2")[0]


def test_every_game_and_agent_has_a_page(site):
    for name in environment_makers():
        page = read(site / "games" / f"{name}.html")
        assert f'src="{name}.gif"' in page
        assert (site / "games" / f"{name}.gif").read_bytes().startswith(b"GIF89a")
        for heading in ("Names", "Rules", "Actions", "Planes", "Options", "Version history"):
            assert f">{heading}<a" in page, f"{name}: {heading}"
    for name, agent in agent_classes().items():
        page = read(site / "agents" / f"{name}.html")
        assert agent.__name__ in page
        assert ">Measured strength<a" in page


def test_formulas_are_mathml(site):
    assert "<msqrt>" in read(site / "agents" / "uct.html")
    assert [path for path in site.rglob("*.html") if 'class="arithmatex"' in read(path)] == []


def strength_tables(site, agent):
    """The tables of figures on the page of an agent: their rows, the header first."""
    return [
        [
            [plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
            for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
        ]
        for table in re.findall(
            r"<table>.*?</table>", below(site / "agents" / f"{agent}.html", "measured-strength"),
            re.DOTALL,
        )
    ]  # fmt: skip


def test_figures_are_those_of_the_benchmarks(site):
    page = read(site / "agents" / "rave.html")
    rows = re.findall(r"^\| `rave` \| ([^|]+) \|", read(BENCHMARKS / "RESULTS.md"), re.MULTILINE)
    assert len(rows) > 10
    assert all(row in page for row in rows)
    assert strength_tables(site, "htp") == []


def test_figures_on_the_page_of_an_agent_are_its_own(site):
    for name in agent_classes():
        for header, *rows in strength_tables(site, name):
            first = next(column for column, title in enumerate(header) if title)  # before: boards
            assert "against" not in header[first], name
            assert all(name in header[first] or row[first].startswith(name) for row in rows), name


def test_figures_of_an_agent_with_another_label_are_found(site):
    tables = strength_tables(site, "rhmcts")
    budgets = [row[0] for header, *rows in tables for row in rows if header[1].startswith("Elo")]
    assert budgets == [f"rhmcts:simulations={count}" for count in (3000, 1000, 300, 100, 30)]


def test_the_reference_has_every_option_by_name(site):
    for page in (site / "reference").rglob("*.html"):
        for block in re.findall(r"<pre>.*?</pre>", read(page), re.DOTALL):
            assert "Unpack[" not in plain(block), page
    page = site / "reference" / "environments.html"
    for name in environment_makers():
        for function in ("env", "raw_env"):
            text = below(page, f"hexenv.{name}_v0.{function}")
            signature = plain(re.search(r"<pre>.*?</pre>", text, re.DOTALL)[0])
            for option in ViewOptions.__annotations__:
                assert f" {option}: " in signature, (name, function, option)


def test_the_reference_has_every_command(site):
    page = read(site / "reference" / "command-line.html")
    assert [name for name in COMMANDS if f">hexenv {name}<a" not in page] == []


def test_the_reference_has_a_page_for_each_family_of_agents(site):
    shared = read(site / "reference" / "agents" / "index.html")
    for group in recommended.source()["group"]:
        name = group["title"].lower().replace(" ", "-")
        page = read(site / "reference" / "agents" / f"{name}.html")
        for agent in map(agent_classes().__getitem__, group["agents"]):
            heading = f'id="agents.{agent.__name__}"'
            assert heading not in shared
            assert heading in page or agent.__module__ == "agents.policies.policy"


@pytest.mark.parametrize("name", agent_classes())
def test_the_example_of_an_agent_runs(name, site, capsys):
    page = below(site / "agents" / f"{name}.html", "example")
    found = re.search(r"<pre>.*?<code>(.*?)</code></pre>", page, re.DOTALL)
    if found is None:
        required = [p for p in parameters(agent_classes()[name]).values() if p.default is p.empty]
        assert required  # it needs what a reader has to provide
        return
    code = plain(found[1])  # as a reader copies it
    assert any(code in plain(read(path)) for path in (site / "reference").rglob("*.html"))
    if "net" in code:
        pytest.importorskip("torch", reason="the extra train is not installed")
    exec(compile(code.replace("simulations=1000", "simulations=20"), name, "exec"), {})
    assert capsys.readouterr().out.strip()


class Links(HTMLParser):
    """What a page leads to, and the places in it that can be led to."""

    def __init__(self, page):
        super().__init__()
        self.targets, self.places = [], {"", "__skip"}
        self.feed(read(page))

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("href", "src") and value is not None and tag != "base":
                self.targets.append(value if key == "href" else value.partition("#")[0])
            elif key in ("id", "name") and value:
                self.places.add(value)


def test_no_link_inside_the_site_is_dead(site):
    pages = {path.resolve(): Links(path) for path in site.rglob("*.html")}
    assert len(pages) > 50
    dead = []
    for path, links in pages.items():
        if path.name == "404.html":  # its links begin at the root of a server
            continue
        for link in links.targets:
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            found = (path.parent / unquote(target.path)).resolve() if target.path else path
            places = pages[found].places if found in pages else {""}
            if not found.is_file() or unquote(target.fragment) not in places:
                dead.append(f"{path.relative_to(site)}: {link}")
    assert dead == []


SOUGHT = {
    "sb3": ["tutorials/sb3.html"],
    "stable baselines": ["tutorials/sb3.html"],
    "rllib": ["tutorials/rllib.html"],
    "ppo": ["tutorials/sb3.html", "tutorials/cleanrl.html"],
    "self-play": ["tutorials/alphahex.html"],
    "cite": ["project/cite.html"],
    "hex": ["games/hex.html"],
    "tournament": ["tutorials/evaluate.html", "guides/tournaments.html"],
    "which agent": ["agents/which.html"],
    "own game": ["guides/own-game.html"],
    "gymnasium": ["guides/learners.html"],
    "action mask": ["guides/environments.html"],
    "BibTeX": ["project/cite.html"],
    "speed": ["benchmarks/speed.html"],
    "offline RL": ["guides/data.html"],
    "dataset": ["guides/data.html"],
    "league": ["tutorials/rllib.html"],
    "strength": ["benchmarks/results.html", "benchmarks/index.html"],
    "reproduce": ["benchmarks/index.html"],
    "serve": ["guides/play.html"],
}
"""Words that a newcomer looks for, and the pages of which one has to be found first."""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on PATH")
@pytest.mark.parametrize("words", SOUGHT)
def test_what_newcomers_look_for_is_found_first(words, site, browser):
    page = browser.new_page()
    page.goto(f"{(site / 'index.html').as_uri()}?q={quote(words)}")
    page.wait_for_selector(".md-search-result__item a")
    found = page.evaluate("document.querySelector('.md-search-result__item a').href")
    page.close()
    assert found.partition("?")[0] in [(site / name).as_uri() for name in SOUGHT[words]]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on PATH")
def test_a_phone_shows_all_dots_of_charts_and_whole_commands(site, browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    for path in sorted((site / "benchmarks").glob("*.html")):
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        hidden = page.evaluate("""[...document.querySelectorAll('.plot circle')].filter((dot) => (
            dot.getBoundingClientRect().right > dot.closest('.plot').getBoundingClientRect().right
        )).length""")
        cut = page.evaluate("""[...document.querySelectorAll('.language-sh pre > code')].filter(
            (code) => code.scrollWidth > code.clientWidth).length""")
        assert (hidden, cut) == (0, 0), path
    page.close()


FIGURE = re.compile(r"[-+]?[\d.]+(?: %)? \([-+]?[\d.]+(?:-| to )[-+]?[\d.]+\)")
"""A figure with its interval, as the benchmark files write it."""


def tables_with_intervals(source):
    """The rows of each table of results, and of others with intervals in two rows or more."""
    table = r"^(?:<!-- (\w+).* -->\n\n)?\|.*\n\|[-| ]+\n((?:\|.*\n)+)"
    for found in re.finditer(table, read(source), re.MULTILINE):
        rows = [[cell.strip() for cell in row.split("|")] for row in found[2].splitlines()]
        several = sum(any(map(FIGURE.fullmatch, row)) for row in rows) > 1
        if found[1] == "table" or (several and found[1] != "ranges"):
            yield rows


@pytest.mark.parametrize("name", [path.stem for path in sorted(BENCHMARKS.glob("*.md"))])
def test_every_table_with_intervals_is_a_picture_above_the_folded_table(name, site):
    tables = list(tables_with_intervals(BENCHMARKS / f"{name}.md"))
    page = read(site / "benchmarks" / f"{name.lower()}.html")
    folded = list(re.finditer(r"<details>.*?</details>", page, re.DOTALL))
    assert len(folded) == len(tables)
    at = 0
    for rows, below_it in zip(tables, folded, strict=True):
        plots = page[at : below_it.start()]
        drawn = sum(FIGURE.fullmatch(cell) is not None for row in rows for cell in row)
        dots = re.findall(r'<div class="plot">.*?<text class="about".*?</svg></div>', plots)
        assert sum(plot.count('class="interval"') for plot in dots) == drawn > 0
        assert all(re.search(r'role="img" aria-label="[^"]{40,}"', plot) for plot in dots)
        for row in rows:
            if any(map(FIGURE.fullmatch, row)):
                label = re.sub(r"\[(.+?)\]\(.*?\)", r"\1", row[1]).replace("`", "")
                assert html.escape(label) in plots, label
        at = below_it.end()


def test_tables_made_from_results_have_their_commands_and_dates(site):
    found = ""
    for source in BENCHMARKS.glob("*.md"):
        page = read(site / "benchmarks" / f"{source.stem.lower()}.html")
        folded = re.findall(r"<details>.*?</details>", page, re.DOTALL)
        assert sum("commit" in each for each in folded) == read(source).count("<!-- table ")
        found += plain("".join(folded))
    index = json.loads(read(BENCHMARKS / "results" / "index.json"))
    assert [name for name, about in index.items() if about["command"] not in found] == []


def test_nothing_is_loaded_from_the_network(site):
    loaded = r'<(?:script|link|img|iframe)[^>]+(?:src|href)="?(?:https?:)?//[^>]*>'
    for path in site.rglob("*.html"):
        found = [tag for tag in re.findall(loaded, read(path)) if 'rel="canonical"' not in tag]
        assert not found, f"{path}: {found}"
    for path in (site / "assets").rglob("*.css"):
        assert not re.search(r"url\(\W?https?:", read(path)), path
