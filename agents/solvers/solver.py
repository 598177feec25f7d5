"""Exact play: values of positions, and the agent that plays by them.

The game decides which solver answers:

* Connect4 with four in a row, on any board: alpha-beta on bitboards (`agents.knowledge.connect4`).
* Hex up to 36 cells: a solver of its own (`agents.knowledge.hex`).
* Any other game of up to 25 plies, such as TicTacToe and small m,n,k games, and Connect4 with
  other lines: alpha-beta over the game's own methods (`agents.solvers.exhaustive`).
* Any other environment whose positions can all be looked at: the same, through its own step.

A *value* is 1, 0 or -1: a win, a draw or a loss of the player to move with perfect play. A *score*
also says how soon: ``half - s`` where the winner wins with the s-th action of that player, counted
from the start of the game, and `half` is one more than the most actions a player can have; the
loser has the negative, and a draw is 0. On the usual board of Connect4 that is 22 - s. Over an
environment that is not one of ours, which does not tell how many plies were played or can be,
plies count from the position and `half` is 101.
"""

import functools
import operator
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import numpy as np

from agents.core.agent import SeededAgent, Statistics, marked
from agents.core.knowledge import games_with, knowledge_of
from agents.core.options import check_budget
from agents.knowledge.connect4.book import Book, build_book, load_book  # there are no others
from agents.mcts.uct import UCT
from agents.search.environment import View, check_in_play, check_route, legal_actions, planner_view
from agents.solvers.exhaustive import (
    ExhaustiveSolver,
    ForeignTree,
    NoTactics,
    TreeState,
)
from agents.solvers.questions import (
    Clock,
    ExactSolver,
    ScoreSolver,
)
from hexenv.compiled import uses_machine_code

__all__ = ["Solver", "best_actions", "build_book", "scores", "value"]

CHOICES: Final = ("best", "optimal")
MOST_PLIES: Final = 25
"""The longest game that is searched without a solver of its own."""
FOREIGN_NODES: Final = 200_000
"""How many positions of a foreign environment are looked at: some minutes."""
TABLE_ENTRIES: Final = 1 << 23
SOLVING_SHARE: Final = 0.9
"""Of the time for a move, for solving; the rest is for a guess."""
SHORTEST_GUESS: Final = 0.001
KEPT_SOLVERS: Final = 4
"""How many games' tables are kept for the next call."""

_solvers: Final[OrderedDict[Any, tuple[ExactSolver, threading.RLock]]] = OrderedDict()
_lock: Final = threading.RLock()


def value(
    env: Any, *, seconds: float | None = None, book: str | os.PathLike[str] | None = None
) -> int:
    """Who wins with perfect play: 1 for the player to move, 0 for a draw, -1 for the other.

    Args:
        env: An environment in play; see the head of this module. It is left as it was.
        seconds: The time allowed; None for no limit.
        book: Path of an opening book for Connect4 (`build_book`).

    Raises:
        ValueError: If the game is over, or too large.
        TimeoutError: If the time did not suffice.
    """
    return Question(env, seconds, book).value()


def best_actions(
    env: Any, *, seconds: float | None = None, book: str | os.PathLike[str] | None = None
) -> list[int]:
    """All actions that keep the value of the position, ascending, however late they win.

    Args and errors are those of `value`.
    """
    values = Question(env, seconds, book).values()
    return [action for action in values if values[action] == max(values.values())]


def scores(
    env: Any, *, seconds: float | None = None, book: str | os.PathLike[str] | None = None
) -> dict[int, int]:
    """The exact score of each legal action for the player to move; see the head of this module.

    Args and errors are those of `value`; besides:

    Raises:
        ValueError: For Hex, whose solver does not count plies.
    """
    return Question(env, seconds, book).scores()


class Question:
    """A position, and what will answer about it, compiled.

    Args:
        env: An environment in play.
        seconds: The time allowed, from now on.
        book: Path of an opening book, or the book.
        route: How it is planned over; see `agents.search.environment.planner_view`.
        entries: Of the table of a solver.
        assume: See `route`.
    """

    def __init__(
        self,
        env: Any,
        seconds: float | None = None,
        book: "str | os.PathLike[str] | Book | None" = None,
        route: str = "auto",
        entries: int = TABLE_ENTRIES,
        assume: str | None = None,
    ) -> None:
        self.view = planner_view(env, route, assume)
        check_in_play(env)
        self.solver, self.state, self._lock = solver_for(self.view, book, entries)
        self.solver.prepare()
        self.found: dict[int, int] = {}
        is_foreign = self.view.actions is None
        self.clock = Clock(seconds, FOREIGN_NODES if is_foreign else None)

    def value(self) -> int:
        """The value of the position."""
        with self._lock:
            return self.solver.value(self.state, self.clock)

    def values(self) -> dict[int, int]:
        """The value of each legal action; `found` has what was found before a `TimeoutError`."""
        with self._lock:
            return self.solver.values(self.state, self.clock, self.found)

    def scores(self) -> dict[int, int]:
        """The score of each legal action."""
        with self._lock:
            return self.solver.scores(self.state, self.clock)

    def quickest(self, actions: list[int]) -> list[int]:
        """Those of some actions of equal value that have the best score."""
        with self._lock:
            return self.solver.quickest(self.state, actions, self.clock)


def solver_for(view: View, book: Any, entries: int) -> tuple[ExactSolver, Any, threading.RLock]:
    """The solver for a position, the position as it takes it, and a lock for its use.

    Raises:
        ValueError: If there is none, or the book is not for this game.
    """
    if view.actions is None:
        tree = ForeignTree(view.root.env)
        refuse_book(book, "an environment that is not one of ours")
        solver = ExhaustiveSolver(tree, NoTactics(), entries=1 << 18, compiles=False)
        return ScoreSolver(solver), TreeState(view.root.env), threading.RLock()
    opened = None if book is None else _opened(book)
    compiles = view.compiles and uses_machine_code()
    key: Any = (type(view.game), view.game, compiles, entries, id(opened))
    with _lock:
        if key not in _solvers:
            solver = _new_solver(view.game, compiles, opened, entries)
            _solvers[key] = solver, threading.RLock()
            while len(_solvers) > KEPT_SOLVERS:
                _solvers.popitem(last=False)
        _solvers.move_to_end(key)
        return _solvers[key][0], view.root, _solvers[key][1]


def _new_solver(game: Any, compiles: bool, book: Book | None, entries: int) -> ExactSolver:
    """The game's own solver, or the exhaustive one."""
    known = knowledge_of(game)
    solver = known.exact_solver(game, compiles, book, entries)
    if solver is not None:
        return solver
    refuse_book(book, str(game))
    if game.max_plies() > MOST_PLIES:
        raise ValueError(
            f"expected a game with a solver of its own ({games_with('exact_solver')}), or of at "
            f"most {MOST_PLIES} plies, got {game}"
        )
    few = 3 ** min(game.max_plies(), 20)  # positions of stones on cells; others may need more
    size = min(entries, max(few, 1 << 14))
    tactics = known.tactics(game) or NoTactics()
    return ScoreSolver(ExhaustiveSolver(game, tactics, size, compiles))


def _opened(book: str | os.PathLike[str] | Book) -> Book:
    """A book, or the one at a path; a file is read again only after it was changed."""
    if isinstance(book, Book):
        return book
    path = os.path.abspath(book)
    status = os.stat(path)
    return _load_book(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(KEPT_SOLVERS)
def _load_book(path: str, _changed: int, _size: int) -> Book:
    return load_book(path)


def refuse_book(book: Any, game: str) -> None:
    """Refuse a book where none is of use.

    Raises:
        ValueError: If there is one.
    """
    if book is not None:
        raise ValueError(
            f"expected no opening book but for Connect4 with four in a row, got {game}"
        )


class Solver(SeededAgent):
    r"""Plays perfectly where the game is small enough, and refuses to play where it is not.

    With `seconds` it guesses where they do not suffice.

    Formula:
        $$v(s) = \max_a\, -v(s_a)$$

        $s_a$ is the position after the action $a$; the value of an end is 1, 0 or -1 for the player
        to move.

    Args:
        choice: Which of several good actions is played, each with the same chance: ``"best"``: one
            of the best score, so it wins as soon as it can and loses as late as it can (in Hex one
            that keeps the value); ``"optimal"``: any that keeps the value.
        seconds: The time allowed for a move; None for no limit. Where nine tenths of it do not
            suffice, the rest is for a guess: a winning action, if one was found, else the one that
            `agents.UCT` finds best of those not found to lose. `value`, `best_actions` and `scores`
            raise `TimeoutError` instead.
        book: Path of an opening book for Connect4, made by `build_book`.
        table_entries: Of the table in which positions are kept, 8 or 16 bytes each. The table is
            shared by all solvers of the game in this process.
        route: How it plans; see `agents.search.environment.planner_view`.
        seed: Of the random stream; None for an unforeseeable one.
        assume: What to take as given where it is not so; see `route`.

    Attributes:
        statistics: Of the last move: `values` has the exact value of each legal action (`visits` is
            1 there), `proven` that of the position; `simulations` counts positions searched. Of a
            guess they are those of UCT, but for the actions whose value was found; `proven` is None
            unless that is enough to know the value of the position.

    Raises:
        ValueError: If a parameter is out of its range, or the book is none.
        FileNotFoundError: If there is no book at that path.
    """

    name = "solver"

    def __init__(
        self,
        choice: str = "best",
        seconds: float | None = None,
        book: str | None = None,
        table_entries: int = TABLE_ENTRIES,
        route: str = "auto",
        seed: int | None = None,
        assume: str | None = None,
    ) -> None:
        if choice not in CHOICES:
            raise ValueError(f"expected a choice of {', '.join(CHOICES)}, got {choice!r}")
        check_budget(None, seconds)
        if not 1 << 10 <= operator.index(table_entries) <= 1 << 32:
            raise ValueError(f"expected table_entries from 2^10 to 2^32, got {table_entries}")
        check_route(route, assume)
        super().__init__(seed)
        self.choice = choice
        self.seconds = seconds
        self.book = None if book is None else load_book(book)
        self.table_entries = table_entries
        self.route = route
        self.assume = assume
        self._guesser = UCT(seconds=1.0, route=route, seed=seed, assume=assume)

    def reset(self, seed: int | None = None) -> None:
        """Forget the game played so far; with a seed, start the random streams anew."""
        super().reset(seed)
        self._guesser.reset(seed)

    def prepare(self, env: Any) -> None:
        """Compile what `act` needs in such an environment, so that its first call does not."""
        self._question(env)
        if self.seconds is not None:
            self._guesser.prepare(env)

    def _question(self, env: Any) -> Question:
        seconds = None if self.seconds is None else SOLVING_SHARE * self.seconds
        return Question(env, seconds, self.book, self.route, self.table_entries, self.assume)

    def act(self, env: Any) -> int:
        """A perfect action, or a guess where the time does not suffice; see `Agent.act`.

        Raises:
            ValueError: If the game is over, too large, or not that of the book.
        """
        question = self._question(env)
        try:
            values = question.values()
        except TimeoutError:
            return self._guess(env, question)
        best = max(values.values())
        actions = [action for action in values if values[action] == best]
        if self.choice == "best" and len(actions) > 1 and best != 0:
            with suppress(TimeoutError):  # then any of them
                actions = question.quickest(actions)
        action = actions[int(self._rng.random() * len(actions))]
        self.statistics = marked(_statistics(question, values, action), question.view.assumed)
        return action

    def _guess(self, env: Any, question: Question) -> int:
        """The most promising action by what was found in time, and by a search in what is left."""
        left = (self.seconds or 0.0) - question.clock.elapsed()
        self._guesser.seconds = max(left, SHORTEST_GUESS)
        favourite, searched = self._guesser.act(env), self._guesser.statistics
        assert searched is not None
        actions = [int(action) for action in legal_actions(env)]
        action, statistics = guess(question.found, actions, favourite, searched)
        timed = replace(statistics, seconds=question.clock.elapsed())
        self.statistics = marked(timed, question.view.assumed)
        return action


def guess(
    found: Mapping[int, int], actions: Sequence[int], favourite: int, searched: Statistics
) -> tuple[int, Statistics]:
    """An action, by the values that were found and a search.

    Args:
        found: The value of some of the actions, 1, 0 or -1 for the player to move.
        actions: All that are legal.
        favourite: What the search would play.
        searched: What it found.

    Returns:
        A winning action, if one was found; else the favourite of the search, or where that was
        found to lose, the most visited action that was not; but a draw that was found comes before
        what the search sees behind. And the statistics of the search, with the values found.
    """
    values = searched.values.copy()
    values[list(found)] = list(found.values())
    best = max(found.values(), default=-1)
    action = favourite
    if best > 0 or (best == 0 and values[favourite] < 0):
        action = next(one for one in found if found[one] == best)
    elif found.get(favourite, 0) < 0:
        open_ones = [one for one in actions if found.get(one, 0) >= 0]
        action = max(open_ones or actions, key=lambda one: int(searched.visits[one]))
    line = searched.principal_variation if action == favourite else [action]
    proven = 1 if best > 0 else searched.proven
    return action, replace(searched, values=values, principal_variation=line, proven=proven)


def _statistics(question: Question, values: dict[int, int], action: int) -> Statistics:
    """What the solver found, in the form of a search."""
    legal = list(values)
    num_actions = question.view.game.num_actions()
    visits = np.zeros(num_actions, np.int64)
    visits[legal] = 1
    each = np.zeros(num_actions, np.float64)
    each[legal] = [values[one] for one in legal]
    best = max(values.values())
    clock = question.clock
    return Statistics(visits, each, [action], clock.nodes, clock.elapsed(), proven=best)
