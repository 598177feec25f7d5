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
Carriers are extended in the order of their size, so the lists keep the smallest, and what contains
another of the same pair is left out (as Pawlewicz, Hayward, Henderson and Arneson, "Stronger
virtual connections in Hex", 2015).

Between a player's two sides, a connection wins whoever moves, and a semi-connection wins for the
player to move. All moves of the opponent that leave such a carrier as it is lose: what the carriers
have in common is the opponent's *must-play* region (Hayward, Bjornsson, Johanson, Kan, Po and van
Rijswijck, "Solving 7x7 Hex with domination, virtual connections, and game-state reduction", 2005).
"""

from typing import Final, NamedTuple

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
from hexenv.compiled import compiled, kernel
from hexenv.games.base import EMPTY

MOST_CELLS: Final = 169
"""Of a board."""
FULLS: Final = 10
"""The most connections that are kept of a pair of places."""
SEMIS: Final = 20
"""The most semi-connections that are kept of a pair of places."""
WINS: Final = 64
"""The most semi-connections that are kept of the two sides."""
LARGEST: Final = 40
"""Cells of a carrier, at most."""
WAITING: Final = 1 << 15
"""Connections that wait to be extended; the table of those places and carriers."""
IS_FULL: Final = -1
"""In place of a key."""
NOWHERE: Final = -1
"""The place of a cell with a stone of the opponent; the end of a list."""


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
    """``(size + 2, size + 2)``: the places that are connected with each place, in the order in
    which that was found; of them there are"""
    partner_counts: NDArray[np.int16]
    """``(size + 2,)``."""
    fulls: NDArray[np.int64]
    """``(pairs * FULLS, 3)``: the carriers of the connections of each pair."""
    full_counts: NDArray[np.int16]
    """``(pairs,)``."""
    semis: NDArray[np.int64]
    """``(pairs * SEMIS + WINS, 3)``: the carriers of semi-connections; those of the two sides, the
    last pair, have the room behind."""
    keys: NDArray[np.int16]
    """``(pairs * SEMIS + WINS,)``: their keys."""
    semi_counts: NDArray[np.int16]
    """``(pairs,)``."""
    carriers: NDArray[np.int64]
    """``(WAITING, 3)``: of the connections that wait,"""
    ends: NDArray[np.int16]
    """``(WAITING, 3)``: their two places, and the key or `IS_FULL`,"""
    following: NDArray[np.int32]
    """``(WAITING,)``: and which comes next in the list of the same size."""
    heads: NDArray[np.int32]
    """``(LARGEST + 2,)``: the first in the list of each size; the last list is of unused rows."""


def new_connections(size: int) -> Connections:
    """Room for the connections on a board of so many cells.

    Raises:
        ValueError: If there are more than `MOST_CELLS`.
    """
    if size > MOST_CELLS:
        raise ValueError(f"expected a board of Hex of at most {MOST_CELLS} cells, got {size}")
    places = size + 2
    pairs = places * (places - 1) // 2
    return Connections(
        np.zeros(places, np.int16),
        np.zeros(places, np.bool_),
        np.zeros((places, places), np.int16),
        np.zeros(places, np.int16),
        np.zeros((pairs * FULLS, 3), np.int64),
        np.zeros(pairs, np.int16),
        np.zeros((pairs * SEMIS + WINS, 3), np.int64),
        np.zeros(pairs * SEMIS + WINS, np.int16),
        np.zeros(pairs, np.int16),
        np.zeros((WAITING, 3), np.int64),
        np.zeros((WAITING, 3), np.int16),
        np.zeros(WAITING, np.int32),
        np.zeros(LARGEST + 2, np.int32),
    )


@kernel
def pair_of(one: int, other: int) -> int:
    """The number of a pair of places."""
    low, high = min(one, other), max(one, other)
    return high * (high - 1) // 2 + low


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


# ---- the lists -----------------------------------------------------------------------------------


@kernel
def is_implied(links: Connections, pair: int, carrier: tuple[int, int, int], is_full: bool) -> bool:
    """Whether a carrier contains that of a connection as good, of the same pair."""
    for row in range(pair * FULLS, pair * FULLS + int(links.full_counts[pair])):
        if contains(carrier, set_in(links.fulls, row)):
            return True
    if not is_full:
        for row in range(pair * SEMIS, pair * SEMIS + int(links.semi_counts[pair])):
            if contains(carrier, set_in(links.semis, row)):
                return True
    return False


@kernel
def has_room(links: Connections, pair: int, is_full: bool) -> bool:
    """Whether the list of a pair is not full."""
    if is_full:
        return bool(links.full_counts[pair] < FULLS)
    return bool(links.semi_counts[pair] < (WINS if pair == len(links.full_counts) - 1 else SEMIS))


@kernel
def add(links: Connections, one: int, other: int, carrier: tuple[int, int, int], key: int) -> None:
    """Let a connection wait to be extended, if it is new."""
    size = size_of(carrier)
    free = int(links.heads[LARGEST + 1])
    pair, is_full = pair_of(one, other), key == IS_FULL
    if size > LARGEST or free == NOWHERE or not has_room(links, pair, is_full):
        return
    if is_implied(links, pair, carrier, is_full):
        return
    links.heads[LARGEST + 1] = links.following[free]
    links.following[free] = links.heads[size]
    links.heads[size] = free
    put_set(links.carriers, free, carrier)
    links.ends[free, 0], links.ends[free, 1], links.ends[free, 2] = one, other, key


@kernel
def begin(grid: Grid, owners: NDArray[np.int8], player: int, links: Connections) -> None:
    """Empty all lists, and let the connections of neighbours wait."""
    size = len(owners)
    links.full_counts[:] = 0
    links.semi_counts[:] = 0
    links.partner_counts[:] = 0
    links.heads[:] = NOWHERE
    for row in range(WAITING - 1):
        links.following[row] = row + 1
    links.following[WAITING - 1] = NOWHERE
    links.heads[LARGEST + 1] = 0
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


@kernel
def apply_and(links: Connections, end: int, middle: int, carrier: tuple[int, int, int]) -> None:
    """Go on from a connection of an end with a middle, to all that is connected with the middle."""
    is_chain = links.is_chain[middle]
    through = carrier if is_chain else union(carrier, one_bit(middle))
    own = one_bit(end)
    key = IS_FULL if is_chain else middle
    for i in range(int(links.partner_counts[middle])):
        far = int(links.partners[middle, i])
        if far == end or meet(carrier, one_bit(far)):
            continue
        pair = pair_of(middle, far)
        avoided = union(carrier, own)
        for row in range(pair * FULLS, pair * FULLS + int(links.full_counts[pair])):
            rest = set_in(links.fulls, row)
            if not meet(rest, avoided):
                add(links, end, far, union(through, rest), key)


@kernel
def apply_or(links: Connections, one: int, other: int, pair: int, last: int) -> None:
    """Find the connections that follow from the last semi-connection of a pair and others.

    From each pair that it makes with another, semi-connections are added that leave less in common,
    those first that leave nothing, until nothing is in common.
    """
    first = pair * SEMIS
    newest = set_in(links.semis, last)
    for second in range(first, last):
        carrier = set_in(links.semis, second)
        shared, whole = common(newest, carrier), union(newest, carrier)
        while shared != NONE:
            chosen = NOWHERE
            for third in range(first, last):
                left = common(shared, set_in(links.semis, third))
                if left == NONE:
                    chosen = third
                    break
                if chosen == NOWHERE and left != shared:
                    chosen = third
            if chosen == NOWHERE:
                break
            shared = common(shared, set_in(links.semis, chosen))
            whole = union(whole, set_in(links.semis, chosen))
        if shared == NONE:
            add(links, one, other, whole, IS_FULL)


@kernel
def keep_full(links: Connections, one: int, other: int, carrier: tuple[int, int, int]) -> None:
    """Put a connection on the list of its pair, and extend it."""
    pair = pair_of(one, other)
    count = int(links.full_counts[pair])
    put_set(links.fulls, pair * FULLS + count, carrier)
    links.full_counts[pair] = count + 1
    sides = len(links.place_of) - 2
    if other < sides:
        apply_and(links, one, other, carrier)
    if one < sides:
        apply_and(links, other, one, carrier)
    if count == 0:
        links.partners[one, links.partner_counts[one]] = other
        links.partner_counts[one] += 1
        links.partners[other, links.partner_counts[other]] = one
        links.partner_counts[other] += 1


@kernel
def keep_semi(
    links: Connections, one: int, other: int, carrier: tuple[int, int, int], key: int
) -> None:
    """Put a semi-connection on the list of its pair, and extend it."""
    pair = pair_of(one, other)
    row = pair * SEMIS + int(links.semi_counts[pair])
    put_set(links.semis, row, carrier)
    links.keys[row] = key
    links.semi_counts[pair] += 1
    apply_or(links, one, other, pair, row)


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
    goal = len(links.full_counts) - 1
    if name_chains(grid, owners, player, links):
        put_set(links.semis, goal * SEMIS, NONE)
        links.keys[goal * SEMIS] = IS_FULL
        return True
    begin(grid, owners, player, links)
    for size in range(LARGEST + 1):
        while links.heads[size] != NOWHERE and most > 0:
            row = int(links.heads[size])
            links.heads[size] = links.following[row]
            links.following[row] = links.heads[LARGEST + 1]
            links.heads[LARGEST + 1] = row
            one, other = int(links.ends[row, 0]), int(links.ends[row, 1])
            key = int(links.ends[row, 2])
            carrier, pair, is_full = (
                set_in(links.carriers, row),
                pair_of(one, other),
                key == IS_FULL,
            )
            if not has_room(links, pair, is_full) or is_implied(links, pair, carrier, is_full):
                continue
            most -= 1
            if pair == goal and (is_full or is_to_move):
                put_set(links.semis, goal * SEMIS, carrier)
                links.keys[goal * SEMIS] = key
                links.semi_counts[goal] = 1
                return True
            if is_full:
                keep_full(links, one, other, carrier)
            else:
                keep_semi(links, one, other, carrier, key)
    return False


# ---- what follows for the game -------------------------------------------------------------------


@kernel
def winning_carrier(links: Connections) -> tuple[int, int, int]:
    """The carrier of the win that `connect` has found; none where stones have joined the sides."""
    return set_in(links.semis, (len(links.full_counts) - 1) * SEMIS)


@kernel
def winning_key(links: Connections) -> int:
    """Where the player who has the move must play for that win, or `IS_FULL`: anywhere."""
    return int(links.keys[(len(links.full_counts) - 1) * SEMIS])


@kernel
def must_play(links: Connections, cells: tuple[int, int, int]) -> tuple[int, int, int]:
    """Those of some cells where the opponent of a player who has not won yet must play not to lose.

    Every other move leaves a semi-connection of the player's sides as it is.
    """
    goal = len(links.full_counts) - 1
    for row in range(goal * SEMIS, goal * SEMIS + int(links.semi_counts[goal])):
        cells = common(cells, set_in(links.semis, row))
    return cells
