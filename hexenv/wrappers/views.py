"""What the wrappers make of boards: of their planes, their masks, and the actions on them.

A *view* is written once, for any number of boards at a time: the wrapper of a single environment
has a view of one board, that of a vector environment a view of all its boards. Letters in shapes:
N boards asked for, B all boards, R rows, C columns, K planes, A actions, S symmetries.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike, NDArray

from hexenv.envs.aec import BoardEnv
from hexenv.games.base import Game, legal_actions, new_state, whole_number
from hexenv.learners.board_kernels import Which

Order = NDArray[np.int64]
"""``[number, place]``: from which place an entry comes, for each of several ways."""

SYMMETRY_STREAM: Final = 1
"""Beside the seed: draws that have nothing to do with those of the environment below."""


class Seen(NamedTuple):
    """What the wrapped environment shows, and of how many boards."""

    env: BoardEnv
    planes: spaces.Box
    """The space of one board's planes."""
    num_boards: int

    @property
    def plane_axis(self) -> int:
        """Where the planes are in an array of boards: ``(N, K, R, C)`` or ``(N, R, C, K)``."""
        return 1 if self.env.channels_first else 3


class View:
    """Shows boards as they are; subclasses say what they change.

    Args:
        seen: What there is to show.
    """

    def __init__(self, seen: Seen) -> None:
        self.seen = seen

    def space(self) -> spaces.Box:
        """The space of one board's planes as shown."""
        return self.seen.planes

    def seed(self, boards: Which, seeds: Sequence[int | None]) -> None:
        """Start the random streams of some boards anew.

        Args:
            boards: Which, ``(N,)``.
            seeds: Of all boards; None where the stream just goes on.
        """

    def begin(self, boards: Which) -> None:
        """Episodes begin on some boards; what is recorded next is of these."""

    def record(self, planes: NDArray[Any], boards: Which) -> None:
        """Take note of what the environment shows anew: ``(N, ...)`` planes of some boards."""

    def show(self, planes: NDArray[Any], boards: Which) -> NDArray[Any]:
        """The planes of some boards as shown, in a fresh array; they have been recorded before."""
        return planes

    def show_masks(self, masks: NDArray[Any], boards: Which) -> NDArray[Any]:
        """The masks of some boards, ``(N, A)`` of any dtype, as shown."""
        return masks

    def map_back(self, actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The environment's actions for those chosen on what is shown, ``(B,)``.

        An action outside the space stays as it is, for the environment to judge.
        """
        return actions


# ---- images --------------------------------------------------------------------------------------


class ImageView(View):
    """Shows every board in one of several images, at first in number 0.

    Args:
        seen: What there is to show.
        cells: ``(S, R * C)``: which cell of the board is at each cell of the image.
        actions: ``(S, A)``: which action of the game is each action on the image.

    Attributes:
        images: ``(B,) int64``: the number of each board's image.

    Raises:
        ValueError: If the planes are not as the environment makes them.
    """

    def __init__(self, seen: Seen, cells: Order, actions: Order) -> None:
        super().__init__(seen)
        made = seen.env.shown_shape
        if seen.planes.shape != made:
            raise ValueError(
                f"expected planes of shape {made} to wrap, got {seen.planes.shape}: "
                "stack and flatten outside of this wrapper"
            )
        self.images = np.zeros(seen.num_boards, np.int64)
        self._cells = cells
        self._actions = actions

    def show(self, planes: NDArray[Any], boards: Which) -> NDArray[Any]:
        """The images of the planes."""
        rows, columns, names = self.seen.env.board_shape
        shape, axis = (rows * columns, names), 1
        if self.seen.env.channels_first:
            shape, axis = (names, rows * columns), 2
        flat = planes.reshape(len(planes), *shape)
        return rearranged(flat, axis, self._cells, self.images[boards]).reshape(planes.shape)

    def show_masks(self, masks: NDArray[Any], boards: Which) -> NDArray[Any]:
        """The images of the masks."""
        return rearranged(masks, 1, self._actions, self.images[boards])

    def map_back(self, actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The game's actions for those on the images."""
        inside = (actions >= 0) & (actions < self._actions.shape[1])
        return np.where(inside, self._actions[self.images, np.where(inside, actions, 0)], actions)


def rearranged(
    arrays: NDArray[Any], axis: int, orders: Order, numbers: NDArray[np.int64]
) -> NDArray[Any]:
    """Fresh arrays ``(N, ...)`` whose entries along an axis are in the order of each one's number.

    Image by image, which is several times faster than an index for every entry.
    """
    out = np.empty_like(arrays)
    for number in np.unique(numbers):
        chosen = np.flatnonzero(numbers == number)
        out[chosen] = arrays[chosen].take(orders[number], axis)
    return out


class SymmetryView(ImageView):
    """Shows every episode under a symmetry of the game, drawn at random."""

    def __init__(self, seen: Seen) -> None:
        symmetries = seen.env.game.symmetries()
        moved = cell_symmetries(seen.env.game)
        super().__init__(seen, np.argsort(moved), np.argsort(symmetries))
        self._generators: dict[int, np.random.Generator] = {}

    def seed(self, boards: Which, seeds: Sequence[int | None]) -> None:
        """Start the streams anew from which the symmetries are drawn."""
        for board in map(int, boards):
            seed = seeds[board]
            if seed is not None:
                self._generators[board] = np.random.default_rng([seed, SYMMETRY_STREAM])
            elif board not in self._generators:
                self._generators[board] = np.random.default_rng()

    def begin(self, boards: Which) -> None:
        """Draw the symmetries of the episodes."""
        for board in map(int, boards):
            self.images[board] = int(self._generators[board].random() * len(self._cells))


def cell_symmetries(game: Game) -> NDArray[np.int64]:
    """The symmetries of a game as permutations of its cells.

    An action and its image fill cells that are images of each other, each time they are played. So
    it is enough to know which cells an action fills one after the other: one cell where actions are
    cells, a column from the bottom in Connect4, none for a swap.

    Returns:
        ``(S, R * C)``: entry ``[k, cell]`` is where image ``k`` has that cell.

    Raises:
        ValueError: If that does not make permutations of the cells.
    """
    filled = [cells_filled(game, action) for action in range(game.num_actions())]
    cells = np.arange(game.rows * game.columns)
    images: list[NDArray[np.int64]] = []
    for symmetry in game.symmetries().tolist():
        image = np.full_like(cells, -1)
        for action, image_action in enumerate(symmetry):
            image[filled[action]] = filled[image_action]
        if not np.array_equal(np.sort(image), cells):
            raise ValueError(f"expected a game whose actions put stones on cells, got {game}")
        images.append(image)
    return np.stack(images)


def cells_filled(game: Game, action: int) -> list[int]:
    """The cells that an action fills when both players play nothing else, in order."""
    state = new_state(game)
    cells: list[int] = []
    while action in legal_actions(game, state):
        game.step(state, action)
        cells.append(game.last_cell(state))
    return cells


class CanonicalView(ImageView):
    """Shows Hex to player 1 as player 0 would see it with the colours swapped.

    Args:
        seen: What there is to show.
        players: Tells the learner's player on each board, ``(B,)``; None where the learner plays
            for whoever is to move.

    Raises:
        ValueError: If the game is not Hex on a square board.
    """

    def __init__(self, seen: Seen, players: Callable[[], NDArray[np.int8]] | None) -> None:
        game = seen.env.game
        if game.name != "hex" or game.rows != game.columns:
            raise ValueError(f"expected the game of Hex on a square board, got {game}")
        actions = np.arange(game.num_actions())
        cells = np.arange(game.rows * game.columns)
        transposed = cells.reshape(game.rows, game.columns).T.reshape(-1)
        mirrored = np.concatenate([transposed, actions[len(cells) :]])  # the swap stays
        super().__init__(seen, np.stack([cells, transposed]), np.stack([actions, mirrored]))
        self._players = players
        self._side_plane = seen.env.planes.index("side")

    def begin(self, boards: Which) -> None:
        """Who looks: the learner's player in the episodes that begin."""
        if self._players is not None:
            self.images[boards] = self._players()[boards]

    def record(self, planes: NDArray[Any], boards: Which) -> None:
        """Who looks, where the learner plays for both: who is to move, as the planes tell."""
        if self._players is None:
            self.images[boards] = self._side_planes(planes)[:, 0, 0] == 0

    def show(self, planes: NDArray[Any], boards: Which) -> NDArray[Any]:
        """The planes, transposed for player 1, with the side plane telling whose turn it is."""
        shown = super().show(planes, boards)
        second = self.images[boards] == 1
        side = self._side_planes(shown)
        side[second] = 1 - side[second]
        return shown

    def _side_planes(self, planes: NDArray[Any]) -> NDArray[Any]:
        """The side plane of every board, ``(N, R, C)``: a view."""
        return np.moveaxis(planes, self.seen.plane_axis, 0)[self._side_plane]


# ---- stacked and flat boards ---------------------------------------------------------------------


class StackView(View):
    """Shows the last `size` observations of each episode along the axis of the planes.

    Raises:
        ValueError: If `size` is less than 1, or the planes are flat.
    """

    def __init__(self, seen: Seen, size: int) -> None:
        if whole_number("size", size) < 1:
            raise ValueError(f"expected a size of at least 1, got {size}")
        if len(seen.planes.shape) != 3:
            raise ValueError(
                f"expected planes of three axes to wrap, got {seen.planes.shape}: "
                "flatten outside of this wrapper"
            )
        super().__init__(seen)
        shape = list(seen.planes.shape)
        self._planes = shape[seen.plane_axis - 1]
        shape[seen.plane_axis - 1] *= size
        self._shape = tuple(shape)
        self._history = np.zeros((seen.num_boards, *shape), seen.planes.dtype)

    def space(self) -> spaces.Box:
        """As that of one observation, with `size` times as many planes."""
        return spaces.Box(0, 1, self._shape, self.seen.planes.dtype.type)

    def begin(self, boards: Which) -> None:
        """Forget the episodes before."""
        self._history[boards] = 0

    def record(self, planes: NDArray[Any], boards: Which) -> None:
        """Put the planes behind those before them, and forget the oldest."""
        axis = self.seen.plane_axis
        _, later = np.split(self._history[boards], [self._planes], axis)
        self._history[boards] = np.concatenate([later, planes], axis)

    def show(self, planes: NDArray[Any], boards: Which) -> NDArray[Any]:
        """The observations, oldest first, zeros for those before an episode."""
        return self._history[boards]


class FlattenView(View):
    """Shows the planes along one axis, as `dtype` where one is given."""

    def __init__(self, seen: Seen, dtype: DTypeLike | None) -> None:
        super().__init__(seen)
        self._dtype = seen.planes.dtype if dtype is None else np.dtype(dtype)

    def space(self) -> spaces.Box:
        """One axis with all entries."""
        return spaces.Box(0, 1, (int(np.prod(self.seen.planes.shape)),), self._dtype.type)

    def show(self, planes: NDArray[Any], boards: Which) -> NDArray[Any]:
        """``(N, R * C * K)``, in the order of the axes below."""
        return planes.reshape(len(planes), -1).astype(self._dtype, copy=False)
