"""An engine for Gomoku: alpha-beta with patterns, as the programs of Gomocup play."""

import time
from collections.abc import Callable
from typing import Annotated, Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import OnSlice, SeededAgent, Statistics, with_assumption
from agents.core.budget import ENDLESS, Pace
from agents.core.options import Seconds
from agents.knowledge.gomoku.board import plain_state
from agents.knowledge.gomoku.engine_memory import (
    HITS,
    INFINITE,
    LEAST_WIN,
    MOST_PLIES,
    POSITIONS,
    PRESUMED,
    Engine,
    Rules,
    find_entry,
    move_of,
    new_engine,
    shown_value,
)
from agents.knowledge.gomoku.engine_search import begin, search
from agents.knowledge.gomoku.opening_play import after_opening, opening_action
from agents.knowledge.gomoku.valued import ValuedGame, valued_view
from agents.planning.environment import View, check_in_play
from agents.planning.view import Assumption, Route, planner_view
from hexenv.common.messages import not_one_of
from hexenv.common.options import Within
from hexenv.compiled import CompiledFunction, announced
from hexenv.games.base import NO_ACTION
from hexenv.games.gomoku.openings import is_opening

USUAL_DEPTH: Final = 6
WINDOW: Final = 60
"""How far from the last value the next one is expected."""
FULL_DEPTH: Final = 3
"""To this depth nothing is expected."""

compiled_search: Final = CompiledFunction(search, "the Gomoku engine")


class GomokuEngine(SeededAgent):
    """Alpha-beta with all that strong engines add, over patterns; for stones in a row.

    It looks one ply deep, then two, and so on (`agents.knowledge.gomoku.engine_search`), and
    evaluates positions by what was learnt of their patterns (`agents.knowledge.gomoku.valued`; in
    caro, of those of freestyle). It keeps its table of positions from move to move.

    Sources:
        Marsland, "A review of game-tree pruning", ICCA Journal 9, 1986.

        Allis, van den Herik and Huntjens, "Go-Moku and threat-space search", 1993.

    Args:
        seconds: Seconds per move.
        depth: Plies to look ahead; by default 6, or as many as there is time for. Lines of threats
            are searched further.
        positions: About how many positions a move may look at.
        table_entries: Of the table in which positions are kept, 16 bytes each; rounded down to a
            power of two.
        lines: Of how many of the best moves to find the value.
        without: Rules of `agents.knowledge.gomoku.engine_memory.Rules` to leave out, with a plus
            between them, such as ``"margins+answers"``.
        route: See `AlphaBeta`.
        seed: Of the choice in openings; None: a different one each time.
        assume: See `AlphaBeta`.

    Attributes:
        statistics: Of the last move: `values` has the values of the best moves, of `lines` of them,
            and of those that are proven to lose (`visits` is 1 there); `simulations` counts
            positions.
        on_slice: As in `agents.mcts.tree_search.TreeSearchAgent`.

    Raises:
        ValueError: If a parameter is out of its range, or the game is not won by stones in a row.
    """

    name = "gomoku-engine"

    def __init__(
        self,
        seconds: Seconds = None,
        depth: Annotated[int | None, Within(1, MOST_PLIES)] = None,
        positions: Annotated[int | None, Within(1, ENDLESS)] = None,
        table_entries: Annotated[int, Within(1 << 10, 1 << 28)] = 1 << 20,
        lines: Annotated[int, Within(1, 400)] = 1,
        without: str = "",
        route: Route = "auto",
        seed: int | None = None,
        assume: Assumption = None,
    ) -> None:
        super().__init__(seed)
        self.seconds, self.depth, self.positions = seconds, depth, positions
        self.table_entries, self.lines, self.without = table_entries, lines, without
        self.route, self.assume = route, assume
        self.on_slice: OnSlice | None = None
        self._rules = _rules_without(without)
        self._kept: tuple[ValuedGame, bool, Engine] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_kept": None}  # a copy has arrays of its own

    def reset(self, seed: int | None = None) -> None:
        super().reset(seed)
        self._kept = None

    @announced
    def prepare(self, env: Any) -> None:
        view = valued_view(after_opening(planner_view(env, self.route, self.assume)))
        self._search_function(view, self._engine(view))

    @announced
    def act(self, env: Any) -> int:
        plain = planner_view(env, self.route, self.assume)
        check_in_play(env)
        if is_opening(plain.game, plain.root):
            chosen = opening_action(plain, self._think_elsewhere, self._rng)
            self.statistics = None  # they describe another position
            return chosen
        return self._think(plain)

    def _think_elsewhere(self, view: View) -> tuple[int, float]:
        action = self._think(view)
        return action, float(cast("Statistics", self.statistics).values[action])

    def _engine(self, view: View) -> Engine:
        """The arrays of the search, with what the last one has left in its table."""
        game = cast("ValuedGame", view.game)
        if self._kept is None or self._kept[0] is not game or self._kept[1] != view.compiles:
            size = 1 << (self.table_entries.bit_length() - 1)
            engine = new_engine(game, size, self._rules)
            self._kept = game, view.compiles, engine
        engine = self._kept[2]
        engine.states[0] = view.root
        engine.control[:] = 0
        return engine

    def _search_function(self, view: View, engine: Engine) -> Callable[..., bool]:
        return compiled_search.specialise(view.game, engine, 1) if view.compiles else search

    def _think(self, plain: View) -> int:
        view = valued_view(plain)
        engine = self._engine(view)
        run = self._search_function(view, engine)  # before the clock starts: it may compile
        thinking = Thinking(self, view, engine, run)
        is_limited = self.seconds is not None or self.positions is not None
        seen = thinking.deepen(self.depth or (MOST_PLIES if is_limited else USUAL_DEPTH))
        self.statistics = thinking.statistics()
        return seen.best


def _rules_without(names: str) -> Rules:
    """All rules but those of a text."""
    left_out = [name for name in names.split("+") if name]
    for name in left_out:
        if name not in Rules._fields:
            raise ValueError(not_one_of("rule", Rules._fields, name))
    return Rules()._replace(**dict.fromkeys(left_out, False))


class Seen(NamedTuple):
    """What a search has found.

    Attributes:
        best: The action to play.
        value: Its value, in the units of `agents.knowledge.gomoku.engine_memory`.
        bounds: ``(num_actions,)``: upper bounds of the values of all that were tried.
        is_whole: Whether all moves were tried, as a proof of a loss needs.
    """

    best: int
    value: int
    bounds: NDArray[np.int32]
    is_whole: bool


class Thinking:
    """One move's search, in the time that the agent has for it.

    Attributes:
        seen: What was found so far; None before the first search.
        depth: Plies of the last search that has ended.
    """

    def __init__(
        self, agent: GomokuEngine, view: View, engine: Engine, run: Callable[..., bool]
    ) -> None:
        self.agent, self.engine, self._run = agent, engine, run
        self.game, self.assumed = cast("ValuedGame", view.game), view.assumed
        self.seen: Seen | None = None
        self.depth = 0
        self._others: dict[int, int] = {}  # values of more moves that are known
        self._most = agent.positions or ENDLESS
        self._pace = Pace(time.perf_counter(), agent.seconds)

    def deepen(self, most_depth: int) -> Seen:
        """Search deeper and deeper, until the value is proven or the budget is spent."""
        for depth in range(1, most_depth + 1):
            is_done = self._search_to(depth)
            moves = int(self.engine.nodes[0].count)
            seen = cast("Seen", self.seen)
            if is_done and self.agent.lines > 1:
                self._search_others(depth, seen.best)
            if not is_done or abs(seen.value) >= LEAST_WIN or moves == 1:
                break
        return cast("Seen", self.seen)

    def _search_to(self, depth: int) -> bool:
        """Search to a depth; False if the budget has ended before."""
        low, high = -INFINITE, INFINITE
        if depth > FULL_DEPTH and self.seen is not None and abs(self.seen.value) < PRESUMED // 2:
            low, high = self.seen.value - WINDOW, self.seen.value + WINDOW
        while True:
            is_done, seen = self._search_within(depth, low, high)
            self.seen = self.seen if seen is None else seen
            if not is_done:
                return False
            found = int(self.engine.nodes[0].best)
            if low < found < high:
                self.depth = depth
                return True
            low, high = (-INFINITE, high) if found <= low else (low, INFINITE)

    def _search_others(self, depth: int, best: int) -> None:
        """Find the values of the next best moves, to the same depth."""
        engine, others = self.engine, dict[int, int]()
        value = cast("Seen", self.seen).value
        try:
            for _ in range(self.agent.lines - 1):
                engine.barred[best] = True
                is_done, seen = self._search_within(depth, -INFINITE, INFINITE)
                if not is_done or seen is None:
                    return
                best = seen.best
                # A search of fewer moves may judge a little better than that of all.
                is_proven = abs(seen.value) >= LEAST_WIN
                value = seen.value if is_proven else min(value, seen.value)
                others[best] = value
            self._others = others
        finally:
            engine.barred[:] = False

    def _search_within(self, depth: int, low: int, high: int) -> tuple[bool, Seen | None]:
        """Search to a depth within a window: whether the budget was enough, and what is known."""
        engine, pace = self.engine, self._pace
        begin(engine, depth, low, high)
        is_done = False
        while not is_done:
            before = int(engine.control[POSITIONS])
            if self.seen is not None and (pace.is_over or before >= self._most):
                break
            is_done = self._run(self.game, engine, max(min(pace.size, self._most - before), 1))
            pace.count(int(engine.control[POSITIONS]) - before)
            if self.agent.on_slice is not None and self.seen is not None:
                self.agent.on_slice(self.statistics)
        root = engine.nodes[0]
        move = int(root.best_move)
        if move == NO_ACTION:
            return is_done, None
        bounds = engine.root_values.copy()
        value = int(root.best) if is_done else int(bounds[move])
        if value <= low or (not is_done and value <= -PRESUMED):
            return is_done, None
        return is_done, Seen(move, value, bounds, is_done and bool(root.complete))

    def statistics(self) -> Statistics:
        """What was seen so far."""
        seen = cast("Seen", self.seen)
        known = {seen.best: seen.value, **self._others}
        lost = np.flatnonzero((seen.bounds > -INFINITE) & (seen.bounds <= -LEAST_WIN))
        known.update((action, int(seen.bounds[action])) for action in lost.tolist())
        visits, values = np.zeros(len(seen.bounds), np.int64), np.zeros(len(seen.bounds))
        for action, value in known.items():
            visits[action], values[action] = 1, shown_value(value)
        proven = [action for action, value in known.items() if abs(value) >= LEAST_WIN]
        outcome = 1 if seen.value >= LEAST_WIN else None
        if seen.value <= -LEAST_WIN and seen.is_whole:
            outcome = -1
        spent, seconds = int(self.engine.control[POSITIONS]), self._pace.elapsed
        found = Statistics(
            visits, values, self._line(seen.best), spent, seconds, outcome,
            proven_actions=proven, depth=self.depth,
            table_hits=int(self.engine.control[HITS]),
        )  # fmt: skip
        return with_assumption(found, self.assumed)

    def _line(self, best: int) -> list[int]:
        """The principal variation as the table has it."""
        engine, game, line = self.engine, self.game.rules, list[int]()
        position = plain_state(self.game, engine.states[0])
        while len(line) < MOST_PLIES and not game.is_terminal(position):
            place = find_entry(engine, int(game.position_hash(position)))
            move = NO_ACTION if place < 0 else move_of(engine.entries[place])
            if move == NO_ACTION:
                break
            line.append(move)
            game.step(position, move)
        return line if line[:1] == [best] else [best]
