"""A game in a window, by mouse."""

from typing import Final

from agents.play.live import LiveSession
from agents.play.picture import Picture
from agents.play.session import Session
from agents.play.words import understand
from hexenv.games.notation import IllegalActionError
from hexenv.render.window import Click, Event, Key, Moved, Window

HELP: Final = """\
Click on a cell to play there, on a button or press its key for what it says.
A click takes this text away."""
FRAMES_PER_SECOND: Final = 30


def run(session: Session) -> None:
    """Play until the person leaves or closes the window.

    Raises:
        ImportError: If pygame is not installed.
        OSError: If there is no screen.
        Exception: Whatever the agent has raised, but a forfeit.
    """
    WindowFace(LiveSession(session, HELP)).run()


class WindowFace:
    """The board in a window, with what has happened and buttons below it.

    Args:
        live: The session.

    Attributes:
        live: The session.
        window: The window.
        picture: What it shows.
    """

    def __init__(self, live: LiveSession) -> None:
        self.live = live
        self.window = Window(
            f"{live.session.game.name}: {live.session.greeting}", FRAMES_PER_SECOND
        )
        self.picture = Picture(live)

    def run(self) -> None:
        """Show it until the person leaves.

        Raises:
            OSError: If there is no screen to show it on.
        """
        try:
            self.turn()
            if self.window.is_open and not self.window.is_seen:
                raise OSError("expected a screen to open a window on, got none")
            while self.window.is_open and not self.live.is_closed:
                self.turn()
        finally:
            self.window.close()

    def turn(self) -> None:
        """One frame, and what the person has done before it."""
        for event in self.window.events():
            self.handle(event)
        self.live.update()
        self.window.show(self.picture.frame())

    def handle(self, event: Event) -> None:
        """Do what the mouse or a key tells."""
        if self.picture.is_covered and not isinstance(event, Moved):
            self.live.message = ""
            if isinstance(event, Click):  # it was meant to uncover the board
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
        """Do what one letter tells: a command, a choice, or a move that is written so."""
        if len(name) > 1:  # the arrows and the like
            return
        try:
            understand(self.live.session, name)
        except IllegalActionError:  # a move, which `say` explains
            pass
        except ValueError:
            self.live.message = f"{name} is no key here; ? for help"
            return
        self.live.say(name)
