"""Positions of Hex that are solved, a position and its half turn as one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.hex.board import UNKNOWN, Board
from agents.solvers.bits import lowest
from hexenv.compiled import kernel


class Table(NamedTuple):
    """Positions that are solved: who wins and on which carrier. Two entries may share a place."""

    stones: NDArray[np.int64]
    """``(entries, 2)``: the stones of both players, the whole position."""
    carriers: NDArray[np.int64]
    efforts: NDArray[np.int32]
    """How many positions it took, 0 for an empty entry: what took most is kept longest."""
    results: NDArray[np.int8]
    """The winner, and 2 more where player 1 is to move."""


def new_table(entries: int) -> Table:
    """An empty table."""
    return Table(
        np.zeros((entries, 2), np.int64),
        np.zeros(entries, np.int64),
        np.zeros(entries, np.int32),
        np.zeros(entries, np.int8),
    )


@kernel
def turned(board: Board, cells: int) -> int:
    """The cells after a half turn of the board."""
    image = 0
    while cells:
        image |= 1 << (board.size - 1 - lowest(cells))
        cells &= cells - 1
    return image


@kernel
def is_turned(board: Board, first: int, second: int) -> bool:
    """Whether a position is stored as its half turn, so that both are one."""
    image = turned(board, first)
    return image < first or (image == first and turned(board, second) < second)


@kernel
def is_entry(table: Table, entry: int, first: int, second: int, mover: int) -> bool:
    """Whether an entry is that of a position."""
    return bool(
        table.stones[entry, 0] == first
        and table.stones[entry, 1] == second
        and table.efforts[entry] > 0
        and table.results[entry] >> 1 == mover
    )


@kernel
def entry_of(table: Table, first: int, second: int, mover: int) -> int:
    """The entry of a position, or the one to overwrite for it."""
    mixed = (first % 1000000007) * 31 + (second % 998244353) * 1009 + mover
    entry = mixed % (len(table.carriers) - 1)
    for i in range(entry, entry + 2):
        if is_entry(table, i, first, second, mover):
            return i
    return entry if table.efforts[entry] <= table.efforts[entry + 1] else entry + 1


@kernel
def look_up(board: Board, table: Table, first: int, second: int, mover: int) -> tuple[int, int]:
    """The winner of a position, if known, and the carrier."""
    turns = is_turned(board, first, second)
    if turns:
        first, second = turned(board, first), turned(board, second)
    entry = entry_of(table, first, second, mover)
    if not is_entry(table, entry, first, second, mover):
        return UNKNOWN, 0
    carrier = int(table.carriers[entry])
    return int(table.results[entry]) & 1, turned(board, carrier) if turns else carrier


@kernel
def keep(
    board: Board,
    table: Table,
    first: int,
    second: int,
    mover: int,
    winner: int,
    carrier: int,
    effort: int,
) -> None:
    """Store who wins a position."""
    if is_turned(board, first, second):
        first, second = turned(board, first), turned(board, second)
        carrier = turned(board, carrier)
    entry = entry_of(table, first, second, mover)
    table.stones[entry, 0] = first
    table.stones[entry, 1] = second
    table.carriers[entry] = carrier
    table.efforts[entry] = effort
    table.results[entry] = winner + 2 * mover
