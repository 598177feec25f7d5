"""TorchRL: many boards of ours in one environment, and PettingZoo's with its masks.

    from hexenv.adapters.torchrl import BatchedBoardEnv

    env = BatchedBoardEnv("hexenv/Connect4-v0", num_envs=256)  # self-play
    data = env.rollout(100, policy, break_when_any_done=False)

`BatchedBoardEnv` steps all boards by compiled code, for both players or against an opponent (extra
`torchrl`). TorchRL's own `GymEnv` and `GymWrapper` take our Gymnasium environments as well;
`GymWrapper` wants ``gymnasium.make_vec(..., autoreset_mode="Disabled")``.

`wrap` is for one board with both players in one TensorDict. Under ``"players"`` it has, for both,
the planes (``("observation", "observation")``), ``"action_mask"`` (all True for the player who is
not to move, as an empty mask breaks distributions), ``"action"``, and ``"mask"``, which is True for
the player to move. Learn from the rows of that player only. A batch of these (`SerialEnv`,
`ParallelEnv`) needs a policy that applies the masks: TorchRL's own random actions for batches
ignore them.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from typing import Any, cast

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from tensordict import TensorDict
from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase
from torchrl.envs.libs.pettingzoo import PettingZooWrapper

import hexenv  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers the environments
from hexenv.envs.aec import AGENTS
from hexenv.learners.vector import BoardVectorEnv

GROUP = "players"
"""The group of both players."""


class BatchedBoardEnv(EnvBase):
    """Many boards of one game as one TorchRL environment, stepped by compiled code.

    Without an opponent (default) every step plays for the player to move on each board: the
    observation is from that player's view, and the reward is for the player who has just moved.
    What is good for one player is bad for the other, so where players take turns
    (all four games but for openings that let one place two stones in a row) TorchRL's own
    estimators learn from it with a negative ``gamma``: ``GAE(gamma=-0.98, lmbda=0.95, ...)`` takes
    what the next position is worth, to the other player, with the opposite sign.

    With an opponent it is one learner's environment, as `gymnasium.make_vec` makes it.

    Its keys, each with the batch size ``(num_envs,)``:

    - ``"observation"``: planes, as the environment shows them, ``(num_envs, rows, columns, K)``.
    - ``"action_mask"``: ``(num_envs, num_actions) bool``, all True where the game is over.
    - ``"player"``: ``(num_envs, 1) int8``, 0 or 1: whose view it is.
    - ``"action"``: ``(num_envs,) int64``. Random actions of the environment are legal.
    - ``"reward"``: ``(num_envs, 1) float32``; ``"done"``, ``"terminated"``, ``"truncated"``:
      ``(num_envs, 1) bool``.

    Examples:
        >>> envs = BatchedBoardEnv("hexenv/Connect4-v0", num_envs=8)
        >>> played = envs.rollout(5, break_when_any_done=False)
        >>> played["observation"].shape, played["next", "reward"].shape
        (torch.Size([8, 5, 6, 7, 2]), torch.Size([8, 5, 1]))

    Args:
        env: The id of an environment.
        num_envs: The number of boards.
        opponent: As of `hexenv.learners.vector.BoardVectorEnv`; None: self-play.
        seed: Of the first board, whose successors are those of the others; `set_seed` sets it too.
        device: Where tensors are; the boards are stepped on the CPU.
        **options: Those of `BoardVectorEnv`, but for ``mask_in`` and ``autoreset_mode``: TorchRL
            resets.

    Attributes:
        envs: The vector environment, for `set_opponent`, `pool`, `illegal_actions`.
    """

    def __init__(
        self,
        env: str,
        num_envs: int = 1,
        opponent: Any = None,
        seed: int | None = None,
        device: Any = None,
        **options: Any,
    ) -> None:
        for name in ("mask_in", "autoreset_mode"):
            if name in options:
                raise TypeError(f"expected no {name}: it is set here, got {options[name]!r}")
        made = gymnasium.make_vec(
            env,
            num_envs=num_envs,
            opponent=opponent,
            mask_in="observation",
            autoreset_mode=AutoresetMode.DISABLED,
            **options,
        )
        envs: BoardVectorEnv = cast("Any", made.unwrapped)
        super().__init__(device=device, batch_size=torch.Size([envs.num_envs]))
        self.envs = envs
        self._next_seed = seed
        self._make_specs()

    def _make_specs(self) -> None:
        count = self.envs.num_envs
        space: Any = self.envs.single_observation_space
        planes: spaces.Box = space["observation"]
        actions = int(space["action_mask"].shape[0])
        dtype = torch.as_tensor(np.zeros(0, planes.dtype)).dtype
        self.observation_spec = Composite(
            observation=Bounded(0, 1, shape=(count, *planes.shape), dtype=dtype),
            action_mask=Binary(shape=(count, actions), dtype=torch.bool),
            player=Bounded(0, 1, shape=(count, 1), dtype=torch.int8),
            shape=(count,),
        )
        self.action_spec = Categorical(actions, shape=(count,), dtype=torch.int64)
        self.reward_spec = Unbounded(shape=(count, 1), dtype=torch.float32)
        flag = Categorical(2, shape=(count, 1), dtype=torch.bool)
        names = ("done", "terminated", "truncated")
        self.done_spec = Composite({name: flag.clone() for name in names}, shape=(count,))

    def _set_seed(self, seed: int | None) -> None:
        self._next_seed = seed

    def _reset(self, tensordict: Any = None, **options: Any) -> Any:
        """All boards, or those of ``"_reset"``."""
        which = None if tensordict is None else tensordict.get("_reset", None)
        found = dict(options)
        if which is not None and not bool(which.all()):
            found["reset_mask"] = which.reshape(-1).cpu().numpy()
        seed, self._next_seed = self._next_seed, None
        observations, _ = self.envs.reset(seed=seed, options=found)
        none = torch.zeros((self.envs.num_envs, 1), dtype=torch.bool)
        return self._told(
            observations, {"done": none, "terminated": none.clone(), "truncated": none.clone()}
        )

    def _step(self, tensordict: Any) -> Any:
        step = self.envs.step(tensordict["action"].cpu().numpy())
        observations, rewards, terminated, truncated, _ = step
        told = {"done": terminated | truncated, "terminated": terminated, "truncated": truncated}
        told["reward"] = rewards.astype(np.float32)
        columns = {name: torch.from_numpy(value).unsqueeze(-1) for name, value in told.items()}
        return self._told(observations, columns)

    def _told(self, observations: Any, more: dict[str, Any]) -> Any:
        """A TensorDict of fresh arrays, which need no copies."""
        mask = torch.from_numpy(observations["action_mask"].view(np.bool_))
        # Random actions of the environment are drawn from here.
        self.full_action_spec["action"].update_mask(mask)
        return TensorDict(
            {
                "observation": torch.from_numpy(observations["observation"]),
                "action_mask": mask,
                "player": torch.from_numpy(self.envs.sides).unsqueeze(-1),
                **more,
            },
            batch_size=self.batch_size,
            device=self.device,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.envs!r})"

    def close(self, **options: Any) -> None:
        """Close the boards."""
        super().close(**options)
        self.envs.close()


def wrap(env: Any, **options: Any) -> Any:
    """One board as TorchRL's environment, with both players in one group.

    Args:
        env: A PettingZoo environment.
        **options: Those of TorchRL's `PettingZooWrapper`.
    """
    settings = {"use_mask": True, "categorical_actions": True, "group_map": {GROUP: list(AGENTS)}}
    return PettingZooWrapper(env, **(settings | options))
