"""The wrappers of single environments: views of one board."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import DTypeLike, NDArray

from hexenv.envs.aec import BoardEnv, Observation, planes_of
from hexenv.learners.board_kernels import Which
from hexenv.learners.learner import action_array
from hexenv.learners.opponents import entry
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv
from hexenv.wrappers.views import (
    CanonicalView,
    FlattenView,
    Seen,
    StackView,
    SymmetryView,
    View,
)

BOARD: Final[Which] = np.zeros(1, np.int64)
"""The one board there is."""


# ---- observations with and without masks, of one board or many -----------------------------------


def show(view: View, observations: Observation, boards: Which) -> Observation:
    """Observations of some boards, which the view has recorded, as it shows them."""
    planes = view.show(planes_of(observations), boards)
    if not isinstance(observations, dict):
        return planes
    masks = view.show_masks(observations["action_mask"], boards)
    return {"observation": planes, "action_mask": masks}


def planes_space(space: spaces.Space[Any] | None) -> spaces.Box:
    """The space of the planes in that of observations.

    Raises:
        ValueError: If there is none.
    """
    found: Any = space
    if isinstance(space, spaces.Dict):
        found = cast("dict[str, Any]", cast("Any", space).spaces).get("observation")
    if not isinstance(found, spaces.Box):
        raise ValueError(f"expected observations of planes, with or without a mask, got {space}")
    return cast("spaces.Box", found)


def shown_space(space: spaces.Space[Any] | None, view: View) -> spaces.Space[Any]:
    """The space of observations as the view shows them."""
    if isinstance(space, spaces.Dict):
        # From pairs, as a plain dict would be sorted by key.
        return spaces.Dict([("observation", view.space()), ("action_mask", space["action_mask"])])
    return view.space()


def board_env(env: object, expected: type[SingleEnv] | type[BoardVectorEnv]) -> BoardEnv:
    """The environment that tells the game of an unwrapped one.

    Raises:
        TypeError: If it is not of the class that the wrapper is for.
    """
    if not isinstance(env, expected):
        raise TypeError(f"expected a {expected.__name__} below the wrapper, got {env}")
    return env.raw_env


# ---- the wrappers --------------------------------------------------------------------------------


class BoardWrapper(RecordConstructorArgs, gymnasium.Wrapper[Observation, Any, Observation, Any]):
    """A single environment, shown by a view; the class below all wrappers of this module.

    Args:
        env: A `SingleEnv`, wrapped or not.
        make_view: Makes the view from what there is to show.
        **arguments: Those of the subclass, for `spec`.

    Raises:
        TypeError: If there is another environment below.
        ValueError: If the view cannot show what the environment shows.
    """

    def __init__(
        self,
        env: gymnasium.Env[Observation, Any],
        make_view: Callable[[Seen], View],
        **arguments: Any,
    ) -> None:
        RecordConstructorArgs.__init__(self, **arguments)
        gymnasium.Wrapper.__init__(self, env)  # pyright: ignore[reportUnknownMemberType]
        inner = board_env(env.unwrapped, SingleEnv)
        self.view = make_view(Seen(inner, planes_space(env.observation_space), 1))
        self.observation_space = shown_space(env.observation_space, self.view)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; see `SingleEnv.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.view.seed(BOARD, [seed])
        self.view.begin(BOARD)
        return self._shown(observation, info)

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        """Play an action on what is shown; see `SingleEnv.step`."""
        actions = self.view.map_back(action_array(action, ()).reshape(1))
        observation, reward, terminated, truncated, info = self.env.step(actions[0])
        observation, info = self._shown(observation, info)
        return observation, reward, terminated, truncated, info

    def _shown(
        self, observation: Observation, info: dict[str, Any]
    ) -> tuple[Observation, dict[str, Any]]:
        """What the environment shows anew, as the view shows it."""
        if isinstance(observation, dict):
            one: Observation = {key: array[np.newaxis] for key, array in observation.items()}
        else:
            one = observation[np.newaxis]
        self.view.record(planes_of(one), BOARD)
        if "action_mask" in info:
            info = {**info, "action_mask": self._shown_mask(info["action_mask"])}
        return entry(show(self.view, one, BOARD), 0), info

    def _shown_mask(self, mask: NDArray[Any]) -> NDArray[Any]:
        return self.view.show_masks(mask[np.newaxis], BOARD)[0]

    def action_masks(self) -> NDArray[np.bool_]:
        """``(num_actions,)``: which actions on what is shown are legal."""
        return self._shown_mask(self.env.get_wrapper_attr("action_masks")())


class SymmetryAugmentation(BoardWrapper):
    """Every episode is played on the image of the board under a symmetry of the game.

    The symmetry is drawn when the episode begins, uniformly and from the seed of `reset`, by a
    stream of its own: the game below is the same as without the wrapper for the same actions.

    Examples:
        >>> env = SymmetryAugmentation(gymnasium.make("hexenv/Connect4-v0"))

    Args:
        env: A `SingleEnv`, wrapped or not.

    Raises:
        TypeError: If there is another environment below.
        ValueError: If the planes are stacked or flat, or actions do not put stones on cells.
    """

    view: SymmetryView

    def __init__(self, env: gymnasium.Env[Observation, Any]) -> None:
        super().__init__(env, SymmetryView)

    @property
    def symmetry(self) -> int:
        """Of this episode, as a row of the game's `symmetries`; 0 is the identity."""
        return int(self.view.images[0])


class CanonicalHex(BoardWrapper):
    """Hex, in which the learner always joins top to bottom.

    As player 1 it sees the board transposed, cell (r, c) at (c, r), and its actions are mapped
    back; a swap stays one. The side plane is 1 while it is the learner's turn, so nothing but the
    position tells which player it is.

    Examples:
        >>> env = CanonicalHex(gymnasium.make("hexenv/Hex-v0", board_size=5, side="second"))

    Args:
        env: A `SingleEnv`, wrapped or not.

    Raises:
        TypeError: If there is another environment below.
        ValueError: If the game is not Hex on a square board, or the planes are stacked or flat.
    """

    def __init__(self, env: gymnasium.Env[Observation, Any]) -> None:
        super().__init__(env, partial(CanonicalView, players=self._players))

    def _players(self) -> NDArray[np.int8]:
        return np.array([cast("SingleEnv", self.unwrapped).side], np.int8)


class StackBoards(BoardWrapper):
    """The last observations of the episode, stacked along the axis of the planes.

    ``(R, C, size * K)``, or ``(size * K, R, C)`` with channels first: oldest first, and zeros for
    what would be before the episode. The mask is that of now.

    Examples:
        >>> env = StackBoards(gymnasium.make("hexenv/Gomoku-v0"), size=4)

    Args:
        env: A `SingleEnv`, wrapped or not.
        size: How many observations, at least 1.

    Raises:
        TypeError: If there is another environment below.
        ValueError: If the size is less than 1, or the planes are flat.
    """

    def __init__(self, env: gymnasium.Env[Observation, Any], size: int) -> None:
        super().__init__(env, partial(StackView, size=size), size=size)


class FlattenBoards(BoardWrapper):
    """The planes along one axis, in the order of the axes below; the mask stays as it is.

    Examples:
        >>> env = FlattenBoards(gymnasium.make("hexenv/TicTacToe-v0"), dtype="float32")

    Args:
        env: A `SingleEnv`, wrapped or not.
        dtype: Of the flat planes, such as float32; by default that of the planes below.

    Raises:
        TypeError: If there is another environment below.
    """

    def __init__(
        self, env: gymnasium.Env[Observation, Any], dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(env, partial(FlattenView, dtype=dtype), dtype=dtype)
