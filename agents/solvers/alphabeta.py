"""Alpha-beta with an evaluation of the positions at its depth: the classic baseline."""

import math
import operator
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import SeededAgent, Statistics, marked
from agents.core.knowledge import knowledge_of
from agents.core.options import check_budget
from agents.search.environment import View, check_in_play, check_route, planner_view
from agents.search.knowledge import Knowledge, NoKnowledge
from hexenv.compiled import CompiledFunction, compiled, is_compiled, kernel

WIN: Final = 2.0
"""The worth of a win; less what its plies cost it stays above every evaluation."""
PLY_COST: Final = 2.0**-20
"""What each ply costs a win: the sooner one is better."""
MARGIN: Final = 2.0**-30
"""How far below the best action of the root others are still told apart."""
MOST_DEPTH: Final = 1_000
MOST_DEEPENED: Final = 40
"""How deep it looks where only the time is given."""


class Evaluation(Protocol):
    """Judges positions in which the game goes on."""

    def evaluate(self, game: Any, state: Any, player: int) -> float:
        """How good the position is for `player`: -1 (lost) to 1 (won)."""
        ...


@compiled
class NoOpinion(NamedTuple):
    """All positions are worth the same: the agent sees wins and losses up to its depth, no more."""

    unused: int = 0

    def evaluate(self, game: Any, state: Any, player: int) -> float:
        return 0.0


class Judge:
    """A plain function as an evaluation; it does not compile.

    Args:
        function: Called with the game, the position and the player.
    """

    def __init__(self, function: Callable[[Any, Any, int], float]) -> None:
        self.function = function

    def evaluate(self, game: Any, state: Any, player: int) -> float:
        """What the function says."""
        return float(self.function(game, state, player))


class Stack(NamedTuple):
    """The nodes from the root to where the search is, a row each."""

    alpha: NDArray[np.float64]
    """The least that the player to move is sure of."""
    beta: NDArray[np.float64]
    """What the other player would not let happen."""
    best: NDArray[np.float64]
    left: NDArray[np.int64]
    """How many actions are still to be tried."""
    actions: NDArray[np.int32]
    """``(depths, num_actions)``: the actions, the one to try next last."""
    scores: NDArray[np.float64]
    """``(num_actions,)``: what each action of the root is worth; if less than the best, at most."""


def new_stack(depth: int, num_actions: int) -> Stack:
    """A stack for a search to this depth."""
    rows = depth + 1
    return Stack(
        *(np.zeros(rows) for _ in range(3)),
        left=np.zeros(rows, np.int64),
        actions=np.zeros((rows, num_actions), np.int32),
        scores=np.zeros(num_actions),
    )


@kernel
def judge(game: Any, evaluation: Any, state: Any, at_the_end: bool, depth: int) -> float:
    """The worth of a leaf for the player to move."""
    player = game.to_play(state)
    if at_the_end:
        return float(game.outcome(state, player)) * (WIN - depth * PLY_COST)
    return float(evaluation.evaluate(game, state, player))


@kernel
def open_child(game: Any, states: Any, stack: Stack, depth: int) -> None:
    """Go on to the next action of a node, with the window as its player sees it."""
    left = int(stack.left[depth]) - 1
    stack.left[depth] = left
    game.copy(states[depth], states[depth + 1])
    game.step(states[depth + 1], int(stack.actions[depth, left]))
    alpha, beta = stack.alpha[depth], stack.beta[depth]
    best = stack.best[depth]
    if depth == 0:
        best -= MARGIN  # so that actions as good as the best one are seen to be so
    alpha = max(alpha, best)
    if game.to_play(states[depth + 1]) == game.to_play(states[depth]):
        stack.alpha[depth + 1], stack.beta[depth + 1] = alpha, beta
    else:
        stack.alpha[depth + 1], stack.beta[depth + 1] = -beta, -alpha


@kernel
def back_up(game: Any, states: Any, stack: Stack, depth: int, worth: float) -> int:
    """Tell the nodes above a leaf its worth; returns the depth of the first that has to go on."""
    while depth > 0:
        is_mine = game.to_play(states[depth]) == game.to_play(states[depth - 1])
        depth -= 1
        worth = worth if is_mine else -worth
        if depth == 0:
            stack.scores[stack.actions[0, stack.left[0]]] = worth
        worth = max(worth, stack.best[depth])
        stack.best[depth] = worth
        if worth < stack.beta[depth] and stack.left[depth] > 0:
            break
    return depth


@kernel
def search(
    game: Any,
    evaluation: Any,
    knowledge: Any,
    states: Any,
    stack: Stack,
    most: int,
    budget: int,
    rng: np.random.Generator,
) -> int:
    """Look `most` plies ahead; writes the worth of each legal action into `stack.scores`.

    Args:
        game: The game.
        evaluation: Judges the positions at that depth.
        knowledge: Lists the actions of a position, the one to try first last.
        states: A position for each depth, the root's first.
        stack: As many rows.
        most: How deep.
        budget: How many positions to look at.
        rng: The stream of the agent.

    Returns:
        The number of positions looked at; more than `budget` if they were not enough.
    """
    depth = 0
    nodes = 0
    stack.alpha[0], stack.beta[0] = -np.inf, np.inf
    while True:
        nodes += 1
        if nodes > budget:
            return nodes
        at_the_end = game.is_terminal(states[depth])
        if not at_the_end and depth < most:
            actions = stack.actions[depth]
            stack.left[depth] = knowledge.list_actions(game, states[depth], rng, actions)
            stack.best[depth] = -np.inf
        else:
            worth = judge(game, evaluation, states[depth], at_the_end, depth)
            depth = back_up(game, states, stack, depth, worth)
            if depth == 0 and stack.left[0] == 0:
                return nodes
        open_child(game, states, stack, depth)
        depth += 1


compiled_search: Final = CompiledFunction(search)


class AlphaBeta(SeededAgent):
    r"""Looks so many plies ahead and plays the best action it sees, of equals one at random.

    Alpha-beta (Knuth and Moore 1975) without a table. A win is better the sooner it comes, and a
    loss the later.

    Formula:
        $$v_d(s) = \max_a\, -v_{d-1}(s_a) \qquad v_0(s) = \mathit{evaluation}(s)$$

        $s_a$ is the position after the action $a$; values are those for the player to move. An end
        is worth what it is at any depth $d$, and a win the more the sooner it comes.

    Sources:
        Knuth and Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6, 1975.

    Args:
        depth: Plies to look ahead, at least 1; by default 4, or as many as there is time for.
        evaluation: Judges the positions at that depth: a value under `@compiled` with a method
            ``evaluate(game, state, player)``, or a function of these, which is not compiled; from
            -1, `player` has lost, to 1. By default all are worth 0. (Over an environment that is
            not one of ours `state` is an `agents.search.foreign.ForeignState`.)
        seconds: Seconds a move: it looks a ply ahead, then two, and so on, and plays by the last
            depth that it could finish.
        patterns: In games whose patterns are known (Gomoku, TicTacToe): whether to evaluate by
            them, if no evaluation is given, and to look only at the candidates of RHMCTS
            (`agents.knowledge.gomoku.candidates`), best first.
        route: How it plans; see `agents.search.environment.planner_view`.
        seed: Of the random stream; None for an unforeseeable one.
        assume: What to take as given where it is not so; see `route`.

    Attributes:
        statistics: Of the last move: `values` has what the search saw of each legal action
            (`visits` is 1 there), exactly so for the best ones and an upper bound for the others;
            `proven` the outcome if a win or loss was seen, unless `patterns` left moves out;
            `simulations` counts positions.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name = "alphabeta"

    def __init__(
        self,
        depth: int | None = None,
        evaluation: Evaluation | Callable[[Any, Any, int], float] | None = None,
        seconds: float | None = None,
        patterns: bool = False,
        route: str = "auto",
        seed: int | None = None,
        assume: str | None = None,
    ) -> None:
        if depth is None:
            depth = 4 if seconds is None else MOST_DEEPENED
        try:
            self.depth = operator.index(depth)
        except TypeError:
            raise ValueError(f"expected a whole number of plies, got {depth!r}") from None
        if not 1 <= self.depth <= MOST_DEPTH:
            raise ValueError(f"expected a depth from 1 to {MOST_DEPTH}, got {depth}")
        check_budget(None, seconds)
        check_route(route, assume)
        super().__init__(seed)
        self.seconds = seconds
        self.patterns = patterns
        self.evaluation = None if evaluation is None else _as_evaluation(evaluation)
        self.route = route
        self.assume = assume

    def prepare(self, env: Any) -> None:
        """Compile what `act` needs in such an environment, so that its first call does not."""
        plain = planner_view(env, self.route, self.assume)
        if self.patterns:
            plain = knowledge_of(plain.game).after_opening(plain)
        view = self._search_view(plain)
        self._search(view, self._arguments(view))

    def _search_view(self, view: View) -> View:
        """The position as the search sees it."""
        return knowledge_of(view.game).search_view(view) if self.patterns else view

    def _arguments(self, view: View) -> tuple[Any, ...]:
        """All but the depth: what stays the same while it deepens."""
        depth = min(self.depth, view.game.max_plies())
        stack = new_stack(depth, view.game.num_actions())
        states = view.new_states(depth + 1)
        view.game.copy(view.root, states[0])
        evaluation: Evaluation = NoOpinion() if self.evaluation is None else self.evaluation
        candidates: Knowledge = NoKnowledge()
        if self.patterns:
            known = knowledge_of(view.game)
            candidates = known.candidates()
            evaluation = known.evaluation() if self.evaluation is None else self.evaluation
        return view.game, evaluation, candidates.with_memory(view.game), states, stack

    def _search(self, view: View, arguments: tuple[Any, ...]) -> Callable[..., int]:
        evaluation = arguments[1]
        if view.compiles and is_compiled(evaluation):
            return compiled_search.specialise(*arguments, 1, 1, self._rng)
        if self.route == "compiled":
            raise ValueError(
                f'route "compiled" needs an evaluation under @compiled, got {evaluation}'
            )
        return search

    def act(self, env: Any) -> int:
        """The best action within the depth; see `Agent.act`."""
        plain = planner_view(env, self.route, self.assume)
        check_in_play(env)
        if self.patterns and (known := knowledge_of(plain.game)).is_opening(plain):
            chosen = known.play_opening(plain, self._think_apart, self._rng)
            self.statistics = None  # the last one is of another position
            return chosen
        return self._think(plain)

    def _think_apart(self, view: View) -> tuple[int, float]:
        """The action to play, and its value."""
        action = self._think(view)
        return action, float(cast("Statistics", self.statistics).values[action])

    def _think(self, plain: View) -> int:
        view = self._search_view(plain)
        arguments = self._arguments(view)
        run = self._search(view, arguments)
        started = time.perf_counter()
        scores, nodes = self._deepen(run, arguments, started)
        seconds = time.perf_counter() - started
        tried = np.flatnonzero(scores > -np.inf)
        best = tried[scores[tried] == scores[tried].max()]
        action = int(best[int(self._rng.random() * len(best))])
        found = _statistics(scores, tried, action, nodes, seconds, not self.patterns)
        self.statistics = marked(found, view.assumed)
        return action

    def _deepen(
        self, run: Callable[..., int], arguments: tuple[Any, ...], started: float
    ) -> tuple[NDArray[np.float64], int]:
        """Search to the depth, or ever deeper while there is time.

        Returns:
            ``(num_actions,)``: what each action is worth, -inf of those that were not tried; and
            how many positions were looked at.
        """
        stack = cast("Stack", arguments[-1])
        most = len(stack.best) - 1
        scores, total = stack.scores, 0
        for depth in range(1 if self.seconds is not None else most, most + 1):
            budget = 2**62
            if self.seconds is not None and total > 0:
                elapsed = time.perf_counter() - started
                budget = int(total * (self.seconds - elapsed) / elapsed)
            if budget <= 0:
                break
            stack.scores[:] = -np.inf
            nodes = run(*arguments, depth, budget, self._rng)
            total += nodes
            if nodes > budget:
                break
            scores = stack.scores.copy()
            if abs(scores.max()) > 1:
                break
        return scores, total


def _as_evaluation(evaluation: Any) -> Evaluation:
    """An evaluation of whatever was given as one.

    Raises:
        ValueError: If it is none.
    """
    if callable(getattr(evaluation, "evaluate", None)):
        return evaluation
    if callable(evaluation):
        return Judge(cast("Callable[[Any, Any, int], float]", evaluation))
    raise ValueError(f"expected an evaluation or a function, got {evaluation!r}")


def _statistics(
    scores: NDArray[np.float64],
    tried: NDArray[np.intp],
    action: int,
    nodes: int,
    seconds: float,
    tries_all: bool,
) -> Statistics:
    """What the search found, in the form of any search; nothing is proven by some of the moves."""
    visits = np.zeros(len(scores), np.int64)
    visits[tried] = 1
    values = np.zeros(len(scores))
    values[tried] = np.clip(scores[tried], -1, 1) + 0.0  # no -0
    best = float(scores.max())
    proven = int(math.copysign(1, best)) if tries_all and abs(best) > 1 else None
    return Statistics(visits, values, [action], nodes, seconds, proven)
