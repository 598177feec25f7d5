"""The agent around the search: budgets, the final move, statistics."""

import math
import operator
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from agents.agent import Statistics, check_in_play
from agents.search.foreign import View, check_route, new_state_of, planner_view
from agents.search.mcts import Variant, compiled_search, search
from agents.search.tree import ROOT, Tree, children, new_tree
from hexenv.compiled import is_compiled

DEFAULT_SIMULATIONS: Final = 1_000
FINAL_MOVES: Final = ("visits", "value", "lcb")


class TreeSearchAgent:
    """An agent that runs a variant of Monte-Carlo tree search and plays the best root action.

    The search starts from nothing for every move. One seed gives one tree, compiled or interpreted,
    and through the environment too where the playout is the generic one.

    Args:
        variant: The composition to run.
        simulations: Simulations a move; 1,000 where neither budget is given.
        seconds: Seconds a move, without the first compilation. With both, the first to end counts.
        final_move: ``"visits"``: the most visited action; ``"value"``: the one with the highest
            mean; ``"lcb"``: the one with the highest lower confidence bound on the mean.
        max_nodes: Bound on the tree; once it is full the search goes on without growing it. A node
            takes 36 bytes.
        route: How it plans; see `agents.search.foreign.planner_view`.
        seed: Of the random stream; None for an unforeseeable one.

    Attributes:
        statistics: Of the last search.

    Raises:
        ValueError: If a budget, a bound or a name is out of its range.
    """

    def __init__(
        self,
        variant: Variant,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
        final_move: str = "visits",
        max_nodes: int = 5_000_000,
        route: str = "auto",
        seed: int | None = None,
    ) -> None:
        if simulations is not None:
            simulations = _whole_number("simulations", simulations)
            if simulations < 1:
                raise ValueError(f"expected at least one simulation, got {simulations}")
        if seconds is not None and not 0 < seconds < math.inf:
            raise ValueError(f"expected a positive number of seconds, got {seconds}")
        if final_move not in FINAL_MOVES:
            raise ValueError(
                f"expected a final_move of {', '.join(FINAL_MOVES)}, got {final_move!r}"
            )
        max_nodes = _whole_number("max_nodes", max_nodes)
        if not 2 <= max_nodes < 2**31:
            raise ValueError(f"expected max_nodes from 2 to 2**31 - 1, got {max_nodes}")
        check_route(route)
        if simulations is None and seconds is None:
            simulations = DEFAULT_SIMULATIONS
        self.variant = variant
        self.simulations = simulations
        self.seconds = seconds
        self.final_move = final_move
        self.max_nodes = max_nodes
        self.route = route
        self.statistics: Statistics | None = None
        self._rng = np.random.default_rng(seed)
        self._tree: Tree | None = None

    def reset(self, seed: int | None = None) -> None:
        """Forget the last search; with a seed, start the random stream anew."""
        self.statistics = None
        if seed is not None:
            self._rng = np.random.default_rng(seed)

    def act(self, env: Any) -> int:
        """Search from the environment's position and choose an action; see `Agent.act`."""
        check_in_play(env)
        started = time.perf_counter()
        view = planner_view(env, self.route)
        tree = self._empty_tree(view)
        before_compiling = time.perf_counter()
        run = self._compiled_search(view, tree)
        started += time.perf_counter() - before_compiling
        simulations, seconds = self._spend_budget(run, started)
        self.statistics = root_statistics(tree, view.game.num_actions(), simulations, seconds)
        self._tree = tree
        return choose(tree, self.final_move)

    def prepare(self, env: Any) -> None:
        """Compile what `act` needs in such an environment, so that its first call does not."""
        view = planner_view(env, self.route)
        self._compiled_search(view, self._empty_tree(view))

    def _empty_tree(self, view: View) -> Tree:
        """The agent's tree, emptied; memory for it is kept between moves.

        It is taken out of the agent meanwhile: another thread that uses the agent gets its own.
        """
        num_actions = view.game.num_actions()
        if self.max_nodes <= num_actions:
            raise ValueError(
                f"expected max_nodes above the {num_actions} actions here, got {self.max_nodes}"
            )
        size = self.max_nodes
        if self.simulations is not None:
            size = min(size, 1 + (self.simulations + 1) * num_actions)
        tree: Tree | None = self.__dict__.pop("_tree", None)
        if tree is None or len(tree.action) < size:
            tree = new_tree(size)
        tree.node_count[0] = 0
        return tree

    def _compiled_search(self, view: View, tree: Tree) -> Callable[[int], None]:
        """The search as a function of the number of simulations to run."""
        arguments = (view.game, view.root, new_state_of(view), tree, self.variant)
        run: Callable[..., None] = search
        if view.compiles and is_compiled(self.variant):
            run = compiled_search.specialise(*arguments, 0, self._rng)
        elif self.route == "compiled":
            raise ValueError(f'route "compiled" needs @compiled parts, got {self.variant}')
        return lambda simulations: run(*arguments, simulations, self._rng)

    def _spend_budget(self, run: Callable[[int], None], started: float) -> tuple[int, float]:
        """Search in slices until the budget is spent; returns simulations and seconds."""
        limit = self.simulations if self.simulations is not None else 2**62
        deadline = self.seconds if self.seconds is not None else math.inf
        slice_seconds = 0.05 if self.seconds is None else 0.001

        done, elapsed, count = 0, 0.0, 1
        while done < limit and (done == 0 or elapsed < deadline):
            run(count)
            done += count
            elapsed = time.perf_counter() - started
            rate = done / max(elapsed, 1e-9)
            wanted = rate * min(slice_seconds, deadline - elapsed)
            count = max(1, min(int(wanted), 2 * count, limit - done))
        return done, elapsed

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tree": None}  # a workspace, not worth copying


def _whole_number(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"expected a whole number of {name}, got {value!r}") from None


def root_statistics(tree: Tree, num_actions: int, simulations: int, seconds: float) -> Statistics:
    """What the tree says of the root's actions."""
    root = children(tree, ROOT)
    visits = np.zeros(num_actions, np.int64)
    values = np.zeros(num_actions, np.float64)
    visits[tree.action[root]] = tree.visits[root]
    values[tree.action[root]] = np.where(tree.visits[root] > 0, 2 * tree.value[root] - 1, 0)
    line: list[int] = []
    node = ROOT
    while tree.child_count[node] > 0:
        node = best_child(tree, node, "visits")
        if tree.visits[node] == 0:
            break
        line.append(int(tree.action[node]))
    return Statistics(visits, values, line, simulations, seconds)


def choose(tree: Tree, final_move: str) -> int:
    """The root action to play."""
    return int(tree.action[best_child(tree, ROOT, final_move)])


def best_child(tree: Tree, node: int, final_move: str) -> int:
    """The best child by one of `FINAL_MOVES`; ties go to the value, then to the lower action."""
    below = children(tree, node)
    action, visits, value = tree.action[below], tree.visits[below], tree.value[below]
    if final_move == "value":
        merit = np.where(visits > 0, value, -1.0)
    elif final_move == "lcb":
        merit = np.where(visits > 0, wilson_interval(value, np.maximum(visits, 1))[0], -1.0)
    else:
        merit = visits
    return below.start + int(np.lexsort((-action, value, merit))[-1])


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
