"""The agent around the search: budgets, trees between moves, the final move, statistics."""

import math
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from agents.agent import Statistics, check_in_play
from agents.gomoku.evaluation import SCALE
from agents.gomoku.knowledge import FourThreats
from agents.gomoku.minimax import ImplicitMinimax
from agents.gomoku.opening_play import colours_view, opening_action
from agents.gomoku.view import pattern_view
from agents.options import check_budget, expect_one_of, number_within, whole_number_within
from agents.saved import SavedTrees, check_rules, expect, load_trees, save_trees
from agents.search import graph
from agents.search.foreign import View, check_route, new_state_of, planner_view
from agents.search.graph import Graph
from agents.search.mcts import Variant, compiled_search, with_memory
from agents.search.puct import EvaluatedExtras
from agents.search.solver import SOLVERS
from agents.search.tree import (
    ROOT,
    UNPROVEN,
    Tree,
    child_by_action,
    children,
    copy_nodes,
    keep_subtree,
    new_tree,
)
from agents.threats import ThreatSolver
from hexenv.compiled import CompiledFunction, is_compiled
from hexenv.games import base
from hexenv.games.openings import is_opening

FINAL_MOVES: Final = ("visits", "value", "lcb")
THREAT_SHARE: Final = 0.2
"""How much of its time an agent looks for wins by threats before it searches."""
THREAT_DEPTH: Final = 12
THREAT_NODES: Final = 20_000
CHECKS: Final = 32
"""How often in a search `early_stop` looks whether the choice can still change."""


class SearchOptions(TypedDict, total=False):
    """The options of every tree search; see `TreeSearchAgent`."""

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


class Searcher:
    """A tree, a stream of random numbers and the memory of a variant: one worker of an agent."""

    def __init__(self, seed: np.random.SeedSequence | int | None) -> None:
        self.rng = np.random.default_rng(seed)
        self.tree: Tree | None = None
        self.graph: Graph | None = None
        self.variant: Variant | None = None

    def go_on(self, played: Sequence[int] | None, key: int) -> bool:
        """Make the position after some actions the root, if it has been searched.

        Args:
            played: The actions from the root to the position; None if there is no way.
            key: The position's hash.
        """
        if self.tree is None or played is None or self.variant is None:
            return False
        if self.graph is not None:
            return graph.make_root(self.tree, self.graph, key)
        return go_down(self.tree, played)

    def clear(self) -> None:
        """Forget all that was searched; the arrays stay, to be used again."""
        if self.tree is not None:
            self.tree.node_count[0] = 0
        if self.tree is not None and self.graph is not None:
            graph.clear(self.tree, self.graph)

    def make_room(self, nodes: int, most: int) -> None:
        """See that the tree can grow by so many nodes, but not beyond `most`."""
        variant = cast("Variant", self.variant)
        used = 0 if self.tree is None else int(self.tree.node_count[0])
        size = min(most, used + nodes)
        if self.tree is None or len(self.tree.action) < size:
            larger = new_tree(size, variant.selection.new_extras(size))
            if self.tree is not None:
                copy_nodes(self.tree, larger)
            self.tree = larger

    def make_graph(self, nodes: int, most: int) -> None:
        """See that there is a graph with room for so many nodes; else start with an empty one.

        Where `most` allows no more, half of it has to be free.
        """
        used = 0 if self.tree is None else int(self.tree.node_count[0])
        if self.graph is None or len(self.graph.target) - used < min(nodes, most // 2):
            self.tree, size = None, min(most, 4 * nodes)
            self.make_room(size, most)
            self.graph = graph.new_graph(size)

    def __getstate__(self) -> dict[str, Any]:
        tree = self.tree
        if self.variant is None:  # after `reset`, what is in the tree is of no use
            return {**self.__dict__, "tree": None, "graph": None}
        if tree is not None and self.graph is None:  # a copy needs no room to grow
            count = max(int(tree.node_count[0]), 1)
            extras = self.variant.selection.new_extras(count)
            copy_nodes(tree, trimmed := new_tree(count, extras))
            tree = trimmed
        return {**self.__dict__, "tree": tree}


class Position(NamedTuple):
    """Where the trees of an agent have their root."""

    game: Any
    root: Any
    actions: tuple[int, ...]
    """That led there from the start; over a foreign environment only the one then chosen."""


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
            ``"off"``; see `agents.search.solver.SOLVERS`.
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
            (fours); see `agents.threats`.
        implicit_minimax: There as well: how much of a child's mean, 0 to 1, is replaced by the
            minimax value of the board evaluation; see `agents.gomoku.minimax`.
        route: How it plans; see `agents.search.foreign.planner_view`.
        seed: Of the random stream; None for an unforeseeable one.

    Attributes:
        statistics: Of the last search.

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
    ) -> None:
        simulations, seconds = check_budget(simulations, seconds)
        expect_one_of("final_move", final_move, FINAL_MOVES)
        expect_one_of("solver", solver, SOLVERS)
        check_route(route)
        if early_stop and (workers != 1 or final_move != "visits"):
            raise ValueError(
                f'expected early_stop with one worker and final_move "visits", got {workers} and '
                f'"{final_move}"'
            )
        self.variant = variant._replace(solver=SOLVERS[solver])
        self.threats = threats
        if threats:
            self.variant = self.variant._replace(knowledge=FourThreats())
        share = number_within("implicit_minimax", implicit_minimax, 0.0, 1.0)
        if share > 0.0:
            scale = getattr(self.variant.selection, "scale", SCALE)
            selection: Any = ImplicitMinimax(self.variant.selection, share, scale)
            self.variant = self.variant._replace(selection=selection)
        self._selects_by_patterns = share > 0.0
        self._sees_patterns = threats or share > 0.0
        self.simulations = simulations
        self.seconds = seconds
        self.final_move = final_move
        self.early_stop = early_stop
        self.reuse = reuse
        self.transpositions = transpositions
        if transpositions and variant.reward.needs_moves():
            raise ValueError(
                "expected a reward that counts no plies with transpositions, got "
                f"{type(variant.reward).__name__}"
            )
        if transpositions and self.variant.selection.new_extras(1) != ():
            raise ValueError(
                "expected a selection rule that keeps nothing of its own with transpositions, got "
                f"{type(self.variant.selection).__name__}"
            )
        self.workers = whole_number_within("workers", workers, 1, 1024)
        if simulations is not None and simulations < self.workers:
            raise ValueError(
                f"expected a simulation for each of {self.workers} workers, got {simulations}"
            )
        self.max_nodes = whole_number_within("max_nodes", max_nodes, 2, 2**31 - 1)
        self.route = route
        self.statistics: Statistics | None = None
        self._book: SavedTrees | None = None
        self._book_at: Position | None = None
        self._known_code: dict[tuple[type, ...], Callable[..., int]] = {}
        self._solver: ThreatSolver | None = None
        self._start_anew(seed)

    def _start_anew(self, seed: int | None) -> None:
        seeds: Sequence[Any] = [seed]
        if self.workers > 1:
            seeds = np.random.SeedSequence(seed).spawn(self.workers)
        self._searchers = [Searcher(seed) for seed in seeds]
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
        check_in_play(env)
        plain = planner_view(env, self.route)
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
        lines = [
            principal_variation(tree, None if searcher.graph is None else searcher.graph.target)
            for tree, searcher in zip(trees, self._searchers, strict=True)
        ]
        line, seconds = max(lines, key=len), time.perf_counter() - started
        self.statistics = root_statistics(
            trees, line, view.game.num_actions(), simulations, seconds
        )
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
        visits = np.zeros(view.game.num_actions(), np.int64)
        values = np.zeros(view.game.num_actions())
        visits[line[0]], values[line[0]] = 1, 1.0
        self.statistics = Statistics(visits, values, line, 0, seconds, proven=1)
        self._position = None
        return line[0]

    def _choose(self, view: View, trees: Sequence[Tree]) -> int:
        """The action to play, after a search."""
        return choose(trees, self.final_move)

    def prepare(self, env: Any) -> None:
        """Compile what `act` needs in such an environment, so that its first call does not."""
        plain = planner_view(env, self.route)
        if self._sees_patterns and is_opening(plain.game, plain.root):
            plain = colours_view(plain)
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
        played = self._played_since(view, position)
        key = view.game.position_hash(view.root) if self.transpositions else 0
        for number, searcher in enumerate(self._searchers):
            if not searcher.go_on(played, key):
                searcher.clear()
                searcher.variant = with_memory(self.variant, studied.game)
                self._open_book(searcher, number, view)
            elif played:  # lengths of games are counted from the root
                reward = self.variant.reward.with_memory(view.game)
                searcher.variant = cast("Variant", searcher.variant)._replace(reward=reward)
            if self.transpositions:
                searcher.make_graph(nodes, self.max_nodes)
            else:
                searcher.make_room(nodes, self.max_nodes)

    def _played_since(self, view: View, last: "Position | None") -> tuple[int, ...] | None:
        """The actions from a position to that of the view; None if there is no way."""
        if last is None or type(last.game) is not type(view.game):
            return None
        if view.actions is None:
            return self._found_since(view, last)
        if last.game != view.game or view.actions[: len(last.actions)] != last.actions:
            return None
        played = view.actions[len(last.actions) :]
        state = base.clone(view.game, last.root)
        for action in played:
            view.game.step(state, action)
        same = view.game.position_hash(state) == view.game.position_hash(view.root)
        return played if same and state.ply == view.root.ply else None

    def _found_since(self, view: View, last: "Position") -> tuple[int, ...] | None:
        """The same over an environment that does not tell: what was chosen, and a reply to it.

        It is found by trying, the most visited replies first, whichever leads to what is shown.
        """
        tree = self._searchers[0].tree
        chosen = last.actions[-1]
        node = None if tree is None else child_by_action(tree, ROOT, chosen)
        if tree is None or node is None or self.transpositions:
            return None
        below = children(tree, node)
        order = np.argsort(-tree.visits[below])
        replies = tree.action[below][order][tree.visits[below][order] > 0]
        key = view.game.position_hash(view.root)
        state = new_state_of(view)
        for played in ((), (chosen,), *((chosen, int(reply)) for reply in replies)):
            view.game.copy(last.root, state)
            for action in played:
                view.game.step(state, action)
            if view.game.position_hash(state) == key:
                return played
        return None

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
        self._book, self._book_at = saved, None

    def _check_can_be_kept(self) -> None:
        if self._selects_by_patterns:
            raise ValueError("expected an agent whose selection does not look at patterns")

    def _open_book(self, searcher: Searcher, number: int, view: View) -> None:
        """Begin with the loaded tree, where it knows the position.

        Raises:
            ValueError: If it is of another game, or breaks its rules.
        """
        book = self._book
        if book is None or view.actions is None:
            return
        if self._book_at is None or self._book_at.game != view.game:
            root = check_rules(book, view.game, self.variant.selection, view.compiles)
            self._book_at = Position(view.game, root, book.actions)
        played = self._played_since(view, self._book_at)
        if played is not None:
            variant = cast("Variant", searcher.variant)
            source = book.trees[number]
            size = int(source.node_count[0])
            searcher.tree = new_tree(size, variant.selection.new_extras(size))
            copy_nodes(source, searcher.tree)
            if not go_down(searcher.tree, played):
                searcher.clear()

    # ---- the search ------------------------------------------------------------------------------

    def _run(self, view: View, searcher: Searcher) -> "Run":
        """The search of one tree as a function of the number of simulations to run."""
        trees = (searcher.tree,) if searcher.graph is None else (searcher.tree, searcher.graph)
        arguments = (view.game, view.root, new_state_of(view), *trees, searcher.variant)
        run: Callable[..., int] = self._kernel().function
        if view.compiles and is_compiled(searcher.variant):
            run = self._machine_code((*arguments, 0, searcher.rng))
        elif self.route == "compiled":
            raise ValueError(f'route "compiled" needs @compiled parts, got {self.variant}')

        def run_some(simulations: int) -> int:
            return run(*arguments, simulations, searcher.rng)

        return Run(run_some, cast("Tree", searcher.tree))

    def _kernel(self) -> CompiledFunction:
        """The search."""
        return graph.compiled_search_graph if self.transpositions else compiled_search

    def _machine_code(self, arguments: tuple[Any, ...]) -> Callable[..., int]:
        """The compiled search. Looking all types up takes longer than a short search."""
        game = cast("tuple[Any, ...]", arguments[0])
        kinds = (type(game), *map(type, game))  # the rest depends on these alone, if they are plain
        if kinds not in self._known_code:
            run = self._kernel().specialise(*arguments)
            if not {bool, int, float, str}.issuperset(kinds[1:]):
                return run
            self._known_code[kinds] = run
        return self._known_code[kinds]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known_code": {}, "_solver": None}

    def _search(self, runs: Sequence["Run"], started: float, in_threads: bool) -> int:
        """Spend the budget on all trees; returns the simulations run."""
        count = len(runs)
        if count == 1:
            return self._spend_budget(runs[0], started, self.simulations, self.seconds)
        shares: list[int | None] = [None] * count
        if self.simulations is not None:
            upto = [self.simulations * number // count for number in range(count + 1)]
            shares = [end - start for start, end in pairwise(upto)]
        if in_threads:
            arguments = (runs, [started] * count, shares, [self.seconds] * count)
            with ThreadPoolExecutor(count) as pool:
                return sum(pool.map(self._spend_budget, *arguments))
        seconds = None if self.seconds is None else self.seconds / count
        return sum(
            self._spend_budget(run, time.perf_counter(), share, seconds)
            for run, share in zip(runs, shares, strict=True)
        )

    def _spend_budget(
        self, run: "Run", started: float, simulations: int | None, seconds: float | None
    ) -> int:
        """Search in slices until the budget is spent; returns the simulations run."""
        limit = 2**62 if simulations is None else simulations
        deadline = math.inf if seconds is None else seconds
        slice_seconds = 0.05 if seconds is None else 0.001
        done, elapsed, count = 0, 0.0, min(self.batch, limit)
        while done < limit and (done == 0 or elapsed < deadline):
            ran = run.search(count)
            done += ran
            if ran < count:  # proven
                break
            elapsed = time.perf_counter() - started
            rate = done / max(elapsed, 1e-9)
            wanted = int(rate * min(slice_seconds, deadline - elapsed))
            if self.early_stop:
                left = min(limit - done, int(rate * min(deadline - elapsed, 1e9)))
                if is_decided(run.tree, left):
                    break
                if seconds is None:  # at fixed counts, for the same result on every machine
                    wanted = max(limit // CHECKS, 1)
            count = min(max(self.batch, min(wanted, 2 * count)), limit - done)
        return done


class Run(NamedTuple):
    """The search of one tree."""

    search: Callable[[int], int]
    """Runs so many simulations; returns how many it ran."""
    tree: Tree


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


def is_decided(tree: Tree, simulations: int) -> bool:
    """Whether the most visited action stays so, whatever so many simulations bring.

    Proven losses are not played, as long as there is something else.
    """
    below = children(tree, ROOT)
    visits = np.sort(tree.visits[below][tree.proof[below] != -1])
    return len(visits) < 2 or bool(visits[-1] - visits[-2] > simulations)


# ---- what the trees say --------------------------------------------------------------------------


class RootActions(NamedTuple):
    """What the trees of a search say together of the root's actions, in ascending order."""

    actions: NDArray[np.int32]
    visits: NDArray[np.int64]
    value: NDArray[np.float64]
    """Mean reward, 0 to 1, for the player to move; 0 where there was no visit."""
    proof: NDArray[np.int8]


def root_actions(trees: Sequence[Tree]) -> RootActions:
    """Add up the roots of trees over the same position."""
    every = [children(tree, ROOT) for tree in trees]
    orders = [np.argsort(tree.action[below]) for tree, below in zip(trees, every, strict=True)]

    def stacked(name: str) -> NDArray[Any]:
        found = zip(trees, every, orders, strict=True)
        return np.stack([getattr(tree, name)[below][order] for tree, below, order in found])

    visits = stacked("visits").astype(np.int64)
    total = visits.sum(axis=0)
    value = (stacked("value") * visits).sum(axis=0) / np.maximum(total, 1)
    if len(trees) == 1:
        value = np.where(total > 0, stacked("value")[0], 0)
    proofs = stacked("proof")
    known = np.where(proofs == UNPROVEN, -2, proofs).max(axis=0)
    proof = np.where(known == -2, UNPROVEN, known).astype(np.int8)
    return RootActions(stacked("action")[0], total, value, proof)


def root_statistics(
    trees: Sequence[Tree], line: list[int], num_actions: int, simulations: int, seconds: float
) -> Statistics:
    """What the trees say of the root's actions, beside the best line from there."""
    root = root_actions(trees)
    visits = np.zeros(num_actions, np.int64)
    values = np.zeros(num_actions, np.float64)
    visits[root.actions] = root.visits
    values[root.actions] = np.where(root.visits > 0, 2 * root.value - 1, 0)
    known = root.proof != UNPROVEN
    values[root.actions[known]] = root.proof[known]
    proven = None
    if (root.proof == 1).any() or (root.proof != UNPROVEN).all():
        proven = int(np.where(root.proof == UNPROVEN, -1, root.proof).max())
    return Statistics(
        visits, values, line, simulations, seconds, proven, root_priors(trees, num_actions)
    )


def root_priors(trees: Sequence[Tree], num_actions: int) -> NDArray[np.float64] | None:
    """The evaluator's priors of the root's actions, as `Statistics` has them."""
    if not isinstance(trees[0].extras, EvaluatedExtras):
        return None
    priors = np.zeros(num_actions, np.float64)
    for tree in trees:
        below = children(tree, ROOT)
        priors[tree.action[below]] += tree.extras.prior[below] / len(trees)
    return priors


def principal_variation(tree: Tree, target: NDArray[np.int32] | None = None) -> list[int]:
    """The line of the most visited actions from the root.

    Args:
        tree: The tree.
        target: Of a graph: where each edge leads, `agents.search.graph.Graph.target`.
    """
    line: list[int] = []
    node = ROOT
    while tree.child_count[node] > 0:
        below = children(tree, node)
        found = RootActions(
            tree.action[below],
            tree.visits[below].astype(np.int64),
            tree.value[below],
            tree.proof[below],
        )
        node = below.start + best_of(found, "visits")
        if tree.visits[node] == 0:
            break
        line.append(int(tree.action[node]))
        if target is not None:
            node = int(target[node])
            if node == graph.NOWHERE:
                break
    return line


def choose(trees: Sequence[Tree], final_move: str) -> int:
    """The root action to play."""
    root = root_actions(trees)
    return int(root.actions[best_of(root, final_move)])


def best_of(root: RootActions, final_move: str) -> int:
    """The best action by one of `FINAL_MOVES`; ties go to the value, then to the lower action.

    Among proven losses only, the same rule chooses: by visits, the one that was hardest to refute.
    """
    if final_move == "value":
        merit = np.where(root.visits > 0, root.value, -1.0)
    elif final_move == "lcb":
        lower = wilson_interval(np.clip(root.value, 0, 1), np.maximum(root.visits, 1))[0]
        merit = np.where(root.visits > 0, lower, -1.0)
    else:
        merit = root.visits
    proven = np.where(np.abs(root.proof) == 1, root.proof, 0)
    if (root.proof != UNPROVEN).all():
        proven = root.proof  # a draw is the best there is
    return int(np.lexsort((-root.actions, root.value, merit, proven))[-1])


def wilson_interval(mean: Any, count: Any, z: float = 1.96) -> tuple[Any, Any]:
    """Confidence interval of a mean of numbers in [0, 1] (Wilson 1927); 95 % by default.

    Args:
        mean: The mean, a number or an array.
        count: Of how many.
        z: Quantile of the normal distribution.

    Returns:
        Lower and upper end.
    """
    centre = mean + z * z / (2 * count)
    half = z * np.sqrt(mean * (1 - mean) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return np.maximum((centre - half) / scale, 0.0), np.minimum((centre + half) / scale, 1.0)
