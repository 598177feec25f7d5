"""Rewards of one player, for a learner that plays both sides."""

from typing import Any, cast

import numpy as np
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from hexenv.learners.vector import BoardVectorEnv
from hexenv.wrappers.base import Envs, Step, check_below, find_action_masks


class VectorOneSidedReward(VectorWrapper):
    """Rewards for one player of a learner that plays both, not for the player who has just moved.

    The end of a game counts for both players, with opposite signs; a `penalty` counts only for
    the player who chose the illegal action.

    Examples:
        >>> envs = gymnasium.make_vec("hexenv/Hex-v0", num_envs=8, opponent=None)
        >>> envs = VectorOneSidedReward(envs, side=0)

    Args:
        env: A `BoardVectorEnv` without an opponent, wrapped or not.
        side: The player who gets the rewards, 0 or 1.
    """

    def __init__(self, env: Envs, side: int = 0) -> None:
        super().__init__(env)
        check_below(env, BoardVectorEnv)
        if any(cast("BoardVectorEnv", env.unwrapped).opponents):
            raise ValueError("expected an environment made with opponent=None, got one with")
        if side not in (0, 1):
            raise ValueError(f"expected a side of 0 or 1, got {side!r}")
        self.side = side

    def step(self, actions: Any) -> Step:
        """The rewards, ``(num_envs,) float64``, are for `side`."""
        has_moved = cast("BoardVectorEnv", self.unwrapped).sides == self.side
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        for_other = np.where(terminations, 0.0 - rewards, 0.0)
        rewards = np.where(has_moved, rewards, for_other)
        return observations, rewards, terminations, truncations, infos

    def action_masks(self) -> NDArray[np.bool_]:
        return find_action_masks(self.env)
