"""Hex solved exactly: a depth-first search over virtual connections.

A *carrier* is a set of empty cells on which a player wins whatever happens elsewhere. Whatever
proves a win here, a pattern or a whole search, hands back its carrier, and carriers prune:

* A *connection* of two places holds even if the opponent moves first; a *semi-connection* only if
  its owner does. Larger ones follow from smaller ones by two rules (Anshelevich, "The game of Hex:
  an automatic theorem proving approach to game programming", AAAI 2000, where they are called
  virtual): in series, with disjoint carriers; and a set of semi-connections of which no cell is in
  all carriers is a connection. They grow here from a player's two sides inwards, by adjacent
  cells and bridges.
* *Must-play*: a move outside the carrier of an opponent's semi-connection from side to side loses
  to it. And if a move was searched and loses, so does each move outside the carrier of that loss
  (Hayward, Björnsson, Johanson, Kan, Po and van Rijswijck, "Solving 7x7 Hex with domination,
  virtual connections, and game-state reduction", TCS 2005). Where no move is left the position is
  lost, on the union of all these carriers.
* *Inferior cells* (Björnsson, Hayward, Johanson and van Rijswijck, "Dead cell analysis in Hex and
  the Shannon game", 2006): a cell is dead if no shortest path leads through it, whoever owns the
  rest. Dead cells are filled, and so are pairs in which a player can answer each stone of the
  opponent with one that makes it dead: the player has captured them. A move that a reply makes
  dead is not tried.
* Moves are judged before one is searched: by how many moves they leave to the opponent, and by
  the current that would flow through the cell if the board were an electrical circuit (Anshelevich
  2000, after Shannon).

Sets of cells are the bits of one integer, so a board has at most 61 cells (and two sides).
"""

import functools
import threading
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.solvers.questions import Clock
from hexenv.compiled import CompiledFunction, kernel
from hexenv.games import base
from hexenv.games.base import EMPTY, State
from hexenv.games.hex import Hex

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
SWEEPS: Final = 12
"""Iterations over a circuit."""
SLICE: Final = 1000
"""Positions between two looks at the clock."""

BIT_NUMBERS: Final = np.zeros(67, np.int64)
"""The number of a bit, found by what is left of it modulo 67."""
for _number in range(MOST_CELLS + 2):
    BIT_NUMBERS[(1 << _number) % 67] = _number


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


# ---- the board seen by one player ---------------------------------------------------------------


@kernel
def lowest(bits: int) -> int:
    """The number of the lowest bit; for a set that is not empty."""
    return int(BIT_NUMBERS[(bits & -bits) % 67])


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
def lowest_bit(bits: int) -> int:
    """The lowest bit alone."""
    return bits & -bits


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


# ---- inferior cells -----------------------------------------------------------------------------


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


# ---- connections --------------------------------------------------------------------------------


@kernel
def insert(carriers: NDArray[np.int64], count: int, carrier: int) -> int:
    """Add a carrier to a list without those that contain others.

    Returns:
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
    """Note the wins that go from one side to a place and on to the other side.

    Returns:
        The number of semi-connections from side to side then, or -1 if there is a connection,
        which is then the first of the list.
    """
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


# ---- the order of moves -------------------------------------------------------------------------


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


# ---- positions met before -----------------------------------------------------------------------


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


# ---- the search ---------------------------------------------------------------------------------


class Stack(NamedTuple):
    """The positions from the root to where the search is, a row each, so that it can pause."""

    stones: NDArray[np.int64]
    """``(depths, 2)``: of each player."""
    captured: NDArray[np.int64]
    """``(depths, 2)``: those of the stones that a player has only because they are captured."""
    killers: NDArray[np.int64]
    """``(depths, size)``: replies that make a move of the mover dead."""
    mover: NDArray[np.int64]
    must: NDArray[np.int64]
    """Moves that may still win."""
    proof: NDArray[np.int64]
    """All cells of the carriers that exclude the other moves; the winner's carrier at the end."""
    played: NDArray[np.int64]
    """The move being searched."""
    begun: NDArray[np.int64]
    """How many positions had been searched before this one."""
    currents: NDArray[np.float64]
    """``(depths, size)``: how good each move looks."""
    control: NDArray[np.int64]
    """The depth where the search is, and all positions so far."""


def new_stack(board: Board) -> Stack:
    """A stack for a board."""
    depths = board.size + 2
    return Stack(
        np.zeros((depths, 2), np.int64),
        np.zeros((depths, 2), np.int64),
        np.zeros((depths, board.size), np.int64),
        *(np.zeros(depths, np.int64) for _ in range(5)),
        currents=np.zeros((depths, board.size), np.float64),
        control=np.zeros(2, np.int64),
    )


@kernel
def fill_in(board: Board, links: Links, stack: Stack, depth: int) -> int:
    """Fill dead and captured cells with stones; returns who has joined both sides then, if any.

    Who wins stays the same. Where the owner of captured cells wins, they belong to the carrier.
    """
    stones, captured = stack.stones[depth], stack.captured[depth]
    captured[:] = 0
    while True:
        empty = board.everything & ~int(stones[0] | stones[1])
        for player in range(2):
            if link_neighbours(board, links, player, int(stones[player]), empty):
                return player
        fill = find_inferior(board, links, empty)
        stones[1] |= fill
        for player in range(2):
            if fill == 0:
                fill = find_captured(links, player, empty)
                stones[player] |= fill
                captured[player] |= fill
        if fill == 0:
            return UNKNOWN


@kernel
def restrict(links: Links, count: int, stack: Stack, depth: int) -> None:
    """Leave only moves that are in the carriers of all of the opponent's `wins`."""
    for i in range(count):
        carrier = int(links.wins[i])
        must = int(stack.must[depth])
        if must & carrier != must:
            stack.must[depth] = must & carrier
            stack.proof[depth] |= carrier


@kernel
def judge(board: Board, links: Links, stack: Stack, depth: int) -> int:
    """The winner, if connections show it, with the carrier in `proof`; else the moves to try."""
    mover = int(stack.mover[depth])
    mine, theirs = int(stack.stones[depth, mover]), int(stack.stones[depth, 1 - mover])
    empty = board.everything & ~(mine | theirs)
    if find_wins(board, links, mover, mine, empty) != 0:
        stack.proof[depth] = links.wins[0]
        return mover
    count = find_wins(board, links, 1 - mover, theirs, empty)
    if count < 0:
        stack.proof[depth] = links.wins[0]
        return 1 - mover
    stack.must[depth] = empty
    stack.proof[depth] = 0
    restrict(links, count, stack, depth)
    stack.killers[depth] = links.killers[mover]
    return UNKNOWN if moves_to_try(stack, depth) else lose(stack, depth)


@kernel
def moves_to_try(stack: Stack, depth: int) -> int:
    """Moves that may still win, without those that a reply makes dead.

    After such a move and that reply it is the mover's turn again, with nothing gained and one more
    stone against it. If there is a win then, the same move wins now already, and so on until it is
    a move of another kind.
    """
    moves = 0
    bits = int(stack.must[depth])
    while bits:
        if stack.killers[depth, lowest(bits)] == 0:
            moves |= lowest_bit(bits)
        bits &= bits - 1
    return moves


@kernel
def lose(stack: Stack, depth: int) -> int:
    """Add to the proof the replies to moves not tried; returns the winner, who is not the mover."""
    bits = int(stack.must[depth])
    while bits:
        stack.proof[depth] |= lowest_bit(bits) | lowest_bit(int(stack.killers[depth, lowest(bits)]))
        bits &= bits - 1
    return 1 - int(stack.mover[depth])


@kernel
def open_node(board: Board, table: Table, links: Links, stack: Stack, depth: int) -> int:
    """The winner of a position just reached, or UNKNOWN where moves have to be tried."""
    winner = fill_in(board, links, stack, depth)
    if winner != UNKNOWN:
        stack.proof[depth] = 0
        return winner
    first, second = int(stack.stones[depth, 0]), int(stack.stones[depth, 1])
    mover = int(stack.mover[depth])
    winner, carrier = look_up(board, table, first, second, mover)
    if winner != UNKNOWN:
        stack.proof[depth] = carrier
        return winner
    stack.begun[depth] = stack.control[1]
    stack.control[1] += 1
    winner = judge(board, links, stack, depth)
    if winner != UNKNOWN:
        keep(board, table, first, second, mover, winner, int(stack.proof[depth]), 1)
    return winner


@kernel
def best_of(currents: NDArray[np.float64], moves: int) -> int:
    """The most promising of some moves."""
    best = lowest(moves)
    while moves:
        if currents[lowest(moves)] > currents[best]:
            best = lowest(moves)
        moves &= moves - 1
    return best


@kernel
def put_child(stack: Stack, depth: int, cell: int) -> None:
    """Put the position after a move on the stack."""
    mover = int(stack.mover[depth])
    stack.played[depth] = cell
    stack.stones[depth + 1, mover] = int(stack.stones[depth, mover]) | (1 << cell)
    stack.stones[depth + 1, 1 - mover] = stack.stones[depth, 1 - mover]
    stack.mover[depth + 1] = 1 - mover


@kernel
def close_child(board: Board, table: Table, stack: Stack, depth: int, winner: int) -> int:
    """Note who wins after the move being searched; returns the winner here, if known by that."""
    mover = int(stack.mover[depth])
    carrier = int(stack.proof[depth + 1] | stack.captured[depth + 1, winner])
    if winner == mover:
        stack.proof[depth] = carrier | (1 << int(stack.played[depth]))
    else:
        stack.must[depth] &= carrier
        stack.proof[depth] |= carrier
        if moves_to_try(stack, depth):
            return UNKNOWN
        lose(stack, depth)
    first, second = int(stack.stones[depth, 0]), int(stack.stones[depth, 1])
    effort = int(stack.control[1] - stack.begun[depth])
    keep(board, table, first, second, mover, winner, int(stack.proof[depth]), effort)
    return winner


@kernel
def count_bits(bits: int) -> int:
    """How many bits are set."""
    count = 0
    while bits:
        count += 1
        bits &= bits - 1
    return count


@kernel
def look_ahead(board: Board, table: Table, links: Links, stack: Stack, depth: int) -> int:
    """Judge the positions after all moves, which orders them and may show the winner here.

    A move is good that takes much current, and leaves the opponent few moves that may win.
    """
    currents = stack.currents[depth]
    currents[:] = 0.0
    empty = board.everything & ~int(stack.stones[depth, 0] | stack.stones[depth, 1])
    for player in range(2):
        link_neighbours(board, links, player, int(stack.stones[depth, player]), empty)
        add_currents(board, links, player, empty, currents)
    seen = 0
    moves = moves_to_try(stack, depth)
    while moves:
        cell = best_of(currents, moves)
        seen |= 1 << cell
        put_child(stack, depth, cell)
        winner = open_node(board, table, links, stack, depth + 1)
        if winner != UNKNOWN:
            winner = close_child(board, table, stack, depth, winner)
            if winner != UNKNOWN:
                return winner
        else:
            currents[cell] -= count_bits(moves_to_try(stack, depth + 1))
        moves = moves_to_try(stack, depth) & ~seen
    return UNKNOWN


@kernel
def search(board: Board, table: Table, links: Links, stack: Stack, budget: int) -> int:
    """Go on with the search of the position in row 0 of the stack, for about so many positions.

    The search is a loop, not a recursion, so that it can stop for a look at the clock.

    Returns:
        The winner, whose carrier is then in row 0 of `proof`, or UNKNOWN if there is more to do.
    """
    depth = int(stack.control[0])
    end = int(stack.control[1]) + budget
    while stack.control[1] < end:
        winner = open_node(board, table, links, stack, depth)
        if winner == UNKNOWN:
            winner = look_ahead(board, table, links, stack, depth)
        while winner != UNKNOWN:
            if depth == 0:
                stack.control[0] = 0
                stack.proof[0] |= stack.captured[0, winner]
                return winner
            depth -= 1
            winner = close_child(board, table, stack, depth, winner)
        put_child(stack, depth, best_of(stack.currents[depth], moves_to_try(stack, depth)))
        depth += 1
    stack.control[0] = depth
    return UNKNOWN


compiled_search: Final = CompiledFunction(search)


# ---- positions of the game ----------------------------------------------------------------------


class HexSolver:
    """Solves positions of one board and remembers them.

    Args:
        rows: Of the board.
        columns: Of the board.
        entries: Of the table of solved positions, 29 bytes each.
        compiles: Whether to run as machine code.

    Raises:
        ValueError: If the board has more than 61 cells.
    """

    def __init__(
        self, rows: int, columns: int, entries: int = 1 << 20, compiles: bool = True
    ) -> None:
        if rows * columns > MOST_CELLS:
            raise ValueError(
                f"expected a board of Hex of at most {MOST_CELLS} cells, got {rows} x {columns}"
            )
        self.board = new_board(rows, columns)
        self._table = new_table(entries)
        self._stack = new_stack(self.board)
        self._arguments = (self.board, self._table, new_links(self.board), self._stack)
        self._run: Any = search
        if compiles:
            self._run = compiled_search.specialise(*self._arguments, SLICE)

    def solve(self, first: int, second: int, mover: int, clock: Clock) -> tuple[int, int]:
        """Who wins a position, and on which carrier.

        Args:
            first: The stones of player 0, as bits.
            second: The stones of player 1.
            mover: Whose turn it is.
            clock: It counts the positions searched, and ends the search when its time is over.
        """
        stack = self._stack
        stack.stones[0] = first, second
        stack.mover[0] = mover
        stack.control[0] = 0
        budget = SLICE if self._run is not search else SLICE // 100
        winner = UNKNOWN
        while winner == UNKNOWN:
            before = int(stack.control[1])
            winner = int(self._run(*self._arguments, budget))
            clock.count(int(stack.control[1]) - before)
        return winner, int(stack.proof[0])


_lock: Final = threading.Lock()


@functools.lru_cache(maxsize=2)
def shared_solver(rows: int, columns: int) -> HexSolver:
    """The solver of a board, which keeps what it found for the next call."""
    return HexSolver(rows, columns)


def solve(game: Hex, state: State, seconds: float | None = None) -> dict[int, int]:
    """The value of each legal action, 1 if it wins and -1 if it loses with perfect play.

    Args:
        game: Hex on a board of at most 61 cells. Up to 6x6 every position takes seconds at most,
            larger boards may take very long while they are nearly empty.
        state: The position; not changed.
        seconds: The time allowed; None for no limit.

    Raises:
        ValueError: If the board is too large.
        TimeoutError: If the time does not suffice; what was found is kept for the next call.
    """
    solver = shared_solver(game.rows, game.columns)
    clock = Clock(seconds)
    with _lock:
        return action_values(game, state, solver, clock)


def winner(game: Hex, state: State, seconds: float | None = None) -> int:
    """The player, 0 or 1, who wins with perfect play; arguments and errors as for `solve`."""
    solver = shared_solver(game.rows, game.columns)
    clock = Clock(seconds)
    with _lock:
        return winner_of(game, state, solver, clock)[0]


def action_values(game: Hex, state: State, solver: HexSolver, clock: Clock) -> dict[int, int]:
    """The value of each legal action.

    A move outside the carrier on which the opponent refutes another move loses as well.
    """
    mover, cells = game.to_play(state), solver.board.size
    must = solver.board.everything
    values = dict.fromkeys(base.legal_actions(game, state), -1)
    for action in sorted(values, key=lambda action: eccentricity(game, action)):
        if action < cells and not must >> action & 1:
            continue
        winner, carrier = winner_after(game, state, action, solver, clock)
        if winner == mover:
            values[action] = 1
        elif action < cells:
            must &= carrier
    return values


def eccentricity(game: Hex, action: int) -> int:
    """How far an action is from the centre, where the shortest losses begin; the swap is last."""
    row, column = divmod(action, game.columns)
    down, right = 2 * row - game.rows + 1, 2 * column - game.columns + 1
    return max(abs(down), abs(right), abs(down + right))


def winner_after(
    game: Hex, state: State, action: int, solver: HexSolver, clock: Clock
) -> tuple[int, int]:
    """As `winner_of`, after an action."""
    child = base.clone(game, state)
    game.step(child, action)
    return winner_of(game, child, solver, clock)


def winner_of(game: Hex, state: State, solver: HexSolver, clock: Clock) -> tuple[int, int]:
    """Who wins a position, and on which carrier; all cells, where the swap is needed for it."""
    if game.is_terminal(state):
        return int(state.winner), 0
    mover, board = game.to_play(state), solver.board
    if game.can_swap(state):
        if winner_after(game, state, board.size, solver, clock)[0] == mover:
            return mover, board.everything
    elif game.swap and state.ply == 0:
        values = action_values(game, state, solver, clock)
        return (mover if 1 in values.values() else 1 - mover), board.everything
    stones = [0, 0]
    for cell, owner in enumerate(base.cell_owners(game, state).flat):
        if owner != EMPTY:
            stones[owner] |= 1 << cell
    return solver.solve(stones[0], stones[1], mover, clock)
