"""What an agent is, and the two simplest ones: random and greedy."""

import functools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from agents.search.environment import (
    View,
    check_in_play,
    check_route,
    legal_actions,
    planner_view,
)
from hexenv.compiled import CompiledFunction, announced
from hexenv.learners.policies import greedy_action

F = TypeVar("F", bound=Callable[..., Any])


class Turn:
    """A lock of an agent, for `in_turn`. A copy of the agent gets one of its own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type["Turn"], tuple[()]]:
        return Turn, ()


def in_turn(method: F) -> F:
    """Let the threads that share an agent call such methods of it one after another.

    The agent's trees and arrays are then those of one search. It keeps a `Turn` as `turn`.
    """

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        with self.turn:
            return method(self, *arguments, **options)

    return cast("F", call)


@dataclass(frozen=True)
class Statistics:
    """What the last search of an agent found at its root.

    Attributes:
        visits: ``(num_actions,) int64``: simulations that began with each action.
        values: ``(num_actions,) float64``: their mean result, -1 (lost) to 1 (won), for the player
            to move; 0 where `visits` is 0. For a proven action, its outcome.
        principal_variation: The line of the most visited actions, from the root.
        simulations: Simulations run in this search.
        seconds: Time it took, without compilation.
        proven: The outcome of the position with perfect play for the player to move, -1, 0 or 1,
            where the search has proven it; (the search then stopped early); otherwise None.
        priors: ``(num_actions,) float64``: the evaluator's probability of each action, where the
            search has one, with the root noise; they add up to 1. Else None.
        assumed: What the search assumed although it is false in this environment (see
            `agents.search.environment.planner_view`); then nothing is proven. Else None.
    """

    visits: NDArray[np.int64]
    values: NDArray[np.float64]
    principal_variation: list[int]
    simulations: int
    seconds: float
    proven: int | None = None
    priors: NDArray[np.float64] | None = None
    assumed: str | None = None

    @property
    def simulations_per_second(self) -> float:
        """The rate of the search; 0 where no time was measured.

        Over an environment of others it is the environment that sets it, by its own step.
        """
        return self.simulations / self.seconds if self.seconds > 0 else 0.0


def with_assumption(statistics: Statistics, assumed: str | None) -> Statistics:
    """The statistics of a search that has assumed something; then nothing is proven."""
    return statistics if assumed is None else replace(statistics, proven=None, assumed=assumed)


OnSlice = Callable[[Callable[[], Statistics]], None]
"""Called between two slices of a search, with a function that returns the statistics so far.

An exception that it raises ends the search.
"""


class ForfeitError(Exception):
    """Raised by an agent's `act` when it loses the game at once: its engine crashed, or was late.

    `agents.arena.match.play_game` counts the game as lost. An agent raises any other exception for
    errors that do not count as a loss.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Agent(Protocol):
    """An object that chooses actions in a PettingZoo AEC environment."""

    @property
    def statistics(self) -> Statistics | None:
        """Statistics of the last search; None before the first and for agents without a search."""
        ...

    def act(self, env: Any) -> int:
        """A legal action for the agent to move. The environment is left as it was.

        Raises:
            ValueError: If the game is over, or the agent cannot play in this environment.
            ForfeitError: If the agent gives the game up, or its engine breaks the protocol.
        """
        ...

    def reset(self, seed: int | None = None) -> None:
        """Forget the game played so far; with a seed, start the random stream anew."""
        ...


class SeededAgent:
    """An agent with one stream of random numbers; without a seed, a different one each time."""

    def __init__(self, seed: int | None = None) -> None:
        self.statistics: Statistics | None = None
        self._rng = np.random.default_rng(seed)

    def reset(self, seed: int | None = None) -> None:
        self.statistics = None
        if seed is not None:
            self._rng = np.random.default_rng(seed)


class RandomAgent(SeededAgent):
    r"""Plays a uniformly random legal action.

    Formula:
        $$\pi(a) = \frac{1}{m}$$

        $m$ is the number of legal actions.

    Args:
        seed: Of the random stream; None: a different one each time.
    """

    name = "random"

    def act(self, env: Any) -> int:
        check_in_play(env)
        actions = legal_actions(env)
        return int(actions[int(self._rng.random() * len(actions))])


compiled_greedy_action: Final = CompiledFunction(greedy_action)


class GreedyAgent(SeededAgent):
    """Wins at once if it can, otherwise avoids moves after which the opponent can win at once.

    Args:
        route: How it plans; see `agents.search.environment.planner_view`.
        seed: Of the random stream; None: a different one each time.
        assume: What to assume although the environment does not have it; see `route`.

    Attributes:
        statistics: None; if something false was assumed, the chosen action and the assumption.
    """

    name = "greedy"

    def __init__(
        self, route: str = "auto", seed: int | None = None, assume: str | None = None
    ) -> None:
        check_route(route, assume)
        super().__init__(seed)
        self.route = route
        self.assume = assume

    @announced
    def prepare(self, env: Any) -> None:
        """Compile now, so that the first `act` in such an environment does not have to."""
        self._chooser(planner_view(env, self.route, self.assume))

    @announced
    def act(self, env: Any) -> int:
        view = planner_view(env, self.route, self.assume)
        check_in_play(env)
        started = time.perf_counter()
        action = int(self._chooser(view)())
        self.statistics = None
        if view.assumed is not None:
            counts = np.zeros(view.game.num_actions(), np.int64)
            seconds = time.perf_counter() - started
            self.statistics = Statistics(
                counts, counts.astype(np.float64), [action], 0, seconds, assumed=view.assumed
            )
        return action

    def _chooser(self, view: View) -> Callable[[], int]:
        state, reply = view.new_state(), view.new_state()
        arguments = (view.game, view.root, state, reply, self._rng)
        run: Callable[..., int] = greedy_action
        if view.compiles:
            run = compiled_greedy_action.specialise(*arguments)
        return lambda: run(*arguments)
