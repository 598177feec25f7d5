"""Edge templates of Hex: ``python -m agents.knowledge.hex.edge_templates`` finds and proves them.

An *edge template* is a stone and a set of empty cells, its carrier, on which the stone is connected
with a side although the opponent moves first and has all other cells, and from which no cell can be
taken away. This module finds all of them for a stone on the second, third and fourth row, with
cells in these rows only and at most `REACH` columns beyond those that the stone can reach by steps
towards the side alone. There are one, three and three. A reach of 5, tried once, gave no others.

A template is a position of Hex that player 0, who joins top and bottom, wins although player 1 is
to move: the side is the top, and in a last row player 0 has one cell, the *foot*, below the stone.
Player 1 has all cells but these and the carrier. The cells that touch the foot are the stone and
one that touches the stone too, so the sides are joined if and only if the stone is joined to the
top.

So its proof is one of `agents.knowledge.hex.proofs`, and is checked by
`agents.knowledge.hex.check_proof`. The file has a line of JSON that says what it is,

    {"format": "hexenv edge templates of Hex", "version": 1}

and then for each template a line with all lines of its proof in a list.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from agents.core.files import write_text
from agents.core.reading import parse_json, read_text
from agents.knowledge.bits import WORD
from agents.knowledge.hex.check_proof import bits_of, check_lines
from agents.knowledge.hex.h_search import Grid
from agents.knowledge.hex.proofs import prove
from agents.knowledge.hex.solver import HexSolver
from agents.solvers.questions import Clock
from hexenv.games import hex

FORMAT: Final = "hexenv edge templates of Hex"
VERSION: Final = 1
FILE: Final = Path(__file__).with_name("edge_templates.jsonl")
ROWS: Final = (2, 3, 4)
"""Where the stone is; the row along the side is the first."""
REACH: Final = 3


class Template(NamedTuple):
    """A carrier, as steps from the stone, for the side at the top."""

    row: int
    """The stone's, from 2."""
    steps: tuple[tuple[int, int], ...]
    """Rows down, below 0 or 0, and columns to the right."""


# ---- finding them --------------------------------------------------------------------------------


class Finder:
    """Finds the carriers for a stone on a row.

    Args:
        row: From 2.
        reach: Columns beyond the stone's straight way, on both sides.
    """

    def __init__(self, row: int, reach: int) -> None:
        columns = row + 2 * reach
        self.solver = HexSolver(hex.new((row + 1, columns)), 1 << 12)
        self.solver.prepare()
        stone = 1 << (row - 1) * columns + reach
        self.stones = stone | stone << columns
        self.everything = (1 << (row + 1) * columns) - 1
        self.cells = ~self.stones & sum(
            ((1 << 2 * reach + row - i) - 1) << i * columns for i in range(row)
        )
        self.found: list[int] = []

    def position(self, carrier: int) -> tuple[int, int]:
        """The stones of both players."""
        return self.stones, self.everything & ~self.stones & ~carrier

    def connects(self, carrier: int) -> bool:
        """Whether the stone is connected on a carrier."""
        return self.solver.solve(*self.position(carrier), 1, Clock())[0] == 0

    def find(self) -> list[int]:
        """All carriers, those with the fewest cells first."""
        self._find(self.cells, 0)
        return sorted(self.found, key=lambda carrier: (carrier.bit_count(), carrier))

    def _find(self, allowed: int, needed: int) -> None:
        """Find those that have all cells of one set, and none outside of another.

        Each other than one that is known leaves out one of its cells.
        """
        if any(not known & ~needed for known in self.found):
            return
        carrier = next((known for known in self.found if not known & ~allowed), 0)
        if not carrier:
            if not self.connects(allowed):
                return
            carrier = allowed
            for cell in bits_of(allowed):
                if self.connects(carrier & ~cell):
                    carrier &= ~cell
            self.found.append(carrier)
        for cell in bits_of(carrier & ~needed):
            self._find(allowed & ~cell, needed)
            needed |= cell


def as_text() -> str:
    """The file."""
    lines = [json.dumps({"format": FORMAT, "version": VERSION})]
    for row in ROWS:
        finder = Finder(row, REACH)
        for carrier in finder.find():
            proof = prove(finder.solver, finder.position(carrier), 1, Clock())[1]
            lines.append(f"[{', '.join(proof)}]")
    return "\n".join(lines) + "\n"


# ---- reading them --------------------------------------------------------------------------------


def load_templates(path: str | Path = FILE) -> list[Template]:
    """Read a file and check each proof.

    Raises:
        ValueError: If it is no such file, or proves no template, with the line.
        OSError: If it cannot be read.
    """
    head, *lines = read_text(path).splitlines() or [""]
    found: list[Template] = []
    number = 1
    try:
        if parse_json(head) != {"format": FORMAT, "version": VERSION}:
            raise ValueError(f"expected format {FORMAT!r}, version {VERSION}")
        for line in lines:
            number += 1
            proof = [json.dumps(value) for value in parse_json(line)]
            found.append(_template(check_lines(proof, "proof")))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}:{number}: no edge template: {error}") from None
    return found


def _template(head: dict[str, Any]) -> Template:
    """What the first line of a proof says, which has to be a position as above."""
    rows, columns = head["rows"], head["columns"]
    own, other = (int(stones, 16) for stones in head["stones"])
    foot = 1 << own.bit_length() - 1
    empty = (1 << rows * columns) - 1 & ~own & ~other
    row, column = divmod(own.bit_length() - 1 - columns, columns)
    if (own, row, head["winner"], head["to_move"]) != (foot | foot >> columns, rows - 2, 0, 1):
        raise ValueError(
            "expected a win of player 0, player 1 being to move, with a stone and foot"
        )
    places = [divmod(cell.bit_length() - 1, columns) for cell in bits_of(empty)]
    if any(down > row for down, _ in places):
        raise ValueError("expected no empty cell beside the foot")
    return Template(row + 1, tuple((down - row, right - column) for down, right in places))


# ---- on a board ----------------------------------------------------------------------------------


@cache
def known_templates() -> list[Template]:
    """Those in the package, in the order of their rows and sizes."""
    return load_templates()


def with_templates(grid: Grid, rows: int, columns: int) -> Grid:
    """The grid of a board, with all places of the templates on it."""
    ends: list[tuple[int, int, int]] = []
    carriers: list[list[int]] = []
    size = rows * columns
    for player, side in np.ndindex(2, 2):
        height, width = (columns, rows) if player else (rows, columns)
        for template in known_templates():
            for left in range(width):
                places = [(template.row - 1, left)]
                places += [
                    (template.row - 1 + down, left + right) for down, right in template.steps
                ]
                if not all(0 <= i < height and 0 <= j < width for i, j in places):
                    continue
                cells = [j * columns + i if player else i * columns + j for i, j in places]
                if side:
                    cells = [size - 1 - cell for cell in cells]
                bits = sum(1 << cell for cell in cells[1:])
                ends.append((player, cells[0], size + side))
                carriers.append([bits >> WORD * word & (1 << WORD) - 1 for word in range(3)])
    return grid._replace(
        template_ends=np.array(ends, np.int16).reshape(-1, 3),
        template_carriers=np.array(carriers, np.int64).reshape(-1, 3),
    )


if __name__ == "__main__":
    write_text(FILE, as_text())
