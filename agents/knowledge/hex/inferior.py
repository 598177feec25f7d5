"""Inferior cells: those that are dead, and those that a player has captured."""

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.hex.board import Board, Links
from agents.solvers.bits import lowest, lowest_bit
from hexenv.compiled import kernel


@kernel
def killers_of(beside: NDArray[np.int64], cell: int) -> int:
    """The neighbours of a cell without each of which all its other neighbours are adjacent.

    If all are adjacent as they are, no shortest path leads through the cell: it is dead, and all
    bits are set.
    """
    near = int(beside[cell])
    killers = -1
    bits = near
    while bits:
        missing = near & ~(int(beside[lowest(bits)]) | lowest_bit(bits))
        if missing & (missing - 1):
            killers &= lowest_bit(bits)
        elif missing:
            killers &= lowest_bit(bits) | missing
        bits &= bits - 1
    return killers


@kernel
def find_inferior(board: Board, links: Links, empty: int) -> int:
    """Fill `killers` for all empty cells; returns the dead cells."""
    dead = 0
    bits = empty
    while bits:
        cell = lowest(bits)
        for player in range(2):
            killers = killers_of(links.beside[player], cell)
            if killers == -1:
                dead |= 1 << cell
            links.killers[player, cell] = killers & empty
        bits &= bits - 1
    return dead


@kernel
def find_captured(links: Links, player: int, empty: int) -> int:
    """Cells that are as good as a player's: in pairs, where one answers and so kills the other."""
    captured = 0
    bits = empty
    while bits:
        cell = lowest(bits)
        others = int(links.killers[1 - player, cell]) & ~captured
        while others and not captured >> cell & 1:
            other = lowest(others)
            if int(links.killers[1 - player, other]) >> cell & 1:
                captured |= 1 << cell | 1 << other
            others &= others - 1
        bits &= bits - 1
    return captured
