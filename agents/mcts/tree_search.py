"""The agent around the search: one move, from the environment to the action.

`planner_view` makes a game of the environment; the game's knowledge may play an opening, add
patterns to the position, and find a win by threats (`agents.core.knowledge`). Every worker goes on
with the part of its tree that was played, and spends its budget (`agents.core.budget`) on the
search (`agents.search.mcts`). Then the roots of the trees are added up.
"""

import operator
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import (
    AgentBase,
    OnSlice,
    Statistics,
    with_assumption,
)
from agents.core.budget import shares, spend
from agents.core.knowledge import GameKnowledge, WinFinder, knowledge_of
from agents.core.options import check_budget, expect_one_of, number_within, whole_number_within
from agents.search.children import most_new_nodes
from agents.search.environment import (
    View,
    check_in_play,
    check_route,
    is_transparent,
    planner_view,
    turn_based,
)
from agents.search.knowledge import NoKnowledge
from agents.search.mcts import compiled_search
from agents.search.proofs import MOST_PLIES, SOLVERS
from agents.search.reward import MeanBackup
from agents.search.selection import wilson_interval
from agents.search.simulation import Simulation, no_memory
from agents.search.tree import (
    ROOT,
    UNPROVEN,
    Tree,
    child_by_action,
    children,
    copy_nodes,
    first_nodes,
    keep_subtree,
)
from agents.search.variant import Variant, simulation_for, tree_for, with_memory
from hexenv.compiled import (
    CompiledFunction,
    announced,
    classes_of,
    is_compiled,
    uses_machine_code,
)
from hexenv.compiled_callees import CLASSES, is_ours
from hexenv.games import base
from hexenv.messages import check_seed, true_or_false

if TYPE_CHECKING:
    from agents.mcts.many_games import ManyGames

FINAL_MOVES: Final = ("visits", "value", "lcb")
COMPILED_SLICE: Final = 64
"""Simulations before the first look at the clock, where a search runs as machine code."""
THREAT_SHARE: Final = 0.2
"""The share of its time in which an agent looks for wins by threats before it searches."""
THREAT_DEPTH: Final = 12
THREAT_NODES: Final = 20_000


class SearchOptions(TypedDict, total=False):
    """The parameters of every tree search; see `TreeSearchAgent`."""

    final_move: str
    solver: str
    early_stop: bool
    reuse: bool
    transpositions: bool
    workers: int
    max_nodes: int
    threats: bool
    implicit_minimax: float
    route: str
    seed: int | None
    assume: str | None
    discount: float
    knowledge: str | None
    knowledge_at: int


class TreeSearchAgent(AgentBase):
    """An agent that runs a variant of Monte-Carlo tree search and plays the best root action.

    One seed gives one tree, compiled or interpreted, and through the environment too where the
    playout is the generic one.

    Examples:
        >>> from agents.search.variant import Variant
        >>> from agents.search.playout import Uniform
        >>> from agents.search.reward import WinLoss
        >>> from agents.search.selection import UCB1
        >>> from hexenv import tictactoe_v0
        >>> env = tictactoe_v0.env()
        >>> env.reset(options={"moves": "1 4 2 5"})
        >>> agent = TreeSearchAgent(Variant(UCB1(), Uniform(), WinLoss()), simulations=50, seed=1)
        >>> agent.act(env)  # the third of three in a row
        2

    Args:
        variant: The composition to run.
        simulations: Simulations a move; 1,000 where neither budget is given.
        seconds: Seconds a move, without the first compilation. With both, the first to end counts.
        final_move: ``"visits"``: the most visited action; ``"value"``: the one with the highest
            mean; ``"lcb"``: the one with the highest lower confidence bound on the mean. A proven
            win comes before all of them, the shortest first, and a proven loss after, the longest
            first.
        solver: What is done with outcomes that the search proves: ``"soft"``, ``"hard"`` or
            ``"off"``; see `agents.search.proofs.SOLVERS`.
        early_stop: Whether to stop once no other action can become the most visited; for one
            worker, and `final_move` ``"visits"``.
        reuse: Whether to go on, in the next move of the game, with the part of the tree that was
            played. (A foreign environment does not tell what was played: there, replies are tried
            until one gives the position shown; with transpositions there is no reuse there.)
        transpositions: Whether positions reached by several move orders share their statistics
            (`agents.search.graph`); for selection rules that keep nothing of their own, as UCB1,
            and rewards that count no plies.
        workers: Threads that search at the same time, each a tree of its own with its share of the
            simulations; the visits are added up (root parallelisation: Chaslot, Winands and van den
            Herik 2008). The result depends on the seed and the number of workers. Where a search
            does not run as machine code the workers take turns.
        max_nodes: Bound on a tree; once it is full the search goes on without growing it. A node
            takes 35 bytes, and more in variants that keep more. Rules that visit all children
            before they score any, as UCB1, need two or three nodes for a simulation, others one for
            each action of every position that is expanded.
        threats: In games whose threats are known (Gomoku, TicTacToe): whether to look for wins by
            threats, before the search (fours, then threes as well, for up to a fifth of `seconds`)
            and at every new leaf (fours); see `agents.knowledge.gomoku.threats`.
        implicit_minimax: In games with a board evaluation (the same): the share of a child's mean,
            0 to 1, that is replaced by the minimax value of the evaluation; see
            `agents.knowledge.gomoku.minimax`.
        route: How it plans; see `agents.search.environment.planner_view`.
        seed: Of the random stream; None: a different one each time.
        assume: What to assume although the environment does not have it; see `route`. Then nothing
            is proven.
        discount: The factor of rewards for each ply, above 0 and at most 1. It counts in
            environments of one agent, as those of Gymnasium, and of three and more
            (`agents.search.returns`). There, the values of `statistics` go from the worst return
            that the search has seen, -1, to the best, 1.
        knowledge: The names, with a plus between them, of what is known of the game and used in
            the tree, see `GameKnowledge.add_knowledge`. For searches of one tree each, with a
            solver.
        knowledge_at: After how many visits a node is looked at for what takes long to find out.
        game_knowledge: What is known of the game, for a variant that needs it; None: what is
            registered for the game, where `threats` or `implicit_minimax` ask for it.

    Attributes:
        statistics: Of the last search.
        on_slice: Called every few milliseconds of a search, on the thread that searches; the result
            stays the same. Of several workers it is shown the first.

    Raises:
        ValueError: If a budget, a bound or a name is out of its range.
    """

    batch: int = 1  # simulations that are begun together
    is_for_two: bool = False  # whether it plans only where there are two players

    def __init__(
        self,
        variant: Variant,
        simulations: int | None = None,
        seconds: float | None = None,
        *,
        final_move: str = "visits",
        solver: str = "soft",
        early_stop: bool = False,
        reuse: bool = True,
        transpositions: bool = False,
        workers: int = 1,
        max_nodes: int = 5_000_000,
        threats: bool = False,
        implicit_minimax: float = 0.0,
        route: str = "auto",
        seed: int | None = None,
        assume: str | None = None,
        discount: float = 1.0,
        knowledge: str | None = None,
        knowledge_at: int = 256,
        game_knowledge: GameKnowledge | None = None,
    ) -> None:
        self.simulations, self.seconds = check_budget(simulations, seconds)
        self.final_move = expect_one_of("final_move", final_move, FINAL_MOVES)
        expect_one_of("solver", solver, SOLVERS)
        check_route(route, assume)
        if early_stop and (workers != 1 or final_move != "visits"):
            raise ValueError(
                f'expected early_stop with one worker and final_move "visits", got {workers} and '
                f'"{final_move}"'
            )
        if not isinstance(variant, Variant):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"expected a Variant of the search, got {variant!r}")
        self.variant = variant._replace(solver=SOLVERS[solver])
        for name, flag in (("early_stop", early_stop), ("reuse", reuse), ("threats", threats)):
            true_or_false(name, flag)
        true_or_false("transpositions", transpositions)
        self.threats = threats
        self.implicit_minimax = number_within("implicit_minimax", implicit_minimax, 0.0, 1.0)
        self._given_knowledge = game_knowledge
        self._uses_knowledge = threats or self.implicit_minimax > 0.0 or game_knowledge is not None
        if knowledge is not None and not isinstance(knowledge, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"expected knowledge as names, got {knowledge!r} (did you mean game_knowledge?)"
            )
        self.knowledge = knowledge
        self.knowledge_at = whole_number_within("knowledge_at", knowledge_at, 1, 2**31 - 1)
        self._worker_class = TreeWorker
        if transpositions:
            self._worker_class = _graph_worker(self.variant, self.implicit_minimax)
        self.early_stop = early_stop
        self.reuse = reuse
        self.transpositions = transpositions
        self.workers = whole_number_within("workers", workers, 1, 1024)
        if self.simulations is not None and self.simulations < self.workers:
            raise ValueError(
                f"expected a simulation for each of {self.workers} workers, got {self.simulations}"
            )
        self.max_nodes = whole_number_within("max_nodes", max_nodes, 2, 2**31 - 1)
        self.route = route
        self.assume = assume
        self.discount = number_within("discount", discount, 1e-9, 1.0)
        if self.discount != 1.0 and (self.is_for_two or transpositions):
            raise ValueError(f"expected a discount of 1 in a search for two, got {discount}")
        self._statistics_found: Statistics | None = None
        self._find_statistics: Callable[[], Statistics] | None = None
        self.on_slice: OnSlice | None = None
        self._saved: Any = None
        self._saved_root: TreeRoot | None = None
        self._finder: WinFinder | None = None
        self._new_workers(seed)
        if knowledge is not None:
            self._check_knowledge_fits()

    def _new_workers(self, seed: int | None) -> None:
        check_seed(seed)
        several = np.random.SeedSequence(seed).spawn(self.workers) if self.workers > 1 else [seed]
        self._workers = [self._worker_class(each) for each in several]
        self._root: TreeRoot | None = None
        self._last: TreeRoot | None = None

    def _check_knowledge_fits(self) -> None:
        variant = self.variant
        reasons = {
            "another search than that of one tree": not self._asks_knowledge,
            'solver "off"': not variant.solver.proves(),
            "a variant that has its own": not isinstance(variant.knowledge, NoKnowledge),
            "another backup than that of means": not isinstance(variant.backup, MeanBackup),
        }
        for why, is_so in reasons.items():
            if is_so:
                name = type(self).__name__
                raise ValueError(
                    f'expected no knowledge for {name} with {why}, got "{self.knowledge}"'
                )

    @property
    def _has_own_run(self) -> bool:
        """Whether a subclass runs its search in a way of its own."""
        return type(self)._new_run is not TreeSearchAgent._new_run

    @property
    def _asks_knowledge(self) -> bool:
        """Whether its search is one that asks the knowledge in the tree."""
        return not self._has_own_run and self._kernel() is compiled_search

    def _trees(self) -> list[Tree]:
        """The trees of all workers that have one."""
        return [cast("Tree", worker.tree) for worker in self._workers]

    def _is_plain_search(self, env: Any) -> bool:
        """Whether it runs a number of simulations in one tree, and nothing else."""
        kinds = type(self).__mro__
        ours = next(kind for kind in kinds if kind.__module__.startswith("agents."))
        changed = {name for kind in kinds[: kinds.index(ours)] for name in vars(kind)}
        return (
            not any(callable(getattr(ours, name, None)) for name in changed if name[:2] != "__")
            and is_transparent(env)
            and self.simulations is not None
            and self.seconds is None
            and self.workers == 1
            and not (self.early_stop or self.transpositions or self._uses_knowledge)
            and self.knowledge is None
            and self.on_slice is None
            and self._saved is None
            and self.route != "environment"
        )

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
        kept = {"_finder": None, "_find_statistics": None, "_statistics_found": found}
        return {**super().__getstate__(), **kept}

    def reset(self, seed: int | None = None) -> None:
        self.statistics = None
        self._root = self._last = None
        if seed is not None:
            before = self._workers
            self._new_workers(seed)
            for worker, old in zip(self._workers, before, strict=True):
                worker.take_memory(old)
        for worker in self._workers:
            worker.variant = None

    # ---- a move ----------------------------------------------------------------------------------

    def act(self, env: Any) -> int:
        env, plain = self._planned(env)
        check_in_play(env)
        if self._uses_knowledge or self.knowledge is not None:
            known = self._knowledge_of(plain.game)
            if known.is_opening(plain, self.knowledge):
                chosen = known.play_opening(plain, self._think_elsewhere, self._workers[0].rng)
                self.statistics = None  # they describe another position
                return chosen
        return self._think(plain)

    def play_many(self, env: Any, count: int, threads: int | None = None) -> "ManyGames | None":
        """The agent in many games at once, in environments like one of hexenv.

        None if it can play them only one by one: with several workers, a budget of time, knowledge,
        a graph or anything else besides one tree with a number of simulations, or where a class of
        yours has methods of its own.
        """
        from agents.mcts.many_games import ManySearches  # few programs play many
        from hexenv.compiled_packing import PackingError

        kind = type(self)
        kind_of_reward = cast("Any", type(self.variant.reward))
        has_own_memory = kind_of_reward.with_memory is not no_memory
        if self._has_own_run or has_own_memory:
            return None
        if kind._kernel is not TreeSearchAgent._kernel or not self._is_plain_search(env):
            return None
        if self.route != "interpreted" and not is_compiled(self.variant):
            return None
        try:
            return ManySearches(self, env, count, threads)
        except PackingError:
            return None

    @announced
    def prepare(self, env: Any) -> None:
        """Compile now what `act` needs in such an environment."""
        found = self.statistics  # before the trees change
        plain = self._planned(env)[1]
        if self._uses_knowledge:
            plain = self._knowledge_of(plain.game).after_opening(plain)
        view = self._search_view(plain)
        self._root = self._last = None
        if self.threats:
            self._win_finder(view, plain.game)
        self._prepare_trees(plain, view)
        self._new_run(view, self._workers[0])
        self.statistics = found

    def _planned(self, env: Any) -> tuple[Any, View]:
        """An environment as one whose agents act in turn, and how the search sees it."""
        is_for_two = self.is_for_two or self.transpositions
        env = env if is_for_two else turn_based(env)
        discount = None if is_for_two else self.discount
        view = planner_view(env, self.route, self.assume, discount)
        if self.workers > 1 and hasattr(view.game, "fitted"):
            raise ValueError(
                f"expected one worker in {view.game}, which is not for two players, "
                f"got {self.workers}"
            )
        return env, view

    def _think_elsewhere(self, view: View) -> tuple[int, float]:
        """The action to play in a position outside of the game played, and its value."""
        self._root = None
        chosen = self._think(view)
        self._root = self._last = None
        return chosen, float(cast("Statistics", self.statistics).values[chosen])

    def _think(self, plain: View) -> int:
        """The action to play, after a search; what compiles is not counted as its time."""
        self.statistics = None
        view = self._search_view(plain)
        finder = self._win_finder(view, plain.game) if self.threats else None
        started = time.perf_counter()
        if finder is not None:  # a part of the budget may be enough to find a forced win
            seconds = None if self.seconds is None else THREAT_SHARE * self.seconds
            line = finder.solve(view.root, THREAT_DEPTH, THREAT_NODES, seconds)
            if line is not None:
                return self._play_line(view, line, time.perf_counter() - started)
        self._prepare_trees(plain, view)
        before_compiling = time.perf_counter()
        runs = [self._new_run(view, worker) for worker in self._workers]
        started += time.perf_counter() - before_compiling
        simulations = self._search(runs, started, in_threads=view.compiles)
        trees = self._trees()
        seconds = time.perf_counter() - started
        if view.actions is None:
            from agents.search.foreign import tell_rate  # most programs never meet one

            tell_rate(view.game, view.root.env, simulations, seconds)

        @cache
        def find_statistics() -> Statistics:
            lines = (worker.line() for worker in self._workers)
            line = max(lines, key=len)
            return self.statistics_of(trees, line, view, simulations, seconds)

        chosen = self.choose_action(view, trees, self._workers[0].rng, find_statistics)
        self._find_statistics = find_statistics
        self._remember(plain, chosen)
        return chosen

    def statistics_of(
        self, trees: Sequence[Tree], line: list[int], view: View, simulations: int, seconds: float
    ) -> Statistics:
        return root_statistics(trees, line, view, simulations, seconds)

    def choose_action(
        self,
        view: View,
        trees: Sequence[Tree],
        rng: np.random.Generator,
        find_statistics: Callable[[], Statistics],
    ) -> int:
        return choose(trees, self.final_move)

    # ---- what is known of the game ---------------------------------------------------------------

    def _knowledge_of(self, game: Any) -> GameKnowledge:
        given = self._given_knowledge
        return knowledge_of(game) if given is None else given

    def _search_view(self, view: View) -> View:
        """The position as the search sees it."""
        return self._knowledge_of(view.game).search_view(view) if self._uses_knowledge else view

    @announced
    def _win_finder(self, view: View, game: Any) -> WinFinder:
        """What looks for wins; it remembers from move to move."""
        if self._finder is None or self._finder.game is not view.game:
            self._finder = self._knowledge_of(game).win_finder(view)
        return self._finder

    def _play_line(self, view: View, line: list[int], seconds: float) -> int:
        """Begin a line that wins, without a search."""
        visits, values = np.zeros((2, view.game.num_actions()))
        visits[line[0]] = values[line[0]] = 1.0
        self.statistics = Statistics(
            visits.astype(np.int64), values, line, 0, seconds, proven=1, proven_actions=line[:1]
        )
        self._root = None
        return line[0]

    # ---- the trees between moves -----------------------------------------------------------------

    def _prepare_trees(self, plain: View, view: View) -> None:
        """Give every worker a tree with the position as its root, and room to grow."""
        num_actions = plain.game.num_actions()
        nodes = self.nodes_for(num_actions)
        root, self._root = self._root, None  # until this search has ended
        played = played_since(plain, root, None if self.transpositions else self._workers[0].tree)
        key = plain.game.position_hash(plain.root) if self.transpositions else 0
        for number, worker in enumerate(self._workers):
            if not worker.go_on(played, key):
                worker.clear()
                worker.variant = self._variant_for(plain, view)
                if self._saved is not None:
                    self._take_saved_tree(plain, number)
            elif played:  # lengths of games are counted from the root
                reward = self.variant.reward.with_memory(plain.game)
                if reward is not self.variant.reward:
                    worker.variant = cast("Variant", worker.variant)._replace(reward=reward)
            needed = nodes
            if self.simulations is not None and worker.grows():
                kept = 0 if worker.tree is None else int(worker.tree.node_count[0])
                needed = most_new_nodes(self.simulations, num_actions, kept)
            worker.make_room(needed, self.max_nodes)

    def nodes_for(self, num_actions: int) -> int:
        """By how many nodes a search may grow a tree; ValueError if `max_nodes` is too low."""
        if self.max_nodes <= num_actions:
            raise ValueError(
                f"expected max_nodes above the {num_actions} actions here, got {self.max_nodes}"
            )
        if self.simulations is None:
            return self.max_nodes
        return 1 + (self.simulations + 1) * (num_actions + self.transpositions)

    def _variant_for(self, plain: View, view: View) -> Variant:
        """The composition, with memory for the game that the search sees."""
        variant = self.variant
        if plain.assumed is not None:
            variant = variant._replace(solver=SOLVERS["off"])
        if self._uses_knowledge:
            known = self._knowledge_of(plain.game)
            variant = known.extend_variant(variant, self.threats, self.implicit_minimax)
        if self.knowledge is not None:
            known = knowledge_of(plain.game)
            variant = known.add_knowledge(variant, plain.game, self.knowledge, self.knowledge_at)
        return with_memory(variant, view.game)

    def _remember(self, view: View, chosen: int) -> None:
        """Note the root of the trees, for the next move."""
        if view.actions is None:
            root = TreeRoot(view.game, view.root, (chosen,))
        else:
            root = TreeRoot(view.game, base.clone(view.game, view.root), view.actions)
        self._last = None if view.actions is None else root
        self._root = root if self.reuse else None

    # ---- files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tree of the last search to a file, for `load`.

        Raises:
            OSError: If the file cannot be written.
            ValueError: If there is no tree, or it is over a foreign environment, or a graph, or its
                selection looks at patterns.
        """
        from agents.mcts.saved_trees import save_trees  # few programs save trees

        self._check_can_be_saved()
        trees = [worker.tree for worker in self._workers]
        if self.statistics is None:
            raise ValueError("expected a tree to save, got an agent that has not searched yet")
        if self._last is None or any(tree is None for tree in trees):
            raise ValueError("expected a tree of a search over a game of hexenv to save")
        game, root, actions = self._last
        save_trees(path, game, root, actions, self.variant, cast("list[Tree]", trees))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read a tree that an agent of the same kind has saved, to begin with it in every game.

        It is used in positions that the tree knows, and left alone elsewhere, as over foreign
        environments; what a policy has learnt besides the tree is not in the file. A tree of
        another game, or one with moves against the rules, is refused by the first `act`.

        Raises:
            OSError: If the file cannot be read.
            ValueError: If it is damaged, or of another variant or number of trees, or this agent
                searches graphs, or selects by patterns.
        """
        from agents.mcts.saved_trees import load_trees

        self._check_can_be_saved()
        self._saved = load_trees(path, self.variant, len(self._trees()))
        self._saved_root = None

    def _check_can_be_saved(self) -> None:
        if self.transpositions:
            raise ValueError("expected an agent without transpositions, for trees in files")
        if self.implicit_minimax > 0.0 or self._given_knowledge is not None:
            raise ValueError("expected an agent whose selection does not look at patterns")
        if self.knowledge is not None:
            raise ValueError("expected an agent without knowledge, for trees in files")

    def _take_saved_tree(self, view: View, number: int) -> None:
        """Give a worker its loaded tree, if that knows the position and keeps the game's rules."""
        if view.actions is None:
            return
        saved = self._saved
        if self._saved_root is None or self._saved_root.game != view.game:
            root = saved.check_rules(view.game, self.variant.selection, view.compiles)
            self._saved_root = TreeRoot(view.game, root, saved.actions)
        played = played_since(view, self._saved_root, None)
        if played is not None:
            self._workers[number].take_tree(saved.trees[number], played)

    # ---- the search ------------------------------------------------------------------------------

    def _new_run(self, view: View, worker: "TreeWorker") -> "WorkerRun":
        """The search of one tree, compiled if it can be."""
        game, variant = view.game, cast("Variant", worker.variant)
        of_view = (game, variant, view.compiles and uses_machine_code())
        kept = worker.kept
        if kept is None or not all(map(operator.is_, kept.of_view, of_view)):
            kept = worker.kept = self._code_and_arrays(view, worker)
        before = (game, view.root, kept.state, *worker.arrays(), variant, kept.simulation)
        run = kept.run

        def search(simulations: int) -> int:
            return run(*before, simulations, worker.rng)

        return WorkerRun(search, worker, view)

    @announced
    def _code_and_arrays(self, view: View, worker: "TreeWorker") -> "CodeAndArrays":
        game, variant = view.game, cast("Variant", worker.variant)
        state, simulation = view.new_state(), simulation_for(variant, game)
        run: Callable[..., int] = self._kernel().function
        kinds = classes_of([variant]) if view.compiles else frozenset[type]()
        if view.compiles and CLASSES.keys() >= kinds:
            if not all(map(is_ours, kinds)) and uses_machine_code():
                from agents.search.checks import try_parts  # most programs have ours alone

                try_parts(variant, game, view.root)
            before = (game, view.root, state, *worker.arrays(), variant, simulation)
            decided_by = (game, view.root, variant)
            run = self._kernel().specialise(*before, 0, worker.rng, decided_by=decided_by)
        elif self.route == "compiled":
            raise ValueError(f'route "compiled" needs @compiled parts, got {self.variant}')
        is_fast = view.compiles and uses_machine_code()
        return CodeAndArrays((game, variant, is_fast), run, state, simulation)

    def _kernel(self) -> CompiledFunction:
        return self._workers[0].kernel

    def _search(self, runs: Sequence["WorkerRun"], started: float, in_threads: bool) -> int:
        """Spend the budget on all trees; returns the simulations run."""
        if (count := len(runs)) == 1:
            return self._spend_budget(runs[0], started, self.simulations, self.seconds)
        parts = shares(self.simulations, count)
        if in_threads:
            arguments = (runs, [started] * count, parts, [self.seconds] * count)
            with ThreadPoolExecutor(count) as pool:
                return sum(pool.map(self._spend_budget, *arguments))
        seconds = None if self.seconds is None else self.seconds / count
        return sum(
            self._spend_budget(run, time.perf_counter(), part, seconds)
            for run, part in zip(runs, parts, strict=True)
        )

    def _is_fast(self, run: "WorkerRun") -> bool:
        """Whether it runs as machine code."""
        kept = run.worker.kept
        return kept is not None and kept.run is not self._kernel().function

    def _spend_budget(
        self, run: "WorkerRun", started: float, simulations: int | None, seconds: float | None
    ) -> int:
        """Search one tree until the budget is spent; returns the simulations run."""
        tree = cast("Tree", run.worker.tree)
        decided = partial(is_decided, tree) if self.early_stop else None
        is_watched = self.on_slice is not None and run.worker is self._workers[0]
        show = partial(self._show, run) if is_watched else None
        first = COMPILED_SLICE if self._is_fast(run) and show is None and decided is None else 1
        return spend(run.search, started, simulations, seconds, self.batch, decided, show, first)

    def _show(self, run: "WorkerRun", simulations: int, seconds: float) -> None:
        """Call `on_slice` with a function that gives the statistics so far."""
        assert self.on_slice is not None
        worker = run.worker
        trees = [cast("Tree", worker.tree)]

        def found() -> Statistics:
            return self.statistics_of(trees, worker.line(), run.view, simulations, seconds)

        self.on_slice(found)


# ---- the workers ---------------------------------------------------------------------------------


class TreeWorker:
    """A tree, what searches it, a stream of random numbers and a variant with its memory."""

    kernel: CompiledFunction = compiled_search

    def __init__(self, seed: np.random.SeedSequence | int | None) -> None:
        self.rng = np.random.default_rng(seed)
        self.tree: Tree | None = None
        self.variant: Variant | None = None
        self.kept: CodeAndArrays | None = None

    def arrays(self) -> tuple[Any, ...]:
        """What the kernel searches in."""
        return (self.tree,)

    def take_memory(self, other: Any) -> None:
        """Use the arrays of another worker."""
        self.tree = other.tree

    def go_on(self, played: Sequence[int] | None, key: int) -> bool:
        """Make the position after some actions, with a hash, the root, if it has been searched."""
        if self.tree is None or played is None or self.variant is None:
            return False
        return go_down(self.tree, played)

    def clear(self) -> None:
        """Forget all that was searched; the arrays stay, to be used again."""
        if self.tree is not None:
            self.tree.node_count[0] = 0

    def grows(self) -> bool:
        """Whether nodes get their children bit by bit; see `agents.search.tree`."""
        return cast("Variant", self.variant).selection.tries_all_first()

    def make_room(self, nodes: int, most: int) -> None:
        """Let the tree grow by a number of nodes, but not beyond `most`."""
        variant = cast("Variant", self.variant)
        used = 0 if self.tree is None else int(self.tree.node_count[0])
        size = min(most, used + nodes)
        kept: Any = variant.backup.new_extras(0)
        if used == 0 and self.tree is not None and type(self.tree.backed_up) is not type(kept):
            self.tree = None  # the last environment was for another number of players
        if self.tree is None or len(self.tree.action) < size:
            larger = tree_for(variant, size)
            if self.tree is not None:
                copy_nodes(self.tree, larger)
            self.tree = larger

    def take_tree(self, source: Tree, played: Sequence[int]) -> None:
        """Begin with a copy of a tree, after some actions, if it knows the position there."""
        size = int(source.node_count[0])
        self.tree = tree_for(cast("Variant", self.variant), size)
        copy_nodes(source, self.tree)
        if not go_down(self.tree, played):
            self.clear()

    def line(self) -> list[int]:
        """The most visited actions from the root."""
        return principal_variation(cast("Tree", self.tree))

    def __getstate__(self) -> dict[str, Any]:
        used = None  # after `reset`, the content of the tree is of no use
        if self.variant is not None and self.tree is not None:  # a copy needs no room to grow
            used = first_nodes(self.tree, max(int(self.tree.node_count[0]), 1))
        return {**self.__dict__, "tree": used, "kept": None}


def _graph_worker(variant: Variant, implicit_minimax: float) -> type[TreeWorker]:
    """The kind of worker that searches graphs; refuses what cannot be searched so."""
    from agents.mcts.graph_worker import GraphWorker  # few agents do
    from agents.search.graph import check_variant

    check_variant(variant)
    if implicit_minimax > 0.0:
        raise ValueError("expected no implicit_minimax with transpositions, got both")
    return GraphWorker


class CodeAndArrays(NamedTuple):
    """What a worker needs for a search of a game by a variant; kept from move to move."""

    of_view: tuple[Any, Variant, bool]
    """The game, the variant, and whether machine code is used."""
    run: Callable[..., int]
    state: Any
    simulation: Simulation


class WorkerRun(NamedTuple):
    """One search of one worker."""

    search: Callable[[int], int]  # runs up to a number of simulations; returns how many it ran
    worker: TreeWorker
    view: View


# ---- from one move to the next -------------------------------------------------------------------


class TreeRoot(NamedTuple):
    """The position at the root of an agent's trees."""

    game: Any
    root: Any
    actions: tuple[int, ...]
    """From the start of the game; over a foreign environment only the one then chosen."""


def go_down(tree: Tree, actions: Sequence[int]) -> bool:
    """Make the node that some actions lead to the root, if the tree has it and has visited it."""
    node: int | None = ROOT
    for action in actions:
        node = child_by_action(tree, node, action)
        if node is None or tree.visits[node] == 0:
            return False
    if node == ROOT:
        return True
    keep_subtree(tree, node)
    tree.proof[ROOT] = UNPROVEN  # until the search has looked at its children
    return True


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


# ---- what the trees say of the root --------------------------------------------------------------


class RootActions(NamedTuple):
    """A position's actions, in ascending order, and the sums over all trees."""

    actions: NDArray[np.int32]
    visits: NDArray[np.int64]
    value: NDArray[np.float64]
    """Mean reward, 0 to 1, for the player to move; 0 where there was no visit."""
    proof: NDArray[np.int8]
    rank: NDArray[np.int32]
    """See `agents.search.proofs.proof_rank`."""


def root_actions(trees: Sequence[Tree], node: int = ROOT) -> RootActions:
    """Add up the roots of trees over the same position, or take one node of one tree."""
    several = [_actions_of(tree, node) for tree in trees]
    if len(several) == 1:
        return several[0]
    actions = several[0].actions
    visits, values, proofs, ranks = (
        np.stack(each) for each in list(zip(*several, strict=True))[1:]
    )
    total = visits.sum(axis=0)
    value = (values * visits).sum(axis=0) / np.maximum(total, 1)
    known = np.where(proofs == UNPROVEN, -2, proofs).max(axis=0)
    proof = np.where(known == -2, UNPROVEN, known).astype(np.int8)
    wins, losses = ranks.max(axis=0), ranks.min(axis=0)
    return RootActions(actions, total, value, proof, np.where(wins > 0, wins, losses))


def _actions_of(tree: Tree, node: int) -> RootActions:
    below = children(tree, node)
    order = np.argsort(tree.action[below]) + below.start
    visits = tree.visits[order]
    value = np.where(visits > 0, tree.value[order], 0.0)
    proof = tree.proof[order]
    rank = np.zeros(len(order), np.int32)
    if (has_winner := np.abs(proof) == 1).any():
        rank[has_winner] = (proof * (MOST_PLIES - tree.plies_left[order]))[has_winner]
    return RootActions(tree.action[order], visits.astype(np.int64), value, proof, rank)


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
    proven = None
    if (root.proof == 1).any() or (root.proof != UNPROVEN).all():
        proven = int(np.where(root.proof == UNPROVEN, -1, root.proof).max())
    exact: list[int] = root.actions[known].tolist()
    found = Statistics(visits, values, line, simulations, seconds, proven, proven_actions=exact)
    return with_assumption(found, view.assumed)


def principal_variation(tree: Tree, target: NDArray[np.int32] | None = None) -> list[int]:
    """The line of the most visited actions from the root; of a graph by where its edges lead."""
    line: list[int] = []
    node = ROOT
    while node >= 0 and tree.child_count[node] > 0:
        action = choose([tree], "visits", node)
        node = cast("int", child_by_action(tree, node, action))
        if tree.visits[node] == 0:
            break
        line.append(action)
        node = node if target is None else int(target[node])
    return line


def is_decided(tree: Tree, simulations: int) -> bool:
    """Whether the most visited action stays the same through a number of further simulations.

    Proven losses are not played, as long as there is something else.
    """
    below = children(tree, ROOT)
    visits = np.sort(tree.visits[below][tree.proof[below] != -1])
    return len(visits) < 2 or bool(visits[-1] - visits[-2] > simulations)


def choose(trees: Sequence[Tree], final_move: str, node: int = ROOT) -> int:
    """The best action by one of `FINAL_MOVES`; ties go to the value, then to the lower action.

    Of proven wins it is the shortest, of proven losses the longest; of those of the same length the
    same rule chooses.
    """
    root = root_actions(trees, node)
    if final_move == "value":
        merit = np.where(root.visits > 0, root.value, -1.0)
    elif final_move == "lcb":
        lower = wilson_interval(np.clip(root.value, 0, 1), np.maximum(root.visits, 1))[0]
        merit = np.where(root.visits > 0, lower, -1.0)
    else:
        merit = root.visits
    best = np.arange(len(root.actions))
    for key in (root.rank, merit, root.value):
        of_best = key[best]
        best = best[of_best == of_best.max()]
    return int(root.actions[best[0]])
