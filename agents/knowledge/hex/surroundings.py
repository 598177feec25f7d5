"""The numbers of what lies around the cells of Hex, kept while the board changes.

What lies around a cell is numbered by its cells as digits of base 3, the first the lowest: 0 empty,
1 the player's whose view it is, 2 the opponent's. The cells come in groups of six; each has the one
opposite, by a half turn around the middle, three further in its group. So a stone changes a number
for each of the cells around it, and only these: a search that looks at one board after the other
changes what is different, which takes less time than to number all cells anew.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import inlined_kernel, kernel
from hexenv.games.base import EMPTY

GROUP: Final = 6
"""Cells of a group."""


@inlined_kernel
def digit_of(owner: int, player: int) -> int:
    """0 for an empty cell, 1 for the player's, 2 for the opponent's."""
    return 0 if owner == EMPTY else 1 + (owner ^ player)


@kernel
def number_of(
    around: NDArray[np.int16], owners: NDArray[np.int8], player: int, cell: int, count: int
) -> int:
    """The number of what lies around a cell.

    Args:
        around: ``(size, count or more)``: the cells around each cell; ``size`` and ``size + 1``
            for what lies beyond the board.
        owners: ``(size + 2,)``: the owners of all these.
        player: Whose view it is.
        cell: The cell.
        count: How many cells around it are numbered: one or more groups of six.
    """
    number, weight = 0, 1
    for i in range(count):
        number += digit_of(int(owners[around[cell, i]]), player) * weight
        weight *= 3
    return number


@kernel
def number_all(
    around: NDArray[np.int16],
    owners: NDArray[np.int8],
    player: int,
    numbers: NDArray[np.int32],
    count: int,
) -> None:
    """`number_of` all cells; `numbers` is ``(size,)``."""
    for cell in range(len(numbers)):
        numbers[cell] = number_of(around, owners, player, cell, count)


def numbers_of(
    around: NDArray[np.int16], owners: NDArray[np.int8], player: int, count: int
) -> NDArray[np.int32]:
    """`number_of` all cells, ``(size,)``. Plain Python."""
    numbers: NDArray[np.int32] = np.zeros(len(around), np.int32)
    number_all(around, owners, player, numbers, count)
    return numbers


@inlined_kernel
def change_numbers(
    around: NDArray[np.int16], numbers: NDArray[np.int32], cell: int, change: int, count: int
) -> None:
    """Change the digit of a cell in the numbers of the cells around it.

    If one cell is around another, the other is at the opposite place around it.

    Args:
        around: See `number_of`.
        numbers: ``(size,)``. It is changed.
        cell: The cell.
        change: The new digit less the old one.
        count: See `number_of`.
    """
    for start in range(0, count, GROUP):
        for i in range(GROUP):
            near = int(around[cell, start + (i + GROUP // 2) % GROUP])
            if near < len(numbers):
                numbers[near] += change
            change *= 3


@kernel
def follow(
    around: NDArray[np.int16],
    owners: NDArray[np.int8],
    player: int,
    seen: NDArray[np.int8],
    numbers: NDArray[np.int32],
    count: int,
) -> None:
    """Change the numbers of one board to those of another.

    Args:
        around: See `number_of`.
        owners: The owners of the cells now.
        player: Whose view it is.
        seen: ``(size + 2,)``: the owners for which the numbers are right. It is changed.
        numbers: ``(size,)``. It is changed.
        count: See `number_of`.
    """
    for cell in range(len(numbers)):
        if owners[cell] != seen[cell]:
            change = digit_of(int(owners[cell]), player) - digit_of(int(seen[cell]), player)
            change_numbers(around, numbers, cell, change, count)
            seen[cell] = owners[cell]
