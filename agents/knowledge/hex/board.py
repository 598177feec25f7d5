"""The board of Hex to its solver: sets of cells, chains of stones, and what is beside them."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.solvers.bits import lowest, lowest_bit
from hexenv.compiled import kernel

MOST_CELLS: Final = 61
UNKNOWN: Final = -1
"""No winner yet."""
FULLS: Final = 6
"""Connections kept of one side with one place, and"""
SEMIS: Final = 12
"""semi-connections."""
QUEUE: Final = 2048
"""Connections that one side may grow from."""
WINS: Final = 48
"""Semi-connections from side to side that are kept."""


class Board(NamedTuple):
    """The board as constants."""

    size: int
    """Cells. The places ``size`` and ``size + 1`` are the two sides of a player."""
    everything: int
    around: NDArray[np.int64]
    """``(size,)``: the neighbours of each cell."""
    sides: NDArray[np.int64]
    """``(2, 2)``: the cells along each player's two sides."""


def new_board(rows: int, columns: int) -> Board:
    """The constants of a board."""
    around = np.zeros(rows * columns, np.int64)
    sides = np.zeros((2, 2), np.int64)
    for row, column in np.ndindex(rows, columns):
        cell = row * columns + column
        for down, right in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)):
            if 0 <= row + down < rows and 0 <= column + right < columns:
                around[cell] |= 1 << (cell + down * columns + right)
        is_along = ((row == 0, row == rows - 1), (column == 0, column == columns - 1))
        for player, side in np.ndindex(2, 2):
            if is_along[player][side]:
                sides[player, side] |= 1 << cell
    return Board(rows * columns, (1 << rows * columns) - 1, around, sides)


class Links(NamedTuple):
    """What is found out about one position. A chain of stones counts as its lowest stone."""

    beside: NDArray[np.int64]
    """``(2, size + 2)``: for each player and place, the empty cells, chains and sides beside it."""
    killers: NDArray[np.int64]
    """``(2, size)``: for each player and cell, at which cells a reply makes a stone there dead."""
    fulls: NDArray[np.int64]
    """``(2, size + 2, FULLS)``: carriers of connections of a player's side with a place."""
    full_counts: NDArray[np.int64]
    semis: NDArray[np.int64]
    """``(2, size + 2, SEMIS)``: carriers of semi-connections."""
    semi_counts: NDArray[np.int64]
    queue: NDArray[np.int64]
    """``(QUEUE, 2)``: places and carriers of the connections that are still to be extended."""
    wins: NDArray[np.int64]
    """``(WINS,)``: carriers of semi-connections from side to side."""
    volts: NDArray[np.float64]
    """``(size + 2,)``: the potential of each place in a player's circuit."""


def new_links(board: Board) -> Links:
    """Room for the connections on a board."""
    places = board.size + 2
    return Links(
        np.zeros((2, places), np.int64),
        np.zeros((2, board.size), np.int64),
        np.zeros((2, places, FULLS), np.int64),
        np.zeros((2, places), np.int64),
        np.zeros((2, places, SEMIS), np.int64),
        np.zeros((2, places), np.int64),
        np.zeros((QUEUE, 2), np.int64),
        np.zeros(WINS, np.int64),
        np.zeros(places, np.float64),
    )


@kernel
def flood(board: Board, seeds: int, stones: int) -> int:
    """All stones in chains with the seeds."""
    chain = 0
    fresh = seeds & stones
    while fresh:
        chain |= fresh
        bits, fresh = fresh, 0
        while bits:
            fresh |= int(board.around[lowest(bits)])
            bits &= bits - 1
        fresh &= stones & ~chain
    return chain


@kernel
def surroundings(board: Board, cells: int) -> int:
    """All cells next to one of these, some of them included."""
    found = 0
    while cells:
        found |= int(board.around[lowest(cells)])
        cells &= cells - 1
    return found


@kernel
def attach(beside: NDArray[np.int64], place: int, liberties: int) -> None:
    """Make a chain or a side and its liberties neighbours of each other."""
    beside[place] = liberties
    while liberties:
        beside[lowest(liberties)] |= 1 << place
        liberties &= liberties - 1


@kernel
def link_neighbours(board: Board, links: Links, player: int, own: int, empty: int) -> bool:
    """Fill `beside` for a player; returns whether the player's stones already join both sides."""
    beside = links.beside[player]
    beside[:] = 0
    bits = empty
    while bits:
        cell = lowest(bits)
        beside[cell] = int(board.around[cell]) & empty
        bits &= bits - 1
    for side in range(2):
        along = int(board.sides[player, side])
        chain = flood(board, along, own)
        if side == 0 and chain & int(board.sides[player, 1]):
            return True
        attach(beside, board.size + side, (along | surroundings(board, chain)) & empty)
        own &= ~chain
    while own:
        chain = flood(board, lowest_bit(own), own)
        attach(beside, lowest(own), surroundings(board, chain) & empty)
        own &= ~chain
    return False
