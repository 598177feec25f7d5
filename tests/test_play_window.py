"""A person's game in a window, by what the system says that the mouse and keys have done."""

from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from persons import GAMES, Broken, Lowest, session_of, settle

from agents.apps.cli import main
from agents.apps.play import window
from agents.apps.play.commands import result_text
from agents.apps.play.live import LiveSession
from agents.apps.play.window import MAX_BOARD, MIN_WIDTH, fitting_look
from hexenv.games import connect4, gomoku, hex, tictactoe
from hexenv.games.base import new_state
from hexenv.render.rgb import render_rgb
from hexenv.render.window import Click, Key, Moved, Window


@pytest.fixture
def pygame(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    module = pytest.importorskip("pygame", reason="the extra human is not installed")
    module.display.quit()  # what another test may have left open
    yield module
    module.display.quit()


def on_screen(pygame):
    return pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)


def place_of(face, cell):
    """The pixel of a face's frame in the middle of a cell."""
    x, y = face.picture._centers[cell]
    return int(x + face.picture._left), int(y)


class Person:
    """Posts events to a face's window, and lets it show a frame."""

    def __init__(self, pygame, session):
        self.pygame = pygame
        self.live = LiveSession(session, window.HELP)
        self.face = window.WindowFace(self.live)
        self.face.window.fps = 0
        self.face.turn()
        self.settle()

    def post(self, kind, **about):
        self.pygame.event.post(self.pygame.event.Event(kind, **about))
        self.face.turn()

    def settle(self):
        settle(self.live)
        self.face.turn()

    def place_of(self, cell):
        return place_of(self.face, cell)

    def click(self, place, button=1):
        self.post(self.pygame.MOUSEBUTTONDOWN, pos=place, button=button)
        self.settle()

    def click_cell(self, move):
        session = self.live.session
        action = session.game.parse_action(move)
        self.click(self.place_of(session.cell_of(action)))

    def click_button(self, word):
        left, top, right, bottom = self.face.picture.buttons()[word]
        self.click(((left + right) // 2, (top + bottom) // 2))

    def press(self, letter):
        key = self.pygame.key.key_code(letter) if letter.isalnum() else 0
        self.post(self.pygame.KEYDOWN, key=key, unicode=letter, mod=0)
        if not self.live.is_closed:
            self.settle()

    def frame(self):
        return self.face.picture.frame()


# ---- what the window hands over ------------------------------------------------------------------


def test_events_come_in_order_and_once(pygame):
    shown = Window("test", fps=0)
    assert shown.events() == []
    frame = np.zeros((30, 40, 3), np.uint8)
    shown.show(frame)
    shown.events()
    for kind, about in (
        (pygame.MOUSEMOTION, {"pos": (3, 4), "rel": (0, 0), "buttons": (0, 0, 0)}),
        (pygame.MOUSEBUTTONDOWN, {"pos": (3, 5), "button": 1}),
        (pygame.MOUSEBUTTONDOWN, {"pos": (3, 5), "button": 3}),
        (pygame.KEYDOWN, {"key": pygame.K_u, "unicode": "u", "mod": 0}),
        (pygame.KEYDOWN, {"key": pygame.K_ESCAPE, "unicode": "\x1b", "mod": 0}),
        (pygame.KEYDOWN, {"key": pygame.K_LEFT, "unicode": "", "mod": 0}),
        (pygame.WINDOWLEAVE, {}),
    ):
        pygame.event.post(pygame.event.Event(kind, **about))
    shown.show(frame)  # which fetches them, too
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=0, unicode="?", mod=0))
    assert shown.events() == [
        Moved(3, 4), Click(3, 5), Key("u"), Key("escape"), Key("left"), Moved(-1, -1), Key("?"),
    ]  # fmt: skip
    assert shown.events() == []
    shown.close()
    assert shown.events() == []


def test_events_that_nobody_asks_for_are_forgotten(pygame):
    shown = Window("test", fps=0)
    frame = np.zeros((10, 10, 3), np.uint8)
    shown.show(frame)
    for number in range(400):
        pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, pos=(number, 0), button=1))
        shown.show(frame)
    found = shown.events()
    assert len(found) == 256
    assert found[-1] == Click(399, 0)
    shown.close()


def test_the_window_shows_frames_of_any_size_at_its_rate_and_closes_twice(pygame, monkeypatch):
    shown, waits = Window("tic", fps=50), []
    assert not pygame.display.get_init()
    monkeypatch.setattr(shown, "_clock", SimpleNamespace(tick=waits.append))
    for height in (20, 30):
        frame = np.full((height, 40, 3), height, np.uint8)
        shown.show(frame)
        assert np.array_equal(on_screen(pygame), frame)
    assert (pygame.display.get_caption()[0], waits) == ("tic", [50, 50])
    for _ in range(2):
        shown.close()
        assert not shown.is_open
        assert not pygame.display.get_init()


def test_a_window_that_the_user_closes_stays_closed(pygame):
    shown = Window("test", fps=0)
    frame = np.zeros((10, 10, 3), np.uint8)
    shown.show(frame)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    shown.show(frame)
    assert not shown.is_open
    shown.show(frame)
    assert not pygame.display.get_init()
    assert shown.events() == []


def test_a_window_outlives_another(pygame):
    frame = np.full((10, 20, 3), 7, np.uint8)
    first, second = Window("first", fps=0), Window("second", fps=0)
    first.show(frame)
    second.show(frame)
    first.close()
    second.show(frame)
    assert np.array_equal(on_screen(pygame), frame)
    second.close()


def test_without_a_screen_it_is_said(pygame, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "none of these")
    result = CliRunner().invoke(main, ["play", "tictactoe", "random", "--window"])
    assert result.exit_code == 1
    assert "expected a screen to open a window on, got none" in result.stderr


# ---- the game ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("player", [0, 1])
def test_every_game_is_played_to_its_end_by_clicks(pygame, name, player):
    person = Person(pygame, session_of(name, side=player))
    session = person.live.session
    person.press("h")
    assert person.live.message.startswith("the agent would play ")
    is_first = True
    while not session.is_over:
        choices = session.choices
        if choices:
            person.click_button(session.text(choices[0]))
            continue
        before = session.moves
        person.click_cell(session.text(session.legal_actions[-1]))
        assert session.moves != before
        if is_first:
            is_first = False
            person.click_button("undo")
            assert session.moves == before
    assert person.live.status == result_text(session) != "stopped"
    end = session.moves
    person.click(person.place_of(0))
    assert person.live.message.startswith("the game is over")
    assert session.moves == end
    person.press("u")
    assert not session.is_over
    person.press("q")
    assert person.live.is_closed


def test_a_click_anywhere_in_a_column_plays_it_until_it_is_full(pygame):
    person = Person(pygame, session_of("connect4", moves="1111"))
    person.click(person.place_of(15))
    assert "column 1 is full" in person.live.message
    person.click(person.place_of(2))
    assert person.live.session.moves == "111132"


def test_other_clicks_do_nothing(pygame):
    person = Person(pygame, session_of())
    before = person.live.message
    for place in ((0, 0), (-5, 5), (3, 10_000)):
        person.click(place)
    person.click(person.place_of(4), button=3)
    assert (person.live.message, person.live.session.moves) == (before, "")


def test_keys_are_commands_choices_and_short_moves(pygame):
    person = Person(pygame, session_of())
    person.press("5")
    assert person.live.session.moves == "51"
    person.press("1")
    assert "1 is taken" in person.live.message
    person.press("x")
    person.post(pygame.KEYDOWN, key=pygame.K_LEFT, unicode="", mod=0)
    assert person.live.message.startswith("x is no key here")
    person = Person(pygame, session_of("gomoku-swap2", "c3 d4 d3", side=1))
    person.press("p")
    assert person.live.session.moves == "c3 d4 d3 place_two"


@pytest.mark.parametrize(
    ("name", "moves", "cell", "is_legal"),
    [
        ("tictactoe", "", 4, True),
        ("tictactoe", "51", 0, False),
        ("hex", "b1 a1 b2 a2", 7, True),  # it would win: the winning line is not drawn
    ],
)
def test_a_stone_is_previewed_under_the_mouse(pygame, name, moves, cell, is_legal):
    person = Person(pygame, session_of(name, moves))
    plain = person.frame().copy()
    x, y = person.place_of(cell)
    person.post(pygame.MOUSEMOTION, pos=(x, y), rel=(0, 0), buttons=(0, 0, 0))
    changed = np.argwhere((person.frame() != plain).any(axis=2))
    assert (len(changed) > 100) == is_legal
    assert (abs(changed - (y, x)) <= person.face.picture.look.cell_size / 2 + 1).all()
    person.post(pygame.WINDOWLEAVE)
    assert np.array_equal(person.frame(), plain)
    assert not person.live.session.is_over


def test_a_hint_is_seen(pygame):
    person = Person(pygame, session_of(moves="51"))
    plain = person.frame().copy()
    person.click_button("hint")
    assert person.live.message == "the agent would play 2 (value +0.50)"
    x, y = person.place_of(1)
    edge = round(0.4 * person.face.picture.look.cell_size)
    assert (person.frame()[y, x + edge] != plain[y, x + edge]).any()


def test_help_covers_the_board_until_a_click(pygame):
    person = Person(pygame, session_of())
    plain = person.frame().copy()
    person.press("?")
    assert person.live.message.startswith("Click on a cell")
    covered = person.frame()
    x, y = person.place_of(4)
    assert (covered[:100] != plain[:100]).any(axis=2).mean() > 0.5
    person.click((x, y))
    assert (person.live.message, person.live.session.moves) == ("", "")
    person.click((x, y))
    assert person.live.session.moves == "51"


def test_the_window_answers_while_the_agent_thinks(pygame):
    agent = Lowest()
    person = Person(pygame, session_of(agent=agent))
    agent.gate.clear()
    person.post(pygame.MOUSEBUTTONDOWN, pos=person.place_of(4), button=1)
    person.post(pygame.MOUSEBUTTONDOWN, pos=person.place_of(0), button=1)
    assert person.live.message == "the agent is thinking; wait, or quit"
    assert person.live.session.moves == "5"
    agent.gate.set()
    person.settle()
    assert person.live.session.moves == "51"


def test_closing_the_window_ends_the_game(pygame):
    session = session_of(moves="51")
    for event in (pygame.QUIT, None):
        face = window.WindowFace(LiveSession(session, ""))
        face.turn()
        if event is None:
            face.live.leave()
        else:
            pygame.event.post(pygame.event.Event(event))
        face.run()
        assert not face.window.is_open
        assert not pygame.display.get_init()
    assert (session.moves, result_text(session)) == ("51", "stopped")


def test_an_agent_that_fails_closes_the_window(pygame):
    session = session_of(moves="5", agent=Broken())
    with pytest.raises(RuntimeError, match="no idea"):
        window.run(session)
    assert not pygame.display.get_init()


@pytest.mark.parametrize(
    "game", [hex.new(19), hex.new(2), connect4.new(), tictactoe.new(), gomoku.new(20)], ids=repr
)
def test_boards_fit_the_screen(game):
    look = fitting_look(game)
    height, width, _ = render_rgb(game, new_state(game), look=look).shape
    assert width <= MAX_BOARD[0]
    assert height <= MAX_BOARD[1]
    assert look.cell_size >= 24


@pytest.mark.parametrize("name", GAMES)
def test_buttons_are_within_the_frame(pygame, name):
    person = Person(pygame, session_of(name))
    height, width, _ = person.frame().shape
    assert width >= MIN_WIDTH
    for word, (left, top, right, bottom) in person.face.picture.buttons().items():
        assert 0 <= left < right <= width, word
        assert 0 <= top < bottom <= height, word


def test_the_command_plays_in_a_window(pygame, monkeypatch):
    def turn(face):
        face.click(*place_of(face, 4))
        face.handle(Key("q"))

    monkeypatch.setattr(window.WindowFace, "turn", turn)
    command = ["play", "tictactoe", "random", "--window", "--seed", "1"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert result.stdout == "stopped\nmoves: 5\n"


def test_a_window_that_nobody_can_see_is_not_played_in(pygame, monkeypatch):
    monkeypatch.setattr("pygame.display.get_driver", lambda: "offscreen")
    live = LiveSession(session_of(), window.HELP)
    with pytest.raises(OSError, match="expected a screen to open a window on"):
        window.WindowFace(live).run()
    monkeypatch.setattr("pygame.display.get_driver", lambda: "dummy")  # as was asked for
    assert window.WindowFace(live).window.is_seen
