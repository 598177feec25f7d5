"""The benchmark files as pages, and the rows in them that tell how strong an agent is."""

import json
import lzma
import math
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from markdown.extensions.toc import slugify
from result_plots import Measured, dot_plots, is_measured, measured, time_plot
from writing import Pages, page, table

BENCHMARKS = Path(__file__).parents[2] / "tests" / "benchmarks"
RESULTS = BENCHMARKS / "results"


class Figures(NamedTuple):
    """A table of a benchmark file."""

    page: str
    """The name of the file, without its ending."""
    headings: tuple[str, ...]
    """What it stands under, the title of the file first."""
    header: list[str]
    rows: list[list[str]]


def benchmark_pages() -> Pages:
    """The benchmark files, and a page with what is in which."""
    files = sorted(BENCHMARKS.glob("*.md"), key=lambda file: (place_of(file), file))
    rows = [[f"[{heading_of(file)}]({page_name(file)}.md)", sections_of(file)] for file in files]
    index = page(
        "Benchmarks, and how to reproduce them",
        "All figures of this site are quoted from these pages. They say how each was measured, and "
        "have the command that measures it again.",
        table(["Page", "What is measured"], rows),
    )
    pages = {f"benchmarks/{page_name(file)}.md": page_text(file) for file in files}
    return {"benchmarks/index.md": index, **pages}


FIRST = ("RESULTS", "BENCH", "TUNING", "SPEED", "HEX", "GOMOKU", "ALPHAHEX", "LEARNING")
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
    return TABLE.sub(pictured, text).replace(OF_BENCH, bench_plots() if OF_BENCH in text else "")


OF_BENCH = "<!-- ratings by time -->"
"""Stands for the plots of the bench in the file of its leaderboard."""


def bench_plots() -> str:
    """The ratings of the bench by the time that the agents took for a move, board by board."""
    found: dict[str, list[tuple[str, Measured, float]]] = {}
    for file in sorted((RESULTS / "bench").glob("*.json")):
        about = json.loads(file.read_text())
        for one in about["boards"]:
            rating = one["rating"]
            if None not in (rating["low"], rating["high"]):
                point = Measured(rating["elo"], rating["low"], rating["high"])
                rows = found.setdefault(one["board"], [])
                rows.append((about["agent"], point, one["seconds_per_move"]))
    parts = [
        f"### {board}\n\n{time_plot(*map(list, zip(*rows, strict=True)))}"
        for board, rows in found.items()
    ]
    return "\n\n".join(parts)


def pictured(found: re.Match[str]) -> str:
    """A table of results as pictures and, folded below, as it is; others as they are."""
    kind, marked, lines = found[1], (found[2] or "").split(), found[3]
    header, _, *rows = cells_of(lines)
    shown = RANGE.sub(r'<span class="range">\g<0></span>', lines)
    if kind == "ranges" or (kind is None and not is_measured(rows)):
        return shown
    parts = [plot for some in tournaments(rows, header) for plot in dot_plots(header, some)]
    made: list[str] = []
    if kind == "table":
        form, *results = marked
        made = [
            f"Of {each['date']}, commit `{each['commit']}`:\n\n```sh\n{each['command']}\n```"
            for each in about_results(results)
        ]
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


def about_results(names: Iterable[str]) -> list[dict[str, str]]:
    """The commands, the commits and the dates of results."""
    index = json.loads((RESULTS / "index.json").read_text())
    by_name = {file.partition(".")[0]: about for file, about in index.items()}
    return [by_name[name] for name in names]


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


def tables_of(file: Path) -> Iterator[Figures]:
    """The tables of a file with the headings they stand under."""
    headings: list[str] = []
    for found in re.finditer(rf"{TABLE.pattern}|^(#+) (.+)", file.read_text(), re.MULTILINE):
        kind, marked, lines, level, heading = found.groups()
        if heading:
            headings = [*headings[: len(level) - 1], heading]
            continue
        header, _, *rows = cells_of(lines)
        labels = labels_of(marked.split()[1:]) if kind == "table" else {}
        rows = [[labels.get(row[0], row[0]), *row[1:]] for row in rows]
        yield Figures(page_name(file), tuple(headings), header, rows)


LABEL = re.compile(r"(?<= )([\w.-]+)=([\w-]+:\S+)")
"""An agent that a command gives a label: ``s30=rhmcts:simulations=30``."""


def labels_of(results: list[str]) -> dict[str, str]:
    """The agents of results that have a label, by it; both as cells of a table."""
    commands = " ".join(about["command"] for about in about_results(results))
    return {f"`{label}`": f"`{agent}`" for label, agent in LABEL.findall(commands)}


AGAINST = re.compile(r"\bagainst\b")
"""What names a column of opponents."""


def figures_of(agent: str) -> Iterator[Figures]:
    """The tables about an agent: those whose header names it, and its rows of the others.

    A table whose first column is whom somebody else played is about that somebody.
    """
    written = re.compile(rf"`{re.escape(agent)}[:`]")  # as the command line has it
    for file in sorted(BENCHMARKS.glob("*.md")):
        for one in tables_of(file):
            about = bool(written.search(one.header[0]))
            rows = [row for row in one.rows if about or written.search(row[0])]
            if rows and not AGAINST.search(one.header[0]):
                yield one._replace(rows=rows)


def strength(agent: str) -> str:
    """All figures of an agent, with links to how they were measured."""
    groups = groupby(figures_of(agent), key=lambda one: (one.page, *one.headings[:2]))
    parts = [quoted(list(group)) for _, group in groups]
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
    return f"[{first.headings[0]}: {title}]({link})\n\n{table(header, rows, 'figures')}"
