"""Hex solved exactly: a depth-first search over virtual connections.

A *carrier* is a set of empty cells on which a player wins, whatever happens elsewhere.
Each proof of a win, by a pattern or by a search, gives its carrier, and carriers prune:

* A *connection* of two places holds even if the opponent moves first; a *semi-connection* only if
  its owner does. Larger ones follow from smaller ones by two rules (Anshelevich, "The game of Hex:
  an automatic theorem proving approach to game programming", AAAI 2000, where they are called
  virtual): in series, with disjoint carriers; and a set of semi-connections of which no cell is in
  all carriers is a connection. They grow here from a player's two sides inwards, by adjacent
  cells and bridges.
* *Must-play*: a move outside the carrier of an opponent's semi-connection from side to side loses
  to it. And if a move was searched and loses, so does each move outside the carrier of that loss
  (Hayward, Björnsson, Johanson, Kan, Po and van Rijswijck, "Solving 7x7 Hex with domination,
  virtual connections, and game-state reduction", TCS 2005). Where no move is left the position is
  lost, on the union of all these carriers.
* *Inferior cells* (Björnsson, Hayward, Johanson and van Rijswijck, "Dead cell analysis in Hex and
  the Shannon game", 2006): a cell is dead if no shortest path leads through it, whoever owns the
  rest. Dead cells are filled, and so are pairs in which a player can answer each stone of the
  opponent with one that makes it dead: the player has captured them. A move that a reply makes
  dead is not tried.
* Moves are ordered before one is searched: by how many moves they leave to the opponent, and by
  the current that would flow through the cell if the board were an electrical circuit (Anshelevich
  2000, after Shannon).

Sets of cells are the bits of one integer, so a board has at most 61 cells (and two sides).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.bits import count_bits, lowest, lowest_bit
from agents.knowledge.hex.connections import (
    MOST_CELLS,
    Board,
    Links,
    add_currents,
    find_captured,
    find_inferior,
    find_wins,
    link_neighbours,
    new_board,
    new_links,
)
from agents.solvers.depth_first import UNKNOWN
from agents.solvers.questions import Clock, ExactSolver
from hexenv.compiled import compiled, copy_array, kernel
from hexenv.games import base
from hexenv.games.base import EMPTY, State
from hexenv.games.hex import Hex

# ---- the transposition table ---------------------------------------------------------------------


class CarrierTable(NamedTuple):
    """A transposition table: who wins solved positions, and on which carrier.

    A position and its half turn are one. Two entries may share a place.
    """

    stones: NDArray[np.int64]
    """``(entries, 2)``: the stones of both players, the whole position."""
    carriers: NDArray[np.int64]
    efforts: NDArray[np.int32]
    """How many positions it took, 0 for an empty entry: what took most is kept longest."""
    results: NDArray[np.int8]
    """The winner, and 2 more where player 1 is to move."""


def new_table(entries: int) -> CarrierTable:
    """An empty table."""
    return CarrierTable(
        np.zeros((entries, 2), np.int64),
        np.zeros(entries, np.int64),
        np.zeros(entries, np.int32),
        np.zeros(entries, np.int8),
    )


@kernel
def turned(board: Board, cells: int) -> int:
    """The cells after a half turn of the board."""
    image = 0
    while cells:
        image |= 1 << (board.size - 1 - lowest(cells))
        cells &= cells - 1
    return image


@kernel
def is_turned(board: Board, first: int, second: int) -> bool:
    """Whether a position is stored as its half turn, so that both are one."""
    image = turned(board, first)
    return image < first or (image == first and turned(board, second) < second)


@kernel
def is_entry(table: CarrierTable, entry: int, first: int, second: int, mover: int) -> bool:
    """Whether an entry is that of a position."""
    return bool(
        table.stones[entry, 0] == first
        and table.stones[entry, 1] == second
        and table.efforts[entry] > 0
        and table.results[entry] >> 1 == mover
    )


@kernel
def entry_of(table: CarrierTable, first: int, second: int, mover: int) -> int:
    """The entry of a position, or the one to overwrite for it."""
    mixed = (first % 1000000007) * 31 + (second % 998244353) * 1009 + mover
    entry = mixed % (len(table.carriers) - 1)
    for i in range(entry, entry + 2):
        if is_entry(table, i, first, second, mover):
            return i
    return entry if table.efforts[entry] <= table.efforts[entry + 1] else entry + 1


@kernel
def look_up(
    board: Board, table: CarrierTable, first: int, second: int, mover: int
) -> tuple[int, int]:
    """The winner of a position, if known, and the carrier."""
    turns = is_turned(board, first, second)
    if turns:
        first, second = turned(board, first), turned(board, second)
    entry = entry_of(table, first, second, mover)
    if not is_entry(table, entry, first, second, mover):
        return UNKNOWN, 0
    carrier = int(table.carriers[entry])
    return int(table.results[entry]) & 1, turned(board, carrier) if turns else carrier


@kernel
def store(nodes: Any, depth: int, winner: int, effort: int) -> None:
    """Store who wins the position at a depth, by the carrier in its `proof`."""
    board, table = nodes.board, nodes.table
    first, second = int(nodes.stones[depth, 0]), int(nodes.stones[depth, 1])
    mover, carrier = int(nodes.mover[depth]), int(nodes.proof[depth])
    if is_turned(board, first, second):
        first, second = turned(board, first), turned(board, second)
        carrier = turned(board, carrier)
    entry = entry_of(table, first, second, mover)
    table.stones[entry, 0] = first
    table.stones[entry, 1] = second
    table.carriers[entry] = carrier
    table.efforts[entry] = effort
    table.results[entry] = winner + 2 * mover


# ---- the search ---------------------------------------------------------------------------------


@compiled
class HexNodes(NamedTuple):
    """The positions from the root to where the search is; see `depth_first.OpenNodes`.

    Scores are the winners, 0 and 1. Arrays have a row for each depth.
    """

    board: Board
    table: CarrierTable
    links: Links
    stones: NDArray[np.int64]
    """``(depths, 2)``: of each player."""
    captured: NDArray[np.int64]
    """``(depths, 2)``: those of the stones that a player has only because they are captured."""
    killers: NDArray[np.int64]
    """``(depths, size)``: replies that make a move of the mover dead."""
    currents: NDArray[np.float64]
    """``(depths, size)``: how good each move looks."""
    mover: NDArray[np.int64]
    must: NDArray[np.int64]
    """Moves that may still win."""
    proof: NDArray[np.int64]
    """All cells of the carriers that exclude the other moves; the winner's carrier at the end."""
    played: NDArray[np.int64]
    """The move being searched."""
    begun: NDArray[np.int64]
    """How many positions had been searched before this one."""
    control: NDArray[np.int64]

    def open_node(self, depth: int) -> int:
        winner = settle_at_once(self, depth)
        return winner if winner != UNKNOWN else look_ahead(self, depth)

    def open_child(self, depth: int) -> None:
        put_child(self, depth, best_of(self.currents[depth], moves_to_try(self, depth)))

    def close_child(self, depth: int, score: int) -> int:
        mover = int(self.mover[depth])
        carrier = int(self.proof[depth + 1] | self.captured[depth + 1, score])
        if score == mover:
            self.proof[depth] = carrier | (1 << int(self.played[depth]))
        else:
            self.must[depth] &= carrier
            self.proof[depth] |= carrier
            if moves_to_try(self, depth):
                return UNKNOWN
            lose(self, depth)
        store(self, depth, score, int(self.control[1] - self.begun[depth]))
        return score


def new_nodes(board: Board, entries: int) -> HexNodes:
    """The arrays of a search on a board, with an empty table."""
    depths = board.size + 2
    return HexNodes(
        board,
        new_table(entries),
        new_links(board),
        np.zeros((depths, 2), np.int64),
        np.zeros((depths, 2), np.int64),
        np.zeros((depths, board.size), np.int64),
        np.zeros((depths, board.size), np.float64),
        *(np.zeros(depths, np.int64) for _ in range(5)),
        control=np.zeros(2, np.int64),
    )


@kernel
def fill_in(nodes: Any, depth: int) -> int:
    """Fill dead and captured cells with stones; returns who has joined both sides then, if any.

    Who wins stays the same. Where the owner of captured cells wins, they belong to the carrier.
    """
    board, links = nodes.board, nodes.links
    stones, captured = nodes.stones[depth], nodes.captured[depth]
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
def settle_by_connections(nodes: Any, depth: int) -> int:
    """The winner, if connections show it, with the carrier in `proof`; else the moves to try.

    Only moves in the carriers of all of the opponent's `wins` may win.
    """
    board, links = nodes.board, nodes.links
    mover = int(nodes.mover[depth])
    mine, theirs = int(nodes.stones[depth, mover]), int(nodes.stones[depth, 1 - mover])
    empty = board.everything & ~(mine | theirs)
    if find_wins(board, links, mover, mine, empty) != 0:
        nodes.proof[depth] = links.wins[0]
        return mover
    count = find_wins(board, links, 1 - mover, theirs, empty)
    if count < 0:
        nodes.proof[depth] = links.wins[0]
        return 1 - mover
    must = empty
    nodes.proof[depth] = 0
    for i in range(count):
        carrier = int(links.wins[i])
        if must & carrier != must:
            must &= carrier
            nodes.proof[depth] |= carrier
    nodes.must[depth] = must
    copy_array(links.killers[mover : mover + 1], nodes.killers[depth : depth + 1])
    return UNKNOWN if moves_to_try(nodes, depth) else lose(nodes, depth)


@kernel
def moves_to_try(nodes: Any, depth: int) -> int:
    """Moves that may still win, without those that a reply makes dead.

    After such a move and that reply it is the mover's turn again, with nothing gained and one more
    stone against it. If there is a win then, the same move wins now already, and so on until it is
    a move of another kind.
    """
    moves = 0
    bits = int(nodes.must[depth])
    while bits:
        if nodes.killers[depth, lowest(bits)] == 0:
            moves |= lowest_bit(bits)
        bits &= bits - 1
    return moves


@kernel
def lose(nodes: Any, depth: int) -> int:
    """Add to the proof the replies to moves not tried; returns the winner, who is not the mover."""
    bits = int(nodes.must[depth])
    while bits:
        nodes.proof[depth] |= lowest_bit(bits) | lowest_bit(int(nodes.killers[depth, lowest(bits)]))
        bits &= bits - 1
    return 1 - int(nodes.mover[depth])


@kernel
def settle_at_once(nodes: Any, depth: int) -> int:
    """The winner of a position just reached, or UNKNOWN where moves have to be tried."""
    winner = fill_in(nodes, depth)
    if winner != UNKNOWN:
        nodes.proof[depth] = 0
        return winner
    first, second = int(nodes.stones[depth, 0]), int(nodes.stones[depth, 1])
    winner, carrier = look_up(nodes.board, nodes.table, first, second, int(nodes.mover[depth]))
    if winner != UNKNOWN:
        nodes.proof[depth] = carrier
        return winner
    nodes.begun[depth] = nodes.control[1]
    nodes.control[1] += 1
    winner = settle_by_connections(nodes, depth)
    if winner != UNKNOWN:
        store(nodes, depth, winner, 1)
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
def put_child(nodes: Any, depth: int, cell: int) -> None:
    """Write the position after a move into the next row."""
    mover = int(nodes.mover[depth])
    nodes.played[depth] = cell
    nodes.stones[depth + 1, mover] = int(nodes.stones[depth, mover]) | (1 << cell)
    nodes.stones[depth + 1, 1 - mover] = nodes.stones[depth, 1 - mover]
    nodes.mover[depth + 1] = 1 - mover


@kernel
def look_ahead(nodes: Any, depth: int) -> int:
    """Look at the positions after all moves, which orders them and may show the winner here.

    A move is good that takes much current, and leaves the opponent few moves that may win.
    """
    board, links = nodes.board, nodes.links
    currents = nodes.currents[depth]
    currents[:] = 0.0
    empty = board.everything & ~int(nodes.stones[depth, 0] | nodes.stones[depth, 1])
    for player in range(2):
        link_neighbours(board, links, player, int(nodes.stones[depth, player]), empty)
        add_currents(board, links, player, empty, currents)
    seen = 0
    moves = moves_to_try(nodes, depth)
    while moves:
        cell = best_of(currents, moves)
        seen |= 1 << cell
        put_child(nodes, depth, cell)
        winner = settle_at_once(nodes, depth + 1)
        if winner != UNKNOWN:
            winner = nodes.close_child(depth, winner)
            if winner != UNKNOWN:
                return winner
        else:
            currents[cell] -= count_bits(moves_to_try(nodes, depth + 1))
        moves = moves_to_try(nodes, depth) & ~seen
    return UNKNOWN


# ---- the solver ----------------------------------------------------------------------------------


class HexSolver(ExactSolver):
    """Solves positions of Hex on one board and remembers them; it counts no plies.

    Up to 6x6 every position takes seconds at most; larger boards may take very long while they are
    nearly empty.

    Args:
        game: Hex on a board of at most 61 cells.
        entries: Of the table of solved positions, 29 bytes each.
        compiles: Whether to run as machine code.

    Raises:
        ValueError: If the board is larger.
    """

    def __init__(self, game: Hex, entries: int = 1 << 20, compiles: bool = True) -> None:
        if game.rows * game.columns > MOST_CELLS:
            raise ValueError(
                f"expected a board of Hex of at most {MOST_CELLS} cells, got {game.rows} x "
                f"{game.columns}"
            )
        super().__init__(game, compiles, 1000)
        self.board = new_board(game.rows, game.columns)
        self.nodes = new_nodes(self.board, entries)

    def nodes_at(self, state: State) -> HexNodes:
        return self.nodes

    def solve(self, first: int, second: int, mover: int, clock: Clock) -> tuple[int, int]:
        """Who wins a position, and on which carrier; the stones of the players are bits."""
        nodes = self.nodes
        nodes.stones[0] = first, second
        nodes.mover[0] = mover
        winner = self.search(nodes, clock)
        return winner, int(nodes.proof[0] | nodes.captured[0, winner])

    def winner_of(self, state: State, clock: Clock) -> tuple[int, int]:
        """Who wins a position, and on which carrier; all cells, where the swap is needed for it."""
        game = self.game
        if game.is_terminal(state):
            return int(state.winner), 0
        mover, everything = game.to_play(state), self.board.everything
        if game.can_swap(state):
            if self._winner_after(state, self.board.size, clock)[0] == mover:
                return mover, everything
        elif game.swap and state.ply == 0:
            return (mover if 1 in self.values(state, clock).values() else 1 - mover), everything
        stones = [0, 0]
        for cell, owner in enumerate(base.cell_owners(game, state).flat):
            if owner != EMPTY:
                stones[owner] |= 1 << cell
        return self.solve(stones[0], stones[1], mover, clock)

    def _winner_after(self, state: State, action: int, clock: Clock) -> tuple[int, int]:
        child = base.clone(self.game, state)
        self.game.step(child, action)
        return self.winner_of(child, clock)

    def value(self, state: State, clock: Clock) -> int:
        return 1 if self.winner_of(state, clock)[0] == self.game.to_play(state) else -1

    def values(
        self, state: State, clock: Clock, found: dict[int, int] | None = None
    ) -> dict[int, int]:
        """See `ExactSolver`; what was found before a `TimeoutError` is kept for the next call.

        A move outside the carrier on which the opponent refutes another move loses as well.
        """
        game, cells = self.game, self.board.size
        mover, must = game.to_play(state), self.board.everything
        values = {} if found is None else found
        actions = base.legal_actions(game, state)
        for action in sorted(actions, key=lambda action: eccentricity(game, action)):
            if action < cells and not must >> action & 1:
                values[action] = -1
                continue
            winner, carrier = self._winner_after(state, action, clock)
            values[action] = 1 if winner == mover else -1
            if winner != mover and action < cells:
                must &= carrier
        return {action: values[action] for action in actions}

    def scores(self, state: State, clock: Clock) -> dict[int, int]:
        raise ValueError(f"expected a game whose solver counts plies, got {self.game.name}")


def eccentricity(game: Hex, action: int) -> int:
    """How far an action is from the centre, where the shortest losses begin; the swap is last."""
    row, column = divmod(action, game.columns)
    down, right = 2 * row - game.rows + 1, 2 * column - game.columns + 1
    return max(abs(down), abs(right), abs(down + right))
