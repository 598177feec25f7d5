"""The phases of Gomoku's openings, and which positions belong to them.

The public functions are methods of `hexenv.games.gomoku.openings.OpenedGomoku`. They say what the
stones of a given board, as text or as cells, tell of a game with an opening, and what they do not.
"""

from enum import IntEnum
from typing import Any, Final

import numpy as np

from hexenv.games import base
from hexenv.games.base import EMPTY, Cells, State

SWAP: Final = 0
SWAP2: Final = 1
PRO: Final = 2
LONG_PRO: Final = 3
OPENINGS: Final = ("swap", "swap2", "pro", "long_pro")
"""Names of the openings by number."""

EXTRA_ACTIONS: Final = ("swap", "place_two")


class Phase(IntEnum):
    """What is asked of the player to move."""

    PLAYING = 0
    """A stone of the player's own; the opening is over."""
    PLACING = 1
    """One of the first three stones."""
    CHOOSING = 2
    """White's stone, or black (``swap``), or in `swap2` two more stones (``place_two``)."""
    PLACING_TWO = 3
    """One of two more stones."""
    CHOOSING_LAST = 4
    """White's stone, or black (``swap``)."""


# The same as numbers, for compiled code.
PLAYING: Final = 0
PLACING: Final = 1
CHOOSING: Final = 2
PLACING_TWO: Final = 3
CHOOSING_LAST: Final = 4

IN_OPENING: Final = {
    PLACING: ((0, 1, 2), (0,)),
    CHOOSING: ((3,), (0,)),
    PLACING_TWO: ((3, 4), (1,)),
    CHOOSING_LAST: ((5,), (1,)),
}
"""How many stones, and how many actions that were none, have led to a phase."""


def count_plies(self: Any, owners: Cells, to_play: int) -> int:
    """The fewest plies; a choice that left the colours as they were does not show."""
    stones = int(np.count_nonzero(owners != EMPTY))
    return stones + _find_black(self, owners, to_play)


def details(self: Any, state: State) -> dict[str, int]:
    """What the stones, the player to move and the last action do not tell; mostly nothing."""
    cells = self.rows * self.columns
    chosen = int(state.ply - state.stones.ply)  # choices that took an action of their own
    is_told = state.phase == PLAYING and chosen == state.black and state.last_action < cells
    if self.opening >= PRO or is_told:
        return {}
    last_cell = self.last_cell(state)
    return {"phase": int(state.phase), "ply": int(state.ply), "last_cell": last_cell}


def set_up(self: Any, state: State, owners: Cells, to_play: int, details: dict[str, int]) -> None:
    """Write what there is beside the stones into a starting position.

    Args:
        self: The game.
        state: The starting position; the stones are not on the board yet.
        owners: ``(rows, columns)``: the stones.
        to_play: The player to move.
        details: Of `details`, or nothing.

    Raises:
        ValueError: If no game leads to such a position.
    """
    stones = int(np.count_nonzero(owners != EMPTY))
    state.stones.ply = stones
    if details:
        _set_up_details(self, state, owners, to_play, details)
        return
    state.ply = self.count_plies(owners, to_play)
    state.black = _find_black(self, owners, to_play)
    state.phase = PLACING if self.opening >= PRO and stones < 3 else PLAYING


def _find_black(game: Any, owners: Cells, to_play: int) -> int:
    """Who has black on a board whose opening is over.

    Raises:
        ValueError: If no game leads to these stones.
    """
    first, second = (int(np.count_nonzero(owners == player)) for player in (0, 1))
    black = to_play if first == second else 1 - to_play
    if (game.opening >= PRO and black == 1) or abs(first - second) > 1:
        base.count_plies(game, owners, to_play)  # raises
    if first != second and (first > second) != (black == 0):
        raise ValueError(
            f"expected black, with a stone more, to have just moved; "
            f"got {first} X and {second} O with {'XO'[to_play]} to play"
        )
    if game.opening < PRO and first + second < 3:
        raise ValueError(
            f"expected a board whose opening is over, with 3 stones or more, got {first + second}"
        )
    return black


def _set_up_details(
    game: Any, state: State, owners: Cells, to_play: int, details: dict[str, int]
) -> None:
    """`set_up` with `details`, which may come from anywhere."""
    phase, ply, last_cell = (details.get(key, -1) for key in ("phase", "ply", "last_cell"))
    stones = int(state.stones.ply)
    black = _find_black(game, owners, to_play) if phase == PLAYING else 0
    possible, chosen = IN_OPENING.get(phase, (range(3, owners.size + 1), (2 - black,)))
    fits = (
        PLAYING <= phase <= (CHOOSING_LAST if game.opening == SWAP2 else CHOOSING)
        and game.opening < PRO
        and stones in possible
        and ply - stones in chosen
        and (game.opening == SWAP2 or ply - stones < 2)
        and int(np.count_nonzero(owners == black)) == (stones + 1) // 2
        and (stones == 0 or _is_taken(owners, last_cell))
    )
    if fits:
        state.phase, state.black, state.ply = phase, black, ply
        state.stones.last_action = last_cell
        fits = game.to_play(state) == to_play
    if not fits:
        raise ValueError(f"expected the details of an opening, got {details} (damaged data?)")


def _is_taken(owners: Cells, cell: int) -> bool:
    """Whether the number is that of a cell with a stone."""
    return 0 <= cell < owners.size and owners.flat[cell] != EMPTY
