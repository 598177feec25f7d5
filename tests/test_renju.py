"""Renju: what black may not play, against published positions and the rule written another way."""

import numpy as np
import pytest
from environments import JIT

from hexenv import gomoku_v0
from hexenv.compiled import CompiledFunction
from hexenv.games import base, gomoku, notation
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, NO_ACTION
from hexenv.games.gomoku import RENJU, RENJU_LOSES, patterns, renju
from hexenv.games.notation import IllegalActionError
from hexenv.testing import check_game

GAME = gomoku.new(15, rule="renju")
LOSES = gomoku.new(15, rule="renju", forbidden="loses")
OVERLINE, FOURS, THREES = renju.REASONS[renju.OVERLINE :]


def judge_cells(game, state, out):
    """Kernel: the verdict on every empty cell, and the first one; -1 where there is a stone."""
    for cell in range(out.shape[1]):
        out[:, cell] = -1
        if game.owner(state, cell) == EMPTY:
            row, column = cell // game.columns, cell % game.columns
            out[0, cell] = game.verdict(state, cell)
            out[1, cell] = renju.first_verdict(state.lines, game.rows, game.columns, row, column)


compiled_judge_cells = CompiledFunction(judge_cells)


def verdicts(game, state, judge=compiled_judge_cells):
    out = np.empty((2, game.rows * game.columns), np.int64)
    judge(game, state, out)
    return out


def with_stones(game, black, white=()):
    """The position with these stones, whoever is to move: only its lines are of use."""
    state = base.new_state(game)
    for player, cells in enumerate((black, white)):
        for cell in cells:
            game.place(state, cell, player)
    return state


def cells(text, game=GAME):
    return [game.parse_action(word) for word in text.split()]


def forbidden_points(game, state):
    """What black must not play, by cell as text, with the reasons."""
    found, _ = verdicts(game, state)
    return {
        game.action_text(int(cell)): renju.REASONS[found[cell]]
        for cell in np.flatnonzero(found > renju.FIVE)
    }


# ---- published positions -------------------------------------------------------------------------

# Of the tests of two open-source renju programs, all the positions they call forbidden or not:
# starpentagon/realcore, test/board/BoardForbiddenTest.cc (moves as two letters, column and row from
# the top) with every forbidden point of the board, and renju-note/quintet, src/board/forbidden.rs
# (stones below), with what some points are.
REALCORE = {
    "overline": ("hhigihghjhhgmhhilhii", "KH", OVERLINE),
    "four and four in a line 1": ("hhignhghkhkilhoh", "JH", FOURS),
    "four and four in a line 2": ("hhhihbhahdgehfie", "HE", FOURS),
    "four and four in a line 3": ("hhghnhohkhjgjhli", "LH", FOURS),
    "four and four in a line 4": ("hhgiigiioaggnbjhldhf", "KE", FOURS),
    "four and four in a line 5": ("hhgiigiioaggnbjhkehf", "LD", FOURS),
    "four and four in a line 6": ("hhkkjjkiiiikddaabbbaccab", "FF", FOURS),
    "four and four in two lines": ("hhkkjjkiiikchfjcjdidielj", "GG", FOURS),
    "straight fours": ("hhkkiiddeglddgdlffllfgbg", "GG", FOURS),
    "a straight four and a four": ("hhkkiiddeglddgdlffjjfgbg", "GG", FOURS),
    "of a game 1": (
        "hhhihghfjgghiggggijfiefgefifgffejjjikkikkiljijhjlliigklfkfkgjhfjklkjmljllmmjnlolnkojnjkm",
        "NN",
        FOURS,
    ),
    "of a game 2": (
        "hhhijjiiikkijijhkgighfihifljmklhkhlglijgkfjfjekdjkgjfkjmilhmimijgkhkhlfjjlkliniokklkhngo"
        "jnko",
        "FN",
        FOURS,
    ),
    "one straight four": ("hhldihddghdl", "", ""),
    "three and three": ("hhhggiggjhghkifg", "IG", THREES),
    "three and three but for a forbidden point": ("hhhdlfldjjddkgllghdljihl", "JH", THREES),
    "deep": ("hhoobjahciagemeodigochlofmccellcgkhcdjoa", "DH CJ EJ CK DK EK DL FL", THREES),
    "no true three and three": ("hhbdddamecbnfdhdeecojdoakdndleaolfeoghgoeiioejkochmo", "", ""),
}


@pytest.mark.parametrize("name", REALCORE)
def test_all_forbidden_points_of_published_positions(name):
    moves, points, reason = REALCORE[name]
    played = [
        (ord(row) - 97) * 15 + ord(column) - 97
        for column, row in zip(moves[::2], moves[1::2], strict=True)
    ]
    state = with_stones(GAME, played[::2], played[1::2])
    expected = {
        GAME.action_text((ord(row) - 65) * 15 + ord(column) - 65): reason
        for column, row in points.split()
    }
    assert forbidden_points(GAME, state) == expected


QUINTET = {
    "one of each": (
        "c14 b13 d13 c12 l9 k8 j7 e6 f6 g6 i1 j1 l1 m1 n1",
        "",
        {"c13": THREES, "i6": FOURS, "k1": OVERLINE},
    ),
    "a cross": ("h9 g8 i8 h7", "", {"h8": THREES}),
    "broken threes": ("f6 h6 e5 h5", "", {"h8": THREES}),
    "too little room": ("h9 g8 i8 h7", "e8 k8", {"h8": ""}),
    "threes that are blocked": (
        "h9 i9 j9 g7 h7 g6 i6 j6",
        "h11 k9 g8 k6",
        {"h8": "", "i7": "", "j7": THREES},
    ),
    "fours on diagonals": ("f10 g9 f8 g8 i8 i7", "", {"h8": FOURS}),
    "one line 1": ("e8 g8 i8 k8", "", {"h8": FOURS}),
    "one line 2": ("e8 f8 i8 k8 l8", "", {"h8": FOURS}),
    "one line 3": ("d8 e8 f8 j8 k8 l8", "", {"h8": FOURS}),
    "a straight four": ("f8 g8 i8", "", {"h8": ""}),
    "a four that would be too long": ("d12 f10 g9 f8 g8 i8 i7", "j6", {"h8": ""}),
    "an overline": ("e8 f8 g8 i8 j8", "", {"h8": OVERLINE}),
    "no overline yet": ("e8 f8 g8 j8 k8", "", {"h8": ""}),
    "recursion, allowed": ("c8 f8 h8 f7 i7 j7 e6 l6 m6 i5 k5 l5 k4", "g9 o6 j5", {"g8": ""}),
    "recursion, forbidden": ("c8 f8 h8 f7 i7 j7 e6 l6 m6 i5 k5 l5 k4", "g9 j5", {"g8": THREES}),
}


@pytest.mark.parametrize("name", QUINTET)
def test_published_points(name):
    black, white, expected = QUINTET[name]
    found, _ = verdicts(GAME, with_stones(GAME, cells(black), cells(white)))
    assert {point: renju.REASONS[found[cells(point)[0]]] for point in expected} == expected


# ---- the rule written another way ----------------------------------------------------------------


DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


class SlowRenju:
    """The rule as sections 3 and 9 of the federation's rules have it: sets of stones, recursive."""

    def __init__(self, owners):
        self.board = dict(zip(np.ndindex(owners.shape), owners.ravel().tolist(), strict=True))

    def row_through(self, cell, down, right):
        """The black stones in a row through a black stone."""
        row = [cell]
        for sign in (1, -1):
            r, c = cell[0] + sign * down, cell[1] + sign * right
            while self.board.get((r, c)) == 0:
                row.append((r, c))
                r, c = r + sign * down, c + sign * right
        return frozenset(row)

    def rows_after(self, cell, more, down, right):
        """The row through `cell` once there is a black stone on `more`, too."""
        self.board[more] = 0
        row = self.row_through(cell, down, right)
        self.board[more] = EMPTY
        return row

    def near(self, cell, down, right):
        """The empty cells of a line within four steps."""
        places = [(cell[0] + n * down, cell[1] + n * right) for n in range(-4, 5)]
        return [place for place in places if self.board.get(place) == EMPTY]

    def fours(self, cell, down, right):
        """The fours of the stone on a line, as sets of four stones."""
        found = set()
        for more in self.near(cell, down, right):
            row = self.rows_after(cell, more, down, right)
            if len(row) == 5 and more in row:
                found.add(row - {more})
        return found

    def is_straight(self, row, down, right):
        """Whether four stones in a row become a five in two ways."""
        one = min(row)
        rows = [self.rows_after(one, more, down, right) for more in self.near(one, down, right)]
        return len(row) == 4 and [len(longer) for longer in rows].count(5) == 2

    def threes(self, cell, down, right):
        """The threes of the stone on a line, as sets of three stones; only those that count."""
        found = set()
        for more in self.near(cell, down, right):
            self.board[more] = 0
            row = self.row_through(cell, down, right)
            if more in row and self.is_straight(row, down, right) and not self.makes_five(more):
                self.board[more] = EMPTY
                if self.judge(more) == renju.ALLOWED:
                    found.add(row - {more})
            self.board[more] = EMPTY
        return found

    def makes_five(self, cell):
        return any(len(self.row_through(cell, *direction)) == 5 for direction in DIRECTIONS)

    def judge(self, cell):
        self.board[cell] = 0
        rows = [self.row_through(cell, *direction) for direction in DIRECTIONS]
        verdict = renju.ALLOWED
        if any(len(row) == 5 for row in rows):
            verdict = renju.FIVE
        elif any(len(row) > 5 for row in rows):
            verdict = renju.OVERLINE
        elif sum(len(self.fours(cell, *direction)) for direction in DIRECTIONS) > 1:
            verdict = renju.FOUR_AND_FOUR
        elif sum(len(self.threes(cell, *direction)) for direction in DIRECTIONS) > 1:
            verdict = renju.THREE_AND_THREE
        self.board[cell] = EMPTY
        return verdict


def random_stones(rng, rows, columns, black, white):
    """Stones at random, with shares of the cells that are `black` and `white`."""
    draws = rng.random((rows, columns))
    return np.where(draws < black, 0, np.where(draws < black + white, 1, EMPTY)).astype(np.int8)


@pytest.mark.parametrize(
    ("judge", "positions"),
    [
        pytest.param(compiled_judge_cells, 1000, marks=pytest.mark.compiled(only=True)),
        (judge_cells, 80),
    ],
    ids=["compiled", "interpreted"],
)
def test_verdicts_against_the_slow_rule(judge, positions):
    rng = np.random.default_rng(1)
    met = np.zeros(5, int)
    has_recursed = 0
    for _ in range(positions):
        rows, columns = (int(side) for side in rng.integers(6, 12, 2))
        owners = random_stones(rng, rows, columns, rng.uniform(0.1, 0.4), rng.uniform(0, 0.1))
        game = gomoku.new((rows, columns), rule="renju")
        stones = owners.ravel()
        state = with_stones(game, np.flatnonzero(stones == 0), np.flatnonzero(stones == 1))
        before = state.lines.copy()
        found, first = verdicts(game, state, judge)
        assert np.array_equal(state.lines, before)
        slow = SlowRenju(owners)
        for cell in np.flatnonzero(stones == EMPTY).tolist():
            row, column = divmod(cell, columns)
            assert found[cell] == slow.judge((row, column)), (owners, row, column)
            met[found[cell]] += 1
            has_recursed += first[cell] == renju.THREE_AND_THREE != found[cell]
    assert met.min() > positions // 8
    assert has_recursed > positions // 16  # threes that do not count


def test_windows_have_the_classes_of_the_table():
    """The bits of `renju` and the tables of `patterns` say the same."""
    table = patterns.pattern_table(5, patterns.RENJU)
    rng = np.random.default_rng(3)
    met = set()
    for _ in range(4000):
        stones = rng.choice(3, 11, p=(0.45, 0.45, 0.1))
        own = int((stones == 1) @ (1 << np.arange(11))) | renju.STONE
        free = int((stones == 0) @ (1 << np.arange(11))) & ~renju.STONE
        found = table.classify(own, renju.WINDOW & ~own & ~free, 0)
        length, fours = renju.row_length(own), renju.count_fours(own, free)
        points = renju.straight_four_points(own, free)
        met.add(found)
        assert (length == 5) == (found == patterns.FIVE)
        assert (length > 5) == (found == patterns.OVERLINE)
        if length < 5:
            many = {patterns.FOUR: 1, patterns.OPEN_FOUR: 1, patterns.DOUBLE_FOUR: 2}
            assert fours == many.get(found, 0)
            assert bool(points & renju.STONE) == (found == patterns.OPEN_FOUR)
            threes = (patterns.OPEN_THREE, patterns.BROKEN_THREE)
            assert (fours == 0 and points > 0) == (found in threes)
    assert met >= {patterns.FIVE, patterns.OVERLINE, patterns.DOUBLE_FOUR, patterns.OPEN_FOUR}


# ---- the game ------------------------------------------------------------------------------------


def played(game, moves):
    return notation.play(game, notation.parse_moves(game, moves))


THREE_AND_THREE_AT_H8 = "h9 a1 g8 a3 i8 a5 h7 a7"
AT_H8 = {
    "three and three": THREE_AND_THREE_AT_H8,
    "four and four": "e8 a1 g8 a3 i8 a5 k8 a7",
    "an overline": "e8 a1 f8 a3 g8 a5 i8 a7 j8 a9",
}


@pytest.mark.parametrize("reason", AT_H8)
def test_forbidden_moves_are_no_legal_actions_or_lose(reason):
    state = played(GAME, AT_H8[reason])
    h8 = GAME.parse_action("h8")
    assert h8 not in base.legal_actions(GAME, state)
    assert base.legal_mask_of(GAME, state)[h8] == 0
    with pytest.raises(IllegalActionError, match=f"h8 is forbidden to black: {reason}"):
        notation.parse_move(GAME, state, "h8")
    with pytest.raises(IllegalActionError, match="a1 is taken"):
        notation.parse_move(GAME, state, "a1")
    GAME.step(state, GAME.parse_action("o15"))
    assert h8 in base.legal_actions(GAME, state)  # for white

    state = played(LOSES, AT_H8[reason] + " h8")
    assert (state.winner, LOSES.outcome(state, 0), LOSES.outcome(state, 1)) == (1, -1, 1)
    assert base.legal_actions(LOSES, state) == []
    assert LOSES.winning_cells(state) == []
    saved = notation.from_bytes(LOSES, notation.to_bytes(LOSES, state))
    assert (saved.winner, saved.last_action) == (1, h8)


def test_a_board_does_not_tell_which_stone_was_last_so_nothing_on_it_has_lost():
    state = played(LOSES, THREE_AND_THREE_AT_H8 + " h8")
    read = notation.parse_board(LOSES, notation.board_text(LOSES, state))
    assert (read.winner, LOSES.to_play(read)) == (IN_PLAY, 1)


def test_five_overrides_what_is_forbidden():
    for game in (GAME, LOSES):
        row = "d8 a1 e8 a3 f8 a5 g8 a7 "  # h8 makes five
        for more in ("h10 a9 h11 a11 j10 a13 k11 a15", "h9 a9 h4 a11 h5 a13 h6 a15 h7 c15"):
            state = played(game, row + more)
            cell = game.parse_action("h8")
            assert game.verdict(state, cell) == renju.FIVE
            assert game.wins_at(state, 0, cell)
            game.step(state, cell)
            assert state.winner == 0
            five = {game.action_text(cell) for cell in game.winning_cells(state)}
            assert five == {"d8", "e8", "f8", "g8", "h8"}


def test_white_is_free_and_wins_with_more_than_five():
    state = played(GAME, "a1 e8 a3 f8 a5 g8 c15 i8 e15 j8 g15")
    assert GAME.wins_at(state, 1, GAME.parse_action("h8"))
    GAME.step(state, GAME.parse_action("h8"))
    assert state.winner == 1
    assert len(GAME.winning_cells(state)) == 6
    state = played(GAME, "a1 h9 a3 g8 a5 i8 a7 h7 c15 h8")  # a three and three
    assert state.winner == IN_PLAY


def test_an_overline_on_a_board_wins_for_white_alone():
    rows = [".............."] * 2 + ["XXXXXX........"] + [".............."] * 3 + ["O.O.O.O.O.O..."]
    for rule in ("masked", "loses"):
        game = gomoku.new((7, 14), rule="renju", forbidden=rule)
        board = "\n".join(rows)
        assert notation.parse_board(game, board).winner == IN_PLAY
        flipped = board.replace("X", "o").replace("O", "x").replace("x.x.x", "xx..x")
        assert notation.parse_board(game, flipped, 0).winner == 1


BARRED = "OOXOOO XXX.XX OOOXOO XX.XXX OXOOXO".replace(" ", "\n")
"""Two empty cells, and black must play neither."""


def test_a_game_in_which_black_can_move_nowhere_is_drawn():
    game = gomoku.new((5, 6), rule="renju")
    assert forbidden_points(game, notation.parse_board(game, BARRED)) == {
        "d4": OVERLINE,
        "c2": OVERLINE,
    }
    assert notation.parse_board(game, BARRED).winner == DRAW
    assert notation.parse_board(game, BARRED.replace("OOXO", ".OXO", 1), 1).winner == IN_PLAY
    state = notation.parse_board(game, BARRED.replace("OOXO", ".OXO", 1), 1)
    game.step(state, game.parse_action("a5"))
    assert (state.winner, base.legal_actions(game, state)) == (DRAW, [])

    loses = gomoku.new((5, 6), rule="renju", forbidden="loses")
    state = notation.parse_board(loses, BARRED)
    assert state.winner == IN_PLAY
    loses.step(state, loses.parse_action("c2"))
    assert state.winner == 1


def test_the_last_cell_of_a_full_board_may_lose():
    game = gomoku.new((5, 6), rule="renju", forbidden="loses")
    board = BARRED.replace("XX.XXX", "XXOXXX").replace("OOXOOO", "OXXOOO")
    state = base.new_state(game)
    for cell, symbol in enumerate(board.replace("\n", "")):
        if symbol != ".":
            game.place(state, cell, "XO".index(symbol))
    state.ply = 28  # black is to move, with a stone more than in a game: only the end is of use
    game.step(state, game.parse_action("d4"))
    assert state.winner == 1


def test_black_cannot_be_told_to_stop_a_win_where_it_must_not_play():
    # White has four in column h, and h8 would be an overline of black.
    moves = "e8 h4 f8 h5 g8 h6 i8 h7 j8 o1 h3 o3"
    state = played(GAME, moves)
    legal = np.array(base.legal_actions(GAME, state), np.int32)
    h8 = GAME.parse_action("h8")
    assert GAME.wins_at(state, 1, h8)
    assert h8 not in legal
    for near in (NO_ACTION, GAME.parse_action("h7")):
        assert GAME.winning_action(state, 1, near, legal, len(legal)) == NO_ACTION
    GAME.step(state, GAME.parse_action("o5"))
    legal = np.array(base.legal_actions(GAME, state), np.int32)
    assert GAME.winning_action(state, 1, NO_ACTION, legal, len(legal)) == h8


def play_out_often(game, state, scratch, rng, buffer, results):
    """Kernel: playouts, and who wins each: player 0, player 1 or nobody."""
    for number in range(results.shape[0]):
        game.copy(state, scratch)
        game.random_playout(scratch, rng, buffer)
        results[number, scratch.winner] = 1.0


compiled_play_out_often = CompiledFunction(play_out_often)


def chances(game, state):
    """The exact chances that each player wins, and nobody, where moves are drawn evenly."""
    if game.is_terminal(state):
        return np.eye(3)[state.winner]
    found = []
    for action in base.legal_actions(game, state):
        after = base.clone(game, state)
        game.step(after, action)
        found.append(chances(game, after))
    return np.mean(found, axis=0)


def crowded_positions(game, rng, empty, least=2):
    """Positions with so few empty cells, of which some at least are forbidden."""
    cells = game.rows * game.columns
    while True:
        owners = np.full(cells, EMPTY, np.int8)
        order = rng.permutation(cells)[: cells - empty]
        owners[order[: len(order) // 2]], owners[order[len(order) // 2 :]] = 0, 1
        try:
            state = notation.from_cells(game, owners.reshape(game.rows, game.columns), 0)
        except ValueError:
            continue  # somebody has won
        if state.winner == IN_PLAY and len(forbidden_points(game, state)) >= least:
            yield state


def test_a_full_board_that_is_lost_is_saved_as_that():
    game = gomoku.new((5, 7), rule="renju", forbidden="loses")
    state = next(crowded_positions(game, np.random.default_rng(8), 1, least=1))
    game.step(state, base.legal_actions(game, state)[0])
    assert (state.ply, state.winner) == (35, 1)
    assert notation.from_bytes(game, notation.to_bytes(game, state)).winner == 1


@pytest.mark.compiled
@pytest.mark.parametrize("forbidden", ["masked", "loses"])
def test_playouts_draw_evenly_among_what_is_allowed(forbidden):
    game = gomoku.new((6, 7), rule="renju", forbidden=forbidden)
    rng, buffer = np.random.default_rng(5), np.empty(42, np.int32)
    count = 20_000 if JIT else 500
    for _, state in zip(range(3), crowded_positions(game, rng, 6), strict=False):
        results = np.zeros((count, 3))
        compiled_play_out_often(game, state, base.new_state(game), rng, buffer, results)
        expected = chances(game, state)
        assert np.abs(results.mean(axis=0) - expected).max() < 4 * 0.5 / count**0.5
        assert 0.01 < expected.max() < 0.99


@pytest.mark.compiled
@pytest.mark.parametrize("forbidden", gomoku.FORBIDDEN)
@pytest.mark.parametrize("size", [(6, 7), pytest.param(8, marks=pytest.mark.slow)])
def test_contract(size, forbidden):
    check_game(gomoku.new(size, rule="renju", forbidden=forbidden), games=6 if JIT else 2)


@pytest.mark.slow
@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("game", [GAME, LOSES], ids=str)
def test_contract_on_large_boards(game):
    check_game(game, games=1)


def test_renju_is_an_option_of_the_environment():
    masked, loses = (
        gomoku_v0.raw_env(rule="renju", forbidden=forbidden) for forbidden in gomoku.FORBIDDEN
    )
    assert (masked.game.rule, loses.game.rule) == (RENJU, RENJU_LOSES)
    for env in (masked, loses):
        env.reset(options={"moves": THREE_AND_THREE_AT_H8})
    h8 = GAME.parse_action("h8")
    assert not masked.is_legal(h8)
    loses.step(h8)
    assert loses.rewards == {"player_0": -1.0, "player_1": 1.0}
    assert loses.terminations == {"player_0": True, "player_1": True}
    again = gomoku_v0.raw_env(rule="renju", forbidden="loses")
    again.reset(options={"state": loses.state})
    assert again.rewards == loses.rewards


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rule": "renju", "connect": 6}, "got 6"),
        ({"rule": "renju", "forbidden": "x"}, "got 'x'"),
        ({"forbidden": "loses"}, "only in renju"),
    ],
)
def test_options_out_of_range_are_refused(options, named):
    with pytest.raises(ValueError, match=named):
        gomoku_v0.env(**options)
