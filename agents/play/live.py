"""A session that is shown while it goes on: the agent thinks in the background."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from agents.core.agent import ForfeitError
from agents.core.background import in_background
from agents.play.session import Hint, Session
from agents.play.words import help_text, understand

BUSY: Final = "the agent is thinking"


@dataclass
class Thought:
    """An action that the agent is looking for.

    Attributes:
        is_hint: Whether it is for the person.
        action: What it comes to.
        started: When, as `time.monotonic` tells it.
    """

    is_hint: bool
    action: Future[int]
    started: float = field(default_factory=time.monotonic)


class LiveSession:
    """What a screen and a window have in common; they show it, and hand over what is done.

    Whoever shows it calls `update` many times a second.

    Args:
        session: The session.
        help: How the help begins: how moves are made.

    Attributes:
        session: The session.
        message: What has happened last; may have several lines.
        hint: What the agent would play here, once it has been asked.
        is_closed: Whether the person has left.
    """

    def __init__(self, session: Session, help: str) -> None:
        self.session = session
        self.message = f"{session.greeting}; ? for help"
        self.hint: Hint | None = None
        self.is_closed = False
        self._help = help
        self._thought: Thought | None = None

    @property
    def status(self) -> str:
        """What is being waited for, or how the session has ended."""
        if self._thought is not None:
            return f"{BUSY} ({time.monotonic() - self._thought.started:.0f} s)"
        return self.session.result if self.session.is_over else self.session.prompt

    # ---- what a person does ------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Do what a word tells: a move or a command."""
        try:
            meant = understand(self.session, text)
        except ValueError as error:
            self.message = str(error)
            return
        if isinstance(meant, int):
            self.play(meant)
        else:
            self._commands[meant]()

    def play(self, action: int | None) -> None:
        """Play an action if the person may; None stands for a place where there is none."""
        if self._is_busy():
            return
        if self.session.is_over:
            self.message = "the game is over; undo takes back, quit leaves"
        elif action is None:
            self.message = "no move there"
        else:
            try:
                self.message = self.session.play(action)
                self.hint = None
            except ValueError as error:
                self.message = str(error)

    def undo(self) -> None:
        """Take back the person's last move, also after the end."""
        if not self._is_busy():
            self.message = "taken back" if self.session.undo() else "nothing to take back"
            self.hint = None

    def ask(self) -> None:
        """Let the agent look for a hint."""
        if self._is_busy():
            return
        if self.session.is_over:
            self.message = "the game is over"
        else:
            self._think(is_hint=True)

    def show_moves(self) -> None:
        """Show the moves so far."""
        self.message = self.session.moves or "none yet"

    def show_help(self) -> None:
        """Show what can be done."""
        self.message = help_text(self.session, self._help)

    def leave(self) -> None:
        """End the session, also while the agent thinks: nobody waits for it then."""
        self.is_closed = True

    @property
    def _commands(self) -> dict[str, Callable[[], None]]:
        return {
            "undo": self.undo,
            "hint": self.ask,
            "moves": self.show_moves,
            "help": self.show_help,
            "quit": self.leave,
        }

    # ---- the agent ---------------------------------------------------------------------------

    def update(self) -> None:
        """Take what the agent has found, and let it think when it is to move.

        Raises:
            Exception: Whatever the agent has raised, but a forfeit.
        """
        if self._thought is not None and self._thought.action.done():
            thought, self._thought = self._thought, None
            self._take(thought)
        session = self.session
        if self._thought is None and not session.is_over and not session.is_persons_turn:
            self._think(is_hint=False)

    def _take(self, thought: Thought) -> None:
        try:
            action = thought.action.result()
        except ForfeitError as forfeit:
            self.session.forfeit = forfeit.reason
            return
        if thought.is_hint:
            self.hint = self.session.hint(action)
            self.message = self.hint.text
        else:
            self.message = self.session.reply(action)

    def _think(self, is_hint: bool) -> None:
        self._thought = Thought(is_hint, in_background(self.session.think))

    def _is_busy(self) -> bool:
        """Whether the person has to wait; then says so."""
        self.update()  # the agent may be next without having begun, or done
        if self._thought is not None:
            self.message = f"{BUSY}; wait, or quit"
        return self._thought is not None
