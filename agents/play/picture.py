"""What the window of a game shows: the board, what has happened, and buttons."""

import textwrap
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from agents.play.live import LiveSession
from agents.play.words import COMMANDS, SHORT
from hexenv.games.base import EMPTY, IN_PLAY, Game, State, clone, new_state
from hexenv.render.geometry import cell_at, cell_centers, geometry_of
from hexenv.render.look import Look
from hexenv.render.rgb import render_rgb

Box = tuple[int, int, int, int]  # left, top, right, bottom

LARGEST: Final = (1100, 760)
"""Width and height that a board keeps to, in pixels, where its cells do not get too small."""
CELL_SIZES: Final = range(84, 20, -4)
LEAST_WIDTH: Final = 480
MARGIN: Final = 12
TEXT_SIZE: Final = 16
LINE: Final = 22
MOST_LINES: Final = 2
"""Of a message below the board; a longer one covers the board."""
BUTTON_HEIGHT: Final = 30
PANEL_HEIGHT: Final = (MOST_LINES + 1) * LINE + BUTTON_HEIGHT + 4 * MARGIN
GHOST: Final = 0.5
"""How much of a stone is seen where the mouse would put it."""

PAPER: Final = (32, 35, 41)
INK: Final = (236, 236, 232)
FACE: Final = (70, 76, 88)
LIT: Final = (108, 116, 130)
HINT: Final = (0, 158, 115)  # a green that colour-blind people tell from the stones, too


class Picture:
    """Draws a live session for a window.

    Args:
        live: The session.

    Attributes:
        pointer: Where the mouse is, in pixels of the frame; beyond it before the mouse has moved.
        look: How the board is drawn: as large as fits `LARGEST`.
    """

    def __init__(self, live: LiveSession) -> None:
        self.pointer: tuple[int, int] = (-1, -1)
        self._live = live
        self._game = live.session.game
        self.look = fitting_look(self._game)
        self._centers = cell_centers(self._game, self.look)
        self._board_height, self._board_width, _ = self._board_of(new_state(self._game)).shape
        self._width = max(self._board_width, LEAST_WIDTH)
        self._left = (self._width - self._board_width) // 2
        self._font = ImageFont.load_default(TEXT_SIZE)
        self._stone = self._small_stone(live.session.player)
        self._shown: tuple[Any, ...] | None = None
        self._frame = np.zeros((0, 0, 3), np.uint8)

    # ---- places ------------------------------------------------------------------------------

    def cell_at(self, x: int, y: int) -> int | None:
        """The cell under a pixel of the frame."""
        if y >= self._board_height:
            return None
        return cell_at(self._game, x - self._left, y, self.look)

    def button_at(self, x: int, y: int) -> str | None:
        """What the button under a pixel says to the session, a command or a choice."""
        for word, (left, top, right, bottom) in self.buttons().items():
            if left <= x < right and top <= y < bottom:
                return word
        return None

    def buttons(self) -> dict[str, Box]:
        """The buttons by what they say."""
        session = self._live.session
        words = [*map(session.text, session.choices), *COMMANDS]
        top = self._board_height + PANEL_HEIGHT - MARGIN - BUTTON_HEIGHT
        found: dict[str, Box] = {}
        left = MARGIN
        for word in words:
            right = left + round(self._font.getlength(_label(word))) + MARGIN
            found[word] = (left, top, right, top + BUTTON_HEIGHT)
            left = right + MARGIN // 2
        return found

    @property
    def is_covered(self) -> bool:
        """Whether a long message covers the board."""
        return len(self._wrapped(self._live.message)) > MOST_LINES

    # ---- the frame ---------------------------------------------------------------------------

    def frame(self) -> NDArray[np.uint8]:
        """The picture as it is now: ``(height, width, 3) uint8``; drawn again when it changes."""
        live = self._live
        state = live.session.state
        cell = self.cell_at(*self.pointer)
        button = self.button_at(*self.pointer)
        shown = (state.tobytes(), cell, button, live.hint, live.message, live.status)
        if shown != self._shown:
            self._shown = shown
            self._frame = self._draw(cell, button)
        return self._frame

    def _draw(self, cell: int | None, button: str | None) -> NDArray[np.uint8]:
        board = self._board_of(self._live.session.state)
        if cell is not None:
            self._add_ghost(board, cell)
        size = (self._width, self._board_height + PANEL_HEIGHT)
        image = Image.new("RGB", size, PAPER)
        image.paste(Image.fromarray(board), (self._left, 0))
        draw = ImageDraw.Draw(image)
        self._draw_hint(draw)
        self._draw_words(image, draw)
        hint = self._live.hint
        hinted = None if hint is None else self._live.session.text(hint.action)
        for word, box in self.buttons().items():
            face = HINT if word == hinted else LIT if word == button else FACE
            draw.rounded_rectangle(box, 6, face)
            middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
            draw.text(middle, _label(word), INK, self._font, anchor="mm")
        return np.array(image)

    def _board_of(self, state: State) -> NDArray[np.uint8]:
        return render_rgb(self._game, state, look=self.look)

    def _square(self, cell: int) -> tuple[slice, slice]:
        """The pixels of the board around the middle of a cell."""
        x, y = self._centers[cell]
        half = self.look.cell_size / 2
        rows = slice(round(y - half), round(y + half))
        return rows, slice(round(x - half), round(x + half))

    def _add_ghost(self, board: NDArray[np.uint8], cell: int) -> None:
        """Show faintly the stone that a click on a cell would put down, if it may."""
        session = self._live.session
        action = session.action_at(cell)
        if not session.is_persons_turn or action not in session.legal_actions:
            return
        filled = session.cell_of(action)
        after = clone(self._game, session.state)
        self._game.step(after, action)
        after.winner = IN_PLAY  # a ghost does not win
        if filled is None or self._game.owner(after, filled) == EMPTY:
            return
        place = self._square(filled)
        mixed = (1 - GHOST) * board[place] + GHOST * self._board_of(after)[place]
        board[place] = mixed.astype(np.uint8)

    def _draw_hint(self, draw: ImageDraw.ImageDraw) -> None:
        """A ring around the cell that the agent would choose."""
        hint = self._live.hint
        if hint is None or hint.cell is None:
            return
        x, y = self._centers[hint.cell]
        width = max(3, self.look.cell_size // 12)
        draw.circle((x + self._left, y), 0.42 * self.look.cell_size, outline=HINT, width=width)

    def _draw_words(self, image: Image.Image, draw: ImageDraw.ImageDraw) -> None:
        """What has happened and what is waited for, below the board; long texts cover the board."""
        top = self._board_height + MARGIN
        lines = self._wrapped(self._live.message)
        if not self.is_covered:
            draw.multiline_text((MARGIN, top), "\n".join(lines), INK, self._font, spacing=6)
        else:
            height = min(len(lines) * LINE + 2 * MARGIN, image.height)
            draw.rectangle((0, 0, image.width, height), PAPER)
            draw.multiline_text((MARGIN, MARGIN), "\n".join(lines), INK, self._font, spacing=6)
        below = top + MOST_LINES * LINE
        image.paste(self._stone, (MARGIN, below))
        status = self._wrapped(self._live.status)[0]
        draw.text((MARGIN + LINE + 6, below + LINE / 2), status, INK, self._font, anchor="lm")

    def _wrapped(self, text: str) -> list[str]:
        """The lines of a text, broken where they are wider than the frame."""
        room = self._width - 3 * MARGIN - LINE
        found: list[str] = []
        for line in text.splitlines():
            letter = max(1.0, self._font.getlength(line)) / max(1, len(line))
            found += textwrap.wrap(line, int(room / letter)) or [""]
        return found

    def _small_stone(self, player: int) -> Image.Image:
        """A player's stone, as high as a line of text."""
        state = new_state(self._game)
        self._game.place(state, 0, player)
        return Image.fromarray(self._board_of(state)[self._square(0)]).resize((LINE, LINE))


def fitting_look(game: Game) -> Look:
    """A board with the largest of `CELL_SIZES` that fits `LARGEST`, or the smallest of all."""
    looks = [Look(cell_size=size) for size in CELL_SIZES]
    for look in looks:
        width, height = geometry_of(game, look).frame_size
        if width <= LARGEST[0] and height <= LARGEST[1]:
            return look
    return looks[-1]


def _label(word: str) -> str:
    """A button's text: its key, and what it says."""
    key = next((short for short, command in SHORT.items() if command == word), word[0])
    return f"{key}  {word}"
