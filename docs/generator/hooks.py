"""What MkDocs calls while it builds the site: the pages made from the code, and the formulas."""

import html
import re
from typing import Any

from agent_pages import agent_navigation, agent_pages
from benchmark_pages import benchmark_pages
from gallery_page import gallery_page
from game_pages import game_pages
from latex2mathml.converter import convert
from mkdocs.structure.files import File
from notebook_pages import notebook_pages
from reference_pages import reference_pages
from writing import Pages

MAKERS = (
    game_pages, agent_pages, benchmark_pages, reference_pages, gallery_page, notebook_pages,
)  # fmt: skip

PAGES: Pages = {}
"""The pages and pictures that are made from the code, by path; in the order of the navigation."""


def on_config(config: Any) -> Any:
    """Make the pages, and fill the entries ``folder/*`` of the navigation with them."""
    PAGES.clear()
    for make in MAKERS:
        PAGES.update(make())
    config.nav = [
        {title: made_in(entry[:-1]) if str(entry).endswith("/*") else entry}
        for item in config.nav
        for title, entry in item.items()
    ]
    return config


def made_in(folder: str) -> list[Any]:
    """The pages made in a folder, its index first, and its folders; those of agents by group."""
    if folder == "agents/":
        return agent_navigation()
    found: list[Any] = []
    for path in PAGES:
        inner, slash, _ = path.removeprefix(folder).partition("/")
        if not path.startswith(folder) or not path.endswith(".md"):
            continue
        entry = {inner.capitalize(): made_in(f"{folder}{inner}/")} if slash else path
        if entry not in found:
            found.append(entry)
    return sorted(found, key=lambda entry: entry != f"{folder}index.md")


def on_files(files: Any, config: Any) -> Any:
    """Add what was made to what was written."""
    for path, content in PAGES.items():
        files.append(File.generated(config, path, content=content))
    return files


WEIGHTS = {
    "index.md": 3,
    "tutorials/index.md": 1,
    "tutorials/sb3.md": 4,
    "tutorials/analyse.md": 1.5,
    "tutorials/": 2,
    "project/cite.md": 2,
    "project/changelog.md": 0.2,
    "reference/command-line.md": 0.0005,  # its headings are words that guides have in texts
    "reference/": 0.5,
    "benchmarks/index.md": 2,
    "benchmarks/results.md": 2,
    "benchmarks/speed.md": 2,
    "benchmarks/": 0.5,
    "agents/which.md": 2,
    "agents/sb3.md": 0.3,
    "agents/rllib.md": 0.3,
    "agents/own-network.md": 0.3,
    "agents/hexpert.md": 0.5,
    "agents/hexzero.md": 0.5,
    "games/index.md": 1,
    "games/": 3,
    "guides/own-game.md": 3,
    "guides/environments.md": 2,
    "guides/play.md": 2,
    "guides/": 1.5,
}
"""What pages count in the search, by how their path begins: the first that fits."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Say what the page counts in the search: what teaches comes before what lists."""
    path = page.file.src_uri
    weight = next((each for start, each in WEIGHTS.items() if path.startswith(start)), 1)
    page.meta["search"] = {"boost": weight}
    return markdown


def on_page_content(page_html: str, **_: Any) -> str:
    r"""Turn what Arithmatex has marked, ``\(...\)`` and ``\[...\]``, into MathML; link names."""
    marked = r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>'
    page_html = re.sub(marked, formula, page_html, flags=re.DOTALL)
    return re.sub(NAME, link, page_html)


NAME = re.compile(r"<a\b.*?</a>|<code>((?:hexenv|agents)(?:\.\w+)+)(?:\(\))?</code>", re.DOTALL)
"""A name of the packages in a text, or a link, in which none is made."""


def link(match: re.Match[str]) -> str:
    """A name as a link to where the reference has it, if it does."""
    if match[1] is None:
        return match[0]
    return f'<autoref identifier="{match[1]}" optional>{match[0]}</autoref>'


def formula(match: re.Match[str]) -> str:
    """A formula as MathML, which browsers show without a script."""
    display = "block" if match[1] == "div" else "inline"
    return convert(html.unescape(match[2]).strip(), display=display)


def on_post_page(output: str, **_: Any) -> str:
    """Give the search a name, which the theme leaves out."""
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">')
