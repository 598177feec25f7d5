"""PettingZoo's three standard wrappers in one, which is faster."""

import copy
import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from pettingzoo.utils.env_logger import EnvLogger  # pyright: ignore[reportMissingTypeStubs]
from pettingzoo.utils.wrappers import (  # pyright: ignore[reportMissingTypeStubs]
    OrderEnforcingWrapper,
)

from hexenv.common.messages import shortened, with_full_signature
from hexenv.envs.aec import BoardEnv
from hexenv.envs.observation import Observation
from hexenv.games.base import State
from hexenv.games.notation import IllegalActionError, action_of_move

P = ParamSpec("P")


class StandardWrapper(OrderEnforcingWrapper[str, Observation, Any]):
    """`TerminateIllegalWrapper`, `AssertOutOfBoundsWrapper` and `OrderEnforcingWrapper` in one.

    An illegal move ends the game: `illegal_reward` for its player, 0 for the other, both terminated
    and truncated. An action outside the space, and calls in the wrong order, fail an assertion. The
    three wrappers forward every attribute one by one, which takes most of the time of a step; this
    one uses the environment directly. It also has `clone`.

    Examples:
        >>> from hexenv import tictactoe_v0
        >>> env = tictactoe_v0.env()  # a StandardWrapper
        >>> env.reset()
        >>> env.step(4)
        >>> env.agent_selection, type(env.unwrapped).__name__
        ('player_1', 'BoardEnv')
    """

    env: BoardEnv

    def __init__(self, env: BoardEnv, illegal_reward: float = -1.0) -> None:
        super().__init__(env)
        self._illegal_reward = illegal_reward

    @property
    def unwrapped(self) -> BoardEnv:
        return self.env

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.env.reset(seed=seed, options=options)  # first: it may refuse the options
        self._has_reset = True
        self._has_updated = True

    def step(self, action: int | None) -> None:
        """Play an action; an illegal one ends the game."""
        if not self._has_reset:
            EnvLogger.error_step_before_reset()
        env = self.env
        self._has_updated = True
        if not env.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        agent = env.agent_selection
        dead = env.terminations[agent] or env.truncations[agent]
        try:
            is_action = env.all_actions.contains(action)
        except OverflowError:  # of gymnasium before 1.4, by an int of more than 64 bits
            is_action = False
        assert (action is None and dead) or is_action, (
            f"action is not in action space: expected 0 to {env.all_actions.n - 1}, "
            f"got {shortened(action)}{action_of_move(env.game, action)}"
        )
        try:
            env.step(action)
        except IllegalActionError:
            EnvLogger.warn_on_illegal_move()
            env.forfeit(self._illegal_reward)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self._has_reset or type(self) is not StandardWrapper:
            return super().last(observe)  # calls the methods that a subclass overrides
        return self.env.last(observe)

    @property
    def state(self) -> State:  # type: ignore[override]  # PettingZoo's optional method
        """The position; see `BoardEnv.state`."""
        if not self._has_reset:
            EnvLogger.error_state_before_reset()
        return self.env.state

    def clone(self) -> "StandardWrapper":
        """An independent environment in the same position, with the same wrapper."""
        if type(self) is not StandardWrapper:
            return copy.deepcopy(self)  # a subclass may keep what must not be shared
        twin = copy.copy(self)
        twin.env = self.env.clone()
        return twin

    def _repr_svg_(self) -> str:  # PettingZoo's wrappers do not forward names with underscores
        return self.env._repr_svg_()  # pyright: ignore[reportPrivateUsage]

    def _repr_html_(self) -> str:
        return self.env._repr_html_()  # pyright: ignore[reportPrivateUsage]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.env.describe()}>"

    def __str__(self) -> str:
        return str(self.env)


def with_standard_wrapper(raw_env: Callable[P, BoardEnv]) -> Callable[P, StandardWrapper]:
    """The `env` function of a module from its `raw_env`."""

    @functools.wraps(raw_env)
    def make(*args: P.args, **kwargs: P.kwargs) -> StandardWrapper:
        return StandardWrapper(raw_env(*args, **kwargs))

    env = with_full_signature(make, returns=StandardWrapper)
    env.__name__ = env.__qualname__ = "env"  # where pickle looks for it
    env.__doc__ = f"{env.__doc__}\n\nWrapped by `StandardWrapper`: an illegal move loses.\n"
    return env
