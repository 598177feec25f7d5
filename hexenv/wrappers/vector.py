"""The wrappers of vector environments: views of many boards."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import DTypeLike, NDArray

from hexenv.envs.aec import Observation, planes_of
from hexenv.learners.board_kernels import Which
from hexenv.learners.learner import action_array
from hexenv.learners.opponents import entry
from hexenv.learners.vector import BoardVectorEnv, Infos, seeds_of_boards
from hexenv.wrappers.single import board_env, planes_space, show, shown_space
from hexenv.wrappers.views import (
    CanonicalView,
    FlattenView,
    Seen,
    StackView,
    SymmetryView,
    View,
)

Envs = VectorEnv[Observation, NDArray[Any], NDArray[Any]]
Step = tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], Infos]


class VectorBoardWrapper(VectorWrapper):
    """A vector environment, shown by a view; the class below the wrappers that show boards.

    Args:
        env: A `BoardVectorEnv`, wrapped or not.
        make_view: Makes the view from what there is to show.

    Raises:
        TypeError: If there is another environment below.
        ValueError: If the view cannot show what the environment shows.
    """

    def __init__(self, env: Envs, make_view: Callable[[Seen], View]) -> None:
        super().__init__(env)
        inner = board_env(env.unwrapped, BoardVectorEnv)
        self._board_envs = cast("BoardVectorEnv", env.unwrapped)
        space = cast("spaces.Space[Any]", cast("Any", env).single_observation_space)
        self.view = make_view(Seen(inner, planes_space(space), env.num_envs))
        self.single_observation_space = shown_space(space, self.view)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._all: Which = np.arange(env.num_envs)
        self._over = np.zeros(env.num_envs, np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Infos]:
        """Begin episodes on all boards or some; see `BoardVectorEnv.reset`."""
        try:
            observations, infos = self.env.reset(seed=cast("Any", seed), options=options)
        except BaseException:
            self._over = self._board_envs.idle  # what has not begun begins later
            raise
        mask = (options or {}).get("reset_mask")
        boards = self._all if mask is None else np.flatnonzero(mask)
        self.view.seed(boards, seeds_of_boards(seed, self.num_envs))
        self.view.begin(boards)
        self.view.record(planes_of(observations)[boards], boards)  # the others show nothing new
        self._over[boards] = False
        return show(self.view, observations, self._all), self._show_infos(infos)

    def step(self, actions: Any) -> Step:
        """Play an action on what is shown of every board; see `BoardVectorEnv.step`."""
        actions = self.view.map_back(action_array(actions, (self.num_envs,)))
        try:
            observations, rewards, terminations, truncations, infos = self.env.step(actions)
        except BaseException:
            self._over = self._board_envs.idle  # if an opponent has failed, no episode goes on
            raise
        if "final_obs" in infos:  # before the next episodes are recorded
            infos = self._show_final(infos)
        self.view.begin(self._begun(terminations | truncations))
        self.view.record(planes_of(observations), self._all)
        infos = self._show_infos(infos)
        shown = show(self.view, observations, self._all)
        return shown, rewards, terminations, truncations, infos

    def _begun(self, over: NDArray[np.bool_]) -> Which:
        """The boards whose episodes have begun with this step; `over`: those that have ended."""
        before, self._over = self._over, over
        begun = {AutoresetMode.NEXT_STEP: before, AutoresetMode.SAME_STEP: over}
        mode = self.metadata["autoreset_mode"]
        return np.flatnonzero(begun[mode]) if mode in begun else self._all[:0]

    def _show_final(self, infos: Infos) -> Infos:
        """The last observations and infos of episodes that were followed by others in one step."""
        ended = np.flatnonzero(infos["_final_obs"])
        last = together(infos["final_obs"][ended])
        self.view.record(planes_of(last), ended)
        shown = show(self.view, last, ended)
        final_obs = np.full(self.num_envs, None, dtype=object)
        for number, board in enumerate(ended.tolist()):
            final_obs[board] = entry(shown, number)
        return {
            **infos,
            "final_obs": final_obs,
            "final_info": self._show_infos(infos["final_info"]),
        }

    def _show_infos(self, infos: Infos) -> Infos:
        if "action_mask" not in infos:
            return infos
        return {**infos, "action_mask": self.view.show_masks(infos["action_mask"], self._all)}

    def action_masks(self) -> NDArray[np.bool_]:
        """``(num_envs, num_actions)``: which actions on what is shown are legal."""
        return self.view.show_masks(find_action_masks(self.env), self._all)


def together(observations: Sequence[Observation]) -> Observation:
    """One observation of many boards from those of single boards."""
    first = observations[0]
    if isinstance(first, dict):
        many = cast("Sequence[dict[str, NDArray[Any]]]", observations)
        return {key: np.stack([one[key] for one in many]) for key in first}
    return np.stack(cast("Sequence[NDArray[Any]]", observations))


def find_action_masks(env: Any) -> NDArray[np.bool_]:
    """The masks of the outermost wrapper that has them, else of the environment itself."""
    while not hasattr(env, "action_masks"):
        env = env.env
    return env.action_masks()


class VectorSymmetryAugmentation(VectorBoardWrapper):
    """Every episode on every board is played on an image of the board under a symmetry.

    See `hexenv.wrappers.SymmetryAugmentation`; board ``i`` draws as a single environment whose
    seed is that of the board.

    Examples:
        >>> envs = VectorSymmetryAugmentation(gymnasium.make_vec("hexenv/Gomoku-v0", num_envs=8))

    Args:
        env: A `BoardVectorEnv`, wrapped or not.

    Raises:
        TypeError: If there is another environment below.
        ValueError: If the planes are stacked or flat, or actions do not put stones on cells.
    """

    view: SymmetryView

    def __init__(self, env: Envs) -> None:
        super().__init__(env, SymmetryView)

    @property
    def symmetries(self) -> NDArray[np.int64]:
        """``(num_envs,)``: that of each board, as a row of the game's `symmetries`."""
        return self.view.images.copy()


class VectorCanonicalHex(VectorBoardWrapper):
    """Hex, in which whoever looks joins top to bottom.

    See `hexenv.wrappers.CanonicalHex`. Without an opponent the player to move looks; then the side
    plane is 1 everywhere.

    Examples:
        >>> envs = gymnasium.make_vec("hexenv/Hex-v0", num_envs=8, opponent=None)
        >>> envs = VectorCanonicalHex(envs)

    Args:
        env: A `BoardVectorEnv`, wrapped or not.

    Raises:
        TypeError: If there is another environment below.
        ValueError: If the game is not Hex on a square board, or the planes are stacked or flat.
    """

    def __init__(self, env: Envs) -> None:
        players = None if plays_both(env) else self._players
        super().__init__(env, partial(CanonicalView, players=players))

    def _players(self) -> NDArray[np.int8]:
        return cast("BoardVectorEnv", self.unwrapped).sides


class VectorStackBoards(VectorBoardWrapper):
    """The last observations of each episode, stacked along the axis of the planes.

    See `hexenv.wrappers.StackBoards`. Without an opponent they alternate between the views of the
    two players, each as that player saw it.

    Examples:
        >>> envs = VectorStackBoards(gymnasium.make_vec("hexenv/Connect4-v0", num_envs=8), size=2)

    Args:
        env: A `BoardVectorEnv`, wrapped or not.
        size: How many observations, at least 1.

    Raises:
        TypeError: If there is another environment below.
        ValueError: If the size is less than 1, or the planes are flat.
    """

    def __init__(self, env: Envs, size: int) -> None:
        super().__init__(env, partial(StackView, size=size))


class VectorFlattenBoards(VectorBoardWrapper):
    """The planes of each board along one axis; see `hexenv.wrappers.FlattenBoards`.

    Examples:
        >>> envs = gymnasium.make_vec("hexenv/Hex-v0", num_envs=8)
        >>> envs = VectorFlattenBoards(envs, dtype="float32")

    Args:
        env: A `BoardVectorEnv`, wrapped or not.
        dtype: Of the flat planes, such as float32; by default that of the planes below.

    Raises:
        TypeError: If there is another environment below.
    """

    def __init__(self, env: Envs, dtype: DTypeLike | None = None) -> None:
        super().__init__(env, partial(FlattenView, dtype=dtype))


# ---- rewards -------------------------------------------------------------------------------------


def plays_both(env: Envs) -> bool:
    """Whether the learner plays for whoever is to move.

    Raises:
        TypeError: If there is no `BoardVectorEnv` below.
    """
    board_env(env.unwrapped, BoardVectorEnv)
    return not any(cast("BoardVectorEnv", env.unwrapped).opponents)


class VectorOneSidedReward(VectorWrapper):
    """Rewards for one player of a learner that plays both, not for who has just moved.

    The end of a game counts for both players, with opposite signs; a `penalty` counts only for
    the player who chose the illegal action.

    Examples:
        >>> envs = gymnasium.make_vec("hexenv/Hex-v0", num_envs=8, opponent=None)
        >>> envs = VectorOneSidedReward(envs, side=0)

    Args:
        env: A `BoardVectorEnv` without an opponent, wrapped or not.
        side: The player whom the rewards are for, 0 or 1.

    Raises:
        TypeError: If there is another environment below.
        ValueError: If the side is no player, or the learner plays against an opponent.
    """

    def __init__(self, env: Envs, side: int = 0) -> None:
        super().__init__(env)
        if not plays_both(env):
            raise ValueError("expected an environment made with opponent=None, got one with")
        if side not in (0, 1):
            raise ValueError(f"expected a side of 0 or 1, got {side!r}")
        self.side = side

    def step(self, actions: Any) -> Step:
        """Play an action on every board; the rewards, ``(num_envs,) float64``, are for `side`."""
        has_moved = cast("BoardVectorEnv", self.unwrapped).sides == self.side
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        for_other = np.where(terminations, 0.0 - rewards, 0.0)
        rewards = np.where(has_moved, rewards, for_other)
        return observations, rewards, terminations, truncations, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """``(num_envs, num_actions)``: what is legal."""
        return find_action_masks(self.env)
