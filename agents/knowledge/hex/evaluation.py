"""How good a position of Hex looks: by electrical resistance, and by two-distance.

Both are evaluations for `agents.AlphaBeta`, and both compare what the players have between their
sides.

* *Resistance* (Anshelevich, "The game of Hex: an automatic theorem proving approach to game
  programming", 2000; "A hierarchical approach to computer Hex", 2002): the board is an electrical
  circuit for each player, whose own stones do not resist, and the value is (G - H) / (G + H) of the
  player's conductance G and the opponent's H. With virtual connections, connected places are joined
  by wires as neighbours are, and a win that they prove is 1, less `STONE_COST` for each stone that
  the winner needs at least: so games end.
* *Two-distance* (van Rijswijck, "Computer Hex: are bees better than fruitflies?", 2000): a cell
  beside a side is 1 from it, another one more than the second nearest of its neighbours, as the
  opponent takes the nearest. Through a chain of stones all cells beside it are neighbours. A
  player's distance D is the least sum of a cell's distances from both sides; the value is
  (E - D) / (E + D), E the opponent's.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.hex.h_search import (
    LARGEST,
    Connections,
    Grid,
    cells_of,
    connect,
    empty_cells,
    make_partners,
    name_chains,
    new_connections,
    new_grid,
    new_owners,
    pair_of,
)
from agents.knowledge.hex.inferior import fill_in, new_rings
from agents.knowledge.hex.shortest import stones_needed
from hexenv.compiled import compiled, kernel
from hexenv.games.base import EMPTY, State
from hexenv.games.hex import Hex

MOST_EXTENDED: Final = 5_000
"""Connections that are extended in one position for one player."""
FEW_FULLS: Final = 4
FEW_SEMIS: Final = 8
"""Connections and semi-connections that are kept of a pair of places."""
SWEEPS: Final = 40
"""Iterations over a circuit."""
BETWEEN_CHAINS: Final = 10.0
"""The conductance of a wire between two chains."""
STONE_COST: Final = 1e-4
"""What each stone that a winner still needs takes from the value of the win."""
UNREACHED: Final = 1_000
"""The two-distance of a cell that cannot be reached."""


# ---- electrical resistance -----------------------------------------------------------------------


@compiled
class Resistance(NamedTuple):
    """Evaluates by electrical resistance, with virtual connections if they are wanted."""

    connections: bool = True
    grid: Any = None
    rings: Any = None
    links: Any = None
    owners: Any = None
    """``(size + 2,)``: scratch space; the owners of the cells, filled in, and 0 and 1."""
    volts: Any = None
    """``(size + 2,)``: scratch space."""

    def with_memory(self, game: Any) -> "Resistance":
        """ValueError if the game is not Hex, or has more than `MOST_CELLS` cells."""
        size = cells_of(game)
        return self._replace(
            grid=new_grid(game.rows, game.columns),
            rings=new_rings(game.rows, game.columns),
            links=new_connections(size, FEW_FULLS, FEW_SEMIS, of_empty=LARGEST),  # all are wires
            owners=new_owners(size),
            volts=np.zeros(size + 2),
        )

    def evaluate(self, game: Hex, state: State, player: int) -> float:
        game.owners(state, self.owners)
        fill_in(self.rings, self.owners)
        mover = int(game.to_play(state))
        theirs = conductance_of(self, 1 - mover, False)
        if theirs == np.inf:
            value = STONE_COST * least_stones(self, game, state, 1 - mover) - 1.0
        else:
            mine = conductance_of(self, mover, True)
            if mine == np.inf:
                value = 1.0 - STONE_COST * least_stones(self, game, state, mover)
            else:
                value = (mine - theirs) / (mine + theirs + 1e-9)
        value = after_swap(game, state, value)
        return value if player == mover else -value


@kernel
def least_stones(self: Any, game: Hex, state: State, player: int) -> int:
    """The fewest stones with which a player joins both sides; the owners are read anew."""
    game.owners(state, self.owners)
    owners = self.owners[: len(self.grid.around)]
    return stones_needed(self.grid, owners, player, empty_cells(owners))


@kernel
def after_swap(game: Hex, state: State, value: float) -> float:
    """The value for the player to move, who may take the first stone over where that is better."""
    return abs(value) if game.can_swap(state) else value


@kernel
def conductance_of(self: Any, player: int, is_to_move: bool) -> float:
    """The conductance between a player's sides; infinite where they are connected for certain."""
    owners = self.owners[: len(self.grid.around)]
    if self.connections:
        if connect(self.grid, owners, player, is_to_move, MOST_EXTENDED, self.links):
            return np.inf
    elif link_neighbours(self.grid, owners, player, self.links):
        return np.inf
    return current_by_links(self.links, self.volts)


@kernel
def link_neighbours(grid: Grid, owners: NDArray[np.int8], player: int, links: Connections) -> bool:
    """Make partners of neighbours only; returns whether the player's stones join both sides."""
    if name_chains(grid, owners, player, links):
        return True
    links.partner_counts[:] = 0
    links.are_partners[:] = False
    for cell in range(len(owners)):
        if owners[cell] == EMPTY:
            for turn in range(7):
                place = place_beside(grid, links, player, cell, turn)
                if place >= 0:
                    make_partners(links, pair_of(cell, place), cell, place)
    return False


@kernel
def wire_between(links: Connections, one: int, other: int) -> float:
    """The conductance of the wire between two places: an empty cell resists by 1, a stone not."""
    resistance = (0.0 if links.is_chain[one] else 1.0) + (0.0 if links.is_chain[other] else 1.0)
    return 1.0 / resistance if resistance > 0.0 else BETWEEN_CHAINS


@kernel
def current_by_links(links: Connections, volts: NDArray[np.float64]) -> float:
    """The current between the sides of a player, from 1 to 0, along the wires of all partners.

    Each sweep sets every place to the mean of those that it is joined with (Gauss and Seidel),
    there and back. What flows in and what flows out are then nearly the same.
    """
    size = len(links.place_of) - 2
    volts[:size] = 0.5
    volts[size], volts[size + 1] = 1.0, 0.0
    for sweep in range(SWEEPS):
        for index in range(size):
            place = index if sweep & 1 == 0 else size - 1 - index
            if links.place_of[place] != place:
                continue
            total, wires = 0.0, 0.0
            for i in range(int(links.partner_counts[place])):
                other = int(links.partners[place, i])
                wire = wire_between(links, place, other)
                wires += wire
                total += wire * volts[other]
            if wires > 0.0:
                volts[place] = total / wires
    flow = 0.0
    for side in (size, size + 1):
        for i in range(int(links.partner_counts[side])):
            other = int(links.partners[side, i])
            flow += abs(volts[side] - volts[other]) * wire_between(links, side, other)
    return 0.5 * flow


# ---- two-distance --------------------------------------------------------------------------------


@compiled
class TwoDistance(NamedTuple):
    """Evaluates by two-distance."""

    grid: Any = None
    links: Any = None
    owners: Any = None
    """``(size + 2,)``: scratch space; the owners of the cells, and 0 and 1."""
    distances: Any = None
    """``(2, size)``: scratch space; of each cell from both sides."""
    nearest: Any = None
    """``(size + 2, 3)``: scratch space; of each chain the cells beside it that are nearest."""

    def with_memory(self, game: Any) -> "TwoDistance":
        """ValueError if the game is not Hex, or has more than `MOST_CELLS` cells."""
        size = cells_of(game)
        return self._replace(
            grid=new_grid(game.rows, game.columns),
            links=new_connections(size, 1, 1),
            owners=new_owners(size),
            distances=np.zeros((2, size), np.int32),
            nearest=np.zeros((size + 2, 3), np.int16),
        )

    def evaluate(self, game: Hex, state: State, player: int) -> float:
        game.owners(state, self.owners)
        mover = int(game.to_play(state))
        mine, theirs = distance_of(self, mover), distance_of(self, 1 - mover)
        value = after_swap(game, state, (theirs - mine) / (theirs + mine))
        return value if player == mover else -value


@kernel
def distance_of(self: Any, player: int) -> int:
    """The least sum of a cell's two-distances from both sides of a player."""
    grid, links, size = self.grid, self.links, len(self.grid.around)
    owners = self.owners[:size]
    if name_chains(grid, owners, player, links):
        return 0
    least = UNREACHED
    for side in range(2):
        spread_from(self, player, size + side, self.distances[side])
    for cell in range(size):
        if owners[cell] == EMPTY:
            least = min(least, int(self.distances[0, cell] + self.distances[1, cell]))
    return least


@kernel
def spread_from(self: Any, player: int, side: int, distances: NDArray[np.int32]) -> None:
    """Write the two-distances of all empty cells from a side."""
    size = len(self.grid.around)
    distances[:] = UNREACHED
    has_changed = True
    while has_changed:
        has_changed = False
        find_nearest(self, player, distances)
        for cell in range(size):
            if self.owners[cell] != EMPTY:
                continue
            found = two_distance(self, player, cell, side, distances)
            if found < distances[cell]:
                distances[cell] = found
                has_changed = True


@kernel
def place_beside(grid: Grid, links: Connections, player: int, cell: int, turn: int) -> int:
    """The empty cell or chain beside a cell in a direction, its side as the seventh; or -1."""
    if turn == 6:
        side = int(grid.sides[player, cell])
        return len(grid.around) + side - 1 if side > 0 else -1
    near = int(grid.around[cell, turn])
    return int(links.place_of[near]) if near >= 0 else -1


@kernel
def find_nearest(self: Any, player: int, distances: NDArray[np.int32]) -> None:
    """Write for each chain the three cells beside it that are nearest, or -1."""
    nearest = self.nearest
    nearest[:] = -1
    for cell in range(len(distances)):
        if self.owners[cell] != EMPTY:
            continue
        for turn in range(7):
            place = place_beside(self.grid, self.links, player, cell, turn)
            if place >= 0 and self.links.is_chain[place]:
                keep_nearest(nearest[place], cell, distances)


@kernel
def keep_nearest(kept: NDArray[np.int16], cell: int, distances: NDArray[np.int32]) -> None:
    """Put a cell among the nearest, which are in order, if it is one of them."""
    fresh = cell
    for i in range(len(kept)):
        if kept[i] == fresh:
            return
        if kept[i] < 0:
            kept[i] = fresh
            return
        if distances[fresh] < distances[kept[i]]:
            old = int(kept[i])
            kept[i] = fresh
            fresh = old


@kernel
def two_distance(self: Any, player: int, cell: int, side: int, distances: NDArray[np.int32]) -> int:
    """One more than the second least distance of the neighbours of a cell; 1 beside the side."""
    first, second, nearest = UNREACHED, UNREACHED, -1
    for turn in range(7):
        place = place_beside(self.grid, self.links, player, cell, turn)
        if place == side:
            return 1
        if place < 0:
            continue
        is_chain = bool(self.links.is_chain[place])
        for i in range(3 if is_chain else 1):
            near = int(self.nearest[place, i]) if is_chain else place
            if near < 0 or near in (cell, nearest):
                continue
            distance = int(distances[near])
            if distance < first:
                first, second, nearest = distance, first, near
            elif distance < second:
                second = distance
    return min(second + 1, UNREACHED)
