"""Inferior cells of Hex: the patterns by their proofs, and what is filled in against all games."""

import numpy as np
import pytest
from environments import JIT
from hex_oracles import (
    all_positions,
    bits_of,
    brute_force,
    owners_of,
    proven_winner,
    random_bits,
    wins_by,
)

from agents.knowledge.hex import inferior, patterns
from agents.knowledge.hex.h_search import new_grid
from agents.knowledge.hex.patterns import RING
from agents.knowledge.hex.surroundings import numbers_of
from hexenv.compiled import CompiledFunction, kernel
from hexenv.games.base import EMPTY

needs_compiler = pytest.mark.compiled(only=True)
fill = CompiledFunction(inferior.fill_in)
choose = CompiledFunction(inferior.choose_moves)


def test_the_tables_are_those_that_the_generator_proves():
    assert patterns.FILE.read_text(encoding="utf-8") == patterns.as_text()


def test_permanently_inferior_cells_are_those_of_henderson():
    """Without a condition too many: fifteen with two stones beyond, and one that is dead."""
    found = {ring for ring in patterns.rings(patterns.BEYOND) if patterns.is_inferior(ring)}
    assert found == {ring[::-1] for ring in found}
    least = {
        ring
        for ring in found
        if not any(
            owner and (*ring[:i], 0, *ring[i + 1 :]) in found for i, owner in enumerate(ring)
        )
    }
    assert sorted(sum(map(bool, ring)) for ring in least) == [2] * 15 + [3]
    assert {(1, 0, 0, 0, 0, 0, 1), (0, 0, 2, 2, 2, 0, 0)} <= least


def test_an_inferior_cell_stays_one_after_moves_of_the_owner():
    """So a move that wins on the filled board wins on the board as it is."""
    changed = 0
    for ring in filter(patterns.is_inferior, patterns.rings(patterns.BEYOND)):
        better = patterns.order((*ring, 1, 1, 1))

        def stays(i, player, better=better):
            real, filled = [0, 0, 0, 0], [1, 0, 0, 0]
            real[i] = filled[i] = player
            return patterns.keeps_up(better, tuple(real), tuple(filled), replies=False)

        assert all(stays(i, 1) for i in (1, 2, 3))
        changed += not all(stays(i, 2) for i in (1, 2, 3))
    assert changed > 1_000  # so the four cells belong to the carriers


class Board:
    """A board whose cells are filled in."""

    def __init__(self, rows, columns):
        self.cells = rows * columns
        self.rings = inferior.new_rings(rows, columns)
        self.left_out = 0

    def filled(self, bits):
        """The stones after filling, as bits, and the owners of the cells."""
        owners = owners_of(bits, self.cells)
        (fill if JIT else inferior.fill_in)(self.rings, owners)
        return bits_of(owners[: self.cells]), owners

    def moves(self, owners, player):
        """The moves that are chosen; without any, all."""
        cells = np.flatnonzero(owners[: self.cells] == EMPTY).tolist()
        chosen = np.zeros(self.cells, np.int16)
        numbers = numbers_of(self.rings.of_cells, owners, 0, RING)
        (choose if JIT else inferior.choose_moves)(self.rings, owners, numbers, player, chosen)
        self.left_out += np.sum((chosen >= 0) & (chosen != np.arange(self.cells)))
        return [cell for cell in cells if chosen[cell] == cell] or cells


def check_position(board, winner, bits, mover):
    """The winner stays the same, and a winning move is left; returns how many cells were filled."""
    stones, owners = board.filled(bits)
    assert all(stones[player] & bits[player] == bits[player] for player in (0, 1))
    best = winner(*bits, mover)
    assert winner(*stones, mover) == best
    moves = board.moves(owners, mover)
    if moves and best == mover:
        assert any(wins_by(winner, bits, mover, cell) for cell in moves)
    return (stones[0] | stones[1]).bit_count() - (bits[0] | bits[1]).bit_count()


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("rows", "columns"),
    [(2, 3), (3, 2), pytest.param(3, 3, marks=needs_compiler)],
)
def test_the_winner_stays_the_same_in_every_position(rows, columns):
    board, winner = Board(rows, columns), brute_force(rows, columns)
    filled = 0
    for first, second, mover in all_positions(board.cells):
        filled += check_position(board, winner, (first, second), mover)
    assert filled > 0


def dominated_moves(board, owners, player):
    """Pairs of moves of which the first dominates the second, by the tables."""
    numbers = numbers_of(board.rings.of_cells, owners, 0, RING)
    for cell, turn in np.ndindex(board.cells, inferior.DIRECTIONS):
        other = int(board.rings.others[cell, turn])
        if owners[cell] != EMPTY or other < 0 or owners[other] != EMPTY:
            continue
        number = inferior.number_of_pair(numbers, cell, other, turn)
        bits = int(inferior.DOMINATING[number]) >> 2 * player
        if bits & 1:
            yield cell, other
        if bits & 2:
            yield other, cell
        for i in range(patterns.PAIR_RING):
            if inferior.CAPTURING[number, player] >> i & 1:
                stone = int(board.rings.of_pairs[cell, turn, i])
                yield stone, cell
                yield stone, other


@pytest.mark.parametrize(("rows", "columns", "every"), [(2, 3, 1), (3, 3, 23)])
def test_a_dominating_move_wins_where_the_other_does(rows, columns, every):
    board, winner = Board(rows, columns), brute_force(rows, columns)
    checked = 0
    for first, second, mover in list(all_positions(board.cells))[::every]:
        bits = first, second
        for better, worse in dominated_moves(board, owners_of(bits, board.cells), mover):
            wins = [wins_by(winner, bits, mover, cell) for cell in (better, worse)]
            assert wins != [False, True]
            checked += 1
    assert checked > 100


@needs_compiler
@pytest.mark.parametrize(
    ("size", "empty", "count"),
    [
        (5, 22, 20),
        pytest.param(4, 16, 1_000, marks=pytest.mark.slow),
        pytest.param(5, 24, 200, marks=pytest.mark.slow),
        pytest.param(6, 28, 50, marks=pytest.mark.slow),
    ],
)
def test_the_winner_stays_the_same_by_proofs(tmp_path, size, empty, count):
    board, winner = Board(size, size), proven_winner(size, size, tmp_path / "proof.jsonl")
    rng, filled = np.random.default_rng(8), 0
    for _ in range(count):
        *bits, mover = random_bits(rng, board.cells, 1, empty)
        filled += check_position(board, winner, tuple(bits), mover)
    assert filled > 2 * count
    assert board.left_out > count / 2


def test_filling_keeps_the_numbers_of_the_rings():
    board, rng = Board(5, 6), np.random.default_rng(8)
    for _ in range(100 if JIT else 10):
        *bits, _ = random_bits(rng, board.cells)
        owners = owners_of(bits, board.cells)
        numbers = numbers_of(board.rings.of_cells, owners, 0, RING)
        captured, changed = np.zeros((2, 3), np.int64), np.zeros(board.cells, np.int16)
        inferior.fill_all(board.rings, owners, numbers, captured, changed)
        assert (owners == board.filled(bits)[1]).all()
        assert (numbers == numbers_of(board.rings.of_cells, owners, 0, RING)).all()


@needs_compiler
def test_machine_code_and_plain_python_fill_the_same():
    board, rng = Board(5, 6), np.random.default_rng(9)
    for _ in range(30):
        *bits, _ = random_bits(rng, board.cells)
        owners = board.filled(bits)[1]
        plain = owners_of(bits, board.cells)
        inferior.fill_in(board.rings, plain)
        assert (plain == owners).all()
        numbers = numbers_of(board.rings.of_cells, owners, 0, RING)
        for player in (0, 1):
            found = [np.zeros(board.cells, np.int16) for _ in range(2)]
            for route, chosen in zip((choose, inferior.choose_moves), found, strict=True):
                route(board.rings, owners, numbers, player, chosen)
            assert (found[0] == found[1]).all()


@kernel
def play_out_all(joins, wins):
    """Whether player 0 wins each position, for both movers, by the position after each move.

    A position is numbered by its cells as digits of base 3: 0 for empty, 1 and 2 for the players.
    """
    cells = 0
    while 3**cells < len(wins):
        cells += 1
    for code in range(len(wins) - 1, -1, -1):
        rest, weight, stones = code, 1, 0
        first, second, is_full = False, True, True
        for cell in range(cells):
            digit = rest % 3
            rest //= 3
            if digit == 0:
                is_full = False
                first = first or wins[code + weight] & 2 != 0
                second = second and wins[code + 2 * weight] & 1 != 0
            elif digit == 1:
                stones |= 1 << cell
            weight *= 3
        if is_full:
            first = second = joins[stones]
        wins[code] = int(first) | int(second) << 1


@kernel
def count_filled(rings, wins, owners):
    """How many cells are filled in all positions; below 0 if a winner is another then."""
    filled = 0
    for start in range(len(wins)):
        rest = start
        for cell in range(len(owners) - 2):
            owners[cell] = rest % 3 - 1
            rest //= 3
        inferior.fill_in(rings, owners)
        code = 0
        for cell in range(len(owners) - 3, -1, -1):
            code = 3 * code + owners[cell] + 1
            filled += owners[cell] != EMPTY
            filled -= start // 3**cell % 3 != 0
        if wins[code] != wins[start]:
            return -1
    return filled


@needs_compiler
@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (3, 3),
        (3, 4),
        pytest.param(4, 3, marks=pytest.mark.slow),
        pytest.param(3, 5, marks=pytest.mark.slow),
        pytest.param(4, 4, marks=pytest.mark.slow),
    ],
)
def test_the_winner_stays_the_same_whoever_has_how_many_stones(rows, columns):
    """In all positions, for both movers, by a table of all games."""
    cells, around = rows * columns, new_grid(rows, columns).around
    joins = np.zeros(1 << cells, np.bool_)
    for stones in range(1 << cells):
        reached, fresh = 0, [cell for cell in range(columns) if stones >> cell & 1]
        while fresh:
            cell = fresh.pop()
            if not reached >> cell & 1:
                reached |= 1 << cell
                fresh += [
                    near for near in around[cell].tolist() if near >= 0 and stones >> near & 1
                ]
        joins[stones] = reached >> cells - columns != 0
    wins, owners = np.zeros(3**cells, np.uint8), np.zeros(cells + 2, np.int8)
    owners[-2:] = 0, 1
    CompiledFunction(play_out_all)(joins, wins)
    assert CompiledFunction(count_filled)(inferior.new_rings(rows, columns), wins, owners) > 0


def test_fills_a_permanently_inferior_cell():
    """Beside three stones in a row, and stones on both ends of the empty cells, or the side."""
    board = Board(6, 6)
    stones = sum(1 << 6 * row + column for row, column in [(3, 1), (4, 1), (4, 2), (2, 1), (4, 3)])
    at = 1 << 6 * 3 + 2
    filled, _ = board.filled((stones, 0))
    assert filled[0] & at
    filled, _ = board.filled((0, stones))
    assert filled[1] & at
    for missing in (6 * 2 + 1, 6 * 4 + 3):
        filled, _ = board.filled((stones & ~(1 << missing), 0))
        assert not (filled[0] | filled[1]) & at


def test_fills_a_bridge_to_the_edge():
    """Both cells of it are captured, and what that makes dead is filled too."""
    board = Board(5, 5)
    stones, _ = board.filled((1 << 5 + 2, 0))
    assert stones[0] & (1 << 2 | 1 << 3) == 1 << 2 | 1 << 3


def test_no_pair_that_matters_is_passed_over():
    """Which pairs are looked at follows from the ring of one cell."""
    rng = np.random.default_rng(3)
    rings = inferior.new_rings(5, 7)
    cells = len(rings.of_cells)
    for _ in range(300 if JIT else 20):
        owners = np.full(cells + 2, EMPTY, np.int8)
        owners[cells:] = 0, 1
        stones = rng.choice(cells, rng.integers(cells), replace=False)
        owners[stones] = rng.integers(2, size=len(stones))
        numbers = numbers_of(rings.of_cells, owners, 0, RING)
        for cell, turn in np.argwhere(rings.others >= 0):
            other = rings.others[cell, turn]
            if owners[cell] != EMPTY or owners[other] != EMPTY:
                continue
            first, second = numbers[cell], numbers[other]
            pair = inferior.number_of_pair(numbers, cell, other, turn)
            around = owners[rings.of_pairs[cell, turn]] + 1
            assert pair == sum(int(digit) * 3**i for i, digit in enumerate(around))
            if inferior.CAPTURES[pair]:
                assert inferior.CAPTURABLE[first] >> turn & 1
                assert inferior.CAPTURABLE[second] >> turn + 3 & 1
            for player in (0, 1):
                if inferior.CAPTURING[pair, player] or inferior.DOMINATING[pair] >> 2 * player & 3:
                    assert inferior.COMPARABLE[player, first] >> turn & 1
