"""Hex as an electrical circuit: which cells the current between a player's sides flows through.

Neighbouring cells are joined by wires of equal resistance, the player's stones hardly resist, the
opponent's let nothing through. A cell with much current is a good move (Anshelevich, "The game of
Hex: an automatic theorem proving approach to game programming", 2000, after Shannon).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.hex.h_search import Grid
from hexenv.compiled import kernel
from hexenv.games.base import EMPTY

SWEEPS: Final = 10
"""Iterations over a circuit."""
CONDUCTANCE: Final = 10.0
"""Of the wires to a stone, for each of the two ends that is one."""


@kernel
def settle_volts(
    grid: Grid, owners: NDArray[np.int8], player: int, volts: NDArray[np.float64]
) -> None:
    """Set the potentials between a player's sides, 1 and 0, to those of the circuit, nearly.

    Each sweep sets every cell to the mean of its neighbours (Gauss and Seidel), there and back.
    """
    size = len(grid.around)
    volts[:size] = 0.5
    for sweep in range(SWEEPS):
        for index in range(size):
            cell = index if sweep & 1 == 0 else size - 1 - index
            if owners[cell] == 1 - player:
                continue
            total, wires = 0.0, 0.0
            if grid.sides[player, cell] > 0:
                wires = conductance(owners, player, cell)
                total = wires if grid.sides[player, cell] == 1 else 0.0
            for i in range(6):
                near = int(grid.around[cell, i])
                if near >= 0 and owners[near] != 1 - player:
                    wire = conductance(owners, player, cell) * conductance(owners, player, near)
                    wires += wire
                    total += wire * volts[near]
            if wires > 0.0:
                volts[cell] = total / wires


@kernel
def conductance(owners: NDArray[np.int8], player: int, cell: int) -> float:
    """What a cell adds to that of its wires, as a factor."""
    return CONDUCTANCE if owners[cell] == player else 1.0


@kernel
def add_currents(
    grid: Grid,
    owners: NDArray[np.int8],
    player: int,
    volts: NDArray[np.float64],
    currents: NDArray[np.float64],
) -> None:
    """Add to each empty cell the share that it has of the current between a player's sides.

    Args:
        grid: The board.
        owners: ``(size,)``: the owners of the cells.
        player: The player.
        volts: ``(size,)``: scratch space.
        currents: ``(size,)``: what is added to; the whole current is 1, and a cell with all of it
            has 2, for what flows in and out.
    """
    settle_volts(grid, owners, player, volts)
    size = len(grid.around)
    whole = 1e-9
    for cell in range(size):
        if grid.sides[player, cell] == 1 and owners[cell] != 1 - player:
            whole += (1.0 - volts[cell]) * conductance(owners, player, cell)
    for cell in range(size):
        if owners[cell] != EMPTY:
            continue
        flow = 0.0
        if grid.sides[player, cell] > 0:
            flow = abs(volts[cell] - (1.0 if grid.sides[player, cell] == 1 else 0.0))
        for i in range(6):
            near = int(grid.around[cell, i])
            if near >= 0 and owners[near] != 1 - player:
                flow += abs(volts[cell] - volts[near]) * conductance(owners, player, near)
        currents[cell] += flow / whole
