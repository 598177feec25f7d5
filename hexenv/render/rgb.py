"""Positions as RGB frames, drawn with Pillow alone: no window system is needed.

A frame is the picture of the empty board, made once for each board and kept, with a sprite pasted
for every stone and mark.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from hexenv.games import base
from hexenv.games.base import EMPTY, NO_ACTION, Game, State
from hexenv.render.board import Board, Point, board_of, centers_of, labels_of, middle
from hexenv.render.canvas import Canvas
from hexenv.render.drawing import (
    DISC_RADIUS,
    LABEL_SIZE,
    PATH,
    Text,
    disc_figure,
    disc_layers,
    draw_cell,
    draw_ground,
    draw_last_mark,
    draw_stone,
    draw_win_mark,
    figure_size,
    number_size,
    number_texts,
)
from hexenv.render.look import DEFAULT_LOOK, Look
from hexenv.render.overlay import Disc, Overlay, numbers_of


def render_rgb(
    game: Game,
    state: State,
    *,
    look: Look = DEFAULT_LOOK,
    overlay: Overlay | None = None,
    numbers: ArrayLike | None = None,
) -> NDArray[np.uint8]:
    """A position as a picture.

    Args:
        game: The game.
        state: The position.
        look: Colours, size and coordinates.
        overlay: Numbers to show on the cells.
        numbers: ``(cells,)``: the numbers of the moves, from 1, to write on the stones; see
            `hexenv.render.overlay.move_numbers`.

    Returns:
        ``(height, width, 3) uint8``, height and width even (as video coding wants them); the
        caller's own, to draw on.
    """
    board = board_of(game, look)
    centers = centers_of(board)
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
    numbered = numbers_of(game, numbers)
    last = game.last_cell(state)
    if last != NO_ACTION and owners[last] != EMPTY:
        mark = _last_mark(board, owners[last], numbered=bool(numbered[last] > 0))
        _paste(image, mark, centers[last])
    _write(image, board, number_texts(board, owners, numbered), number_size(board))
    if overlay is not None:
        _draw_discs(image, board, overlay.discs(game))
    return np.array(image)


def _draw_discs(image: Image.Image, board: Board, discs: list[Disc]) -> None:
    """Lay an overlay over the picture."""
    for disc in discs:
        for paint, opacity in disc_layers(board, disc):
            mask = _disc(board).point([round(part * opacity) for part in range(256)])
            color = Image.new("RGB", mask.size, board.paints[paint])
            image.paste(color, _corner(mask, centers_of(board)[disc.cell]), mask)
    _write(image, board, (disc_figure(board, disc) for disc in discs), figure_size(board))


@lru_cache(maxsize=16)
def _empty_board(board: Board) -> Image.Image:
    """The picture of the board without stones, RGB."""
    canvas = Canvas(*board.frame_size, board.paints, "page")
    draw_ground(canvas, board)
    for center in centers_of(board):
        draw_cell(canvas, board, center)
    image = canvas.reduced().convert("RGB")
    labels = (Text(point, label, "label") for point, label in labels_of(board))
    _write(image, board, labels, LABEL_SIZE * board.size)
    return image


def _write(image: Image.Image, board: Board, texts: Iterable[Text], height: float) -> None:
    """Write text of one height in pixels, at that size: reduced letters would be blurred."""
    if height:
        draw, font = ImageDraw.Draw(image), _font(max(8, round(height)))
        for center, text, paint in texts:
            draw.text(center, text, board.paints[paint], font, anchor="mm")


@lru_cache(maxsize=16)
def _font(height: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font."""
    return ImageFont.load_default(height)


# ---- sprites -------------------------------------------------------------------------------------


def _paste(image: Image.Image, sprite: Image.Image, center: Point) -> None:
    """Lay a sprite over the image."""
    image.paste(sprite, _corner(sprite, center), sprite)


def _corner(sprite: Image.Image, center: Point) -> tuple[int, int]:
    """Where the top left corner of a sprite goes."""
    return int(center[0] - sprite.width / 2), int(center[1] - sprite.height / 2)


@lru_cache(maxsize=64)
def _stone(board: Board, player: int) -> Image.Image:
    """A stone in the middle of a cell, RGBA."""
    canvas = Canvas(board.size, board.size, board.paints, f"stone-{player}", opacity=0)
    draw_stone(canvas, board, player, canvas.center)
    return canvas.reduced()


@lru_cache(maxsize=64)
def _last_mark(board: Board, player: int, numbered: bool) -> Image.Image:
    """The mark of the stone placed last, RGBA."""
    ground = f"{'pale' if board.style == 'squares' else 'mark'}-{player}"
    canvas = Canvas(board.size, board.size, board.paints, ground, opacity=0)
    draw_last_mark(canvas, board, player, canvas.center, numbered)
    return canvas.reduced()


@lru_cache(maxsize=16)
def _disc(board: Board) -> Image.Image:
    """Where the disc of an overlay is: a mask, L."""
    canvas = Canvas(board.size, board.size, board.paints, "high", opacity=0)
    canvas.circle(canvas.center, DISC_RADIUS * board.size, "high")
    return canvas.reduced().getchannel("A")


@lru_cache(maxsize=64)
def _win_mark(board: Board, player: int) -> Image.Image:
    """The mark of one of the stones that won, RGBA."""
    canvas = Canvas(board.size, board.size, board.paints, "win", opacity=0)
    draw_win_mark(canvas, board, player, canvas.center)
    return canvas.reduced()


def _draw_path(image: Image.Image, board: Board, centers: list[Point]) -> None:
    """Join the cells of the path that won, by a line with an edge that parts it from the stones."""
    for paint, width in PATH:
        for start, end in pairwise(centers):
            step = round(end[0] - start[0]), round(end[1] - start[1])
            _paste(image, _path_step(board, step, paint, width), middle(start, end))


@lru_cache(maxsize=64)
def _path_step(board: Board, step: tuple[int, int], paint: str, width: float) -> Image.Image:
    """The line from a cell to the next one, RGBA."""
    size = board.size
    canvas = Canvas(abs(step[0]) + size, abs(step[1]) + size, board.paints, paint, opacity=0)
    x, y = canvas.center
    right, down = step[0] / 2, step[1] / 2
    canvas.line((x - right, y - down), (x + right, y + down), width * size, paint)
    return canvas.reduced()
