"""PufferLib: many boards of ours as one of its native environments.

    from hexenv.adapters.puffer import PufferBoards

    envs = PufferBoards("hexenv/Connect4-v0", num_envs=1024)

PufferLib needs not be installed: without it the class has all that its native environments have.
By hand it was tried in the back ends of PufferLib 3.0.0: native, serial and multiprocessing.
Its agents see no masks, so say by ``illegal`` what an illegal action does.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

import hexenv  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers the environments

try:
    from pufferlib import PufferEnv
except ImportError:
    PufferEnv: Any = object

Step = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], list[dict[str, Any]]]


class PufferBoards(PufferEnv):
    """Boards of one game, each with a learner, whose results are written into given arrays.

    A board whose game ends begins a new one in the same step, as those of PufferLib do.

    Examples:
        >>> envs = PufferBoards("hexenv/TicTacToe-v0", num_envs=4, illegal="terminate")
        >>> observations, infos = envs.reset(seed=1)
        >>> observations.shape, envs.step(np.zeros(4, np.int32))[0] is observations
        ((4, 3, 3, 2), True)

    Args:
        env: The id of an environment.
        num_envs: The number of boards, N.
        buf: The arrays: ``"observations"``, ``(N, rows, columns, K)``; ``"actions"``;
            ``"rewards"``, float32; ``"terminals"`` and ``"truncations"``, bool; ``"masks"``, bool,
            which stays True, as a learner is on each board; all ``(N,)``. None: own ones.
        seed: Of the first `reset` without one.
        **options: Those of `hexenv.learners.vector.BoardVectorEnv`, but for ``mask_in`` and
            ``autoreset_mode``.

    Attributes:
        envs: The vector environment, for `set_opponent`, `pool` and `illegal_actions`.
        legal: ``(N, num_actions) int8``: 1 for the legal actions of each learner.
    """

    emulated, done = False, False

    def __init__(
        self,
        env: str,
        num_envs: int = 1,
        buf: dict[str, Any] | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        self._seed = seed
        mode: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, "mask_in": "info"}
        self.envs: Any = gymnasium.make_vec(env, num_envs=num_envs, **options, **mode)
        self.single_observation_space = self.envs.single_observation_space
        self.single_action_space = self.envs.single_action_space
        self.num_agents = num_envs
        self.legal = np.ones((num_envs, self.single_action_space.n), np.int8)
        if PufferEnv is not object:
            super().__init__(buf)
            return
        seen = self.single_observation_space
        own = {
            "observations": np.zeros((num_envs, *seen.shape), seen.dtype),
            "actions": np.zeros(num_envs, np.int32),
            "rewards": np.zeros(num_envs, np.float32),
            "masks": np.ones(num_envs, np.bool_),
            "terminals": np.zeros(num_envs, np.bool_),
            "truncations": np.zeros(num_envs, np.bool_),
        }
        for name in own:
            setattr(self, name, own[name] if buf is None else buf[name])
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(seen, num_envs)
        self.agent_ids = np.arange(num_envs)

    @property
    def agents_per_batch(self) -> int:
        return self.num_agents

    @property
    def driver_env(self) -> "PufferBoards":
        return self

    def reset(self, seed: int | None = None) -> tuple[NDArray[Any], list[dict[str, Any]]]:
        """Begin episodes on all boards.

        The seeds of the boards are spread, as PufferLib gives its environments neighbouring seeds.
        """
        seed, self._seed = self._seed if seed is None else seed, None
        spread = None if seed is None else np.random.SeedSequence(seed)
        seeds = None if spread is None else spread.generate_state(self.num_agents).tolist()
        self.observations[:], infos = self.envs.reset(seed=seeds)
        self.legal[:] = infos["action_mask"]
        for array in (self.rewards, self.terminals, self.truncations):
            array[:] = 0
        return self.observations, []

    def step(self, actions: NDArray[Any]) -> Step:
        """Play an action on every board; the infos are an empty list."""
        found = self.envs.step(actions)
        self.actions[:] = actions
        arrays = self.observations, self.rewards, self.terminals, self.truncations
        for array, result in zip(arrays, found[:4], strict=True):
            array[:] = result
        self.legal[:] = found[4]["action_mask"]
        return *arrays, []

    def async_reset(self, seed: int | None = None) -> None:
        """`reset`, for `recv`."""
        self.reset(seed)

    def send(self, actions: NDArray[Any]) -> None:
        """`step`, for `recv`."""
        self.step(actions)

    def recv(self) -> tuple[Any, ...]:
        """What the last `send` or `async_reset` has written, with infos, numbers and masks."""
        results = self.observations, self.rewards, self.terminals, self.truncations
        return *results, [], self.agent_ids, self.masks

    def close(self) -> None:
        self.envs.close()
