"""Hex solved exactly: depth-first proof-number search with inferior cells and virtual connections.

The *proof number* of a position estimates how many positions below it must still be shown to be
won for the player to move until it is won, the *disproof number* how many for the opponent. The
search always goes on where the fewest are missing, and stays in a part of the tree as long as its
numbers are below limits that the rest sets (Nagai, "Df-pn algorithm for searching AND/OR trees and
its applications", 2002). All numbers are in a table (`agents.knowledge.hex.solver_table`).

Each new position is looked at once (Arneson, Hayward and Henderson, "Solving Hex: beyond humans",
2010):

* Dead, captured and permanently inferior cells are filled (`agents.knowledge.hex.inferior`). The
  search goes on from the filled position.
* The H-search (`agents.knowledge.hex.h_search`) shows who has won, or which moves must be played.
  Below the root it looks only for connections of the opponent: what would join the mover's sides
  now has mostly been found before the opponent's move, which then was not tried, as it left that as
  it is. To look for it again would take a third of the time.
* Vulnerable moves are left out.
* Where the current is strong (`agents.knowledge.hex.circuit`), a move is tried early. The later a
  move comes in this order, the larger is its first number, so most of the bad ones are never
  looked at while a better one is open: the search is *focused*.

## Why what is pruned is pruned rightly

A *carrier* is a set of empty cells on which a player wins even if the opponent is given all other
empty cells. It may always be enlarged. Every solved position has one, and this is how they are
found:

* *A win by the H-search* comes with its carrier.
* *A win by a move*: the carrier of the position after the move, and the move.
* *A loss*: let the mover lose after the move m on the carrier C of the opponent. Then every move
  outside C loses too: the opponent, given the move, wins on C, as if the mover had played m and
  been given the other cell. So the moves that may win shrink to C, as they do to the carrier of a
  semi-connection of the opponent. When none is left, each move is outside one of these carriers,
  and the opponent wins on their union: whatever the mover plays, one carrier is left as it is.
* *Vulnerable moves*: let only those be left. The opponent answers such a move u with its killer k,
  which makes u dead, and it is the mover's turn in the same position but for u and k, where k is
  the opponent's and nobody cares for u. That is no better for the mover than before; so it ends
  with another move, which loses on its carrier. The union of the carriers, with u and k, is one.
* *Filled cells*: let a player win in the filled position on C. Undo the filling step by step. A
  dead cell makes no difference to any game, so C stays a carrier if it is given to the opponent.
  Cells captured by the opponent are the opponent's already. Of two cells captured by the player,
  the player answers each stone in one with the other, and has what both would give: C and the two
  cells are a carrier. For a permanently inferior cell the player has a strategy on it and its three
  empty neighbours that gives as much: C and the four cells are a carrier. So the carrier in a
  position as it is before it is filled, by which its siblings are pruned, is C *and all cells that
  the winner has captured*, or needs for what is filled.
* The table keeps carriers of filled positions, without the cells that were captured to get there:
  these belong to the way there, and each way adds its own.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.bits import (
    NONE,
    WORD,
    common,
    contains,
    meet,
    one_bit,
    put_set,
    set_in,
    union,
)
from agents.knowledge.hex.circuit import add_currents
from agents.knowledge.hex.h_search import (
    MOST_EXTENDED,
    NOWHERE,
    SEMI,
    Connections,
    Grid,
    connect,
    empty_cells,
    first_row,
    must_play,
    new_connections,
    new_grid,
    sees_win,
    winning_carrier,
    winning_key,
)
from agents.knowledge.hex.inferior import (
    Rings,
    fill_all,
    fill_around,
    fill_with,
    killer_of,
    new_rings,
)
from agents.knowledge.hex.patterns import RING
from agents.knowledge.hex.shortest import stones_needed
from agents.knowledge.hex.solver_table import (
    PLACES,
    Table,
    entry_of,
    new_table,
    put,
    read_set,
    turned,
    write_key,
)
from agents.knowledge.hex.surroundings import number_all
from agents.solvers.depth_first import NODES, UNKNOWN
from agents.solvers.questions import Clock, ExactSolver
from hexenv.compiled import CompiledFunction, compiled, kernel
from hexenv.games import base
from hexenv.games.base import EMPTY, State
from hexenv.games.hex import Hex

INFINITE: Final = 1 << 28
"""The number of what cannot be shown."""
OPEN: Final = 2
"""In place of a winner: the numbers have reached their limits."""
RANKS: Final = 6
"""Moves in the order of their currents that have the same first number; the next have one more."""
PATIENCE: Final = 4
"""A position is left when its number is larger than that of the second best by one part of so many:
otherwise the search would go to and fro between the two."""


# ---- the search ---------------------------------------------------------------------------------


@compiled
class HexNodes(NamedTuple):
    """The positions from the root to where the search is; see `depth_first.OpenNodes`.

    Scores are the winners, 0 and 1, or `OPEN`. Most arrays have a row for each depth.
    """

    grid: Grid
    rings: Rings
    links: Connections
    table: Table
    owners: NDArray[np.int8]
    """``(depths, size + 2)``: the owners of the cells as they are filled in, and 0 and 1."""
    ring_numbers: NDArray[np.int32]
    """``(depths, size)``: the numbers of the rings around the cells."""
    captured: NDArray[np.int64]
    """``(depths, 2, 3)``: the cells that each player has captured since the last move."""
    mover: NDArray[np.int64]
    must: NDArray[np.int64]
    """``(depths, 3)``: moves that may still win."""
    proof: NDArray[np.int64]
    """``(depths, 3)``: all cells of the carriers that exclude the other moves; the winner's carrier
    at the end."""
    move: NDArray[np.int64]
    """The winning move, or `NOWHERE` if none is needed."""
    moves: NDArray[np.int16]
    """``(depths, size)``: the moves to try, the most promising first; of them there are"""
    counts: NDArray[np.int64]
    children: NDArray[np.int64]
    """``(depths, size, 2)``: the proof and disproof numbers of the positions after these moves."""
    numbers: NDArray[np.int64]
    """``(depths, 2)``: the position's own, and"""
    limits: NDArray[np.int64]
    """``(depths, 2)``: where they end the search below it."""
    played: NDArray[np.int64]
    """Which of the moves is being searched."""
    begun: NDArray[np.int64]
    """How many positions had been searched before this one, less those of earlier visits."""
    changed: NDArray[np.int16]
    """``(size,)``: scratch space of `fill_around`."""
    volts: NDArray[np.float64]
    """``(size,)``: scratch space of `add_currents`."""
    currents: NDArray[np.float64]
    """``(size,)``: how good each move looks."""
    control: NDArray[np.int64]

    def open_node(self, depth: int) -> int:
        winner = settle(self, depth)
        if winner == UNKNOWN:
            winner = list_moves(self, depth)
        return winner if winner != UNKNOWN else choose(self, depth)

    def open_child(self, depth: int) -> None:
        put_child(self, depth, int(self.moves[depth, self.played[depth]]))

    def close_child(self, depth: int, score: int) -> int:
        choice = int(self.played[depth])
        if score == OPEN:
            for i in range(2):
                self.children[depth, choice, i] = self.numbers[depth + 1, i]
        elif take_result(self, depth, int(self.moves[depth, choice]), score):
            return score
        return choose(self, depth)


def new_nodes(rows: int, columns: int, entries: int) -> HexNodes:
    """The arrays of a search on a board, with an empty table."""
    size = rows * columns
    depths = size + 2
    links = new_connections(size)
    owners = np.full((depths, size + 2), EMPTY, np.int8)
    owners[:, size:] = 0, 1

    def numbers(*shape: int) -> NDArray[np.int64]:
        return np.zeros((depths, *shape), np.int64)

    return HexNodes(
        new_grid(rows, columns),
        new_rings(rows, columns),
        links,
        new_table(size, entries),
        owners,
        np.zeros((depths, size), np.int32),
        captured=numbers(2, 3),
        mover=numbers(),
        must=numbers(3),
        proof=numbers(3),
        move=numbers(),
        moves=np.zeros((depths, size), np.int16),
        counts=numbers(),
        children=numbers(size, 2),
        numbers=numbers(2),
        limits=numbers(2),
        played=numbers(),
        begun=numbers(),
        changed=np.zeros(size, np.int16),
        volts=np.zeros(size, np.float64),
        currents=np.zeros(size, np.float64),
        control=np.zeros(2, np.int64),
    )


# ---- one position --------------------------------------------------------------------------------


@kernel
def settle(nodes: Any, depth: int) -> int:
    """The winner of a position just reached, or UNKNOWN, with the moves that may win in `must`."""
    winner = recall(nodes, depth)
    if winner != OPEN:
        return winner
    nodes.begun[depth] = nodes.control[NODES]
    nodes.control[NODES] += 1
    mover, links = int(nodes.mover[depth]), nodes.links
    owners = nodes.owners[depth][: len(nodes.volts)]
    if sees_win(nodes.grid, owners, mover, depth == 0, MOST_EXTENDED, links):
        put_set(nodes.proof, depth, winning_carrier(links))
        nodes.move[depth] = winning_key(links)
        return close(nodes, depth, mover)
    if connect(nodes.grid, owners, 1 - mover, False, MOST_EXTENDED, links):
        put_set(nodes.proof, depth, winning_carrier(links))
        return close(nodes, depth, 1 - mover)
    empty = empty_cells(owners)
    put_set(nodes.must, depth, must_play(links, empty))
    put_set(nodes.proof, depth, carriers_outside(links, empty))
    return UNKNOWN


@kernel
def carriers_outside(links: Connections, cells: tuple[int, int, int]) -> tuple[int, int, int]:
    """The union of carriers of the two sides that together exclude what `must_play` excludes."""
    excluded = NONE
    goal = len(links.counts) - 1
    first = first_row(links, goal, SEMI)
    for row in range(first, first + int(links.counts[goal, SEMI])):
        carrier = set_in(links.sets, row)
        if not contains(carrier, cells):
            cells = common(cells, carrier)
            excluded = union(excluded, carrier)
    return excluded


@kernel
def recall(nodes: Any, depth: int) -> int:
    """What the table has of a position: the winner, UNKNOWN, or `OPEN` if it has nothing."""
    table, mover, size = nodes.table, int(nodes.mover[depth]), len(nodes.volts)
    turns = write_key(table, nodes.owners[depth], size)
    entry, is_there = entry_of(table, mover)
    if not is_there:
        return OPEN
    cells, excluded = read_set(table.cells, entry), read_set(table.excluded, entry)
    put_set(nodes.must, depth, turned(cells, size) if turns else cells)
    put_set(nodes.proof, depth, turned(excluded, size) if turns else excluded)
    move = int(table.moves[entry])
    nodes.move[depth] = size - 1 - move if turns and move >= 0 else move
    nodes.begun[depth] = nodes.control[NODES] - table.efforts[entry]
    for i in range(2):
        nodes.numbers[depth, i] = table.numbers[entry, i]
    if nodes.numbers[depth, 0] == 0:
        return mover
    return 1 - mover if nodes.numbers[depth, 1] == 0 else UNKNOWN


@kernel
def keep(nodes: Any, depth: int) -> None:
    """Put what is known of a position into the table."""
    put(
        nodes.table,
        nodes.owners[depth],
        int(nodes.mover[depth]),
        set_in(nodes.must, depth),
        set_in(nodes.proof, depth),
        (int(nodes.numbers[depth, 0]), int(nodes.numbers[depth, 1])),
        int(nodes.control[NODES] - nodes.begun[depth]),
        int(nodes.move[depth]),
    )


@kernel
def close(nodes: Any, depth: int, winner: int) -> int:
    """Keep who wins a position, by the carrier in `proof`; returns the winner."""
    has_won = winner == nodes.mover[depth]
    nodes.numbers[depth, 0] = 0 if has_won else INFINITE
    nodes.numbers[depth, 1] = INFINITE if has_won else 0
    if not has_won:
        nodes.move[depth] = NOWHERE
    keep(nodes, depth)
    return winner


# ---- the moves -----------------------------------------------------------------------------------


@kernel
def fill_root(nodes: Any) -> None:
    """Fill in the position at the root."""
    owners, numbers = nodes.owners[0], nodes.ring_numbers[0]
    number_all(nodes.rings.of_cells, owners, 0, numbers, RING)
    fill_all(nodes.rings, owners, numbers, nodes.captured[0], nodes.changed)


@kernel
def put_child(nodes: Any, depth: int, move: int) -> None:
    """Write the position after a move into the next row, filled in."""
    mover, owners = int(nodes.mover[depth]), nodes.owners[depth + 1]
    for cell in range(len(owners)):
        owners[cell] = nodes.owners[depth, cell]
    numbers = nodes.ring_numbers[depth + 1]
    for cell in range(len(numbers)):
        numbers[cell] = nodes.ring_numbers[depth, cell]
    fill_with(nodes.rings, owners, numbers, move, mover)
    nodes.mover[depth + 1] = 1 - mover
    captured = nodes.captured[depth + 1]
    captured[:] = 0
    nodes.changed[0] = move
    fill_around(nodes.rings, owners, numbers, captured, nodes.changed, 1)


@kernel
def list_moves(nodes: Any, depth: int) -> int:
    """Fill `moves` and `children`; returns the winner, where the table has one who shows it."""
    owners, mover = nodes.owners[depth], int(nodes.mover[depth])
    nodes.currents[:] = 0.0
    for player in range(2):
        add_currents(nodes.grid, owners, player, nodes.volts, nodes.currents)
    count = 0
    for cell in range(len(nodes.volts)):
        if not meet(set_in(nodes.must, depth), one_bit(cell)):
            continue
        if killer_of(nodes.rings, nodes.ring_numbers[depth], cell, mover) != NOWHERE:
            continue
        place = count
        while place > 0 and nodes.currents[cell] > nodes.currents[nodes.moves[depth, place - 1]]:
            nodes.moves[depth, place] = nodes.moves[depth, place - 1]
            place -= 1
        nodes.moves[depth, place] = cell
        count += 1
    nodes.counts[depth] = count
    for i in range(count):
        put_child(nodes, depth, int(nodes.moves[depth, i]))
        nodes.children[depth, i, 0] = 1
        nodes.children[depth, i, 1] = 1 + i // RANKS
        found = recall(nodes, depth + 1)
        if found == UNKNOWN:
            for j in range(2):
                nodes.children[depth, i, j] = nodes.numbers[depth + 1, j]
        elif found != OPEN and take_result(nodes, depth, int(nodes.moves[depth, i]), found):
            return found
    return UNKNOWN


@kernel
def take_result(nodes: Any, depth: int, move: int, winner: int) -> bool:
    """Take who wins the position in the row below; whether the mover has won by that."""
    carrier = union(set_in(nodes.proof, depth + 1), set_in(nodes.captured[depth + 1], winner))
    if winner == nodes.mover[depth]:
        put_set(nodes.proof, depth, union(carrier, one_bit(move)))
        nodes.move[depth] = move
        close(nodes, depth, winner)
        return True
    put_set(nodes.must, depth, common(set_in(nodes.must, depth), carrier))
    put_set(nodes.proof, depth, union(set_in(nodes.proof, depth), carrier))
    return False


@kernel
def choose(nodes: Any, depth: int) -> int:
    """Choose the move to search next, with its limits; or the winner or `OPEN`, to go back.

    Moves that are found to lose are dropped.
    """
    must, moves, children = set_in(nodes.must, depth), nodes.moves[depth], nodes.children[depth]
    best, first, second, total, count = 0, INFINITE, INFINITE, 0, 0
    for i in range(int(nodes.counts[depth])):
        if not meet(must, one_bit(int(moves[i]))):
            continue
        moves[count] = moves[i]
        for j in range(2):
            children[count, j] = children[i, j]
        effort = int(children[count, 1])
        if effort < first:
            best, first, second = count, effort, first
        else:
            second = min(second, effort)
        total += int(children[count, 0])
        count += 1
    nodes.counts[depth] = count
    if count == 0:
        return lose(nodes, depth)
    total = min(total, INFINITE - 1)
    limits = nodes.limits
    if first >= limits[depth, 0] or total >= limits[depth, 1]:
        nodes.numbers[depth, 0], nodes.numbers[depth, 1] = first, total
        nodes.move[depth] = NOWHERE
        keep(nodes, depth)
        return OPEN
    nodes.played[depth] = best
    limits[depth + 1, 0] = limits[depth, 1] - total + children[best, 0]
    limits[depth + 1, 1] = min(int(limits[depth, 0]), second + 1 + second // PATIENCE)
    return UNKNOWN


@kernel
def lose(nodes: Any, depth: int) -> int:
    """Close a position that is lost, with the replies to the vulnerable moves; who wins it."""
    mover = int(nodes.mover[depth])
    must, proof = set_in(nodes.must, depth), set_in(nodes.proof, depth)
    for cell in range(len(nodes.volts)):
        if meet(must, one_bit(cell)):
            killer = killer_of(nodes.rings, nodes.ring_numbers[depth], cell, mover)
            proof = union(proof, union(one_bit(cell), one_bit(killer)))
    put_set(nodes.proof, depth, proof)
    return close(nodes, depth, 1 - mover)


# ---- the solver ----------------------------------------------------------------------------------


class HexSolver(ExactSolver):
    """Solves positions of Hex on one board and remembers them; it counts no plies.

    Up to 6x6 every position takes a second at most, on 7x7 a first move less than a minute; larger
    boards may take very long while they are nearly empty.

    Args:
        game: Hex on a board of at most `h_search.MOST_CELLS` cells.
        entries: Of the table, 47 bytes each up to 63 cells, and 32 more for each 63 cells more.
        compiles: Whether to run as machine code.

    Raises:
        ValueError: If the board is larger.
    """

    def __init__(self, game: Hex, entries: int = 1 << 20, compiles: bool = True) -> None:
        super().__init__(game, compiles)
        self.cells = game.rows * game.columns
        self.nodes = new_nodes(game.rows, game.columns, max(entries, PLACES))
        self._fill = CompiledFunction(fill_root) if compiles else fill_root

    def nodes_at(self, state: State) -> HexNodes:
        return self.nodes

    def solve(self, first: int, second: int, mover: int, clock: Clock) -> tuple[int, int]:
        """Who wins a position, and on which carrier; the stones of the players are bits."""
        nodes = self.nodes
        for cell in range(self.cells):
            owner = 0 if first >> cell & 1 else 1 if second >> cell & 1 else EMPTY
            nodes.owners[0, cell] = owner
        nodes.mover[0] = mover
        nodes.limits[0] = INFINITE
        nodes.captured[0] = 0
        self._fill(nodes)
        winner = self.search(nodes, clock)
        carrier = nodes.proof[0] | nodes.captured[0, winner]
        return winner, sum(int(word) << WORD * i for i, word in enumerate(carrier))

    def winner_of(self, state: State, clock: Clock) -> tuple[int, int]:
        """Who wins a position, and on which carrier; all cells, where the swap is needed for it."""
        game = self.game
        if game.is_terminal(state):
            return int(state.winner), 0
        mover, everything = game.to_play(state), (1 << self.cells) - 1
        if game.can_swap(state):
            if self._winner_after(state, self.cells, clock)[0] == mover:
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
        game, cells = self.game, self.cells
        mover, must = game.to_play(state), (1 << self.cells) - 1
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

    def quickest(self, state: State, actions: list[int], clock: Clock) -> list[int]:
        """Those after which the winner needs the fewest stones, or for the loser the most.

        They are counted on the carrier of the win, as if the loser passed; see
        `agents.knowledge.hex.shortest`.
        """
        winner, carrier = self.winner_of(state, clock)
        has_won = winner == self.game.to_play(state)
        needed: dict[int, int] = {}
        for action in actions:
            child = base.clone(self.game, state)
            self.game.step(child, action)
            if has_won:
                carrier = self.winner_of(child, clock)[1]
            words = [carrier >> WORD * i & (1 << WORD) - 1 for i in range(3)]
            stones = base.cell_owners(self.game, child).ravel()
            cells = common((words[0], words[1], words[2]), empty_cells(stones))
            needed[action] = stones_needed(self.nodes.grid, stones, winner, cells)
        best = min(needed.values()) if has_won else max(needed.values())
        return [action for action in actions if needed[action] == best]

    def scores(self, state: State, clock: Clock) -> dict[int, int]:
        raise ValueError(f"expected a game whose solver counts plies, got {self.game.name}")


def eccentricity(game: Hex, action: int) -> int:
    """How far an action is from the centre, where the shortest losses begin; the swap is last."""
    row, column = divmod(action, game.columns)
    down, right = 2 * row - game.rows + 1, 2 * column - game.columns + 1
    return max(abs(down), abs(right), abs(down + right))
