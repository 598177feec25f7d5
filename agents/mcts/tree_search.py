"""The agent around the search: what it remembers between moves, and how it comes to one."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypedDict, cast

import numpy as np

from agents.core.agent import OnSlice, Statistics, check_in_play
from agents.core.budget import shares, spend
from agents.core.options import check_budget, expect_one_of, number_within, whole_number_within
from agents.knowledge.gomoku.opening_play import after_opening, opening_action
from agents.knowledge.gomoku.threats import ThreatSolver
from agents.knowledge.gomoku.view import pattern_view, with_patterns
from agents.mcts.root import FINAL_MOVES, choose, is_decided, line_statistics, root_statistics
from agents.mcts.saved import expect, load_trees, save_trees
from agents.mcts.searcher import LoadedTrees, MachineCode, Position, Run, Searcher, played_since
from agents.search import graph
from agents.search.foreign import View, check_route, new_state_of, planner_view
from agents.search.mcts import Variant, compiled_search, with_memory
from agents.search.proofs import SOLVERS
from agents.search.tree import Tree
from hexenv.compiled import CompiledFunction, is_compiled
from hexenv.games import base
from hexenv.games.gomoku.openings import is_opening

THREAT_SHARE: Final = 0.2
"""How much of its time an agent looks for wins by threats before it searches."""
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


class TreeSearchAgent:
    """An agent that runs a variant of Monte-Carlo tree search and plays the best root action.

    One seed gives one tree, compiled or interpreted, and through the environment too where the
    playout is the generic one.

    Args:
        variant: The composition to run.
        simulations: Simulations a move; 1,000 where neither budget is given.
        seconds: Seconds a move, without the first compilation. With both, the first to end counts.
        final_move: ``"visits"``: the most visited action; ``"value"``: the one with the highest
            mean; ``"lcb"``: the one with the highest lower confidence bound on the mean. A proven
            win comes before all of them, a proven loss after.
        solver: What is done with outcomes that the search proves: ``"soft"``, ``"hard"`` or
            ``"off"``; see `agents.search.proofs.SOLVERS`.
        early_stop: Whether to stop once no other action can become the most visited; for one
            worker, and `final_move` ``"visits"``.
        reuse: Whether to go on, in the next move of the game, with the part of the tree that was
            played. (Over a foreign environment, which does not tell what that was, a reply is tried
            after the other until the position is what is shown; with transpositions not at all.)
        transpositions: Whether positions reached by several move orders share their statistics
            (`agents.search.graph`); for selection rules that keep nothing of their own, as UCB1,
            and rewards that count no plies.
        workers: Trees that are searched at the same time, each on a thread of its own with its
            share of the simulations; their visits are added up (root parallelism: Chaslot, Winands
            and van den Herik 2008). The result depends on the seed and the number of workers.
        max_nodes: Bound on a tree; once it is full the search goes on without growing it. A node
            takes 33 bytes, and more in variants that keep more.
        threats: In Gomoku and TicTacToe: whether to look for wins by threats, before the search
            (fours, then threes as well, for up to a fifth of `seconds`) and at every new leaf
            (fours); see `agents.knowledge.gomoku.threats`.
        implicit_minimax: There as well: how much of a child's mean, 0 to 1, is replaced by the
            minimax value of the board evaluation; see `agents.knowledge.gomoku.minimax`.
        route: How it plans; see `agents.search.foreign.planner_view`.
        seed: Of the random stream; None for an unforeseeable one.
        assume: What to take as given where it is not so; see `route`. Then nothing is proven.

    Attributes:
        statistics: Of the last search.
        on_slice: For whoever wants to watch a search: called every few milliseconds of it, on the
            thread that searches. The result stays the same. Of several workers the first is seen.

    Raises:
        ValueError: If a budget, a bound or a name is out of its range.
    """

    batch: int = 1
    """Simulations that are begun together."""

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
    ) -> None:
        simulations, seconds = check_budget(simulations, seconds)
        expect_one_of("final_move", final_move, FINAL_MOVES)
        expect_one_of("solver", solver, SOLVERS)
        check_route(route, assume)
        if early_stop and (workers != 1 or final_move != "visits"):
            raise ValueError(
                f'expected early_stop with one worker and final_move "visits", got {workers} and '
                f'"{final_move}"'
            )
        share = number_within("implicit_minimax", implicit_minimax, 0.0, 1.0)
        self.variant = with_patterns(variant._replace(solver=SOLVERS[solver]), threats, share)
        if transpositions:
            graph.check_variant(self.variant)
        self.threats = threats
        self._selects_by_patterns = share > 0.0
        self._sees_patterns = threats or share > 0.0
        self.simulations = simulations
        self.seconds = seconds
        self.final_move = final_move
        self.early_stop = early_stop
        self.reuse = reuse
        self.transpositions = transpositions
        self.workers = whole_number_within("workers", workers, 1, 1024)
        if simulations is not None and simulations < self.workers:
            raise ValueError(
                f"expected a simulation for each of {self.workers} workers, got {simulations}"
            )
        self.max_nodes = whole_number_within("max_nodes", max_nodes, 2, 2**31 - 1)
        self.route = route
        self.assume = assume
        self.statistics: Statistics | None = None
        self.on_slice: OnSlice | None = None
        self._loaded: LoadedTrees | None = None
        self._code = MachineCode()
        self._solver: ThreatSolver | None = None
        self._start_anew(seed)

    def _start_anew(self, seed: int | None) -> None:
        several = np.random.SeedSequence(seed).spawn(self.workers)
        self._searchers = [Searcher(each) for each in (several if self.workers > 1 else [seed])]
        self._position: Position | None = None
        self._last: Position | None = None

    def reset(self, seed: int | None = None) -> None:
        """Forget the game played so far; with a seed, start the random stream anew."""
        self.statistics = None
        self._position = self._last = None
        if seed is not None:
            before = self._searchers
            self._start_anew(seed)
            for searcher, old in zip(self._searchers, before, strict=True):
                searcher.tree, searcher.graph = old.tree, old.graph  # their memory
        for searcher in self._searchers:
            searcher.variant = None

    def act(self, env: Any) -> int:
        """Search from the environment's position and choose an action; see `Agent.act`."""
        plain = planner_view(env, self.route, self.assume)
        check_in_play(env)
        if self._sees_patterns and is_opening(plain.game, plain.root):
            chosen = opening_action(plain, self._judge, self._searchers[0].rng)
            self.statistics = None  # what there was is of other positions than this one
            return chosen
        return self._think(plain)

    def _judge(self, view: View) -> tuple[int, float]:
        """The action to play in a position that stands by itself, and its value."""
        self._position = None
        chosen = self._think(view)
        self._position = self._last = None
        return chosen, float(cast("Statistics", self.statistics).values[chosen])

    def _think(self, plain: View) -> int:
        """The action to play, after a search."""
        view = self._study(plain)  # which compiles, as the solver may
        solver = self._threat_solver(view) if self.threats else None
        started = time.perf_counter()
        line = None if solver is None else self._solve(solver, view)
        if line is not None:
            return self._play_line(view, line, time.perf_counter() - started)
        self._plant(plain, view)
        before_compiling = time.perf_counter()
        runs = [self._run(view, searcher) for searcher in self._searchers]
        started += time.perf_counter() - before_compiling
        simulations = self._search(runs, started, in_threads=view.compiles)
        trees = [cast("Tree", searcher.tree) for searcher in self._searchers]
        line = max((searcher.line() for searcher in self._searchers), key=len)
        seconds = time.perf_counter() - started
        self.statistics = root_statistics(trees, line, view, simulations, seconds)
        chosen = self._choose(view, trees)
        self._remember(plain, chosen)
        return chosen

    # ---- threats ---------------------------------------------------------------------------------

    def _study(self, view: View) -> View:
        """The position as the search wants to see it."""
        return pattern_view(view) if self._sees_patterns else view

    def _threat_solver(self, view: View) -> ThreatSolver:
        """The solver for a game; it remembers from move to move."""
        if self._solver is None or self._solver.game is not view.game:
            self._solver = ThreatSolver(view.game, view.compiles)
        return self._solver

    def _solve(self, solver: ThreatSolver, view: View) -> list[int] | None:
        """A win by threats from the root, if there is one to be found in a part of the budget."""
        seconds = None if self.seconds is None else THREAT_SHARE * self.seconds
        return solver.solve(view.root, THREAT_DEPTH, THREAT_NODES, seconds)

    def _play_line(self, view: View, line: list[int], seconds: float) -> int:
        """Begin a line that wins; there is nothing to search."""
        self.statistics = line_statistics(line, view.game.num_actions(), seconds)
        self._position = None
        return line[0]

    def _choose(self, view: View, trees: Sequence[Tree]) -> int:
        """The action to play, after a search."""
        return choose(trees, self.final_move)

    def prepare(self, env: Any) -> None:
        """Compile what `act` needs in such an environment, so that its first call does not."""
        plain = planner_view(env, self.route, self.assume)
        if self._sees_patterns:
            plain = after_opening(plain)
        view = self._study(plain)
        self._position = self._last = None
        if self.threats:
            self._threat_solver(view)
        self._plant(plain, view)
        self._run(view, self._searchers[0])

    # ---- the trees between moves -----------------------------------------------------------------

    def _plant(self, view: View, studied: View) -> None:
        """Give every searcher a tree with the position as its root, and room to grow.

        Args:
            view: The position.
            studied: The same as the search sees it.
        """
        num_actions = view.game.num_actions()
        if self.max_nodes <= num_actions:
            raise ValueError(
                f"expected max_nodes above the {num_actions} actions here, got {self.max_nodes}"
            )
        nodes = self.max_nodes
        if self.simulations is not None:
            nodes = 1 + (self.simulations + 1) * (num_actions + self.transpositions)
        position, self._position = self._position, None  # until this search has ended
        tree = None if self.transpositions else self._searchers[0].tree
        played = played_since(view, position, tree)
        solver = self.variant.solver if view.assumed is None else SOLVERS["off"]
        key = view.game.position_hash(view.root) if self.transpositions else 0
        for number, searcher in enumerate(self._searchers):
            if not searcher.go_on(played, key):
                searcher.clear()
                searcher.variant = with_memory(self.variant._replace(solver=solver), studied.game)
                if self._loaded is not None:
                    self._loaded.plant(searcher, number, view)
            elif played:  # lengths of games are counted from the root
                reward = self.variant.reward.with_memory(view.game)
                searcher.variant = cast("Variant", searcher.variant)._replace(reward=reward)
            if self.transpositions:
                searcher.make_graph(nodes, self.max_nodes)
            else:
                searcher.make_room(nodes, self.max_nodes)

    def _remember(self, view: View, chosen: int) -> None:
        """Note where the trees have their root, for the next move."""
        if view.actions is None:
            self._last = None
            position = Position(view.game, view.root, (chosen,))
        else:
            position = Position(view.game, base.clone(view.game, view.root), view.actions)
            self._last = position
        self._position = position if self.reuse else None

    # ---- files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tree of the last search to a file, for `load`.

        Raises:
            OSError: If the file cannot be written.
            ValueError: If there is no tree, or it is over a foreign environment, or a graph, or its
                selection looks at patterns.
        """
        self._check_can_be_kept()
        trees = [searcher.tree for searcher in self._searchers]
        if self.statistics is None:
            raise ValueError("expected a tree to save, got an agent that has not searched yet")
        if self._last is None or self.transpositions or any(tree is None for tree in trees):
            raise ValueError(
                "expected a tree of a search over a game of hexenv, without transpositions, to save"
            )
        game, root, actions = self._last
        save_trees(path, game, root, actions, self.variant, cast("list[Tree]", trees))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read a tree that an agent of the same kind has saved, to begin with it in every game.

        It is used in positions that the tree knows, and left alone elsewhere, as over foreign
        environments; what a policy has learnt besides the tree is not in the file. A tree of
        another game, or one with moves against the rules, is refused by the first `act`.

        Raises:
            OSError: If the file cannot be read.
            ValueError: If it is damaged, or of another variant or number of workers, or this agent
                searches graphs, or selects by patterns.
        """
        self._check_can_be_kept()
        if self.transpositions:
            raise ValueError("expected an agent without transpositions to load a tree")
        saved = load_trees(path, self.variant)
        expect(path, "number of workers", self.workers, len(saved.trees))
        self._loaded = LoadedTrees(saved, self.variant.selection)

    def _check_can_be_kept(self) -> None:
        if self._selects_by_patterns:
            raise ValueError("expected an agent whose selection does not look at patterns")

    # ---- the search ------------------------------------------------------------------------------

    def _run(self, view: View, searcher: Searcher) -> Run:
        """The search of one tree as a function of the number of simulations to run."""
        trees = (searcher.tree,) if searcher.graph is None else (searcher.tree, searcher.graph)
        arguments = (view.game, view.root, new_state_of(view), *trees, searcher.variant)
        run: Callable[..., int] = self._kernel().function
        if view.compiles and is_compiled(searcher.variant):
            run = self._code.of(self._kernel(), (*arguments, 0, searcher.rng))
        elif self.route == "compiled":
            raise ValueError(f'route "compiled" needs @compiled parts, got {self.variant}')

        def run_some(simulations: int) -> int:
            return run(*arguments, simulations, searcher.rng)

        return Run(run_some, cast("Tree", searcher.tree), view)

    def _kernel(self) -> CompiledFunction:
        """The search."""
        return graph.compiled_search_graph if self.transpositions else compiled_search

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_code": MachineCode(), "_solver": None}

    def _search(self, runs: Sequence[Run], started: float, in_threads: bool) -> int:
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

    def _spend_budget(
        self, run: Run, started: float, simulations: int | None, seconds: float | None
    ) -> int:
        """Search one tree until the budget is spent; returns the simulations run."""
        decided = partial(is_decided, run.tree) if self.early_stop else None
        is_watched = self.on_slice is not None and run.tree is self._searchers[0].tree
        show = partial(self._show, run) if is_watched else None
        return spend(run.search, started, simulations, seconds, self.batch, decided, show)

    def _show(self, run: Run, simulations: int, seconds: float) -> None:
        """Let whoever watches look at the first tree."""
        assert self.on_slice is not None
        line = self._searchers[0].line

        def found() -> Statistics:
            return root_statistics([run.tree], line(), run.view, simulations, seconds)

        self.on_slice(found)
