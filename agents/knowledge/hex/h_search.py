"""Virtual connections between all places of a board of up to 13 x 13 cells: the H-search.

A *place* is an empty cell, a chain of a player's stones or one of the player's two sides. Two
places are *connected* on a carrier, a set of empty cells, if the player can join them even though
the opponent moves first and wherever else the opponent plays; they are *semi-connected* if the
player must move first, at the *key*. A connection of empty cells is one of the stones that might
be put there. Larger connections follow from smaller ones (Anshelevich, "A hierarchical approach to
computer Hex", Artificial Intelligence 134, 2002; Henderson, "Playing and solving the game of Hex",
2010):

* Neighbours are connected on the empty carrier.
* *And*: let x and y be connected, y and z be connected, on carriers without a common cell, and
  neither x nor z be in the other's carrier. If y is a chain, x and z are connected on both
  carriers. If it is an empty cell, they are semi-connected on both carriers and y, the key.
* *Or*: if no cell is in all carriers of some semi-connections of x and z, x and z are connected on
  the union of the carriers: one of them is left, wherever the opponent plays.

Nothing goes through a side, which would join all cells along it, and the lists of each pair of
places are short (`FULLS`, `SEMIS`): not all that there is is found, but what is found is proven.
Of two empty cells only small connections are kept (`OF_EMPTY`), as most of what comes of the others
comes from chains and sides as well. Carriers are extended in the order of their size, so the
lists keep the smallest, and what contains another of the same pair is left out (as Pawlewicz,
Hayward, Henderson and Arneson, "Stronger virtual connections in Hex", 2015).

Between a player's two sides, a connection wins whoever moves, and a semi-connection wins for the
player to move. All moves of the opponent that leave such a carrier as it is lose: what the carriers
have in common is the opponent's *must-play* region (Hayward, Bjornsson, Johanson, Kan, Po and van
Rijswijck, "Solving 7x7 Hex with domination, virtual connections, and game-state reduction", 2005).
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.bits import (
    NONE,
    common,
    contains,
    meet,
    one_bit,
    put_set,
    set_in,
    size_of,
    union,
)
from hexenv.compiled import NOT_NEGATIVE, compiled, inlined_kernel, kernel
from hexenv.games.base import EMPTY
from hexenv.games.hex import Hex

MOST_CELLS: Final = 169
"""Of a board."""
FULLS: Final = 10
"""The most connections that are kept of a pair of places, if nothing else is said. Longer lists
find little more (``tests/benchmarks/hex_connections.py``)."""
SEMIS: Final = 40
"""The most semi-connections that are kept of a pair of places, if nothing else is said."""
WINS: Final = 64
"""The most semi-connections that are kept of the two sides."""
LARGEST: Final = 60
"""Cells of a carrier, at most."""
OF_EMPTY: Final = 4
"""Cells of the carrier of a connection or semi-connection of two empty cells, at most, if nothing
else is said."""
MOST_EXTENDED: Final = 20_000
"""Connections that a search extends in one position for one player."""
WAITING: Final = 1 << 15
"""Connections that wait to be extended; the table of those places and carriers."""
IS_FULL: Final = -1
"""In place of a key."""
NOWHERE: Final = -1
"""The place of a cell with a stone of the opponent; the end of a list."""
FULL: Final = 0
SEMI: Final = 1
"""The two lists of a pair of places."""


# ---- the board -----------------------------------------------------------------------------------


AROUND: Final = ((1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1), (0, 1))
"""Steps to the six neighbours: rows down and columns to the right; clockwise from below."""


@compiled
class Grid(NamedTuple):
    """The board as `connect` sees it."""

    around: NDArray[np.int16]
    """``(size, 6)``: the neighbours of each cell, clockwise from below; -1 beyond the board."""
    sides: NDArray[np.int8]
    """``(2, size)``: for each player, 1 or 2 for the cells along the player's sides, else 0."""


def new_grid(rows: int, columns: int) -> Grid:
    """The neighbours and the sides of a board."""
    around = np.full((rows * columns, 6), NOWHERE, np.int16)
    sides = np.zeros((2, rows * columns), np.int8)
    for row, column in np.ndindex(rows, columns):
        cell = row * columns + column
        for i, (down, right) in enumerate(AROUND):
            if 0 <= row + down < rows and 0 <= column + right < columns:
                around[cell, i] = cell + down * columns + right
        sides[0, cell] = 1 if row == 0 else 2 if row == rows - 1 else 0
        sides[1, cell] = 1 if column == 0 else 2 if column == columns - 1 else 0
    return Grid(around, sides)


def cells_of(game: Any) -> int:
    """How many cells a board of Hex has; ValueError for another game."""
    if not isinstance(game, Hex):
        raise ValueError(f"expected Hex, for what is known of it, got {game}")
    return game.rows * game.columns


def new_owners(size: int) -> NDArray[np.int8]:
    """The owners of so many empty cells, with 0 and 1 behind them for what lies beyond."""
    owners: NDArray[np.int8] = np.full(size + 2, EMPTY, np.int8)
    owners[size:] = 0, 1
    return owners


# ---- the connections of a position ---------------------------------------------------------------


@compiled
class Connections(NamedTuple):
    """The connections of one player in one position.

    The places are numbered as their cells, chains as one of their stones; the sides, top or left
    first, are ``size`` and ``size + 1``.
    """

    place_of: NDArray[np.int16]
    """``(size + 2,)``: the place that each cell belongs to, or `NOWHERE`."""
    is_chain: NDArray[np.bool_]
    """``(size + 2,)``: whether a place is a chain of stones."""
    partners: NDArray[np.int16]
    """``(size + 2, size + 2)``: the places that are, or were, connected with each place, in the
    order in which that was found; of them there are"""
    partner_counts: NDArray[np.int16]
    """``(size + 2,)``."""
    are_partners: NDArray[np.bool_]
    """``(pairs,)``: whether the places of a pair are partners."""
    sets: NDArray[np.int64]
    """``(pairs * (most_fulls + most_semis) + WINS, 3)``: the carriers of each pair, first those of
    its connections; the semi-connections of the two sides, the last pair, have the room behind."""
    keys: NDArray[np.int16]
    """Of so many: the keys of semi-connections."""
    counts: NDArray[np.int16]
    """``(pairs, 2)``: how many connections and semi-connections a pair has."""
    carriers: NDArray[np.int64]
    """``(WAITING, 3)``: of the connections that wait,"""
    ends: NDArray[np.int16]
    """``(WAITING, 3)``: their two places, and the key or `IS_FULL`,"""
    following: NDArray[np.int32]
    """``(WAITING,)``: and which comes next in the list of the same size."""
    heads: NDArray[np.int32]
    """``(LARGEST + 3,)``: the first in the list of each size; then that of the rows that are free
    again, and how many rows were ever used."""
    most_fulls: int
    """The most connections of a pair."""
    most_semis: int
    """The most semi-connections of a pair."""
    of_empty: int
    """The most cells of a carrier between two empty cells."""


def new_connections(
    size: int,
    most_fulls: int = FULLS,
    most_semis: int = SEMIS,
    of_empty: int = OF_EMPTY,
) -> Connections:
    """Room for the connections on a board of so many cells.

    Args:
        size: Of the board.
        most_fulls: The most connections that are kept of a pair of places.
        most_semis: The most semi-connections that are kept of a pair of places.
        of_empty: The most cells of a carrier between two empty cells.

    Raises:
        ValueError: If there are more cells than `MOST_CELLS`.
    """
    if size > MOST_CELLS:
        raise ValueError(f"expected a board of Hex of at most {MOST_CELLS} cells, got {size}")
    places = size + 2
    pairs = places * (places - 1) // 2
    rows = pairs * (most_fulls + most_semis) + WINS
    return Connections(
        np.zeros(places, np.int16),
        np.zeros(places, np.bool_),
        np.zeros((places, places), np.int16),
        np.zeros(places, np.int16),
        np.zeros(pairs, np.bool_),
        np.zeros((rows, 3), np.int64),
        np.zeros(rows, np.int16),
        np.zeros((pairs, 2), np.int16),
        np.zeros((WAITING, 3), np.int64),
        np.zeros((WAITING, 3), np.int16),
        np.zeros(WAITING, np.int32),
        np.zeros(LARGEST + 3, np.int32),
        most_fulls,
        most_semis,
        of_empty,
    )


@inlined_kernel
def pair_of(one: int, other: int) -> int:
    """The number of a pair of places."""
    low, high = min(one, other), max(one, other)
    return (high * (high - 1) // 2 + low) & NOT_NEGATIVE


# ---- places --------------------------------------------------------------------------------------


@kernel
def name_chains(grid: Grid, owners: NDArray[np.int8], player: int, links: Connections) -> bool:
    """Fill `place_of` and `is_chain`; returns whether the player's stones join both sides."""
    size = len(owners)
    place_of, is_chain = links.place_of, links.is_chain
    for cell in range(size):
        place_of[cell] = cell if owners[cell] == EMPTY else NOWHERE
        is_chain[cell] = owners[cell] == player
    for side in (size, size + 1):
        place_of[side] = side
        is_chain[side] = True
    stack = links.partners[0]
    for start in range(2 * size):  # the chains of the sides first
        cell = start % size
        if owners[cell] != player or place_of[cell] != NOWHERE:
            continue
        side = int(grid.sides[player, cell])
        if start < size and side == 0:
            continue
        name = cell if start >= size else size + side - 1
        place_of[cell] = name
        stack[0] = cell
        height = 1
        while height > 0:
            height -= 1
            here = int(stack[height])
            if grid.sides[player, here] > 0 and size + int(grid.sides[player, here]) - 1 != name:
                return True
            for i in range(6):
                near = int(grid.around[here, i])
                if near >= 0 and owners[near] == player and place_of[near] == NOWHERE:
                    place_of[near] = name
                    stack[height] = near
                    height += 1
    return False


@inlined_kernel
def write(links: Connections, row: int, carrier: tuple[int, int, int], key: int) -> None:
    """Put a connection into a row."""
    put_set(links.sets, row, carrier)
    links.keys[row] = key


@kernel
def make_partners(links: Connections, pair: int, one: int, other: int) -> None:
    """Let the places of a pair find each other."""
    if links.are_partners[pair]:
        return
    for place, partner in ((one, other), (other, one)):
        count = int(links.partner_counts[place])
        links.partners[place, count] = partner
        links.partner_counts[place] = count + 1
    links.are_partners[pair] = True


# ---- the lists -----------------------------------------------------------------------------------


@inlined_kernel
def first_row(links: Connections, pair: int, kind: int) -> int:
    """Where a list of a pair begins."""
    row = pair * (links.most_fulls + links.most_semis) + kind * links.most_fulls
    return row & NOT_NEGATIVE


@inlined_kernel
def room_of(links: Connections, pair: int, kind: int) -> int:
    """How many connections a list takes."""
    if kind == FULL:
        return links.most_fulls
    return WINS if pair == len(links.counts) - 1 else links.most_semis


@inlined_kernel
def may_take(links: Connections, pair: int, kind: int) -> bool:
    """Whether a list may take another connection."""
    return bool(links.counts[pair, kind] < room_of(links, pair, kind))


@inlined_kernel
def is_implied(links: Connections, pair: int, carrier: tuple[int, int, int], kind: int) -> bool:
    """Whether a carrier contains that of a connection as good, of the same pair."""
    first = first_row(links, pair, FULL)
    for row in range(first, first + int(links.counts[pair, FULL])):
        if contains(carrier, set_in(links.sets, row)):
            return True
    if kind == SEMI:
        first += links.most_fulls
        for row in range(first, first + int(links.counts[pair, SEMI])):
            if contains(carrier, set_in(links.sets, row)):
                return True
    return False


@inlined_kernel
def add(links: Connections, one: int, other: int, carrier: tuple[int, int, int], key: int) -> None:
    """Let a connection wait to be extended, if it is new and not too large."""
    size = size_of(carrier)
    if size > links.of_empty and not links.is_chain[one] and not links.is_chain[other]:
        return
    pair, kind = pair_of(one, other), FULL if key == IS_FULL else SEMI
    if size > LARGEST or not may_take(links, pair, kind):
        return
    if is_implied(links, pair, carrier, kind):
        return
    row = int(links.heads[LARGEST + 1])
    if row != NOWHERE:
        links.heads[LARGEST + 1] = links.following[row]
    elif links.heads[LARGEST + 2] < WAITING:
        row = int(links.heads[LARGEST + 2])
        links.heads[LARGEST + 2] += 1
    else:
        return
    links.following[row] = links.heads[size]
    links.heads[size] = row
    put_set(links.carriers, row, carrier)
    links.ends[row, 0], links.ends[row, 1], links.ends[row, 2] = one, other, key


@kernel
def forget_waiting(links: Connections) -> None:
    """Empty the lists of connections that wait."""
    links.heads[:] = NOWHERE
    links.heads[LARGEST + 2] = 0


@kernel
def begin(grid: Grid, owners: NDArray[np.int8], player: int, links: Connections) -> None:
    """Empty all lists, and let the connections of neighbours wait."""
    size = len(owners)
    links.counts[:] = 0
    links.are_partners[:] = False
    links.partner_counts[:] = 0
    forget_waiting(links)
    for cell in range(size):
        if owners[cell] != EMPTY:
            continue
        for i in range(6):
            near = int(grid.around[cell, i])
            if near >= 0 and (owners[near] == player or (owners[near] == EMPTY and near < cell)):
                add(links, cell, int(links.place_of[near]), NONE, IS_FULL)
        if grid.sides[player, cell] > 0:
            add(links, cell, size + int(grid.sides[player, cell]) - 1, NONE, IS_FULL)


# ---- the rules -----------------------------------------------------------------------------------


@inlined_kernel
def apply_and(links: Connections, end: int, middle: int, carrier: tuple[int, int, int]) -> None:
    """Go on from a connection of an end with a middle, to all that is connected with the middle."""
    is_chain = links.is_chain[middle]
    through = carrier if is_chain else union(carrier, one_bit(middle))
    avoided = union(carrier, one_bit(end))
    key = IS_FULL if is_chain else middle
    only_chains = size_of(through) > links.of_empty and not links.is_chain[end]
    for i in range(int(links.partner_counts[middle])):
        far = int(links.partners[middle, i]) & NOT_NEGATIVE
        if only_chains and not links.is_chain[far]:  # too large between empty cells
            continue
        if far == end or meet(carrier, one_bit(far)):
            continue
        pair = pair_of(middle, far)
        first = first_row(links, pair, FULL)
        for row in range(first, first + int(links.counts[pair, FULL])):
            rest = set_in(links.sets, row)
            if not meet(rest, avoided):
                add(links, end, far, union(through, rest), key)


@inlined_kernel
def apply_or(links: Connections, one: int, other: int, pair: int, last: int) -> None:
    """Find the connections that follow from a semi-connection of a pair and those before it.

    From each pair that it makes with another, semi-connections are added that leave less in common,
    those first that leave nothing, until nothing is in common or what follows is known.
    """
    first = first_row(links, pair, SEMI)
    newest = set_in(links.sets, last)
    in_all = newest
    for second in range(first, last):
        in_all = common(in_all, set_in(links.sets, second))
    if in_all != NONE:
        return
    for second in range(first, last):
        carrier = set_in(links.sets, second)
        shared, whole = common(newest, carrier), union(newest, carrier)
        while shared != NONE and not is_implied(links, pair, whole, FULL):
            chosen = NOWHERE
            for third in range(first, last):
                left = common(shared, set_in(links.sets, third))
                if left == NONE:
                    chosen = third
                    break
                if chosen == NOWHERE and left != shared:
                    chosen = third
            if chosen == NOWHERE:
                break
            shared = common(shared, set_in(links.sets, chosen))
            whole = union(whole, set_in(links.sets, chosen))
        if shared == NONE:
            add(links, one, other, whole, IS_FULL)


@inlined_kernel
def keep(links: Connections, one: int, other: int, carrier: tuple[int, int, int], key: int) -> None:
    """Put a connection on the list of its pair, if there is room, and extend it."""
    pair, kind = pair_of(one, other), FULL if key == IS_FULL else SEMI
    if not may_take(links, pair, kind):
        return
    row = first_row(links, pair, kind) + int(links.counts[pair, kind])
    links.counts[pair, kind] += 1
    write(links, row, carrier, key)
    if kind == SEMI:
        apply_or(links, one, other, pair, row)
        return
    make_partners(links, pair, one, other)
    sides = len(links.place_of) - 2
    if other < sides:
        apply_and(links, one, other, carrier)
    if one < sides:
        apply_and(links, other, one, carrier)


@kernel
def extend(links: Connections, is_to_move: bool, most: int) -> bool:
    """Extend the connections that wait, by size, until the player wins or none is left.

    Returns:
        Whether the player wins, by a connection of the sides or, with the move, a semi-connection.
    """
    goal = len(links.counts) - 1
    for size in range(LARGEST + 1):
        while links.heads[size] != NOWHERE and most > 0:
            row = int(links.heads[size])
            links.heads[size] = links.following[row]
            links.following[row] = links.heads[LARGEST + 1]
            links.heads[LARGEST + 1] = row
            one, other = int(links.ends[row, 0]), int(links.ends[row, 1])
            key, carrier = int(links.ends[row, 2]), set_in(links.carriers, row)
            pair, kind = pair_of(one, other), FULL if key == IS_FULL else SEMI
            if not may_take(links, pair, kind) or is_implied(links, pair, carrier, kind):
                continue
            most -= 1
            keep(links, one, other, carrier, key)
            if pair == goal and (kind == FULL or is_to_move):
                return True
    return False


@kernel
def connect(
    grid: Grid,
    owners: NDArray[np.int8],
    player: int,
    is_to_move: bool,
    most: int,
    links: Connections,
) -> bool:
    """Find the connections of a player, until it is clear that the player wins.

    Args:
        grid: The board.
        owners: ``(size,)``: the owners of the cells.
        player: The player.
        is_to_move: Whether it is the player's move.
        most: Connections to extend, at most.
        links: Receives what is found.

    Returns:
        Whether the player wins: by stones, by a connection of the sides or, with the move, by a
        semi-connection. Then `winning_carrier` and `winning_key` are those of the win.
    """
    if name_chains(grid, owners, player, links):
        join_sides(links)
        return True
    begin(grid, owners, player, links)
    return extend(links, is_to_move, most)


@kernel
def sees_win(
    grid: Grid,
    owners: NDArray[np.int8],
    player: int,
    is_first: bool,
    most: int,
    links: Connections,
) -> bool:
    """Whether it is seen that the player to move wins: by stones, or first of all by `connect`.

    False proves nothing. In a later position, one more look for the player's connections finds
    little: most of what wins now was found one move before, and `must_play` left such moves of the
    opponent out. Where nobody looked one move before, some wins are missed.
    """
    if is_first:
        return connect(grid, owners, player, True, most, links)
    if not name_chains(grid, owners, player, links):
        return False
    join_sides(links)
    return True


@kernel
def join_sides(links: Connections) -> None:
    """Note that stones join the sides: a connection without a carrier, and nothing else matters."""
    goal = len(links.counts) - 1
    write(links, first_row(links, goal, FULL), NONE, IS_FULL)
    links.counts[goal, FULL], links.counts[goal, SEMI] = 1, 0


# ---- what follows for the game -------------------------------------------------------------------


@kernel
def winning_row(links: Connections) -> int:
    """The row of a connection of the sides; without one, of a semi-connection."""
    goal = len(links.counts) - 1
    return first_row(links, goal, FULL if links.counts[goal, FULL] > 0 else SEMI)


@kernel
def winning_carrier(links: Connections) -> tuple[int, int, int]:
    """The carrier of the win that `connect` has found; none where stones have joined the sides."""
    return set_in(links.sets, winning_row(links))


@kernel
def winning_key(links: Connections) -> int:
    """Where the player who has the move must play for that win, or `IS_FULL`: anywhere."""
    return int(links.keys[winning_row(links)])


@kernel
def empty_cells(owners: NDArray[np.int8]) -> tuple[int, int, int]:
    """The set of the empty cells."""
    cells = NONE
    for cell in range(len(owners)):
        if owners[cell] == EMPTY:
            cells = union(cells, one_bit(cell))
    return cells


@kernel
def must_play(links: Connections, cells: tuple[int, int, int]) -> tuple[int, int, int]:
    """Those of some cells where the opponent of a player who has not won yet must play not to lose.

    Every other move leaves a semi-connection of the player's sides as it is.
    """
    goal = len(links.counts) - 1
    first = first_row(links, goal, SEMI)
    for row in range(first, first + int(links.counts[goal, SEMI])):
        cells = common(cells, set_in(links.sets, row))
    return cells
