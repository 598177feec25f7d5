"""A game on the whole terminal: a cursor on the board, and a line to type in."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Point
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.layout.utils import explode_text_fragments
from prompt_toolkit.output import Output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import Frame

from agents.apps.play.commands import COMMANDS, SHORT, TYPED, names_of, value_bar, wrapped
from agents.apps.play.live import LiveSession
from agents.apps.play.session import Session
from hexenv.games.base import Game, new_state
from hexenv.render.ansi import render_text, sides_text

HELP: Final = f"""\
Arrow keys move the cursor, Enter plays there; below the last row are choices, if any.
F1 help, F2 hint, F3 moves, Ctrl-Z undo, Ctrl-C quit. Tab completes what you type, Enter does it.
{TYPED}"""
SHORT_FOOT: Final = "with Enter: u undo, h hint, m moves, q quit | ? help"
FOOT: Final = f"arrows and Enter, or type a move | {SHORT_FOOT}"
ROOM: Final = 12
"""Lines that all else but the board takes."""
STYLE: Final = Style(
    [
        ("cursor", "reverse bold"),
        ("hint", "bg:ansigreen fg:ansiblack bold"),
        ("status", "bold"),
        ("foot", "reverse"),
    ]
)
UPDATE_SECONDS: Final = 0.05
"""Time between two updates of the session."""


def run(session: Session, input: Input | None = None, output: Output | None = None) -> None:
    """Play on the terminal (or other input and output) until the person leaves."""
    Screen(LiveSession(session, HELP), input, output).run()


class Screen:
    """The board with a cursor, the messages, and the line to type in."""

    def __init__(self, live: LiveSession, input: Input | None, output: Output | None) -> None:
        self.live = live
        self.cursor = Cursor(live.session)
        self._places = cell_places(live.session.game)
        self._complaint = ""  # about a terminal that is too small
        self._line = Buffer(
            multiline=False,
            completer=MoveCompleter(live.session),
            complete_while_typing=True,
            accept_handler=self._accept,
        )
        self._app: Application[None] = Application(
            Layout(self._container(), focused_element=self._line),
            key_bindings=self._bindings(),
            style=STYLE,
            full_screen=True,
            input=input,
            output=output,
            after_render=lambda _: self._look_for_room(),
        )

    def run(self) -> None:
        with patch_stdout():  # messages about compilation must not be written over the screen
            self._app.run(pre_run=self._begin)

    def _begin(self) -> None:
        self._app.create_background_task(self._follow())

    async def _follow(self) -> None:
        """Update the session and the screen until the person leaves."""
        live = self.live
        shown = None
        try:
            while not live.is_closed:
                live.update()
                if (news := (live.status, live.message, live.session.moves)) != shown:
                    shown = news
                    self._app.invalidate()
                await asyncio.sleep(UPDATE_SECONDS)
        except Exception as error:  # of the agent; `run` raises it
            self._app.exit(exception=error)
        else:
            self._app.exit()

    # ---- the screen --------------------------------------------------------------------------

    def _container(self) -> FloatContainer:
        session, game = self.live.session, self.live.session.game
        self._window = Window(
            FormattedTextControl(self._board, show_cursor=False, get_cursor_position=self._place),
            always_hide_cursor=True,
            dont_extend_height=True,
        )
        choices = Window(
            FormattedTextControl(self._choices), wrap_lines=True, height=self._choice_lines
        )
        has_choices = Condition(lambda: bool(self.live.session.choices))
        parts = [
            Frame(self._window, session.title),
            self._text(lambda: "" if self._is_tight else sides_text(game, names_of(session))),
            ConditionalContainer(choices, has_choices),
            self._text(lambda: self._complaint, "class:status"),
            self._text(lambda: "" if self._is_tight else value_bar(session)),
            self._text(lambda: self.live.message),
            self._text(lambda: self.live.status, "class:status"),
            Window(BufferControl(self._line, [BeforeInput("> ")]), height=1),
            Window(height=Dimension(min=0)),
            self._text(lambda: SHORT_FOOT if self._is_tight else FOOT, "class:foot"),
        ]
        menu = Float(CompletionsMenu(max_height=8), xcursor=True, ycursor=True)
        return FloatContainer(HSplit(parts), [menu])

    def _text(self, text: Callable[[], str], style: str = "") -> ConditionalContainer:
        """A part of the screen with as many lines as its text needs, and none without a text."""

        def shown() -> str:
            return wrapped(text(), self._columns)

        lines = Window(
            FormattedTextControl(shown),
            height=lambda: Dimension.exact(shown().count("\n") + 1),
            style=style,
        )
        return ConditionalContainer(lines, Condition(lambda: bool(text())))

    @property
    def _columns(self) -> int:
        return max(8, self._app.output.get_size().columns)

    @property
    def _is_tight(self) -> bool:
        """Whether the terminal has no room for what can be done without."""
        return self._app.output.get_size().rows < self._places[-1][0] + ROOM

    def _choice_lines(self) -> Dimension:
        """As many lines as the choices need."""
        length = sum(len(text) for _, text, *_ in self._choices())
        return Dimension.exact(-(-length // self._columns))

    def _look_for_room(self) -> None:
        """Say so if the terminal has no room for the whole board."""
        shown = self._window.render_info
        if shown is None:
            return
        text = render_text(self.live.session.game, self.live.session.state).splitlines()
        needed = max(map(len, text)), len(text)
        parts = [
            f"{room} of {need} {what}"
            for room, need, what in (
                (shown.window_height, needed[1], "rows"),
                (shown.window_width, needed[0], "columns"),
            )
            if room < need
        ]
        complaint = ""
        if parts:
            complaint = f"only {' and '.join(parts)} fit in this window; the arrows scroll"
        if complaint != self._complaint:
            self._complaint = complaint
            self._app.invalidate()

    def _board(self) -> StyleAndTextTuples:
        session = self.live.session
        hint = None if session.hint is None else session.hint.cell
        text = render_text(session.game, session.state, color=True, hint=hint)
        letters = explode_text_fragments(to_formatted_text(ANSI(text)))
        starts = [0, *(at for at, letter in enumerate(letters, 1) if letter[1] == "\n")]
        painted: list[tuple[int, str]] = []
        if session.hint is not None and session.hint.cell is not None:
            painted.append((session.hint.cell, "class:hint"))
        if (cell := self.cursor.cell) is not None:
            painted.append((cell, "class:cursor"))
        for cell, style in painted:  # the symbol of a cell and the spaces beside it
            line, column = self._places[cell]
            middle = starts[line] + column
            for at in range(middle - 1, middle + 2):
                if at < len(letters) and letters[at][1] != "\n":
                    letters[at] = (f"{letters[at][0]} {style}", letters[at][1])
        return letters

    def _place(self) -> Point:
        """The place that stays visible if the terminal is smaller than the board."""
        cell = self.cursor.cell
        line, column = self._places[-1 if cell is None else cell]
        return Point(column, line)

    def _choices(self) -> StyleAndTextTuples:
        session = self.live.session
        shown: StyleAndTextTuples = []
        for action in session.choices:
            is_hint = session.hint is not None and session.hint.action == action
            style = "class:hint" if is_hint else ""
            if action == self.cursor.choice:
                style += " class:cursor"
            shown += [(style, f"[{session.text(action)}]"), ("", " ")]
        return shown

    # ---- keys --------------------------------------------------------------------------------

    def _bindings(self) -> KeyBindings:
        live, move = self.live, self.cursor.move
        while_empty: dict[str, Callable[[], None]] = {  # while nothing is typed
            "up": partial(move, -1, 0),
            "down": partial(move, 1, 0),
            "left": partial(move, 0, -1),
            "right": partial(move, 0, 1),
            "?": live.show_help,
        }
        while_empty |= dict.fromkeys(("enter", "space"), lambda: live.play(self.cursor.action))
        always = {"f1": live.show_help, "f2": live.ask, "f3": live.show_moves, "c-z": live.undo}
        always |= dict.fromkeys(("c-c", "c-d", "c-q"), live.leave)
        keys, is_empty = KeyBindings(), Condition(lambda: not self._line.text)
        for bound, when in ((while_empty, is_empty), (always, True)):
            for key, function in bound.items():
                keys.add(key, filter=when)(_handler(function))
        return keys

    def _accept(self, line: Buffer) -> bool:
        """Do what was typed; the line is empty afterwards."""
        self.live.say(line.text)
        return False


class Cursor:
    """What the arrow keys move: a cell of the board, or one of the choices below it.

    It starts in the middle of the board.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._row = session.game.rows // 2
        self._column = session.game.columns // 2
        self._choice: int | None = None

    def move(self, down: int, right: int) -> None:
        """Move by one step. Below the last row are the choices, if there are any."""
        game = self._session.game
        choices = self._session.choices
        if self._choice is not None and choices:
            self._choice = None if down < 0 else _within(self._choice + right, len(choices))
            return
        self._choice = None
        if down > 0 and self._row == game.rows - 1 and choices:
            self._choice = 0
        self._row = _within(self._row + down, game.rows)
        self._column = _within(self._column + right, game.columns)

    @property
    def choice(self) -> int | None:
        """The choice that it is on, as an action; None on the board."""
        choices = self._session.choices
        return None if self._choice is None or not choices else choices[self._choice]

    @property
    def action(self) -> int | None:
        """The action at the cursor, legal or not; None where there is none."""
        if self.choice is not None:
            return self.choice
        return self._session.action_at(self._row * self._session.game.columns + self._column)

    @property
    def cell(self) -> int | None:
        """The cell to mark: where the stone would come to lie. None on a choice."""
        if self.choice is not None:
            return None
        action = self.action
        if action is not None and action in self._session.legal_actions:
            return self._session.cell_of(action)
        return self._row * self._session.game.columns + self._column


class MoveCompleter(Completer):
    """Completes words to legal moves and commands of a session.

    To a letter that is a command, such as h for a hint, it offers moves only if it is asked (Tab):
    a menu of all moves of column h would look as if the letter meant no hint.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        typed = document.text_before_cursor.lower()
        if not typed:  # then the arrow keys move the cursor
            return
        if typed in SHORT and not complete_event.completion_requested:
            return
        moves = [self._session.text(action) for action in self._session.legal_actions]
        for word in [*moves, *COMMANDS]:
            if word.startswith(typed) and word != typed:
                yield Completion(word, -len(typed))


def _handler(function: Callable[[], None]) -> Callable[[KeyPressEvent], None]:
    """A function without an event as the handler of a key."""
    return lambda _: function()


def cell_places(game: Game) -> list[tuple[int, int]]:
    """The line and column of every cell in the text of the board: an empty cell is a dot."""
    lines = render_text(game, new_state(game)).splitlines()
    return [
        (number, column)
        for number, line in enumerate(lines)
        for column, letter in enumerate(line)
        if letter == "."
    ]


def _within(number: int, count: int) -> int:
    """The number from 0 to count - 1 that is nearest."""
    return min(max(number, 0), count - 1)
