"""The board of Connect4 as bits: what wins, what is safe, and who can follow."""

from typing import Final, NamedTuple

from agents.solvers.depth_first import UNKNOWN
from hexenv.compiled import compiled, kernel

CONNECT: Final = 4


@compiled
class Grid(NamedTuple):
    """The board as constants. Column `c` has the bits from ``c * height``, lowest cell first."""

    width: int
    height: int
    """Bits that a column takes: its cells and one above them, which is never set."""
    cells: int
    floor: int
    """The lowest cell of every column."""
    board: int
    """All cells."""
    follow: int
    """Of every column the top cell, and every second below it."""
    half: int


def new_grid(rows: int, columns: int) -> Grid:
    """The constants of a board."""
    height = rows + 1
    floor = sum(1 << column * height for column in range(columns))
    follow = sum(1 << row for row in range(rows - 1, -1, -2))
    cells = rows * columns
    return Grid(
        columns, height, cells, floor, floor * ((1 << rows) - 1), floor * follow, (cells + 3) // 2
    )


@kernel
def winning_cells(grid: Grid, stones: int) -> int:
    """All cells, empty or not, that would make four in a row with these stones."""
    found = (stones << 1) & (stones << 2) & (stones << 3)
    if grid.width >= CONNECT:
        for step in (grid.height, grid.height - 1, grid.height + 1):
            up = (stones << step) & (stones << (2 * step))
            down = (stones >> step) & (stones >> (2 * step))
            found |= up & (stones << (3 * step))
            found |= up & (stones >> step)
            found |= down & (stones << step)
            found |= down & (stones >> (3 * step))
    return found & grid.board


@kernel
def has_four(grid: Grid, stones: int) -> bool:
    """Whether these stones have four in a row."""
    pairs = stones & (stones >> 1)
    found = pairs & (pairs >> 2)
    if grid.width >= CONNECT:
        for step in (grid.height, grid.height - 1, grid.height + 1):
            pairs = stones & (stones >> step)
            found |= pairs & (pairs >> (2 * step))
    return found != 0


@kernel
def position_key(grid: Grid, mine: int, taken: int) -> int:
    """A number of its own for every position: my stones, and a bit above each column's top."""
    return mine + taken + grid.floor


@kernel
def mirrored(grid: Grid, bits: int) -> int:
    """The bits of all columns in reverse order."""
    column = (1 << grid.height) - 1
    image = 0
    for _ in range(grid.width):
        image = (image << grid.height) | (bits & column)
        bits >>= grid.height
    return image


@kernel
def safe_moves(grid: Grid, mine: int, taken: int) -> int:
    """The moves after which the opponent does not win at once."""
    moves = (taken + grid.floor) & grid.board
    threats = winning_cells(grid, taken ^ mine) & ~taken
    forced = moves & threats
    if forced != 0:
        if forced & (forced - 1):
            return 0  # two to stop
        moves = forced
    return moves & ~(threats >> 1)  # and none that lets the opponent play on a threat


@kernel
def claimeven(grid: Grid, mine: int, taken: int) -> int:
    """An upper bound on the score: 0 or -1 where the opponent can follow, else `UNKNOWN`.

    A follower who always plays above the mover's last stone gets the cells of `Grid.follow`, and
    the mover gets the others.
    """
    if (taken + grid.floor) & grid.follow != 0:
        return UNKNOWN  # some column has an odd number of cells left
    free = grid.board & ~taken
    if has_four(grid, mine | (free & ~grid.follow)):
        return UNKNOWN
    return -1 if has_four(grid, (taken ^ mine) | (free & grid.follow)) else 0
