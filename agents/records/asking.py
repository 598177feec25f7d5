"""Asking an agent about a position: its best moves, with their values, lines and proofs.

Examples:
    >>> from agents import UCT, analyse
    >>> found = analyse(env, UCT(simulations=200, seed=1))  # the third of three in a row
    >>> found.best.move, found.best.value, found.proven
    ('3', 1.0, 1)
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from threading import Condition
from typing import Any, Final, Self

import numpy as np

from agents.core.agent import Agent, OnSlice, Statistics, StoppedError
from agents.core.background import Slots, Watch, in_background
from agents.core.budget import other_budget
from agents.core.options import Seconds, Simulations
from agents.planning.clones import clone
from agents.planning.environment import action_mask, check_in_play
from agents.records.analysis import Analysis, Comparison, Line, Position
from agents.records.record import Search, fits
from agents.records.recorder import rounded, search_of
from agents.registry import make_agent
from agents.search.selection import wilson_interval
from hexenv.common.messages import shortened, whole_number
from hexenv.common.options import check_fields
from hexenv.envs.aec import BoardEnv
from hexenv.games import base

NO_END: Final = 1e9
"""Seconds of a search that goes on until it is stopped."""
LEAST_MORE: Final = 1.0
"""Seconds in which a solver without a limit may find out how soon games end, or as long as it took
to find out who wins."""
SHORTEST: Final = 0.001
EVERY: Final = 0.1
"""Seconds between two answers of a search that goes on."""


@dataclass(frozen=True)
class Limit:
    """How long a search goes on; with both, the first to end counts.

    Examples:
        >>> Limit(simulations=500)
        Limit(seconds=None, simulations=500)

    Attributes:
        seconds: Of the search, without compilation.
        simulations: Where the agent counts them.
    """

    seconds: Seconds = None
    simulations: Simulations = None

    def __post_init__(self) -> None:
        check_fields(self)


def analyse(
    env: Any,
    agent: Agent | str,
    limit: Limit | None = None,
    lines: int = 3,
    title: str | None = None,
    moves: Sequence[int] | None = None,
) -> Analysis:
    """What an agent says of the position of an environment, which stays as it is.

    Args:
        env: A PettingZoo AEC environment in play.
        agent: Any object with `act`, or the name of an agent with its parameters.
        limit: How long to search; None: as long as the agent does for a move. An agent without
            such a budget takes the time it needs.
        lines: The most moves to list.
        title: The agent in words; by default its name, or what it prints.
        moves: Only these actions are looked at, each by a search of its own of the position after
            it, with an equal part of the limit; None: all, by one search.

    Raises:
        ValueError: If the game is over, the agent cannot play in this environment, or a move of
            `moves` is not legal.
    """
    question = Question(env, agent, lines, title)
    if moves is not None:
        return question.answer_of(moves, limit)
    with question.budget(limit, is_endless=False):
        return question.answer()


def compare(
    env: Any,
    agents: Sequence[Agent | str],
    limit: Limit | None = None,
    lines: int = 3,
    titles: Sequence[str] | None = None,
) -> Comparison:
    """What several agents say of one position; the arguments are those of `analyse`."""
    named = zip(agents, titles or [None] * len(agents), strict=True)
    return Comparison(tuple(analyse(env, one, limit, lines, title) for one, title in named))


def analysis(
    env: Any,
    agent: Agent | str,
    limit: Limit | None = None,
    lines: int = 3,
    every: float = EVERY,
) -> "RunningAnalysis":
    """An analysis that goes on in the background of a ``with`` block; iterate for its answers.

    Examples:
        >>> from agents import UCT
        >>> with analysis(env, UCT(seed=1)) as search:  # the third of three in a row
        ...     for found in search:
        ...         if found.proven is not None:
        ...             break
        >>> found.best.move
        '3'

    Args:
        env: See `analyse`. The search has a copy of it.
        agent: See `analyse`.
        limit: How long to search; None: until it is stopped, or has nothing more to find out. (An
            agent that cannot be stopped takes what it takes for a move.)
        lines: See `analyse`.
        every: Seconds between two answers.

    Raises:
        ValueError: As `analyse`; an error of the search is raised by the iteration.
    """
    return RunningAnalysis(Question(clone(env), agent, lines), limit, every)


class RunningAnalysis:
    """What `analysis` gives.

    Iterating yields an `Analysis` from time to time while the search goes on, each with more in it
    than the one before, and the last when it has ended. An agent that cannot be looked at while it
    thinks (a policy, an engine, and a search of a number of simulations in batches) gives one
    answer. The search ends with its limit, with `stop`, or with the block.
    """

    def __init__(
        self, question: "Question", limit: Limit | None, every: float, slots: Slots | None = None
    ) -> None:
        self._question, self._limit, self._slots = question, limit, slots
        self._watch = Watch(self._show, every, slots=slots)
        self._is_begun = False
        self._changed = Condition()
        self._latest: Analysis | None = None
        self._is_over = False
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin the search, as the block does."""
        self._is_begun = True
        in_background(self._run)

    def stop(self) -> None:
        """End the search at its next look at the clock; an iteration then ends with what it found.

        It does not wait for that.
        """
        self._watch.stop()

    def __iter__(self) -> Iterator[Analysis]:
        if not self._is_begun:
            raise ValueError("expected an analysis in a with block, got one that was not begun")
        shown: Analysis | None = None
        is_over = False
        while not is_over:
            with self._changed:
                while self._latest is shown and not self._is_over:
                    self._changed.wait()
                found, is_over = self._latest, self._is_over
            if found is not None and found is not shown:
                yield found
            shown = found
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        found, error = None, None
        question, is_endless = self._question, self._limit is None
        try:
            with question.budget(self._limit, is_endless), self._slots or nullcontext():
                found = question.answer(self._watch)
        except StoppedError:
            pass
        except BaseException as raised:
            error = raised
        with self._changed:
            self._latest = found or self._latest
            self._error, self._is_over = error, True
            self._changed.notify_all()

    def _show(self, statistics: Statistics) -> None:
        if (found := self._question.seen(statistics)) is not None:
            with self._changed:
                self._latest = found
                self._changed.notify_all()


class Question:
    """A position and the agent that is asked about it; the arguments are those of `analyse`."""

    def __init__(self, env: Any, agent: Agent | str, lines: int, title: str | None = None) -> None:
        self._agent, self._title = with_title(agent, title)
        self._count = whole_number("lines", lines)
        if self._count < 1:
            raise ValueError(f"expected at least one of lines, got {lines}")
        check_in_play(env)
        self._env, self._position = env, Position.of(env)
        raw = env.unwrapped
        self._rules = raw.game if isinstance(raw, BoardEnv) else None

    def budget(self, limit: Limit | None, is_endless: bool) -> AbstractContextManager[None]:
        """See `other_budget`.

        An `is_endless` search goes on until it is stopped, if the agent can be stopped.
        """
        if limit is None:
            limit = Limit(NO_END if is_endless and hasattr(self._agent, "on_slice") else None)
        return other_budget(self._agent, limit.simulations, limit.seconds)

    def seen(self, statistics: Statistics) -> Analysis | None:
        """What a search that goes on has found; None as long as that is nothing.

        That is so too where it is of another position: in some openings agents search others first.
        """
        found = self.describe(statistics)
        rules, search = self._rules, found.search
        if rules is None or search is None or fits(rules, self._env.unwrapped.state, search):
            return found if found.lines else None
        return None

    def answer(self, watch: OnSlice | None = None) -> Analysis:
        """What the agent says after its search, which is looked at meanwhile."""
        agent = self._agent
        if hasattr(agent, "judge"):
            return self._judged(agent)
        before = getattr(agent, "statistics", None)
        started = time.perf_counter()
        is_watched = watch is not None and hasattr(agent, "on_slice")
        shown = agent.on_slice if is_watched else None
        try:
            if is_watched:
                agent.on_slice = watch
            chosen = int(agent.act(self._env))
            left: dict[int, int] = {}
            if hasattr(agent, "plies_left"):
                used, given = time.perf_counter() - started, getattr(agent, "seconds", None)
                more = max(used, LEAST_MORE) if given is None else max(given - used, SHORTEST)
                with suppress(TimeoutError, StoppedError):
                    left = agent.plies_left(self._env, more)
        finally:
            if is_watched:
                agent.on_slice = shown
        seconds = time.perf_counter() - started
        found = getattr(agent, "statistics", None)
        if found is None or found is before:
            return self._analysis([Line(chosen, self._text(chosen))], None, rounded(seconds))
        return self.describe(found, chosen, left)

    def answer_of(
        self,
        moves: Sequence[int],
        limit: Limit | None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Analysis:
        """What the agent says of some moves, the best first: of those before it was stopped."""
        legal = np.flatnonzero(action_mask(self._env)).tolist()
        if not moves or not set(moves) <= set(legal):
            raise ValueError(f"expected legal moves, got {shortened(list(moves))}")
        started = time.perf_counter()
        if limit is not None:
            seconds, simulations = limit.seconds, limit.simulations
            limit = Limit(
                None if seconds is None else seconds / len(moves),
                None if simulations is None else max(simulations // len(moves), 1),
            )
        found = [self._line_of(moves[0], limit)]
        found += [self._line_of(action, limit) for action in moves[1:] if not is_stopped()]
        found.sort(
            key=lambda one: (one.value is None, -(one.value or 0.0), -one.visits, one.action)
        )
        seconds, best = rounded(time.perf_counter() - started), found[0]
        search = Search(
            seconds,
            sum(one.visits for one in found),
            best.value,
            visits={one.action: one.visits for one in found if one.visits},
            values={one.action: one.value for one in found if one.value is not None},
            proven=1 if best.is_exact and best.value == 1.0 else None,  # another move may be better
            proven_actions=tuple(one.action for one in found if one.is_exact),
        )
        return self._analysis(found[: self._count], search, seconds, best.value)

    def _line_of(self, action: int, limit: Limit | None) -> Line:
        """A move, by what the agent says of the position after it."""
        text, mover, after = self._text(action), self._env.agent_selection, clone(self._env)
        after.step(action)
        if not after.agents or any(after.terminations.values()) or any(after.truncations.values()):
            value = float(np.sign(after.rewards.get(mover, 0.0)))
            plies = 1 if value else None
            return Line(action, text, 0, value, value, value, None, True, plies, (text,))
        found = analyse(after, self._agent, limit, 1, self._title)
        best, sign = found.best, 1.0 if after.agent_selection == mover else -1.0
        value = found.value if best.value is None else best.value
        low, high = best.low, best.high
        if found.proven is not None:
            value = low = high = float(found.proven)
        ends = [sign * end for end in (low, high) if end is not None]
        return Line(
            action,
            text,
            0 if found.search is None else found.search.simulations,
            None if value is None else sign * value + 0.0,  # no -0.0
            min(ends) + 0.0 if ends else None,
            max(ends) + 0.0 if ends else None,
            None,
            found.proven is not None,
            None if best.plies_left is None else best.plies_left + 1,
            (text, *best.line),
        )

    def describe(
        self,
        statistics: Statistics,
        chosen: int | None = None,
        left: dict[int, int] | None = None,
    ) -> Analysis:
        """What a search has found, with the plies left after actions where they are known."""
        search = search_of(statistics)
        line = statistics.principal_variation
        first = chosen if chosen is not None else line[0] if line else None
        actions = {*search.visits, *(() if first is None else [first])}

        def merit(action: int) -> tuple[Any, ...]:
            value, plies = search.values.get(action, 0.0), (left or {}).get(action, 0)
            is_lost = action in search.proven_actions and value < 0
            sooner = -plies if value > 0 else plies
            visits = search.visits.get(action, 0)
            return action == first, not is_lost, visits, value, sooner, -action

        best = sorted(actions, key=merit, reverse=True)[: self._count]
        lines = [self._line(statistics, search, action, left or {}) for action in best]
        value = search.value
        if value is None and lines and lines[0].visits:
            value = lines[0].value
        return self._analysis(lines, search, search.seconds, value, statistics)

    def _line(
        self, statistics: Statistics, search: Search, action: int, left: dict[int, int]
    ) -> Line:
        visits, value = search.visits.get(action, 0), search.values.get(action)
        is_exact = action in search.proven_actions
        low = high = value if is_exact else None
        if visits and value is not None and not is_exact and statistics.depth is None:
            ends = wilson_interval((value + 1) / 2, visits)
            low, high = (rounded(2 * float(end) - 1) for end in ends)
        line = statistics.principal_variation
        if line[:1] != [action]:
            after = getattr(self._agent, "line_after", None)
            line = (after and after(action)) or [action]
        return Line(
            action,
            self._text(action),
            visits,
            value,
            low,
            high,
            search.priors.get(action, 0.0) if search.priors else None,
            is_exact,
            left.get(action),
            tuple(map(self._text, line)),
        )

    def _judged(self, policy: Any) -> Analysis:
        """What a policy thinks, which makes no search."""
        started = time.perf_counter()
        priors, value = policy.judge(self._env)
        seconds = rounded(time.perf_counter() - started)
        best = np.argsort(-priors, kind="stable")[: self._count].tolist()
        lines = [
            Line(action, self._text(action), prior=rounded(priors[action]))
            for action in best
            if priors[action] > 0
        ]
        shares = {action: rounded(p) for action, p in enumerate(priors.tolist()) if p > 0}
        known = None if value is None else rounded(value)
        search = Search(seconds, 0, known, priors=shares)
        return self._analysis(lines, search, seconds, known)

    def _analysis(
        self,
        lines: Sequence[Line],
        search: Search | None,
        seconds: float,
        value: float | None = None,
        of: Statistics | None = None,
    ) -> Analysis:
        depth, assumed = (None, None) if of is None else (of.depth, of.assumed)
        about = self._title, self._position, tuple(lines), value, seconds
        found = Analysis(*about, search, depth, assumed)
        if self._rules is not None:
            drawn = self._rules, base.clone(self._rules, self._env.unwrapped.state)
            object.__setattr__(found, "_drawn", drawn)
        return found

    def _text(self, action: int) -> str:
        return action_text(self._env, action)


def with_title(agent: Agent | str, title: str | None) -> tuple[Any, str]:
    """An agent, perhaps of its name, and the agent in words: the title, its name or its `repr`."""
    if isinstance(agent, str):
        return make_agent(agent), title or agent
    return agent, title or repr(agent)


def action_text(env: Any, action: int) -> str:
    """An action as people write it; its number in an environment of others."""
    raw = env.unwrapped
    return raw.game.action_text(action) if isinstance(raw, BoardEnv) else str(action)
