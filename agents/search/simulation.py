"""One simulation: what was played, by whom, and what came of it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled, inlined_kernel, kernel


@compiled
class Simulation(NamedTuple):
    """The simulation under way, in arrays of ``(max_plies(),)`` that serve them all.

    The first `depth` plies were played in the tree; the playout's follow where it records them.
    """

    recorded: bool
    """Whether some part of the variant wants `cells`, and the playout's moves."""
    path: NDArray[np.int32]
    """The nodes below the root, in order, `depth` of them."""
    players: NDArray[np.int8]
    """Who played each ply."""
    cells: NDArray[np.int32]
    """What was played, as `Game.cell_of` says it; where `recorded`."""
    rewards: NDArray[np.float64]
    """What each node of the path counted: the reward of the player who chose it."""
    depth: NDArray[np.int32]
    """``(1,)``: plies in the tree."""
    length: NDArray[np.int32]
    """``(1,)``: plies that `players` and `cells` have, from the root."""
    result: NDArray[np.float64]
    """``(1,)``: of the game for player 0: 1 won, 0 drawn, -1 lost; an estimate lies between."""


@inlined_kernel
def new_simulation(game: Any, recorded: bool) -> Simulation:
    """An empty record for a game."""
    plies = game.max_plies()
    return Simulation(
        recorded,
        np.empty(plies, np.int32),
        np.empty(plies, np.int8),
        np.empty(plies, np.int32),
        np.empty(plies, np.float64),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.float64),
    )


@kernel
def record_move(game: Any, state: Any, action: int, simulation: Simulation) -> None:
    """Note an action that is about to be played in a playout."""
    ply = simulation.length[0]
    simulation.players[ply] = game.to_play(state)
    simulation.cells[ply] = game.cell_of(state, action)
    simulation.length[0] = ply + 1


# ---- what a part of a variant does where it has nothing to say: `update = no_update` -------------


@kernel
def no_update(self: Any, tree: Any, simulation: Simulation) -> None:
    """Learn nothing from a simulation."""


@kernel
def no_moves(self: Any) -> bool:
    """The moves of the playouts are of no interest."""
    return False


@kernel
def all_moves(self: Any) -> bool:
    """The moves of the playouts are wanted."""
    return True


def no_memory(self: Any, game: Any) -> Any:
    """Remember nothing: the part as it is."""
    return self
