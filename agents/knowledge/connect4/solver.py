"""Connect4 solved exactly: alpha-beta on bitboards.

The methods are those of Tromp's Fhourstones benchmark, which Pons' tutorial "Solving Connect 4"
(blog.gamesolver.org) explains step by step, with one idea of Allis (1988):

* A position is two integers, the stones of the player to move and all stones. A few shifts of them
  give all cells that would win.
* A search answers one question, "is the score at least `goal`?" (a null window), again and again
  with other goals until it knows the score. Each answer is a bound. Both bounds of a position go
  into a transposition table for later questions.
* Only moves are tried after which the opponent does not win at once. So no node has a winning move,
  and the search sees two plies farther than it goes.
* Moves that make most threats come first, and the centre before the edge.
* A reply whose bound in the table is good enough settles a position at once (enhanced transposition
  cutoffs: Plaat, Schaeffer, Pijls and de Bruin 1996).
* *Claimeven* (Allis): where every column has an even number of cells left, the player who is not to
  move can answer every stone with the one above it. If the mover has no line without these
  cells, the mover does not win; if the follower gets a line, the mover loses.

A score (`agents.solvers.questions`) counts stones: on the usual board it is 22 - s for a win with
the s-th stone, from 18 with the fourth to 1 with the 21st.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.connect4.grid import (
    CONNECT,
    Grid,
    claimeven,
    mirrored,
    new_grid,
    position_key,
    safe_moves,
    winning_cells,
)
from agents.solvers.depth_first import UNKNOWN
from agents.solvers.questions import ScoreSolver
from hexenv.compiled import compiled, kernel
from hexenv.compiled.bits import count_bits

EARLY: Final = 20
"""Up to how many stones a node pays for more look-ups: there a position and its mirror image are
one entry, and its replies are looked up before they are searched."""
MULTIPLIER: Final = 0x1E3779B97F4A7C15
"""An odd number: multiplying by it modulo a power of two is a permutation."""
SCORE_BITS: Final = 7
SCORE_ZERO: Final = 64
PLY_BITS: Final = 6


# ---- the transposition table ---------------------------------------------------------------------


class ScoreTable(NamedTuple):
    """A transposition table with two entries at each place, next to each other.

    An entry packs a tag that tells its position from all others of that place, the number of
    stones, and both bounds of the score. The first entry of a place keeps the position with fewest
    stones, which took most work; the second the latest.
    """

    entries: NDArray[np.int64]
    tag_bits: int


def new_table(grid: Grid, entries: int) -> ScoreTable:
    """An empty table of at most `entries` entries, and not more than the board can use."""
    bits = grid.width * grid.height
    least = max(0, bits + 2 * SCORE_BITS + PLY_BITS - 63)  # a tag has to fit beside the rest
    places = min(bits, max(least, entries.bit_length() - 2))
    return ScoreTable(np.zeros(2 << places, np.int64), bits - places)


@kernel
def table_key(grid: Grid, mine: int, taken: int, ply: int) -> int:
    """The permuted key of a position: its upper bits are the place and the others the tag."""
    key = position_key(grid, mine, taken)
    if ply <= EARLY:
        key = min(key, mirrored(grid, key))
    return (key * MULTIPLIER) & ((1 << (grid.width * grid.height)) - 1)


@kernel
def look_up(table: ScoreTable, key: int) -> int:
    """Both bounds of a position as an entry packs them, or 0."""
    place = (key >> table.tag_bits) << 1
    tag = key & ((1 << table.tag_bits) - 1)
    for slot in range(place, place + 2):
        entry = int(table.entries[slot])
        if entry >> (2 * SCORE_BITS + PLY_BITS) == tag and entry != 0:
            return entry & ((1 << (2 * SCORE_BITS)) - 1)
    return 0


@kernel
def store(table: ScoreTable, key: int, ply: int, low: int, high: int) -> None:
    """Write the bounds of a position into the table."""
    place = (key >> table.tag_bits) << 1
    tag = key & ((1 << table.tag_bits) - 1)
    bounds = (low + SCORE_ZERO) << SCORE_BITS | (high + SCORE_ZERO)
    entry = (tag << PLY_BITS | ply) << (2 * SCORE_BITS) | bounds
    first = int(table.entries[place])
    is_same = first >> (2 * SCORE_BITS + PLY_BITS) == tag
    first_ply = (first >> (2 * SCORE_BITS)) & ((1 << PLY_BITS) - 1)
    if first == 0 or is_same or ply <= first_ply:
        table.entries[place] = entry
    else:
        table.entries[place + 1] = entry


# ---- the search ----------------------------------------------------------------------------------


@compiled
class Connect4Nodes(NamedTuple):
    """The nodes from the root to where the search is; see `agents.solvers.depth_first.OpenNodes`.

    Arrays have a row for each depth.
    """

    grid: Grid
    table: ScoreTable
    mine: NDArray[np.int64]
    taken: NDArray[np.int64]
    goal: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    best: NDArray[np.int64]
    """The best score of the moves tried so far."""
    key: NDArray[np.int64]
    left: NDArray[np.int64]
    """The number of moves that are not tried yet."""
    moves: NDArray[np.int64]
    """``(depths, columns)``: the moves, the best last, each as the bit of its cell."""
    weights: NDArray[np.int64]
    """``(columns,)``: scratch space."""
    order: NDArray[np.int64]
    """``(columns,)``: all cells of a column as bits, the edges first and the centre last."""
    control: NDArray[np.int64]
    root_ply: int

    def open_node(self, depth: int) -> int:
        """Settle a node, or list its moves. The mover must have no winning move."""
        self.control[1] += 1
        grid, ply = self.grid, self.root_ply + depth
        mine, taken = int(self.mine[depth]), int(self.taken[depth])
        goal = int(self.goal[depth])
        safe = safe_moves(grid, mine, taken)
        if safe == 0 and ply < grid.cells:
            return (ply + 3) // 2 - grid.half  # the opponent wins with the next stone
        if ply + 2 >= grid.cells:
            return 0
        low = (ply + 5) // 2 - grid.half
        high = grid.half - (ply + 4) // 2
        if goal <= low:
            return low
        if goal > high:
            return high
        bound = claimeven(grid, mine, taken)
        if bound != UNKNOWN and bound < goal:
            return bound
        key = table_key(grid, mine, taken, ply)
        bounds = look_up(self.table, key)
        if bounds != 0:
            low = (bounds >> SCORE_BITS) - SCORE_ZERO
            high = (bounds & ((1 << SCORE_BITS) - 1)) - SCORE_ZERO
            if goal <= low:
                return low
            if goal > high:
                return high
        if ply <= EARLY:
            bound = known_reply(grid, self.table, mine, taken, ply, safe)
            if bound >= goal:
                return bound
        self.low[depth], self.high[depth] = low, high
        self.key[depth] = key
        self.best[depth] = UNKNOWN
        self.left[depth] = sort_moves(
            grid, mine, taken, safe, self.order, self.moves[depth], self.weights
        )
        return UNKNOWN

    def open_child(self, depth: int) -> None:
        left = int(self.left[depth]) - 1
        taken = int(self.taken[depth])
        self.left[depth] = left
        self.mine[depth + 1] = taken ^ int(self.mine[depth])
        self.taken[depth + 1] = taken | int(self.moves[depth, left])
        self.goal[depth + 1] = 1 - int(self.goal[depth])

    def close_child(self, depth: int, score: int) -> int:
        best = max(-score, int(self.best[depth]))
        self.best[depth] = best
        is_reached = best >= int(self.goal[depth])
        if not is_reached and int(self.left[depth]) > 0:
            return UNKNOWN
        low = best if is_reached else int(self.low[depth])
        high = int(self.high[depth]) if is_reached else best
        store(self.table, int(self.key[depth]), self.root_ply + depth, low, high)
        return best


def new_nodes(grid: Grid, entries: int) -> Connect4Nodes:
    """The arrays of a search with an empty table."""
    depths = grid.cells + 2
    by_distance = sorted(range(grid.width), key=lambda c: (-abs(2 * c - grid.width + 1), c))
    column = (1 << grid.height - 1) - 1
    return Connect4Nodes(
        grid,
        new_table(grid, entries),
        *(np.zeros(depths, np.int64) for _ in range(8)),
        moves=np.zeros((depths, grid.width), np.int64),
        weights=np.zeros(grid.width, np.int64),
        order=np.array([column << c * grid.height for c in by_distance], np.int64),
        control=np.zeros(2, np.int64),
        root_ply=0,
    )


@kernel
def sort_moves(
    grid: Grid,
    mine: int,
    taken: int,
    safe: int,
    order: NDArray[np.int64],
    row: NDArray[np.int64],
    weights: NDArray[np.int64],
) -> int:
    """Write the moves into a row in ascending order of the cells that would then win; how many."""
    free = grid.board & ~taken
    count = 0
    for column in range(grid.width):
        move = safe & int(order[column])
        if move != 0:
            weight = count_bits(winning_cells(grid, mine | move) & free)
            spot = count
            while spot > 0 and weights[spot - 1] > weight:
                weights[spot] = weights[spot - 1]
                row[spot] = row[spot - 1]
                spot -= 1
            weights[spot] = weight
            row[spot] = move
            count += 1
    return count


@kernel
def known_reply(grid: Grid, table: ScoreTable, mine: int, taken: int, ply: int, safe: int) -> int:
    """The best lower bound on the score that the table has by way of a single move.

    These look-ups save a third of the nodes of the empty board.
    """
    best = UNKNOWN
    while safe != 0:
        move = safe & -safe
        safe ^= move
        bounds = look_up(table, table_key(grid, taken ^ mine, taken | move, ply + 1))
        if bounds != 0:
            best = max(best, SCORE_ZERO - (bounds & ((1 << SCORE_BITS) - 1)))
    return best


# ---- the solver ----------------------------------------------------------------------------------


class Connect4Solver(ScoreSolver):
    """Solves positions of one board.

    Args:
        game: Connect4 with four in a row.
        entries: Of the table, 8 bytes each: 2^23 are enough for positions from about 8 stones on.
        compiles: Whether to run as machine code.
        book: A `Book` of the board, or None.

    Raises:
        ValueError: If another number of stones in a row wins.
    """

    def __init__(
        self, game: Any, entries: int = 1 << 23, compiles: bool = True, book: Any = None
    ) -> None:
        if game.connect != CONNECT:
            raise ValueError(f"expected Connect4 that connects {CONNECT}, got {game}")
        super().__init__(game, compiles)
        self.book = book
        self.grid = new_grid(game.rows, game.columns)
        self.nodes = new_nodes(self.grid, entries)

    def twin(self) -> "Connect4Solver":
        """Another solver with the same table, for another thread: an entry is a single number."""
        other = Connect4Solver(self.game, 1, book=self.book)
        other.nodes = other.nodes._replace(table=self.nodes.table)
        other._run = self._run
        return other

    def nodes_at(self, state: Any) -> Connect4Nodes:
        self.nodes.mine[0] = state.stones[int(state.ply) & 1]
        self.nodes.taken[0] = int(state.stones[0]) | int(state.stones[1])
        return self.nodes._replace(root_ply=int(state.ply))

    def known(self, state: Any) -> tuple[int, int]:
        """The bounds that the number of stones sets; exact at the end, and where a move wins."""
        least, most = super().known(state)
        if least == most:
            return least, most
        half, ply = self.grid.half, int(state.ply)
        mine = int(state.stones[ply & 1])
        taken = mine | int(state.stones[1 - (ply & 1)])
        if winning_cells(self.grid, mine) & (taken + self.grid.floor) & ~taken:
            return most, most
        score = None if self.book is None else self.book.score(state)
        return ((ply + 3) // 2 - half, half - (ply + 4) // 2) if score is None else (score, score)
