"""The rules of the games: against the contract, published counts, and rules written another way."""

import functools
import itertools
import json
import struct

import numpy as np
import pytest
from environments import JIT, random_states

from hexenv.compiled import CompiledFunction
from hexenv.games import base, connect4, gomoku, hex, notation, tictactoe
from hexenv.games.base import DRAW, EMPTY, IN_PLAY
from hexenv.testing import check_game, perft

needs_compiler = pytest.mark.compiled(only=True)


def games(**options):
    """Games by the arguments of their `new`."""
    news = {"connect4": connect4.new, "gomoku": gomoku.new, "hex": hex.new}
    return [news[name](*each) for name, many in options.items() for each in many]


EXACT = "standard"
SMALL = [
    tictactoe.new(),
    *games(
        hex=[(2,), (2, True), (3,), (3, True), ((3, 5),)],
        connect4=[(1, 1, 2), (4, 5), (4, 5, 3), (1, 10, 2)],
        gomoku=[(3, 3), (3, 3, EXACT), ((3, 5), 3, EXACT), (4, 4), (4, 4, EXACT), (5, 6)],
    ),
]
MIDDLING = games(
    hex=[(5,), (5, True), ((7, 4),)],
    connect4=[(), (8, 7), (7, 7, 5), (2, 20, 8), (13, 4, 8), (29, 2, 4)],
    gomoku=[(6, 6, EXACT), ((7, 12),)],
)
WIDE = games(
    hex=[((2, 19),), (9,), ((19, 3),), (19,)],
    gomoku=[((20, 5),), (8, 5), ((6, 17), 5), (20,)],
)
"""Whose rows are shorter than the bytes that are read at once, and longer."""
LARGE = games(hex=[(11, True)], gomoku=[(9, 5, EXACT), (15,), ((20, 5), 6)])
LARGEST = games(
    hex=[(11,), (19,), (19, True)],
    gomoku=[((7, 12), 5, EXACT), (15, 5, EXACT), (20,), (20, 6, EXACT)],
)


def play(game, moves):
    """The position after moves given as text."""
    return notation.play(game, notation.parse_moves(game, moves))


# ---- the contract --------------------------------------------------------------------------------


BRIEF = [
    tictactoe.new(),
    *games(
        hex=[(2, True), ((3, 5),), (11, True)],
        connect4=[(4, 5, 3), (1, 10, 2), (29, 2, 4), ()],
        gomoku=[(3, 3), (4, 4, EXACT), (5, 6), ((7, 12),), (9, 5, EXACT), (15,)],
    ),
]

# In plain Python a game on a large board takes seconds, times its symmetries: fewer of them there.
CONTRACTS = [
    *((game, 20, 6) for game in SMALL),
    *((game, 6, 2) for game in MIDDLING),
    *((game, 2, 1) for game in LARGE),
]


def marks_of(game):
    if game not in BRIEF:
        return [pytest.mark.slow]
    return [pytest.mark.sample] if game in BRIEF[:3] else []


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("game", "compiled", "interpreted"),
    [pytest.param(*each, marks=marks_of(each[0]), id=str(each[0])) for each in CONTRACTS],
)
def test_contract(game, compiled, interpreted):
    check_game(game, games=compiled if JIT else interpreted)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("game", LARGEST, ids=str)
def test_contract_on_the_largest_boards(game):
    check_game(game, games=1, seed=1)


# ---- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "options", "message"),
    [
        (hex.new, {"board_size": 1}, "expected a board size from 2 to 19, .*, got 1"),
        (hex.new, {"board_size": 20}, "expected a board size from 2 to 19, .*, got 20"),
        (hex.new, {"board_size": (1, 5)}, r"expected a board size from 2 to 19, .*, got \(1, 5\)"),
        (hex.new, {"board_size": (5, 20)}, r"from 2 to 19, .*, got \(5, 20\)"),
        (hex.new, {"board_size": (5,)}, r"or a pair of such, got \(5,\)"),
        (hex.new, {"board_size": (5, 5, 5)}, r"or a pair of such, got \(5, 5, 5\)"),
        (hex.new, {"board_size": (3, 5), "swap": True}, "expected a square board.*, got 3 x 5"),
        (connect4.new, {"rows": 0}, "expected rows of at least 1, got 0"),
        (connect4.new, {"columns": 0}, "expected columns of at least 1, got 0"),
        (connect4.new, {"columns": 10}, r"at most 63 .*, got \(6 \+ 1\) \* 10 = 70"),
        (connect4.new, {"rows": 9}, r"at most 63 .*, got \(9 \+ 1\) \* 7 = 70"),
        (connect4.new, {"connect": 1}, "expected connect from 2 to 8, got 1"),
        (connect4.new, {"connect": 9}, "expected connect from 2 to 8, got 9"),
        (connect4.new, {"rows": 30, "columns": 2}, "expected at most 29 rows to connect 4, got 30"),
        (connect4.new, {"rows": 62, "columns": 1, "connect": 2}, "expected at most 61 rows"),
        (
            connect4.new,
            {"rows": 14, "columns": 4, "connect": 8},
            "expected at most 13 rows to connect 8, got 14",
        ),
        (gomoku.new, {"board_size": 4}, "expected a board size from 5 to 20, .*, got 4"),
        (gomoku.new, {"board_size": 21}, "expected a board size from 5 to 20, .*, got 21"),
        (gomoku.new, {"board_size": (4, 9)}, r"from 5 to 20, .*, got \(4, 9\)"),
        (gomoku.new, {"board_size": 2, "connect": 3}, "from 3 to 20, .*, got 2"),
        (gomoku.new, {"connect": 2}, "expected connect from 3 to 6, got 2"),
        (gomoku.new, {"connect": 7}, "expected connect from 3 to 6, got 7"),
        (gomoku.new, {"rule": "omok"}, "rule of freestyle, standard, renju, caro, got 'omok'"),
    ],
)
def test_options_out_of_range_are_refused(new, options, message):
    with pytest.raises(ValueError, match=message):
        new(**options)


def test_tictactoe_takes_no_options():
    with pytest.raises(TypeError, match="tictactoe takes no options, got board_size"):
        tictactoe.new(board_size=4)


def test_a_board_size_is_a_side_or_rows_and_columns():
    assert hex.new(5) == hex.new((5, 5))
    assert (gomoku.new((7, 12)).rows, gomoku.new((7, 12)).columns) == (7, 12)


# ---- published counts ----------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("depth", "count"),
    list(enumerate([7, 49, 343, 2401, 16807, 117649, 823536, 5673234], 1)),
)
def test_perft_of_connect4(depth, count):
    if depth > 5 and not JIT:
        pytest.skip("too slow in plain Python")
    assert perft(connect4.new(), depth) == count


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("depth", "count"),
    list(enumerate([9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872, 0], 1)),
)
def test_perft_of_tictactoe(depth, count):
    if depth > 5 and not JIT:
        pytest.skip("too slow in plain Python")
    assert perft(tictactoe.new(), depth) == count


def count_results(game, states, legal, waiting, results):
    """Kernel: the games below `states[0]`, by their winners."""
    level = 0
    waiting[0] = game.legal_actions(states[0], legal[0])
    while level >= 0:
        if game.is_terminal(states[level]):
            results[states[level].winner] += 1
        if waiting[level] == 0:
            level -= 1
            continue
        waiting[level] -= 1
        game.copy(states[level], states[level + 1])
        game.step(states[level + 1], int(legal[level, waiting[level]]))
        level += 1
        waiting[level] = game.legal_actions(states[level], legal[level])


@needs_compiler
@pytest.mark.parametrize(
    "game", [tictactoe.new(), pytest.param(gomoku.new(3, 3), marks=pytest.mark.slow)], ids=str
)
def test_all_games_of_tictactoe(game):
    results = np.zeros(3, np.int64)
    states = base.new_states(game, 10)
    legal = np.empty((10, 9), np.int32)
    CompiledFunction(count_results)(game, states, legal, np.empty(10, np.int64), results)
    assert results.tolist() == [131184, 77904, 46080]
    assert results.sum() == 255168


def owners_of_many(game, states, out):
    for i in range(states.size):
        game.owners(states[i], out[i])


compiled_owners = CompiledFunction(owners_of_many)


@pytest.mark.compiled
@pytest.mark.parametrize("game", [*SMALL, *MIDDLING, *WIDE], ids=str)
def test_owners_are_those_of_all_cells(game):
    """Whole numbers of bytes are read at once: rows may be shorter or longer."""
    found = [state for seed in range(3) for state in random_states(game, seed)]
    states = base.new_states(game, len(found))
    for state, source in zip(states, found, strict=True):
        game.copy(source, state)
    count = game.rows * game.columns
    owners = np.full((len(found), count + 9), 7, np.int8)
    (compiled_owners if JIT else owners_of_many)(game, states, owners)
    expected = [[game.owner(state, cell) for cell in range(count)] for state in states]
    assert owners[:, :count].tolist() == expected
    assert (owners[:, count:] == 7).all()  # nothing is written beyond the last cell


# ---- the rules written another way ---------------------------------------------------------------


def naive_hex_winner(owners):
    """Flood from top and from left; `IN_PLAY` where neither side is joined."""
    for player, board in ((0, owners), (1, owners.T)):
        reached = {(0, c) for c in range(board.shape[1]) if board[0, c] == player}
        while True:
            around = {
                (r + down, c + right)
                for r, c in reached
                for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1))
                if 0 <= r + down < board.shape[0] and 0 <= c + right < board.shape[1]
            }
            grown = reached | {place for place in around if board[place] == player}
            if grown == reached:
                break
            reached = grown
        if any(r == board.shape[0] - 1 for r, _ in reached):
            return player
    return IN_PLAY


@functools.cache
def naive_lines(rows, columns):
    """All lines of a board in the four directions, as lists of places."""
    places = list(np.ndindex(rows, columns))
    directions = (lambda r, c: r, lambda r, c: c, lambda r, c: r - c, lambda r, c: r + c)
    lines = []
    for number_of_line in directions:
        numbers = {number_of_line(*place) for place in places}
        lines += [[place for place in places if number_of_line(*place) == n] for n in numbers]
    return lines


def naive_line_winner(owners, connect, exactly):
    """Look along every line of the whole board for stones that follow each other."""
    board = dict(zip(np.ndindex(owners.shape), owners.flat, strict=True))
    for line in naive_lines(*owners.shape):
        for player, stones in itertools.groupby(line, board.get):
            length = len(list(stones))
            if player != EMPTY and (length == connect if exactly else length >= connect):
                return int(player)
    return DRAW if EMPTY not in board.values() else IN_PLAY


def naive_winner(game, owners):
    if game.name == "hex":
        return naive_hex_winner(owners)
    connect = getattr(game, "connect", 3)
    return naive_line_winner(owners, connect, getattr(game, "rule", 0) == gomoku.STANDARD)


def naive_perft(game, depth):
    """Counts from the rules as a book has them: cells, stones, and a look at the whole board."""
    swap = getattr(game, "swap", False)

    def paths(owners, ply):
        if naive_winner(game, owners) != IN_PLAY:
            return 0
        places = [(int(r), int(c)) for r, c in np.argwhere(owners == EMPTY)]
        can_swap = swap and ply == 1
        if ply == depth - 1:
            return len(places) + can_swap
        total = 0
        for place in places:
            after = owners.copy()
            after[place] = ply % 2
            total += paths(after, ply + 1)
        if can_swap:
            after = np.where(owners.T == 0, np.int8(1), np.int8(EMPTY))
            total += paths(after, ply + 1)
        return total

    return paths(np.full((game.rows, game.columns), EMPTY, np.int8), 0)


@pytest.mark.parametrize(
    ("game", "deepest"),
    [
        (hex.new(2), 5),
        (hex.new(2, swap=True), 6),
        (hex.new((2, 3)), 7),
        (hex.new((3, 2)), 7),
        (hex.new(3), 5),
        (hex.new(3, swap=True), 5),
        (hex.new(4), 4),
        (gomoku.new(3, 3), 5),
        (gomoku.new((3, 4), 3), 4),
        pytest.param(gomoku.new((3, 4), 3), 6, marks=[needs_compiler, pytest.mark.slow]),
        (gomoku.new(3, 3, "standard"), 5),
    ],
    ids=str,
)
def test_perft_against_naive_rules(game, deepest):
    for depth in (deepest - 1, deepest):
        assert perft(game, depth) == naive_perft(game, depth)


PLAYED = games(
    hex=[(3,), (5, True), ((7, 4),)],
    connect4=[(), (5, 9, 3), (7, 7, 5), (4, 12, 6), (3, 15, 2), (29, 2, 4)],
    gomoku=[
        *((3, 3, EXACT), ((4, 7), 3, EXACT), ((4, 7), 4, EXACT), (6,), (9,)),
        *(((6, 8), 4), ((6, 8), 5, EXACT)),
    ],
)


@pytest.mark.parametrize("game", [tictactoe.new(), *PLAYED], ids=str)
def test_winners_against_naive_rules(game):
    results = set()
    for seed in range(25):
        for state in random_states(game, seed):
            assert int(state.winner) == naive_winner(game, base.cell_owners(game, state))
        results.add(int(state.winner))
    assert len(results) > 1  # the games were not all alike


# ---- random playouts -----------------------------------------------------------------------------


def tally(game, state, scratch, rng, buffer, fast, winners):
    """Kernel: count the winners of playouts in the fast or the generic form."""
    for _ in range(winners[3]):
        game.copy(state, scratch)
        if fast:
            game.random_playout(scratch, rng, buffer)
        else:
            base.play_randomly(game, scratch, rng, buffer)
        winners[scratch.winner] += 1


compiled_tally = CompiledFunction(tally)


def playout_frequencies(game, state, playouts, fast):
    winners = np.array([0, 0, 0, playouts])
    rng = np.random.default_rng(7)
    buffer = np.empty(game.num_actions(), np.int32)
    compiled_tally(game, state, base.new_state(game), rng, buffer, fast, winners)
    assert winners[:3].sum() == playouts
    return winners[:3] / playouts


@pytest.mark.parametrize(
    ("game", "moves"),
    [
        (tictactoe.new(), ""),
        (tictactoe.new(), "52"),
        (hex.new(2), ""),
        (hex.new(3), "a1"),
        (hex.new((3, 6)), "b2 b3"),
        (hex.new(5, swap=True), "b2 swap"),
        pytest.param(hex.new(11), "", marks=needs_compiler),
        (connect4.new(), ""),
        (connect4.new(), "1111112"),
        (connect4.new(4, 5), "123"),
        (gomoku.new(3, 3), ""),
        (gomoku.new(6, 4), "b2"),
        (gomoku.new((5, 9), 5, "standard"), ""),
        (gomoku.new((5, 6), 4, "caro"), "c3"),
    ],
    ids=str,
)
def test_fast_playouts_have_the_distribution_of_random_moves(game, moves):
    playouts = 40_000 if JIT else 400
    state = play(game, moves)
    fast = playout_frequencies(game, state, playouts, fast=True)
    generic = playout_frequencies(game, state, playouts, fast=False)
    deviation = np.sqrt((generic * (1 - generic) + fast * (1 - fast)) / playouts)
    assert (np.abs(fast - generic) <= 4 * deviation).all()


@pytest.mark.compiled
def test_playouts_of_tictactoe_have_the_known_distribution():
    playouts = 40_000 if JIT else 1_000
    game = tictactoe.new()
    found = playout_frequencies(game, base.new_state(game), playouts, fast=True)
    known = np.array([737 / 1260, 121 / 420, 8 / 63])
    assert (np.abs(found - known) <= 4 * np.sqrt(known * (1 - known) / playouts)).all()


def tally_boards(game, state, scratch, rng, buffer, counts, playouts):
    """Kernel: count the boards of 3 x 3 that playouts fill, by the cells of player 1 as bits."""
    for _ in range(playouts):
        game.copy(state, scratch)
        game.random_playout(scratch, rng, buffer)
        board = 0
        for cell in range(9):
            board |= (int(scratch.owners[game.place_of(cell)]) & 1) << cell
        counts[board] += 1


compiled_tally_boards = CompiledFunction(tally_boards)


@pytest.mark.compiled
@pytest.mark.parametrize("moves", ["", "b2", "a1 c3"])
def test_hex_playouts_fill_the_board_in_all_ways_equally_often(moves):
    game, each = hex.new(3), 400 if JIT else 30
    state = play(game, moves)
    owners = base.cell_owners(game, state).reshape(-1)
    empty = np.flatnonzero(owners == EMPTY)
    expected = {
        sum(1 << int(cell) for cell in (*np.flatnonzero(owners == 1), *chosen))
        for chosen in itertools.combinations(empty, (len(empty) + state.ply % 2) // 2)
    }
    counts, buffer = np.zeros(512, np.int64), np.empty(9, np.int32)
    arguments = game, state, base.new_state(game), np.random.default_rng(3), buffer
    compiled_tally_boards(*arguments, counts, each * len(expected))
    assert set(np.flatnonzero(counts).tolist()) == expected
    found = counts[sorted(expected)]
    chi_squared = float(((found - each) ** 2 / each).sum())
    freedom = len(expected) - 1
    assert abs(chi_squared - freedom) <= 4 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("size", [2, (2, 19), (5, 17), (8, 16), (19, 18), 19], ids=str)
@pytest.mark.parametrize("plies", [0, 3])
def test_hex_playouts_share_the_cells_out_evenly(size, plies):
    game = hex.new(size)
    state, rng, buffer = base.new_state(game), np.random.default_rng(5), np.empty(361, np.int32)
    for _ in range(20):
        game.initial(state)
        for cell in rng.permutation(game.num_actions())[: min(plies, game.rows)].tolist():
            game.step(state, cell)
        if state.winner == IN_PLAY:
            game.random_playout(state, rng, buffer)
            places = [game.place_of(cell) for cell in range(game.num_actions())]
            assert int((state.owners[places] & 1).sum()) == game.num_actions() // 2


# ---- ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "moves", "winner"),
    [
        (tictactoe.new(), "765398421", 0),
        (tictactoe.new(), "428635971", DRAW),
        (connect4.new(), "661447737445315437161437761123525523665222", 1),
        (connect4.new(), "512513214641771244217673244566655365723733", DRAW),
        (connect4.new(4, 5), "55343343445152212211", 1),
        (connect4.new(4, 5), "42115544355141323322", DRAW),
        (gomoku.new(3, 3), "a1 c2 b2 c3 c1 b1 a2 b3 a3", 0),
        (gomoku.new(3, 3), "a2 b3 b1 c2 c3 b2 c1 a1 a3", DRAW),
        (gomoku.new(4, 4), "b4 a3 c2 d3 d1 c1 c4 b2 d2 a4 b3 a1 b1 c3 d4 a2", 1),
        (gomoku.new(4, 4), "c2 a3 a4 b4 b1 d1 b2 d2 d3 c1 a2 c4 a1 d4 c3 b3", DRAW),
        (
            gomoku.new(5),
            "e4 e3 a2 b1 d5 a3 d1 a5 e2 d4 a1 b5 c4 c5 c2 b4 d2 e1 e5 c1 a4 c3 d3 b3 b2",
            0,
        ),
        (
            gomoku.new(5),
            "d5 c2 a2 e3 e4 e1 d1 b2 d3 d2 b4 b5 e2 a3 a4 d4 c1 b1 e5 b3 c5 c3 c4 a5 a1",
            DRAW,
        ),
        (hex.new(3), "c2 c1 a1 b1 c3 b3 b2 a3 a2", 0),
    ],
)
def test_the_last_empty_cell_can_win_or_draw(game, moves, winner):
    actions = notation.parse_moves(game, moves)
    assert len(actions) == game.rows * game.columns
    assert notation.play(game, actions[:-1]).winner == IN_PLAY
    state = notation.play(game, actions)
    assert state.winner == winner
    assert naive_winner(game, base.cell_owners(game, state)) == winner
    assert [game.outcome(state, player) for player in (0, 1)] == {
        0: [1, -1],
        1: [-1, 1],
        DRAW: [0, 0],
    }[winner]
    assert base.legal_actions(game, state) == []
    assert bool(game.winning_cells(state)) == (winner != DRAW)


# ---- Gomoku: overlines ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("black", "freestyle", "standard"),
    [
        ("a1 b1 c1 e1 f1 d1", "a1 b1 c1 d1 e1 f1", ""),
        ("d1 d2 d3 d5 d6 d4", "d1 d2 d3 d4 d5 d6", ""),
        ("a1 b2 c3 e5 f6 d4", "a1 b2 c3 d4 e5 f6", ""),
        ("a6 b5 c4 e2 f1 d3", "a6 b5 c4 d3 e2 f1", ""),
        ("a1 b1 c1 d1 f1 g1 h1 i1 e1", "a1 b1 c1 d1 e1 f1 g1 h1 i1", ""),
        ("a1 b1 c1 d1 e1", "a1 b1 c1 d1 e1", "a1 b1 c1 d1 e1"),
        ("k1 l1 m1 n1 o1", "k1 l1 m1 n1 o1", "k1 l1 m1 n1 o1"),
        ("c3 d4 e5 f6 g7", "c3 d4 e5 f6 g7", "c3 d4 e5 f6 g7"),
        ("o1 n2 m3 l4 k5", "o1 n2 m3 l4 k5", "o1 n2 m3 l4 k5"),
        # The same stone joins six; the win begins where an overline does; after an overline.
        ("a1 b1 c1 e1 f1 d2 d3 d4 d5 d1", None, "d1 d2 d3 d4 d5"),
        ("a1 b1 c1 e1 f1 d1 a2 a3 a4 a5", None, "a1 a2 a3 a4 a5"),
        ("a1 b1 c1 e1 f1 d1 a2 h8", None, ""),
    ],
)
def test_five_in_a_row_and_more(black, freestyle, standard):
    """Black's stones in this order; white answers in the corner, never in a row of three."""
    white = [f"{column}{row}" for row in (15, 13, 11) for column in "acegikmo"]
    moves = list(itertools.chain.from_iterable(zip(black.split(), white, strict=False)))[:-1]
    for game, line in ((gomoku.new(), freestyle), (gomoku.new(rule="standard"), standard)):
        if line is None:
            continue
        state = play(game, " ".join(moves))
        assert state.winner == (0 if line else IN_PLAY)
        cells = {game.parse_action(cell) for cell in line.split()}
        assert set(game.winning_cells(state)) == cells
        completing = {game.parse_action(cell) for cell in black.split()}
        completing = {cell for cell in completing if game.completes(state, cell)}
        assert completing == cells


@pytest.mark.parametrize("black", ["g5 h5 i5 a4 b4", "e8 e9 f1 f2 f3", "h1 i2 a4 b5 c6"])
def test_a_line_does_not_continue_on_the_other_side_of_the_board(black):
    moves = itertools.chain.from_iterable(
        zip(black.split(), ["a9", "c9", "a7", "c7", ""], strict=True)
    )
    assert play(gomoku.new(9), " ".join(moves)).winner == IN_PLAY


# ---- Hex -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(2, 2), (3, 3), (3, 5), (7, 4), (11, 11), (19, 19)], ids=str)
def test_a_filled_board_has_one_winner_by_three_ways_to_look(size):
    game = hex.new(size)
    rng = np.random.default_rng(11)
    winners = set()
    for _ in range(60 if size[0] < 10 else 6):
        owners = rng.permutation(np.arange(size[0] * size[1]) % 2)
        state = base.new_state(game)
        for cell, owner in enumerate(owners.tolist()):
            game.place(state, cell, owner)
        joined = [game.has_joined(state, player) for player in (0, 1)]
        assert sorted(joined) == [False, True]

        board = owners.astype(np.int8).reshape(size)
        assert joined[naive_hex_winner(board)]

        game.random_playout(state, rng, np.empty(game.num_actions(), np.int32))
        assert joined[state.winner]
        winners.add(int(state.winner))
    assert winners == {0, 1} or size[0] > 10


@pytest.mark.parametrize("size", [2, 5, (3, 7), (7, 3), 11], ids=str)
def test_the_winning_path_is_a_chain_from_side_to_side(size):
    game = hex.new(size)
    for seed in range(10):
        state = random_states(game, seed)[-1]
        owners = base.cell_owners(game, state)
        path = [divmod(cell, game.columns) for cell in game.winning_cells(state)]
        assert {int(owners[place]) for place in path} == {int(state.winner)}
        axis = int(state.winner)  # player 0 goes down the rows, player 1 along the columns
        assert path[0][axis] == 0
        assert path[-1][axis] == owners.shape[axis] - 1
        for (row, column), (next_row, next_column) in itertools.pairwise(path):
            step = (next_row - row, next_column - column)
            assert step in {(-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)}


def test_the_swap_moves_the_stone_to_the_mirror_cell():
    game = hex.new(11, swap=True)
    state = notation.play(game, [34, 121])
    assert game.owner(state, 34) == EMPTY
    assert game.owner(state, 14) == 1
    assert game.last_cell(state) == 14
    assert game.to_play(state) == 0
    assert int(state.ply) == 2
    assert np.count_nonzero(base.cell_owners(game, state) != EMPTY) == 1


def test_a_swapped_stone_on_the_diagonal_stays_and_changes_sides():
    game = hex.new(3, swap=True)
    state = play(game, "b2 swap")
    assert notation.board_text(game, state) == ". . .\n. O .\n. . ."


@pytest.mark.parametrize(
    ("size", "moves"), [(2, "a1 swap b2 a2 b1"), (3, "a2 swap a2 c1 c3 b3 c2 a3 b2 a1")]
)
def test_a_game_with_a_swap_can_last_a_ply_longer_than_the_board_has_cells(size, moves):
    game = hex.new(size, swap=True)
    assert game.max_plies() == size**2 + 1
    actions = notation.parse_moves(game, moves)
    assert len(actions) == game.max_plies()
    assert notation.play(game, actions[:-1]).winner == IN_PLAY
    assert notation.play(game, actions).winner in (0, 1)


# ---- hashes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "one", "other"),
    [
        (gomoku.new(), "h8 a1 j9 b1", "j9 b1 h8 a1"),
        (hex.new(11), "a1 k11 c3 d4", "c3 d4 a1 k11"),
    ],
    ids=str,
)
def test_transpositions_on_large_boards_have_one_hash(game, one, other):
    hashes = [game.position_hash(play(game, moves)) for moves in (one, other, one[:5])]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("action", [np.int64(3), np.int8(3), np.uint8(3), np.array(3)], ids=repr)
def test_actions_of_any_integer_type_are_legal(action):
    game = connect4.new()
    checked = notation.check_action(game, base.new_state(game), action)
    assert (checked, type(checked)) == (3, int)


@pytest.mark.parametrize(
    ("game", "depth", "count"),
    [
        (tictactoe.new(), 9, 5478),
        (connect4.new(), 4, 1 + 7 + 49 + 238 + 1120),
        (hex.new(3, swap=True), 3, None),
        (gomoku.new(5), 2, 1 + 25 + 25 * 24),
        (gomoku.new(3, 3), 4, None),
    ],
    ids=str,
)
def test_every_position_has_one_hash_of_its_own(game, depth, count):
    """However it came about: its stones and the player to move are what there is."""
    hash_of = {}
    waiting = [base.new_state(game)]
    for _ in range(depth + 1):
        after = []
        for state in waiting:
            position = (base.cell_owners(game, state).tobytes(), game.to_play(state))
            if position in hash_of:
                assert game.position_hash(state) == hash_of[position]
                continue
            hash_of[position] = game.position_hash(state)
            for action in base.legal_actions(game, state):
                after.append(base.clone(game, state))
                game.step(after[-1], action)
        waiting = after
    assert len(set(hash_of.values())) == len(hash_of)
    assert count is None or len(hash_of) == count


# ---- moves as text -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "action", "text"),
    [
        (tictactoe.new(), 0, "1"),
        (tictactoe.new(), 8, "9"),
        (connect4.new(), 6, "7"),
        (hex.new(11), 0, "a1"),
        (hex.new(11), 14, "d2"),
        (hex.new((3, 5)), 14, "e3"),
        (hex.new(11, swap=True), 121, "swap"),
        (gomoku.new(), 0, "a15"),
        (gomoku.new(), 112, "h8"),
        (gomoku.new(), 224, "o1"),
        (gomoku.new((7, 12)), 83, "l1"),
    ],
    ids=str,
)
def test_moves_are_written_by_their_convention(game, action, text):
    assert game.action_text(action) == text
    assert game.parse_action(text) == action
    assert (
        notation.parse_move(
            game, play(game, "a1") if text == "swap" else base.new_state(game), f" {text.upper()} "
        )
        == action
    )


def test_move_lists_have_spaces_only_where_moves_are_longer_than_a_character():
    assert notation.moves_text(connect4.new(), [3, 3, 4]) == "445"
    assert notation.moves_text(connect4.new(4, 10), [3, 9]) == "4 10"
    assert notation.moves_text(hex.new(3), [0, 4]) == "a1 b2"
    assert notation.parse_moves(connect4.new(), "44 5,3") == [3, 3, 4, 2]
    assert notation.parse_moves(connect4.new(4, 10), "4, 10") == [3, 9]
    assert notation.parse_moves(hex.new(3), "A1,b2\n") == [0, 4]
    assert notation.parse_moves(hex.new(3), "") == []


@pytest.mark.parametrize(
    ("game", "moves", "message"),
    [
        (tictactoe.new(), "150", "move 3 of 3: expected a cell from 1 to 9, got '0'"),
        (tictactoe.new(), "1 1", r"move 2 of 2: illegal action 0: 1 is taken \(ply 1\)"),
        (tictactoe.new(), "142539", r"move 6 of 6: illegal action 8: the game is over \(ply 5\)"),
        (connect4.new(), "48", "move 2 of 2: expected a column from 1 to 7, got '8'"),
        (connect4.new(), "1111111", r"move 7 of 7: .*: column 1 is full \(ply 6\)"),
        (hex.new(3), "a1 d1", "move 2 of 2: expected a cell from a1 to c3, got 'd1'"),
        (hex.new(3), "a0", "move 1 of 1: expected a cell from a1 to c3, got 'a0'"),
        (hex.new(3), "a1 swap", "expected a cell from a1 to c3, got 'swap'"),
        (hex.new(3, swap=True), "swap", "illegal action 9: the swap is legal only at ply 1"),
        (hex.new(3, swap=True), "a1 b1 swap", "move 3 of 3: .* the swap is legal only at ply 1"),
        (hex.new(3), "a1 a1", r"illegal action 0: a1 is taken \(ply 1\)"),
        (gomoku.new(), "h16", "expected a cell from a1 to o15, got 'h16'"),
        (gomoku.new(), "p1", "expected a cell from a1 to o15, got 'p1'"),
        (gomoku.new(), "h", "expected a cell from a1 to o15, got 'h'"),
        (gomoku.new(), "h8 h8", "illegal action 112: h8 is taken"),
    ],
)
def test_moves_that_are_none_are_refused(game, moves, message):
    with pytest.raises(ValueError, match=message):
        notation.parse_moves(game, moves)


# ---- boards --------------------------------------------------------------------------------------


def test_boards_are_read_with_or_without_blanks():
    game = tictactoe.new()
    state = play(game, "152")
    assert notation.board_text(game, state) == "X X .\n. O .\n. . ."
    for text in ("X X .\n. O .\n. . .", "XX./.O./...", "xx-/_o_/---", "\n  xx.\n\n.o.\n...\n"):
        assert game.position_hash(notation.parse_board(game, text)) == game.position_hash(state)
        assert game.to_play(notation.parse_board(game, text)) == 1


def test_a_board_of_a_finished_game_knows_its_winner():
    assert notation.parse_board(tictactoe.new(), "XXX/OO./...").winner == 0
    assert notation.parse_board(tictactoe.new(), "XX./OOO/X..").winner == 1
    assert notation.parse_board(tictactoe.new(), "XOX/XXO/OXO").winner == DRAW
    assert notation.parse_board(hex.new(2), "X./XO").winner == 0
    assert notation.parse_board(gomoku.new(5), "XXXXX/OOOO./...../...../.....").winner == 0


def test_a_swapped_board_is_read_as_one():
    game = hex.new(3, swap=True)
    state = notation.parse_board(game, "... O.. ...".replace(" ", "/"))
    assert int(state.ply) == 2
    assert game.to_play(state) == 0
    assert int(notation.parse_board(game, "X../O../...", to_play=1).ply) == 3
    assert int(notation.parse_board(game, "X../O../...").ply) == 2


@pytest.mark.parametrize(
    ("game", "text", "message"),
    [
        (tictactoe.new(), "", "expected a board of 3 rows of 3 cells, got 0 rows of no cells"),
        (tictactoe.new(), "XX./.O.", "expected a board of 3 rows .*, got 2 rows of 3 cells"),
        (tictactoe.new(), "XX./.O./....", "3 rows of 3 cells, got 3 rows of 3, 4 cells"),
        (tictactoe.new(), "XX./.#./...", "expected cells of X, O and '.', got '#'"),
        (tictactoe.new(), "XXX/.O./...", "got 3 X and 1 O with O to play"),
        (tictactoe.new(), ".O./.../...", "got 0 X and 1 O with X to play"),
        (tictactoe.new(), "XXX/OOO/...", "got one in which both sides have won"),
        (tictactoe.new(), "XXX/OO./O..", "got one in which the side to play has won"),
        (connect4.new(2, 3, 3), "X../...", "got one in the air in row 1 from the top of column 1"),
        (connect4.new(2, 3, 3), ".../XX.", "got 2 X and 0 O with O to play"),
        (connect4.new(2, 4, 3), "XXX./OOO.", "got one in which both sides have won"),
        (connect4.new(2, 4, 3), "O.O./XXXO", "got one in which the side to play has won"),
        (hex.new(2), "XO/XO", "got one in which the side to play has won"),
        (hex.new(2), "XX/X.", "got 3 X and 0 O with O to play"),
        (gomoku.new(5), "XXXXX/OOOOO/...../...../.....", "both sides have won"),
        (gomoku.new(5), "XXXXX/OOO.O/O..../...../.....", "the side to play has won"),
    ],
)
def test_boards_that_no_game_leads_to_are_refused(game, text, message):
    with pytest.raises(ValueError, match=message):
        notation.parse_board(game, text)


def test_the_player_to_move_must_fit_the_stones():
    with pytest.raises(ValueError, match="got 1 X and 0 O with X to play"):
        notation.parse_board(tictactoe.new(), "X../.../...", to_play=0)
    with pytest.raises(ValueError, match="got 1 X and 1 O with O to play"):
        notation.parse_board(hex.new(3), "X../O../...", to_play=1)


# ---- bytes ---------------------------------------------------------------------------------------

SAVED = [
    (tictactoe.new(), "519"),
    (connect4.new(4, 5), "33421"),
    (hex.new(3), "b2 a1 c1"),
    (hex.new(3, swap=True), "a2 swap c3"),
    (gomoku.new(5, 4, "standard"), "c3 d4 b2"),
]


@pytest.mark.parametrize(("game", "moves"), SAVED, ids=str)
def test_truncated_bytes_are_refused(game, moves):
    data = notation.to_bytes(game, play(game, moves))
    for length in range(len(data)):
        with pytest.raises(ValueError, match="expected"):
            notation.from_bytes(game, data[:length])
    with pytest.raises(ValueError, match=r"expected \d+ cells, got \d+ \(damaged data"):
        notation.from_bytes(game, data + b"\0")


# Not with the swap, where other numbers of stones make a game as well.
@pytest.mark.parametrize(("game", "moves"), [SAVED[0], SAVED[1], SAVED[2], SAVED[4]], ids=str)
def test_damaged_bytes_never_give_other_stones(game, moves):
    state = play(game, moves)
    data = notation.to_bytes(game, state)
    for place, bit in itertools.product(range(len(data)), range(8)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << bit
        try:
            restored = notation.from_bytes(game, bytes(damaged))
        except ValueError:
            continue
        assert game.position_hash(restored) == game.position_hash(state)


def with_header(data, **changes):
    """The bytes with other entries in their header."""
    length = struct.unpack("<H", data[8:10])[0]
    header = json.loads(data[10 : 10 + length]) | changes
    text = json.dumps({key: value for key, value in header.items() if value != "absent"}).encode()
    return data[:8] + struct.pack("<H", len(text)) + text + data[10 + length :]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"game": "hex"}, "expected a position of TicTacToe.*, got one of hex"),
        ({"parameters": {"rows": 4, "columns": 4}}, r"got one of tictactoe \{'rows': 4"),
        ({"parameters": None}, "expected the header of a position, got damaged data"),
        ({"parameters": "absent"}, "expected the header of a position, got damaged data"),
        ({"to_play": 2}, "expected cells of -1, 0 and 1 and a player of 0 or 1"),
        ({"to_play": "X"}, "expected the header of a position, got damaged data"),
        ({"to_play": 0}, "got 2 X and 1 O with X to play"),
        ({"last_action": 1}, "expected a last action that led to these stones, got 1"),
        ({"last_action": 9}, "expected a last action that led to these stones, got 9"),
        ({"last_action": -2}, "expected a last action that led to these stones, got -2"),
        ({"last_action": 99999}, "expected a last action that led to these stones, got 99999"),
        ({"last_action": float("inf")}, "expected the header of a position, got damaged data"),
        ({"last_action": "absent"}, "expected the header of a position, got damaged data"),
    ],
    ids=str,
)
def test_headers_that_do_not_fit_are_refused(changes, message):
    game = tictactoe.new()
    data = notation.to_bytes(game, play(game, "519"))
    assert notation.from_bytes(game, with_header(data)).ply == 3
    with pytest.raises(ValueError, match=message):
        notation.from_bytes(game, with_header(data, **changes))


@pytest.mark.parametrize(
    ("game", "moves", "last_action"),
    [
        (tictactoe.new(), "51", 4),
        (connect4.new(), "44", 0),
        (connect4.new(), "412", 0),
        (hex.new(3), "b2 a1", 8),
        (hex.new(3, swap=True), "", 9),
        (hex.new(3, swap=True), "b2 a1 c1", 9),
        (gomoku.new(), "h8 h9", 112),
    ],
    ids=str,
)
def test_a_last_action_that_left_no_stone_of_its_player_is_refused(game, moves, last_action):
    data = notation.to_bytes(game, play(game, moves))
    with pytest.raises(ValueError, match="expected a last action that led to these stones"):
        notation.from_bytes(game, with_header(data, last_action=last_action))


def test_bytes_of_something_else_are_refused():
    game = tictactoe.new()
    data = notation.to_bytes(game, play(game, "519"))
    for other in (b"", b"hexenv", b"\x89PNG\r\n\x1a\n" + data[8:]):
        with pytest.raises(ValueError, match="expected a position written by to_bytes, got other"):
            notation.from_bytes(game, other)
    with pytest.raises(ValueError, match="expected format version 1, got 2"):
        notation.from_bytes(game, data[:6] + struct.pack("<H", 2) + data[8:])
    with pytest.raises(ValueError, match=r"expected a position of Hex.*, got one of tictactoe"):
        notation.from_bytes(hex.new(3), data)
    other_options = hex.new(3, swap=True)
    data = notation.to_bytes(other_options, base.new_state(other_options))
    with pytest.raises(ValueError, match=r"swap=False.*, got one of hex .*'swap': True"):
        notation.from_bytes(hex.new(3), data)


def test_the_swap_works_on_a_board_whose_moves_are_not_known():
    game = hex.new(4, swap=True)
    state = notation.parse_board(game, "...X/..../..../....")
    game.step(state, game.parse_action("swap"))
    assert notation.board_text(game, state).replace(" ", "") == "....\n....\n....\nO..."
