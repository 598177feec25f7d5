"""The benchmark files as pages, and the rows in them that tell how strong an agent is."""

import json
import lzma
import math
import re
from pathlib import Path
from typing import NamedTuple

from markdown.extensions.toc import slugify
from result_plots import dot_plots, is_measured, measured, time_plot
from tables import classed, table

BENCHMARKS = Path(__file__).parents[2] / "tests" / "benchmarks"
RESULTS = BENCHMARKS / "results"


class Figures(NamedTuple):
    """A table of a benchmark file."""

    page: str
    """The name of the file, without its ending."""
    headings: tuple[str, ...]
    """What it stands under, the title of the file first."""
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def benchmark_pages() -> dict[str, str | bytes]:
    """The benchmark files, and a page with what is in which."""
    files = sorted(BENCHMARKS.glob("*.md"), key=lambda file: (place_of(file), file))
    rows = [[f"[{heading_of(file)}]({page_name(file)}.md)", sections_of(file)] for file in files]
    index = (
        "# Benchmarks, and how to reproduce them\n\nAll figures of this site are quoted from these "
        "pages. They say how each was measured, and have the command that measures it again.\n\n"
    )
    pages: dict[str, str | bytes] = {
        "benchmarks/index.md": index + table(["Page", "What is measured"], rows) + "\n"
    }
    return pages | {f"benchmarks/{page_name(file)}.md": page_text(file) for file in files}


FIRST = ("RESULTS", "SPEED", "HEX", "GOMOKU", "ALPHAHEX", "LEARNING")
"""The pages that come first in the navigation, in this order."""


def place_of(file: Path) -> int:
    """Where a page stands in the navigation."""
    return FIRST.index(file.stem) if file.stem in FIRST else len(FIRST)


TABLE = re.compile(r"(?:<!-- (table|ranges)((?: [\w.-]+)*) -->\n\n)?((?:^\|.*\n)+)", re.MULTILINE)
"""A table, and the mark above it: of what `published.py` has made from results, and where these
are; or that it has ranges of rounds, which are no intervals."""


RANGE = re.compile(
    r"\(-?[\d.,]+(?:-| to )-?[\d.,]+\)(?: [A-Za-z/%]+)?(?= \|)|(?<=\| )\d[^|(`<]{2,11}(?= \|)"
)
"""An interval or a range in a cell with its unit, or a short figure: it stays on one line."""


def page_text(file: Path) -> str:
    """A file's text with links to the pages of the others, and a picture for each result."""
    text = re.sub(r"\]\(\w+\.md(?=[#)])", lambda link: link[0].lower(), file.read_text())
    return TABLE.sub(pictured, text)


def pictured(found: re.Match[str]) -> str:
    """A table of results as pictures and, folded below, as it is; others as they are."""
    kind, names, lines = found[1], (found[2] or "").split(), found[3]
    header, _, *rows = cells_of(lines)
    shown = RANGE.sub(r'<span class="range">\g<0></span>', lines)
    if kind == "ranges" or (kind is None and not is_measured(rows)):
        return shown
    parts = [plot for some in tournaments(rows, header) for plot in dot_plots(header, some)]
    made: list[str] = []
    if kind == "table":
        form, *results = names
        made = [made_by(name) for name in results]
        if form == "gauntlet":
            parts += [
                "Score against `uct` at 1,000 simulations, by the time for a move in these games:",
                by_time(results[0], rows),
            ]
    about = "The table, its command and its date" if made else "The table"
    parts += [
        f"<details markdown>\n<summary>{about}</summary>",
        shown.rstrip(),
        *made,
        "</details>",
    ]
    return "\n\n".join(parts) + "\n"


def cells_of(lines: str) -> list[list[str]]:
    """The cells of the lines of a table."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()]


def tournaments(rows: list[list[str]], header: list[str]) -> list[list[list[str]]]:
    """The rows of each tournament: ratings of two are not to be compared, and each begins anew."""
    if not header[1].startswith("Elo"):
        return [rows]
    found: list[list[list[str]]] = []
    last = -math.inf
    for row in rows:
        rating = measured(row[1])
        if not found or (rating and rating.value > last):
            found.append([])
        found[-1].append(row)
        last = rating.value if rating else last
    return found


def made_by(name: str) -> str:
    """The command, the commit and the date of results."""
    index = json.loads((RESULTS / "index.json").read_text())
    (about,) = (each for file, each in index.items() if file.partition(".")[0] == name)
    return f"Of {about['date']}, commit `{about['commit']}`:\n\n```sh\n{about['command']}\n```"


def by_time(name: str, rows: list[list[str]]) -> str:
    """The agents of a gauntlet by their score and the time that they took for a move."""
    seconds: dict[str, float] = {}
    moves: dict[str, int] = {}
    (path,) = RESULTS.glob(f"{name}.jsonl.xz")
    for line in lzma.decompress(path.read_bytes()).decode().splitlines()[1:]:
        game = json.loads(line)
        for agent, taken, count in zip(game["agents"], game["seconds"], game["moves"], strict=True):
            label = re.sub(r"[:,]simulations=1000\b", "", agent)
            seconds[label] = seconds.get(label, 0.0) + taken
            moves[label] = moves.get(label, 0) + count
    scores = {row[0].strip("`"): measured(row[1]) for row in rows}
    known = {agent: score for agent, score in scores.items() if score and agent in seconds}
    return time_plot(
        list(known), list(known.values()), [seconds[agent] / moves[agent] for agent in known]
    )


def page_name(file: Path) -> str:
    """What the page of a file is called."""
    return file.stem.lower()


def heading_of(file: Path) -> str:
    """The title of a file."""
    return file.read_text().partition("\n")[0].removeprefix("# ")


def sections_of(file: Path) -> str:
    """The headings of the second level, as links."""
    found = re.findall(r"^## (.+)$", file.read_text(), re.MULTILINE)
    return ", ".join(f"[{title}]({page_name(file)}.md#{slugify(title, '-')})" for title in found)


def figures() -> list[Figures]:
    """All tables of the benchmark files."""
    return [found for file in sorted(BENCHMARKS.glob("*.md")) for found in tables_of(file)]


def tables_of(file: Path) -> list[Figures]:
    """The tables of a file with the headings they stand under."""
    found: list[Figures] = []
    headings: list[str] = []
    lines: list[str] = []
    labels: dict[str, str] = {}
    for line in [*file.read_text().splitlines(), ""]:
        if line.startswith("|"):
            lines.append(line)
        elif lines:
            header, _, *rows = (tuple(cells) for cells in cells_of("\n".join(lines)))
            rows = tuple((labels.get(row[0], row[0]), *row[1:]) for row in rows)
            found.append(Figures(page_name(file), tuple(headings), header, rows))
            lines, labels = [], {}
        if mark := re.match(r"<!-- table \w+ (.+) -->", line):
            labels = labels_of(mark[1].split())
        if heading := re.match(r"(#+) (.+)", line):
            headings = [*headings[: len(heading[1]) - 1], heading[2]]
    return found


LABEL = re.compile(r"(?<= )([\w.-]+)=([\w-]+:\S+)")
"""An agent that a command gives a label: ``s30=rhmcts:simulations=30``."""


def labels_of(results: list[str]) -> dict[str, str]:
    """The agents of results that have a label, by it; both as cells of a table."""
    index = json.loads((RESULTS / "index.json").read_text())
    commands = [about["command"] for file, about in index.items() if file.split(".")[0] in results]
    return {f"`{label}`": f"`{agent}`" for label, agent in LABEL.findall(" ".join(commands))}


AGAINST = re.compile(r"\bagainst\b")
"""What names a column of opponents."""


def figures_of(agent: str) -> list[Figures]:
    """The tables about an agent: those whose header names it, and its rows of the others.

    A table whose first column is whom somebody else played is about that somebody.
    """
    found: list[Figures] = []
    for one in figures():
        if AGAINST.search(one.header[0]):
            continue
        rows = one.rows
        if not names(agent, one.header[0]):
            rows = tuple(row for row in rows if names(agent, row[0]))
        if rows:
            found.append(one._replace(rows=rows))
    return found


def names(agent: str, cell: str) -> bool:
    """Whether a cell of a table writes this agent, as the command line does."""
    return re.search(rf"`{re.escape(agent)}[:`]", cell) is not None


def strength(agent: str) -> str:
    """All figures of an agent, with links to how they were measured."""
    groups: dict[tuple[str, ...], list[Figures]] = {}
    for one in figures_of(agent):
        groups.setdefault((one.page, *one.headings[:2]), []).append(one)
    parts = [quoted(group) for group in groups.values()]
    return (
        "\n\n".join(parts)
        or "No table here has this agent as its subject; see [Results](../benchmarks/index.md)."
    )


def quoted(group: list[Figures]) -> str:
    """The tables of one section as one, and a link to it."""
    first = group[0]
    header = list(dict.fromkeys(name for one in group for name in one.header))
    rows = [
        [" ".join(one.headings[2:]), *(cells.get(name, "") for name in header)]
        for one in group
        for cells in (dict(zip(one.header, row, strict=True)) for row in one.rows)
    ]
    if any(row[0] for row in rows):
        header = ["", *header]
    else:
        rows = [row[1:] for row in rows]
    title = first.headings[1] if len(first.headings) > 1 else first.headings[0]
    link = f"../benchmarks/{first.page}.md#{slugify(title, '-')}"
    figures = classed("figures", table(header, rows))
    return f"[{first.headings[0]}: {title}]({link})\n\n{figures}"
