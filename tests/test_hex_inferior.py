"""Inferior cells of Hex: the patterns by their proofs, and what is filled in against all games."""

import numpy as np
import pytest
from environments import JIT
from hex_oracles import all_positions, brute_force, proven_winner, random_bits

from agents.knowledge.hex import inferior, patterns
from hexenv.compiled import CompiledFunction
from hexenv.games.base import EMPTY

needs_compiler = pytest.mark.compiled(only=True)
fill = CompiledFunction(inferior.fill_in)
choose = CompiledFunction(inferior.choose_moves)


def test_the_tables_are_those_that_the_generator_proves():
    assert patterns.OUTPUT.read_text(encoding="utf-8") == patterns.as_text()


def test_patterns_do_not_depend_on_direction_or_colour():
    dead = [ring for ring in patterns.rings(patterns.RING) if patterns.is_dead(ring)]
    assert len(dead) == 122
    turned = {ring[1:] + ring[:1] for ring in dead}
    mirrored = {ring[::-1] for ring in dead}
    other = {tuple((0, 2, 1)[owner] for owner in ring) for ring in dead}
    assert turned == mirrored == other == set(dead)
    captured = {ring for ring in patterns.rings(8) if patterns.is_captured(ring, 1)}
    assert len(captured) > 400
    assert captured == {ring[4:] + ring[:4] for ring in captured}  # seen from the other cell


def test_dominance_is_the_same_for_both_players_and_from_both_cells():
    for ring in patterns.rings(8)[::7]:
        other = tuple((0, 2, 1)[owner] for owner in ring)
        for cell in (0, 1):
            better = patterns.dominates(ring, 1, cell)
            assert better == patterns.dominates(other, 2, cell)
            assert better == patterns.dominates(ring[4:] + ring[:4], 1, 1 - cell)


@pytest.mark.parametrize(
    ("ring", "dead"),
    [
        ((1, 1, 1, 1, 0, 0), True),
        ((1, 1, 1, 2, 2, 2), True),
        ((1, 1, 1, 0, 0, 0), False),
        ((1, 0, 0, 1, 0, 0), False),
        ((1, 1, 0, 2, 2, 0), True),
        ((2, 1, 2, 1, 1, 1), False),
    ],
)
def test_known_dead_cells(ring, dead):
    assert patterns.is_dead(ring) == dead


class Board:
    """A board whose cells are filled in."""

    def __init__(self, rows, columns):
        self.cells = rows * columns
        self.rings = inferior.new_rings(rows, columns)
        self.left_out = 0

    def filled(self, bits):
        """The stones after filling, as bits, and the owners of the cells."""
        owners = np.full(self.cells + 2, EMPTY, np.int8)
        for player in (0, 1):
            owners[[cell for cell in range(self.cells) if bits[player] >> cell & 1]] = player
            owners[self.cells + player] = player
        (fill if JIT else inferior.fill_in)(self.rings, owners)
        stones = [
            sum(1 << int(cell) for cell in np.flatnonzero(owners[: self.cells] == player))
            for player in (0, 1)
        ]
        return stones, owners

    def moves(self, owners, player):
        """The moves that are chosen; without any, all."""
        cells = np.flatnonzero(owners[: self.cells] == EMPTY).tolist()
        chosen = np.zeros(self.cells, np.int16)
        (choose if JIT else inferior.choose_moves)(self.rings, owners, player, chosen)
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

        def wins(cell):
            child = list(bits)
            child[mover] |= 1 << cell
            return winner(*child, 1 - mover) == mover

        assert any(map(wins, moves))
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


def test_the_winner_stays_the_same_in_random_positions():
    board, winner, rng = Board(4, 4), brute_force(4, 4), np.random.default_rng(7)
    for _ in range(20):
        *bits, mover = random_bits(rng, board.cells, 1, 8)
        check_position(board, winner, tuple(bits), mover)


def dominated_moves(board, owners, player):
    """Pairs of moves of which the first dominates the second, by the tables."""
    for cell, turn in np.ndindex(board.cells, inferior.DIRECTIONS):
        other = int(board.rings.others[cell, turn])
        if owners[cell] != EMPTY or other < 0 or owners[other] != EMPTY:
            continue
        number = inferior.number_of_pair(board.rings, owners, cell, turn)
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
        owners = np.full(board.cells + 2, EMPTY, np.int8)
        owners[-2:] = 0, 1
        for player, stones in enumerate((first, second)):
            owners[[cell for cell in range(board.cells) if stones >> cell & 1]] = player

        def wins(cell, bits=(first, second), mover=mover):
            child = list(bits)
            child[mover] |= 1 << cell
            return winner(*child, 1 - mover) == mover

        for better, worse in dominated_moves(board, owners, mover):
            assert wins(better) or not wins(worse)
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


@needs_compiler
def test_machine_code_and_plain_python_fill_the_same():
    board, rng = Board(5, 6), np.random.default_rng(9)
    for _ in range(30):
        *bits, _ = random_bits(rng, board.cells)
        owners = board.filled(bits)[1]
        plain = np.full(board.cells + 2, EMPTY, np.int8)
        for player in (0, 1):
            plain[[cell for cell in range(board.cells) if bits[player] >> cell & 1]] = player
            plain[board.cells + player] = player
        inferior.fill_in(board.rings, plain)
        assert (plain == owners).all()
        for player in (0, 1):
            found = [np.zeros(board.cells, np.int16) for _ in range(2)]
            for route, chosen in zip((choose, inferior.choose_moves), found, strict=True):
                route(board.rings, owners, player, chosen)
            assert (found[0] == found[1]).all()


def test_fills_a_bridge_to_the_edge():
    """Both cells of it are captured, and what that makes dead is filled too."""
    board = Board(5, 5)
    stones, _ = board.filled((1 << 5 + 2, 0))
    assert stones[0] & (1 << 2 | 1 << 3) == 1 << 2 | 1 << 3
