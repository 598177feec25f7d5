"""A game between a person and an agent, without a screen, a network or threads.

A *face* (line by line, terminal, window, page) tells the session what the person does. What the
agent has to do is a `Task`: the face takes it from `Session.next_task`, runs it where it likes, and
gives the result to `Session.finish`. A face that waits for the agent calls `Session.run_agent`.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any, Final, Literal, cast

from agents.apps.play.cells import cell_of, is_by_column
from agents.arena.match import is_legal, prepare
from agents.core.agent import Agent, ForfeitError, Statistics
from agents.core.background import Watch
from agents.planning.environment import is_over, legal_actions
from agents.records.record import GameRecord, Search, fits
from agents.records.recorder import rounded, search_of, start_of
from hexenv.common.messages import hundredths
from hexenv.compiled import on_compiling
from hexenv.games import notation
from hexenv.games.base import Game, State
from hexenv.games.gomoku.openings import is_opening

REPORT_SECONDS: Final = 0.12
"""Time between two reports of a search that is watched."""

Status = Literal["preparing", "yours", "thinking", "over", "failed"]
NOT_YOURS: Final[dict[Status, str]] = {
    "preparing": "the game is still being prepared",
    "thinking": "it is not your turn",
    "over": "the game is over",
    "failed": "the agent has failed; try again, or take a move back",
}
"""Why the person may not move."""


class SessionError(ValueError):
    """What the person asks for is not possible now; nothing has changed."""


@dataclass(frozen=True)
class Answer:
    """The result of a task: what the agent chose, legal or not, and its search if it made one."""

    action: Any = None
    seconds: float = 0.0
    search: Search | None = None


class Compilation:
    """Adds up the seconds of compilation, as `hexenv.compiled.on_compiling` tells of it.

    Compilations within others count once. `tell` is called where the first begins and ends.
    """

    def __init__(self, tell: Callable[[bool], None] | None) -> None:
        self.seconds = 0.0
        self._tell = tell
        self._depth, self._began = 0, 0.0

    def __call__(self, begins: bool) -> None:
        if begins and self._depth == 0:
            self._began = time.perf_counter()
            if self._tell is not None:
                self._tell(True)
        self._depth += 1 if begins else -1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began
            if self._tell is not None:
                self._tell(False)


class TurnClock:
    """The seconds of a turn. It stands still as long as there is a reason to."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._reasons: set[str] = set()
        self.restart()

    def restart(self) -> None:
        """Begin with zero; reasons to stand still remain."""
        self._before, self._began = 0.0, self._clock()

    @property
    def is_running(self) -> bool:
        return not self._reasons

    @property
    def seconds(self) -> float:
        return self._before + (self._clock() - self._began if self.is_running else 0.0)

    def hold(self, reason: str, is_held: bool = True) -> None:
        """Stand still for a reason, or no longer for it."""
        self._before, self._began = self.seconds, self._clock()
        if is_held:
            self._reasons.add(reason)
        else:
            self._reasons.discard(reason)

    def is_held(self, reason: str) -> bool:
        return reason in self._reasons


COMPILING: Final = "compiling"
AWAY: Final = "away"
"""Reasons for which the clock of a turn stands still: the agent compiles, the person is away."""


@dataclass(frozen=True, eq=False)
class Task:
    """Something the agent has to do: to compile ("prepare"), or to choose in a copy of the game.

    Its result is not needed any more once `abandoned` is set.
    """

    kind: Literal["prepare", "move", "hint"]
    agent: Agent
    env: Any
    abandoned: Event = field(default_factory=Event)

    def run(
        self,
        report: Callable[[Search], None] | None = None,
        tell_compiling: Callable[[bool], None] | None = None,
    ) -> Answer:
        """Do it, on any thread. It raises whatever the agent raises.

        `report` is called from time to time with what the search has found so far, if the agent
        supports that. Only a search that reports is stopped by `abandoned`. `tell_compiling` is
        called with True when code begins to be compiled, and with False when that has ended.
        """
        compilation = Compilation(tell_compiling)
        token = on_compiling.set(compilation)
        try:
            return self._run(report, compilation)
        finally:
            on_compiling.reset(token)

    def _run(self, report: Callable[[Search], None] | None, compilation: "Compilation") -> Answer:
        if self.kind == "prepare":
            self.env.reset()
            prepare(self.env, [self.agent])
            trial = self.env.clone()  # what the person's moves need is compiled now as well
            for _ in range(2):
                if not is_over(trial):
                    trial.step(int(legal_actions(trial)[0]))
            return Answer()
        raw = self.env.unwrapped
        # In an opening the agent searches other positions than the one on the board.
        is_shown = not is_opening(raw.game, raw.state)
        if report is not None and hasattr(self.agent, "on_slice"):

            def show(found: Statistics) -> None:
                report(search_of(found))

            watch = Watch(show if is_shown else None, REPORT_SECONDS, self.abandoned)
            cast("Any", self.agent).on_slice = watch
        before: Statistics | None = getattr(self.agent, "statistics", None)
        started = time.perf_counter()
        action = self.agent.act(self.env)
        seconds = max(0.0, time.perf_counter() - started - compilation.seconds)
        found: Statistics | None = getattr(self.agent, "statistics", None)
        if found is None or found is before or not is_shown:
            return Answer(action, seconds)
        search = search_of(found)
        return Answer(action, seconds, search if fits(raw.game, raw.state, search) else None)


@dataclass(frozen=True)
class Turn:
    """An action that was played, with the environment before it and the search that chose it."""

    env: Any
    player: int
    action: int
    seconds: float
    search: Search | None


@dataclass(frozen=True)
class Hint:
    """What the agent would play for the person, and the cell that it would fill, if any."""

    action: int
    cell: int | None
    search: Search | None


class Session:
    """The state of a game between a person and an agent.

    It is over when the game is over, or when one side has forfeited or resigned. Methods for the
    person raise `SessionError` if they are not possible now.

    Args:
        env: An environment of `hexenv`, after `reset` if it is prepared.
        agent: The opponent.
        side: The person's, 0 or 1.
        is_prepared: Whether the agent has compiled what it needs; if not, that is the first task.
        clock: In seconds, for the person's time.
        title: The game with its options, in words; by default its name.

    Attributes:
        env: The environment; another object after `undo`.
        turns: What was played since the session began, without what was taken back.
        hint: The agent's hint for this position, once there is one.
        wants_hint: Whether the person has asked for a hint that is not there yet.
        reason: Why the session ended before the game's end, or None.
        error: What the agent raised, other than a forfeit; `retry` and `undo` clear it.
        turn_clock: The time of this turn, without that of compilation, or while the person is away.
    """

    def __init__(
        self,
        env: Any,
        agent: Agent,
        side: int,
        *,
        is_prepared: bool = True,
        clock: Callable[[], float] = time.monotonic,
        title: str = "",
    ) -> None:
        self.env = env
        self.title = title or self.game.name
        self.side = side
        self.turns: list[Turn] = []
        self.hint: Hint | None = None
        self.wants_hint = False
        self.reason: str | None = None
        self.error: Exception | None = None
        self.turn_clock = TurnClock(clock)
        self._agent, self._is_prepared = agent, is_prepared
        self._winner: int | None = None  # of a game that ended for a `reason`
        self._running: Task | None = None

    # ---- the position ------------------------------------------------------------------------

    @property
    def game(self) -> Game:
        return self.env.unwrapped.game

    @property
    def state(self) -> State:
        return self.env.unwrapped.state

    @property
    def moves(self) -> str:
        """The moves since the start of the game, as text."""
        return self.env.unwrapped.moves

    @property
    def status(self) -> Status:
        """What happens now: ``yours`` is the person's turn and ``thinking`` the agent's."""
        if self.error is not None:
            return "failed"
        if not self._is_prepared:
            return "preparing"
        if self.is_over:
            return "over"
        return "yours" if self.game.to_play(self.state) == self.side else "thinking"

    @property
    def is_over(self) -> bool:
        return self.reason is not None or (self._is_prepared and is_over(self.env))

    @property
    def outcome(self) -> int | None:
        """The result for player 0 (1, 0 or -1); None before the end."""
        if self._winner is not None:
            return 1 if self._winner == 0 else -1
        return int(self.game.outcome(self.state, 0)) if self.is_over else None

    @property
    def question(self) -> str:
        """What an opening asks of the player to move; mostly nothing."""
        ask = getattr(self.game, "question", None)
        return "" if ask is None else ask(self.state)

    @property
    def legal_actions(self) -> list[int]:
        """The legal actions; none when the session is over."""
        return [] if self.is_over else legal_actions(self.env).tolist()

    @property
    def choices(self) -> list[int]:
        """The legal actions that fill no cell, such as the swap of Hex."""
        return [action for action in self.legal_actions if self.cell_of(action) is None]

    # ---- actions, texts and cells ------------------------------------------------------------

    def text(self, action: int) -> str:
        """An action as people write it."""
        return self.game.action_text(action)

    def parse(self, text: str) -> int:
        """The legal action that a text means, or else `ValueError`.

        The beginning of a choice's name is enough.
        """
        word = text.strip().lower()
        try:
            return notation.parse_move(self.game, self.state, word)
        except ValueError:
            choices = [action for action in self.choices if self.text(action).startswith(word)]
            if len(choices) != 1 or not word:
                raise
            return choices[0]

    def cell_of(self, action: int) -> int | None:
        """The cell that a legal action fills, or None."""
        return cell_of(self.game, self.state, action)

    def action_at(self, cell: int) -> int | None:
        """The action of a cell, legal or not: in Connect4 that of its column."""
        column_labels, _ = self.game.labels()
        if is_by_column(self.game) and column_labels:
            return self.game.parse_action(column_labels[cell % self.game.columns])
        actions = range(self.game.num_actions())
        return next((action for action in actions if self.cell_of(action) == cell), None)

    # ---- what the person does ----------------------------------------------------------------

    def play(self, action: int) -> None:
        """Play an action for the person. An illegal one raises `IllegalActionError`."""
        self._expect_turn()
        notation.check_action(self.game, self.state, action)
        if not is_legal(self.env, action):  # a wrapper may allow less than the rules
            raise notation.IllegalActionError(f"illegal action {action}: not allowed here")
        self.abandon()
        self._step(action, self.turn_clock.seconds, None)

    def undo(self) -> list[int]:
        """Take back the person's last move and what followed, also after the end.

        Returns:
            The actions that were taken back, in the order in which they were played.
        """
        if not self.can_undo:
            raise SessionError("there is no move of yours to take back")
        self.abandon()
        taken: list[int] = []
        while self.turns:
            turn = self.turns.pop()
            taken.insert(0, turn.action)
            if turn.player == self.side:
                self.env = turn.env
                break
        self.reason = self._winner = self.error = None
        self._begin_turn()
        return taken

    @property
    def can_undo(self) -> bool:
        return any(turn.player == self.side for turn in self.turns)

    def ask_hint(self) -> None:
        """Ask the agent what it would play for the person."""
        self._expect_turn()
        self.wants_hint = True

    def resign(self) -> None:
        if self.status not in ("yours", "thinking"):
            raise SessionError("there is no game to resign")
        self.abandon()
        self._lose(self.side, "resigned")

    def retry(self) -> None:
        """Let an agent that has failed try again."""
        if self.error is None:
            raise SessionError("there is nothing to try again")
        self.error = None

    def abandon(self) -> None:
        """Drop what the agent is doing: its result will be ignored."""
        self.wants_hint = False
        self.turn_clock.hold(COMPILING, False)
        if self._running is not None:
            self._running.abandoned.set()

    def _expect_turn(self) -> None:
        if self.status in NOT_YOURS:
            raise SessionError(NOT_YOURS[self.status])

    # ---- what the agent does -----------------------------------------------------------------

    def next_task(self) -> Task | None:
        """What the agent has to do now; None while it is busy, or if there is nothing to do."""
        if self._running is not None:
            return None
        match self.status:
            case "preparing":
                self._running = Task("prepare", self._agent, self.env)
            case "thinking":
                self._running = Task("move", self._agent, self.env.clone())
            case "yours" if self.wants_hint:
                self._running = Task("hint", self._agent, self.env.clone())
            case _:
                pass
        return self._running

    def is_current(self, task: Task) -> bool:
        """Whether a task is running and its result is still needed."""
        return task is self._running and not task.abandoned.is_set()

    def note_compiling(self, task: Task, begins: bool) -> bool:
        """Hold the clock while a task compiles; returns False if the task was abandoned."""
        if self.is_current(task):
            self.turn_clock.hold(COMPILING, begins)
        return self.is_current(task)

    def finish(self, task: Task, result: Answer | Exception) -> bool:
        """Take what `Task.run` returned or raised; returns False if the task was abandoned."""
        self._running = None
        if task.abandoned.is_set():
            return False
        self.turn_clock.hold(COMPILING, False)
        if isinstance(result, ForfeitError):
            self._lose(1 - self.side, f"forfeit: {result.reason}")
        elif isinstance(result, Exception):
            self.wants_hint = False
            self.error = result
        elif task.kind == "prepare":
            self._is_prepared = True
            self._begin_turn()
        elif not is_legal(self.env, result.action):
            self._lose(1 - self.side, f"illegal action {result.action!r}")
        elif task.kind == "move":
            self._step(int(result.action), result.seconds, result.search)
        else:
            action = int(result.action)
            self.wants_hint = False
            self.hint = Hint(action, self.cell_of(action), result.search)
        return True

    def run_agent(self) -> None:
        """Do the agent's next task and wait; raises what the agent raises, other than a forfeit."""
        task = self.next_task()
        if task is None:
            return
        try:
            result = task.run()
        except Exception as error:  # whatever an agent may raise
            result = error
        self.finish(task, result)
        if self.error is not None:
            raise self.error

    # ---- what the agent thinks of the game ---------------------------------------------------

    @property
    def value(self) -> float | None:
        """The value of the game for player 0, by the latest search, as it is shown.

        From -0.99 to 0.99; -1, lost, and 1, won, stand for proofs alone.

        That is the search of a hint, or else of the agent's last move; None before the first.
        """
        hint = None if self.hint is None else self.hint.search
        searched = [(int(self.game.to_play(self.state)), hint)]
        searched += [(turn.player, turn.search) for turn in reversed(self.turns)]
        for player, search in searched:
            if search is not None and search.value is not None:
                shown = hundredths(search.value, search.proven is not None) / 100
                return shown if player == 0 else -shown
        return None

    # ---- the record --------------------------------------------------------------------------

    def record_maker(
        self, game: str, options: Sequence[str], names: tuple[str, str], seed: int | None = None
    ) -> Callable[[], GameRecord]:
        """A function that makes the record of the game so far, on any thread.

        It takes a while, as it replays all moves. The arguments are those of `GameRecord`.
        """
        actions = tuple(self.env.unwrapped.actions)
        opening = len(actions) - len(self.turns)
        seconds = tuple(rounded(turn.seconds) for turn in self.turns)
        searches = tuple(turn.search for turn in self.turns)
        return partial(
            GameRecord.of,
            game,
            options,
            actions,
            start=start_of(self.env),
            outcome=self.outcome,
            reason=self.reason,
            agents=names,
            opening=opening,
            seed=seed,
            seconds=(None,) * opening + seconds if any(seconds) else (),
            searches=(None,) * opening + searches if any(searches) else (),
        )

    # ---- changes -----------------------------------------------------------------------------

    def _step(self, action: int, seconds: float, search: Search | None) -> None:
        player = int(self.game.to_play(self.state))
        self.turns.append(Turn(self.env.clone(), player, action, seconds, search))
        self.env.step(action)
        self._begin_turn()

    def _begin_turn(self) -> None:
        self.wants_hint, self.hint = False, None
        self.turn_clock.restart()

    def _lose(self, player: int, reason: str) -> None:
        self.wants_hint = False
        self._winner, self.reason = 1 - player, reason
