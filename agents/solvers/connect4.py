"""Connect4 solved exactly: alpha-beta on bitboards.

What makes it quick is known from Tromp's Fhourstones benchmark and explained step by step in Pons'
tutorial "Solving Connect 4" (blog.gamesolver.org), with one idea of Allis (1988):

* A position is two integers, the stones of the player to move and all stones, and a win, or all
  cells at which one would be won, takes a few shifts of them.
* A search asks one question, "is the score at least `goal`?" (a null window), again and again with
  other goals until it knows the score. Each answer is a bound, and both bounds of a position are
  kept in a table, in which all later questions look.
* Only moves are tried after which the opponent does not win at once, so no node has a win at hand:
  the search sees two plies farther than it goes.
* Moves that make most threats come first, and the centre before the edge.
* A reply that the table knows to be good enough settles a position at once.
* *Claimeven* (Allis): where every column has an even number of cells left, the player who is not to
  move can answer every stone with the one above it. If the lines that the mover could still get so
  are none, the mover does not win; if the follower gets one, the mover loses.

A score (`agents.solvers.questions`) counts stones: on the usual board it is 22 - s for a win with
the s-th stone, from 18 with the fourth to 1 with the 21st.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from agents.solvers.questions import Clock
from hexenv.compiled import CompiledFunction, compiled, kernel
from hexenv.games import base

CONNECT: Final = 4
EARLY: Final = 20
"""Up to how many stones a node is worth more looks into the table: there a position and its mirror
image are one, and its replies are looked up before they are searched."""
MULTIPLIER: Final = 0x1E3779B97F4A7C15
"""An odd number: multiplying by it modulo a power of two shuffles and forgets nothing."""
SCORE_BITS: Final = 7
SCORE_ZERO: Final = 64
PLY_BITS: Final = 6
UNKNOWN: Final = -1000
"""No score."""
SLICE: Final = 1 << 17
"""Nodes between two looks at the clock."""


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


class Stack(NamedTuple):
    """The nodes from the root to where the search is, a row each, so that it can pause there."""

    mine: NDArray[np.int64]
    taken: NDArray[np.int64]
    goal: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    best: NDArray[np.int64]
    """The best score of the moves tried so far."""
    key: NDArray[np.int64]
    left: NDArray[np.int64]
    """How many moves are still to be tried."""
    moves: NDArray[np.int64]
    """``(depths, columns)``: the moves, the best last, each as the bit of its cell."""
    weights: NDArray[np.int64]
    """``(columns,)``: scratch space."""
    order: NDArray[np.int64]
    """``(columns,)``: all cells of a column as bits, the edges first and the centre last."""
    control: NDArray[np.int64]
    """The depth where the search is, and nodes since they were last set to 0."""


def new_stack(grid: Grid) -> Stack:
    """A stack for a board."""
    depths = grid.cells + 2
    by_distance = sorted(range(grid.width), key=lambda c: (-abs(2 * c - grid.width + 1), c))
    column = (1 << grid.height - 1) - 1
    return Stack(
        *(np.zeros(depths, np.int64) for _ in range(8)),
        moves=np.zeros((depths, grid.width), np.int64),
        weights=np.zeros(grid.width, np.int64),
        order=np.array([column << c * grid.height for c in by_distance], np.int64),
        control=np.zeros(2, np.int64),
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
def count_bits(bits: int) -> int:
    """How many bits of a number from 0 to 2^63 - 1 are set."""
    bits = bits - ((bits >> 1) & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    bits = bits + (bits >> 8)
    bits = bits + (bits >> 16)
    return (bits + (bits >> 32)) & 127


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
def sort_moves(grid: Grid, stack: Stack, depth: int, safe: int) -> None:
    """Write the moves into the stack, in ascending order of the cells at which they would win."""
    mine = int(stack.mine[depth])
    free = grid.board & ~int(stack.taken[depth])
    row = stack.moves[depth]
    weights = stack.weights
    count = 0
    for column in range(grid.width):
        move = safe & int(stack.order[column])
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
    stack.left[depth] = count


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


@kernel
def known_reply(grid: Grid, table: Table, mine: int, taken: int, ply: int, safe: int) -> int:
    """The best lower bound on the score that the table has by way of a single move.

    It takes up to a look for each move, and saves a third of the nodes of the empty board (enhanced
    transposition cutoffs: Plaat, Schaeffer, Pijls and de Bruin 1996).
    """
    best = UNKNOWN
    while safe != 0:
        move = safe & -safe
        safe ^= move
        bounds = look_up(table, table_key(grid, taken ^ mine, taken | move, ply + 1))
        if bounds != 0:
            best = max(best, SCORE_ZERO - (bounds & ((1 << SCORE_BITS) - 1)))
    return best


@kernel
def open_node(grid: Grid, table: Table, stack: Stack, depth: int, ply: int) -> int:
    """Settle a node, or list its moves. The mover must have no win at hand.

    Returns:
        A bound that answers the node's question, or `UNKNOWN`: then its moves are to be tried.
    """
    mine, taken = int(stack.mine[depth]), int(stack.taken[depth])
    goal = int(stack.goal[depth])
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
    bounds = look_up(table, key)
    if bounds != 0:
        low = (bounds >> SCORE_BITS) - SCORE_ZERO
        high = (bounds & ((1 << SCORE_BITS) - 1)) - SCORE_ZERO
        if goal <= low:
            return low
        if goal > high:
            return high
    if ply <= EARLY:
        bound = known_reply(grid, table, mine, taken, ply, safe)
        if bound >= goal:
            return bound
    stack.low[depth], stack.high[depth] = low, high
    stack.key[depth] = key
    stack.best[depth] = UNKNOWN
    sort_moves(grid, stack, depth, safe)
    return UNKNOWN


@kernel
def open_child(stack: Stack, depth: int) -> None:
    """Go on to the next move of a node."""
    left = int(stack.left[depth]) - 1
    taken = int(stack.taken[depth])
    stack.left[depth] = left
    stack.mine[depth + 1] = taken ^ int(stack.mine[depth])
    stack.taken[depth + 1] = taken | int(stack.moves[depth, left])
    stack.goal[depth + 1] = 1 - int(stack.goal[depth])


@kernel
def close_node(table: Table, stack: Stack, depth: int, ply: int, score: int) -> bool:
    """Count the score of a move that was tried; whether that, or having tried all, settles a node.

    Then its bounds go into the table.
    """
    score = max(score, int(stack.best[depth]))
    stack.best[depth] = score
    is_reached = score >= int(stack.goal[depth])
    if not is_reached and int(stack.left[depth]) > 0:
        return False
    low = score if is_reached else int(stack.low[depth])
    high = int(stack.high[depth]) if is_reached else score
    keep(table, int(stack.key[depth]), ply, low, high)
    return True


@kernel
def search(grid: Grid, table: Table, stack: Stack, root_ply: int, budget: int) -> bool:
    """Go on with the search for so many nodes.

    The root's position and goal are in row 0 of the stack. The search is a loop, not a recursion,
    so that it can stop anywhere, for a look at the clock, and go on later.

    Returns:
        Whether the question is answered; the bound is then `best` of the root.
    """
    depth = int(stack.control[0])
    for _ in range(budget):
        stack.control[1] += 1
        score = open_node(grid, table, stack, depth, root_ply + depth)
        while score != UNKNOWN:
            if depth == 0:
                stack.best[0] = score
                return True
            depth -= 1
            is_closed = close_node(table, stack, depth, root_ply + depth, -score)
            score = int(stack.best[depth]) if is_closed else UNKNOWN
        open_child(stack, depth)
        depth += 1
    stack.control[0] = depth
    return False


compiled_search: Final = CompiledFunction(search)


def no_book(state: Any) -> int | None:
    """The score of no position."""
    return None


class Connect4Engine:
    """Answers questions about the positions of one board; see `agents.solvers.questions.Engine`.

    Args:
        game: Connect4 with four in a row.
        entries: Of the table, 8 bytes each: 2^23 are enough for positions from about 8 stones on.
        compiles: Whether to run as machine code.
        book: The score of a position where it is known beforehand, else None.

    Raises:
        ValueError: If another number of stones in a row wins.
    """

    def __init__(
        self,
        game: Any,
        entries: int = 1 << 23,
        compiles: bool = True,
        book: Callable[[Any], int | None] = no_book,
    ) -> None:
        if game.connect != CONNECT:
            raise ValueError(f"expected Connect4 that connects {CONNECT}, got {game}")
        self.game = game
        self.compiles = compiles
        self.book = book
        self.grid = new_grid(game.rows, game.columns)
        self.table = new_table(self.grid, entries)
        self.stack = new_stack(self.grid)
        self._search: Callable[..., bool] | None = None if compiles else search

    def copy_of(self, state: Any) -> Any:
        """An independent copy of a position."""
        return base.clone(self.game, state)

    def prepare(self) -> None:
        """Compile the search."""
        if self._search is None:
            self._search = compiled_search.specialise(self.grid, self.table, self.stack, 0, 1)

    def known(self, state: Any) -> tuple[int, int]:
        """The bounds that the number of stones sets; exact at the end, and where a move wins."""
        half, ply = self.grid.half, int(state.ply)
        player = ply & 1
        if self.game.is_terminal(state):
            score = self.game.outcome(state, player) * (half - (ply + 1) // 2)
            return score, score
        mine = int(state.stones[player])
        taken = mine | int(state.stones[1 - player])
        if winning_cells(self.grid, mine) & (taken + self.grid.floor) & ~taken:
            return half - (ply + 2) // 2, half - (ply + 2) // 2
        score = self.book(state)
        if score is not None:
            return score, score
        return (ply + 3) // 2 - half, half - (ply + 4) // 2

    def ask(self, state: Any, goal: int, clock: Clock) -> int:
        """A bound on the score for the player to move; see `questions.Engine`."""
        player, stack = int(state.ply) & 1, self.stack
        stack.mine[0] = state.stones[player]
        stack.taken[0] = int(state.stones[0]) | int(state.stones[1])
        stack.goal[0] = goal
        stack.control[0] = 0
        arguments = (self.grid, self.table, stack, int(state.ply))
        self.prepare()
        run = cast("Callable[..., bool]", self._search)
        budget = SLICE if self.compiles else SLICE >> 7
        stack.control[1] = 0
        while not run(*arguments, budget):
            clock.count(int(stack.control[1]))
            stack.control[1] = 0
        clock.nodes += int(stack.control[1])
        return int(stack.best[0])
