"""The geometry of a board in a picture, the same for pixels and SVG.

Lengths and coordinates are in pixels of the picture, x to the right and y down.
"""

from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.games.base import Game, Style
from hexenv.render.look import DEFAULT_LOOK, Color, Look, Theme, paints_of

Point = tuple[float, float]
Corners = tuple[float, float, float, float]  # left, top, right, bottom

MIN_LABELLED_SIZE: Final = 12
"""Text is left out where cells are smaller: it would not be readable."""
MARGIN: Final = 0.5
"""Around the board, in cells."""
LABELLED_MARGIN: Final = 0.8


class BoardGeometry(NamedTuple):
    """All that a picture depends on besides the stones: the key of cached pictures and sprites.

    A game cannot be that key: two games of different kinds are equal if their fields are equal.
    """

    style: Style
    rows: int
    columns: int
    column_labels: tuple[str, ...]
    row_labels: tuple[str, ...]
    size: int
    """Side of a cell in pixels: the distance of neighbours in a row."""
    theme: Theme

    @property
    def paints(self) -> dict[str, Color]:
        """The colours by name: `hexenv.render.look.paints_of`."""
        return paints_of(self.theme, self.style)

    @property
    def row_height(self) -> int:
        """Distance of neighbouring rows in pixels; whole, so that sprites fall on whole pixels."""
        return round(self.size * sqrt(3) / 2) if self.style == "hexagons" else self.size

    @property
    def shift(self) -> float:
        """How far each row is to the right of the one above it, in pixels."""
        return self.size / 2 if self.style == "hexagons" else 0

    @property
    def reach(self) -> Point:
        """From the centre of a cell to its right and bottom ends, in pixels."""
        return self.size / 2, self.row_height * 2 / 3 if self.style == "hexagons" else self.size / 2

    @property
    def origin(self) -> Point:
        """The centre of the first cell; its square starts on a whole pixel, like a sprite."""
        left = LABELLED_MARGIN if self.row_labels else MARGIN
        top = LABELLED_MARGIN if self.column_labels else MARGIN
        half = self.size / 2
        return round(left * self.size) + half, round(top * self.size + self.reach[1] - half) + half

    @property
    def frame_size(self) -> tuple[int, int]:
        """Width and height of the picture, both even."""
        right, bottom = self.center(self.rows - 1, self.columns - 1)
        if self.style == "points":  # labels on all four sides
            width, height = right + self.origin[0], bottom + self.origin[1]
        else:
            width = right + self.reach[0] + MARGIN * self.size
            height = bottom + self.reach[1] + MARGIN * self.size
        return round(width / 2) * 2, round(height / 2) * 2

    def center(self, row: float, column: float) -> Point:
        """The centre of a cell, on the board or beyond it."""
        x, y = self.origin
        return x + column * self.size + row * self.shift, y + row * self.row_height


def geometry_of(game: Game, look: Look = DEFAULT_LOOK) -> BoardGeometry:
    """The geometry of a game's board."""
    columns, rows = game.labels() if look.coordinates else ([], [])
    style = cast("Style", game.style)
    labels = tuple(columns), tuple(rows)
    return BoardGeometry(style, game.rows, game.columns, *labels, look.cell_size, look.theme)


# ---- cells ---------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def centers_of(board: BoardGeometry) -> list[Point]:
    """The centres of the cells by number."""
    return [
        board.center(row, column) for row in range(board.rows) for column in range(board.columns)
    ]


def cell_centers(game: Game, look: Look = DEFAULT_LOOK) -> NDArray[np.float64]:
    """The centres of the cells in a picture: ``(rows * columns, 2) float64`` of x and y."""
    return np.array(centers_of(geometry_of(game, look)))


def cell_at(game: Game, x: float, y: float, look: Look = DEFAULT_LOOK) -> int | None:
    """The cell under a point of a picture with this look; None outside the board.

    `x` is in pixels from the left edge, `y` from the top edge.
    """
    board = geometry_of(game, look)
    right, down = np.abs(np.array(centers_of(board)) - (x, y)).T
    outward = np.maximum(right, down) / (board.size / 2)  # 1 on the outline of a cell
    if board.style == "hexagons":
        slope = down / board.row_height * 3 / 2 + right / board.size
        outward = np.maximum(right / (board.size / 2), slope)
    cell = int(outward.argmin())
    return cell if outward[cell] <= 1 else None


def hexagon(board: BoardGeometry, center: Point) -> list[Point]:
    """The corners of a cell, clockwise from the top one."""
    x, y = center
    left, right = x - board.size / 2, x + board.size / 2
    tall = board.row_height / 3
    top, high, low, bottom = y - 2 * tall, y - tall, y + tall, y + 2 * tall
    return [(x, top), (right, high), (right, low), (x, bottom), (left, low), (left, high)]


def around(center: Point, radius: float) -> Corners:
    """The square around a circle."""
    x, y = center
    return x - radius, y - radius, x + radius, y + radius


def middle(start: Point, end: Point) -> Point:
    """The point halfway."""
    return (start[0] + end[0]) / 2, (start[1] + end[1]) / 2


# ---- around the cells ----------------------------------------------------------------------------


def star_points(rows: int, columns: int) -> list[tuple[int, int]]:
    """The dots of a go board: near the corners, in the centre, on large boards near the sides."""
    if min(rows, columns) < 8:
        return []
    edge = 3 if min(rows, columns) >= 12 else 2
    down, right = (edge, rows - 1 - edge), (edge, columns - 1 - edge)
    points = [(row, column) for row in down for column in right]
    if rows % 2 and columns % 2:
        points.append((rows // 2, columns // 2))
        if min(rows, columns) >= 17:
            points += [(row, columns // 2) for row in down]
            points += [(rows // 2, column) for column in right]
    return points


def bands(board: BoardGeometry, width: float) -> list[list[Point]]:
    """Polygons along the four sides of a hexagon board, `width` wide, clockwise from the top."""
    sides = _sides(board)
    outline = np.array([point for side in sides for point in side[:-1]])
    ahead = np.roll(outline, -1, axis=0) - outline
    ahead /= np.hypot(*ahead.T)[:, np.newaxis]
    outward = np.stack([ahead[:, 1], -ahead[:, 0]], axis=1)  # of the edge after each corner
    before = np.roll(outward, 1, axis=0)
    stretch = width / (1 + (outward * before).sum(axis=1))
    beyond = outline + (outward + before) * stretch[:, np.newaxis]

    outer: list[Point] = [(float(x), float(y)) for x, y in [*beyond, beyond[0]]]
    ends = np.cumsum([0, *(len(side) - 1 for side in sides)]).tolist()
    return [
        side + outer[start : end + 1][::-1]
        for side, (start, end) in zip(sides, pairwise(ends), strict=True)
    ]


def _sides(board: BoardGeometry) -> list[list[Point]]:
    """The top, right, bottom and left side clockwise, each from corner to corner of the board.

    The obtuse corners, top right and bottom left, are in the middle of an edge of their cell.
    """

    def cell(row: int, column: int) -> list[Point]:
        return hexagon(board, board.center(row, column))

    rows, columns = range(board.rows), range(board.columns)
    top_right, bottom_left = cell(0, columns[-1]), cell(rows[-1], 0)
    obtuse = [middle(*top_right[0:2]), middle(*bottom_left[3:5])]
    return [
        [cell(0, column)[k] for column in columns for k in (5, 0)] + obtuse[:1],
        obtuse[:1] + [cell(row, columns[-1])[k] for row in rows for k in (1, 2)],
        [cell(rows[-1], column)[k] for column in columns[::-1] for k in (2, 3)] + obtuse[1:],
        obtuse[1:] + [cell(row, 0)[k] for row in rows[::-1] for k in (4, 5)],
    ]
