"""The depth-first search of the Hex solver, one loop over a stack of positions."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.hex.board import UNKNOWN, Board, Links, link_neighbours
from agents.knowledge.hex.circuit import add_currents
from agents.knowledge.hex.connections import find_wins
from agents.knowledge.hex.inferior import find_captured, find_inferior
from agents.knowledge.hex.table import Table, keep, look_up
from agents.solvers.bits import count_bits, lowest, lowest_bit
from hexenv.compiled import CompiledFunction, kernel


class Stack(NamedTuple):
    """The positions from the root to where the search is, a row each, so that it can pause."""

    stones: NDArray[np.int64]
    """``(depths, 2)``: of each player."""
    captured: NDArray[np.int64]
    """``(depths, 2)``: those of the stones that a player has only because they are captured."""
    killers: NDArray[np.int64]
    """``(depths, size)``: replies that make a move of the mover dead."""
    mover: NDArray[np.int64]
    must: NDArray[np.int64]
    """Moves that may still win."""
    proof: NDArray[np.int64]
    """All cells of the carriers that exclude the other moves; the winner's carrier at the end."""
    played: NDArray[np.int64]
    """The move being searched."""
    begun: NDArray[np.int64]
    """How many positions had been searched before this one."""
    currents: NDArray[np.float64]
    """``(depths, size)``: how good each move looks."""
    control: NDArray[np.int64]
    """The depth where the search is, and all positions so far."""


def new_stack(board: Board) -> Stack:
    """A stack for a board."""
    depths = board.size + 2
    return Stack(
        np.zeros((depths, 2), np.int64),
        np.zeros((depths, 2), np.int64),
        np.zeros((depths, board.size), np.int64),
        *(np.zeros(depths, np.int64) for _ in range(5)),
        currents=np.zeros((depths, board.size), np.float64),
        control=np.zeros(2, np.int64),
    )


@kernel
def fill_in(board: Board, links: Links, stack: Stack, depth: int) -> int:
    """Fill dead and captured cells with stones; returns who has joined both sides then, if any.

    Who wins stays the same. Where the owner of captured cells wins, they belong to the carrier.
    """
    stones, captured = stack.stones[depth], stack.captured[depth]
    captured[:] = 0
    while True:
        empty = board.everything & ~int(stones[0] | stones[1])
        for player in range(2):
            if link_neighbours(board, links, player, int(stones[player]), empty):
                return player
        fill = find_inferior(board, links, empty)
        stones[1] |= fill
        for player in range(2):
            if fill == 0:
                fill = find_captured(links, player, empty)
                stones[player] |= fill
                captured[player] |= fill
        if fill == 0:
            return UNKNOWN


@kernel
def restrict(links: Links, count: int, stack: Stack, depth: int) -> None:
    """Leave only moves that are in the carriers of all of the opponent's `wins`."""
    for i in range(count):
        carrier = int(links.wins[i])
        must = int(stack.must[depth])
        if must & carrier != must:
            stack.must[depth] = must & carrier
            stack.proof[depth] |= carrier


@kernel
def judge(board: Board, links: Links, stack: Stack, depth: int) -> int:
    """The winner, if connections show it, with the carrier in `proof`; else the moves to try."""
    mover = int(stack.mover[depth])
    mine, theirs = int(stack.stones[depth, mover]), int(stack.stones[depth, 1 - mover])
    empty = board.everything & ~(mine | theirs)
    if find_wins(board, links, mover, mine, empty) != 0:
        stack.proof[depth] = links.wins[0]
        return mover
    count = find_wins(board, links, 1 - mover, theirs, empty)
    if count < 0:
        stack.proof[depth] = links.wins[0]
        return 1 - mover
    stack.must[depth] = empty
    stack.proof[depth] = 0
    restrict(links, count, stack, depth)
    stack.killers[depth] = links.killers[mover]
    return UNKNOWN if moves_to_try(stack, depth) else lose(stack, depth)


@kernel
def moves_to_try(stack: Stack, depth: int) -> int:
    """Moves that may still win, without those that a reply makes dead.

    After such a move and that reply it is the mover's turn again, with nothing gained and one more
    stone against it. If there is a win then, the same move wins now already, and so on until it is
    a move of another kind.
    """
    moves = 0
    bits = int(stack.must[depth])
    while bits:
        if stack.killers[depth, lowest(bits)] == 0:
            moves |= lowest_bit(bits)
        bits &= bits - 1
    return moves


@kernel
def lose(stack: Stack, depth: int) -> int:
    """Add to the proof the replies to moves not tried; returns the winner, who is not the mover."""
    bits = int(stack.must[depth])
    while bits:
        stack.proof[depth] |= lowest_bit(bits) | lowest_bit(int(stack.killers[depth, lowest(bits)]))
        bits &= bits - 1
    return 1 - int(stack.mover[depth])


@kernel
def open_node(board: Board, table: Table, links: Links, stack: Stack, depth: int) -> int:
    """The winner of a position just reached, or UNKNOWN where moves have to be tried."""
    winner = fill_in(board, links, stack, depth)
    if winner != UNKNOWN:
        stack.proof[depth] = 0
        return winner
    first, second = int(stack.stones[depth, 0]), int(stack.stones[depth, 1])
    mover = int(stack.mover[depth])
    winner, carrier = look_up(board, table, first, second, mover)
    if winner != UNKNOWN:
        stack.proof[depth] = carrier
        return winner
    stack.begun[depth] = stack.control[1]
    stack.control[1] += 1
    winner = judge(board, links, stack, depth)
    if winner != UNKNOWN:
        keep(board, table, first, second, mover, winner, int(stack.proof[depth]), 1)
    return winner


@kernel
def best_of(currents: NDArray[np.float64], moves: int) -> int:
    """The most promising of some moves."""
    best = lowest(moves)
    while moves:
        if currents[lowest(moves)] > currents[best]:
            best = lowest(moves)
        moves &= moves - 1
    return best


@kernel
def put_child(stack: Stack, depth: int, cell: int) -> None:
    """Put the position after a move on the stack."""
    mover = int(stack.mover[depth])
    stack.played[depth] = cell
    stack.stones[depth + 1, mover] = int(stack.stones[depth, mover]) | (1 << cell)
    stack.stones[depth + 1, 1 - mover] = stack.stones[depth, 1 - mover]
    stack.mover[depth + 1] = 1 - mover


@kernel
def close_child(board: Board, table: Table, stack: Stack, depth: int, winner: int) -> int:
    """Note who wins after the move being searched; returns the winner here, if known by that."""
    mover = int(stack.mover[depth])
    carrier = int(stack.proof[depth + 1] | stack.captured[depth + 1, winner])
    if winner == mover:
        stack.proof[depth] = carrier | (1 << int(stack.played[depth]))
    else:
        stack.must[depth] &= carrier
        stack.proof[depth] |= carrier
        if moves_to_try(stack, depth):
            return UNKNOWN
        lose(stack, depth)
    first, second = int(stack.stones[depth, 0]), int(stack.stones[depth, 1])
    effort = int(stack.control[1] - stack.begun[depth])
    keep(board, table, first, second, mover, winner, int(stack.proof[depth]), effort)
    return winner


@kernel
def look_ahead(board: Board, table: Table, links: Links, stack: Stack, depth: int) -> int:
    """Judge the positions after all moves, which orders them and may show the winner here.

    A move is good that takes much current, and leaves the opponent few moves that may win.
    """
    currents = stack.currents[depth]
    currents[:] = 0.0
    empty = board.everything & ~int(stack.stones[depth, 0] | stack.stones[depth, 1])
    for player in range(2):
        link_neighbours(board, links, player, int(stack.stones[depth, player]), empty)
        add_currents(board, links, player, empty, currents)
    seen = 0
    moves = moves_to_try(stack, depth)
    while moves:
        cell = best_of(currents, moves)
        seen |= 1 << cell
        put_child(stack, depth, cell)
        winner = open_node(board, table, links, stack, depth + 1)
        if winner != UNKNOWN:
            winner = close_child(board, table, stack, depth, winner)
            if winner != UNKNOWN:
                return winner
        else:
            currents[cell] -= count_bits(moves_to_try(stack, depth + 1))
        moves = moves_to_try(stack, depth) & ~seen
    return UNKNOWN


@kernel
def search(board: Board, table: Table, links: Links, stack: Stack, budget: int) -> int:
    """Go on with the search of the position in row 0 of the stack, for about so many positions.

    The search is a loop, not a recursion, so that it can stop for a look at the clock.

    Returns:
        The winner, whose carrier is then in row 0 of `proof`, or UNKNOWN if there is more to do.
    """
    depth = int(stack.control[0])
    end = int(stack.control[1]) + budget
    while stack.control[1] < end:
        winner = open_node(board, table, links, stack, depth)
        if winner == UNKNOWN:
            winner = look_ahead(board, table, links, stack, depth)
        while winner != UNKNOWN:
            if depth == 0:
                stack.control[0] = 0
                stack.proof[0] |= stack.captured[0, winner]
                return winner
            depth -= 1
            winner = close_child(board, table, stack, depth, winner)
        put_child(stack, depth, best_of(stack.currents[depth], moves_to_try(stack, depth)))
        depth += 1
    stack.control[0] = depth
    return UNKNOWN


compiled_search: Final = CompiledFunction(search)
