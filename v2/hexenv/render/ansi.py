"""Positions as text for a terminal, with or without colours."""

from typing import Final, NamedTuple

from numpy.typing import ArrayLike

from hexenv.games import base
from hexenv.games.base import EMPTY, Game, State
from hexenv.games.notation import SYMBOLS
from hexenv.render.overlay import Disc, Overlay, numbers_of

SIDES: Final = SYMBOLS.lower()
"""The letters of a hexagon board's sides, by the player who joins them."""

NO_MARK: Final = "  "
LAST_MARK: Final = "()"
WIN_MARK: Final = "[]"
HINT_MARK: Final = "<>"

# Codes of "select graphic rendition" (ECMA-48). Colour-blind people can distinguish red and cyan.
COLORS: Final = ("31", "36")
BOLD: Final = "1"
FAINT: Final = "2"
INVERSE: Final = "7"

# Codes of xterm's 256 colours for discs: text and background, from the weakest to the strongest.
HIGH: Final = ("38;5;16;48;5;225", "38;5;16;48;5;183", "38;5;231;48;5;134", "38;5;231;48;5;90")
LOW: Final = ("38;5;16;48;5;223", "38;5;16;48;5;215", "38;5;16;48;5;208", "38;5;231;48;5;166")

MIN_STRENGTH: Final = 0.02
"""Of a disc that is shown as a background colour."""


def render_text(
    game: Game,
    state: State,
    *,
    color: bool = False,
    overlay: Overlay | None = None,
    numbers: ArrayLike | None = None,
    hint: int | None = None,
) -> str:
    """A position as text: the board with its coordinates, then a line with the player to move.

    Stones are ``X`` and ``O``, an empty cell is a dot, ``(X)`` is the last move and ``[X]`` a
    winning stone; neighbours share brackets: ``[X X X]``. ``<?>`` is the cell `hint`. The rows of a
    hexagon board are shifted, and its sides are marked ``x`` and ``o`` for the player who joins
    them.

    With an overlay or numbers cells are wider: the label of an empty cell replaces its dot, that of
    a stone follows its letter: ``X12``. The overlay's title has a line of its own, and so have its
    `moves`, which pictures show as arrows.

    `color` adds the escape codes of a terminal; without them the text is the same, except for
    spaces at the ends of lines. `numbers` are those of the moves, ``(cells,)`` from 1, as
    `hexenv.render.overlay.move_numbers` returns them. The last line has no end.
    """
    cells = _cells(game, state, overlay, numbers, hint)
    width = max(len(cell.text) for cell in cells) | 1  # odd, so that text can be centred
    column_labels, row_labels = game.labels()
    is_slanted = game.style == "hexagons"
    slant = (width + 1) // 2 if is_slanted else 0
    margin = max(map(len, row_labels), default=-1) + 1
    margin = max(margin, 2 * slant - 1 - is_slanted)  # room for the headings, two rows above
    start = margin + is_slanted + 1  # of the first cell

    lines = [
        " " * (start - 2 * slant) + _paint(heading, FAINT, color=color)
        for heading in _headings(column_labels, width)
    ]
    edge = _paint(SIDES[1], FAINT, COLORS[1], color=color) if is_slanted else ""
    for row in range(game.rows):
        label = row_labels[row].rjust(margin - 1) + " " if row_labels else " " * margin
        text = _row(cells[row * game.columns :][: game.columns], width, color=color)
        lines.append(_paint(" " * row * slant + label, FAINT, color=color) + edge + text + edge)
    if is_slanted:
        side = " ".join([SIDES[0].center(width)] * game.columns)
        side = _paint(side, FAINT, COLORS[0], color=color)
        lines.insert(-game.rows, " " * (start - slant) + side)
        lines.append(" " * (start + game.rows * slant) + side)
    if overlay is not None:
        lines += [text for text in (overlay.title, overlay.listed()) if text]
    lines.append(status_text(game, state))
    return "\n".join(line.rstrip() for line in lines)


def _headings(labels: list[str], width: int) -> list[str]:
    """The lines above the columns; a label of several characters is written from top to bottom."""
    height = max(map(len, labels), default=0)
    letters = zip(*(label.rjust(height) for label in labels), strict=True)
    return [" ".join(letter.center(width) for letter in line) for line in letters]


class TextCell(NamedTuple):
    """The text of a cell, its mark and its escape codes."""

    text: str
    mark: str
    codes: tuple[str, ...]


def _cells(
    game: Game,
    state: State,
    overlay: Overlay | None,
    numbers: ArrayLike | None,
    hint: int | None,
) -> list[TextCell]:
    """The texts of all cells, by number."""
    owners: list[int] = base.cell_owners(game, state).ravel().tolist()
    marks = [NO_MARK] * len(owners)
    if (last := game.last_cell(state)) != base.NO_ACTION:
        marks[last] = LAST_MARK
    for cell in game.winning_cells(state):
        marks[cell] = WIN_MARK
    if hint is not None:
        marks[hint] = HINT_MARK
    discs = {disc.cell: disc for disc in (overlay.discs(game) if overlay is not None else ())}
    numbered = numbers_of(game, numbers).tolist()
    parts = zip(owners, marks, map(discs.get, range(len(owners))), numbered, strict=True)
    return [_cell(*part) for part in parts]


def _cell(owner: int, mark: str, disc: Disc | None, number: int) -> TextCell:
    written = str(number) if number > 0 else disc.label if disc is not None else ""
    if owner == EMPTY:
        text, codes = written or ("?" if mark == HINT_MARK else "."), (FAINT,)
    else:
        emphasis = {LAST_MARK: [BOLD], WIN_MARK: [BOLD, INVERSE]}.get(mark, [])
        text, codes = SYMBOLS[owner] + written, (*emphasis, COLORS[owner])
    if disc is not None and abs(disc.strength) > MIN_STRENGTH:
        shades = HIGH if disc.strength > 0 else LOW
        codes = (shades[min(int(abs(disc.strength) * len(shades)), len(shades) - 1)],)
    return TextCell(text, mark, codes)


def _row(cells: list[TextCell], width: int, *, color: bool) -> str:
    """A row: gaps have the closing bracket of the cell before or the opening one of the next."""
    row = ""
    closing = ""
    for text, mark, codes in cells:
        gap = (closing + mark[0]).strip()
        row += gap if len(gap) == 1 else " "
        row += _paint(text.center(width), *codes, color=color)
        closing = mark[1]
    return row + closing


def sides_text(game: Game, names: tuple[str, str] = (SYMBOLS[0], SYMBOLS[1])) -> str:
    """Which sides the players join, of a hexagon board; an empty text of any other."""
    if game.style != "hexagons":
        return ""
    return f"{names[0]} joins top and bottom ({SIDES[0]}), {names[1]} left and right ({SIDES[1]})"


def status_text(game: Game, state: State) -> str:
    """The player to move or the result: ``X to play (ply 3)``."""
    ply = f"(ply {state.ply})"
    if not game.is_terminal(state):
        return f"{SYMBOLS[game.to_play(state)]} to play {ply}"
    for player in (0, 1):
        if game.outcome(state, player) == 1:
            return f"{SYMBOLS[player]} has won {ply}"
    return f"draw {ply}"


def _paint(text: str, *codes: str, color: bool) -> str:
    """The text, with escape codes if `color`."""
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if color and text.strip() else text
