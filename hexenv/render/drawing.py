"""What boards, stones and marks look like, drawn with any pen: once for pixels and for SVG.

Colours are named as in `hexenv.render.look.Palette.paints`. Stones and marks are drawn around the
centre of their cell; lengths are fractions of the board's `size`.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hexenv.games.base import EMPTY
from hexenv.render.board import (
    MIN_LABELLED_SIZE,
    Board,
    Corners,
    Point,
    around,
    bands,
    centers_of,
    hexagon,
    star_points,
)
from hexenv.render.overlay import Disc

BALL_RADII: Final = {"points": 0.45, "hexagons": 0.39}
PATH: Final = (("board", 0.2), ("win", 0.11))
"""The line through the cells of a winning path: paint and width, the edge below it first."""
DISC_RADIUS: Final = 0.4
"""Of the discs of an overlay: they fit squares, holes and hexagons."""
DISC_OPACITY: Final = 0.88
"""Of the strongest disc."""
LABEL_SIZE: Final = 0.32
"""Height of the coordinates."""


class Pen(Protocol):
    """What draws shapes; a paint is the name of a colour."""

    def polygon(self, points: list[Point], paint: str, outline: str = "", width: float = 0) -> None:
        """A filled polygon, with an outline if it has a paint."""
        ...

    def box(self, corners: Corners, radius: float, paint: str) -> None:
        """A rectangle with round corners."""
        ...

    def frame(self, corners: Corners, radius: float, width: float, paint: str) -> None:
        """The outline of a rectangle with round corners, inside it."""
        ...

    def circle(self, center: Point, radius: float, paint: str) -> None:
        """A filled circle."""
        ...

    def ring(self, center: Point, radius: float, width: float, paint: str) -> None:
        """The outline of a circle, inside it."""
        ...

    def line(self, start: Point, end: Point, width: float, paint: str) -> None:
        """A line with round ends."""
        ...

    def shine(self, center: Point, radius: float) -> None:
        """Light on a round stone, from the top left."""
        ...

    def shadow(self, center: Point, radius: float) -> None:
        """A soft shadow, faint at its edge."""
        ...


# ---- the empty board -----------------------------------------------------------------------------


def draw_ground(pen: Pen, board: Board) -> None:
    """All of the empty board but its cells: the sides, the wall, or the lines."""
    match board.style:
        case "squares":
            _draw_grid(pen, board)
        case "points":
            _draw_crossing_lines(pen, board)
        case "holes":
            _draw_wall(pen, board)
        case "hexagons":
            for width, paint in ((0.22, "edge"), (0.2, "stone")):
                for number, band in enumerate(bands(board, width * board.size)):
                    pen.polygon(band, f"{paint}-{number % 2}")


def draw_cell(pen: Pen, board: Board, center: Point) -> None:
    """An empty cell, where there is something to see of it."""
    size, (x, y) = board.size, center
    match board.style:
        case "holes":  # with a shaded edge above, as if they were deep
            pen.circle(center, 0.42 * size, "line")
            pen.circle((x, y + 0.02 * size), 0.395 * size, "page")
        case "hexagons":
            pen.polygon(hexagon(board, center), "board", "line", 0.035 * size)
        case _:
            pass


def _draw_grid(pen: Pen, board: Board) -> None:
    """Lines between the cells, open to the outside."""
    width = 0.05 * board.size
    left, top, right, bottom = -0.5, -0.5, board.columns - 0.5, board.rows - 0.5
    for row in range(1, board.rows):
        pen.line(board.center(row - 0.5, left), board.center(row - 0.5, right), width, "line")
    for column in range(1, board.columns):
        pen.line(board.center(top, column - 0.5), board.center(bottom, column - 0.5), width, "line")


def _draw_crossing_lines(pen: Pen, board: Board) -> None:
    """Lines through the cells, and star points."""
    size, bottom, right = board.size, board.rows - 1, board.columns - 1
    for row in range(board.rows):
        width = 0.05 if row in (0, bottom) else 0.028
        pen.line(board.center(row, 0), board.center(row, right), width * size, "line")
    for column in range(board.columns):
        width = 0.05 if column in (0, right) else 0.028
        pen.line(board.center(0, column), board.center(bottom, column), width * size, "line")
    for row, column in star_points(board.rows, board.columns):
        pen.circle(board.center(row, column), 0.09 * size, "line")


def _draw_wall(pen: Pen, board: Board) -> None:
    left, top = board.center(-0.5, -0.5)
    right, bottom = board.center(board.rows - 0.5, board.columns - 0.5)
    frame = 0.12 * board.size
    corners = left - frame, top - frame, right + frame, bottom + frame
    pen.box(corners, 0.3 * board.size, "board")


# ---- stones and marks ----------------------------------------------------------------------------


def draw_stone(pen: Pen, board: Board, player: int, center: Point) -> None:
    """Cross and ring on squares, balls on points and hexagons, discs in holes."""
    size, (x, y) = board.size, center
    stone, edge = f"stone-{player}", f"edge-{player}"
    match board.style:
        case "squares" if player == 0:
            arm = 0.23 * size
            pen.line((x - arm, y - arm), (x + arm, y + arm), 0.13 * size, stone)
            pen.line((x - arm, y + arm), (x + arm, y - arm), 0.13 * size, stone)
        case "squares":
            pen.ring(center, 0.32 * size, 0.13 * size, stone)
        case "holes":
            pen.circle(center, 0.42 * size, edge)
            pen.circle(center, 0.385 * size, stone)
            pen.circle(center, 0.27 * size, edge)
            pen.circle((x, y + 0.012 * size), 0.25 * size, f"inner-{player}")
        case "points" | "hexagons":
            if board.style == "points":
                pen.shadow((x + 0.02 * size, y + 0.04 * size), 0.46 * size)
            radius = BALL_RADII[board.style] * size
            pen.circle(center, radius, edge)
            pen.circle(center, 0.93 * radius, stone)
            pen.shine(center, 0.93 * radius)


def draw_last_mark(pen: Pen, board: Board, player: int, center: Point, numbered: bool) -> None:
    """The mark of the stone placed last: a dot on it, or a frame around a cross or ring.

    On a stone that has a number the dot is a ring around it.
    """
    size = board.size
    if numbered and board.style != "squares":
        pen.ring(center, 0.34 * size, 0.04 * size, f"mark-{player}")
    elif board.style == "squares":
        pen.frame(around(center, 0.43 * size), 0.1 * size, 0.04 * size, f"pale-{player}")
    else:
        pen.circle(center, 0.1 * size, f"mark-{player}")


def draw_win_mark(pen: Pen, board: Board, player: int, center: Point) -> None:
    """The mark of a stone of a winning line: a ring on it, or its cross or ring on a lit square."""
    size = board.size
    if board.style == "squares":
        pen.box(around(center, 0.43 * size), 0.1 * size, "win")
        draw_stone(pen, board, player, center)
    else:
        pen.ring(center, 0.45 * size, 0.08 * size, "win")


# ---- text and discs ------------------------------------------------------------------------------


class Text(NamedTuple):
    """Something to write on a cell."""

    center: Point
    text: str
    paint: str


def figure_size(board: Board) -> float:
    """Height of the text on discs and stones, in pixels; 0 where it would not be readable."""
    return 0.3 * board.size if board.size >= MIN_LABELLED_SIZE else 0


def number_size(board: Board) -> float:
    """Height of the numbers of moves; crosses and rings leave them a corner of the cell."""
    return figure_size(board) * (0.75 if board.style == "squares" else 1)


def disc_layers(board: Board, disc: Disc) -> list[tuple[str, float]]:
    """The circles of a disc, the lowest first: paint and opacity, 0 to 1."""
    colored = ("high" if disc.strength > 0 else "low"), DISC_OPACITY * abs(disc.strength)
    # Figures could not be read over the lines that cross there.
    return [("board", 0.85), colored] if board.style == "points" else [colored]


def disc_figure(board: Board, disc: Disc) -> Text:
    """What is written on a disc."""
    paint = "figure-on-disc" if abs(disc.strength) > 0.5 else "figure"
    return Text(centers_of(board)[disc.cell], disc.label, paint)


def number_texts(board: Board, owners: list[int], numbers: NDArray[np.int64]) -> Iterator[Text]:
    """The numbers of the moves on their stones, or beside crosses and rings."""
    for cell in np.flatnonzero(numbers > 0).tolist():
        x, y = centers_of(board)[cell]
        paint = f"mark-{owners[cell]}" if owners[cell] != EMPTY else "figure"
        if board.style == "squares":
            x, y, paint = x + 0.34 * board.size, y + 0.34 * board.size, "label"
        yield Text((x, y), str(numbers[cell]), paint)
