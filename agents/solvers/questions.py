"""What the exact solvers share: from questions about positions to the scores of actions.

A *score* says who wins and how soon. It is ``half - s``, where the winner wins with the s-th action
of that player and `half` is one more than the most actions a player can have in a game; the loser
has the negative of it, a draw is 0. So more is always better: a win soon, else a loss late.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from agents.core.agent import Turn
from agents.core.budget import ENDLESS, Pace
from agents.solvers.depth_first import NODES, UNKNOWN, OpenNodes, compiled_search, search
from hexenv.compiled import kernel
from hexenv.games import base

BEYOND: Final = 2**31
"""More than any score."""


class Clock:
    """The limits of one call, in seconds from now on and in positions; None for no limit.

    `look` is called between two slices of a search; an exception that it raises ends the search.
    """

    def __init__(
        self,
        seconds: float | None = None,
        nodes: int | None = None,
        look: Callable[[], None] | None = None,
    ) -> None:
        self._look = look
        self.seconds = seconds
        self.most_nodes = nodes
        self.nodes = 0
        self.started = time.perf_counter()
        self._pace = Pace(self.started, seconds)

    @property
    def pause(self) -> int:
        """How many positions to search before the next `count`."""
        left = ENDLESS if self.most_nodes is None else self.most_nodes + 1 - self.nodes
        return max(1, min(self._pace.size, left))

    def count(self, nodes: int) -> None:
        """Count searched positions."""
        self.nodes += nodes
        self._pace.count(nodes)

    def check(self) -> None:
        """Refuse to go on beyond the limits.

        Raises:
            TimeoutError: If the time is over.
            ValueError: If there were too many positions.
        """
        if self._look is not None:
            self._look()
        if self.most_nodes is not None and self.nodes > self.most_nodes:
            raise ValueError(
                f"expected a game that is solved within {self.most_nodes} positions, got a larger "
                "one"
            )
        if self._pace.is_over:
            raise TimeoutError(
                f"expected to solve the position within {self.seconds} s, got no answer after "
                f"{self.nodes} positions"
            )

    def elapsed(self) -> float:
        """Seconds since the call began."""
        return time.perf_counter() - self.started


class ExactSolver:
    """Gives the values of positions of one game with perfect play.

    Args:
        game: With the verbs of `hexenv.games.base.Game` that playing takes.
        compiles: Whether to run as machine code.

    Attributes:
        game: The game.
        lock: For who uses the solver: its arrays serve one call at a time.
    """

    def __init__(self, game: Any, compiles: bool) -> None:
        self.game = game
        self.lock = Turn()
        self._run: Callable[[Any, int], Any] | None = None if compiles else search

    def nodes_at(self, state: Any) -> Any:
        """The `OpenNodes` of a search from a position."""
        raise NotImplementedError

    def value(self, state: Any, clock: Clock) -> int:
        """Who wins: 1 for the player to move, 0 for a draw, -1 for the other."""
        raise NotImplementedError

    def values(
        self, state: Any, clock: Clock, found: dict[int, int] | None = None
    ) -> dict[int, int]:
        """The value of each legal action; `found` is given each as soon as it is known."""
        raise NotImplementedError

    def scores(self, state: Any, clock: Clock) -> dict[int, int]:
        """The score of each legal action; ValueError if the solver does not count plies."""
        raise NotImplementedError

    def quickest(self, state: Any, actions: list[int], clock: Clock) -> list[int]:
        """Those of some actions of equal value that have the best score, where there are scores."""
        return actions

    def prepare(self) -> None:
        """Compile what the answers need."""
        with self.lock:
            if self._run is None:
                self._run = compiled_search.specialise(self.nodes_at(base.new_state(self.game)), 1)

    def search(self, nodes: OpenNodes, clock: Clock) -> int:
        """What a search from its root finds, with looks at the clock."""
        if self._run is None:
            self._run = compiled_search.specialise(nodes, 1)
        nodes.control[:] = 0
        score = UNKNOWN
        while score == UNKNOWN:
            clock.check()
            before = int(nodes.control[NODES])
            score = int(self._run(nodes, clock.pause))
            clock.count(int(nodes.control[NODES]) - before)
        return score


class ScoreSolver(ExactSolver):
    """An exact solver that asks, "is the score of this position at least `goal`?".

    That is a search with a null window (Pearl 1980, "Scout"). The answer comes with a bound, and
    some questions later both bounds meet: the score is known. The value takes two questions.
    """

    def copy_of(self, state: Any) -> Any:
        """An independent copy of a position."""
        return base.clone(self.game, state)

    def known(self, state: Any) -> tuple[int, int]:
        """What is known of the score of a position without a search: at least and at most."""
        ply, half = int(state.ply), score_limit(self.game)
        if self.game.is_terminal(state):
            score = self.game.outcome(state, self.game.to_play(state)) * (half - (ply + 1) // 2)
            return score, score
        return (ply + 2) // 2 - half, half - (ply + 2) // 2

    def ask(self, state: Any, goal: int, clock: Clock) -> int:
        """A bound on the score for the player to move: from below if >= `goal`, else from above.

        It is asked only for a `goal` above the lower and up to the upper bound of `known`.
        """
        nodes = self.nodes_at(state)
        nodes.goal[0] = goal
        return self.search(nodes, clock)

    def value(self, state: Any, clock: Clock) -> int:
        return sign(sum(self._settle(state, -1, 1, clock)))

    def values(
        self, state: Any, clock: Clock, found: dict[int, int] | None = None
    ) -> dict[int, int]:
        values = {} if found is None else found
        for action in base.legal_actions(self.game, state):
            values[action] = sign(sum(self._settle_after(state, action, -1, 1, clock)))
        return values

    def score(self, state: Any, clock: Clock) -> int:
        """The exact score of a position for the player to move."""
        return self._settle(state, -BEYOND, BEYOND, clock)[0]

    def scores(self, state: Any, clock: Clock) -> dict[int, int]:
        most = self.known(state)[1]  # no action is better: with it, no question is left
        return {
            action: self._settle_after(state, action, -BEYOND, most, clock)[0]
            for action in base.legal_actions(self.game, state)
        }

    def quickest(self, state: Any, actions: list[int], clock: Clock) -> list[int]:
        best = self.score(state, clock)
        return [
            action
            for action in actions
            if self._settle_after(state, action, best - 1, best, clock)[0] >= best
        ]

    def _settle(self, state: Any, low: int, high: int, clock: Clock) -> tuple[int, int]:
        """Ask until the score of a position is known, or known not to be between `low` and `high`.

        The first question is about the sign, the next halve what is left, but towards 0, as large
        scores are the quickest to refute.

        Returns:
            Bounds of the score: equal, or both at most `low`, or both at least `high`.
        """
        least, most = self.known(state)
        while least < most and most > low and least < high:
            goal = least + (most - least + 1) // 2
            if least < 0 and goal <= 0:
                goal = max(goal, -(-least // 2))
            elif most > 0 and goal > 0:
                goal = min(goal, max(most // 2, 1))
            goal = min(max(goal, least + 1, low + 1), most, high)
            bound = self.ask(state, goal, clock)
            if bound >= goal:
                least = max(least, bound)
            else:
                most = min(most, bound)
        return least, most

    def _settle_after(
        self, state: Any, action: int, low: int, high: int, clock: Clock
    ) -> tuple[int, int]:
        """`_settle` of the position after an action, for the player who chooses it."""
        game, child = self.game, self.copy_of(state)
        player = game.to_play(state)
        game.step(child, action)
        if game.to_play(child) == player:  # at the end, too: its score is for that player
            return self._settle(child, low, high, clock)
        least, most = self._settle(child, -high, -low, clock)
        return -most, -least


@kernel
def score_limit(game: Any) -> int:
    """One more than the most actions of a player in a game."""
    return (game.max_plies() + 1) // 2 + 1


def sign(number: int) -> int:
    """1, 0 or -1."""
    return (number > 0) - (number < 0)
