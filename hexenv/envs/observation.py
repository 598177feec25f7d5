"""The compiled half of an environment: a step with its mask, and the planes a player is shown."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction, inlined_kernel, kernel
from hexenv.games.base import NO_ACTION, Cells, Game, State

SIDE: Final = 0
LAST_MOVE: Final = 1
EXTRA_PLANES: Final = ("side", "last_move")
"""Planes that any game can show besides its own: 1 everywhere while player 0 is to move, and 1 on
the cell of the last stone."""


def plane_names(game: Game, extra: tuple[str, ...]) -> tuple[str, ...]:
    """The planes of an observation in order: the game's own, then those of `extra` it lacks.

    Raises:
        ValueError: If a name of `extra` is no plane of this game.
    """
    own = game.planes()
    for name in extra:
        if name not in (*own, *EXTRA_PLANES):
            known = ", ".join(dict.fromkeys((*own, *EXTRA_PLANES)))
            raise ValueError(f"expected planes of {known}, got {name!r}")
    return tuple(dict.fromkeys((*own, *extra)))


def extra_codes(game: Game, names: tuple[str, ...]) -> NDArray[np.int8]:
    """The numbers of the planes that follow the game's own, for `write_planes`."""
    return np.array([EXTRA_PLANES.index(name) for name in names[len(game.planes()) :]], np.int8)


@inlined_kernel
def write_planes(
    game: Any, state: State, player: int, owners: Cells, extra: NDArray[np.int8], out: NDArray[Any]
) -> None:
    """Write the game's planes and the extra ones behind them into `out`, ``(cells, K)``.

    `owners` is what the game's `owners` says of the position.
    """
    game.observe(state, player, owners, out)
    first = out.shape[1] - extra.size
    for i in range(extra.size):
        if extra[i] == SIDE:
            out[:, first + i] = 1 - game.to_play(state)
        elif extra[i] == LAST_MOVE and state.last_action != NO_ACTION:
            out[game.last_cell(state), first + i] = 1


# Python passes numba an array ten times faster than a record, so the functions that an environment
# calls take the position as an array of one record.


@kernel
def write_mask(game: Any, states: Any, mask: NDArray[np.int8]) -> None:
    """Write the legal mask."""
    owners = np.empty(game.rows * game.columns, np.int8)
    game.owners(states[0], owners)
    game.legal_mask(states[0], owners, mask)


@kernel
def advance(game: Any, states: Any, action: int, mask: NDArray[np.int8]) -> tuple[int, int]:
    """Step, and write the new mask; returns the winner and the player to move."""
    state = states[0]
    game.step(state, action)
    write_mask(game, states, mask)
    return state.winner, game.to_play(state)


@kernel
def show(
    game: Any, states: Any, player: int, extra: NDArray[np.int8], out: NDArray[np.int8]
) -> None:
    """Write the planes that `player` sees."""
    owners = np.empty(game.rows * game.columns, np.int8)
    game.owners(states[0], owners)
    write_planes(game, states[0], player, owners, extra, out)


@kernel
def show_to_play(game: Any, states: Any, extra: NDArray[np.int8], out: NDArray[np.int8]) -> None:
    """Write the planes of many positions, ``(N, cells, K)``, as those who are to move see them."""
    owners = np.empty(game.rows * game.columns, np.int8)
    for i in range(out.shape[0]):
        game.owners(states[i], owners)
        write_planes(game, states[i], game.to_play(states[i]), owners, extra, out[i])


compiled_advance: Final = CompiledFunction(advance)
compiled_show: Final = CompiledFunction(show)
compiled_show_to_play: Final = CompiledFunction(show_to_play)
compiled_write_mask: Final = CompiledFunction(write_mask)
