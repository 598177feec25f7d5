"""Positions as RGB frames, drawn with Pillow alone: no window system is needed.

A frame is the picture of the empty board, made once for each board and size and kept, with a
sprite pasted for every stone and mark. Both are drawn larger than they are needed and reduced,
which smooths their edges. Lengths and coordinates are in pixels of the frame, x to the right and
y down; drawing functions get fractions of a cell times `size`, the side of a cell.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from hexenv.games import base
from hexenv.games.base import EMPTY, NO_ACTION, Game, State, Style

Color = tuple[int, int, int]
Point = tuple[float, float]
Corners = tuple[float, float, float, float]  # left, top, right, bottom

SCALE: Final = 4
"""How many times larger than needed everything is drawn."""
MIN_CELL_SIZE: Final = 8
MIN_LABELLED_SIZE: Final = 12
"""With smaller cells the coordinates would not be readable and are left out."""


@dataclass(frozen=True)
class Palette:
    """The colours of one style; others, as the edge of a stone, are mixed from these."""

    page: Color
    """Around the board."""
    board: Color
    """Cells, wood or wall."""
    line: Color
    """What parts the cells."""
    label: Color
    """Coordinates in the margins."""
    stones: tuple[Color, Color]
    """Of player 0 and player 1; the sides of a board of hexagons have them too."""
    win: Color
    """The marks of the stones that won."""


# The two stones of a pair differ in lightness, or are blue and orange: colour-blind people can tell
# them apart too.
PALETTES: Final[dict[Style, Palette]] = {
    "squares": Palette(
        page=(250, 248, 243),
        board=(250, 248, 243),
        line=(72, 84, 99),
        label=(122, 130, 140),
        stones=((0, 104, 168), (221, 103, 12)),
        win=(255, 229, 148),
    ),
    "points": Palette(
        page=(226, 181, 112),
        board=(226, 181, 112),
        line=(94, 67, 34),
        label=(94, 67, 34),
        stones=((28, 28, 31), (236, 234, 228)),
        win=(0, 158, 115),
    ),
    "holes": Palette(
        page=(242, 244, 248),
        board=(36, 84, 176),
        line=(24, 60, 134),
        label=(84, 96, 118),
        stones=((214, 49, 43), (250, 205, 44)),
        win=(255, 255, 255),
    ),
    "hexagons": Palette(
        page=(122, 138, 150),
        board=(233, 211, 170),
        line=(168, 140, 94),
        label=(244, 246, 248),
        stones=((30, 31, 35), (234, 233, 228)),
        win=(232, 112, 18),
    ),
}
BLACK: Final = (0, 0, 0)
WHITE: Final = (255, 255, 255)


def mix(color: Color, other: Color, share: float) -> Color:
    """A colour with a share, 0 to 1, of another in it."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(color, other, strict=True))
    return red, green, blue


# ---- what callers use ----------------------------------------------------------------------------


def render_rgb(game: Game, state: State, *, cell_size: int = 48) -> NDArray[np.uint8]:
    """A position as a picture.

    Args:
        game: The game.
        state: The position.
        cell_size: Distance of neighbours in a row, in pixels, at least 8.

    Returns:
        ``(height, width, 3) uint8``, height and width even (as video coding wants them); the
        caller's own, to draw on.

    Raises:
        ValueError: If `cell_size` is too small.
    """
    board = _board(game, cell_size)
    centers = _centers(board)
    stones = [_stone(board, player) for player in (0, 1)]
    image = _empty_board(board).copy()
    owners: list[int] = base.cell_owners(game, state).ravel().tolist()
    for owner, center in zip(owners, centers, strict=True):
        if owner != EMPTY:
            _paste(image, stones[owner], center)
    won = game.winning_cells(state)
    if board.style == "hexagons":
        _draw_path(image, board, [centers[cell] for cell in won])
    else:  # several lines may have won at once
        for cell in won:
            _paste(image, _win_mark(board, owners[cell]), centers[cell])
    last = game.last_cell(state)
    if last != NO_ACTION and owners[last] != EMPTY:
        _paste(image, _last_mark(board, owners[last]), centers[last])
    return np.array(image)


def cell_at(game: Game, x: float, y: float, cell_size: int = 48) -> int | None:
    """The cell under a point of a frame.

    Args:
        game: The game.
        x: Pixels from the left edge.
        y: Pixels from the top edge.
        cell_size: As the frame was made with.

    Returns:
        The cell's number, or `None` beyond the board.
    """
    board = _board(game, cell_size)
    right, down = np.abs(np.array(_centers(board)) - (x, y)).T
    outward = np.maximum(right, down) / (board.size / 2)  # 1 on the outline of a cell
    if board.style == "hexagons":
        slope = down / board.row_height * 3 / 2 + right / board.size
        outward = np.maximum(right / (board.size / 2), slope)
    cell = int(outward.argmin())
    return cell if outward[cell] <= 1 else None


def cell_centers(game: Game, cell_size: int = 48) -> NDArray[np.float64]:
    """Where the cells are in a frame of this size: ``(rows * columns, 2) float64`` of x and y."""
    return np.array(_centers(_board(game, cell_size)))


# ---- geometry ------------------------------------------------------------------------------------

MARGIN: Final = 0.5
"""Around the board, in cells."""
LABELLED_MARGIN: Final = 0.8


class Board(NamedTuple):
    """All that a picture depends on besides the stones; pictures and sprites are kept by it.

    A game is no such key: two games of different kinds are equal when their parameters are.
    """

    style: Style
    rows: int
    columns: int
    column_labels: tuple[str, ...]
    row_labels: tuple[str, ...]
    size: int
    """Side of a cell in pixels: the distance of neighbours in a row."""
    palette: Palette

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
        """The centre of the first cell; its square starts on a whole pixel, as sprites do."""
        left = LABELLED_MARGIN if self.row_labels else MARGIN
        top = LABELLED_MARGIN if self.column_labels else MARGIN
        half = self.size / 2
        return round(left * self.size) + half, round(top * self.size + self.reach[1] - half) + half

    @property
    def frame_size(self) -> tuple[int, int]:
        """Width and height of the frame, both even."""
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


def _board(game: Game, cell_size: int) -> Board:
    if cell_size < MIN_CELL_SIZE:
        raise ValueError(
            f"expected a cell size of at least {MIN_CELL_SIZE} pixels, got {cell_size}"
        )
    columns, rows = game.labels()
    labels = tuple(columns), tuple(rows)
    style = cast("Style", game.style)
    return Board(style, game.rows, game.columns, *labels, cell_size, PALETTES[style])


@lru_cache(maxsize=64)
def _centers(board: Board) -> list[Point]:
    """The centres of the cells by number."""
    return [
        board.center(row, column) for row in range(board.rows) for column in range(board.columns)
    ]


def _hexagon(board: Board, row: int, column: int) -> list[Point]:
    """The corners of a cell, clockwise from the top one."""
    x, y = board.center(row, column)
    half, tall = board.size / 2, board.row_height / 3
    return [
        (x, y - 2 * tall),
        (x + half, y - tall),
        (x + half, y + tall),
        (x, y + 2 * tall),
        (x - half, y + tall),
        (x - half, y - tall),
    ]


# ---- a canvas with smooth edges ------------------------------------------------------------------


class Canvas:
    """An image drawn `SCALE` times larger; coordinates and lengths are those of the result.

    Args:
        width: Pixels.
        height: Pixels.
        color: The ground.
        opacity: Of the ground, 0 to 255.
    """

    def __init__(self, width: int, height: int, color: Color, opacity: int = 255) -> None:
        self.width = width
        self.height = height
        self.image = Image.new("RGBA", (width * SCALE, height * SCALE), (*color, opacity))
        self.draw = ImageDraw.Draw(self.image)

    def polygon(self, points: list[Point], color: Color) -> None:
        self.draw.polygon([(x * SCALE, y * SCALE) for x, y in points], color)

    def box(self, corners: Corners, radius: float, color: Color) -> None:
        """A rectangle with round corners."""
        self.draw.rounded_rectangle(self._within(corners), radius * SCALE, color)

    def frame(self, corners: Corners, radius: float, width: float, color: Color) -> None:
        """The outline of a rectangle with round corners, inside it."""
        thickness = self._thickness(width)
        box = self._within(corners)
        self.draw.rounded_rectangle(box, radius * SCALE, outline=color, width=thickness)

    def circle(self, center: Point, radius: float, color: Color, opacity: int = 255) -> None:
        self.draw.ellipse(self._within(_around(center, radius)), (*color, opacity))

    def ring(self, center: Point, radius: float, width: float, color: Color) -> None:
        """The outline of a circle, inside it."""
        box = self._within(_around(center, radius))
        self.draw.ellipse(box, outline=color, width=self._thickness(width))

    def line(self, start: Point, end: Point, width: float, color: Color) -> None:
        """A line with round ends."""
        points = [(x * SCALE, y * SCALE) for x, y in (start, end)]
        self.draw.line(points, color, round(width * SCALE))
        for point in (start, end):
            self.circle(point, width / 2, color)

    def reduced(self) -> Image.Image:
        """The image in its own size, RGBA."""
        return self.image.reduce(SCALE)

    @staticmethod
    def _within(corners: Corners) -> Corners:
        """Where to draw a shape: Pillow counts the last pixel in, and wants one at least."""
        left, top, right, bottom = (place * SCALE for place in corners)
        return left, top, max(left, right - 1), max(top, bottom - 1)

    @staticmethod
    def _thickness(width: float) -> int:
        return max(SCALE, round(width * SCALE))


def _around(center: Point, radius: float) -> Corners:
    """The square around a circle."""
    x, y = center
    return x - radius, y - radius, x + radius, y + radius


# ---- the empty board -----------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _empty_board(board: Board) -> Image.Image:
    """The picture of the board without stones, RGB."""
    canvas = Canvas(*board.frame_size, board.palette.page)
    match board.style:
        case "squares":
            _draw_squares(canvas, board)
        case "points":
            _draw_points(canvas, board)
        case "holes":
            _draw_holes(canvas, board)
        case "hexagons":
            _draw_hexagons(canvas, board)
    image = canvas.reduced().convert("RGB")
    _draw_labels(image, board)
    return image


def _draw_squares(canvas: Canvas, board: Board) -> None:
    """A grid that is open to the outside."""
    width, line = 0.05 * board.size, board.palette.line
    left, top, right, bottom = -0.5, -0.5, board.columns - 0.5, board.rows - 0.5
    for row in range(1, board.rows):
        canvas.line(board.center(row - 0.5, left), board.center(row - 0.5, right), width, line)
    for column in range(1, board.columns):
        canvas.line(
            board.center(top, column - 0.5), board.center(bottom, column - 0.5), width, line
        )


def _draw_points(canvas: Canvas, board: Board) -> None:
    """Crossing lines on wood, and star points."""
    size, line = board.size, board.palette.line
    bottom, right = board.rows - 1, board.columns - 1
    for row in range(board.rows):
        width = 0.05 if row in (0, bottom) else 0.028
        canvas.line(board.center(row, 0), board.center(row, right), width * size, line)
    for column in range(board.columns):
        width = 0.05 if column in (0, right) else 0.028
        canvas.line(board.center(0, column), board.center(bottom, column), width * size, line)
    for row, column in _star_points(board.rows, board.columns):
        canvas.circle(board.center(row, column), 0.09 * size, line)


def _star_points(rows: int, columns: int) -> list[tuple[int, int]]:
    """The dots of a go board: towards the corners, the centre, and on a large one the sides."""
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


def _draw_holes(canvas: Canvas, board: Board) -> None:
    """A wall; its holes have a shaded edge above, as if they were deep."""
    size = board.size
    left, top = board.center(-0.5, -0.5)
    right, bottom = board.center(board.rows - 0.5, board.columns - 0.5)
    frame = 0.12 * size
    corners = (left - frame, top - frame, right + frame, bottom + frame)
    canvas.box(corners, 0.3 * size, board.palette.board)
    for x, y in _centers(board):
        canvas.circle((x, y), 0.42 * size, board.palette.line)
        canvas.circle((x, y + 0.02 * size), 0.395 * size, board.palette.page)


def _draw_hexagons(canvas: Canvas, board: Board) -> None:
    """Cells within four sides in the colours of the players who join them."""
    for width, darkness in ((0.22, 0.35), (0.2, 0)):
        for number, band in enumerate(_bands(board, width * board.size)):
            canvas.polygon(band, mix(board.palette.stones[number % 2], BLACK, darkness))
    for row in range(board.rows):
        for column in range(board.columns):
            corners = _hexagon(board, row, column)
            canvas.polygon(corners, board.palette.board)
            for start, end in pairwise([*corners, corners[0]]):
                canvas.line(start, end, 0.035 * board.size, board.palette.line)


def _bands(board: Board, width: float) -> list[list[Point]]:
    """What lies within `width` of the board's four sides, clockwise from the top, as polygons."""
    sides = _sides(board)
    outline = np.array([point for side in sides for point in side[:-1]])
    ahead = np.roll(outline, -1, axis=0) - outline
    ahead /= np.hypot(*ahead.T)[:, np.newaxis]
    outward = np.stack([ahead[:, 1], -ahead[:, 0]], axis=1)  # of the edge after each corner
    before = np.roll(outward, 1, axis=0)
    stretch = width / (1 + (outward * before).sum(axis=1))
    around = outline + (outward + before) * stretch[:, np.newaxis]

    outer: list[Point] = [(float(x), float(y)) for x, y in [*around, around[0]]]
    ends = np.cumsum([0, *(len(side) - 1 for side in sides)]).tolist()
    return [
        side + outer[start : end + 1][::-1]
        for side, (start, end) in zip(sides, pairwise(ends), strict=True)
    ]


def _sides(board: Board) -> list[list[Point]]:
    """The top, right, bottom and left side clockwise, each from corner to corner of the board.

    The blunt corners, top right and bottom left, lie in the middle of an edge of their cell.
    """
    rows, columns = range(board.rows), range(board.columns)
    top_right, bottom_left = _hexagon(board, 0, columns[-1]), _hexagon(board, rows[-1], 0)
    blunt = [_middle(*top_right[0:2]), _middle(*bottom_left[3:5])]
    return [
        [_hexagon(board, 0, column)[k] for column in columns for k in (5, 0)] + blunt[:1],
        blunt[:1] + [_hexagon(board, row, columns[-1])[k] for row in rows for k in (1, 2)],
        [_hexagon(board, rows[-1], column)[k] for column in columns[::-1] for k in (2, 3)]
        + blunt[1:],
        blunt[1:] + [_hexagon(board, row, 0)[k] for row in rows[::-1] for k in (4, 5)],
    ]


def _middle(start: Point, end: Point) -> Point:
    return (start[0] + end[0]) / 2, (start[1] + end[1]) / 2


def _draw_labels(image: Image.Image, board: Board) -> None:
    """Coordinates, at the size they are read in: reduced letters would be blurred."""
    if board.size < MIN_LABELLED_SIZE:
        return
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(max(8, round(0.32 * board.size)))
    near = -1.0 if board.style == "hexagons" else -0.9  # in steps from the first row or column
    places = [
        *((board.center(near, column), label) for column, label in enumerate(board.column_labels)),
        *((board.center(row, near), label) for row, label in enumerate(board.row_labels)),
    ]
    if board.style == "points":  # on the other two sides as well
        bottom, right = board.rows - 1 - near, board.columns - 1 - near
        for column, label in enumerate(board.column_labels):
            places.append((board.center(bottom, column), label))
        for row, label in enumerate(board.row_labels):
            places.append((board.center(row, right), label))
    for point, label in places:
        draw.text(point, label, board.palette.label, font, anchor="mm")


# ---- stones and marks ----------------------------------------------------------------------------


def _paste(image: Image.Image, sprite: Image.Image, center: Point) -> None:
    """Lay a sprite over the image."""
    corner = int(center[0] - sprite.width / 2), int(center[1] - sprite.height / 2)
    image.paste(sprite, corner, sprite)


@lru_cache(maxsize=64)
def _stone(board: Board, player: int) -> Image.Image:
    """A stone in the middle of a cell, RGBA."""
    canvas = Canvas(board.size, board.size, board.palette.stones[player], opacity=0)
    _draw_stone(canvas, board, player)
    return canvas.reduced()


def _draw_stone(canvas: Canvas, board: Board, player: int) -> None:
    """Cross and ring on squares, balls on points and hexagons, discs in holes."""
    size, color = board.size, board.palette.stones[player]
    near, middle, far = 0.27 * size, 0.5 * size, 0.73 * size
    match board.style:
        case "squares" if player == 0:
            canvas.line((near, near), (far, far), 0.13 * size, color)
            canvas.line((near, far), (far, near), 0.13 * size, color)
        case "squares":
            canvas.ring((middle, middle), 0.32 * size, 0.13 * size, color)
        case "points":
            _draw_shadow(canvas, (0.52 * size, 0.54 * size), 0.46 * size)
            _draw_ball(canvas, (middle, middle), 0.45 * size, color)
        case "holes":
            canvas.circle((middle, middle), 0.42 * size, mix(color, BLACK, 0.25))
            canvas.circle((middle, middle), 0.385 * size, color)
            canvas.circle((middle, middle), 0.27 * size, mix(color, BLACK, 0.25))
            canvas.circle((middle, 0.512 * size), 0.25 * size, mix(color, WHITE, 0.15))
        case "hexagons":
            _draw_ball(canvas, (middle, middle), 0.39 * size, color)


def _draw_ball(canvas: Canvas, center: Point, radius: float, color: Color) -> None:
    """A round stone that is lit from the top left."""
    canvas.circle(center, radius, mix(color, BLACK, 0.35))
    steps = 32
    for step in range(steps):
        share = step / steps
        offset = 0.35 * radius * share
        red, green, blue = (min(255, part + round(70 * share)) for part in color)
        place = (center[0] - offset, center[1] - offset)
        canvas.circle(place, 0.93 * radius * (1 - share), (red, green, blue))


def _draw_shadow(canvas: Canvas, center: Point, radius: float) -> None:
    """A soft shadow, faint at its edge."""
    steps = 12
    for step in range(1, steps + 1):
        canvas.circle(center, radius * (1 - 0.12 * step / steps), BLACK, 100 * step // steps)


@lru_cache(maxsize=64)
def _last_mark(board: Board, player: int) -> Image.Image:
    """The mark of the stone placed last, RGBA: a dot on it, a frame around a cross or ring."""
    size, color = board.size, board.palette.stones[player]
    if board.style == "squares":
        pale = mix(color, board.palette.board, 0.6)
        canvas = Canvas(size, size, pale, opacity=0)
        canvas.frame(_around((size / 2, size / 2), 0.43 * size), 0.1 * size, 0.04 * size, pale)
    else:
        contrast = WHITE if sum(color) < 384 else mix(color, BLACK, 0.85)
        canvas = Canvas(size, size, contrast, opacity=0)
        canvas.circle((size / 2, size / 2), 0.1 * size, contrast)
    return canvas.reduced()


@lru_cache(maxsize=64)
def _win_mark(board: Board, player: int) -> Image.Image:
    """The mark of one of the stones that won, RGBA: a ring, or a cross or ring on a lit square."""
    size, color = board.size, board.palette.win
    canvas = Canvas(size, size, color, opacity=0)
    if board.style == "squares":
        canvas.box(_around((size / 2, size / 2), 0.43 * size), 0.1 * size, color)
        _draw_stone(canvas, board, player)
    else:
        canvas.ring((size / 2, size / 2), 0.45 * size, 0.08 * size, color)
    return canvas.reduced()


def _draw_path(image: Image.Image, board: Board, centers: list[Point]) -> None:
    """Join the cells of the path that won, by a line with an edge that parts it from the stones."""
    for is_edge in (True, False):
        for start, end in pairwise(centers):
            step = round(end[0] - start[0]), round(end[1] - start[1])
            _paste(image, _path_step(board, step, is_edge), _middle(start, end))


@lru_cache(maxsize=64)
def _path_step(board: Board, step: tuple[int, int], is_edge: bool) -> Image.Image:
    """The line from a cell to the next one, or the wider line below it, RGBA."""
    size, palette = board.size, board.palette
    color, width = (palette.board, 0.2) if is_edge else (palette.win, 0.11)
    canvas = Canvas(abs(step[0]) + size, abs(step[1]) + size, color, opacity=0)
    x, y = canvas.width / 2, canvas.height / 2
    right, down = step[0] / 2, step[1] / 2
    canvas.line((x - right, y - down), (x + right, y + down), width * size, color)
    return canvas.reduced()
