"""The base of all wrappers: a view of boards, and the two wrappers that show it.

A `BoardView` says once what a wrapper changes: the space, the observations, the masks and the
actions. It is written for any number of boards. `BoardWrapper` shows it of a single environment,
`VectorBoardWrapper` of a vector environment, whose views have one or all boards.

Letters in shapes: N boards asked for, B all boards, R rows, C columns, K planes, A actions.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from hexenv.envs.observation import Observation, observation_of, planes_of
from hexenv.games.table import Which
from hexenv.learners.options import action_array
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv, Infos, seeds_of_boards

Env = gymnasium.Env[Observation, Any]
Envs = VectorEnv[Observation, NDArray[Any], NDArray[Any]]
Step = tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], Infos]

BOARD: Final[Which] = np.zeros(1, np.int64)
"""The only board of a single environment."""


class BoardView:
    """Shows boards unchanged; subclasses override what they change.

    Attributes:
        below: The `SingleEnv` or `BoardVectorEnv` below all wrappers.
        raw_env: The PettingZoo environment of its game and options.
        num_boards: The number of boards.
        planes: The space of one board's planes as the environment shows them.
        plane_axis: The axis of the planes in an array of boards: ``(N, K, R, C)`` or
            ``(N, R, C, K)``.
    """

    def __init__(self, env: Env | Envs) -> None:
        self.below = cast("SingleEnv | BoardVectorEnv", env.unwrapped)
        self.raw_env = self.below.raw_env
        self.num_boards = 1 if isinstance(self.below, SingleEnv) else self.below.num_envs
        self.planes = planes_space(observation_space_of(env))
        self.plane_axis = 1 if self.raw_env.channels_first else 3

    def space(self) -> spaces.Box:
        """The space of one board's planes as shown."""
        return self.planes

    def seed(self, boards: Which, seeds: Sequence[int | None]) -> None:
        """Seed the random streams of some boards; `seeds` are of all, None where one continues."""

    def begin(self, boards: Which) -> None:
        """Prepare for episodes that begin on some boards; `record` follows."""

    def record(self, planes: NDArray[Any], boards: Which) -> None:
        """Take note of new ``(N, ...)`` planes of some boards."""

    def show(self, planes: NDArray[Any], boards: Which) -> NDArray[Any]:
        """The planes of some boards, recorded before, as shown: a fresh array."""
        return planes

    def show_masks(self, masks: NDArray[Any], boards: Which) -> NDArray[Any]:
        """The masks of some boards, ``(N, A)`` of any dtype, as shown."""
        return masks

    def map_back(self, actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The environment's actions for actions on what is shown, ``(B,)``.

        An action outside the space is returned unchanged: the environment handles it.
        """
        return actions

    def show_observation(self, observation: Observation, boards: Which) -> Observation:
        planes = self.show(planes_of(observation), boards)
        if not isinstance(observation, dict):
            return planes
        masks = self.show_masks(observation["action_mask"], boards)
        return {"observation": planes, "action_mask": masks}

    def shown_space(self, space: spaces.Space[Any]) -> spaces.Space[Any]:
        if isinstance(space, spaces.Dict):
            # Pairs, because a dict would be sorted by key.
            mask = space["action_mask"]
            return spaces.Dict([("observation", self.space()), ("action_mask", mask)])
        return self.space()


def observation_space_of(env: Env | Envs) -> spaces.Space[Any]:
    """The space of one board's observations."""
    name = "single_observation_space" if isinstance(env, VectorEnv) else "observation_space"
    return getattr(env, name)


def planes_space(space: spaces.Space[Any]) -> spaces.Box:
    """The space of the planes in a space of observations; ValueError if it has none."""
    found: Any = space
    if isinstance(space, spaces.Dict):
        found = cast("dict[str, Any]", cast("Any", space).spaces).get("observation")
    if not isinstance(found, spaces.Box):
        raise ValueError(f"expected observations of planes, with or without a mask, got {space}")
    return cast("spaces.Box", found)


def check_below(env: Env | Envs, expected: type[SingleEnv] | type[BoardVectorEnv]) -> None:
    """TypeError unless the environment below all wrappers is of a class."""
    if not isinstance(env.unwrapped, expected):
        raise TypeError(f"expected a {expected.__name__} below the wrapper, got {env.unwrapped}")


# ---- the wrappers --------------------------------------------------------------------------------


class BoardWrapper(RecordConstructorArgs, gymnasium.Wrapper[Observation, Any, Observation, Any]):
    """A single environment, shown by the view of a subclass, which gets the further arguments."""

    view_class: ClassVar[type[BoardView]] = BoardView

    def __init__(self, env: Env, **arguments: Any) -> None:
        RecordConstructorArgs.__init__(self, **arguments)
        gymnasium.Wrapper.__init__(self, env)  # pyright: ignore[reportUnknownMemberType]
        check_below(env, SingleEnv)
        self.view = self.view_class(env, **arguments)
        self.observation_space = self.view.shown_space(env.observation_space)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self.view.seed(BOARD, [seed])
        self.view.begin(BOARD)
        return self._shown(observation, info)

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        actions = self.view.map_back(action_array(action, (), self.view.raw_env.game).reshape(1))
        observation, reward, terminated, truncated, info = self.env.step(actions[0])
        observation, info = self._shown(observation, info)
        return observation, reward, terminated, truncated, info

    def _shown(
        self, observation: Observation, info: dict[str, Any]
    ) -> tuple[Observation, dict[str, Any]]:
        batch = stack_observations([observation])
        self.view.record(planes_of(batch), BOARD)
        if "action_mask" in info:
            info = {**info, "action_mask": self._shown_mask(info["action_mask"])}
        return observation_of(self.view.show_observation(batch, BOARD), 0), info

    def _shown_mask(self, mask: NDArray[Any]) -> NDArray[Any]:
        return self.view.show_masks(mask[np.newaxis], BOARD)[0]

    def action_masks(self) -> NDArray[np.bool_]:
        """``(num_actions,)``: which actions on what is shown are legal."""
        return self._shown_mask(self.env.get_wrapper_attr("action_masks")())


class VectorBoardWrapper(VectorWrapper):
    """A vector environment, shown by the view of a subclass, which gets the further arguments."""

    view_class: ClassVar[type[BoardView]] = BoardView

    def __init__(self, env: Envs, **arguments: Any) -> None:
        super().__init__(env)
        check_below(env, BoardVectorEnv)
        self.view = self.view_class(env, **arguments)
        self.single_observation_space = self.view.shown_space(observation_space_of(env))
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._all: Which = np.arange(env.num_envs)
        self._over = np.zeros(env.num_envs, np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Infos]:
        try:
            observations, infos = self.env.reset(seed=cast("Any", seed), options=options)
        except BaseException:
            self._over = cast("BoardVectorEnv", self.unwrapped).idle  # these boards begin later
            raise
        mask = (options or {}).get("reset_mask")
        boards = self._all if mask is None else np.flatnonzero(mask)
        self.view.seed(boards, seeds_of_boards(seed, self.num_envs))
        self.view.begin(boards)
        self.view.record(planes_of(observations)[boards], boards)  # the others are unchanged
        self._over[boards] = False
        return self.view.show_observation(observations, self._all), self._show_infos(infos)

    def step(self, actions: Any) -> Step:
        game = self.view.raw_env.game
        actions = self.view.map_back(action_array(actions, (self.num_envs,), game))
        try:
            observations, rewards, terminations, truncations, infos = self.env.step(actions)
        except BaseException:
            # After an opponent's error no episode continues.
            self._over = cast("BoardVectorEnv", self.unwrapped).idle
            raise
        if "final_obs" in infos:  # before the next episodes are recorded
            infos = self._show_final(infos)
        self.view.begin(self._begun(terminations | truncations))
        self.view.record(planes_of(observations), self._all)
        infos = self._show_infos(infos)
        shown = self.view.show_observation(observations, self._all)
        return shown, rewards, terminations, truncations, infos

    def _begun(self, over: NDArray[np.bool_]) -> Which:
        """The boards whose episodes began in this step; `over`: those whose episodes ended."""
        before, self._over = self._over, over
        begun = {AutoresetMode.NEXT_STEP: before, AutoresetMode.SAME_STEP: over}
        mode = self.metadata["autoreset_mode"]
        return np.flatnonzero(begun[mode]) if mode in begun else self._all[:0]

    def _show_final(self, infos: Infos) -> Infos:
        """The infos, with the last observations of episodes that ended in this step as shown."""
        ended = np.flatnonzero(infos["_final_obs"])
        last = stack_observations(infos["final_obs"][ended])
        self.view.record(planes_of(last), ended)
        shown = self.view.show_observation(last, ended)
        final_obs = np.full(self.num_envs, None, dtype=object)
        for number, board in enumerate(ended.tolist()):
            final_obs[board] = observation_of(shown, number)
        final_info = self._show_infos(infos["final_info"])
        return {**infos, "final_obs": final_obs, "final_info": final_info}

    def _show_infos(self, infos: Infos) -> Infos:
        if "action_mask" not in infos:
            return infos
        return {**infos, "action_mask": self.view.show_masks(infos["action_mask"], self._all)}

    def action_masks(self) -> NDArray[np.bool_]:
        """``(num_envs, num_actions)``: which actions on what is shown are legal."""
        return self.view.show_masks(find_action_masks(self.env), self._all)


def stack_observations(observations: Sequence[Observation]) -> Observation:
    """The observation of many boards from those of single boards."""
    first = observations[0]
    if isinstance(first, dict):
        many = cast("Sequence[dict[str, NDArray[Any]]]", observations)
        return {key: np.stack([one[key] for one in many]) for key in first}
    return np.stack(cast("Sequence[NDArray[Any]]", observations))


def find_action_masks(env: Any) -> NDArray[np.bool_]:
    """The masks of the outermost wrapper that has them, else of the environment."""
    while not hasattr(env, "action_masks"):
        env = env.env
    return env.action_masks()
