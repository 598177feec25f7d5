"""What the exact solvers share: from questions about positions to the scores of actions.

A solver answers one kind of question, "is the score of this position at least `goal`?", a search
with a null window (Pearl 1980, "Scout"). The answer comes with a bound, and some questions later
both bounds meet: the score is known. The value alone, win, draw or loss, takes two questions.

A *score* says who wins and how soon. It is ``half - s``, where the winner wins with the s-th action
of that player and `half` is one more than the most actions a player can have in a game; the loser
has the negative of it, a draw is 0. So more is always better: a win soon, else a loss late.
"""

import math
import time
from collections.abc import Callable
from typing import Any, Protocol

from agents.solvers.depth_first import NODES, UNKNOWN, OpenNodes
from hexenv.games import base


class Clock:
    """The limits of one call: it refuses to go on when one is passed.

    Args:
        seconds: The time allowed, from now on; None for no limit.
        nodes: The positions that may be searched; None for no limit.
    """

    def __init__(self, seconds: float | None = None, nodes: int | None = None) -> None:
        self.seconds = seconds
        self.most_nodes = nodes
        self.nodes = 0
        self.started = time.perf_counter()

    def count(self, nodes: int) -> None:
        """Count searched positions.

        Raises:
            TimeoutError: If the time is over.
            ValueError: If there were too many.
        """
        self.nodes += nodes
        if self.most_nodes is not None and self.nodes > self.most_nodes:
            raise ValueError(
                f"expected a game that is solved within {self.most_nodes} positions, got a larger "
                "one"
            )
        if self.elapsed() > (math.inf if self.seconds is None else self.seconds):
            raise TimeoutError(
                f"expected to solve the position within {self.seconds} s, got no answer after "
                f"{self.nodes} positions"
            )

    def elapsed(self) -> float:
        """Seconds since the call began."""
        return time.perf_counter() - self.started


class PositionSolver(Protocol):
    """A solver of the positions of one game."""

    @property
    def game(self) -> Any:
        """The game, with the verbs of `hexenv.games.base.Game` that playing takes."""
        ...

    def prepare(self) -> None:
        """Compile what the answers need."""
        ...

    def copy_of(self, state: Any) -> Any:
        """An independent copy of a position."""
        ...

    def known(self, state: Any) -> tuple[int, int]:
        """What is known of the score of a position without a search: at least and at most."""
        ...

    def ask(self, state: Any, goal: int, clock: Clock) -> int:
        """A bound on the score for the player to move: from below if >= `goal`, else from above.

        It is asked only for a `goal` above the lower and up to the upper bound of `known`.
        """
        ...


def answer(run: Callable[[Any, int], Any], nodes: OpenNodes, budget: int, clock: Clock) -> int:
    """Run a search from its root to its end, with a look at the clock every `budget` nodes."""
    nodes.control[:] = 0
    while True:
        before = int(nodes.control[NODES])
        score = int(run(nodes, budget))
        opened = int(nodes.control[NODES]) - before
        if score != UNKNOWN:
            clock.nodes += opened
            return score
        clock.count(opened)


class ExactSolver(Protocol):
    """Gives the values of positions of one game with perfect play."""

    def prepare(self) -> None:
        """Compile what the answers need."""
        ...

    def value(self, state: Any, clock: Clock) -> int:
        """Who wins: 1 for the player to move, 0 for a draw, -1 for the other."""
        ...

    def values(self, state: Any, clock: Clock, found: dict[int, int]) -> dict[int, int]:
        """The value of each legal action; `found` is given each as soon as it is known."""
        ...

    def scores(self, state: Any, clock: Clock) -> dict[int, int]:
        """The score of each legal action.

        Raises:
            ValueError: If the solver does not count plies.
        """
        ...

    def quickest(self, state: Any, actions: list[int], clock: Clock) -> list[int]:
        """Those of some actions of equal value that have the best score, where there are scores."""
        ...


class ScoreSolver:
    """An `ExactSolver` that asks a `PositionSolver`."""

    def __init__(self, solver: PositionSolver) -> None:
        self.solver = solver

    def prepare(self) -> None:
        """See `ExactSolver`, as for the others."""
        self.solver.prepare()

    def value(self, state: Any, clock: Clock) -> int:
        return position_value(self.solver, state, clock)

    def values(self, state: Any, clock: Clock, found: dict[int, int]) -> dict[int, int]:
        return action_values(self.solver, state, clock, found)

    def scores(self, state: Any, clock: Clock) -> dict[int, int]:
        return action_scores(self.solver, state, clock)

    def quickest(self, state: Any, actions: list[int], clock: Clock) -> list[int]:
        score = position_score(self.solver, state, clock)
        return best_scored(self.solver, state, actions, score, clock)


def settle(
    solver: PositionSolver, state: Any, low: int, high: int, clock: Clock
) -> tuple[int, int]:
    """Ask until the score of a position is known, or known not to be between `low` and `high`.

    The first question is about the sign, the next halve what is left, but towards 0, as large
    scores are the quickest to refute.

    Returns:
        Bounds of the score: equal, or both at most `low`, or both at least `high`.
    """
    least, most = solver.known(state)
    while least < most and most > low and least < high:
        goal = least + (most - least + 1) // 2
        if least < 0 and goal <= 0:
            goal = max(goal, -(-least // 2))
        elif most > 0 and goal > 0:
            goal = min(goal, max(most // 2, 1))
        goal = min(max(goal, least + 1, low + 1), most, high)
        bound = solver.ask(state, goal, clock)
        if bound >= goal:
            least = max(least, bound)
        else:
            most = min(most, bound)
    return least, most


def child_scores(
    solver: PositionSolver,
    state: Any,
    low: int,
    high: int,
    clock: Clock,
    actions: list[int] | None = None,
) -> dict[int, tuple[int, int]]:
    """For each action, by default all, what `settle` says of its score, for who chooses it."""
    found: dict[int, tuple[int, int]] = {}
    game = solver.game
    player = game.to_play(state)
    for action in base.legal_actions(game, state) if actions is None else actions:
        child = solver.copy_of(state)
        game.step(child, action)
        if not game.is_terminal(child) and game.to_play(child) == player:
            found[action] = settle(solver, child, low, high, clock)
        else:
            least, most = settle(solver, child, -high, -low, clock)
            found[action] = -most, -least
    return found


def action_scores(solver: PositionSolver, state: Any, clock: Clock) -> dict[int, int]:
    """The exact score of each legal action, for the player to move."""
    bounds = child_scores(solver, state, -(2**31), 2**31, clock)
    return {action: least for action, (least, _) in bounds.items()}


def action_values(
    solver: PositionSolver, state: Any, clock: Clock, found: dict[int, int] | None = None
) -> dict[int, int]:
    """What each legal action leads to: 1, a win of the player to move, 0 or -1.

    Args:
        solver: Of the game.
        state: The position.
        clock: It ends the search when its time is over.
        found: Is given each value as soon as it is known, and is returned.
    """
    values = {} if found is None else found
    for action in base.legal_actions(solver.game, state):
        least, most = child_scores(solver, state, -1, 1, clock, [action])[action]
        values[action] = sign(least + most)
    return values


def best_scored(
    solver: PositionSolver, state: Any, actions: list[int], score: int, clock: Clock
) -> list[int]:
    """Those of some actions that have the score of the position itself."""
    bounds = child_scores(solver, state, score - 1, score, clock, actions)
    return [action for action in actions if bounds[action][0] >= score]


def position_score(solver: PositionSolver, state: Any, clock: Clock) -> int:
    """The exact score of a position for the player to move."""
    return settle(solver, state, -(2**31), 2**31, clock)[0]


def position_value(solver: PositionSolver, state: Any, clock: Clock) -> int:
    """1 if the player to move wins, 0 for a draw, -1 for a loss."""
    least, most = settle(solver, state, -1, 1, clock)
    return sign(least + most)


def sign(number: int) -> int:
    """1, 0 or -1."""
    return (number > 0) - (number < 0)
