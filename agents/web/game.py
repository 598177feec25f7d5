"""One game in the browser: a person against an agent.

No network and no threads: what a page sends goes in, messages for all its pages come out, and a
`Task` says what the agent has to do, which whoever holds the game runs where it likes.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any, Final, Literal, cast

from agents.arena.match import is_legal, prepare
from agents.core.agent import Agent, ForfeitError, Statistics
from agents.protocols.cells import cell_of, question_of
from agents.records import GameRecord, Search
from agents.records.record import fits
from agents.records.recorder import search_of
from agents.search.environment import legal_actions
from agents.web.page import board_data, title_of
from agents.web.protocol import Message, MessageError, Setup
from agents.web.view import Values, choices_view, frame_view, move_view, result_text, search_view
from hexenv.games import base, notation
from hexenv.games.gomoku.openings import is_opening

LOOK_SECONDS: Final = 0.12
"""How often a search is looked at."""
PERSON: Final = "human"
"""What a record calls the person."""

Messages = list[Values]
"""For all pages that show the game."""


class AbandonedError(Exception):
    """Ends a search whose result nobody waits for."""


@dataclass(frozen=True, eq=False)
class Task:
    """Something the agent has to do. `run` may be called on any thread.

    Attributes:
        kind: ``"prepare"`` (compile), ``"move"`` or ``"hint"``.
        agent: Who does it.
        env: The position, its own.
        abandoned: Set when the result is of no use any more.
    """

    kind: Literal["prepare", "move", "hint"]
    agent: Agent
    env: Any
    abandoned: Event = field(default_factory=Event)

    def run(self, report: Callable[[Search], None]) -> "Answer":
        """Do it.

        Args:
            report: Is told what the search has found so far, where the agent's search can be
                watched.

        Raises:
            Exception: Whatever the agent raises.
        """
        if self.kind == "prepare":
            self.env.reset()
            prepare(self.env, [self.agent])
            return Answer()
        raw = self.env.unwrapped
        # In an opening other positions are searched than the one that is shown.
        is_shown = not is_opening(raw.game, raw.state)
        if hasattr(self.agent, "on_slice"):
            cast("Any", self.agent).on_slice = self._watch(report if is_shown else None)
        started = time.perf_counter()
        action = self.agent.act(self.env)
        seconds = time.perf_counter() - started
        found = self.agent.statistics if is_shown else None
        search = None if found is None else search_of(found)
        if search is not None and not fits(raw.game, raw.state, search):
            search = None
        return Answer(action, seconds, search)

    def _watch(self, report: Callable[[Search], None] | None) -> Callable[[Any], None]:
        """What is called between the slices of the search."""
        shown = time.perf_counter()

        def look(found: Callable[[], Statistics]) -> None:
            nonlocal shown
            if self.abandoned.is_set():
                raise AbandonedError
            if report is not None and time.perf_counter() - shown >= LOOK_SECONDS:
                report(search_of(found()))
                shown = time.perf_counter()

        return look


@dataclass(frozen=True)
class Answer:
    """What came of a task."""

    action: Any = None
    seconds: float = 0.0
    search: Search | None = None


class ServedGame:
    """A game between a person and an agent.

    Args:
        setup: What is played.
        env: Its environment, before `reset`.
        agent: The opponent.
        clock: Seconds, for the person's time.
    """

    def __init__(
        self, setup: Setup, env: Any, agent: Agent, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.setup = setup
        self.game = env.unwrapped.game
        self.names = ("you", setup.agent) if setup.side == 0 else (setup.agent, "you")
        self._env = env
        self._agent = agent
        self._clock = clock
        self._is_prepared = False
        self._running: Task | None = None
        self._earlier: list[Any] = []  # the environment before each ply
        self._frames = [frame_view(self.game, base.new_state(self.game))]
        self._searches: list[Search | None] = []  # that chose each action
        self._wants_hint = False
        self._hint: Values | None = None
        self._outcome: int | None = None  # for player 0
        self._reason: str | None = None
        self._error = ""
        self._turn_began = clock()

    # ---- what there is to see --------------------------------------------------------------------

    @property
    def ply(self) -> int:
        """How many actions have been played."""
        return len(self._earlier)

    @property
    def status(self) -> str:
        """One of ``preparing``, ``yours``, ``thinking``, ``over``, ``failed``."""
        if self._error:
            return "failed"
        if not self._is_prepared:
            return "preparing"
        if self._outcome is not None:
            return "over"
        return "yours" if self._frames[-1]["player"] == self.setup.side else "thinking"

    def greeting(self) -> Messages:
        """All there is, for a page that has just come."""
        title = title_of(self.setup.game, self.setup.options)
        return [{"type": "board", "title": title, "board": board_data(self.game)}, self._state(0)]

    def _state(self, since: int) -> Values:
        """The state of the game with the frames from one on."""
        status = self.status
        question = question_of(self.game, self._env.unwrapped.state)
        seconds = [0.0, 0.0]
        for frame in self._frames[1:]:
            seconds[frame["move"]["player"]] += frame["move"]["seconds"]
        return {
            "type": "state",
            "since": since,
            "frames": self._frames[since:],
            "status": status,
            "side": self.setup.side,
            "names": self.names,
            "choices": self._choices() if status == "yours" else None,
            "question": question if status == "yours" else "",
            "can_undo": self._ply_to_undo() is not None,
            "is_asked": self._wants_hint,
            "hint": self._hint,
            "result": result_text(self._outcome, self._reason, self.names),
            "outcome": self._outcome,
            "seconds": seconds,
            "turn": self._clock() - self._turn_began if status in ("yours", "thinking") else None,
            "error": self._error,
        }

    def _choices(self) -> Values:
        legal = legal_actions(self._env).tolist()
        return choices_view(self.game, self._env.unwrapped.state, legal)

    def record(self) -> Callable[[], GameRecord]:
        """What makes a record of the game so far, on any thread: it checks all moves anew."""
        moves = [frame["move"] for frame in self._frames[1:]]
        agents = tuple(PERSON if name == "you" else name for name in self.names)
        return partial(
            GameRecord.of,
            self.setup.game,
            self.setup.options,
            [move["action"] for move in moves],
            outcome=self._outcome,
            reason=self._reason,
            agents=agents,
            seconds=tuple(move["seconds"] for move in moves),
            searches=tuple(self._searches),
        )

    # ---- what a page sends -----------------------------------------------------------------------

    def handle(self, message: Message) -> Messages:
        """Do what a page asks for.

        Raises:
            MessageError: If it cannot be done now; the game is as it was.
        """
        if message.ply != self.ply:
            raise MessageError(
                f"the game has gone on: expected a message about ply {self.ply}, "
                f"got one about {message.ply}"
            )
        if message.action is not None:
            return self._play_own(message.action)
        others = {
            "undo": self._undo,
            "hint": self._ask,
            "resign": self._resign,
            "retry": self._retry,
        }
        return others[message.type]()

    def _play_own(self, action: int) -> Messages:
        self._expect_turn()
        try:
            notation.check_action(self.game, self._env.unwrapped.state, action)
        except ValueError as error:
            raise MessageError(str(error)) from None
        self._abandon()
        return self._play(action, self._clock() - self._turn_began, None)

    def _undo(self) -> Messages:
        ply = self._ply_to_undo()
        if ply is None:
            raise MessageError("there is no move of yours to take back")
        self._abandon()
        self._env = self._earlier[ply]
        del self._earlier[ply:], self._searches[ply:], self._frames[ply + 1 :]
        self._outcome = self._reason = None
        self._error = ""
        self._begin_turn()
        return [self._state(ply)]

    def _ply_to_undo(self) -> int | None:
        """The last ply at which the person played."""
        players = [frame["player"] for frame in self._frames[:-1]]
        own = [ply for ply, player in enumerate(players) if player == self.setup.side]
        return own[-1] if own else None

    def _ask(self) -> Messages:
        self._expect_turn()
        self._wants_hint = True
        return [self._state(self.ply)]

    def _resign(self) -> Messages:
        if self.status not in ("yours", "thinking"):
            raise MessageError("there is no game to resign")
        self._abandon()
        return self._lose(self.setup.side, "resigned")

    def _retry(self) -> Messages:
        if not self._error:
            raise MessageError("there is nothing to try again")
        self._error = ""
        return [self._state(self.ply)]

    def _expect_turn(self) -> None:
        wrong = {
            "preparing": "the game is still being prepared",
            "thinking": "it is not your turn",
            "over": "the game is over",
            "failed": "the agent has failed; try again, or take a move back",
        }
        if self.status in wrong:
            raise MessageError(wrong[self.status])

    # ---- what happens ----------------------------------------------------------------------------

    def _play(self, action: int, seconds: float, search: Search | None) -> Messages:
        """Play a legal action."""
        ply, env = self.ply, self._env
        self._earlier.append(env.clone())
        self._searches.append(search)
        move = move_view(self.game, env.unwrapped.state, action, seconds)
        if search is not None:
            self._show(search)
        env.step(action)
        state = env.unwrapped.state
        self._frames.append(frame_view(self.game, state, move))
        if self.game.is_terminal(state):
            self._outcome = int(self.game.outcome(state, 0))
        self._begin_turn()
        return [self._state(ply)]

    def _begin_turn(self) -> None:
        self._wants_hint, self._hint = False, None
        self._turn_began = self._clock()

    def _lose(self, player: int, reason: str) -> Messages:
        """End the game against the rules' own end."""
        self._outcome, self._reason = (-1 if player == 0 else 1), reason
        return [self._state(self.ply)]

    def _show(self, search: Search) -> Values:
        """Keep what was found in the position on the board."""
        found = search_view(self.game, self._env.unwrapped.state, search)
        self._frames[-1]["search"] = found
        return found

    # ---- the agent -------------------------------------------------------------------------------

    def next_task(self) -> Task | None:
        """What the agent has to do now; None while it is at it, or where there is nothing."""
        if self._running is not None:
            return None
        status = self.status
        if status == "preparing":
            self._running = Task("prepare", self._agent, self._env)
        elif status == "thinking":
            self._running = Task("move", self._agent, self._env.clone())
        elif status == "yours" and self._wants_hint:
            self._running = Task("hint", self._agent, self._env.clone())
        return self._running

    def _abandon(self) -> None:
        """Have no use for what the agent is doing. It is waited for all the same."""
        self._wants_hint = False
        if self._running is not None:
            self._running.abandoned.set()

    def close(self) -> None:
        """End the search, if there is one."""
        self._abandon()

    def thought(self, task: Task, search: Search) -> Messages:
        """Show what the agent has found so far."""
        if task is not self._running or task.abandoned.is_set():
            return []
        return [{"type": "thoughts", "ply": self.ply, "search": self._show(search)}]

    def finished(self, task: Task, answer: Answer) -> Messages:
        """Go on with what came of a task."""
        self._running = None
        if task.abandoned.is_set():
            return []
        if task.kind == "prepare":
            self._is_prepared = True
            self._begin_turn()
            return [self._state(0)]
        if not is_legal(self._env, answer.action):
            return self._lose(1 - self.setup.side, f"illegal action {answer.action!r}")
        if task.kind == "move":
            return self._play(int(answer.action), answer.seconds, answer.search)
        return self._take_hint(int(answer.action), answer.search)

    def _take_hint(self, action: int, search: Search | None) -> Messages:
        self._wants_hint = False
        state = self._env.unwrapped.state
        self._hint = move_view(self.game, state, action, None)
        self._hint["cell"] = cell_of(self.game, state, action)
        if search is not None:
            self._show(search)
        return [self._state(self.ply)]

    def failed(self, task: Task, error: Exception) -> Messages:
        """Go on after a task that raised."""
        self._running = None
        if task.abandoned.is_set():
            return []
        if isinstance(error, ForfeitError):
            return self._lose(1 - self.setup.side, f"forfeit: {error.reason}")
        self._wants_hint = False
        self._error = f"{type(error).__name__}: {error}"
        return [self._state(self.ply)]
