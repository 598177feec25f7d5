"""Tables of texts for files: Markdown, LaTeX with the package booktabs, and pages of HTML."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from agents.core.files import expect_writable, write_csv, write_text

Row = Sequence[str]

TABLES: Final = (".csv", ".md", ".tex")
"""Suffixes of the files that can be written."""

LATEX_NAMES: Final = {
    "\\": "backslash",
    "~": "asciitilde",
    "^": "asciicircum",
    "<": "less",
    ">": "greater",
}
LATEX_ESCAPED: Final = {one: rf"\text{name}{{}}" for one, name in LATEX_NAMES.items()} | {
    one: f"\\{one}" for one in "&%$#_{}"
}


def markdown_table(header: Row, rows: Iterable[Row], to_right: bool = False) -> str:
    """A table in Markdown, with a line's end; `to_right`: its cells stand there."""
    cells = ([re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in row] for row in (header, *rows))
    lines = [f"| {' | '.join(row)} |\n" for row in cells]
    rule = "---:" if to_right else "---"
    return "".join([lines[0], f"| {' | '.join([rule] * len(header))} |\n", *lines[1:]])


def latex_table(header: Row, rows: Iterable[Row], columns: str = "") -> str:
    """A table in LaTeX; `columns` are their places, all to the right without them."""
    above, *lines = (" & ".join(map(escaped, row)) + r" \\" for row in (header, *rows))
    begin = [
        rf"\begin{{tabular}}{{{columns or 'r' * len(header)}}}",
        r"\toprule",
        above,
        r"\midrule",
    ]
    return "\n".join([*begin, *lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def escaped(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(LATEX_ESCAPED.get(one, one) for one in text)


STYLE: Final = """<style>
body { font-family: sans-serif; margin: 1rem auto; max-width: 70rem; padding: 0 1rem; }
td, th { padding: 0.2rem 0.6rem; text-align: right; }
caption { font-weight: bold; text-align: left; }
svg { height: auto; max-width: 100%; }
</style>"""


def html_page(title: str, parts: Iterable[str], reload_seconds: int | None = None) -> str:
    """A page of HTML with these parts, which are HTML; a browser loads it anew at intervals."""
    again = f'<meta http-equiv="refresh" content="{reload_seconds}">' if reload_seconds else ""
    head = f'<meta charset="utf-8">{again}\n<title>{escape(title)}</title>\n{STYLE}'
    return "\n".join(["<!DOCTYPE html>", '<html lang="en">', head, *parts, ""])


# ---- files ---------------------------------------------------------------------------------------


def check_table(path: str | os.PathLike[str]) -> None:
    """ValueError if a table cannot be written there."""
    if Path(path).suffix.lower() not in TABLES:
        raise ValueError(f"expected a table to end with one of {', '.join(TABLES)}, got {path}")
    expect_writable("table", path)


def write_table(
    path: str | os.PathLike[str],
    rows: Sequence[Mapping[str, Any]],
    texts: Sequence[Row] | None = None,
) -> None:
    """Write rows as CSV, or `texts`, the header first, as Markdown or LaTeX (None: the values)."""
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        write_csv(path, rows)
        return
    header, *lines = texts or [
        [*rows[0]],
        *([text_of(value) for value in row.values()] for row in rows),
    ]
    is_latex = suffix == ".tex"
    write_text(
        path, latex_table(header, lines) if is_latex else markdown_table(header, lines, True)
    )


def text_of(value: Any) -> str:
    """A value in a cell."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
