"""A session in the browser: messages of a page go in, messages for all its pages come out."""

import time
from collections.abc import Callable
from typing import Any, Final, cast

from agents.apps.play.session import AWAY, COMPILING, Answer, Hint, Session, Task
from agents.apps.play.titles import title_of
from agents.apps.web import page
from agents.apps.web.page import Values
from agents.apps.web.protocol import Message, MessageError, Setup
from agents.core.agent import Agent
from agents.planning.environment import legal_actions
from agents.records import GameRecord, Search
from hexenv.games.base import new_state

PERSON: Final = "human"
"""The person's name in a record."""

Messages = list[Values]
"""For all pages that show the game."""


class ServedGame:
    """A session as its pages see it; it begins with an environment before `reset`."""

    def __init__(
        self, setup: Setup, env: Any, agent: Agent, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.setup = setup
        self.session = Session(env, agent, setup.side, is_prepared=False, clock=clock)
        self.names = ("you", setup.agent) if setup.side == 0 else (setup.agent, "you")
        game = self.session.game
        self._frames = [page.frame_view(game, new_state(game))]

    @property
    def ply(self) -> int:
        return len(self.session.turns)

    # ---- what pages see --------------------------------------------------------------------------

    def greeting(self) -> Messages:
        """Everything, for a new page."""
        title = title_of(self.setup.game, self.setup.options, self.session.game)
        board = page.board_data(self.session.game)
        about = {"game": self.setup.game, "options": self.setup.options}
        return [{"type": "board", "title": title, "board": board, **about}, self._state(0)]

    def _state(self, since: int) -> Values:
        """The state of the game, with the frames from one on."""
        session = self.session
        status = session.status
        seconds = [0.0, 0.0]
        for turn in session.turns:
            seconds[turn.player] += turn.seconds
        hint, error = session.hint, session.error
        first, second = (name.partition(":")[0] for name in self.names)
        return {
            "type": "state",
            "since": since,
            "frames": self._frames[since:],
            "status": status,
            "side": session.side,
            "names": self.names,
            "choices": self._choices() if status == "yours" else None,
            "question": session.question if status == "yours" else "",
            "can_undo": session.can_undo,
            "is_asked": session.wants_hint,
            "hint": None if hint is None else self._hint(hint),
            "result": page.result_text(session.outcome, session.reason, (first, second)),
            "outcome": session.outcome,
            "seconds": seconds,
            **self._clock(),
            "error": "" if error is None else f"{type(error).__name__}: {error}",
        }

    def _clock(self) -> Values:
        """The seconds of this turn, or None between turns, and whether they go on."""
        clock = self.session.turn_clock
        return {
            "turn": clock.seconds if self.session.status in ("yours", "thinking") else None,
            "is_running": clock.is_running,
            "is_compiling": clock.is_held(COMPILING),
        }

    def hold_clock(self, is_away: bool) -> Messages:
        """Hold the clock as long as nobody sees the game; returns what pages have to know."""
        clock = self.session.turn_clock
        if clock.is_held(AWAY) == is_away:
            return []
        clock.hold(AWAY, is_away)
        return [{"type": "clock", **self._clock()}]

    def note_compiling(self, task: Task, begins: bool) -> Messages:
        """Hold the clock while the agent compiles; returns what pages have to know."""
        is_noted = self.session.note_compiling(task, begins)
        return [{"type": "clock", **self._clock()}] if is_noted else []

    def _choices(self) -> Values:
        session = self.session
        return page.choices_view(session.game, session.state, legal_actions(session.env).tolist())

    def _hint(self, hint: Hint) -> Values:
        return {**self._move(self.session.env, hint.action, None), "cell": hint.cell}

    def _move(self, env: Any, action: int, seconds: float | None) -> Values:
        return page.move_view(self.session.game, env.unwrapped.state, action, seconds)

    def _changed(self, ply: int) -> Messages:
        """The new state, after a change to a game that had this many plies.

        The last frame that both have is sent again: it may have got a search.
        """
        session = self.session
        since = min(ply, self.ply)
        del self._frames[since + 1 :]
        played = session.turns[since:]
        later = [turn.env for turn in played[1:]] + [session.env]
        for turn, env in zip(played, later, strict=False):
            if turn.search is not None:
                self._show(turn.search, turn.env)
            move = self._move(turn.env, turn.action, turn.seconds)
            self._frames.append(page.frame_view(session.game, env.unwrapped.state, move))
        if session.hint is not None and session.hint.search is not None:
            self._show(session.hint.search, session.env)
        return [self._state(since)]

    def _show(self, search: Search, env: Any) -> Values:
        """Put a search of a position into the last frame."""
        found = page.search_view(self.session.game, env.unwrapped.state, search)
        self._frames[-1]["search"] = found
        return found

    def record_maker(self) -> Callable[[], GameRecord]:
        """A function that makes a record of the game so far, on any thread."""
        agent = self.setup.agent
        names = (PERSON, agent) if self.setup.side == 0 else (agent, PERSON)
        return self.session.record_maker(self.setup.game, self.setup.options, names)

    # ---- what happens ----------------------------------------------------------------------------

    def handle(self, message: Message) -> Messages:
        """Do what a page asks for.

        Raises:
            MessageError: If it is not possible now; the game has not changed.
        """
        ply = self.ply
        if message.ply != ply:
            raise MessageError(
                f"the game has gone on: expected a message about ply {ply}, "
                f"got one about {message.ply}"
            )
        session = self.session
        actions: dict[str, Callable[[], object]] = {
            "play": lambda: session.play(cast("int", message.action)),
            "undo": session.undo,
            "hint": session.ask_hint,
            "resign": session.resign,
            "retry": session.retry,
        }
        try:
            actions[message.type]()
        except ValueError as error:
            raise MessageError(str(error)) from None
        return self._changed(ply)

    def show_search(self, task: Task, search: Search) -> Messages:
        """Show what the agent has found so far."""
        if not self.session.is_current(task):
            return []
        found = self._show(search, self.session.env)
        return [{"type": "search", "ply": self.ply, "search": found}]

    def finish(self, task: Task, result: Answer | Exception) -> Messages:
        """Go on with what `Task.run` returned or raised.

        A search that cannot be shown raises before the game has changed.
        """
        if isinstance(result, Answer) and result.search is not None:
            page.search_view(self.session.game, task.env.unwrapped.state, result.search)
        ply = self.ply
        return self._changed(ply) if self.session.finish(task, result) else []
