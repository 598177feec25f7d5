"""The drawing of boards, stones and marks, written once for pixels and for SVG.

`scene_of` lists the things to show in a position; `draw_ground`, `draw_cell` and `draw_sprite` draw
them with a `Pen`. Colours have the names of `hexenv.render.look.paints_of`; lengths are
fractions of the side of a cell.
"""

from collections.abc import Iterable, Iterator
from math import hypot
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from hexenv.games import base
from hexenv.games.base import EMPTY, NO_ACTION, Game, State
from hexenv.render.geometry import (
    MIN_LABELLED_SIZE,
    BoardGeometry,
    Corners,
    Point,
    around,
    bands,
    centers_of,
    hexagon,
    star_points,
)
from hexenv.render.overlay import Arrow, Disc, Overlay, numbers_of

BALL_RADII: Final = {"points": 0.45, "hexagons": 0.39}
PATH: Final = (("board", 0.2), ("win", 0.11))
"""The line through the cells of a winning path: the paint and width of its edge, then of itself."""
DISC_RADIUS: Final = 0.4
"""Of the discs of an overlay: they fit squares, holes and hexagons."""
DISC_OPACITY: Final = 0.88
"""Of the strongest disc or arrow."""
ARROW: Final = (0.12, 0.36, 0.34, 0.19)
"""Widths of an arrow's shaft and head, length of its head, and radius of the disc of its label."""
ARROW_LABEL: Final = 0.35
"""Where on an arrow its label is, from 0 to 1: arrows that cross each other have two places."""
LABEL_SIZE: Final = 0.32
"""Height of the coordinates."""


class Pen(Protocol):
    """Draws filled shapes and outlines; a paint is the name of a colour.

    Boxes and frames have round corners, lines round ends. A frame or ring is inside its corners or
    radius. `shine` is light on a round stone from the top left, `shadow` is faint at its edge.
    """

    def polygon(
        self, points: list[Point], paint: str, outline: str = "", width: float = 0
    ) -> None: ...
    def box(self, corners: Corners, radius: float, paint: str) -> None: ...
    def frame(self, corners: Corners, radius: float, width: float, paint: str) -> None: ...
    def circle(self, center: Point, radius: float, paint: str) -> None: ...
    def ring(self, center: Point, radius: float, width: float, paint: str) -> None: ...
    def line(self, start: Point, end: Point, width: float, paint: str) -> None: ...
    def shine(self, center: Point, radius: float) -> None: ...
    def shadow(self, center: Point, radius: float) -> None: ...


# ---- the empty board -----------------------------------------------------------------------------


def draw_ground(pen: Pen, board: BoardGeometry) -> None:
    """The empty board without its cells: its sides, wall or lines."""
    match board.style:
        case "squares":
            _draw_grid(pen, board)
        case "points":
            _draw_crossing_lines(pen, board)
        case "holes":
            left, top = board.center(-0.5, -0.5)
            right, bottom = board.center(board.rows - 0.5, board.columns - 0.5)
            frame = 0.12 * board.size
            corners = left - frame, top - frame, right + frame, bottom + frame
            pen.box(corners, 0.3 * board.size, "board")
        case "hexagons":
            for width, paint in ((0.22, "edge"), (0.2, "stone")):
                for number, band in enumerate(bands(board, width * board.size)):
                    pen.polygon(band, f"{paint}-{number % 2}")


def draw_cell(pen: Pen, board: BoardGeometry, center: Point) -> None:
    """An empty cell of a style that shows its cells."""
    size, (x, y) = board.size, center
    match board.style:
        case "holes":  # the shaded upper edge makes them look deep
            pen.circle(center, 0.42 * size, "line")
            pen.circle((x, y + 0.02 * size), 0.395 * size, "page")
        case "hexagons":
            pen.polygon(hexagon(board, center), "board", "line", 0.035 * size)
        case _:
            pass


def _draw_grid(pen: Pen, board: BoardGeometry) -> None:
    """Lines between the cells, open to the outside."""
    width = 0.05 * board.size
    bottom, right = board.rows - 0.5, board.columns - 0.5
    for row in np.arange(0.5, bottom).tolist():
        pen.line(board.center(row, -0.5), board.center(row, right), width, "line")
    for column in np.arange(0.5, right).tolist():
        pen.line(board.center(-0.5, column), board.center(bottom, column), width, "line")


def _draw_crossing_lines(pen: Pen, board: BoardGeometry) -> None:
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


# ---- stones and marks ----------------------------------------------------------------------------

SPRITES: Final = ("stone", "last", "numbered", "plate", "win")
"""A stone, the mark of the last stone, the same mark around a number, the background of a number on
a winning path, and the mark of a stone of a winning line."""


def draw_sprite(pen: Pen, board: BoardGeometry, name: str, player: int, center: Point) -> None:
    """One of `SPRITES` of a player, around the centre of its cell."""
    size, is_square = board.size, board.style == "squares"
    match name:
        case "last" | "numbered" if is_square:
            pen.frame(around(center, 0.43 * size), 0.1 * size, 0.04 * size, f"pale-{player}")
        case "last":
            pen.circle(center, 0.1 * size, f"mark-{player}")
        case "numbered":
            pen.ring(center, 0.34 * size, 0.04 * size, f"mark-{player}")
        case "plate":
            pen.circle(center, 0.25 * size, f"stone-{player}")
        case "win" if is_square:
            pen.box(around(center, 0.43 * size), 0.1 * size, "win")
            _draw_stone(pen, board, player, center)
        case "win":
            pen.ring(center, 0.45 * size, 0.08 * size, "win")
        case _:
            _draw_stone(pen, board, player, center)


def _draw_stone(pen: Pen, board: BoardGeometry, player: int, center: Point) -> None:
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


# ---- the scene -----------------------------------------------------------------------------------


class Text(NamedTuple):
    """A text and the point of its centre."""

    center: Point
    text: str
    paint: str


class Sprite(NamedTuple):
    """One of `SPRITES` on a cell."""

    name: str
    player: int
    cell: int


class Scene(NamedTuple):
    """The things to show in a position, from the lowest to the highest."""

    stones: list[Sprite]
    path: list[int]
    """The cells that a winning path goes through, in order."""
    win: list[Sprite]
    last: list[Sprite]
    numbers: list[Text]
    discs: list[Disc]
    arrows: list[Arrow]


def scene_of(
    game: Game,
    state: State,
    board: BoardGeometry,
    overlay: Overlay | None = None,
    numbers: ArrayLike | None = None,
) -> Scene:
    """What a picture of a position shows on the board."""
    owners: list[int] = base.cell_owners(game, state).ravel().tolist()
    numbered = numbers_of(game, numbers)
    stones = [Sprite("stone", owner, cell) for cell, owner in enumerate(owners) if owner != EMPTY]
    won = game.winning_cells(state)
    if board.style == "hexagons":
        path = won
        win = [Sprite("plate", owners[cell], cell) for cell in won if numbered[cell] > 0]
    else:  # several lines may have won at once
        path = []
        win = [Sprite("win", owners[cell], cell) for cell in won]
    last: list[Sprite] = []
    cell = game.last_cell(state)
    if cell != NO_ACTION and owners[cell] != EMPTY:
        last = [Sprite("numbered" if numbered[cell] > 0 else "last", owners[cell], cell)]
    texts: list[Text] = []
    for cell in np.flatnonzero(numbered > 0).tolist():
        x, y = centers_of(board)[cell]
        paint = "figure" if owners[cell] == EMPTY else f"mark-{owners[cell]}"
        if board.style == "squares":  # beside a cross or ring
            x, y, paint = x + 0.34 * board.size, y + 0.34 * board.size, "label"
        texts.append(Text((x, y), str(numbered[cell]), paint))
    discs = overlay.discs(game) if overlay is not None else []
    arrows = overlay.arrows() if overlay is not None else []
    return Scene(stones, path, win, last, texts, discs, arrows)


def label_texts(board: BoardGeometry) -> Iterator[Text]:
    """The labels of the columns and rows."""
    if board.size < MIN_LABELLED_SIZE:
        return
    near = -1.0 if board.style == "hexagons" else -0.9  # in steps from the first row or column
    on_both_sides = board.style == "points"
    for column, label in enumerate(board.column_labels):
        yield Text(board.center(near, column), label, "label")
        if on_both_sides:
            yield Text(board.center(board.rows - 1 - near, column), label, "label")
    for row, label in enumerate(board.row_labels):
        yield Text(board.center(row, near), label, "label")
        if on_both_sides:
            yield Text(board.center(row, board.columns - 1 - near), label, "label")


def disc_layers(board: BoardGeometry, disc: Disc) -> list[tuple[str, float]]:
    """The circles of a disc, the lowest first: paint and opacity, 0 to 1."""
    colored = ("high" if disc.strength > 0 else "low"), DISC_OPACITY * abs(disc.strength)
    if board.style == "points" and disc.label:  # hides the lines that cross below the text
        return [("board", 0.85), colored]
    return [colored]


class ArrowShape(NamedTuple):
    """What an arrow is drawn of: a polygon, and a disc below its label."""

    points: list[Point]
    label: Point
    radius: float


def arrow_shape(start: Point, end: Point, size: float) -> ArrowShape:
    """An arrow between the centres of two cells, for cells of a size."""
    shaft, head, length, radius = (size * part for part in ARROW)
    across, down = end[0] - start[0], end[1] - start[1]
    whole = hypot(across, down) or 1.0
    ahead, aside = (across / whole, down / whole), (-down / whole, across / whole)

    def place(along: float, width: float) -> Point:
        """A point so far from the start, and so far to one side."""
        x, y = (start[i] + along * ahead[i] + width / 2 * aside[i] for i in (0, 1))
        return x, y

    neck = whole - length
    sides = [(0.0, shaft), (neck, shaft), (neck, head)]
    points = [place(along, width) for along, width in sides]
    back = [place(along, -width) for along, width in reversed(sides)]
    return ArrowShape([*points, end, *back], place(ARROW_LABEL * whole, 0), radius)


def arrow_layer(arrow: Arrow) -> tuple[str, float]:
    """The paint and opacity, 0 to 1, of an arrow."""
    return ("high" if arrow.strength > 0 else "low"), DISC_OPACITY * abs(arrow.strength)


def overlay_texts(
    board: BoardGeometry, discs: Iterable[Disc], arrows: Iterable[Arrow]
) -> list[Text]:
    """The labels of discs and arrows."""
    centers, paints = centers_of(board), ("figure", "figure-on-disc")
    marks: list[tuple[Point, Disc | Arrow]] = [(centers[disc.cell], disc) for disc in discs]
    for arrow in arrows:
        shape = arrow_shape(centers[arrow.start], centers[arrow.end], board.size)
        marks.append((shape.label, arrow))
    return [
        Text(place, mark.label, paints[abs(mark.strength) > 0.5])
        for place, mark in marks
        if mark.label
    ]


def figure_size(board: BoardGeometry) -> float:
    """The height of text on discs and stones, in pixels; 0 if it would not be readable."""
    return 0.3 * board.size if board.size >= MIN_LABELLED_SIZE else 0


def number_size(board: BoardGeometry) -> float:
    """The height of move numbers; beside crosses and rings there is only a corner of the cell."""
    return figure_size(board) * (0.75 if board.style == "squares" else 1)
