"""Exact play: values of positions, and the agent that plays by them.

The game decides which solver answers: Connect4 with four in a row, on any board, and Hex up to 36
cells have solvers of their own (`agents.knowledge`). Any other game of up to 25 plies, such as
TicTacToe and small m,n,k games, and Connect4 with other lines, is solved by alpha-beta over the
game's own methods (`agents.solvers.exhaustive`); so is any other environment whose positions can
all be looked at, through its own step.

A *value* is 1, 0 or -1: a win, a draw or a loss of the player to move with perfect play. A *score*
also says how soon: ``half - s`` where the winner wins with the s-th action of that player, counted
from the start of the game, and `half` is one more than the most actions a player can have; the
loser has the negative, and a draw is 0. On the usual board of Connect4 that is 22 - s. Over an
environment that is not one of ours, which does not tell how many plies were played or can be,
plies count from the position and `half` is 101.
"""

import functools
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Final

import numpy as np

from agents.core.agent import OnSlice, SeededAgent, Statistics, with_assumption
from agents.core.knowledge import games_with, knowledge_of
from agents.core.options import Seconds
from agents.mcts.uct import UCT
from agents.planning.environment import View, check_in_play, legal_actions
from agents.planning.view import Assumption, Route, planner_view
from agents.registry import BOOKS
from agents.solvers.exhaustive import ExhaustiveSolver, ForeignTree, NoTactics, TreeState
from agents.solvers.questions import Clock, ExactSolver, ScoreSolver, score_limit
from hexenv.common.importing import attribute_at, import_on_demand
from hexenv.common.options import OneOf, Within
from hexenv.compiled import announced, uses_machine_code

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
MAX_SOLVERS: Final = 4
"""The number of solvers, and of books, that stay in memory for the next call."""

build_book: Callable[..., Any]
"""Builds an opening book of Connect4: `agents.knowledge.connect4.book.build_book`."""
__getattr__ = import_on_demand(__name__, {"build_book": f"{BOOKS}:build_book"})

_solvers: Final[OrderedDict[Any, ExactSolver]] = OrderedDict()
_lock: Final = threading.RLock()


def value(
    env: Any, *, seconds: float | None = None, book: str | os.PathLike[str] | None = None
) -> int:
    """Who wins with perfect play: 1 for the player to move, 0 for a draw, -1 for the other.

    Args:
        env: An environment in play; see the head of this module. It is left as it was.
        seconds: The time allowed; None for no limit.
        book: Path of an opening book for Connect4 (`build_book`); by default, on the usual board,
            the one of 8 plies that comes with the package.

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
    best = max(values.values())
    return [action for action in values if values[action] == best]


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
    """A position, and what will answer about it, compiled, in the time allowed from now on.

    The arguments are those of `Solver`; the book is a path or the book itself. `look` is called
    between two slices of a search.
    """

    def __init__(
        self,
        env: Any,
        seconds: float | None = None,
        book: Any = None,
        route: str = "auto",
        entries: int = TABLE_ENTRIES,
        assume: str | None = None,
        look: Callable[["Question"], None] | None = None,
    ) -> None:
        self.view = planner_view(env, route, assume)
        check_in_play(env)
        self.solver, self.state = solver_for(self.view, book, entries)
        self.solver.prepare()
        self.found: dict[int, int] = {}
        is_foreign = self.view.actions is None
        seen = None if look is None else functools.partial(look, self)
        self.clock = Clock(seconds, FOREIGN_NODES if is_foreign else None, seen)

    def value(self) -> int:
        """The value of the position."""
        with self.solver.lock:
            return self.solver.value(self.state, self.clock)

    def values(self) -> dict[int, int]:
        """The value of each legal action; `found` has what was found before a `TimeoutError`."""
        with self.solver.lock:
            return self.solver.values(self.state, self.clock, self.found)

    def scores(self) -> dict[int, int]:
        """The score of each legal action."""
        with self.solver.lock:
            return self.solver.scores(self.state, self.clock)

    def quickest(self, actions: list[int]) -> list[int]:
        """Those of some actions of equal value that have the best score."""
        with self.solver.lock:
            return self.solver.quickest(self.state, actions, self.clock)


def solver_for(view: View, book: Any, entries: int) -> tuple[ExactSolver, Any]:
    """The solver for a position, which is kept for later ones, and the position as it takes it."""
    if view.actions is None:
        refuse_book(book, "an environment that is not one of ours")
        tree = ForeignTree(view.root.env)
        return ExhaustiveSolver(tree, NoTactics(), 1 << 18, False), TreeState(view.root.env)
    opened = book if book is None or hasattr(book, "score") else _opened(book)
    compiles = view.compiles and uses_machine_code()
    key: Any = (type(view.game), view.game, compiles, entries, id(opened))
    with _lock:
        if key not in _solvers:
            _solvers[key] = _new_solver(view.game, compiles, opened, entries)
            while len(_solvers) > MAX_SOLVERS:
                _solvers.popitem(last=False)
        _solvers.move_to_end(key)
        return _solvers[key], view.root


def _new_solver(game: Any, compiles: bool, book: Any, entries: int) -> ExactSolver:
    """The game's own solver, or the exhaustive one."""
    known = knowledge_of(game)
    solver = known.exact_solver(game, compiles, book, entries)
    if getattr(solver, "book", None) is None:
        refuse_book(book, str(game))
    if solver is not None:
        return solver
    if game.max_plies() > MOST_PLIES:
        raise ValueError(
            f"expected a game with a solver of its own ({games_with('exact_solver')}), or of at "
            f"most {MOST_PLIES} plies, got {game}"
        )
    few = 3 ** min(game.max_plies(), 20)  # positions of stones on cells; others may need more
    size = min(entries, max(few, 1 << 14))
    return ExhaustiveSolver(game, known.tactics(game) or NoTactics(), size, compiles)


def _opened(path: str | os.PathLike[str]) -> Any:
    """The book at a path, which is read again only after the file was changed."""
    path = os.path.abspath(path)
    status = os.stat(path)
    return _load_again(path, status.st_mtime_ns, status.st_size)


def _load_book(path: str, _changed: int = 0, _size: int = 0) -> Any:
    return attribute_at(f"{BOOKS}:load_book")(path)


_load_again = functools.lru_cache(MAX_SOLVERS)(_load_book)


def refuse_book(book: Any, game: str) -> None:
    """Refuse a book where none is of use, with a ValueError."""
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
            of the best score, so it wins as soon as it can and loses as late as it can (in Hex by
            the stones that the winner still needs); ``"optimal"``: any that keeps the value.
        seconds: The time allowed for a move; None for no limit. Where nine tenths of it do not
            suffice, the rest is for a guess: a winning action, if one was found, else the one that
            `agents.UCT` finds best of those not found to lose. `value`, `best_actions` and `scores`
            raise `TimeoutError` instead.
        book: See `value`.
        table_entries: Of the table in which positions are kept, 8 to 47 bytes each. The table is
            shared by all solvers of the game in this process; Hex has 2^20 at most.
        route: How it plans; see `agents.planning.view.planner_view`.
        seed: Of the random stream; None: a different one each time.
        assume: What to assume although the environment does not have it; see `route`.

    Attributes:
        statistics: Of the last move: `values` has the exact value of each legal action (`visits` is
            1 there), `proven` that of the position; `simulations` counts positions searched. Of a
            guess they are those of UCT, but for the actions whose value was found; `proven` is None
            unless that is enough to know the value of the position.
        on_slice: As in `agents.mcts.tree_search.TreeSearchAgent`.

    Raises:
        ValueError: If a parameter is out of its range, or the book is none.
        FileNotFoundError: If there is no book at that path.
    """

    name = "solver"

    def __init__(
        self,
        choice: Annotated[str, OneOf(CHOICES)] = "best",
        seconds: Seconds = None,
        book: str | None = None,
        table_entries: Annotated[int, Within(1 << 10, 1 << 32)] = TABLE_ENTRIES,
        route: Route = "auto",
        seed: int | None = None,
        assume: Assumption = None,
    ) -> None:
        super().__init__(seed)
        self.choice = choice
        self.seconds = seconds
        self.book = None if book is None else _load_book(book)
        self.table_entries = table_entries
        self.route = route
        self.assume = assume
        self.on_slice: OnSlice | None = None
        self._guesser = UCT(seconds=1.0, route=route, seed=seed, assume=assume)

    def reset(self, seed: int | None = None) -> None:
        super().reset(seed)
        self._guesser.reset(seed)

    @announced
    def prepare(self, env: Any) -> None:
        self._question(env)
        if self.seconds is not None:
            self._guesser.prepare(env)

    def _question(self, env: Any, seconds: float | None = None) -> Question:
        if seconds is None and self.seconds is not None:
            seconds = SOLVING_SHARE * self.seconds
        options = self.book, self.route, self.table_entries, self.assume
        return Question(env, seconds, *options, self.on_slice and self._show)

    def _show(self, question: Question) -> None:
        """Call `on_slice` with a function that gives the statistics so far."""
        if self.on_slice is not None:
            self.on_slice(lambda: _statistics(question, question.found, None))

    def plies_left(self, env: Any, seconds: float) -> dict[int, int]:
        """In how many plies the game ends by each action that wins or loses, with perfect play.

        The winner is as quick, and the loser as slow, as can be. Empty where the solver does not
        count plies, as in Hex. It takes longer than to know who wins.

        Raises:
            TimeoutError: If the seconds did not suffice.
            ValueError: As `act`.
        """
        question = self._question(env, seconds)
        if not isinstance(question.solver, ScoreSolver):
            return {}
        half, ply = score_limit(question.solver.game), int(question.state.ply)
        found: dict[int, int] = {}
        for action, score in question.scores().items():
            if score != 0:
                is_first = (ply % 2 == 0) == (score > 0)  # whether who began the game wins it
                found[action] = 2 * (half - abs(score)) - is_first - ply
        return found

    @announced
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
        self.statistics = _statistics(question, values, action)
        return action

    def _guess(self, env: Any, question: Question) -> int:
        """The most promising action by what was found in time, and by a search in what is left."""
        left = (self.seconds or 0.0) - question.clock.elapsed()
        self._guesser.seconds, self._guesser.on_slice = max(left, SHORTEST_GUESS), self.on_slice
        favourite, searched = self._guesser.act(env), self._guesser.statistics
        assert searched is not None
        actions = [int(action) for action in legal_actions(env)]
        action, statistics = guess(question.found, actions, favourite, searched)
        timed = replace(statistics, seconds=question.clock.elapsed())
        self.statistics = with_assumption(timed, question.view.assumed)
        return action


def guess(
    found: Mapping[int, int], actions: Sequence[int], favourite: int, searched: Statistics
) -> tuple[int, Statistics]:
    """An action, by the values found of some of the legal ones and a search with a favourite.

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
    exact = [*{*searched.proven_actions, *found}]
    return action, replace(
        searched, values=values, principal_variation=line, proven=proven, proven_actions=exact
    )


def _statistics(question: Question, values: dict[int, int], chosen: int | None) -> Statistics:
    """What the solver found, in the form of a search; None was chosen where it goes on."""
    legal = list(values)
    num_actions = question.view.game.num_actions()
    visits = np.zeros(num_actions, np.int64)
    visits[legal] = 1
    each = np.zeros(num_actions, np.float64)
    each[legal] = [values[one] for one in legal]
    best, clock = max(values.values(), default=None), question.clock
    line = [one for one in legal if values[one] == best][:1] if chosen is None else [chosen]
    proven = best if chosen is not None or best == 1 else None
    found = Statistics(
        visits, each, line, clock.nodes, clock.elapsed(), proven=proven, proven_actions=legal
    )
    return with_assumption(found, question.view.assumed)
