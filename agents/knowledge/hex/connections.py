"""What the Hex solver finds out about one position: cells, chains, connections, inferior cells.

Sets of cells are the bits of one integer.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.bits import lowest, lowest_bit
from hexenv.compiled import kernel

MOST_CELLS: Final = 61
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


# ---- inferior cells ------------------------------------------------------------------------------


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


# ---- connections ---------------------------------------------------------------------------------


@kernel
def insert(carriers: NDArray[np.int64], count: int, carrier: int) -> int:
    """Add a carrier to a list without those that contain others.

    How many there are then, or -1 if the carrier is not among them.
    """
    for i in range(count):
        other = int(carriers[i])
        if other & carrier == other:
            return -1
    kept = 0
    for i in range(count):
        other = int(carriers[i])
        if other & carrier != carrier:
            carriers[kept] = other
            kept += 1
    if kept == len(carriers):
        return -1
    carriers[kept] = carrier
    return kept + 1


@kernel
def add_full(links: Links, side: int, place: int, carrier: int, tail: int) -> int:
    """Note a connection of a side with a place; returns the new end of the queue."""
    count = int(links.full_counts[side, place])
    count = insert(links.fulls[side, place], count, carrier)
    if count < 0 or tail == QUEUE:
        return tail
    links.full_counts[side, place] = count
    links.queue[tail, 0] = place
    links.queue[tail, 1] = carrier
    return tail + 1


@kernel
def add_semi(links: Links, side: int, place: int, carrier: int, tail: int) -> int:
    """Note a semi-connection, and each connection that follows from it and one or two others."""
    for i in range(int(links.full_counts[side, place])):
        other = int(links.fulls[side, place, i])
        if other & carrier == other:
            return tail
    semis = links.semis[side, place]
    count = insert(semis, int(links.semi_counts[side, place]), carrier)
    if count < 0:
        return tail
    links.semi_counts[side, place] = count
    for i in range(count - 1):
        second = int(semis[i])
        common = second & carrier
        if common == 0:
            tail = add_full(links, side, place, second | carrier, tail)
            continue
        for j in range(i):
            third = int(semis[j])
            if third & common == 0 and third & carrier != 0 and third & second != 0:
                tail = add_full(links, side, place, second | third | carrier, tail)
    return tail


@kernel
def add_link(links: Links, side: int, place: int, carrier: int, is_full: bool, tail: int) -> int:
    """Note a connection or a semi-connection."""
    if is_full:
        return add_full(links, side, place, carrier, tail)
    return add_semi(links, side, place, carrier, tail)


@kernel
def extend(
    board: Board,
    links: Links,
    player: int,
    empty: int,
    side: int,
    place: int,
    carrier: int,
    tail: int,
) -> int:
    """Go on from a connection of a side with a place to all that is adjacent or a bridge away.

    If the place is empty, its owner has first to play there: what follows is a semi-connection.
    """
    beside = links.beside[player]
    here = 1 << place
    is_full = here & empty == 0
    used = carrier | (here & empty)
    closed = used | here | 1 << (board.size + side)
    near = int(beside[place])
    targets = near & ~closed
    while targets:
        tail = add_link(links, side, lowest(targets), used, is_full, tail)
        targets &= targets - 1
    free = near & empty & ~used
    bits = free
    while bits:
        targets |= int(beside[lowest(bits)])
        bits &= bits - 1
    targets &= ~(near | closed)
    while targets:
        between = free & int(beside[lowest(targets)])
        rest = between & (between - 1)
        if rest:
            bridge = used | lowest_bit(between) | lowest_bit(rest)
            tail = add_link(links, side, lowest(targets), bridge, is_full, tail)
        targets &= targets - 1
    return tail


@kernel
def grow(board: Board, links: Links, player: int, empty: int, side: int) -> None:
    """Find the connections of one of a player's sides with all places."""
    for place in range(board.size + 2):
        links.full_counts[side, place] = 0
        links.semi_counts[side, place] = 0
    goal = board.size + 1 - side
    tail = extend(board, links, player, empty, side, board.size + side, 0, 0)
    head = 0
    while head < tail and int(links.full_counts[side, goal]) == 0:
        place, carrier = int(links.queue[head, 0]), int(links.queue[head, 1])
        tail = extend(board, links, player, empty, side, place, carrier, tail)
        head += 1


@kernel
def join(board: Board, links: Links, place: int, is_stone: bool, count: int) -> int:
    """Note the wins that go from one side to a place and on to the other side; see `find_wins`."""
    wins, fulls, semis = links.wins, links.fulls, links.semis
    here = 0 if is_stone else 1 << place
    for i in range(int(links.full_counts[0, place])):
        first = int(fulls[0, place, i]) | here
        for j in range(int(links.full_counts[1, place])):
            if first & int(fulls[1, place, j]) == 0:
                if is_stone:
                    wins[0] = first | int(fulls[1, place, j])
                    return -1
                more = insert(wins, count, first | int(fulls[1, place, j]))
                count = more if more >= 0 else count
    if not is_stone:
        return count
    for side in range(2):
        for i in range(int(links.full_counts[side, place])):
            first = int(fulls[side, place, i])
            for j in range(int(links.semi_counts[1 - side, place])):
                if first & int(semis[1 - side, place, j]) == 0:
                    more = insert(wins, count, first | int(semis[1 - side, place, j]))
                    count = more if more >= 0 else count
    return count


@kernel
def find_wins(board: Board, links: Links, player: int, own: int, empty: int) -> int:
    """Fill `wins` with the semi-connections from side to side, where `beside` is filled.

    Returns:
        How many there are, or -1 if there is a connection, which is then the first of the list.
    """
    wins = links.wins
    count = 0
    for side in range(2):
        grow(board, links, player, empty, side)
        goal = board.size + 1 - side
        if links.full_counts[side, goal] > 0:
            wins[0] = links.fulls[side, goal, 0]
            return -1
        for i in range(int(links.semi_counts[side, goal])):
            more = insert(wins, count, int(links.semis[side, goal, i]))
            count = more if more >= 0 else count
    for place in range(board.size):
        is_stone = (own >> place) & 1 == 1
        count = join(board, links, place, is_stone, count)
        if count < 0:
            return -1
    return count


# ---- the order of moves --------------------------------------------------------------------------


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
