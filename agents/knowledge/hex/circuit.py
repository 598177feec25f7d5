"""The order of moves: the current through each cell, were the board an electrical circuit."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.hex.board import Board, Links
from agents.solvers.bits import lowest
from hexenv.compiled import kernel

SWEEPS: Final = 12
"""Iterations over a circuit."""


@kernel
def settle_volts(board: Board, links: Links, player: int) -> None:
    """Set the potentials between a player's sides, 1 and 0, to those of a circuit, nearly.

    Neighbours are joined by wires of equal resistance, chains and sides have none. Each sweep sets
    every place to the mean of its neighbours (Gauss and Seidel), there and back.
    """
    beside, volts = links.beside[player], links.volts
    for place in range(board.size):
        volts[place] = 0.5
    volts[board.size] = 1.0
    volts[board.size + 1] = 0.0
    for sweep in range(SWEEPS):
        for index in range(board.size):
            place = index if sweep & 1 == 0 else board.size - 1 - index
            total = 0.0
            wires = 0
            bits = int(beside[place])
            while bits:
                total += volts[lowest(bits)]
                wires += 1
                bits &= bits - 1
            if wires > 0:
                volts[place] = total / wires


@kernel
def add_currents(
    board: Board, links: Links, player: int, empty: int, currents: NDArray[np.float64]
) -> None:
    """Add to each empty cell the share that it has of the current between the player's sides."""
    settle_volts(board, links, player)
    beside, volts = links.beside[player], links.volts
    whole = 1e-9
    bits = int(beside[board.size])
    while bits:
        whole += 1.0 - volts[lowest(bits)]
        bits &= bits - 1
    while empty:
        place = lowest(empty)
        bits = int(beside[place])
        while bits:
            currents[place] += abs(volts[place] - volts[lowest(bits)]) / whole
            bits &= bits - 1
        empty &= empty - 1
