"""A session on a screen or in a window: the agent thinks in the background."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from agents.apps.play import commands
from agents.apps.play.session import Answer, Session, SessionError, Task
from agents.core.background import in_background

BUSY: Final = "the agent is thinking"


class LiveSession:
    """What terminal and window have in common. They call `update` many times a second.

    Their `help` says how moves are made.

    Attributes:
        message: What has happened last; may have several lines.
        is_closed: Whether the person has left.
    """

    def __init__(self, session: Session, help: str) -> None:
        self.session = session
        self.message = f"{commands.greeting(session)}; ? for help"
        self.is_closed = False
        self._help = help
        self._running: tuple[Task, Future[Answer]] | None = None
        self._started = 0.0  # when the task that is running began

    @property
    def status(self) -> str:
        """Who is to move, or how the session has ended."""
        if self._running is not None:
            return f"{BUSY} ({time.monotonic() - self._started:.0f} s)"
        if self.session.error is not None:
            return "the agent has failed"
        if self.session.is_over:
            return commands.result_text(self.session)
        return commands.prompt(self.session)

    # ---- what a person does ------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Do what a text means: a move or a command."""
        try:
            meant = commands.understand(self.session, text)
        except ValueError as error:
            self.message = str(error)
            return
        if isinstance(meant, int):
            self.play(meant)
        else:
            self._commands[meant]()

    def play(self, action: int | None) -> None:
        """Play an action if it is possible; None stands for a place without an action."""
        if self._is_busy():
            return
        if self.session.is_over:
            self.message = "the game is over; undo takes back, quit leaves"
        elif action is None:
            self.message = "no move there"
        else:
            try:
                self.session.play(action)
                self.message = commands.last_move_text(self.session)
            except ValueError as error:
                self.message = str(error)

    def undo(self) -> None:
        """Take back the person's last move, also after the end."""
        if self._is_busy():
            return
        if self.session.can_undo:
            self.message = commands.undo_text(self.session, self.session.undo())
        else:
            self.message = "nothing to take back"

    def ask(self) -> None:
        if self._is_busy():
            return
        try:
            self.session.ask_hint()
        except SessionError as error:
            self.message = str(error)
        self.update()

    def show_moves(self) -> None:
        self.message = self.session.moves or "none yet"

    def show_help(self) -> None:
        self.message = commands.help_text(self.session, self._help)

    def leave(self) -> None:
        """End the session, without waiting for the agent."""
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
        """Take the agent's result if there is one, and start its next task.

        What the agent has raised is raised here, other than a forfeit, by every call.
        """
        if self._running is not None and self._running[1].done():
            (task, future), self._running = self._running, None
            self._finish(task, future)
        if self.session.error is not None:
            raise self.session.error
        task = self.session.next_task()
        if task is not None:
            self._running = task, in_background(task.run)
            self._started = time.monotonic()

    def _finish(self, task: Task, future: Future[Answer]) -> None:
        session = self.session
        error = future.exception()  # whatever an agent may raise
        session.finish(task, error if isinstance(error, Exception) else future.result())
        if session.error is not None:
            return
        if session.hint is not None:
            self.message = commands.hint_text(session, session.hint)
        elif session.reason is None:
            self.message = commands.last_move_text(session)

    def _is_busy(self) -> bool:
        """Whether the agent is thinking; the message says so then."""
        self.update()  # the agent's turn may have begun, or its task may be done
        if self._running is not None:
            self.message = f"{BUSY}; wait, or quit"
        return self._running is not None
