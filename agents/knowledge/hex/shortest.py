"""How soon a winner of Hex can join both sides, and where to play for that.

Who has a connection of the sides wins wherever both play; but a game ends with a chain of stones.
What is left of it is counted by the stones that the winner needs if the opponent passes.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.bits import meet, one_bit
from agents.knowledge.hex.h_search import NOWHERE, Grid
from hexenv.compiled import kernel, scratch_array
from hexenv.games.base import EMPTY

FAR: Final = 1_000
"""In place of a number of stones, where the sides cannot be joined."""


@kernel
def count_from(
    grid: Grid,
    owners: NDArray[np.int8],
    player: int,
    cells: tuple[int, int, int],
    side: int,
    counts: NDArray[np.int16],
) -> int:
    """Write the fewest stones that join each cell with a side, its own with them.

    Args:
        grid: The board.
        owners: ``(size,)``: the owners of the cells, not filled in.
        player: The player.
        cells: The empty cells that may be used.
        side: 1 or 2, as in `Grid.sides`.
        counts: ``(size,)``: receives the numbers, or `FAR`.

    Returns:
        The fewest that join both sides.
    """
    size = len(owners)
    counts[:] = FAR
    least, has_changed = FAR, True
    while has_changed:
        has_changed = False
        for index in range(2 * size):  # there and back
            cell = index if index < size else 2 * size - 1 - index
            if owners[cell] != player and not meet(cells, one_bit(cell)):
                continue
            before = 0 if grid.sides[player, cell] == side else FAR
            for i in range(6):
                near = int(grid.around[cell, i])
                if near >= 0:
                    before = min(before, int(counts[near]))
            found = before + int(owners[cell] == EMPTY)
            if found < counts[cell]:
                counts[cell] = found
                has_changed = True
    for cell in range(size):
        if grid.sides[player, cell] == 3 - side:
            least = min(least, int(counts[cell]))
    return least


@kernel
def stones_needed(
    grid: Grid, owners: NDArray[np.int8], player: int, cells: tuple[int, int, int]
) -> int:
    """The fewest stones on some empty cells with which a player joins both sides."""
    counts = scratch_array(len(owners), np.int16)
    return count_from(grid, owners, player, cells, 1, counts)


@kernel
def next_stone(
    grid: Grid, owners: NDArray[np.int8], player: int, cells: tuple[int, int, int]
) -> int:
    """A cell of those with which a player joins both sides soonest; `NOWHERE` without one."""
    size = len(owners)
    ahead, back = scratch_array(size, np.int16), scratch_array(size, np.int16)
    least = count_from(grid, owners, player, cells, 1, ahead)
    count_from(grid, owners, player, cells, 2, back)
    for cell in range(size):
        is_on_the_way = int(ahead[cell]) + int(back[cell]) == least + 1
        if least < FAR and owners[cell] == EMPTY and is_on_the_way:
            return cell
    return NOWHERE
