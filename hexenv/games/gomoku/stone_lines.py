"""A go board as lines of stones: every line is an integer, for each player.

Bit ``i`` is the line's ``i``-th cell. A cell lies on four lines, and a stone sets four bits:

    row r                bit c
    column c             bit r
    diagonal r - c       bit c     (falling to the right)
    antidiagonal r + c   bit c     (rising to the right)

so stones in a row are a run of bits in one of four integers, wherever on the board they are.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import inlined_kernel, kernel

MAX_SIZE: Final = 20

COLUMN_LINES: Final = MAX_SIZE
DIAGONAL_LINES: Final = COLUMN_LINES + MAX_SIZE + MAX_SIZE - 1  # where row - column = 0
ANTIDIAGONAL_LINES: Final = COLUMN_LINES + MAX_SIZE + 2 * MAX_SIZE - 1
SECOND: Final = 32
"""Where the second of two lines in a number begins."""
NUM_LINES: Final = ANTIDIAGONAL_LINES + 2 * MAX_SIZE - 1

DOWN: Final = (0, 1, 1, 1)
"""The four directions of lines: along a row, down a column, falling and rising diagonals."""
RIGHT: Final = (1, 0, 1, -1)
LINE_STARTS: Final = (0, COLUMN_LINES, DIAGONAL_LINES, ANTIDIAGONAL_LINES)
"""The line through a cell in each direction: start + row * by_row + column * by_column."""
LINE_BY_ROW: Final = (1, 0, 1, 1)
LINE_BY_COLUMN: Final = (0, 1, -1, 1)


@inlined_kernel
def set_bit(lines: NDArray[np.uint32], line: int, bit: int) -> int:
    """Set a cell of a line; returns the line."""
    changed = np.uint32(int(lines[line]) | 1 << bit)
    lines[line] = changed
    return int(changed)


@inlined_kernel
def set_stone(lines: NDArray[np.uint32], row: int, column: int) -> tuple[int, int]:
    """Set a cell in the four lines of one player that cross there; returns them as `crossing`.

    To read them again would take a quarter of a playout.
    """
    along = set_bit(lines, row, column)
    down = set_bit(lines, COLUMN_LINES + column, row)
    falling = set_bit(lines, DIAGONAL_LINES + row - column, column)
    rising = set_bit(lines, ANTIDIAGONAL_LINES + row + column, column)
    return along | down << SECOND, falling | rising << SECOND


@inlined_kernel
def crossing(lines: NDArray[np.uint32], row: int, column: int) -> tuple[int, int]:
    """The four lines through a cell, two in a number, for what is sought in two at once.

    They are the row and the column, the diagonal and the antidiagonal; the second begins at bit
    `SECOND`. There are empty bits between them, so no run goes on from one to the other.
    """
    along, down = int(lines[row]), int(lines[COLUMN_LINES + column])
    falling = int(lines[DIAGONAL_LINES + row - column])
    rising = int(lines[ANTIDIAGONAL_LINES + row + column])
    return along | down << SECOND, falling | rising << SECOND


@kernel
def take_stone(lines: NDArray[np.uint32], row: int, column: int) -> None:
    """Clear a cell that `set_stone` has set."""
    lines[row] ^= np.uint32(1 << column)
    lines[COLUMN_LINES + column] ^= np.uint32(1 << row)
    lines[DIAGONAL_LINES + row - column] ^= np.uint32(1 << column)
    lines[ANTIDIAGONAL_LINES + row + column] ^= np.uint32(1 << column)


@kernel
def line_through(direction: int, row: int, column: int) -> int:
    """The number of the line through a cell in one of the four directions."""
    line = LINE_STARTS[direction] + row * LINE_BY_ROW[direction]
    return line + column * LINE_BY_COLUMN[direction]
