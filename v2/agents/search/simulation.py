"""One simulation: the moves, who made them, and the result; and what learns from it."""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled, kernel
from hexenv.games.base import Game, State

if TYPE_CHECKING:
    from agents.search.tree import Tree


@compiled
class Simulation(NamedTuple):
    """A simulation, in arrays ``(max_plies(),)`` that all simulations of a search use in turn.

    The first `depth` plies were played in the tree; those of the playout follow if `recorded`.
    """

    recorded: bool  # whether a part of the variant reads `cells` and the moves of the playout
    path: NDArray[np.int32]  # the `depth` nodes below the root, in order
    players: NDArray[np.int8]  # who played each ply
    cells: NDArray[np.int32]  # the moves, as `Game.cell_of` numbers them, if `recorded`
    rewards: NDArray[np.float64]  # of each node on the path, for the player who chose it
    actions: NDArray[np.int32]  # (num_actions(),): scratch space
    picked: NDArray[np.int32]  # (1,): where a playout policy found the action it chose; a hint
    depth: NDArray[np.int32]  # (1,): plies in the tree
    length: NDArray[np.int32]  # (1,): plies in `players` and `cells`, from the root
    result: NDArray[np.float64]  # (1,): for player 0, -1 lost to 1 won


def new_simulation(game: Game, recorded: bool) -> Simulation:
    """An empty record for a game. Plain Python: compiled searches make no arrays."""
    plies = game.max_plies()
    return Simulation(
        recorded,
        np.empty(plies, np.int32),
        np.empty(plies, np.int8),
        np.empty(plies, np.int32),
        np.empty(plies, np.float64),
        np.empty(game.num_actions(), np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.float64),
    )


@kernel
def record_move(game: Game, state: State, action: int, simulation: Simulation) -> None:
    """Record an action of the playout, before it is played."""
    ply = simulation.length[0]
    simulation.players[ply] = game.to_play(state)
    simulation.cells[ply] = game.cell_of(state, action)
    simulation.length[0] = ply + 1


# ---- parts of a variant --------------------------------------------------------------------------


class Part(Protocol):
    """What a selection rule, a playout policy and a reward all offer."""

    def update(self, tree: "Tree", simulation: Simulation) -> None:
        """Learn from a simulation, after the nodes on its path have counted it."""
        ...

    def needs_moves(self) -> bool:
        """Whether it reads the moves of the playouts, or the length of a simulation."""
        ...

    def with_memory(self, game: Game) -> Any:
        """The part with the arrays it needs for a game, empty. Plain Python.

        Raises:
            ValueError: If it makes no sense in the game.
        """
        ...


# Defaults for the methods that a part does not need: `update = no_update`.


@kernel
def no_update(self: Any, tree: "Tree", simulation: Simulation) -> None:
    """Learn nothing from a simulation."""


@kernel
def no_moves(self: Any) -> bool:
    """`needs_moves` of a part that does not read the moves of playouts."""
    return False


@kernel
def all_moves(self: Any) -> bool:
    """`needs_moves` of a part that does."""
    return True


def no_memory(self: Any, game: Game) -> Any:
    """`with_memory` of a part that keeps no arrays."""
    return self
