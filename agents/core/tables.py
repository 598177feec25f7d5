"""Tables of texts for files: Markdown, and LaTeX with the package booktabs."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

Row = Sequence[str]

NAMED: Final = {
    "\\": "backslash",
    "~": "asciitilde",
    "^": "asciicircum",
    "<": "less",
    ">": "greater",
}
ESCAPED: Final = {one: rf"\text{name}{{}}" for one, name in NAMED.items()} | {
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
    return "".join(ESCAPED.get(one, one) for one in text)
