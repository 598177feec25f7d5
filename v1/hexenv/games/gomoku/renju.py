"""What black may not play in renju: three and three, four and four, an overline.

The rules are those of the Renju International Federation (renju.net, sections 3 and 9):

* A *five* is exactly five black stones in a row, an *overline* more than five.
* A *four* is four stones to which one more makes a five, a *straight four* four in a row that
  become a five at either end.
* A *three* is three stones to which one more, that makes no five elsewhere, makes a straight four.
* A move that makes no five is forbidden if it makes an overline, two fours, or two threes. Two
  fours may lie in one line: ``X.XXX.X``.
* A three counts only if the stone that makes the straight four of it is not forbidden itself, the
  new stone standing; and so on, as deep as it goes.

Three questions are asked of each of the four lines through a cell: how long is the row, how many
fours does it hold, and where would a stone make a straight four? They look at the eleven cells of
the line around the stone. (The table of all such windows in
`hexenv.games.gomoku.patterns` would have to be part of every compiled search of Gomoku, and the
third question is not in it.)
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import copy_array, kernel, scratch_array
from hexenv.games.gomoku.stone_lines import DOWN, RIGHT, line_through, set_stone, take_stone

Lines = NDArray[np.uint32]
"""``(2, NUM_LINES)``: the lines of black, then of white; see `hexenv.games.gomoku.stone_lines`."""

ALLOWED, FIVE, OVERLINE, FOUR_AND_FOUR, THREE_AND_THREE = range(5)
REASONS: Final = ("", "", "an overline", "four and four", "three and three")
"""Why a verdict forbids a move; nothing for those that do not."""

REACH: Final = 5
"""How many cells to either side of the stone are looked at; its own bit in a window."""
STONE: Final = 1 << REACH
WINDOW: Final = (1 << (2 * REACH + 1)) - 1


@kernel
def cells_before(direction: int, rows: int, columns: int, row: int, column: int) -> int:
    """How many cells of the board lie before a cell on its line, where the bits are lower."""
    if direction == 0:
        return column
    if direction == 1:
        return row
    return min(row if direction == 2 else rows - 1 - row, column)


@kernel
def cells_after(direction: int, rows: int, columns: int, row: int, column: int) -> int:
    """How many cells of the board lie behind a cell on its line."""
    if direction == 0:
        return columns - 1 - column
    if direction == 1:
        return rows - 1 - row
    return min(rows - 1 - row if direction == 2 else row, columns - 1 - column)


@kernel
def own_window(lines: Lines, direction: int, row: int, column: int) -> int:
    """The black stones on a line around a cell, with one on the cell itself, as bits."""
    bit = row if direction == 1 else column
    line = int(lines[0, line_through(direction, row, column)])
    return (line << REACH >> bit) & WINDOW | STONE


@kernel
def free_window(
    lines: Lines, rows: int, columns: int, direction: int, row: int, column: int
) -> int:
    """The empty cells of the board on a line around a cell, as bits."""
    bit = row if direction == 1 else column
    line = line_through(direction, row, column)
    taken = int(lines[0, line] | lines[1, line]) << REACH >> bit
    first = max(0, REACH - cells_before(direction, rows, columns, row, column))
    last = min(2 * REACH, REACH + cells_after(direction, rows, columns, row, column))
    inside = ((1 << (last + 1)) - 1) >> first << first
    return inside & ~taken


@kernel
def row_length(own: int) -> int:
    """How many stones in a row the one in the middle of a window is part of."""
    length = 1
    place = REACH + 1
    while place <= 2 * REACH and (own >> place) & 1:
        length += 1
        place += 1
    place = REACH - 1
    while place >= 0 and (own >> place) & 1:
        length += 1
        place -= 1
    return length


@kernel
def straight_four_points(own: int, free: int) -> int:
    """The cells at which one more stone makes a straight four with the one in a window's middle.

    Their bits; `STONE` where the straight four is there already.
    """
    found = 0
    for start in range(REACH - 3, REACH + 1):
        ends = (1 | 1 << 5) << (start - 1)
        beyond = (1 | 1 << 7) << (start - 2)
        if free & ends == ends and own & beyond == 0:  # so that either end makes exactly five
            missing = 0b1111 << start & ~own
            if missing == 0:
                found |= STONE
            elif missing & (missing - 1) == 0:
                found |= missing & free
    return found


@kernel
def count_fours(own: int, free: int) -> int:
    """How many fours the stone in the middle of a window is part of."""
    fours = 0
    for start in range(REACH - 4, REACH + 1):
        beyond = (1 | 1 << 6) << (start - 1)
        missing = 0b11111 << start & ~own
        if missing & (missing - 1) == 0 and missing & free and own & beyond == 0:
            fours += 1
    if fours > 1 and straight_four_points(own, free) & STONE:
        fours -= 1  # a straight four is one four, which becomes a five in two ways
    return fours


@kernel
def first_verdict(lines: Lines, rows: int, columns: int, row: int, column: int) -> int:
    """What a black stone makes, with every three taken for one that counts; see `verdict`."""
    fours = threes = 0
    has_overline = False
    for direction in range(4):
        own = own_window(lines, direction, row, column)
        others = own ^ STONE
        if others & (others - 1) == 0:
            continue  # no three with less than two more stones
        length = row_length(own)
        if length == 5:
            return FIVE
        has_overline |= length > 5
        free = free_window(lines, rows, columns, direction, row, column)
        in_line = count_fours(own, free)
        fours += in_line
        if in_line == 0 and straight_four_points(own, free):
            threes += 1
    if has_overline:
        return OVERLINE
    if fours > 1:
        return FOUR_AND_FOUR
    return THREE_AND_THREE if threes > 1 else ALLOWED


@kernel
def verdict(lines: Lines, rows: int, columns: int, row: int, column: int) -> int:
    """What a black stone makes: `FIVE`, `ALLOWED`, or what is forbidden. `lines` stay as they are.

    The cell is empty, or has this very stone on it.
    """
    found = first_verdict(lines, rows, columns, row, column)
    if found == THREE_AND_THREE and not has_two_threes(lines, rows, columns, row, column):
        return ALLOWED
    return found


@kernel
def has_two_threes(lines: Lines, rows: int, columns: int, row: int, column: int) -> bool:
    """Whether at least two of the threes that a stone seems to make count.

    The recursion of the rule is a stack here, for compiled code. Each level is a stone put down
    for trial: the move in question, a stone that would make a straight four of one of its threes
    and seems to make two threes itself, and so on. A level looks along its four lines in turn, at
    the points that would make a straight four there.
    """
    black_and_white = scratch_array(lines.shape, np.uint32)
    copy_array(lines, black_and_white)
    black = black_and_white[0]
    # A row for each level: row, column, direction, points that are still to be tried, threes.
    levels = scratch_array((rows * columns + 1, 5), np.int64)
    level = 0
    open_level(levels[0], row, column)
    set_stone(black, row, column)
    while True:
        here = levels[level]
        if here[4] < 2 and next_point(black_and_white, rows, columns, here):
            to_row, to_column = take_point(here)
            found = first_verdict(black_and_white, rows, columns, to_row, to_column)
            if found == ALLOWED:
                count_three(here)
            elif found == THREE_AND_THREE:
                level += 1
                open_level(levels[level], to_row, to_column)
                set_stone(black, to_row, to_column)
            continue
        if level == 0:
            return here[4] >= 2
        take_stone(black, int(here[0]), int(here[1]))
        level -= 1
        if here[4] < 2:  # the stone is not forbidden, so it makes a straight four
            count_three(levels[level])


@kernel
def open_level(level: NDArray[np.int64], row: int, column: int) -> None:
    """Begin with a stone that is put down for trial; see `has_two_threes`."""
    level[0], level[1], level[2], level[3], level[4] = row, column, -1, 0, 0


@kernel
def count_three(level: NDArray[np.int64]) -> None:
    """Count the three of the line that a level looks along; the line holds no other."""
    level[3] = 0
    level[4] += 1


@kernel
def next_point(lines: Lines, rows: int, columns: int, level: NDArray[np.int64]) -> bool:
    """Go on to the next line with a point to try, where this one has none left."""
    row, column = int(level[0]), int(level[1])
    while level[3] == 0 and level[2] < 3:
        level[2] += 1
        direction = int(level[2])
        own = own_window(lines, direction, row, column)
        free = free_window(lines, rows, columns, direction, row, column)
        level[3] = straight_four_points(own, free) & ~STONE
    return level[3] != 0


@kernel
def take_point(level: NDArray[np.int64]) -> tuple[int, int]:
    """The row and column of the first point that is still to be tried, which it is now."""
    points = int(level[3])
    level[3] = points & (points - 1)
    distance = -REACH
    while not points & 1:
        points >>= 1
        distance += 1
    direction = int(level[2])
    forward = -1 if direction == 3 else 1  # bits of an antidiagonal go up the board
    row = int(level[0]) + forward * distance * DOWN[direction]
    return row, int(level[1]) + forward * distance * RIGHT[direction]
