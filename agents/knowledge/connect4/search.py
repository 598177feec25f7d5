"""The search of the Connect4 solver, one loop over a stack of nodes."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.connect4.grid import UNKNOWN, Grid, claimeven, safe_moves, winning_cells
from agents.knowledge.connect4.table import (
    EARLY,
    SCORE_BITS,
    SCORE_ZERO,
    Table,
    keep,
    look_up,
    table_key,
)
from agents.solvers.bits import count_bits
from hexenv.compiled import CompiledFunction, kernel


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
