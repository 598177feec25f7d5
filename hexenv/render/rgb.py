"""Positions as RGB frames, drawn with Pillow; no window system is needed.

A frame is the picture of the empty board, which is cached, with a sprite pasted for every stone and
mark. Boards and sprites are drawn larger than needed, then reduced, so that edges are smooth.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from hexenv.games.base import Game, State
from hexenv.render.drawing import (
    DISC_RADIUS,
    LABEL_SIZE,
    PATH,
    Text,
    arrow_layer,
    arrow_shape,
    disc_layers,
    draw_cell,
    draw_ground,
    draw_sprite,
    figure_size,
    label_texts,
    number_size,
    overlay_texts,
    scene_of,
)
from hexenv.render.geometry import (
    BoardGeometry,
    Corners,
    Point,
    around,
    centers_of,
    geometry_of,
    middle,
)
from hexenv.render.look import BLACK, DEFAULT_LOOK, Color, Look
from hexenv.render.overlay import Overlay


def render_rgb(
    game: Game,
    state: State,
    *,
    look: Look = DEFAULT_LOOK,
    overlay: Overlay | None = None,
    numbers: ArrayLike | None = None,
) -> NDArray[np.uint8]:
    """A position as a picture: a fresh ``(height, width, 3) uint8`` array.

    Height and width are even, as video codecs require. `numbers` are those of the moves, from 1,
    ``(cells,)``, as `hexenv.render.overlay.move_numbers` returns them.
    """
    board = geometry_of(game, look)
    centers = centers_of(board)
    scene = scene_of(game, state, board, overlay, numbers)
    image = _empty_board(board).copy()
    for name, player, cell in scene.stones:
        _paste(image, _sprite(board, name, player), centers[cell])
    for paint, width in PATH:
        for start, end in pairwise(centers[cell] for cell in scene.path):
            step = round(end[0] - start[0]), round(end[1] - start[1])
            _paste(image, _path_step(board, step, paint, width), middle(start, end))
    for name, player, cell in (*scene.win, *scene.last):
        _paste(image, _sprite(board, name, player), centers[cell])
    _write(image, board, scene.numbers, number_size(board))
    for disc in scene.discs:
        for paint, opacity in disc_layers(board, disc):
            mask = _disc(board, round(255 * opacity))
            _paste(image, mask, centers[disc.cell], board.paints[paint])
    for arrow in scene.arrows:
        paint, opacity = arrow_layer(arrow)
        mask = _arrow(board, arrow.start, arrow.end, round(255 * opacity))
        image.paste(board.paints[paint], (0, 0), mask)
    texts = overlay_texts(board, scene.discs, scene.arrows)
    _write(image, board, texts, figure_size(board))
    return np.array(image)


@lru_cache(maxsize=16)
def _empty_board(board: BoardGeometry) -> Image.Image:
    """The picture of the board without stones, RGB."""
    canvas = Canvas(*board.frame_size, board.paints, "page")
    draw_ground(canvas, board)
    for center in centers_of(board):
        draw_cell(canvas, board, center)
    image = canvas.reduced().convert("RGB")
    _write(image, board, label_texts(board), LABEL_SIZE * board.size)
    return image


def _write(image: Image.Image, board: BoardGeometry, texts: Iterable[Text], height: float) -> None:
    """Write texts of one height in pixels, at that size: reduced letters would be blurred."""
    if height:
        for center, text, paint in texts:
            if text:
                _paste(image, _text(text, max(8, round(height))), center, board.paints[paint])


@lru_cache(maxsize=1024)
def _text(text: str, height: int) -> Image.Image:
    """Text in Pillow's own font: a mask, L, with the text's anchor in the middle."""
    font = _font(height)
    left, top, right, bottom = font.getbbox(text, anchor="mm")
    width, height = 2 * ceil(max(-left, right)), 2 * ceil(max(-top, bottom))
    mask = Image.new("L", (width, height))
    ImageDraw.Draw(mask).text((width / 2, height / 2), text, 255, font, anchor="mm")
    return mask


@lru_cache(maxsize=16)
def _font(height: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(height)


# ---- sprites -------------------------------------------------------------------------------------


def _paste(
    image: Image.Image, sprite: Image.Image, center: Point, color: Color | None = None
) -> None:
    """Paste a sprite on the image, or a colour through the sprite as a mask."""
    left, top = int(center[0] - sprite.width / 2), int(center[1] - sprite.height / 2)
    box = left, top, left + sprite.width, top + sprite.height
    image.paste(sprite if color is None else color, box, sprite)


@lru_cache(maxsize=256)
def _sprite(board: BoardGeometry, name: str, player: int) -> Image.Image:
    """A stone or a mark in the middle of a cell, RGBA."""
    # The transparent ground has the colour at the sprite's edge: reducing mixes the two.
    ground = f"stone-{player}"
    if name in ("last", "numbered"):
        ground = f"{'pale' if board.style == 'squares' else 'mark'}-{player}"
    elif name == "win":
        ground = "win"
    canvas = Canvas(board.size, board.size, board.paints, ground, opacity=0)
    draw_sprite(canvas, board, name, player, canvas.center)
    return canvas.reduced()


@lru_cache(maxsize=512)
def _disc(board: BoardGeometry, opacity: int) -> Image.Image:
    """A disc of an overlay: a mask, L, of an opacity up to 255."""
    canvas = Canvas(board.size, board.size, board.paints, "high", opacity=0)
    canvas.circle(canvas.center, DISC_RADIUS * board.size, "high")
    return canvas.reduced().getchannel("A").point([part * opacity // 255 for part in range(256)])


@lru_cache(maxsize=256)
def _arrow(board: BoardGeometry, start: int, end: int, opacity: int) -> Image.Image:
    """An arrow from a cell to another: a mask of the whole picture, L, of an opacity up to 255."""
    centers = centers_of(board)
    shape = arrow_shape(centers[start], centers[end], board.size)
    canvas = Canvas(*board.frame_size, board.paints, "high", opacity=0)
    canvas.polygon(shape.points, "high")
    canvas.circle(shape.label, shape.radius, "high")
    return canvas.reduced().getchannel("A").point([part * opacity // 255 for part in range(256)])


@lru_cache(maxsize=64)
def _path_step(
    board: BoardGeometry, step: tuple[int, int], paint: str, width: float
) -> Image.Image:
    """The line from a cell to the next one, RGBA."""
    size = board.size
    canvas = Canvas(abs(step[0]) + size, abs(step[1]) + size, board.paints, paint, opacity=0)
    x, y = canvas.center
    right, down = step[0] / 2, step[1] / 2
    canvas.line((x - right, y - down), (x + right, y + down), width * size, paint)
    return canvas.reduced()


# ---- the pen -------------------------------------------------------------------------------------

SCALE: Final = 4
"""A canvas is this many times larger than its result."""


class Canvas:
    """A `Pen` for an image drawn `SCALE` times larger; lengths are those of the result.

    `ground` is a paint, `opacity`, 0 to 255, is that of the ground.
    """

    def __init__(
        self, width: int, height: int, paints: Mapping[str, Color], ground: str, opacity: int = 255
    ) -> None:
        self.center: Point = (width / 2, height / 2)
        self._paints = paints
        self._image = Image.new("RGBA", (width * SCALE, height * SCALE), (*paints[ground], opacity))
        self._draw = ImageDraw.Draw(self._image)

    def polygon(self, points: list[Point], paint: str, outline: str = "", width: float = 0) -> None:
        self._draw.polygon([(x * SCALE, y * SCALE) for x, y in points], self._paints[paint])
        if outline:
            for start, end in pairwise([*points, points[0]]):
                self.line(start, end, width, outline)

    def box(self, corners: Corners, radius: float, paint: str) -> None:
        self._draw.rounded_rectangle(_within(corners), radius * SCALE, self._paints[paint])

    def frame(self, corners: Corners, radius: float, width: float, paint: str) -> None:
        thickness, color = _thickness(width), self._paints[paint]
        box = _within(corners)
        self._draw.rounded_rectangle(box, radius * SCALE, outline=color, width=thickness)

    def circle(self, center: Point, radius: float, paint: str) -> None:
        self._circle(center, radius, self._paints[paint])

    def ring(self, center: Point, radius: float, width: float, paint: str) -> None:
        box = _within(around(center, radius))
        self._draw.ellipse(box, outline=self._paints[paint], width=_thickness(width))

    def line(self, start: Point, end: Point, width: float, paint: str) -> None:
        points = [(x * SCALE, y * SCALE) for x, y in (start, end)]
        self._draw.line(points, self._paints[paint], round(width * SCALE))
        for point in (start, end):
            self.circle(point, width / 2, paint)

    def shine(self, center: Point, radius: float) -> None:
        x, y = center
        base = self._image.getpixel((round(x * SCALE), round(y * SCALE)))
        assert isinstance(base, tuple)
        for step in range(32):
            share = step / 32
            offset = 0.35 * radius * share
            red, green, blue = (min(255, part + round(70 * share)) for part in base[:3])
            self._circle((x - offset, y - offset), radius * (1 - share), (red, green, blue))

    def shadow(self, center: Point, radius: float) -> None:
        for step in range(1, 13):
            self._circle(center, radius * (1 - 0.12 * step / 12), BLACK, 100 * step // 12)

    def _circle(self, center: Point, radius: float, color: Color, opacity: int = 255) -> None:
        self._draw.ellipse(_within(around(center, radius)), (*color, opacity))

    def reduced(self) -> Image.Image:
        """The image in its own size, RGBA."""
        return self._image.reduce(SCALE)


def _within(corners: Corners) -> Corners:
    """A box for Pillow, which includes the last pixel and requires at least one."""
    left, top, right, bottom = (place * SCALE for place in corners)
    return left, top, max(left, right - 1), max(top, bottom - 1)


def _thickness(width: float) -> int:
    return max(SCALE, round(width * SCALE))
