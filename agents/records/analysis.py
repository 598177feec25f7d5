"""Asking an agent about a position: its best moves, with their values, lines and proofs.

Examples:
    >>> from agents import UCT, analyse
    >>> found = analyse(env, UCT(simulations=200, seed=1))  # the third of three in a row
    >>> found.best.move, found.best.value, found.proven
    ('3', 1.0, 1)
"""

import json
import math
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from threading import Condition
from typing import Annotated, Any, ClassVar, Final, Self

import numpy as np
from msgspec import Meta

from agents.core.agent import Agent, OnSlice, Statistics, StoppedError, html_table
from agents.core.background import Watch, in_background
from agents.core.formats import Format, about_game
from agents.core.options import Seconds as SecondsOfMove
from agents.core.options import Simulations
from agents.core.reading import as_object, parse_json
from agents.core.structured import Count, Text, to_structure
from agents.planning.clones import clone
from agents.planning.environment import check_in_play, names_of
from agents.records.record import Action, Player, Search, Seconds, Share, StartPosition, Value, fits
from agents.records.recorder import rounded, search_of
from agents.registry import make_agent
from agents.search.selection import wilson_interval
from hexenv.common.messages import hundredths, whole_number
from hexenv.common.options import check_fields
from hexenv.envs.aec import BoardEnv
from hexenv.games import base, notation

FORMAT: Final = Format("hexenv-analysis")
NO_END: Final = 1e9
"""Seconds of a search that goes on until it is stopped."""
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

    seconds: SecondsOfMove = None
    simulations: Simulations = None

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Line:
    """One of the best moves, and what is known of it. Values are for the side to move, -1 to 1.

    Attributes:
        action: The action.
        move: The same as people write it.
        visits: Simulations that began with it; 0 for agents without any.
        value: Their mean result, or what else the agent thinks of it; None if nothing.
        low: The lower end of Wilson's interval of 95 % for a mean of so many independent results;
            those of a search depend on each other. The value itself where it is exact; None where
            it is no mean of visits.
        high: Its upper end.
        prior: The policy's probability; None without a policy.
        is_exact: Whether the value is proven.
        plies_left: In how many plies the game then ends, with perfect play; None if unknown, or a
            draw.
        line: The moves that the agent expects, this one first.
    """

    action: Action
    move: Text
    visits: Count = 0
    value: Value | None = None
    low: Value | None = None
    high: Value | None = None
    prior: Share | None = None
    is_exact: bool = False
    plies_left: Annotated[int, Meta(ge=1)] | None = None
    line: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Position:
    """Which position was looked at.

    Attributes:
        game: The game, or the classes of an environment of others.
        to_play: Who is to move, 0 or 1.
        parameters: Of the game.
        moves: The moves since the start of the game as people write them; empty if unknown.
        board: As of `StartPosition`; empty for a game without stones.
    """

    game: Text
    to_play: Player
    parameters: dict[Text, Any] = field(default_factory=dict[str, Any])
    moves: Text = ""
    board: Text = ""

    @classmethod
    def of(cls, env: Any) -> "Position":
        """The position of an environment in play."""
        raw, to_play = env.unwrapped, list(env.possible_agents).index(env.agent_selection)
        if not isinstance(raw, BoardEnv):
            return cls(names_of(env), to_play)
        game, has_stones = raw.game, notation.has_stones(raw.game)
        board = StartPosition.of(game, raw.state).board if has_stones else ""
        return cls(to_play=to_play, moves=raw.moves, board=board, **about_game(game))

    def __str__(self) -> str:
        after = f" after {self.moves}" if self.moves else ""
        return f"{self.game}{after}, player {self.to_play} to move"


@dataclass(frozen=True)
class Analysis:
    """What an agent says of a position. It prints as a table; a notebook shows the board as well.

    Examples:
        >>> found = analyse(env, "solver", lines=1)  # the third of three in a row
        >>> [(line.move, line.value, line.plies_left) for line in found.lines]
        [('3', 1.0, 1)]

    Attributes:
        agent: The agent in words.
        position: The position.
        lines: The best moves, the best first.
        value: Of the position for the side to move, -1 to 1; None if the agent does not say.
        seconds: Time it took, without compilation.
        search: All that the search found; None for an agent without one.
        depth: Plies that a search to a fixed depth looked ahead; else None.
        assumed: What the search assumed although it is false; see `agents.Statistics`.
    """

    agent: Text
    position: Position
    lines: tuple[Line, ...]
    value: Value | None
    seconds: Seconds
    search: Search | None = None
    depth: Count | None = None
    assumed: Text | None = None
    _drawn: ClassVar[tuple[Any, Any] | None] = None
    """The rules and the state, for the picture; not those of one that was read from JSON."""

    @property
    def best(self) -> Line:
        """The move that the agent would play."""
        return self.lines[0]

    @property
    def proven(self) -> int | None:
        """The outcome with perfect play for the side to move, -1, 0 or 1, if it is proven."""
        return None if self.search is None else self.search.proven

    @property
    def _has_visits(self) -> bool:
        """Whether moves were tried several times: others say by one visit what they have seen."""
        return self.search is not None and max(self.search.visits.values(), default=0) > 1

    # ---- shown -----------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The position, the agent and its work in words."""
        parts = [str(self.position), self.agent]
        if self.value is not None:
            parts.append(f"value {shown_value(self.value, self.proven is not None)}")
        if self.search is not None:
            counted = "simulations" if self._has_visits else "positions"
            parts.append(f"{self.search.simulations:,} {counted} in {self.seconds:.3g} s")
        parts += [f"depth {self.depth}"] * (self.depth is not None)
        parts += [f"assumed: {self.assumed}"] * (self.assumed is not None)
        return "; ".join(parts)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The heads of the columns, and the cells of the rows; columns without content are left."""
        heads = ["move", "visits", "value", "from", "to", "prior", "ends in", "line"]
        rows = [
            [
                one.move,
                f"{one.visits:,}" if self._has_visits else "",
                "" if one.value is None else shown_value(one.value, one.is_exact),
                "" if one.low is None or one.is_exact else f"{one.low:+.2f}",
                "" if one.high is None or one.is_exact else f"{one.high:+.2f}",
                "" if one.prior is None else f"{one.prior:.3f}",
                "" if one.plies_left is None else str(one.plies_left),
                " ".join(one.line),
            ]
            for one in self.lines
        ]
        kept = [place for place in range(len(heads)) if any(row[place] for row in rows)]
        return [heads[place] for place in kept], [[row[place] for place in kept] for row in rows]

    def __str__(self) -> str:
        heads, rows = self.table()
        return f"{self.title}\n{columns_of(heads, rows)}"

    def _repr_html_(self) -> str:
        return self.picture() + html_table(self.title, *self.table())

    def picture(self) -> str:
        """The board as SVG, with the shares of the visits or priors; empty without a board."""
        if self._drawn is None:
            return ""
        from agents.records.films import overlay_of_search  # most analyses are not drawn
        from hexenv.render.svg import render_svg

        game, state = self._drawn
        name = "visits" if self.search is not None and self.search.visits else "priors"
        return render_svg(game, state, overlay=overlay_of_search(game, state, self.search, name))

    # ---- JSON ------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """All this as one line of JSON."""
        return json.dumps(FORMAT.head(**asdict(self)), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Analysis":
        """The analysis that `to_json` has written; ValueError for anything else."""
        found = to_structure(FORMAT.read_head(as_object(parse_json(text))), cls)
        if not found.lines:
            raise ValueError("expected lines of an analysis, got none")
        return found


@dataclass(frozen=True)
class Comparison:
    """What several agents say of one position. It prints as a table with a row for each move.

    Examples:
        >>> print(compare(env, ["solver", "alphabeta"], lines=1))
        move    solver  alphabeta
           3  1. +1.00  1. +1.00

    Attributes:
        analyses: One of each agent.
    """

    analyses: tuple[Analysis, ...]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The heads of the columns, and the cells of the rows: the first agent's best move first.

        A cell has the value of a move, or its prior in per cent, and its rank with that agent.
        """
        moves = dict.fromkeys(one.move for each in self.analyses for one in each.lines)
        ranked = [
            {one.move: _in_words(one, rank) for rank, one in enumerate(each.lines, 1)}
            for each in self.analyses
        ]
        rows = [[move, *(cells.get(move, "") for cells in ranked)] for move in moves]
        return ["move", *(each.agent for each in self.analyses)], rows

    def __str__(self) -> str:
        return columns_of(*self.table())

    def _repr_html_(self) -> str:
        first = self.analyses[0]
        return first.picture() + html_table(str(first.position), *self.table())


def _in_words(line: Line, rank: int) -> str:
    if line.value is not None:
        return f"{rank}. {shown_value(line.value, line.is_exact)}"
    return f"{rank}." if line.prior is None else f"{rank}. {100 * line.prior:.0f} %"


def shown_value(value: float, is_exact: bool) -> str:
    """A value as text; 1.00 stands for a proof alone."""
    return f"{hundredths(value, is_exact) / 100:+.2f}"


def columns_of(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as text; the last column, of words, is at its left, the others at their right."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line_of(cells: Sequence[str]) -> str:
        padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        return "  ".join([*padded[:-1], cells[-1]]).rstrip()

    return "\n".join(map(line_of, (heads, *rows)))


# ---- asking --------------------------------------------------------------------------------------


def analyse(
    env: Any,
    agent: Agent | str,
    limit: Limit | None = None,
    lines: int = 3,
    title: str | None = None,
) -> Analysis:
    """What an agent says of the position of an environment, which stays as it is.

    Args:
        env: A PettingZoo AEC environment in play.
        agent: Any object with `act`, or the name of an agent with its parameters.
        limit: How long to search; None: as long as the agent does for a move. An agent without
            such a budget takes the time it needs.
        lines: The most moves to list.
        title: The agent in words; by default its name, or what it prints.

    Raises:
        ValueError: If the game is over, or the agent cannot play in this environment.
    """
    question = Question(env, agent, lines, title)
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

    def __init__(self, question: "Question", limit: Limit | None, every: float) -> None:
        self._question, self._limit = question, limit
        self._watch = Watch(self._show, every)
        self._is_begun = False
        self._changed = Condition()
        self._latest: Analysis | None = None
        self._is_over = False
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._is_begun = True
        in_background(self._run)
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

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
            with question.budget(self._limit, is_endless):
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
        found = self._question.describe(statistics)
        if found.lines and self._question.is_about(statistics):
            with self._changed:
                self._latest = found
                self._changed.notify_all()


class Question:
    """A position and the agent that is asked about it; the arguments are those of `analyse`."""

    def __init__(self, env: Any, agent: Agent | str, lines: int, title: str | None = None) -> None:
        self._agent: Any = make_agent(agent) if isinstance(agent, str) else agent
        self._title = title or (agent if isinstance(agent, str) else repr(agent))
        self._count = whole_number("lines", lines)
        if self._count < 1:
            raise ValueError(f"expected at least one of lines, got {lines}")
        check_in_play(env)
        self._env, self._position = env, Position.of(env)
        raw = env.unwrapped
        self._rules = raw.game if isinstance(raw, BoardEnv) else None

    @contextmanager
    def budget(self, limit: Limit | None, is_endless: bool) -> Generator[None]:
        """Give the agent another budget for a while, where it has one; it makes no move meanwhile.

        An `is_endless` search goes on until it is stopped, if the agent can be stopped.
        """
        agent = self._agent
        if limit is None and not (is_endless and hasattr(agent, "on_slice")):
            yield
            return
        limit = limit or Limit(seconds=NO_END)
        with getattr(agent, "turn", nullcontext()):
            names = [name for name in ("simulations", "seconds") if hasattr(agent, name)]
            before = {name: getattr(agent, name) for name in names}
            for name in names:
                setattr(agent, name, getattr(limit, name))
            if limit.seconds is None and "simulations" not in names and "seconds" in names:
                agent.seconds = before["seconds"]  # it counts no simulations
            if limit.simulations is None and limit.seconds is None:
                agent.simulations = before.get("simulations")
            try:
                yield
            finally:
                for name, value in before.items():
                    setattr(agent, name, value)

    def is_about(self, statistics: Statistics) -> bool:
        """Whether a search is of this position: in some openings agents search others first."""
        search = search_of(statistics)
        return self._rules is None or fits(self._rules, self._env.unwrapped.state, search)

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
                with suppress(TimeoutError, StoppedError):
                    left = agent.plies_left(self._env)
        finally:
            if is_watched:
                agent.on_slice = shown
        seconds = time.perf_counter() - started
        found = getattr(agent, "statistics", None)
        if found is None or found is before:
            return self._analysis([Line(chosen, self._text(chosen))], None, rounded(seconds))
        return self.describe(found, chosen, left)

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
        known = None if value is None or math.isnan(value) else rounded(value)
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


def action_text(env: Any, action: int) -> str:
    """An action as people write it; its number in an environment of others."""
    raw = env.unwrapped
    return raw.game.action_text(action) if isinstance(raw, BoardEnv) else str(action)
