"""The memory of the Hex solver: a table of positions, solved and open, in bounded memory.

A position and its half turn are one: it is kept as it is or turned, whichever has the lower owner
in the first cell where they differ. The positions are kept whole, so none is taken for another.
Each may lie in one of `PLACES` entries; where all are taken, the new one replaces the one that took
the fewest positions to search.

A table can be saved: an ``npz`` archive without pickle, with the entries that are taken.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.core.formats import Format
from agents.knowledge.bits import NONE, WORD, meet, one_bit, union
from hexenv.compiled import CompiledFunction, compiled, kernel, uses_machine_code
from hexenv.games.base import EMPTY

PLACES: Final = 4
"""Entries, one after the other, of which a position takes one."""
MOST_EFFORT: Final = 1 << 30
FORMAT: Final = Format("hexenv table of the Hex solver")


@compiled
class Table(NamedTuple):
    """The entries. A set of cells takes as many words as the board needs."""

    stones: NDArray[np.int64]
    """``(entries, 2, words)``: the stones of both players."""
    cells: NDArray[np.int64]
    """``(entries, words)``: of a solved position, the winner's carrier; of another, the moves that
    may win, and in"""
    excluded: NDArray[np.int64]
    """``(entries, words)``: the union of the carriers that exclude the other moves."""
    numbers: NDArray[np.int32]
    """``(entries, 2)``: the proof and the disproof number."""
    efforts: NDArray[np.int32]
    """``(entries,)``: how many positions it took, 0 for an empty entry."""
    movers: NDArray[np.int8]
    """``(entries,)``: the player to move."""
    moves: NDArray[np.int16]
    """``(entries,)``: a winning move, where the player to move has won by one."""
    key: NDArray[np.int64]
    """``(2, words)``: scratch space; the position that was looked for last."""


def new_table(size: int, entries: int) -> Table:
    """An empty table for a board of so many cells."""
    words = -(-size // WORD)
    return Table(
        np.zeros((entries, 2, words), np.int64),
        np.zeros((entries, words), np.int64),
        np.zeros((entries, words), np.int64),
        np.zeros((entries, 2), np.int32),
        np.zeros(entries, np.int32),
        np.zeros(entries, np.int8),
        np.zeros(entries, np.int16),
        np.zeros((2, words), np.int64),
    )


@kernel
def is_turned(owners: NDArray[np.int8], size: int) -> bool:
    """Whether a position is kept as its half turn."""
    for cell in range(size // 2):
        if owners[cell] != owners[size - 1 - cell]:
            return bool(owners[size - 1 - cell] < owners[cell])
    return False


@kernel
def turned(cells: tuple[int, int, int], size: int) -> tuple[int, int, int]:
    """A set of cells after a half turn of the board."""
    image = NONE
    for cell in range(size):
        if meet(cells, one_bit(cell)):
            image = union(image, one_bit(size - 1 - cell))
    return image


@kernel
def read_set(sets: NDArray[np.int64], entry: int) -> tuple[int, int, int]:
    """The set of an entry."""
    words = sets.shape[1]
    return (
        int(sets[entry, 0]),
        int(sets[entry, 1]) if words > 1 else 0,
        int(sets[entry, 2]) if words > 2 else 0,
    )


@kernel
def write_set(sets: NDArray[np.int64], entry: int, cells: tuple[int, int, int]) -> None:
    """Write the set of an entry."""
    words = sets.shape[1]
    sets[entry, 0] = cells[0]
    if words > 1:
        sets[entry, 1] = cells[1]
    if words > 2:
        sets[entry, 2] = cells[2]


@kernel
def write_key(table: Table, owners: NDArray[np.int8], size: int) -> bool:
    """Write a position into `key`; returns whether it is turned."""
    turns = is_turned(owners, size)
    table.key[:] = 0
    for cell in range(size):
        owner = int(owners[size - 1 - cell] if turns else owners[cell])
        if owner != EMPTY:
            table.key[owner, cell // WORD] |= 1 << (cell % WORD)
    return turns


@kernel
def holds_key(table: Table, entry: int, mover: int) -> bool:
    """Whether an entry is that of the position in `key`."""
    if table.efforts[entry] == 0 or table.movers[entry] != mover:
        return False
    for word in range(table.key.shape[1]):
        for player in range(2):
            if table.stones[entry, player, word] != table.key[player, word]:
                return False
    return True


@kernel
def entry_of(table: Table, mover: int) -> tuple[int, bool]:
    """The entry of the position in `key`, and True; or the entry to replace, and False."""
    mixed = mover
    for word in range(table.key.shape[1]):
        for player in range(2):
            mixed = (mixed % 1000000007) * 1000003 + int(table.key[player, word]) % 998244353
            mixed ^= mixed >> 17
    first = mixed % (len(table.efforts) - PLACES + 1)
    cheapest = first
    for entry in range(first, first + PLACES):
        if holds_key(table, entry, mover):
            return entry, True
        if table.efforts[entry] < table.efforts[cheapest]:
            cheapest = entry
    return cheapest, False


@kernel
def put(
    table: Table,
    owners: NDArray[np.int8],
    mover: int,
    cells: tuple[int, int, int],
    excluded: tuple[int, int, int],
    numbers: tuple[int, int],
    effort: int,
    move: int,
) -> None:
    """Keep what is known of a position; see `Table`."""
    size = len(owners) - 2
    turns = write_key(table, owners, size)
    entry = entry_of(table, mover)[0]
    for word in range(table.key.shape[1]):
        for player in range(2):
            table.stones[entry, player, word] = table.key[player, word]
    write_set(table.cells, entry, turned(cells, size) if turns else cells)
    write_set(table.excluded, entry, turned(excluded, size) if turns else excluded)
    table.numbers[entry, 0], table.numbers[entry, 1] = numbers
    table.efforts[entry] = min(max(effort, 1), MOST_EFFORT)
    table.movers[entry] = mover
    table.moves[entry] = size - 1 - move if turns and move >= 0 else move


# ---- files ---------------------------------------------------------------------------------------


@kernel
def merge(table: Table, saved: Table) -> None:
    """Take the entries of another table of the same board, but where better ones are."""
    for row in range(len(saved.efforts)):
        table.key[:] = saved.stones[row]
        entry, is_there = entry_of(table, int(saved.movers[row]))
        if is_there or table.efforts[entry] > saved.efforts[row]:
            continue
        table.stones[entry] = saved.stones[row]
        table.cells[entry] = saved.cells[row]
        table.excluded[entry] = saved.excluded[row]
        table.numbers[entry] = saved.numbers[row]
        table.efforts[entry] = saved.efforts[row]
        table.movers[entry] = saved.movers[row]
        table.moves[entry] = saved.moves[row]


_merge: Final = CompiledFunction(merge)


def save_table(path: Path, table: Table, rows: int, columns: int, about: dict[str, Any]) -> None:
    """Write the entries that are taken, and what else there is to say; see `load_table`."""
    taken = np.flatnonzero(table.efforts)
    arrays = {name: each[taken] for name, each in table._asdict().items() if name != "key"}
    FORMAT.write_arrays(path, arrays, compressed=False, rows=rows, columns=columns, **about)


def load_table(path: Path, table: Table, rows: int, columns: int) -> dict[str, Any]:
    """Take the entries of a file into a table; returns what else the file says.

    Entries that would take the place of larger ones are left out, so the table may have any size.
    Beyond the checks below, a file is trusted as the solver's own work: no answer in it is proven
    again.

    Raises:
        ValueError: If the file is damaged, or of another kind or board, or if an entry has a number
            out of range, a cell that is not on the board, or one with stones of both players.
    """
    size = rows * columns
    about, arrays = FORMAT.read_arrays(path, rows=rows, columns=columns)
    try:
        saved = Table(key=table.key, **arrays)
        for name, own in table._asdict().items():
            other = getattr(saved, name)
            count = len(own) if name == "key" else len(saved.efforts)
            if (other.dtype, other.shape) != (own.dtype, (count, *own.shape[1:])):
                raise ValueError(f"{name} is {other.dtype} {other.shape}")
        in_range = (saved.movers >> 1 == 0) & (saved.moves >= -1) & (saved.moves < size)
        words = range(saved.key.shape[1])
        on_board = np.array([(1 << min(WORD, size - WORD * word)) - 1 for word in words])
        sets = np.concatenate([saved.stones, saved.cells[:, None], saved.excluded[:, None]], 1)
        is_set = not (sets & ~on_board).any() and not (sets[:, 0] & sets[:, 1]).any()
        in_range = in_range & (saved.efforts > 0) & (saved.numbers >= 0).all(1)
        if not (is_set and in_range.all()):
            raise ValueError("there are impossible entries")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: expected a saved table, got another file: {error}") from error
    (_merge if uses_machine_code() else merge)(table, saved)
    return about
