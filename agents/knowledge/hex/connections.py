"""Connections and semi-connections, grown from a player's two sides until they meet."""

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.hex.board import QUEUE, Board, Links
from agents.solvers.bits import lowest, lowest_bit
from hexenv.compiled import kernel


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
