"""The agent around the search: one move, from the environment to the action.

It is composed. `Settings` are what was asked, a `Variant` is what is computed, `Advisers` are asked
before a search, and a `Planner` keeps the trees between moves and spends the budget on them.
`planner_view` makes a game of the environment.
"""

import os
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, cast

import numpy as np

from agents.core.agent import AgentBase, OnSlice, Statistics, with_assumption
from agents.core.knowledge import GameKnowledge
from agents.core.options import Seconds, Simulations, with_default
from agents.mcts.advisers import Advisers, check_knowledge_fits
from agents.mcts.planner import Planner
from agents.mcts.settings import SearchOptions, Settings
from agents.mcts.worker import TreeWorker, WorkerRun
from agents.planning.environment import View, check_in_play
from agents.planning.view import planner_view, turn_based
from agents.search.proofs import SOLVERS
from agents.search.roots import root_actions
from agents.search.tree import UNPROVEN, Tree
from agents.search.variant import Variant
from hexenv.common.messages import check_seed
from hexenv.compiled import announced

if TYPE_CHECKING:
    from agents.mcts.many_games import ManyGames


class TreeSearchAgent(AgentBase):
    """An agent that runs a variant of Monte-Carlo tree search and plays the best root action.

    One seed gives one tree, compiled or interpreted, and through the environment too where the
    playout is the generic one.

    Examples:
        >>> from agents.search import playout, reward, selection
        >>> from agents.search.variant import Variant
        >>> variant = Variant(selection.UCB1(), playout.Uniform(), reward.WinLoss())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2

    Args:
        variant: The composition to run.
        simulations: Simulations a move; 1,000 where neither budget is given.
        seconds: Seconds a move, without the first compilation. With both, the first to end counts.
        game_knowledge: What is known of the game, for a variant that needs it; None: what is
            registered for the game, where `threats` or `implicit_minimax` ask for it.
        **options: See `agents.mcts.settings.Settings`.

    Attributes:
        settings: The options.
        statistics: Of the last search.
        on_slice: Called every few milliseconds of a search, on the thread that searches; the result
            stays the same. Of several workers it is shown the first.

    Raises:
        ValueError: If a budget or an option is out of its range.
    """

    settings_class: ClassVar[type[Settings]] = Settings
    changed_in_place = ("planner",)
    batch: int = 1  # simulations that are begun together
    is_for_two: bool = False  # whether it plans only where there are two players
    plays_many: bool = True  # whether its search in many games is its search in one

    def __init__(
        self,
        variant: Variant,
        simulations: Simulations = None,
        seconds: Seconds = None,
        *,
        game_knowledge: GameKnowledge | None = None,
        **options: Unpack[SearchOptions],
    ) -> None:
        self.simulations, self.seconds = with_default(simulations, seconds), seconds
        self.settings = settings = Settings(**options)
        if not isinstance(variant, Variant):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"expected a Variant of the search, got {variant!r}")
        self.variant = variant._replace(solver=SOLVERS[settings.solver])
        if self.simulations is not None and self.simulations < settings.workers:
            each = f"each of {settings.workers} workers"
            raise ValueError(f"expected a simulation for {each}, got {self.simulations}")
        if settings.discount != 1.0 and (self.is_for_two or settings.transpositions):
            got = settings.discount
            raise ValueError(f"expected a discount of 1 in a search for two, got {got}")
        self.route, self.assume = settings.route, settings.assume
        self.on_slice: OnSlice | None = None
        self._statistics_found: Statistics | None = None
        self._find_statistics: Callable[[], Statistics] | None = None
        self.advisers = Advisers(settings, game_knowledge)
        kind = self.worker_class()
        if settings.transpositions:
            from agents.mcts.graph_worker import graph_worker_for  # few agents search graphs

            kind = graph_worker_for(self.variant)
        self.planner = Planner(self.variant, settings, kind)
        if settings.knowledge is not None:
            check_knowledge_fits(type(self).__name__, settings.knowledge, self.planner)

    def worker_class(self) -> type[TreeWorker]:
        """The class of what searches its trees, if it searches no graph."""
        return TreeWorker

    @property
    def statistics(self) -> Statistics | None:
        """Of the last search; read from its trees when they are first asked for."""
        if self._find_statistics is not None:
            with self.turn:
                if self._find_statistics is not None:
                    self.statistics = self._find_statistics()
        return self._statistics_found

    @statistics.setter
    def statistics(self, found: Statistics | None) -> None:
        self._statistics_found, self._find_statistics = found, None

    def __getstate__(self) -> dict[str, Any]:
        found = self.statistics
        return {**super().__getstate__(), "_find_statistics": None, "_statistics_found": found}

    def line_after(self, action: int) -> list[int]:
        """The line that the search of `statistics` expects after an action, which is its first."""
        return self.planner.line_after(action)

    def reset(self, seed: int | None = None) -> None:
        check_seed(seed)
        self.statistics = None
        self.planner.reset(seed)

    # ---- a move ----------------------------------------------------------------------------------

    @announced
    def act(self, env: Any) -> int:
        env, plain = self._planned(env)
        check_in_play(env)
        chosen = self.advisers.play_opening(plain, self._think_elsewhere, self.planner.rng)
        if chosen is None:
            return self._think(plain)
        self.statistics = None  # they describe another position
        return chosen

    @announced
    def prepare(self, env: Any) -> None:
        """Compile now what `act` needs in such an environment."""
        self.begin(env, skips_opening=True)

    def begin(self, env: Any, skips_opening: bool = False) -> WorkerRun:
        """A search from an empty tree, without a look for wins, to be run by others than `act`."""
        found, plain = self.statistics, self._planned(env)[1]  # before the trees change
        plain = self.advisers.after_opening(plain) if skips_opening else plain
        view = self.advisers.search_view(plain)
        self.planner.forget()
        self.advisers.win_finder(plain, view)
        self._prepare_trees(plain, view)
        self.statistics = found
        return self.planner.workers[0].new_run(view, self)

    def play_many(self, env: Any, count: int, threads: int | None = None) -> "ManyGames | None":
        """The agent in many games at once, in environments like one of hexenv.

        None if it can play them only one by one: with anything else than one tree and a number of
        simulations, and where its class is one of yours that does not say ``plays_many = True``.
        """
        from agents.mcts.many_games import many_searches  # few programs play many

        return many_searches(self, env, count, threads)

    def _planned(self, env: Any) -> tuple[Any, View]:
        """An environment as one whose agents act in turn, and how the search sees it."""
        is_for_two = self.is_for_two or self.settings.transpositions
        env = env if is_for_two else turn_based(env)
        discount = None if is_for_two else self.settings.discount
        view = planner_view(env, self.route, self.assume, discount)
        if self.settings.workers > 1 and hasattr(view.game, "fitted"):
            raise ValueError(
                f"expected one worker in {view.game}, which is not for two players, "
                f"got {self.settings.workers}"
            )
        return env, view

    def _prepare_trees(self, plain: View, view: View) -> None:
        new_variant = partial(self.advisers.variant_for, self.variant, plain, view)
        self.planner.prepare(plain, self.simulations, new_variant)

    def _think_elsewhere(self, view: View) -> tuple[int, float]:
        """The action to play in a position outside of the game played, and its value."""
        self.planner.let_go()
        chosen = self._think(view)
        self.planner.forget()
        return chosen, float(cast("Statistics", self.statistics).values[chosen])

    def _think(self, plain: View) -> int:
        """The action to play, after a search; what compiles is not counted as its time."""
        self.statistics = None
        view = self.advisers.search_view(plain)
        finder = self.advisers.win_finder(plain, view)
        started = time.perf_counter()
        line = self.advisers.winning_line(finder, view, self.seconds)
        if line is not None:
            seconds = time.perf_counter() - started
            self.statistics = statistics_of_win(line, view.game.num_actions(), seconds)
            self.planner.let_go()
            return line[0]
        self._prepare_trees(plain, view)
        before_compiling = time.perf_counter()
        runs = [worker.new_run(view, self) for worker in self.planner.workers]
        started += time.perf_counter() - before_compiling
        simulations = self._search(runs, started)
        seconds = time.perf_counter() - started
        if view.actions is None:
            from agents.planning.foreign import tell_rate  # most programs never meet one

            tell_rate(view.game, view.root.env, simulations, seconds)
        trees = self.planner.trees

        @cache
        def find_statistics() -> Statistics:
            line = max((worker.line() for worker in self.planner.workers), key=len)
            return self.statistics_of(trees, line, view, simulations, seconds)

        chosen = self.choose_action(view, trees, self.planner.rng, find_statistics)
        self._find_statistics = find_statistics
        self.planner.remember(plain, chosen)
        return chosen

    def _search(self, runs: Sequence[WorkerRun], started: float) -> int:
        show = None if self.on_slice is None else partial(self._show, runs[0])
        budget = self.simulations, self.seconds
        return self.planner.search(runs, started, *budget, self.batch, show)

    def _show(self, run: WorkerRun, simulations: int, seconds: float) -> None:
        """Call `on_slice` with a function that gives the statistics so far."""
        assert self.on_slice is not None
        trees, line = [cast("Tree", run.worker.tree)], run.worker.line
        self.on_slice(lambda: self.statistics_of(trees, line(), run.view, simulations, seconds))

    def statistics_of(
        self, trees: Sequence[Tree], line: list[int], view: View, simulations: int, seconds: float
    ) -> Statistics:
        """What the trees have found; `line` is their principal variation."""
        return root_statistics(trees, line, view, simulations, seconds)

    def choose_action(
        self,
        view: View,
        trees: Sequence[Tree],
        rng: np.random.Generator,
        find_statistics: Callable[[], Statistics],
    ) -> int:
        """The action to play after a search."""
        return root_actions(trees).best(self.settings.final_move)

    # ---- files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tree of the last search to a file, for `load`.

        Raises:
            OSError: If the file cannot be written.
            ValueError: If there is none, or it is a graph, over a foreign environment or patterns.
        """
        self.planner.check_can_be_saved(self.advisers.selects_by_patterns)
        if self.statistics is None:
            raise ValueError("expected a tree to save, got an agent that has not searched yet")
        self.planner.save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read a tree that an agent of the same kind has saved, to begin with it in every game.

        It is used in positions that the tree knows, but not over foreign environments; what a
        policy has learnt besides is not in the file. The first `act` refuses one of another game.

        Raises:
            OSError: If the file cannot be read.
            ValueError: If it is damaged, or of another variant or number of trees, or as `save`.
        """
        self.planner.check_can_be_saved(self.advisers.selects_by_patterns)
        self.planner.load(path)


# ---- statistics ----------------------------------------------------------------------------------


def root_statistics(
    trees: Sequence[Tree], line: list[int], view: View, simulations: int, seconds: float
) -> Statistics:
    """The trees' statistics of the root's actions, with the best line from there."""
    root = root_actions(trees)
    num_actions = view.game.num_actions()
    visits = np.zeros(num_actions, np.int64)
    values = np.zeros(num_actions, np.float64)
    visits[root.actions] = root.visits
    values[root.actions] = np.where(root.visits > 0, 2 * root.value - 1, 0)
    known = root.proof != UNPROVEN
    values[root.actions[known]] = root.proof[known]
    proven = root.outcome()
    exact: list[int] = root.actions[known].tolist()
    found = Statistics(visits, values, line, simulations, seconds, proven, proven_actions=exact)
    return with_assumption(found, view.assumed)


def statistics_of_win(line: list[int], num_actions: int, seconds: float) -> Statistics:
    """Those of a line that wins, found without a search."""
    visits, values = np.zeros(num_actions, np.int64), np.zeros(num_actions)
    visits[line[0]] = values[line[0]] = 1
    return Statistics(visits, values, line, 0, seconds, proven=1, proven_actions=line[:1])
