"""Virtual connections of Hex: each against all games on its carrier; what follows of them."""

import functools

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
    wins_on,
)

from agents.knowledge.bits import WORD
from agents.knowledge.hex import h_search, inferior
from agents.knowledge.hex.patterns import RING
from agents.knowledge.hex.surroundings import numbers_of
from hexenv.compiled import CompiledFunction

needs_compiler = pytest.mark.compiled(only=True)
find = CompiledFunction(h_search.connect)
ALL = 1 << 30


def wide(cells):
    return tuple(cells >> WORD * word & (1 << WORD) - 1 for word in range(3))


def narrow(words):
    return sum(int(word) << WORD * i for i, word in enumerate(words))


def listed(links):
    """All pairs of places with the carriers of their connections, and their keys."""
    for one in range(len(links.place_of)):
        for other in range(one):
            pair = h_search.pair_of(one, other)
            for kind in (h_search.FULL, h_search.SEMI):
                first = h_search.first_row(links, pair, kind)
                for row in range(first, first + int(links.counts[pair, kind])):
                    yield one, other, narrow(links.sets[row]), int(links.keys[row])


class Board:
    """A board on which connections are looked for."""

    def __init__(self, rows, columns):
        self.cells = rows * columns
        self.grid = h_search.new_grid(rows, columns)
        self.links = h_search.new_connections(self.cells)
        self.everything = (1 << self.cells) - 1

    def find(self, bits, player, moves, most=ALL):
        owners = owners_of(bits, self.cells)[:-2]
        search = find if JIT else h_search.connect
        return bool(search(self.grid, owners, player, moves, most, self.links))

    def must_play(self, bits):
        empty = self.everything & ~(bits[0] | bits[1])
        return narrow(h_search.must_play(self.links, wide(empty)))

    def are_joined(self, player, stones, one, other):
        """Whether some of a player's stones join two places."""
        ends = [self.along(player, end) & stones for end in (one, other)]
        reached, fresh = 0, ends[0]
        while fresh:
            reached |= fresh
            bits, fresh = fresh, 0
            for cell in range(self.cells):
                if bits >> cell & 1:
                    fresh |= sum(1 << int(near) for near in self.grid.around[cell] if near >= 0)
            fresh &= stones & ~reached
        return bool(reached & ends[1])

    def along(self, player, place):
        """The cells of a place: itself, or all along a side."""
        if place < self.cells:
            return 1 << place
        number = place - self.cells + 1
        return sum(1 << int(cell) for cell in np.flatnonzero(self.grid.sides[player] == number))

    def joins(self, player, stones, one, other, carrier, moves):
        """Whether a player joins two places by playing on a carrier, in all games."""

        @functools.cache
        def wins(own, free, moves):
            if self.are_joined(player, stones | own, one, other):
                return True
            options = [1 << cell for cell in range(self.cells) if free >> cell & 1]
            if moves:
                return any(wins(own | cell, free & ~cell, False) for cell in options)
            passed = bool(options) and wins(own, 0, True)
            return passed or (bool(options) and all(wins(own, free & ~c, True) for c in options))

        return wins(0, carrier, moves)


def check_carriers(board, bits, player):
    """Each connection joins its ends, in all games on a small carrier; returns how many there are.

    Empty cells at its ends are given to the player; the key of a semi-connection works.
    """
    checked = 0
    for one, other, carrier, key in listed(board.links):
        if carrier.bit_count() > 8:
            continue
        assert carrier & (bits[0] | bits[1]) == 0
        stones = bits[player]
        for end in (one, other):
            if end < board.cells:
                assert not carrier >> end & 1
                stones |= 1 << end
        if key != h_search.IS_FULL:
            assert carrier >> key & 1
            stones |= 1 << key
            carrier &= ~(1 << key)
        assert board.joins(player, stones, one, other, carrier, False), (bits, one, other)
        checked += 1
    return checked


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("size", "count"), [(3, 12), (4, 4), pytest.param(5, 40, marks=needs_compiler)]
)
def test_each_connection_holds_in_all_games_on_its_carrier(size, count):
    board, rng, checked = Board(size, size), np.random.default_rng(3), 0
    for turn in range(count):
        bits = random_bits(rng, board.cells, board.cells // 2)
        player = turn & 1
        if board.find(bits, player, False):
            continue
        checked += check_carriers(board, bits, player)
    assert checked > 20 * count


def check_position(board, winner, bits, mover):
    """No false claim: who wins, on which carrier, and which moves may win; returns if it knows."""
    best, known = winner(*bits, mover), False
    for player in (0, 1):
        if board.find(bits, player, player == mover):
            assert player == best
            known = True
            carrier = narrow(h_search.winning_carrier(board.links))
            assert wins_on(winner, bits, player, carrier, board.cells, mover)
            key = h_search.winning_key(board.links)
            if player == mover and key != h_search.IS_FULL:
                assert wins_on(winner, bits, player, carrier, board.cells, 1 - mover, 1 << key)
        elif player != mover:
            must = board.must_play(bits)
            for cell in range(board.cells):
                if not (bits[0] | bits[1] | must) >> cell & 1:
                    assert not wins_by(winner, bits, mover, cell)
    return known


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("rows", "columns"), [(2, 2), (2, 3), pytest.param(3, 3, marks=needs_compiler)]
)
def test_claims_nothing_false_in_any_position(rows, columns):
    """And on such boards it knows every winner."""
    board, winner = Board(rows, columns), brute_force(rows, columns)
    for first, second, mover in all_positions(board.cells):
        assert check_position(board, winner, (first, second), mover)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("rows", "columns", "empty", "count"),
    [
        (3, 4, 10, 10),
        (4, 4, 8, 8),
        pytest.param(4, 4, 11, 60, marks=needs_compiler),
    ],
)
def test_claims_nothing_false_in_random_positions(rows, columns, empty, count):
    board, winner = Board(rows, columns), brute_force(rows, columns)
    rng = np.random.default_rng(4)
    for _ in range(count):
        *bits, mover = random_bits(rng, board.cells, 1, empty)
        check_position(board, winner, tuple(bits), mover)


@needs_compiler
@pytest.mark.parametrize(
    ("size", "empty", "count"),
    [
        (5, 25, 20),
        pytest.param(4, 16, 1_000, marks=pytest.mark.slow),
        pytest.param(5, 25, 200, marks=pytest.mark.slow),
        pytest.param(6, 28, 50, marks=pytest.mark.slow),
    ],
)
def test_claims_nothing_false_by_proofs(tmp_path, size, empty, count):
    """And it knows most winners of random positions."""
    board, winner = Board(size, size), proven_winner(size, size, tmp_path / "proof.jsonl")
    rng, known = np.random.default_rng(5), 0
    for _ in range(count):
        *bits, mover = random_bits(rng, board.cells, 1, empty)
        known += check_position(board, winner, tuple(bits), mover)
    assert known > 0.85 * count


@needs_compiler
@pytest.mark.slow
def test_moves_outside_of_the_must_play_of_a_filled_board_lose_on_the_board_as_it_is():
    """If they are outside of what the opponent needs for the filled cells, too."""
    board, winner, rng = Board(4, 4), brute_force(4, 4), np.random.default_rng(3)
    fill, rings = CompiledFunction(inferior.fill_all), inferior.new_rings(4, 4)
    lost, spared = 0, 0
    for _ in range(2_000):
        *bits, mover = random_bits(rng, board.cells, 5, 10)
        owners = owners_of(bits, board.cells)
        needed = np.zeros((2, 3), np.int64)
        numbers = numbers_of(rings.of_cells, owners, 0, RING)
        fill(rings, owners, numbers, needed, np.zeros(board.cells, np.int16))
        if find(board.grid, owners[:-2], 1 - mover, False, ALL, board.links):
            continue
        filled = bits_of(owners[:-2])
        must = board.must_play(filled)
        for cell in range(board.cells) if must else ():
            if not (filled[0] | filled[1] | must) >> cell & 1:
                wins = wins_by(winner, bits, mover, cell)
                assert not wins or int(needed[1 - mover, 0]) >> cell & 1
                lost += not wins
                spared += wins
    assert lost > 1_000
    assert spared > 0


def connected(board, place, other):
    """The smallest carrier of a connection of two places; None without one."""
    pair = h_search.pair_of(place, other)
    if not board.links.counts[pair, h_search.FULL]:
        return None
    return narrow(board.links.sets[h_search.first_row(board.links, pair, h_search.FULL)])


@pytest.mark.compiled
@pytest.mark.parametrize("of_empty", [0, 2, 4])
def test_only_small_connections_of_empty_cells_are_kept(of_empty):
    links = h_search.new_connections(25, of_empty=of_empty)
    owners = owners_of([1 << 12, 1 << 6], 25)[:-2]
    h_search.connect(h_search.new_grid(5, 5), owners, 0, False, 500, links)
    largest = {False: 0, True: 0}
    for one, other, carrier, _ in listed(links):
        has_chain = bool(links.is_chain[one] or links.is_chain[other])
        largest[has_chain] = max(largest[has_chain], carrier.bit_count())
    assert largest[False] == of_empty
    assert largest[True] > 4


def test_finds_bridges_and_edge_templates():
    board = Board(5, 7)
    board.find((0, 0), 1, False)  # player 1 joins left and right
    assert connected(board, 7, 35) == 0
    assert connected(board, 8, 35) == 1 << 7 | 1 << 14
    assert connected(board, 16, 11) == 1 << 10 | 1 << 17
    third = connected(board, 16, 35)  # a stone in the third row from its side
    assert third is not None
    assert third.bit_count() == 8


@needs_compiler
def test_finds_the_template_of_the_fourth_row_on_a_large_board():
    board = Board(11, 11)
    board.find((1 << 3 * 11 + 5, 0), 0, False)
    carrier = connected(board, 3 * 11 + 5, 121)
    assert carrier is not None
    assert carrier < 1 << 4 * 11


def test_no_more_connections_are_extended_than_asked_for():
    board = Board(4, 4)
    assert board.find((0, 0), 0, True)
    assert not board.find((0, 0), 0, True, most=10)
    assert board.links.counts.sum() <= 10


@needs_compiler
def test_machine_code_and_plain_python_find_the_same():
    board, other, rng = Board(4, 5), Board(4, 5), np.random.default_rng(6)
    for turn in range(6):
        bits = random_bits(rng, board.cells, 8)
        owners = owners_of(bits, board.cells)[:-2]
        found = h_search.connect(other.grid, owners, turn & 1, False, ALL, other.links)
        assert board.find(bits, turn & 1, False) == found
        assert list(listed(board.links)) == list(listed(other.links))


def test_refuses_a_board_that_is_too_large():
    with pytest.raises(ValueError, match="169 cells, got 196"):
        h_search.new_connections(196)
