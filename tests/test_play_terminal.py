"""A person's game on a whole terminal, by the keys that a terminal sends."""

import asyncio
import contextlib
import threading
import time
from concurrent.futures import CancelledError

import pytest
from click.testing import CliRunner
from persons import GAMES, Broken, Lowest, session_of

from agents.apps.cli import main
from agents.apps.cli import play as command
from hexenv.common.extras import how_to_install
from hexenv.render.ansi import render_text

pytest.importorskip("prompt_toolkit", reason="the extra human is not installed")

from prompt_toolkit.application.current import set_app
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import fragment_list_to_text
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from agents.apps.play import terminal
from agents.apps.play.commands import SHORT, result_text
from agents.apps.play.live import LiveSession

ENTER, UNDO, QUIT = "\r", "\x1a", "\x03"
UP, DOWN, RIGHT, LEFT = (f"\x1b[{letter}" for letter in "ABCD")
F1, F2, F3 = "\x1bOP", "\x1bOQ", "\x1bOR"


class Typist:
    """Types into a screen that runs in this thread, from another one."""

    def __init__(self, session):
        self.live = LiveSession(session, terminal.HELP)
        self.problem = None

    def run(self, steps):
        """Run the screen while a generator types: it yields keys, and goes on when all is quiet."""
        with create_pipe_input() as pipe:
            screen = terminal.Screen(self.live, pipe, DummyOutput())
            self.loop_of = lambda: screen._app.loop
            typing = threading.Thread(target=self.type_all, args=(pipe, steps(screen)))
            typing.start()
            screen.run()
            typing.join()
        if self.problem is not None:
            raise self.problem
        return self.live.session

    def type_all(self, pipe, steps):
        try:
            for keys in steps:
                before, _ = self.look()
                pipe.send_text(keys)
                self.wait(before, keys)
        except BaseException as problem:
            self.problem = problem
        if not self.live.is_closed:
            pipe.send_text(QUIT)

    def look(self):
        """What is shown and whether all is quiet, seen between two events of the screen.

        Within an event the moves, the message and whose turn it is change one after the other.
        """

        async def both():
            return self.state(), self.is_quiet()

        until = time.monotonic() + 20
        while not self.live.is_closed and time.monotonic() < until:
            if (loop := self.loop_of()) is None:  # the screen has not started
                time.sleep(0.005)
                continue
            with contextlib.suppress(CancelledError, RuntimeError, TimeoutError):  # it ends now
                return asyncio.run_coroutine_threadsafe(both(), loop).result(2)
        return self.state(), self.live.is_closed

    def state(self):
        live = self.live
        return (live.message, live.session.moves, live.session.hint, live.is_closed)

    def wait(self, before, keys):
        """Until the keys have changed something, and the agent is not thinking.

        The arrows change only the cursor: what follows them is worth waiting for.
        """
        if keys.startswith("\x1b["):
            return
        until = time.monotonic() + 20
        while True:
            now, is_quiet = self.look()
            if now != before and is_quiet:
                return
            assert time.monotonic() < until, f"nothing came of {keys!r}"
            time.sleep(0.005)

    def is_quiet(self):
        live = self.live
        is_waited_for = live.session.status in ("over", "yours")
        return live.is_closed or (is_waited_for and "thinking" not in live.status)


def typed(session, *keys):
    """The session after these keys, and then the quit."""

    def steps(screen):
        yield from keys

    typist = Typist(session)
    typist.run(steps)
    return typist.live


def test_arrows_and_enter_play():
    live = typed(session_of(), ENTER, UP + UP + RIGHT + RIGHT, ENTER)
    assert live.session.moves == "5132"
    assert result_text(live.session) == "stopped"


def test_a_taken_cell_is_said_and_nothing_changes():
    live = typed(session_of(), ENTER, ENTER)
    assert "5 is taken" in live.message
    assert live.session.moves == "51"


def test_moves_and_commands_are_typed():
    live = typed(session_of(), "5" + ENTER, "undo" + ENTER, "9" + ENTER, "moves" + ENTER)
    assert (live.session.moves, live.message) == ("91", "91")
    live = typed(session_of(), "5" + ENTER, "u" + ENTER, "3" + ENTER, UNDO, F3)
    assert (live.session.moves, live.message) == ("", "none yet")


def test_while_something_is_typed_arrows_are_the_lines():
    session = typed(session_of("hex"), "3" + LEFT + "a" + ENTER).session
    assert session.moves == "a3 a1"


@pytest.mark.parametrize("quit", ["q" + ENTER, "quit" + ENTER, "\x03", "\x04", "\x11"])
def test_many_ways_to_leave(quit):
    live = typed(session_of(), "5" + ENTER, quit)
    assert live.is_closed
    assert live.session.moves == "51"


@pytest.mark.parametrize("keys", [F1, "?", "help" + ENTER])
def test_help_says_what_keys_do(keys):
    live = typed(session_of("hex-swap", "b2", side=1), keys)
    for word in ("Arrow keys", "Ctrl-Z undo", "Type a move", "  swap", "  undo"):
        assert word in live.message


@pytest.mark.parametrize("keys", [(DOWN * 3, ENTER), ("swap" + ENTER,)])
def test_choices_are_reached_by_arrows_and_by_text(keys):
    session = typed(session_of("hex-swap", "a2", side=1), *keys).session
    assert session.moves.startswith("a2 swap")


def test_a_hint_is_painted_where_the_agent_would_play():
    session = session_of("hex", "a1 b2")
    session.ask_hint()
    session.run_agent()
    screen = terminal.Screen(LiveSession(session, ""), None, DummyOutput())
    styles = [style for style, *_ in screen._board()]
    painted = [number for number, style in enumerate(styles) if "class:hint" in style]
    text = render_text(session.game, session.state)
    start = text.index(".")
    assert session.hint.cell == 1
    assert painted == [start - 1, start, start + 1]


class Sized(DummyOutput):
    def __init__(self, rows, columns):
        self.size = Size(rows, columns)

    def get_size(self):
        return self.size


def screen_of(session, rows, columns):
    """The lines of a terminal of a size."""
    screen = terminal.Screen(LiveSession(session, terminal.HELP), None, Sized(rows, columns))
    app = screen._app

    async def render():
        with set_app(app):
            for _ in range(2):  # the first finds out whether there is room
                app.renderer.render(app, app.layout)
                screen._look_for_room()

    asyncio.run(render())
    cells = app.renderer.last_rendered_screen.data_buffer
    return ["".join(cells[row][column].char for column in range(columns)) for row in range(rows)]


def test_the_board_has_a_frame_and_its_sides_owners():
    session = session_of("hex")
    session.play(4)
    session.run_agent()
    session.ask_hint()
    session.run_agent()
    shown = screen_of(session, 24, 80)
    assert "hex" in shown[0]
    assert shown[0].startswith("\u250c")
    assert all(line.endswith("\u2502") for line in shown[1:8])
    text = "\n".join(shown)
    assert "X (you) joins top and bottom (x), O (the agent) left and right (o)" in text
    assert "X ##################------ O  +0.50 for X (you)" in text
    assert "?" in "".join(shown[1:8])
    assert "fit in this window" not in text


@pytest.mark.parametrize(("rows", "columns"), [(12, 30), (13, 26), (24, 20), (24, 14)])
def test_nothing_vanishes_from_a_small_terminal_without_a_word(rows, columns):
    text = " ".join(" ".join(screen_of(session_of("gomoku-swap2"), rows, columns)).split())
    if "Window too" not in text:  # so few lines that nothing else is said
        for command in ("undo", "hint", "moves", "help", "quit"):
            assert command in text
        assert ("fit in" in text) == ((rows, columns) != (24, 20))


@pytest.mark.parametrize("name", GAMES)
def test_the_cursor_is_painted_on_its_cell(name):
    session = session_of(name)
    screen = terminal.Screen(LiveSession(session, ""), None, DummyOutput())
    assert fragment_list_to_text(screen._board()) == render_text(session.game, session.state)
    assert len(screen._places) == session.game.rows * session.game.columns
    painted = [letter for style, letter, *_ in screen._board() if "class:cursor" in style]
    assert painted[1] == "."
    screen.live.play(screen.cursor.action)
    cells = {
        cell for cell in range(len(screen._places)) if session.game.owner(session.state, cell) == 0
    }
    line, column = screen._places[cells.pop()]
    assert render_text(session.game, session.state).splitlines()[line][column] == "X"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", []),
        ("d", ["d6", "d5", "d2", "d1"]),
        ("s", ["swap"]),
        ("h", ["hint", "help"]),
        ("quit", []),
    ],
)
def test_completion_offers_legal_moves_and_commands(typed, words):
    completer = terminal.MoveCompleter(session_of("gomoku-swap2", "c3 d4 d3", side=1))
    found = completer.get_completions(Document(typed), CompleteEvent(completion_requested=True))
    assert [completion.text for completion in found] == words


BIG = {"hex-11": ("hex", ("board_size=11",)), "gomoku-15": ("gomoku", ())}


@pytest.mark.parametrize(("name", "letter"), [("hex-11", "h"), ("gomoku-15", "m")])
def test_a_letter_that_is_a_command_acts_and_opens_no_menu(name, letter, monkeypatch):
    monkeypatch.setitem(GAMES, name, BIG[name])
    session = session_of(name)
    completer = terminal.MoveCompleter(session)
    while_typing, by_tab = (
        list(completer.get_completions(Document(letter), event))
        for event in (CompleteEvent(text_inserted=True), CompleteEvent(completion_requested=True))
    )
    assert not while_typing
    assert len(by_tab) > session.game.rows  # the moves of that column, and the command
    live = typed(session, letter + ENTER)
    assert live.message == {"h": "the agent would play a1 (value +0.50)", "m": "none yet"}[letter]


def test_the_foot_says_which_letters_need_enter():
    told = terminal.SHORT_FOOT.partition(": ")[2].partition(" | ")[0].split(", ")
    assert dict(pair.split() for pair in told).items() <= SHORT.items()


def test_a_game_is_played_to_its_end():
    def steps(screen):
        session = screen.live.session
        while not session.is_over:
            yield session.text(session.legal_actions[-1]) + ENTER
        yield UNDO
        assert not session.is_over
        yield session.text(session.legal_actions[-1]) + ENTER

    session = Typist(session_of("gomoku-swap2")).run(steps)
    assert result_text(session) in ("you have won", "the agent has won", "a draw")


def test_quitting_does_not_wait_for_the_agent():
    agent = Lowest()
    agent.gate.clear()
    with create_pipe_input() as pipe:
        pipe.send_text(ENTER + QUIT)
        session = session_of(agent=agent)
        terminal.run(session, pipe, DummyOutput())
    assert (session.moves, result_text(session)) == ("5", "stopped")
    agent.gate.set()


def test_an_error_of_the_agent_ends_the_screen():
    with create_pipe_input() as pipe:
        pipe.send_text(ENTER)
        with pytest.raises(RuntimeError, match="no idea"):
            terminal.run(session_of(agent=Broken()), pipe, DummyOutput())


# ---- the cursor ----------------------------------------------------------------------------------


def test_the_cursor_stays_on_the_board():
    cursor = terminal.Cursor(session_of("hex"))
    assert cursor.cell == cursor.action == 4
    for down, right, cell in ((-1, 0, 1), (-1, 0, 1), (0, -1, 0), (0, -1, 0), (1, 0, 3), (0, 1, 4)):
        cursor.move(down, right)
        assert cursor.cell == cell
    for _ in range(3):
        cursor.move(1, 1)
    assert cursor.cell == 8


def test_in_a_wall_the_cursor_is_where_the_stone_would_fall():
    cursor = terminal.Cursor(session_of("connect4", moves="33"))
    assert (cursor.action, cursor.cell) == (2, 7)
    cursor.move(0, 1)
    assert (cursor.action, cursor.cell) == (3, 18)


def test_below_the_board_are_the_choices():
    session = session_of("gomoku-swap2", "c3 d4 d3", side=1)
    cursor = terminal.Cursor(session)
    for _ in range(10):
        cursor.move(1, 0)
    assert (cursor.cell, session.text(cursor.action)) == (None, "swap")
    cursor.move(0, 1)
    cursor.move(0, 1)
    assert session.text(cursor.choice) == "place_two"
    cursor.move(-1, 0)
    assert cursor.choice is None
    assert cursor.cell == 5 * 6 + 3
    cursor.move(1, 0)
    session.play(cursor.action)
    assert session.moves.endswith("swap")
    assert (cursor.choice, cursor.cell) == (None, 5 * 6 + 3)


# ---- which face it is ----------------------------------------------------------------------------


@pytest.fixture
def terminals(monkeypatch):
    """As if there were a terminal; what is shown on it is named."""
    shown = []
    monkeypatch.setattr(command, "is_terminal", lambda *streams: True)
    monkeypatch.setattr(terminal, "run", lambda session: shown.append("cursor"))
    monkeypatch.setattr(command.plain, "run", lambda session: shown.append("plain"))
    return shown


@pytest.mark.parametrize(
    ("option", "has_extra", "face"),
    [((), True, "cursor"), (("--plain",), True, "plain"), ((), False, "plain")],
)
def test_the_face_that_is_chosen(terminals, monkeypatch, option, has_extra, face):
    if not has_extra:
        monkeypatch.setattr(command, "find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["play", "tictactoe", "random", *option])
    assert terminals == [face]
    assert result.stdout == "stopped\nmoves: \n"
    assert result.stderr == ("" if has_extra else f"for cursor keys: {how_to_install('human')}\n")


@pytest.mark.parametrize(
    ("options", "why"), [(("--plain",), "got both"), ((), f"pygame: {how_to_install('human')}")]
)
def test_a_window_that_is_refused(monkeypatch, options, why):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["play", "tictactoe", "random", "--window", *options])
    assert result.exit_code == 2
    assert why in result.stderr
