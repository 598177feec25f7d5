"""Stable-Baselines3 and sb3-contrib: the native vector environment as a `VecEnv` (extra `sb3`).

    from sb3_contrib import MaskablePPO
    from hexenv.adapters.sb3 import BoardVecEnv

    envs = BoardVecEnv("hexenv/Connect4-v0", num_envs=64, opponent="random", mask_in="info")
    model = MaskablePPO("MlpPolicy", envs)

`MaskablePPO` gets the masks from `action_masks`, so observations do not need them
(``mask_in="info"``). A single environment of `gymnasium.make` needs no adapter.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUntypedBaseClass=false, reportUnknownVariableType=false

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv

import hexenv  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers the environments
from hexenv.adapters.networks import BoardFeatures
from hexenv.common.messages import check_whole_seed
from hexenv.common.options import AtLeastOne, checks_options
from hexenv.envs.observation import Observation
from hexenv.learners.pool import OpponentPool
from hexenv.learners.vector import BoardVectorEnv

OF_EACH_BOARD: Final = ("action_masks", "render")
"""Methods that give an entry for each board and change nothing."""


class BoardVecEnv(VecEnv):
    """Many boards for Stable-Baselines3, stepped by compiled code.

    Observations, rewards and ends are those of a `DummyVecEnv` of single environments. Masks are in
    `action_masks`, not in infos; each info has the title of the ``opponent``, where there are
    several or a pool: with an episode's last step that of the ended episode. Methods and attributes
    are those of all boards at once.

    Examples:
        >>> envs = BoardVecEnv("hexenv/Connect4-v0", num_envs=8, opponent="greedy", mask_in="info")
        >>> envs.reset().shape, envs.action_masks().shape
        ((8, 6, 7, 2), (8, 7))

    Args:
        env: The id of an environment, or a `BoardVectorEnv` that resets in the same step.
        num_envs: The number of boards, if `env` is an id.
        seed: Of the first board in the first `reset`, its successors of the others; None: any.
        **options: Those of `BoardVectorEnv`, if `env` is an id.
    """

    def __init__(
        self,
        env: str | BoardVectorEnv,
        num_envs: int = 1,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        if isinstance(env, str):
            options = {"autoreset_mode": AutoresetMode.SAME_STEP, **options}
            made = gymnasium.make_vec(env, num_envs=num_envs, **options)
            env = cast("BoardVectorEnv", made.unwrapped)
        if not isinstance(cast("Any", env).unwrapped, BoardVectorEnv):
            raise TypeError(f"expected a vector environment of hexenv, or an id, got {env}")
        if env.metadata["autoreset_mode"] != AutoresetMode.SAME_STEP:
            raise ValueError(
                "expected an environment with autoreset_mode SameStep, got "
                f"{env.metadata['autoreset_mode'].value}"
            )
        self.envs = env
        self.render_mode = env.render_mode
        self._actions: Any = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        if seed is not None:
            check_whole_seed(seed)
            self.seed(seed)

    def reset(self) -> Observation:
        """Begin episodes on all boards, with the values of `seed` and `set_options`."""
        options, seeds = cast("list[dict[str, Any]]", self._options), cast("Any", self._seeds)
        if any(other != options[0] for other in options):
            raise ValueError("expected the same options for all boards")
        observations, _ = self.envs.reset(seed=list(seeds), options=options[0])
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[Observation, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the actions; the last observation of an episode is in its board's info."""
        step = self.envs.step(self._actions)
        observations, rewards, terminations, truncations, found = step
        infos: list[dict[str, Any]] = [
            {"TimeLimit.truncated": bool(cut)} for cut in truncations & ~terminations
        ]
        over = terminations | truncations
        if "opponent" in found:
            for info, title in zip(infos, found["opponent"], strict=True):
                info["opponent"] = title
        for board in np.flatnonzero(over).tolist():
            infos[board]["terminal_observation"] = found["final_obs"][board]
            if "opponent" in found:  # of the episode that ended
                infos[board]["opponent"] = found["final_info"]["opponent"][board]
        return observations, rewards.astype(np.float32), over, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """``(num_envs, num_actions)``: the legal actions of each board."""
        return self.envs.action_masks()

    def close(self) -> None:
        self.envs.close()

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the vector environment, once for all boards.

        A board gets its entry of an array over boards, else the same result as all.
        ``set_opponent`` with `indices` is for those boards alone, and ``action_masks`` and
        ``render`` give theirs; another method with indices of some boards is a ValueError.
        """
        some = sorted(set(cast("Iterable[int]", self._get_indices(indices))))
        if len(some) == self.num_envs:
            pass
        elif method_name == "set_opponent":
            method_kwargs["boards"] = some
        elif method_name not in OF_EACH_BOARD:
            raise ValueError(
                f"expected {method_name} to be called for all boards, got indices of some of "
                f"them: only {', '.join(('set_opponent', *OF_EACH_BOARD))} can be"
            )
        found = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        return self._by_board(found, indices)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return self._by_board(getattr(self.envs, attr_name), indices)

    def _by_board(self, found: Any, indices: Any) -> list[Any]:
        boards = cast("Iterable[int]", self._get_indices(indices))
        if isinstance(found, (np.ndarray, tuple)):
            of_boards = cast("Sequence[Any]", found)
            if len(of_boards) == self.num_envs:
                return [of_boards[board] for board in boards]
        return [found for _ in boards]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the vector environment; ValueError for some of the boards only."""
        if indices is not None:
            raise ValueError("expected an attribute to set for all boards, got some of them")
        setattr(self.envs, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """False: boards are not wrapped."""
        return [False for _ in cast("Iterable[int]", self._get_indices(indices))]

    def get_images(self) -> Sequence[Any]:
        return self.envs.render() or [None] * self.num_envs


def expect_plain_observations(model: Any) -> None:
    """ValueError if a model sees normalised observations: as an agent it sees boards."""
    normalize = model.get_vec_normalize_env()
    if normalize is not None and normalize.norm_obs:
        raise ValueError(
            "expected VecNormalize with norm_obs=False, as snapshots see boards, got norm_obs=True"
        )


class LogRatings(BaseCallback):
    """Rates the model at intervals, with an `agents.learning.progress.RatingLog`.

    It is rated before the first step, unless the log has ratings already, and after the last one,
    too. Ratings are also among the figures of the model's own logger.

    Examples:
        >>> from sb3_contrib import MaskablePPO
        >>> from agents.learning.progress import Anchors, RatingLog
        >>> envs = BoardVecEnv("hexenv/TicTacToe-v0", num_envs=8, mask_in="info")
        >>> model = MaskablePPO("MlpPolicy", envs, n_steps=16, batch_size=128, n_epochs=1)
        >>> anchors = Anchors("tictactoe", {"random": 0.0})
        >>> log = RatingLog("log", "tictactoe", anchors=anchors, pairs=1, writers=[])
        >>> model = model.learn(128, callback=LogRatings(log, every=128))
        >>> [rating.step for rating in log.ratings]
        [0, 128]

    Args:
        log: The log, which is closed when training ends.
        every: Steps of the learner between two ratings.
    """

    @checks_options
    def __init__(self, log: Any, every: AtLeastOne) -> None:
        super().__init__()
        self.log = log
        self._every = every
        self._rated = 0

    def _on_training_start(self) -> None:
        expect_plain_observations(self.model)
        self._rated = self.num_timesteps // self._every * self._every
        if not self.log.ratings:
            self.log.rate(self.model, self.num_timesteps)

    def _on_rollout_start(self) -> None:
        if self.num_timesteps - self._rated >= self._every:
            self._rated = self.num_timesteps // self._every * self._every
            self.log.rate(self.model, self.num_timesteps)
        self.log.poll()
        if self.log.ratings:
            self.logger.record("rating/elo", self.log.ratings[-1].elo)

    def _on_training_end(self) -> None:
        self.log.finish(self.model, self.num_timesteps)
        self.log.close()

    def _on_step(self) -> bool:
        return True


class SelfPlay(BaseCallback):
    """Adds the model as it is to a pool of opponents, at intervals.

    The environment's ``opponent`` is the pool. It may also be a `SubprocVecEnv` over single ones,
    each with a copy of the pool: then results are collected from the copies before each rollout,
    and new members are sent to them.

    Examples:
        >>> from sb3_contrib import MaskablePPO
        >>> from hexenv.learners.pool import OpponentPool
        >>> pool = OpponentPool("random", most=4)
        >>> envs = BoardVecEnv("hexenv/TicTacToe-v0", num_envs=8, opponent=pool, mask_in="info")
        >>> model = MaskablePPO("MlpPolicy", envs, n_steps=16, batch_size=128, n_epochs=1)
        >>> model = model.learn(256, callback=SelfPlay(pool, every=128))
        >>> pool.titles
        ('random', 'step 128')

    Args:
        pool: The `hexenv.learners.pool.OpponentPool`.
        every: Steps of the learner between two snapshots.
        folder: Where the pool is saved after each snapshot, to go on later; None: nowhere.
        temperature: Of the snapshots: see `agents.PolicyAgent`.
    """

    @checks_options
    def __init__(
        self,
        pool: OpponentPool,
        every: AtLeastOne,
        folder: str | os.PathLike[str] | None = None,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        self.pool = pool
        self._every = every
        self._folder = folder
        self._temperature = temperature
        self._begun = 0

    def _on_training_start(self) -> None:
        expect_plain_observations(self.model)
        self._begun = self.num_timesteps

    def _on_rollout_start(self) -> None:
        self.pool.merge(cast("Any", self.training_env).env_method("take_results"))
        if self.num_timesteps - self._begun >= self._every:
            self._begun += (self.num_timesteps - self._begun) // self._every * self._every
            title = self.pool.new_title(f"step {self.num_timesteps}")
            self.pool.add(self.model, title, temperature=self._temperature)
            self.training_env.env_method("set_opponent", self.pool)
            if self._folder is not None:
                self.pool.save(self._folder)

    def _on_step(self) -> bool:
        return True


class BoardCNN(BaseFeaturesExtractor):
    """Features of a board by a small convolutional network, in the place of ``NatureCNN``.

    ``NatureCNN`` is for pictures of 36 pixels and more, of uint8 from 0 to 255. Give this one as
    ``policy_kwargs={"features_extractor_class": BoardCNN}``, with ``"MlpPolicy"`` for planes alone
    (``mask_in="info"``) or ``"MultiInputPolicy"`` where the mask is in the observation; it reads
    the planes only. See `hexenv.adapters.networks.BoardFeatures`.

    Examples:
        >>> from sb3_contrib import MaskablePPO
        >>> envs = BoardVecEnv("hexenv/Connect4-v0", num_envs=8, mask_in="info")
        >>> options = {"features_extractor_class": BoardCNN}
        >>> model = MaskablePPO("MlpPolicy", envs, policy_kwargs=options)
        >>> type(model.policy.features_extractor).__name__
        'BoardCNN'

    Args:
        observation_space: Of the environment.
        features_dim: How many features come out.
        channels: Of each convolution.
        layers: The number of convolutions.
        channels_first: Whether the environment has ``channels_first=True``.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        features_dim: int = 256,
        channels: int = 64,
        layers: int = 3,
        channels_first: bool = False,
    ) -> None:
        super().__init__(observation_space, features_dim)
        planes = observation_space
        if isinstance(planes, spaces.Dict):
            planes = planes["observation"]
        self.network = BoardFeatures(
            planes.shape or (), features_dim, channels, layers, channels_first
        )

    def forward(self, observations: Any) -> Any:
        if isinstance(observations, dict):
            observations = cast("dict[str, Any]", observations)["observation"]
        return self.network(observations)
