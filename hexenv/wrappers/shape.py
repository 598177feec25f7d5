"""Boards in other shapes: stacked with those before them, and flat."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike, NDArray

from hexenv.common.options import AtLeastOne, checks_options
from hexenv.games.table import Which
from hexenv.wrappers.base import BoardView, BoardWrapper, Env, Envs, VectorBoardWrapper


class StackView(BoardView):
    """Shows the last `size` observations of each episode along the axis of the planes."""

    @checks_options
    def __init__(self, env: Env | Envs, size: AtLeastOne) -> None:
        super().__init__(env)
        shape = list(self.planes.shape)
        if len(shape) != 3:
            raise ValueError(
                f"expected planes of three axes to wrap, got {self.planes.shape}: "
                "flatten outside of this wrapper"
            )
        self._num_planes = shape[self.plane_axis - 1]
        shape[self.plane_axis - 1] *= size
        self._history = np.zeros((self.num_boards, *shape), self.planes.dtype)

    def space(self) -> spaces.Box:
        return spaces.Box(0, 1, self._history.shape[1:], self.planes.dtype.type)

    def begin(self, boards: Which) -> None:
        self._history[boards] = 0

    def record(self, planes: NDArray[Any], boards: Which) -> None:
        axis = self.plane_axis
        _, later = np.split(self._history[boards], [self._num_planes], axis)
        self._history[boards] = np.concatenate([later, planes], axis)

    def show(self, planes: NDArray[Any], boards: Which) -> NDArray[Any]:
        return self._history[boards]


class StackBoards(BoardWrapper):
    """The last `size` observations of the episode, stacked along the axis of the planes.

    ``(R, C, size * K)``, or ``(size * K, R, C)`` with channels first: oldest first, and zeros for
    those before the episode. The mask is the current one. The planes below must not be flat.

    Examples:
        >>> env = StackBoards(gymnasium.make("hexenv/Gomoku-v0"), size=4)
    """

    view_class: ClassVar = StackView

    def __init__(self, env: Env, size: int) -> None:
        super().__init__(env, size=size)


class VectorStackBoards(VectorBoardWrapper):
    """`StackBoards` of a vector environment.

    Without an opponent the observations alternate between the views of the two players.

    Examples:
        >>> envs = VectorStackBoards(gymnasium.make_vec("hexenv/Connect4-v0", num_envs=8), size=2)
    """

    view_class: ClassVar = StackView

    def __init__(self, env: Envs, size: int) -> None:
        super().__init__(env, size=size)


class FlattenView(BoardView):
    """Shows the planes along one axis, as `dtype` if one is given."""

    def __init__(self, env: Env | Envs, dtype: DTypeLike | None) -> None:
        super().__init__(env)
        self._dtype = self.planes.dtype if dtype is None else np.dtype(dtype)

    def space(self) -> spaces.Box:
        return spaces.Box(0, 1, (int(np.prod(self.planes.shape)),), self._dtype.type)

    def show(self, planes: NDArray[Any], boards: Which) -> NDArray[Any]:
        return planes.reshape(len(planes), -1).astype(self._dtype, copy=False)


class FlattenBoards(BoardWrapper):
    """The planes along one axis, in the order of the axes below; the mask stays as it is.

    Their type is `dtype`, or as below.

    Examples:
        >>> env = FlattenBoards(gymnasium.make("hexenv/TicTacToe-v0"), dtype="float32")
    """

    view_class: ClassVar = FlattenView

    def __init__(self, env: Env, dtype: DTypeLike | None = None) -> None:
        super().__init__(env, dtype=dtype)


class VectorFlattenBoards(VectorBoardWrapper):
    """`FlattenBoards` of a vector environment.

    Examples:
        >>> envs = gymnasium.make_vec("hexenv/Hex-v0", num_envs=8)
        >>> envs = VectorFlattenBoards(envs, dtype="float32")
    """

    view_class: ClassVar = FlattenView

    def __init__(self, env: Envs, dtype: DTypeLike | None = None) -> None:
        super().__init__(env, dtype=dtype)
