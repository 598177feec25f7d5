"""Boards under symmetries: a random symmetry for every episode, and Hex always from one side."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hexenv.envs.observation import cell_symmetries
from hexenv.games.table import Which
from hexenv.learners.single import SingleEnv
from hexenv.wrappers.base import BoardView, BoardWrapper, Env, Envs, VectorBoardWrapper

Permutations = NDArray[np.int64]
"""``[number, place]``: the place from which permutation ``number`` takes the entry at ``place``."""

SYMMETRY_STREAM: Final = 1
"""Added to the seed: these draws are independent of those of the environment."""


class ImageView(BoardView):
    """Shows every board in one of several images, at first in image 0.

    Attributes:
        images: ``(B,) int64``: the number of each board's image.
        cells: ``(images, R * C)``: which cell of the board is at each cell of the image.
        actions: ``(images, A)``: which action of the game is each action on the image.
    """

    cells: Permutations
    actions: Permutations

    def __init__(self, env: Env | Envs) -> None:
        super().__init__(env)
        expected = self.raw_env.shown_shape
        if self.planes.shape != expected:
            raise ValueError(
                f"expected planes of shape {expected} to wrap, got {self.planes.shape}: "
                "stack and flatten outside of this wrapper"
            )
        self.images = np.zeros(self.num_boards, np.int64)

    def show(self, planes: NDArray[Any], boards: Which) -> NDArray[Any]:
        rows, columns, names = self.raw_env.board_shape
        shape, axis = (rows * columns, names), 1
        if self.raw_env.channels_first:
            shape, axis = (names, rows * columns), 2
        flat = planes.reshape(len(planes), *shape)
        return permuted(flat, axis, self.cells, self.images[boards]).reshape(planes.shape)

    def show_masks(self, masks: NDArray[Any], boards: Which) -> NDArray[Any]:
        return permuted(masks, 1, self.actions, self.images[boards])

    def map_back(self, actions: NDArray[np.int64]) -> NDArray[np.int64]:
        inside = (actions >= 0) & (actions < self.actions.shape[1])
        return np.where(inside, self.actions[self.images, np.where(inside, actions, 0)], actions)


def permuted(
    arrays: NDArray[Any], axis: int, permutations: Permutations, numbers: NDArray[np.int64]
) -> NDArray[Any]:
    """Fresh arrays ``(N, ...)``, each permuted along an axis by the permutation of its number.

    One permutation at a time, which is several times faster than an index for every entry.
    """
    out = np.empty_like(arrays)
    for number in np.unique(numbers):
        chosen = np.flatnonzero(numbers == number)
        out[chosen] = arrays[chosen].take(permutations[number], axis)
    return out


class SymmetryView(ImageView):
    """Shows every episode under a symmetry of the game, drawn at random."""

    def __init__(self, env: Env | Envs) -> None:
        super().__init__(env)
        game = self.raw_env.game
        self.cells = np.argsort(cell_symmetries(game))
        self.actions = np.argsort(game.symmetries())
        self._generators: dict[int, np.random.Generator] = {}

    def seed(self, boards: Which, seeds: Sequence[int | None]) -> None:
        for board in map(int, boards):
            seed = seeds[board]
            if seed is not None:
                self._generators[board] = np.random.default_rng([seed, SYMMETRY_STREAM])
            elif board not in self._generators:
                self._generators[board] = np.random.default_rng()

    def begin(self, boards: Which) -> None:
        for board in map(int, boards):
            self.images[board] = int(self._generators[board].random() * len(self.cells))


class SymmetryAugmentation(BoardWrapper):
    """Shows every episode under a symmetry of the game.

    The symmetry is drawn uniformly when the episode begins, by a random stream of its own from the
    seed of `reset`: the game is the same as without the wrapper for the same actions. The planes
    below must not be stacked or flat, and actions must put stones on cells.

    Examples:
        >>> env = SymmetryAugmentation(gymnasium.make("hexenv/Connect4-v0"))
    """

    view: SymmetryView
    view_class: ClassVar = SymmetryView

    @property
    def symmetry(self) -> int:
        """The symmetry of this episode, a row of the game's `symmetries`; 0 is the identity."""
        return int(self.view.images[0])


class VectorSymmetryAugmentation(VectorBoardWrapper):
    """`SymmetryAugmentation` of a vector environment, the same for a board of the same seed.

    Examples:
        >>> envs = VectorSymmetryAugmentation(gymnasium.make_vec("hexenv/Gomoku-v0", num_envs=8))
    """

    view: SymmetryView
    view_class: ClassVar = SymmetryView

    @property
    def symmetries(self) -> NDArray[np.int64]:
        """``(num_envs,)``: the symmetry of each board, a row of the game's `symmetries`."""
        return self.view.images.copy()


class CanonicalView(ImageView):
    """Shows Hex to player 1 as player 0 would see it with the colours swapped."""

    def __init__(self, env: Env | Envs) -> None:
        super().__init__(env)
        game = self.raw_env.game
        if game.name != "hex" or game.rows != game.columns:
            raise ValueError(f"expected the game of Hex on a square board, got {game}")
        actions = np.arange(game.num_actions())
        cells = np.arange(game.rows * game.columns)
        transposed = cells.reshape(game.rows, game.columns).T.reshape(-1)
        mirrored = np.concatenate([transposed, actions[len(cells) :]])  # the swap stays
        self.cells = np.stack([cells, transposed])
        self.actions = np.stack([actions, mirrored])
        self._plays_both = not isinstance(self.below, SingleEnv) and not any(self.below.opponents)
        self._side_plane = self.raw_env.planes.index("side")

    def begin(self, boards: Which) -> None:
        if isinstance(self.below, SingleEnv):
            self.images[:] = self.below.side
        elif not self._plays_both:
            self.images[boards] = self.below.sides[boards]

    def record(self, planes: NDArray[Any], boards: Which) -> None:
        if self._plays_both:
            self.images[boards] = self._side_planes(planes)[:, 0, 0] == 0

    def show(self, planes: NDArray[Any], boards: Which) -> NDArray[Any]:
        """The planes, transposed for player 1, whose turn then is a side plane of ones."""
        shown = super().show(planes, boards)
        second = self.images[boards] == 1
        side = self._side_planes(shown)
        side[second] = 1 - side[second]
        return shown

    def _side_planes(self, planes: NDArray[Any]) -> NDArray[Any]:
        """The side plane of every board, ``(N, R, C)``: a view."""
        return np.moveaxis(planes, self.plane_axis, 0)[self._side_plane]


class CanonicalHex(BoardWrapper):
    """Hex, in which the learner always joins top to bottom.

    As player 1 it sees the board transposed, cell (r, c) at (c, r), and its actions are mapped
    back; a swap stays a swap. The side plane is 1 while it is the learner's turn, so only the
    position tells which player it is. The board must be square, the planes not stacked or flat.

    Examples:
        >>> env = CanonicalHex(gymnasium.make("hexenv/Hex-v0", board_size=5, side="second"))
    """

    view_class: ClassVar = CanonicalView


class VectorCanonicalHex(VectorBoardWrapper):
    """`CanonicalHex` of a vector environment.

    Without an opponent the view is that of the player to move, and the side plane is 1 everywhere.

    Examples:
        >>> envs = gymnasium.make_vec("hexenv/Hex-v0", num_envs=8, opponent=None)
        >>> envs = VectorCanonicalHex(envs)
    """

    view_class: ClassVar = CanonicalView
