"""The two simplest agents: random and greedy."""

import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from agents.core.agent import SeededAgent, Statistics
from agents.planning.environment import View, check_in_play, legal_actions
from agents.planning.view import Assumption, Route, planner_view
from hexenv.compiled import CompiledFunction, announced
from hexenv.learners.policies import greedy_action


class RandomAgent(SeededAgent):
    r"""Plays a uniformly random legal action.

    Examples:
        >>> from hexenv import tictactoe_v0
        >>> env = tictactoe_v0.env()
        >>> env.reset(options={"moves": "1 2 3 4 5 6 8 7"})
        >>> RandomAgent(seed=1).act(env)  # there is one cell left
        8

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

    Examples:
        >>> GreedyAgent(seed=1).act(env)  # the third of three in a row
        2

    Args:
        route: How it plans; see `agents.planning.view.planner_view`.
        seed: Of the random stream; None: a different one each time.
        assume: What to assume although the environment does not have it; see `route`.

    Attributes:
        statistics: None; if something false was assumed, the chosen action and the assumption.
    """

    name = "greedy"

    def __init__(
        self, route: Route = "auto", seed: int | None = None, assume: Assumption = None
    ) -> None:
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
