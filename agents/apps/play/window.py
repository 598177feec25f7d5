"""A game in a window, played with the mouse: the window, and the frames that it shows."""

import textwrap
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from agents.apps.play.commands import COMMANDS, SHORT, greeting, understand
from agents.apps.play.live import LiveSession
from agents.apps.play.session import Session
from hexenv.games.base import EMPTY, IN_PLAY, Game, State, clone, new_state
from hexenv.games.notation import IllegalActionError, has_stones
from hexenv.render.geometry import cell_at, cell_centers, geometry_of
from hexenv.render.look import Look
from hexenv.render.rgb import render_rgb
from hexenv.render.window import Click, Event, Key, Moved, Window

HELP: Final = """\
Click on a cell to play there, on a button or press its key for what it says.
A click takes this text away."""
FRAMES_PER_SECOND: Final = 30

MAX_BOARD: Final = (1100, 760)
"""Maximal width and height of a board in pixels, unless its cells would get too small."""
CELL_SIZES: Final = range(84, 20, -4)
MIN_WIDTH: Final = 480
MARGIN: Final = 12
TEXT_SIZE: Final = 16
LINE_HEIGHT: Final = 22
MAX_LINES: Final = 2
"""Lines of a message below the board; a longer message covers the board."""
BUTTON_HEIGHT: Final = 30
PANEL_HEIGHT: Final = (MAX_LINES + 1) * LINE_HEIGHT + BUTTON_HEIGHT + 4 * MARGIN
PREVIEW_OPACITY: Final = 0.5
"""Opacity of the stone that a click would place."""

BACKGROUND: Final = (32, 35, 41)
TEXT: Final = (236, 236, 232)
BUTTON: Final = (70, 76, 88)
BUTTON_AT_MOUSE: Final = (108, 116, 130)
HINT: Final = (0, 158, 115)  # a green that colour-blind people can tell from the stones

Box = tuple[int, int, int, int]  # left, top, right, bottom


def run(session: Session) -> None:
    """Play until the person leaves or closes the window.

    Raises:
        ImportError: If pygame is not installed.
        OSError: If there is no screen.
        Exception: Whatever the agent has raised, other than a forfeit.
    """
    WindowFace(LiveSession(session, HELP)).run()


class WindowFace:
    """The window of a session: hands its events to the session, and shows its frames."""

    def __init__(self, live: LiveSession) -> None:
        self.live = live
        title = f"{live.session.title}: {greeting(live.session)}"
        self.window = Window(title, FRAMES_PER_SECOND)
        self.picture = Picture(live)

    def run(self) -> None:
        try:
            self.turn()
            if self.window.is_open and not self.window.is_seen:
                raise OSError("expected a screen to open a window on, got none")
            while self.window.is_open and not self.live.is_closed:
                self.turn()
        finally:
            self.window.close()

    def turn(self) -> None:
        """Handle what the person has done, and show one frame."""
        for event in self.window.events():
            self.handle(event)
        self.live.update()
        self.window.show(self.picture.frame())

    def handle(self, event: Event) -> None:
        if self.picture.is_covered and not isinstance(event, Moved):
            self.live.message = ""
            if isinstance(event, Click):  # which only uncovers the board
                return
        match event:
            case Moved(x, y):
                self.picture.pointer = (x, y)
            case Click(x, y):
                self.click(x, y)
            case Key(name):
                self.press(name)

    def click(self, x: int, y: int) -> None:
        """Do what a button says, or play on the board; other places do nothing."""
        word = self.picture.button_at(x, y)
        cell = self.picture.cell_at(x, y)
        if word is not None:
            self.live.say(word)
        elif cell is not None:
            self.live.play(self.live.session.action_at(cell))

    def press(self, name: str) -> None:
        """Do what one letter means: a command, a choice or a move."""
        if len(name) > 1:  # such as an arrow key
            return
        try:
            understand(self.live.session, name)
        except IllegalActionError:  # a move, which `say` explains
            pass
        except ValueError:
            self.live.message = f"{name} is no key here; ? for help"
            return
        self.live.say(name)


class Picture:
    """Draws a session: the board, the messages and the buttons.

    Attributes:
        pointer: Where the mouse is, in pixels of the frame.
        look: How the board is drawn: as large as `MAX_BOARD` allows.
    """

    def __init__(self, live: LiveSession) -> None:
        self.pointer: tuple[int, int] = (-1, -1)
        self._live = live
        self._game = live.session.game
        self.look = fitting_look(self._game)
        self._centers = cell_centers(self._game, self.look)
        self._board_height, self._board_width, _ = self._drawn(new_state(self._game)).shape
        self._width = max(self._board_width, MIN_WIDTH)
        self._left = (self._width - self._board_width) // 2
        self._font = ImageFont.load_default(TEXT_SIZE)
        state = new_state(self._game)  # for a stone of the person's, as large as a line of text
        if has_stones(self._game):
            self._game.place(state, 0, live.session.side)
        stone = Image.fromarray(self._drawn(state)[self._square(0)])
        self._stone = stone.resize((LINE_HEIGHT, LINE_HEIGHT))
        self._shown: tuple[Any, ...] | None = None
        self._frame = np.zeros((0, 0, 3), np.uint8)

    # ---- places ------------------------------------------------------------------------------

    def cell_at(self, x: int, y: int) -> int | None:
        if y >= self._board_height:
            return None
        return cell_at(self._game, x - self._left, y, self.look)

    def button_at(self, x: int, y: int) -> str | None:
        """The command or choice of the button under a pixel."""
        for word, (left, top, right, bottom) in self.buttons().items():
            if left <= x < right and top <= y < bottom:
                return word
        return None

    def buttons(self) -> dict[str, Box]:
        """The places of the buttons, by their commands and choices."""
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
        return len(self._wrapped(self._live.message)) > MAX_LINES

    # ---- the frame ---------------------------------------------------------------------------

    def frame(self) -> NDArray[np.uint8]:
        """The picture as it is now, ``(height, width, 3) uint8``; drawn only if it has changed."""
        live = self._live
        session = live.session
        cell = self.cell_at(*self.pointer)
        button = self.button_at(*self.pointer)
        hint = None if session.hint is None else session.hint.action
        shown = (session.state.tobytes(), cell, button, hint, live.message, live.status)
        if shown != self._shown:
            self._shown = shown
            self._frame = self._draw(cell, button)
        return self._frame

    def _draw(self, cell: int | None, button: str | None) -> NDArray[np.uint8]:
        session = self._live.session
        board = self._drawn(session.state)
        if cell is not None:
            self._add_preview(board, cell)
        size = (self._width, self._board_height + PANEL_HEIGHT)
        image = Image.new("RGB", size, BACKGROUND)
        image.paste(Image.fromarray(board), (self._left, 0))
        draw = ImageDraw.Draw(image)
        hint = session.hint
        if hint is not None and hint.cell is not None:  # a ring around the cell
            x, y = self._centers[hint.cell]
            width = max(3, self.look.cell_size // 12)
            draw.circle((x + self._left, y), 0.42 * self.look.cell_size, outline=HINT, width=width)
        self._draw_texts(image, draw)
        hinted = None if hint is None else session.text(hint.action)
        for word, box in self.buttons().items():
            at_mouse = BUTTON_AT_MOUSE if word == button else BUTTON
            draw.rounded_rectangle(box, 6, HINT if word == hinted else at_mouse)
            middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
            draw.text(middle, _label(word), TEXT, self._font, anchor="mm")
        return np.array(image)

    def _drawn(self, state: State) -> NDArray[np.uint8]:
        return render_rgb(self._game, state, look=self.look)

    def _square(self, cell: int) -> tuple[slice, slice]:
        x, y = self._centers[cell]
        half = self.look.cell_size / 2
        rows = slice(round(y - half), round(y + half))
        return rows, slice(round(x - half), round(x + half))

    def _add_preview(self, board: NDArray[np.uint8], cell: int) -> None:
        """Draw faintly the stone that a click on a cell would place, if it is legal."""
        session = self._live.session
        action = session.action_at(cell)
        if session.status != "yours" or action not in session.legal_actions:
            return
        filled = session.cell_of(action)
        after = clone(self._game, session.state)
        self._game.step(after, action)
        after.winner = IN_PLAY  # draw the stone without the winning line
        if filled is None or self._game.owner(after, filled) == EMPTY:
            return
        place = self._square(filled)
        stone = PREVIEW_OPACITY * self._drawn(after)[place]
        board[place] = ((1 - PREVIEW_OPACITY) * board[place] + stone).astype(np.uint8)

    def _draw_texts(self, image: Image.Image, draw: ImageDraw.ImageDraw) -> None:
        """Message and status below the board; a long message covers the board."""
        top = self._board_height + MARGIN
        lines = self._wrapped(self._live.message)
        place = (MARGIN, MARGIN if self.is_covered else top)
        if self.is_covered:
            height = min(len(lines) * LINE_HEIGHT + 2 * MARGIN, image.height)
            draw.rectangle((0, 0, image.width, height), BACKGROUND)
        draw.multiline_text(place, "\n".join(lines), TEXT, self._font, spacing=6)
        below = top + MAX_LINES * LINE_HEIGHT
        image.paste(self._stone, (MARGIN, below))
        beside = (MARGIN + LINE_HEIGHT + 6, below + LINE_HEIGHT / 2)
        draw.text(beside, self._wrapped(self._live.status)[0], TEXT, self._font, anchor="lm")

    def _wrapped(self, text: str) -> list[str]:
        """The lines of a text, broken to the width of the frame."""
        room = self._width - 3 * MARGIN - LINE_HEIGHT
        found: list[str] = []
        for line in text.splitlines():
            letter = max(1.0, self._font.getlength(line)) / max(1, len(line))
            found += textwrap.wrap(line, int(room / letter)) or [""]
        return found


def fitting_look(game: Game) -> Look:
    """A board with the largest of `CELL_SIZES` that fits `MAX_BOARD`, or else the smallest."""
    looks = [Look(cell_size=size) for size in CELL_SIZES]
    for look in looks:
        width, height = geometry_of(game, look).frame_size
        if width <= MAX_BOARD[0] and height <= MAX_BOARD[1]:
            return look
    return looks[-1]


def _label(word: str) -> str:
    """The text of a button: its key, and its command or choice."""
    key = next((short for short, command in SHORT.items() if command == word), word[0])
    return f"{key}  {word}"
