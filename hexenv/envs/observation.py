"""Observations: the planes that a player sees of a position, with or without an action mask."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import not_one_of
from hexenv.compiled import CompiledFunction, inlined_kernel, kernel, scratch_array
from hexenv.games.base import NO_ACTION, Cells, Game, State, legal_actions, new_state

Observation = dict[str, NDArray[Any]] | NDArray[Any]
"""Of one board or many: ``{"observation": planes, "action_mask": mask}``, or planes alone."""

SIDE: Final = 0
LAST_MOVE: Final = 1
EXTRA_PLANES: Final = ("side", "last_move")
"""Planes that any game can add to its own: 1 everywhere while player 0 is to move, and 1 on the
cell of the last stone."""


def planes_of(observation: Observation) -> NDArray[Any]:
    """The planes of an observation."""
    return np.asarray(observation["observation"] if isinstance(observation, dict) else observation)


def observation_of(observations: Observation, board: int | slice) -> Observation:
    """The observation of one board of many, or of some; a view."""
    if isinstance(observations, dict):
        return {key: array[board] for key, array in observations.items()}
    return observations[board]


def plane_names(game: Game, planes: Iterable[str]) -> tuple[str, ...]:
    """The planes of an observation in order: the game's own, then those of `planes` it lacks."""
    own = game.planes()
    given: Any = planes
    is_many = isinstance(planes, Iterable) and not isinstance(planes, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    extra: tuple[Any, ...] = tuple(given) if is_many else (given,)
    for name in extra:
        if name not in (*own, *EXTRA_PLANES):
            known = dict.fromkeys((*own, *EXTRA_PLANES))
            raise ValueError(not_one_of("planes", known, name))
    return tuple(dict.fromkeys((*own, *extra)))


def extra_codes(game: Game, names: tuple[str, ...]) -> NDArray[np.int8]:
    """The numbers of the planes that follow the game's own, for `write_planes`."""
    return np.array([EXTRA_PLANES.index(name) for name in names[len(game.planes()) :]], np.int8)


def cell_symmetries(game: Game) -> NDArray[np.int64]:
    """The symmetries of a game on its cells: ``[k, cell]`` is where image ``k`` has that cell.

    An action and its image fill cells that are images of each other, each time they are played. So
    it is enough to list the cells that an action fills one after the other: one cell if actions are
    cells, a column from the bottom in Connect4, none for a swap. Where that is not enough, as
    actions move pieces, it is the cells that they are shown on. ValueError if that is not either.
    """
    symmetries = game.symmetries()
    cells = np.arange(game.rows * game.columns)
    if len(symmetries) == 1:  # the identity
        return cells[None]
    actions = range(game.num_actions())
    for cells_of in (_cells_filled, _cells_shown):
        touched = [cells_of(game, action) for action in actions]
        images = [_image_of_cells(len(cells), touched, symmetry) for symmetry in symmetries]
        if all(np.array_equal(np.sort(image), cells) for image in images):
            return np.stack(images)
    raise ValueError(f"expected a game whose actions are shown on cells, got {game}")


def _image_of_cells(
    count: int, touched: list[list[int]], symmetry: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Where a symmetry of the actions has each cell; -1 where they do not say."""
    image = np.full(count, -1, np.int64)
    images: list[int] = symmetry.tolist()
    for action, image_action in enumerate(images):
        if len(touched[action]) == len(touched[image_action]):
            image[touched[action]] = touched[image_action]
    return image


def _cells_filled(game: Game, action: int) -> list[int]:
    """The cells that an action fills in order, if both players play nothing else."""
    state = new_state(game)
    cells: list[int] = []
    while action in legal_actions(game, state):
        game.step(state, action)
        cells.append(game.last_cell(state))
    return cells


def _cells_shown(game: Game, action: int) -> list[int]:
    """The cells that an action is shown on at the start, those on the board."""
    shown = game.cells_of_action(new_state(game), action)
    return [cell for cell in shown if 0 <= cell < game.rows * game.columns]


@inlined_kernel
def write_planes(
    game: Any, state: State, player: int, owners: Cells, extra: NDArray[np.int8], out: NDArray[Any]
) -> None:
    """Write the game's planes, then the extra ones, into `out`, ``(cells, K)``."""
    game.observe(state, player, owners, out)
    first = out.shape[1] - extra.size
    for i in range(extra.size):
        if extra[i] == SIDE:
            out[:, first + i] = 1 - game.to_play(state)
        elif extra[i] == LAST_MOVE and game.last_cell(state) != NO_ACTION:
            out[game.last_cell(state), first + i] = 1


# Python passes an array to numba ten times faster than a record, so functions called from Python
# take a position as an array of one record.


@kernel
def show(
    game: Any, states: Any, player: int, extra: NDArray[np.int8], out: NDArray[np.int8]
) -> None:
    """Write the planes that `player` sees."""
    owners = scratch_array(game.rows * game.columns, np.int8)
    game.owners(states[0], owners)
    write_planes(game, states[0], player, owners, extra, out)


@kernel
def show_to_play(game: Any, states: Any, extra: NDArray[np.int8], out: NDArray[np.int8]) -> None:
    """Write the planes of many positions, ``(N, cells, K)``, each as the player to move sees it."""
    owners = scratch_array(game.rows * game.columns, np.int8)
    for i in range(out.shape[0]):
        game.owners(states[i], owners)
        write_planes(game, states[i], game.to_play(states[i]), owners, extra, out[i])


compiled_show: Final = CompiledFunction(show, "the environment")
compiled_show_to_play: Final = CompiledFunction(show_to_play, "the observations")
