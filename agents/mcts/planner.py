"""The planner of a tree search: its trees, from one move to the next."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from agents.core.agent import StoppedError
from agents.core.budget import shares, spend
from agents.mcts.settings import Settings
from agents.planning.environment import View
from agents.search.roots import is_decided
from agents.search.tree import ROOT, Tree, child_by_action, children
from agents.search.variant import Variant
from hexenv.games import base

if TYPE_CHECKING:
    from agents.mcts.saved_trees import SavedTrees
    from agents.mcts.worker import TreeWorker, WorkerRun

COMPILED_SLICE: Final = 64
"""Simulations before the first look at the clock, where a search runs as machine code."""


class TreeRoot(NamedTuple):
    """The position at the root of a planner's trees."""

    game: Any
    root: Any
    actions: tuple[int, ...]
    """From the start of the game; over a foreign environment only the one then chosen."""


class Planner:
    """The trees of an agent, one for each worker; the visits at their roots are added up.

    Args:
        variant: What is searched.
        settings: `workers`, `reuse`, `max_nodes` and the others that are about trees.
        kind: The workers' class.
    """

    def __init__(self, variant: Variant, settings: Settings, kind: "type[TreeWorker]") -> None:
        self.variant = variant
        self.settings = settings
        self.max_nodes = settings.max_nodes  # a manager of engines may allow less
        self.kind = kind
        self._saved: SavedTrees | None = None
        self._saved_root: TreeRoot | None = None
        self.begin(settings.seed)

    def begin(self, seed: int | None) -> None:
        """Make the workers, with the streams of a seed."""
        count = self.settings.workers
        several = np.random.SeedSequence(seed).spawn(count) if count > 1 else [seed]
        self.workers = [self.kind(each) for each in several]
        self.forget()

    def reset(self, seed: int | None) -> None:
        """Forget the game; with a seed, start the streams anew. The memory of trees is kept."""
        self.forget()
        if seed is not None:
            before = self.workers
            self.begin(seed)
            for worker, old in zip(self.workers, before, strict=True):
                worker.take_memory(old)
        for worker in self.workers:
            worker.variant = None

    def forget(self) -> None:
        """Do not go on with the trees, nor save them."""
        self._root: TreeRoot | None = None
        self._last: TreeRoot | None = None

    def let_go(self) -> None:
        """Do not go on with the trees: the next position is not after this one."""
        self._root = None

    @property
    def trees(self) -> list[Tree]:
        """The trees of all workers."""
        return [cast("Tree", worker.tree) for worker in self.workers]

    @property
    def rng(self) -> np.random.Generator:
        """The stream of the first worker."""
        return self.workers[0].rng

    @property
    def has_saved_trees(self) -> bool:
        """Whether it begins with trees from a file."""
        return self._saved is not None

    # ---- from one move to the next ---------------------------------------------------------------

    def prepare(
        self, plain: View, simulations: int | None, new_variant: Callable[[], Variant]
    ) -> None:
        """Give every worker a tree with the position as its root, and room to grow.

        `new_variant` makes the variant with empty memory.

        Raises:
            ValueError: If `max_nodes` is too low for the game.
        """
        num_actions = plain.game.num_actions()
        expect_room(self.max_nodes, num_actions)
        root, self._root = self._root, None  # until this search has ended
        by_position = self.settings.transpositions
        played = played_since(plain, root, None if by_position else self.workers[0].tree)
        key = plain.game.position_hash(plain.root) if by_position else 0
        for number, worker in enumerate(self.workers):
            if not worker.go_on(played, key):
                worker.clear()
                worker.variant = new_variant()
                self._take_saved_tree(plain, number)
            elif played:  # lengths of games are counted from the root
                reward = self.variant.reward.with_memory(plain.game)
                if reward is not self.variant.reward:
                    worker.variant = cast("Variant", worker.variant)._replace(reward=reward)
            needed = worker.nodes_needed(simulations, num_actions, self.max_nodes)
            worker.make_room(needed, self.max_nodes)

    def remember(self, view: View, chosen: int) -> None:
        """Note the root of the trees, for the next move."""
        if view.actions is None:
            root = TreeRoot(view.game, view.root, (chosen,))
        else:
            root = TreeRoot(view.game, base.clone(view.game, view.root), view.actions)
        self._last = None if view.actions is None else root
        self._root = root if self.settings.reuse else None

    # ---- the search ------------------------------------------------------------------------------

    def search(
        self,
        runs: "Sequence[WorkerRun]",
        started: float,
        simulations: int | None,
        seconds: float | None,
        batch: int,
        show: Callable[[int, float], None] | None,
    ) -> int:
        """Spend a budget on all trees; returns the simulations run.

        Args:
            runs: One of each worker.
            started: The time of the start, of `time.perf_counter`.
            simulations: How many; None for no limit.
            seconds: How long; None for no limit.
            batch: Simulations that are begun together.
            show: Called between two slices, with simulations and seconds: of the first worker, and
                of those that come after it where they search one after another. An exception that
                it raises ends the search of all.
        """
        if (count := len(runs)) == 1:
            return self._spend(runs[0], started, simulations, seconds, batch, show)
        parts = shares(simulations, count)
        if runs[0].view.compiles:
            return self._search_at_once(runs, started, parts, seconds, batch, show)
        each, done = None if seconds is None else seconds / count, 0
        for run, part in zip(runs, parts, strict=True):
            shown = None if show is None else partial(_show_more, show, done)
            done += self._spend(run, time.perf_counter(), part, each, batch, shown)
        return done

    def _search_at_once(
        self,
        runs: "Sequence[WorkerRun]",
        started: float,
        parts: Sequence[int | None],
        seconds: float | None,
        batch: int,
        show: Callable[[int, float], None] | None,
    ) -> int:
        """Search with a thread for each worker."""
        is_stopped = Event()

        def show_first(simulations: int, seconds: float) -> None:
            assert show is not None
            try:
                show(simulations, seconds)
            except BaseException:
                is_stopped.set()
                raise

        def look(simulations: int, seconds: float) -> None:
            if is_stopped.is_set():
                raise StoppedError

        def share(run: "WorkerRun", part: int | None) -> int:
            shown = None if show is None else show_first if run is runs[0] else look
            return self._spend(run, started, part, seconds, batch, shown)

        with ThreadPoolExecutor(len(runs)) as pool:
            return sum(pool.map(share, runs, parts))

    def _spend(
        self,
        run: "WorkerRun",
        started: float,
        simulations: int | None,
        seconds: float | None,
        batch: int,
        show: Callable[[int, float], None] | None,
    ) -> int:
        """Search one tree until its share of the budget is spent; returns the simulations run."""
        worker, stops_early = run.worker, self.settings.early_stop
        if worker.takes_all_at_once and simulations is not None and seconds is None:
            is_watched = show is not None and batch == 1
            if not (stops_early or is_watched):
                return run.search(simulations)
        decided = partial(is_decided, cast("Tree", worker.tree)) if stops_early else None
        first = COMPILED_SLICE if worker.is_fast and show is None and decided is None else 1
        return spend(run.search, started, simulations, seconds, batch, decided, show, first)

    def line_after(self, action: int) -> list[int]:
        """The line after an action, by the first worker's tree; empty if that did not visit it."""
        worker = self.workers[0]
        return [] if worker.tree is None else worker.line(action)

    # ---- files -----------------------------------------------------------------------------------

    def check_can_be_saved(self, selects_by_patterns: bool) -> None:
        """Refuse what files of trees do not hold."""
        if not self.kind.can_be_saved:
            raise ValueError("expected an agent without transpositions, for trees in files")
        if selects_by_patterns:
            raise ValueError("expected an agent whose selection does not look at patterns")
        if self.settings.knowledge is not None:
            raise ValueError("expected an agent without knowledge, for trees in files")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trees of the last search to a file."""
        from agents.mcts.saved_trees import save_trees  # few programs save trees

        if self._last is None or any(worker.tree is None for worker in self.workers):
            raise ValueError("expected a tree of a search over a game of hexenv to save")
        game, root, actions = self._last
        save_trees(path, game, root, actions, self.variant, self.trees)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read trees, to begin with them in every game that knows their positions."""
        from agents.mcts.saved_trees import load_trees

        self._saved = load_trees(path, self.variant, len(self.workers))
        self._saved_root = None

    def _take_saved_tree(self, view: View, number: int) -> None:
        """Give a worker its loaded tree, if that knows the position and keeps the game's rules."""
        saved = self._saved
        if saved is None or view.actions is None:
            return
        if self._saved_root is None or self._saved_root.game != view.game:
            root = saved.check_rules(view.game, self.variant.selection, view.compiles)
            self._saved_root = TreeRoot(view.game, root, saved.actions)
        played = played_since(view, self._saved_root, None)
        if played is not None:
            self.workers[number].take_tree(saved.trees[number], played)


def _show_more(
    show: Callable[[int, float], None], before: int, simulations: int, seconds: float
) -> None:
    """Show a search after others that have run so many simulations."""
    show(before + simulations, seconds)


def expect_room(max_nodes: int, num_actions: int) -> None:
    """Refuse a bound on a tree that does not hold the root's children."""
    if max_nodes <= num_actions:
        raise ValueError(
            f"expected max_nodes above the {num_actions} actions here, got {max_nodes}"
        )


def played_since(view: View, last: TreeRoot | None, tree: Tree | None) -> tuple[int, ...] | None:
    """The actions from the last root to the position of a view; None if there is no way.

    Where an environment does not tell, its tree is for guessing, if there is one.
    """
    if last is None or type(last.game) is not type(view.game):
        return None
    if view.actions is None:
        if tree is None or not view.game.knows_positions:
            return None
        return _guess_played(view, last, tree)
    if last.game != view.game or view.actions[: len(last.actions)] != last.actions:
        return None
    played = view.actions[len(last.actions) :]
    state = base.clone(view.game, last.root)
    for action in played:
        view.game.step(state, action)
    same = view.game.position_hash(state) == view.game.position_hash(view.root)
    return played if same and state.ply == view.root.ply else None


def _guess_played(view: View, last: TreeRoot, tree: Tree) -> tuple[int, ...] | None:
    """The chosen action and the reply that lead here; the most visited replies are tried first."""
    chosen = last.actions[-1]
    node = child_by_action(tree, ROOT, chosen)
    if node is None:
        return None
    below = children(tree, node)
    order = np.argsort(-tree.visits[below])
    replies = tree.action[below][order][tree.visits[below][order] > 0]
    key = view.game.position_hash(view.root)
    state = view.new_state()
    for played in ((), (chosen,), *((chosen, int(reply)) for reply in replies)):
        view.game.copy(last.root, state)
        for action in played:
            view.game.step(state, action)
        if view.game.position_hash(state) == key:
            return played
    return None
