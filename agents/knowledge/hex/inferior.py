"""Inferior cells of Hex on boards of any size, by patterns.

The patterns and their proofs are in `agents.knowledge.hex.patterns`. Filling dead cells for either
player, captured cells for their owner, and permanently inferior cells for who has the stones beside
them, leaves the winner the same, and so it does again in the position that comes of it (Bjornsson,
Hayward, Johanson and van Rijswijck 2006). So all cells that are filled may be left out of the
moves; and so may the vulnerable ones of the rest, as long as another is left. For let a vulnerable
move win. After it and the reply that kills it, the player is to move, with more stones against it,
and still wins. A move that wins there wins now too. If it is vulnerable, the same is said of it;
each time fewer cells are empty, so this ends with a winning move that is not vulnerable.

A permanently inferior cell is filled because of a strategy on it and its three empty neighbours. So
the owner of a filled cell wins the position as it is on the carrier of the win in the filled one
*and these cells*; and what loses in the filled position because it is outside of a carrier loses in
the position as it is if it is outside of these cells as well. A move that wins in the filled
position wins in the position as it is: for the opponent there is one stone less, and for the owner
the cell may still be filled after any own move (`tests/test_hex_inferior.py` tries all).

Of these, a move may be left out that another, which is not left out, dominates: it wins if the
other does. That may be left out afterwards in the same way, but then there is a third one, and so
on; what was left out before dominates nothing, so of moves that dominate each other one stays. What
a vulnerable move dominates stays, as it might be the only win that is not vulnerable.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.bits import one_bit, put_set, set_in, union
from agents.knowledge.hex.h_search import AROUND, NOWHERE
from agents.knowledge.hex.patterns import BEYOND, PAIR_RING, RING, TOUCHED, read_tables, rings
from agents.knowledge.hex.surroundings import change_numbers, number_all
from hexenv.compiled import compiled, inlined_kernel, kernel, scratch_array
from hexenv.compiled.bits import lowest
from hexenv.games.base import EMPTY


def open_side(ring: tuple[int, ...]) -> int:
    """The direction of three empty cells of a ring, if a player has the others; else -1."""
    for turn in range(RING):
        turned = ring[turn - 1 :] + ring[: turn - 1]
        if turned in ((0, 0, 0, 1, 1, 1), (0, 0, 0, 2, 2, 2)):
            return turn
    return NOWHERE


_tables: Final = read_tables()
KILLERS: Final = np.frombuffer(bytes.fromhex(_tables["cells"]), np.int8).reshape(-1, 2)
"""``(3**6, 2)``: the cells of a ring where a stone of each player kills the cell inside, as bits;
below 0 if the cell is dead."""
CAPTURES: Final = np.array([int(digit) for digit in _tables["pairs"]], np.int8)
"""``(3**8,)``: which players capture the pair of cells inside a ring: bit 0 and bit 1."""
CAPTURING: Final = np.frombuffer(bytes.fromhex(_tables["capturers"]), np.uint8).reshape(-1, 2)
"""``(3**8, 2)``: the cells of a ring where a stone of each player captures the pair, as bits."""
DOMINATING: Final = np.array([int(digit, 16) for digit in _tables["dominance"]], np.int8)
"""``(3**8,)``: bit ``2 * player + cell``: that cell of a pair dominates the other for a player."""
FILLED: Final = np.array([int(digit) for digit in _tables["inferior"]], np.bool_)
"""``(3**7,)``: whether a cell is permanently inferior, by the cells beyond its empty neighbours."""
OPEN_TO: Final = np.array([open_side(ring) for ring in rings(RING)], np.int8)
"""``(3**6,)``: see `open_side`."""
DIRECTIONS: Final = 3
"""Of pairs: each pair is looked at from one of its cells."""


def parts_of_pairs() -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """What the ring of each cell of a pair adds to the number of the pair's ring.

    ``(3, 3**6)`` each, by the direction from the first cell to the second: the digits of the five
    cells around the first one, and of the three that are around the second one only.
    """
    digits = np.arange(3**RING) // 3 ** np.arange(RING)[:, None] % 3
    first, second = np.zeros((2, DIRECTIONS, 3**RING), np.int16)
    for turn in range(DIRECTIONS):
        for i in range(PAIR_RING):
            part, step = (first, i + 1) if i < RING - 1 else (second, i)
            part[turn] += digits[(turn + step) % RING] * 3**i
    return first, second


OF_FIRST, OF_SECOND = parts_of_pairs()


def directions_of(pairs: NDArray[np.bool_], turns: int) -> NDArray[np.uint8]:
    """By the ring of a cell, in which of the first directions there may be such a pair, as bits.

    `pairs`, ``(3**8,)``, says of each ring of a pair whether it is such a pair. In the first three
    directions the cell is the first of the pair, in the others the second.
    """
    found = np.zeros(3**RING, np.uint8)
    numbers = np.flatnonzero(pairs)
    for turn in range(turns):
        ring = np.zeros_like(numbers)  # the other cell of the pair is empty
        for i, place in enumerate(TOUCHED[2][turn // DIRECTIONS]):  # clockwise from the other cell
            ring += numbers // 3**place % 3 * 3 ** ((turn + 1 + i) % RING)
        found[ring] |= np.uint8(1 << turn)
    return found


CAPTURABLE: Final = directions_of(CAPTURES > 0, RING)
"""``(3**6,)``: with which neighbours a cell may be captured, by its ring, as bits."""
FILLABLE: Final = (KILLERS[:, 0] < 0) | (OPEN_TO != NOWHERE) | (CAPTURABLE > 0)
"""``(3**6,)``: whether a cell may be dead, permanently inferior or captured, by its ring."""
COMPARABLE: Final = np.stack(
    [
        directions_of((CAPTURING[:, player] | DOMINATING >> 2 * player & 3) > 0, DIRECTIONS)
        for player in (0, 1)
    ]
)
"""``(2, 3**6)``: with which neighbours in the first directions a cell may have to do with what a
move of a player dominates."""


@compiled
class Rings(NamedTuple):
    """The cells around cells.

    What lies beyond the board counts as a stone of who owns the side: ``size`` for player 0 and
    ``size + 1`` for player 1. Beyond the obtuse corners it may be either's.
    """

    of_cells: NDArray[np.int16]
    """``(size, 6)``: around each cell."""
    others: NDArray[np.int16]
    """``(size, 3)``: each cell's neighbour in the first directions, or -1."""
    of_pairs: NDArray[np.int16]
    """``(size, 3, 8)``: around each cell and that neighbour."""
    beyond: NDArray[np.int16]
    """``(size, 6, 7)``: around three neighbours of each cell, the middle one in that direction."""


def new_rings(rows: int, columns: int) -> Rings:
    """The rings of a board."""
    size = rows * columns

    def at(row: int, column: int) -> int:
        if 0 <= row < rows:
            return row * columns + column if 0 <= column < columns else size + 1
        return size

    of_cells = np.zeros((size, RING), np.int16)
    others = np.full((size, DIRECTIONS), NOWHERE, np.int16)
    of_pairs = np.full((size, DIRECTIONS, PAIR_RING), NOWHERE, np.int16)
    beyond = np.zeros((size, RING, BEYOND), np.int16)
    for row, column in np.ndindex(rows, columns):
        cell = row * columns + column
        of_cells[cell] = [at(row + down, column + right) for down, right in AROUND]
        for turn, (down, right) in enumerate(AROUND[:DIRECTIONS]):
            other = at(row + down, column + right)
            if other < size:
                steps = [AROUND[(turn + i) % RING] for i in range(RING)]
                around = steps[1:] + [(down + r, right + c) for r, c in (steps[5], *steps[:2])]
                others[cell, turn] = other
                of_pairs[cell, turn] = [at(row + r, column + c) for r, c in around]
        for turn in range(RING):
            steps = [AROUND[(turn + i) % RING] for i in range(RING)]
            ways = ((5, 4), (5, 5), (5, 0), (0, 0), (1, 0), (1, 1), (1, 2))
            around = [(steps[i][0] + steps[j][0], steps[i][1] + steps[j][1]) for i, j in ways]
            beyond[cell, turn] = [at(row + r, column + c) for r, c in around]
    return Rings(of_cells, others, of_pairs, beyond)


@inlined_kernel
def number_of_pair(numbers: NDArray[np.int32], cell: int, other: int, turn: int) -> int:
    """The number of the ring around an empty cell and its empty neighbour in a direction."""
    return int(OF_FIRST[turn, numbers[cell]]) + int(OF_SECOND[turn, numbers[other]])


@kernel
def captor_of(numbers: NDArray[np.int32], cell: int, other: int, turn: int) -> int:
    """Who captures an empty cell and its empty neighbour in a direction; EMPTY for nobody."""
    captors = int(CAPTURES[number_of_pair(numbers, cell, other, turn)])
    return EMPTY if captors == 0 else 0 if captors & 1 else 1


@kernel
def is_inferior(rings: Rings, owners: NDArray[np.int8], cell: int, turn: int, owner: int) -> bool:
    """Whether an empty cell between a player's stones and empty cells may be filled for them.

    The middle one of the empty cells is in a direction.
    """
    number, weight = 0, 1
    for i in range(BEYOND):
        other = int(owners[rings.beyond[cell, turn, i]])
        if other != EMPTY:
            number += weight if other == owner else 2 * weight
        weight *= 3
    return bool(FILLED[number])


@kernel
def fill_with(
    rings: Rings, owners: NDArray[np.int8], numbers: NDArray[np.int32], cell: int, owner: int
) -> None:
    """Put a player's stone on an empty cell."""
    owners[cell] = owner
    change_numbers(rings.of_cells, numbers, cell, 1 + owner, RING)


@kernel
def fill_cell(
    rings: Rings,
    owners: NDArray[np.int8],
    numbers: NDArray[np.int32],
    captured: NDArray[np.int64],
    cell: int,
    changed: NDArray[np.int16],
    count: int,
) -> int:
    """Put a stone on an empty cell if it is inferior, or on two if they are captured.

    The cells are added to those that have changed, of which there are `count`; returns how many
    there are then.
    """
    number = int(numbers[cell])
    changed[count] = cell
    if KILLERS[number, 0] < 0:
        fill_with(rings, owners, numbers, cell, 0)
        return count + 1
    side = int(OPEN_TO[number])
    if side != NOWHERE:
        owner = int(owners[rings.of_cells[cell, (side + 3) % RING]])
        if is_inferior(rings, owners, cell, side, owner):
            fill_with(rings, owners, numbers, cell, owner)
            carrier = one_bit(cell)
            for i in range(side + 5, side + 8):
                carrier = union(carrier, one_bit(int(rings.of_cells[cell, i % RING])))
            put_set(captured, owner, union(set_in(captured, owner), carrier))
            return count + 1
    turns = int(CAPTURABLE[number])
    while turns > 0:
        turn = lowest(turns)
        turns &= turns - 1
        other = int(rings.of_cells[cell, turn])
        if turn < DIRECTIONS:
            captor = captor_of(numbers, cell, other, turn)
        else:
            captor = captor_of(numbers, other, cell, turn - DIRECTIONS)
        if captor != EMPTY:
            fill_with(rings, owners, numbers, cell, captor)
            fill_with(rings, owners, numbers, other, captor)
            both = union(one_bit(cell), one_bit(other))
            put_set(captured, captor, union(set_in(captured, captor), both))
            changed[count + 1] = other
            return count + 2
    return count


@kernel
def fill_around(
    rings: Rings,
    owners: NDArray[np.int8],
    numbers: NDArray[np.int32],
    captured: NDArray[np.int64],
    changed: NDArray[np.int16],
    count: int,
) -> None:
    """Put stones on the inferior cells around cells that have changed, and so on.

    A permanently inferior cell that a change two steps away has made so may be left empty.

    Args:
        rings: Of the board.
        owners: ``(size + 2,)``: the owners of the cells, and 0 and 1. It is changed.
        numbers: ``(size,)``: the numbers of the rings. It is changed.
        captured: ``(2, 3)``: for each player, the set of the cells that the player needs for what
            is filled: captured cells, and permanently inferior ones with their empty neighbours.
            Those of what is filled are added.
        changed: ``(size,)``: the cells that have changed. It is changed.
        count: How many there are.
    """
    while count > 0:
        count -= 1
        cell = int(changed[count])
        for i in range(RING):
            near = int(rings.of_cells[cell, i])
            if near < len(rings.of_cells) and owners[near] == EMPTY and FILLABLE[numbers[near]]:
                count = fill_cell(rings, owners, numbers, captured, near, changed, count)


@kernel
def fill_all(
    rings: Rings,
    owners: NDArray[np.int8],
    numbers: NDArray[np.int32],
    captured: NDArray[np.int64],
    changed: NDArray[np.int16],
) -> None:
    """`fill_around` all cells of a board; `changed` is scratch space."""
    for cell in range(len(rings.of_cells)):
        if owners[cell] == EMPTY and FILLABLE[numbers[cell]]:
            count = fill_cell(rings, owners, numbers, captured, cell, changed, 0)
            fill_around(rings, owners, numbers, captured, changed, count)


@kernel
def fill_in(rings: Rings, owners: NDArray[np.int8]) -> None:
    """Put stones on dead, captured and permanently inferior cells, and on what that makes so.

    Args:
        rings: Of the board.
        owners: ``(size + 2,)``: the owners of the cells, and 0 and 1. It is changed.
    """
    size = len(rings.of_cells)
    captured, numbers = scratch_array((2, 3), np.int64), scratch_array(size, np.int32)
    captured[:] = 0
    number_all(rings.of_cells, owners, 0, numbers, RING)
    fill_all(rings, owners, numbers, captured, scratch_array(size, np.int16))


@kernel
def killer_of(rings: Rings, numbers: NDArray[np.int32], cell: int, player: int) -> int:
    """Where the opponent kills a stone of a player on an empty cell by one reply, or `NOWHERE`.

    `numbers` are those of the rings.
    """
    killers = int(KILLERS[numbers[cell], 1 - player])
    if killers <= 0:
        return NOWHERE
    return int(rings.of_cells[cell, lowest(killers)])


@kernel
def choose_moves(
    rings: Rings,
    owners: NDArray[np.int8],
    numbers: NDArray[np.int32],
    player: int,
    chosen: NDArray[np.int16],
) -> None:
    """Choose the moves that are neither vulnerable nor dominated.

    Args:
        rings: Of the board.
        owners: ``(size + 2,)``: the owners of the cells, filled in, and 0 and 1.
        numbers: ``(size,)``: the numbers of the rings.
        player: Who is to move.
        chosen: ``(size,)``: receives for each cell itself, if it is chosen; if it is dominated, a
            cell that dominates it, which may be dominated in turn; else -1.
    """
    turns = scratch_array(len(rings.of_cells), np.uint8)
    for cell in range(len(rings.of_cells)):
        chosen[cell] = NOWHERE
        turns[cell] = 0
        if owners[cell] == EMPTY:
            ring = int(numbers[cell])
            turns[cell] = COMPARABLE[player, ring]
            if KILLERS[ring, 1 - player] <= 0:
                chosen[cell] = cell
    for cell in range(len(rings.of_cells)):
        left = int(turns[cell])
        while left > 0:
            turn = lowest(left)
            left &= left - 1
            other = int(rings.others[cell, turn])
            if chosen[cell] != cell and chosen[other] != other:
                continue
            number = number_of_pair(numbers, cell, other, turn)
            for i in range(PAIR_RING):
                if CAPTURING[number, player] >> i & 1:
                    stone = int(rings.of_pairs[cell, turn, i])
                    prefer(chosen, stone, cell)
                    prefer(chosen, stone, other)
            bits = DOMINATING[number] >> 2 * player
            if bits & 1:
                prefer(chosen, cell, other)
            if bits & 2:
                prefer(chosen, other, cell)


@kernel
def prefer(chosen: NDArray[np.int16], better: int, worse: int) -> None:
    """Leave out a move that another dominates, if both are chosen."""
    if chosen[better] == better and chosen[worse] == worse:
        chosen[worse] = better


@kernel
def chosen_for(chosen: NDArray[np.int16], cell: int) -> int:
    """The move that is chosen in place of a cell, or the cell where there is none."""
    better = cell
    while chosen[better] != better and chosen[better] != NOWHERE:
        better = int(chosen[better])
    return better
