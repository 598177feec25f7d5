"""Positions as text for a terminal, with or without colours."""

from typing import Final

import numpy as np

from hexenv.games import base
from hexenv.games.base import EMPTY, Game, State
from hexenv.games.notation import SYMBOLS

SIDES: Final = SYMBOLS.lower()
"""The sides of a board of hexagons, by the player who joins them."""

NO_MARK: Final = "  "
LAST_MARK: Final = "()"
WIN_MARK: Final = "[]"

# Codes of "select graphic rendition" (ECMA-48). Red and cyan differ for colour-blind people too.
COLORS: Final = ("31", "36")
BOLD: Final = "1"
FAINT: Final = "2"
INVERSE: Final = "7"


def render_text(game: Game, state: State, *, color: bool = False) -> str:
    """A position as text: the board with its coordinates, then a line that says how it stands.

    Stones are ``X`` and ``O``, an empty cell is a dot, ``(X)`` is the last move and ``[X]`` a stone
    that won; the brackets of winning neighbours join: ``[X X X]``. A board of hexagons slants as it
    does in the hand, between sides of ``x`` and ``o``: who is to join them.

    Args:
        game: The game.
        state: The position.
        color: Whether to add the escape codes of a terminal. The text is the same without them.

    Returns:
        Lines, with a line end between them and none at the end.
    """
    column_labels, row_labels = game.labels()
    margin = max(map(len, row_labels), default=-1) + 1
    slant = 1 if game.style == "hexagons" else 0
    left = margin + slant  # where the first row starts

    lines = [
        " " * (left + 1 - 2 * slant) + _paint(heading, FAINT, color=color)
        for heading in _headings(column_labels)
    ]
    for row, cells in enumerate(_rows(game, state, color=color)):
        label = row_labels[row] if row_labels else ""
        label = _paint(" " * row * slant + label.rjust(margin - 1), FAINT, color=color)
        lines.append(f"{label} {cells}" if row_labels else cells)
    if slant:
        side = _paint(" ".join(SIDES[0] * game.columns), FAINT, COLORS[0], color=color)
        lines.insert(-game.rows, " " * left + side)
        lines.append(" " * (left + game.rows + 1) + side)
    lines.append(status_text(game, state))
    return "\n".join(line.rstrip() for line in lines)


def _headings(labels: list[str]) -> list[str]:
    """The lines above the columns; a label of several characters is written downwards."""
    width = max(map(len, labels), default=0)
    letters = zip(*(label.rjust(width) for label in labels), strict=True)
    return [" ".join(line) for line in letters]


def _rows(game: Game, state: State, *, color: bool) -> list[str]:
    """The rows of cells with their marks: symbols, each between two gaps of one character."""
    owners = base.cell_owners(game, state)
    marks = np.full(owners.size, NO_MARK)
    if (last := game.last_cell(state)) != base.NO_ACTION:
        marks[last] = LAST_MARK
    marks[game.winning_cells(state)] = WIN_MARK

    edge = ""
    if game.style == "hexagons":
        edge = _paint(SIDES[1], FAINT, COLORS[1], color=color)
    return [
        edge + _row(row_owners.tolist(), row_marks.tolist(), color=color) + edge
        for row_owners, row_marks in zip(owners, marks.reshape(owners.shape), strict=True)
    ]


def _row(owners: list[int], marks: list[str], *, color: bool) -> str:
    """One row: a gap shows the closing half of the mark before it or the opening half after it."""
    text = ""
    closing = ""
    for owner, mark in zip(owners, marks, strict=True):
        gap = (closing + mark[0]).strip()
        text += gap if len(gap) == 1 else " "
        text += _symbol(owner, mark, color=color)
        closing = mark[1]
    return text + closing


def _symbol(owner: int, mark: str, *, color: bool) -> str:
    if owner == EMPTY:
        return _paint(".", FAINT, color=color)
    emphasis = {LAST_MARK: [BOLD], WIN_MARK: [BOLD, INVERSE]}.get(mark, [])
    return _paint(SYMBOLS[owner], *emphasis, COLORS[owner], color=color)


def status_text(game: Game, state: State) -> str:
    """Who is to move or has won: ``X to play (ply 3)``."""
    ply = f"(ply {state.ply})"
    if not game.is_terminal(state):
        return f"{SYMBOLS[game.to_play(state)]} to play {ply}"
    for player in (0, 1):
        if game.outcome(state, player) == 1:
            return f"{SYMBOLS[player]} has won {ply}"
    return f"draw {ply}"


def _paint(text: str, *codes: str, color: bool) -> str:
    """The text in a terminal's colours, or as it is."""
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if color else text
