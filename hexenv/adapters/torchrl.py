"""TorchRL: a PettingZoo environment of ours with its masks (extra `torchrl`).

    from hexenv import connect4_v0
    from hexenv.adapters.torchrl import wrap

    env = wrap(connect4_v0.env())
    env.rollout(50, policy)

Under ``"players"`` a TensorDict has, for both players, the planes (``("observation",
"observation")``), ``"action_mask"`` (all True for the player who is not to move, as an empty mask
breaks distributions), ``"action"``, and ``"mask"``, which is True for the player to move. Learn
from the rows of that player only.

A batch of environments (`SerialEnv`, `ParallelEnv`) needs a policy that applies the masks:
TorchRL's own random actions for batches ignore them.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from typing import Any

from torchrl.envs.libs.pettingzoo import PettingZooWrapper

from hexenv.envs.aec import AGENTS

GROUP = "players"
"""The group of both players."""


def wrap(env: Any, **options: Any) -> Any:
    """The environment as TorchRL's, with both players in one group.

    The options are those of TorchRL's `PettingZooWrapper`.
    """
    settings = {"use_mask": True, "categorical_actions": True, "group_map": {GROUP: list(AGENTS)}}
    return PettingZooWrapper(env, **(settings | options))
