"""RLlib, new API stack: its observation keys and its module that applies masks (extra `rllib`).

    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.tune.registry import register_env
    from hexenv.adapters.rllib import make_env, masked_module

    register_env("connect4", lambda config: make_env("hexenv/Connect4-v0", **config))
    config = PPOConfig().environment("connect4", env_config={"opponent": "random"})
    config = config.rl_module(rl_module_spec=masked_module(hidden=[256, 256]))

Against an `OpponentPool` to which the training adds snapshots::

    pool = OpponentPool(["random", "greedy"], sampling="pfsp")
    algorithm = config.build_algo()
    share_pool(algorithm, pool)  # and again whenever the pool has got a member

Both players, each with a policy of RLlib's, over the PettingZoo environment::

    from hexenv import connect4_v0
    from hexenv.adapters.rllib import MultiAgentBoardEnv

    register_env("both", lambda config: MultiAgentBoardEnv(connect4_v0.env(**config)))

RLlib's masking module expects flat ``"observations"`` and ``"action_mask"``, both of float32.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from collections.abc import Sequence
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

import hexenv  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers the environments
from hexenv.learners.pool import OpponentPool


def rllib_space(space: spaces.Space[Any]) -> spaces.Dict:
    """The space of `rllib_observation`; ValueError where ours has no mask."""
    if not (isinstance(space, spaces.Dict) and "action_mask" in space.spaces):
        raise ValueError(
            f'expected observations with a mask (mask_in "both" or "observation"), got {space}'
        )
    sizes = {name: int(np.prod(space[name].shape or ())) for name in space.spaces}
    return spaces.Dict(
        {
            "observations": spaces.Box(0.0, 1.0, (sizes["observation"],), np.float32),
            "action_mask": spaces.Box(0.0, 1.0, (sizes["action_mask"],), np.float32),
        }
    )


def rllib_observation(observation: Any) -> dict[str, NDArray[np.float32]]:
    """Our observation in the form of RLlib's masking module."""
    return {
        "observations": observation["observation"].reshape(-1).astype(np.float32),
        "action_mask": observation["action_mask"].astype(np.float32),
    }


class RLlibObservation(RecordConstructorArgs, gymnasium.ObservationWrapper[Any, Any, Any]):
    """A single-agent environment with observations for RLlib's masking module.

    Examples:
        >>> env = RLlibObservation(gymnasium.make("hexenv/Connect4-v0", opponent="greedy"))
        >>> observation, info = env.reset(seed=1)
        >>> observation["observations"].shape, observation["action_mask"].dtype
        ((84,), dtype('float32'))
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.ObservationWrapper.__init__(self, env)
        self.observation_space = rllib_space(env.observation_space)

    def observation(self, observation: Any) -> dict[str, NDArray[np.float32]]:
        return rllib_observation(observation)


def make_env(id: str, **options: Any) -> RLlibObservation:
    """A single-agent environment for RLlib, with the id and options of `gymnasium.make`."""
    return RLlibObservation(gymnasium.make(id, **options))


class MultiAgentBoardEnv(PettingZooEnv):
    """Both players of a PettingZoo environment, with observations for RLlib's masking module.

    The agents are ``"player_0"`` and ``"player_1"``; ``policy_mapping_fn`` says which policy plays
    each. In every step there is an observation for the player to move alone, and with the last move
    of a game the observations, rewards and ends of both.

    Examples:
        >>> from hexenv import connect4_v0
        >>> env = MultiAgentBoardEnv(connect4_v0.env())
        >>> observations, infos = env.reset(seed=1)
        >>> observations, rewards, ended, cut, infos = env.step({"player_0": 3})
        >>> list(observations)
        ['player_1']

    Args:
        env: An environment of hexenv, such as ``connect4_v0.env()``.

    Raises:
        ValueError: If its observations have no mask.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        each: dict[str, spaces.Space[Any]] = {
            agent: rllib_space(env.observation_space(agent)) for agent in env.possible_agents
        }
        self.observation_spaces = cast("Any", each)  # agents are any keys there
        self.observation_space = spaces.Dict(each)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin a game; see `hexenv.envs.aec.BoardEnv.reset`."""
        observations, infos = super().reset(seed=seed, options=options)
        return _for_each_agent(observations), infos

    def step(
        self, action: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Play the action of the player to move."""
        observations, rewards, terminations, truncations, infos = super().step(action)
        return _for_each_agent(observations), rewards, terminations, truncations, infos


def _for_each_agent(observations: Any) -> dict[str, Any]:
    return {agent: rllib_observation(seen) for agent, seen in observations.items()}


def masked_module(hidden: Sequence[int] = (256, 256)) -> Any:
    """The specification, for PPO, of RLlib's module that applies masks."""
    return RLModuleSpec(
        module_class=ActionMaskingTorchRLModule,
        model_config=DefaultModelConfig(
            fcnet_hiddens=list(hidden), fcnet_activation="relu", vf_share_layers=False
        ),
    )


def share_pool(algorithm: Any, pool: OpponentPool) -> None:
    """Let the learner of an algorithm meet the members of a pool, and collect its results.

    RLlib copies what `register_env` is given, and its environments may be in other processes. So
    call this once the algorithm is built, and again whenever the pool has got a member: it brings
    the results of the copies into the pool, then gives all environments the pool as it is now,
    from their next episodes on.

    Args:
        algorithm: Of RLlib, over environments of `make_env`.
        pool: Whom the learner meets.
    """

    def environments(runner: Any) -> list[Any]:
        vector = runner.env  # None where other processes play
        return [] if vector is None else [each.unwrapped for each in vector.unwrapped.envs]

    def take(runner: Any) -> list[Any]:
        return [each.take_results() for each in environments(runner)]

    def give(runner: Any) -> None:
        for each in environments(runner):
            each.set_opponent(pool)

    for found in algorithm.env_runner_group.foreach_env_runner(take):
        pool.merge(found)
    algorithm.env_runner_group.foreach_env_runner(give)
