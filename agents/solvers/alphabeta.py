"""Alpha-beta, the classic baseline: search to a fixed depth, and an evaluation there."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import OnSlice, SeededAgent, Statistics, with_assumption
from agents.core.budget import Pace
from agents.core.options import Seconds
from agents.planning.environment import View, check_in_play
from agents.planning.view import Assumption, Route, planner_view
from agents.search.evaluator import PolicyError, name_of, position_text, refuse
from agents.search.knowledge import Knowledge, NoKnowledge
from agents.solvers.depth_first import NODES, UNKNOWN, compiled_search, put_best_last, search
from hexenv.common.options import Within
from hexenv.compiled import announced, compiled, is_compiled
from hexenv.learners.policies import Stream

WIN: Final = 2.0
"""The value of a win; even minus the cost of its plies, it is above every evaluation."""
PLY_COST: Final = 2.0**-20
"""What each ply costs a win, so that an earlier win is better."""
MARGIN: Final = 2.0**-30
"""Root actions at most this much below the best one still get an exact value."""
LARGEST: Final = 2.0**19
"""Evaluations are cut off here: no score may be `UNKNOWN`."""
MOST_DEPTH: Final = 1_000
CUT: Final = 2
"""Where `control` has how many positions were evaluated instead of searched."""


class Evaluation(Protocol):
    """Evaluates positions in which the game goes on.

    One that needs arrays has a method ``with_memory(game)`` besides, which returns it with them.
    """

    def evaluate(self, game: Any, state: Any, player: int) -> float:
        """How good the position is for `player`: -1 (lost) to 1 (won). Others are refused."""
        ...


@compiled
class ZeroEvaluation(NamedTuple):
    """Every position has the value 0: the agent sees only wins and losses up to its depth."""

    unused: int = 0

    def evaluate(self, game: Any, state: Any, player: int) -> float:
        return 0.0


class FunctionEvaluation:
    """A plain function as an evaluation; it does not compile."""

    def __init__(self, function: Callable[[Any, Any, int], float]) -> None:
        self.function = function
        self.title = getattr(function, "__name__", "function")

    def evaluate(self, game: Any, state: Any, player: int) -> float:
        value = float(self.function(game, state, player))
        if not -1.0 <= value <= 1.0:
            where = position_text(game, state)
            raise PolicyError(f"{self.title}: expected a value from -1 to 1, got {value} ({where})")
        return value


@compiled
class AlphaBetaNodes(NamedTuple):
    """The nodes from the root to the current node; see `agents.solvers.depth_first.OpenNodes`.

    Arrays have a row for each depth.
    """

    game: Any
    evaluation: Any
    knowledge: Any
    """Lists the actions of a position in reverse order: the last one is tried first."""
    states: Any
    """The positions, the root's first."""
    rng: Stream
    """Fixed: candidates of alpha-beta are not random."""
    alpha: NDArray[np.float64]
    """A lower bound on the value for the player to move."""
    beta: NDArray[np.float64]
    """An upper bound: the other player would avoid a higher value."""
    best: NDArray[np.float64]
    left: NDArray[np.int64]
    """The number of actions that are not tried yet."""
    actions: NDArray[np.int32]
    """``(depths, num_actions)``: the actions in reverse order: the last one is tried first."""
    scores: NDArray[np.float64]
    """``(num_actions,)``: the value of each root action; an action worse than the best one
    has only an upper bound. A search begins with those of the last one, and tries the best action
    of that first."""
    control: NDArray[np.int64]
    """``(3,)``: the current depth, the number of opened nodes, and what is at `CUT`."""
    max_depth: int = 1
    """How many plies to look ahead."""

    def open_node(self, depth: int) -> float:
        self.control[NODES] += 1
        game, state = self.game, self.states[depth]
        at_the_end = game.is_terminal(state)
        if not at_the_end and depth < self.max_depth:
            actions = self.actions[depth]
            self.left[depth] = self.knowledge.list_actions(game, state, self.rng, actions)
            self.best[depth] = -np.inf
            if depth == 0:
                put_best_last(actions, int(self.left[0]), self.scores)
                self.scores[:] = -np.inf
            return UNKNOWN
        player = game.to_play(state)
        if at_the_end:
            return float(game.outcome(state, player)) * (WIN - depth * PLY_COST)
        self.control[CUT] += 1
        value = float(self.evaluation.evaluate(game, state, player))
        return min(max(value, -LARGEST), LARGEST)

    def open_child(self, depth: int) -> None:
        game, states = self.game, self.states
        left = int(self.left[depth]) - 1
        self.left[depth] = left
        game.copy(states[depth], states[depth + 1])
        game.step(states[depth + 1], int(self.actions[depth, left]))
        beta = self.beta[depth]
        best = self.best[depth]
        if depth == 0:
            best -= MARGIN  # actions as good as the best one get an exact value, not a bound
        alpha = max(self.alpha[depth], best)
        if game.to_play(states[depth + 1]) == game.to_play(states[depth]):
            self.alpha[depth + 1], self.beta[depth + 1] = alpha, beta
        else:
            self.alpha[depth + 1], self.beta[depth + 1] = -beta, -alpha

    def close_child(self, depth: int, score: float) -> float:
        game, states = self.game, self.states
        is_mine = game.to_play(states[depth + 1]) == game.to_play(states[depth])
        score = score if is_mine else -score
        if depth == 0:
            self.scores[self.actions[0, self.left[0]]] = score
        best = max(score, self.best[depth])
        self.best[depth] = best
        return UNKNOWN if best < self.beta[depth] and self.left[depth] > 0 else best


def new_nodes(game: Any, evaluation: Any, knowledge: Any, states: Any) -> AlphaBetaNodes:
    """The arrays of a search; `states` has one position more than the search can look ahead."""
    rows, num_actions = len(states), game.num_actions()
    nodes = AlphaBetaNodes(
        game,
        evaluation,
        knowledge,
        states,
        Stream(np.ones(1, np.uint64), 0),
        *(np.zeros(rows) for _ in range(3)),
        left=np.zeros(rows, np.int64),
        actions=np.zeros((rows, num_actions), np.int32),
        scores=np.zeros(num_actions),
        control=np.zeros(3, np.int64),
    )
    nodes.alpha[0], nodes.beta[0] = -np.inf, np.inf
    return nodes


class AlphaBeta(SeededAgent):
    r"""Looks some plies ahead, plays the best action, and chooses at random among equal ones.

    Alpha-beta (Knuth and Moore 1975) without a table. An early win is better than a late one; a
    late loss is better than an early one.

    Formula:
        $$v_d(s) = \max_a\, -v_{d-1}(s_a) \qquad v_0(s) = \mathit{evaluation}(s)$$

        $s_a$ is the position after the action $a$; values are those for the player to move. The
        value of an end is the same at any depth $d$, but an earlier win has a greater one.

    Sources:
        Knuth and Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6, 1975.

    Args:
        depth: Plies to look ahead, at least 1; by default 4, or as many as there is time for.
        evaluation: Evaluates the positions at that depth: a value under `@compiled` with a method
            ``evaluate(game, state, player)``, or a function of these, which is not compiled; from
            -1, `player` has lost, to 1. By default all have the value 0. (Over an environment that
            is not one of ours `state` is an `agents.planning.foreign.ForeignState`.)
        seconds: Seconds per move: it searches 1 ply deep, then 2, and so on, each time the best
            action of the last search first. When the time is over, it plays the best of the actions
            that were searched deepest.
        route: How it plans; see `agents.planning.view.planner_view`.
        seed: Of the random stream; None: a different one each time.
        assume: What to assume although the environment does not have it; see `route`.

    Attributes:
        statistics: Of the last move: `values` has what the search saw of each legal action
            (`visits` is 1 there), exactly so for the best ones and an upper bound for the others;
            `proven` the outcome if a win or loss was seen, or the search came to the ends of all
            games; `simulations` counts positions.
        on_slice: As in `agents.mcts.tree_search.TreeSearchAgent`.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name = "alphabeta"
    usual_depth: ClassVar[int] = 4  # where neither depth nor seconds are given

    def __init__(
        self,
        depth: Annotated[int | None, Within(1, MOST_DEPTH)] = None,
        evaluation: Evaluation | Callable[[Any, Any, int], float] | None = None,
        seconds: Seconds = None,
        route: Route = "auto",
        seed: int | None = None,
        assume: Assumption = None,
    ) -> None:
        self.depth = depth
        self.on_slice: OnSlice | None = None
        super().__init__(seed)
        self.seconds = seconds
        self.evaluation = None if evaluation is None else _as_evaluation(evaluation)
        self.route = route
        self.assume = assume

    @property
    def most_depth(self) -> int:
        """Plies to look ahead, if there is time for them."""
        usual = self.usual_depth if self.seconds is None else MOST_DEPTH
        return usual if self.depth is None else self.depth

    @property
    def tries_all(self) -> bool:
        """Whether all moves are tried, so that a win or a loss that is seen is proven."""
        return True

    @announced
    def prepare(self, env: Any) -> None:
        view = planner_view(env, self.route, self.assume)
        self._search_function(view, self._nodes(view))

    def _nodes(self, view: View) -> AlphaBetaNodes:
        states = view.new_states(min(self.most_depth, view.game.max_plies()) + 1)
        view.game.copy(view.root, states[0])
        evaluation: Evaluation = ZeroEvaluation() if self.evaluation is None else self.evaluation
        candidates: Knowledge = NoKnowledge().with_memory(view.game)
        if hasattr(evaluation, "with_memory"):
            evaluation = cast("Any", evaluation).with_memory(view.game)
        return new_nodes(view.game, evaluation, candidates, states)

    def _search_function(
        self, view: View, nodes: AlphaBetaNodes
    ) -> Callable[[AlphaBetaNodes, int], float]:
        if view.compiles and is_compiled(nodes.evaluation):
            return compiled_search.specialise(nodes, 1)
        if self.route == "compiled":
            raise ValueError(
                f'route "compiled" needs an evaluation under @compiled, got {nodes.evaluation}'
            )
        return search

    @announced
    def act(self, env: Any) -> int:
        view = planner_view(env, self.route, self.assume)
        check_in_play(env)
        started = time.perf_counter()
        nodes = self._nodes(view)
        before_compiling = time.perf_counter()
        run = self._search_function(view, nodes)
        started += time.perf_counter() - before_compiling
        show = None if self.on_slice is None else partial(self._show, view.assumed, started)
        seen = self._deepen(run, nodes, started, show)
        best = seen.best
        action = int(best[int(self._rng.random() * len(best))])
        self.statistics = self._statistics(seen, action, view.assumed, started)
        return action

    def _statistics(
        self, seen: "Seen", action: int, assumed: str | None, started: float
    ) -> Statistics:
        found = seen.statistics(action, time.perf_counter() - started, self.tries_all)
        return with_assumption(found, assumed)

    def _show(self, assumed: str | None, started: float, seen: "Seen") -> None:
        """Call `on_slice` with a function that gives the statistics so far."""
        if self.on_slice is not None and len(seen.best) > 0:
            self.on_slice(lambda: self._statistics(seen, int(seen.best[0]), assumed, started))

    def _deepen(
        self,
        run: Callable[[AlphaBetaNodes, int], float],
        nodes: AlphaBetaNodes,
        started: float,
        show: Callable[["Seen"], None] | None = None,
    ) -> "Seen":
        """Search to the depth; with a time limit, one ply deeper each time until it is over.

        `show` is called now and then with what was seen so far.
        """
        max_depth = len(nodes.best) - 1
        pace = Pace(started, self.seconds)
        scores = np.full(len(nodes.scores), -np.inf)
        deepest = np.zeros(len(scores), np.bool_)
        outcome: int | None = None
        reached = 0
        for depth in range(1 if self.seconds is not None else max_depth, max_depth + 1):
            nodes.control[:] = 0
            searched, found = nodes._replace(max_depth=depth), UNKNOWN
            while found == UNKNOWN and not (pace.is_over and scores.max() > -np.inf):
                before = int(nodes.control[NODES])
                found = run(searched, pace.size)
                refuse_scores(nodes, depth)
                pace.count(int(nodes.control[NODES]) - before)
                tried = nodes.scores > -np.inf
                if tried.any():
                    deepest, reached = tried, depth
                    scores[tried] = nodes.scores[tried]
                if show is not None:
                    show(Seen(scores, deepest, outcome, pace.done, reached))
            best = float(scores.max())
            if best > 1 or (found != UNKNOWN and (best < -1 or nodes.control[CUT] == 0)):
                outcome = (best > 1) - (best < -1)
            if outcome is not None or found == UNKNOWN:
                break
        return Seen(scores, deepest, outcome, pace.done, reached)


class Seen(NamedTuple):
    """What a search has seen of the root."""

    scores: NDArray[np.float64]
    """``(num_actions,)``: of each action, -inf where it was not tried."""
    deepest: NDArray[np.bool_]
    """``(num_actions,)``: the actions that were searched deepest before the time was over."""
    outcome: int | None
    """Of the position, if it is known among the moves that are looked at."""
    nodes: int
    depth: int

    @property
    def best(self) -> NDArray[np.int64]:
        """The best actions: of the deepest, or of all if these are found to lose."""
        is_lost = self.scores[self.deepest].max(initial=-np.inf) < -1
        candidates = self.scores > -np.inf if is_lost else self.deepest
        highest = self.scores[candidates].max(initial=-np.inf)
        return np.flatnonzero(candidates & (self.scores == highest))

    def statistics(self, action: int, seconds: float, tries_all: bool) -> Statistics:
        """All this as `Statistics`; if moves were left out, nothing counts as proven."""
        tried = self.scores > -np.inf
        values = np.where(tried, np.clip(self.scores, -1, 1) + 0.0, 0.0)  # no -0
        visits, depth = tried.astype(np.int64), self.depth
        found = Statistics(visits, values, [action], self.nodes, seconds, depth=depth)
        if not tries_all:
            return found
        wins = self.scores >= max(float(self.scores.max()) - MARGIN, 1 + MARGIN)
        exact = np.flatnonzero(tried & (wins | (self.scores < -1)))
        return replace(found, proven=self.outcome, proven_actions=exact.tolist())


def refuse_scores(nodes: AlphaBetaNodes, depth: int) -> None:
    """Refuse values of root actions that are of no evaluation, win or loss."""
    scores, sizes = nodes.scores, np.abs(nodes.scores)
    won = (sizes >= WIN - depth * PLY_COST) & (sizes <= WIN)
    wrong = ~(won | (sizes <= 1.0) | np.isneginf(scores))
    refuse(wrong, f"{name_of(nodes.evaluation)}: expected evaluations from -1 to 1", scores)


def _as_evaluation(evaluation: Any) -> Evaluation:
    """The evaluation that was given, or the function wrapped as an evaluation."""
    if callable(getattr(evaluation, "evaluate", None)):
        return evaluation
    if callable(evaluation):
        return FunctionEvaluation(cast("Callable[[Any, Any, int], float]", evaluation))
    raise ValueError(f"expected an evaluation or a function, got {evaluation!r}")
