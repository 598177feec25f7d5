"""TorchRL: a PettingZoo environment of ours with its masks (extra `torchrl`).

    from hexenv import connect4_v0
    from hexenv.adapters.torchrl import wrap

    env = wrap(connect4_v0.env())
    env.rollout(50, policy)

Under ``"players"`` a TensorDict has, for both players at once, the planes (``("observation",
"observation")``), ``"action_mask"`` (all True for the one who is not to move, as an empty mask
breaks distributions), ``"action"``, and ``"mask"``: whose turn it is. Only the rows of the turn are
of interest for learning.

Give a batch of environments (`SerialEnv`, `ParallelEnv`) a policy that masks: TorchRL's own random
actions for batches do not look at the masks, and play illegal moves.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from typing import Any

from torchrl.envs.libs.pettingzoo import PettingZooWrapper

from hexenv.envs.aec import AGENTS

GROUP = "players"
"""The group that both players are in."""


def wrap(env: Any, **options: Any) -> Any:
    """The environment as TorchRL's, with both players in one group.

    Args:
        env: What `env` of a module such as `hexenv.hex_v0` returns.
        **options: Of TorchRL's `PettingZooWrapper`.
    """
    settings = {"use_mask": True, "categorical_actions": True, "group_map": {GROUP: list(AGENTS)}}
    return PettingZooWrapper(env, **(settings | options))
