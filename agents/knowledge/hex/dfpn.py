"""draft"""
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.bits import NONE, common, contains, meet, one_bit, put_set, set_in, size_of, union
from agents.knowledge.hex.h_search import (
    NOWHERE, SEMIS, Connections, Grid, connect, new_connections, new_grid, winning_carrier,
)
from agents.knowledge.hex.inferior import CAPTURES, KILLERS, Rings, new_rings, number_of_ring, DIRECTIONS
from agents.knowledge.hex.patterns import PAIR_RING
from agents.solvers.depth_first import UNKNOWN
from agents.solvers.questions import Clock, ExactSolver
from hexenv.compiled import compiled, kernel
from hexenv.games.base import EMPTY
import os

WORD = 63
BUCKET: Final = 4
INFINITE: Final = 1 << 28
EXCEEDED: Final = 2
MOST_EXTENDED: Final = 20_000
WEAK = int(os.environ.get("WEAK", "0"))
RANK = int(os.environ.get("RANK", "0"))
EPS = int(os.environ.get("EPS", "2"))


class Table(NamedTuple):
    stones: NDArray[np.int64]
    cells: NDArray[np.int64]
    excluded: NDArray[np.int64]
    numbers: NDArray[np.int32]
    efforts: NDArray[np.int32]
    movers: NDArray[np.int8]


def new_table(size, entries):
    words = -(-size // WORD)
    return Table(
        np.zeros((entries, 2, words), np.int64),
        np.zeros((entries, words), np.int64),
        np.zeros((entries, words), np.int64),
        np.zeros((entries, 2), np.int32),
        np.zeros(entries, np.int32),
        np.zeros(entries, np.int8),
    )


@kernel
def is_turned(owners, size):
    for cell in range(size // 2):
        other = owners[size - 1 - cell]
        if owners[cell] != other:
            return other < owners[cell]
    return False


@kernel
def write_key(owners, size, turns, key):
    key[:] = 0
    for cell in range(size):
        owner = owners[size - 1 - cell] if turns else owners[cell]
        if owner != EMPTY:
            key[owner, cell // WORD] |= 1 << (cell % WORD)


@kernel
def turned(cells, size):
    image = NONE
    for cell in range(size):
        if meet(cells, one_bit(cell)):
            image = union(image, one_bit(size - 1 - cell))
    return image


@kernel
def entry_of(table, key, mover):
    """entry of position, or -1 - the one to replace."""
    mixed = mover
    words = key.shape[1]
    for player in range(2):
        for word in range(words):
            mixed = (mixed ^ int(key[player, word])) * -7046029254386353131
            mixed ^= (mixed >> 29) & 0x7FFFFFFFF
    first = (mixed & 0x7FFFFFFFFFFFFFFF) % (len(table.efforts) - BUCKET + 1)
    cheapest = first
    for entry in range(first, first + BUCKET):
        if table.efforts[entry] > 0 and table.movers[entry] == mover:
            same = True
            for player in range(2):
                for word in range(words):
                    if table.stones[entry, player, word] != key[player, word]:
                        same = False
            if same:
                return entry
        if table.efforts[entry] < table.efforts[cheapest]:
            cheapest = entry
    return -1 - cheapest


@kernel
def read_words(array, row):
    words = array.shape[1]
    return (int(array[row, 0]), int(array[row, 1]) if words > 1 else 0, int(array[row, 2]) if words > 2 else 0)


@kernel
def write_words(array, row, cells):
    words = array.shape[1]
    array[row, 0] = cells[0]
    if words > 1:
        array[row, 1] = cells[1]
    if words > 2:
        array[row, 2] = cells[2]


@compiled
class Nodes(NamedTuple):
    grid: Grid
    rings: Rings
    links: Connections
    table: Table
    owners: NDArray[np.int8]
    captured: NDArray[np.int64]  # (depths,2,3)
    mover: NDArray[np.int64]
    must: NDArray[np.int64]  # (depths, 3)
    proof: NDArray[np.int64]
    moves: NDArray[np.int16]
    counts: NDArray[np.int64]
    of_children: NDArray[np.int32]  # (depths, size, 2)
    numbers: NDArray[np.int64]  # (depths, 2)
    limits: NDArray[np.int64]
    played: NDArray[np.int64]
    begun: NDArray[np.int64]
    key: NDArray[np.int64]  # (2, words)
    stack: NDArray[np.int16]
    volts: NDArray[np.float64]
    currents: NDArray[np.float64]
    control: NDArray[np.int64]
    counters: NDArray[np.int64]

    def open_node(self, depth: int) -> int:
        winner = settle(self, depth)
        if winner != UNKNOWN:
            return winner
        winner = list_moves(self, depth)
        if winner != UNKNOWN:
            return winner
        return review(self, depth)

    def open_child(self, depth: int) -> None:
        choice = int(self.played[depth])
        put_child(self, depth, int(self.moves[depth, choice]))

    def close_child(self, depth: int, score: int) -> int:
        choice = int(self.played[depth])
        if score == EXCEEDED:
            self.of_children[depth, choice, 0] = self.numbers[depth + 1, 0]
            self.of_children[depth, choice, 1] = self.numbers[depth + 1, 1]
        elif take_result(self, depth, int(self.moves[depth, choice]), score):
            return score
        return review(self, depth)


def new_nodes(rows, columns, entries):
    size = rows * columns
    depths = size + 2
    words = -(-size // WORD)
    owners = np.full((depths, size + 2), EMPTY, np.int8)
    owners[:, size] = 0
    owners[:, size + 1] = 1
    return Nodes(
        new_grid(rows, columns), new_rings(rows, columns), new_connections(size), new_table(size, entries),
        owners, np.zeros((depths, 2, 3), np.int64), np.zeros(depths, np.int64),
        np.zeros((depths, 3), np.int64), np.zeros((depths, 3), np.int64),
        np.zeros((depths, size), np.int16), np.zeros(depths, np.int64), np.zeros((depths, size, 2), np.int32),
        np.zeros((depths, 2), np.int64), np.zeros((depths, 2), np.int64), np.zeros(depths, np.int64),
        np.zeros(depths, np.int64), np.zeros((2, words), np.int64), np.zeros(size + 2, np.int16),
        np.zeros(size + 2, np.float64), np.zeros(size + 2, np.float64), np.zeros(2, np.int64), np.zeros(8, np.int64),
    )


# ---- fill-in


@kernel
def captor_of(rings, owners, cell, turn):
    number, weight = 0, 1
    for i in range(PAIR_RING):
        number += (int(owners[rings.of_pairs[cell, turn, i]]) + 1) * weight
        weight *= 3
    found = int(CAPTURES[number])
    return EMPTY if found == 0 else 0 if found & 1 else 1


@kernel
def try_fill(nodes, owners, captured, cell, height):
    rings, stack = nodes.rings, nodes.stack
    if owners[cell] != EMPTY:
        return height
    if KILLERS[number_of_ring(rings, owners, cell), 0] < 0:
        owners[cell] = 0
        stack[height] = cell
        return height + 1
    for turn in range(2 * DIRECTIONS):
        other = int(nodes.grid.around[cell, turn])
        if other == NOWHERE or owners[other] != EMPTY:
            continue
        if turn < DIRECTIONS:
            captor = captor_of(rings, owners, cell, turn)
        else:
            captor = captor_of(rings, owners, other, turn - DIRECTIONS)
        if captor != EMPTY:
            owners[cell] = captor
            owners[other] = captor
            put_set(captured, captor, union(set_in(captured, captor), union(one_bit(cell), one_bit(other))))
            stack[height] = cell
            stack[height + 1] = other
            return height + 2
    return height


@kernel
def fill_from(nodes, depth, height):
    owners, captured = nodes.owners[depth], nodes.captured[depth]
    while height > 0:
        height -= 1
        cell = int(nodes.stack[height])
        for i in range(6):
            near = int(nodes.grid.around[cell, i])
            if near != NOWHERE:
                height = try_fill(nodes, owners, captured, near, height)


@kernel
def fill_all(nodes, depth):
    owners, captured = nodes.owners[depth], nodes.captured[depth]
    captured[:] = 0
    for cell in range(len(nodes.grid.around)):
        height = try_fill(nodes, owners, captured, cell, 0)
        if height:
            fill_from(nodes, depth, height)


@kernel
def put_child(nodes, depth, cell):
    mover = int(nodes.mover[depth])
    owners = nodes.owners[depth + 1]
    for i in range(len(owners)):
        owners[i] = nodes.owners[depth, i]
    owners[cell] = mover
    nodes.captured[depth + 1] = 0
    nodes.mover[depth + 1] = 1 - mover
    nodes.stack[0] = cell
    fill_from(nodes, depth + 1, 1)


# ---- table


@kernel
def find_entry(nodes, depth):
    owners = nodes.owners[depth]
    size = len(nodes.grid.around)
    write_key(owners, size, is_turned(owners, size), nodes.key)
    return entry_of(nodes.table, nodes.key, int(nodes.mover[depth]))


@kernel
def store(nodes, depth, phi, delta):
    entry = find_entry(nodes, depth)
    if entry < 0:
        entry = -1 - entry
    table = nodes.table
    for player in range(2):
        for word in range(nodes.key.shape[1]):
            table.stones[entry, player, word] = nodes.key[player, word]
    size = len(nodes.grid.around)
    turns = is_turned(nodes.owners[depth], size)
    proof = set_in(nodes.proof, depth)
    cells = proof if phi == 0 or delta == 0 else set_in(nodes.must, depth)
    write_words(table.cells, entry, turned(cells, size) if turns else cells)
    write_words(table.excluded, entry, turned(proof, size) if turns else proof)
    table.numbers[entry, 0] = phi
    table.numbers[entry, 1] = delta
    nodes.numbers[depth, 0] = phi
    nodes.numbers[depth, 1] = delta
    table.efforts[entry] = min(max(1, int(nodes.control[1] - nodes.begun[depth])), 1 << 30)
    table.movers[entry] = nodes.mover[depth]


@kernel
def settle(nodes, depth):
    """winner of node; UNKNOWN if moves must be tried, which are in must."""
    entry = find_entry(nodes, depth)
    mover = int(nodes.mover[depth])
    if entry >= 0:
        table = nodes.table
        size = len(nodes.grid.around)
        turns = is_turned(nodes.owners[depth], size)
        cells, proof = read_words(table.cells, entry), read_words(table.excluded, entry)
        put_set(nodes.must, depth, turned(cells, size) if turns else cells)
        put_set(nodes.proof, depth, turned(proof, size) if turns else proof)
        if table.numbers[entry, 0] == 0:
            return mover
        if table.numbers[entry, 1] == 0:
            return 1 - mover
        nodes.begun[depth] = nodes.control[1] - table.efforts[entry]
        return UNKNOWN
    nodes.begun[depth] = nodes.control[1]
    nodes.control[1] += 1
    size = len(nodes.grid.around)
    owners = nodes.owners[depth][:size]
    if connect(nodes.grid, owners, mover, True, MOST_EXTENDED, nodes.links):
        put_set(nodes.proof, depth, winning_carrier(nodes.links))
        store(nodes, depth, 0, INFINITE)
        return mover
    if connect(nodes.grid, owners, 1 - mover, False, MOST_EXTENDED, nodes.links):
        put_set(nodes.proof, depth, winning_carrier(nodes.links))
        store(nodes, depth, INFINITE, 0)
        return 1 - mover
    must, proof = NONE, NONE
    for cell in range(size):
        if owners[cell] == EMPTY:
            must = union(must, one_bit(cell))
    goal = len(nodes.links.full_counts) - 1
    for row in range(goal * SEMIS, goal * SEMIS + int(nodes.links.semi_counts[goal])):
        carrier = set_in(nodes.links.semis, row)
        if not contains(carrier, must):
            must = common(must, carrier)
            proof = union(proof, carrier)
    put_set(nodes.must, depth, must)
    put_set(nodes.proof, depth, proof)
    return UNKNOWN


# ---- moves


@kernel
def killer_of(nodes, depth, cell):
    """A reply that kills a move of the mover, or NOWHERE"""
    owners, mover = nodes.owners[depth], int(nodes.mover[depth])
    found = int(KILLERS[number_of_ring(nodes.rings, owners, cell), 1 - mover])
    if found <= 0:
        return NOWHERE
    for i in range(6):
        if found >> i & 1:
            return int(nodes.rings.of_cells[cell, i])
    return NOWHERE


@kernel
def lose(nodes, depth):
    must, proof = set_in(nodes.must, depth), set_in(nodes.proof, depth)
    for cell in range(len(nodes.grid.around)):
        if meet(must, one_bit(cell)):
            killer = killer_of(nodes, depth, cell)
            proof = union(proof, union(one_bit(cell), one_bit(killer)))
    put_set(nodes.proof, depth, proof)
    store(nodes, depth, INFINITE, 0)
    return 1 - int(nodes.mover[depth])


@kernel
def take_result(nodes, depth, move, winner):
    """Take who wins the child in the row below; whether that is the mover, who so wins here."""
    carrier = union(set_in(nodes.proof, depth + 1), set_in(nodes.captured[depth + 1], winner))
    if winner == nodes.mover[depth]:
        put_set(nodes.proof, depth, union(carrier, one_bit(move)))
        store(nodes, depth, 0, INFINITE)
        return True
    put_set(nodes.must, depth, common(set_in(nodes.must, depth), carrier))
    put_set(nodes.proof, depth, union(set_in(nodes.proof, depth), carrier))
    return False


@kernel
def list_moves(nodes, depth):
    table = nodes.table
    size = len(nodes.grid.around)
    count = 0
    find_currents(nodes, depth)
    for cell in range(size):
        if not meet(set_in(nodes.must, depth), one_bit(cell)):
            continue
        if killer_of(nodes, depth, cell) != NOWHERE:
            continue
        put_child(nodes, depth, cell)
        entry = find_entry(nodes, depth + 1)
        phi, delta = 1, 0
        if entry >= 0:
            phi, delta = int(table.numbers[entry, 0]), int(table.numbers[entry, 1])
            if phi == 0 or delta == 0:
                winner = settle(nodes, depth + 1)
                if take_result(nodes, depth, cell, winner):
                    return winner
                continue
        place = count
        while place > 0 and nodes.currents[cell] > nodes.currents[nodes.moves[depth, place - 1]]:
            nodes.moves[depth, place] = nodes.moves[depth, place - 1]
            for i in range(2):
                nodes.of_children[depth, place, i] = nodes.of_children[depth, place - 1, i]
            place -= 1
        nodes.moves[depth, place] = cell
        nodes.of_children[depth, place, 0] = phi
        nodes.of_children[depth, place, 1] = delta
        count += 1
    nodes.counts[depth] = count
    for i in range(count):
        if nodes.of_children[depth, i, 1] == 0:
            nodes.of_children[depth, i, 1] = 1 + (i * RANK) // 4
    return UNKNOWN


@kernel
def review(nodes, depth):
    must = set_in(nodes.must, depth)
    best, second, phi, delta = NOWHERE, INFINITE, INFINITE, 0
    kept = 0
    worst = 0
    for i in range(int(nodes.counts[depth])):
        move = int(nodes.moves[depth, i])
        if not meet(must, one_bit(move)):
            continue
        nodes.moves[depth, kept] = move
        for j in range(2):
            nodes.of_children[depth, kept, j] = nodes.of_children[depth, i, j]
        effort = int(nodes.of_children[depth, kept, 1])
        if effort < phi:
            phi, second = effort, phi
            best = kept
        elif effort < second:
            second = effort
        delta += int(nodes.of_children[depth, kept, 0])
        worst = max(worst, int(nodes.of_children[depth, kept, 0]))
        kept += 1
    nodes.counts[depth] = kept
    if kept == 0:
        return lose(nodes, depth)
    if WEAK:
        delta = worst + kept - 1
    delta = min(delta, INFINITE - 1)
    if phi >= nodes.limits[depth, 0] or delta >= nodes.limits[depth, 1]:
        store(nodes, depth, phi, delta)
        return EXCEEDED
    nodes.played[depth] = best
    nodes.limits[depth + 1, 1] = min(int(nodes.limits[depth, 0]), second + 1 + (second >> EPS))
    if WEAK:
        nodes.limits[depth + 1, 0] = nodes.limits[depth, 1] - (kept - 1)
    else:
        nodes.limits[depth + 1, 0] = nodes.limits[depth, 1] - delta + nodes.of_children[depth, best, 0]
    return UNKNOWN


# ---- currents

SWEEPS = 10


@kernel
def find_currents(nodes, depth):
    """currents of both players through cells; on the plain cells, own stones as wires of no resistance (nearly)"""
    size = len(nodes.grid.around)
    owners = nodes.owners[depth]
    nodes.currents[:] = 0.0
    for player in range(2):
        flow(nodes, owners, player, size)


@kernel
def flow(nodes, owners, player, size):
    volts, around, sides = nodes.volts, nodes.grid.around, nodes.grid.sides
    for cell in range(size):
        volts[cell] = 0.5
    for sweep in range(SWEEPS):
        for index in range(size):
            cell = index if sweep & 1 == 0 else size - 1 - index
            if owners[cell] == 1 - player:
                continue
            total, weight = 0.0, 0.0
            own = owners[cell] == player
            if sides[player, cell] > 0:
                w = 10.0 if own else 1.0
                weight += w
                total += w if sides[player, cell] == 1 else 0.0
            for i in range(6):
                near = int(around[cell, i])
                if near >= 0 and owners[near] != 1 - player:
                    w = (10.0 if own else 1.0) * (10.0 if owners[near] == player else 1.0)
                    weight += w
                    total += w * volts[near]
            if weight > 0.0:
                volts[cell] = total / weight
    whole = 1e-9
    for cell in range(size):
        if sides[player, cell] == 1 and owners[cell] != 1 - player:
            whole += (1.0 - volts[cell]) * (10.0 if owners[cell] == player else 1.0)
    for cell in range(size):
        if owners[cell] != EMPTY:
            continue
        flow_here = 0.0
        if sides[player, cell] > 0:
            flow_here += abs(volts[cell] - (1.0 if sides[player, cell] == 1 else 0.0))
        for i in range(6):
            near = int(around[cell, i])
            if near >= 0 and owners[near] != 1 - player:
                flow_here += abs(volts[cell] - volts[near]) * (10.0 if owners[near] == player else 1.0)
        nodes.currents[cell] += flow_here / whole


class Solver2(ExactSolver):
    def __init__(self, game, entries=1 << 20, compiles=True):
        super().__init__(game, compiles, 128)
        self.size = game.rows * game.columns
        self.nodes = new_nodes(game.rows, game.columns, entries)

    def nodes_at(self, state):
        return self.nodes

    def solve(self, first, second, mover, clock):
        nodes = self.nodes
        for cell in range(self.size):
            nodes.owners[0, cell] = 0 if first >> cell & 1 else 1 if second >> cell & 1 else EMPTY
        nodes.mover[0] = mover
        nodes.limits[0] = INFINITE
        fill_all(nodes, 0)
        winner = self.search(nodes, clock)
        carrier = 0
        for word in range(3):
            carrier |= (int(nodes.proof[0, word]) | int(nodes.captured[0, winner, word])) << (WORD * word)
        return winner, carrier
