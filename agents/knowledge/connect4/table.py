"""What the Connect4 solver knows of positions met before."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.connect4.grid import Grid, mirrored, position_key
from hexenv.compiled import kernel

EARLY: Final = 20
"""Up to how many stones a node is worth more looks into the table: there a position and its mirror
image are one, and its replies are looked up before they are searched."""
MULTIPLIER: Final = 0x1E3779B97F4A7C15
"""An odd number: multiplying by it modulo a power of two shuffles and forgets nothing."""
SCORE_BITS: Final = 7
SCORE_ZERO: Final = 64
PLY_BITS: Final = 6


class Table(NamedTuple):
    """What is known of positions met before: two entries at each place, next to each other.

    An entry packs the tag that tells its position from all others of that place, the number of
    stones, and both bounds of the score. The first entry of a place keeps what has fewest stones,
    and so most work in it; the second what came last.
    """

    entries: NDArray[np.int64]
    tag_bits: int


def new_table(grid: Grid, entries: int) -> Table:
    """An empty table of at most so many entries, as many as are of use."""
    bits = grid.width * grid.height
    least = max(0, bits + 2 * SCORE_BITS + PLY_BITS - 63)  # a tag has to fit beside the rest
    places = min(bits, max(least, entries.bit_length() - 2))
    return Table(np.zeros(2 << places, np.int64), bits - places)


@kernel
def table_key(grid: Grid, mine: int, taken: int, ply: int) -> int:
    """The key of a position, shuffled: the upper bits are its place and the others its tag."""
    key = position_key(grid, mine, taken)
    if ply <= EARLY:
        key = min(key, mirrored(grid, key))
    return (key * MULTIPLIER) & ((1 << (grid.width * grid.height)) - 1)


@kernel
def look_up(table: Table, key: int) -> int:
    """Both bounds of a position as an entry packs them, or 0."""
    place = (key >> table.tag_bits) << 1
    tag = key & ((1 << table.tag_bits) - 1)
    for slot in range(place, place + 2):
        entry = int(table.entries[slot])
        if entry >> (2 * SCORE_BITS + PLY_BITS) == tag and entry != 0:
            return entry & ((1 << (2 * SCORE_BITS)) - 1)
    return 0


@kernel
def keep(table: Table, key: int, ply: int, low: int, high: int) -> None:
    """Write the bounds of a position into the table."""
    place = (key >> table.tag_bits) << 1
    tag = key & ((1 << table.tag_bits) - 1)
    bounds = (low + SCORE_ZERO) << SCORE_BITS | (high + SCORE_ZERO)
    entry = (tag << PLY_BITS | ply) << (2 * SCORE_BITS) | bounds
    first = int(table.entries[place])
    is_same = first >> (2 * SCORE_BITS + PLY_BITS) == tag
    kept_ply = (first >> (2 * SCORE_BITS)) & ((1 << PLY_BITS) - 1)
    if first == 0 or is_same or ply <= kept_ply:
        table.entries[place] = entry
    else:
        table.entries[place + 1] = entry
