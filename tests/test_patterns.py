"""Line patterns: the table and the positions that know them, against the definitions."""

import itertools
import json

import numpy as np
import pytest
from environments import JIT
from gomoku_oracles import (
    SlowLines,
    countings,
    line_cells,
    pick_cell,
    random_positions,
    with_stone,
)

from agents.knowledge.gomoku import board
from hexenv.compiled import CompiledFunction, kernel
from hexenv.games import base, gomoku, notation
from hexenv.games.gomoku import renju
from hexenv.games.gomoku.patterns import CARO, EXACT, FREE, PATTERNS, RENJU, pattern_table

COUNTINGS = {"free": FREE, "exact": EXACT, "renju": RENJU, "caro": CARO}


# ---- the table -----------------------------------------------------------------------------------


def window_text(number, connect, border):
    """A window by its number in the table: digits 0, 1, 2 from the left, without the middle.

    What is in the way is ``|``, the border, if it is the first on a side and `border` says so.
    """
    text = "".join(".XO"[number // 3**place % 3] for place in range(2 * connect))
    left, right = text[:connect], text[connect:]
    if border & 1:
        left = left[::-1].replace("O", "|", 1)[::-1]
    if border & 2:
        right = right.replace("O", "|", 1)
    return f"{left}X{right}"


def bits_of(text, symbols):
    return sum(1 << place for place, found in enumerate(text) if found in symbols)


def classify(connect, counting, text):
    """The name of the class that the table has for a window."""
    table = pattern_table(connect, COUNTINGS[counting])
    blocked = bits_of(text, "O|")
    border = table.border_of(blocked, bits_of(text, "|")) if counting == "caro" else 0
    return PATTERNS[table.classify(bits_of(text, "X"), blocked, border)]


def window(line, at, connect):
    """The window around a place of a line; what is no stone and not empty is in the way."""
    beyond = "|" * connect
    text = beyond + line + beyond
    return text[at : at + 2 * connect + 1]


@pytest.mark.parametrize(
    ("connect", "counting"),
    [
        pytest.param(
            connect, name, marks=[pytest.mark.slow] if (connect, name) == (5, "caro") else []
        )
        for connect in (3, 4, 5)
        for name in COUNTINGS
    ],
)
def test_every_window_is_classified_by_the_definitions(connect, counting):
    slow = SlowLines(connect, counting)
    table = pattern_table(connect, COUNTINGS[counting])
    numbers, borders = range(3 ** (2 * connect)), range(len(table.classes))
    texts = [window_text(number, connect, border) for border in borders for number in numbers]
    expected = [slow.classify(text, connect) for text in texts]
    wrong = [
        (text, PATTERNS[found], name)
        for text, found, name in zip(texts, table.classes.ravel(), expected, strict=True)
        if PATTERNS[found] != name
    ]
    assert wrong == []
    names = set(PATTERNS) - ({"overline"} if counting in ("free", "caro") else set())
    if connect == 4:
        names -= {"one", "open_one"}  # one stone of four is a two
    if connect == 3:
        names -= {"one", "open_one", "two", "open_two", "broken_three"}
    assert set(expected) == names


@pytest.mark.parametrize("counting", COUNTINGS)
def test_a_window_says_as_much_as_the_whole_line(counting):
    rng, seen = np.random.default_rng(20), set()
    for connect, count in ((5, 40), (6, 60)):
        slow = SlowLines(connect, counting)
        for _ in range(count // 2 if counting == "caro" else count):
            density = rng.choice([0.15, 0.3, 0.5, 0.7])
            line = "".join(rng.choice(list("X.O"), 20, p=[density, 0.95 - density, 0.05]))
            at = int(rng.integers(20))
            line = with_stone(line, at)
            found = classify(connect, counting, window(line, at, connect))
            assert found == slow.classify(line, at), (line, at)
            seen.add(found)
    assert len(seen) >= 10


# What the stone "x" makes, by hand. "|" is the border; a line without one goes on empty.
FIVE_IN_A_ROW = [
    # line, freestyle, standard, renju
    ("XXxXX", "five", "five", "five"),
    ("|xXXXX", "five", "five", "five"),
    ("OxXXXXO", "five", "five", "five"),
    ("XXXxXX", "five", "overline", "overline"),
    ("|XXXXXXx|", "five", "overline", "overline"),
    ("xXXX", "open_four", "open_four", "open_four"),
    ("XxXX.O", "open_four", "open_four", "open_four"),
    ("|.XXXx.O", "open_four", "open_four", "open_four"),
    ("OxXXX", "four", "four", "four"),
    ("|xXXX", "four", "four", "four"),
    ("XXXx|", "four", "four", "four"),
    ("|xXXX.|", "four", "four", "four"),
    ("OxXXXO", "nothing", "nothing", "nothing"),
    ("|XXxX|", "nothing", "nothing", "nothing"),
    ("X.xXXX", "open_four", "four", "four"),
    ("X.xXXX.X", "open_four", "nothing", "nothing"),
    ("xXX.X", "four", "four", "four"),
    ("|xX.XX|", "four", "four", "four"),
    ("xXX.XX", "four", "three", "three"),
    ("OxXX.XXO", "four", "nothing", "nothing"),
    ("X.XxX.X", "double_four", "double_four", "double_four"),
    ("x.XXX.X", "four", "four", "four"),
    ("XX.xX.XX", "double_four", "double_four", "double_four"),
    ("XXX.x.XXX", "double_four", "double_four", "double_four"),
    ("|X.XXx.X|", "double_four", "double_four", "double_four"),
    ("xXX", "open_three", "open_three", "open_three"),
    ("|.xXX", "open_three", "open_three", "open_three"),
    ("O.xXX..O", "open_three", "open_three", "open_three"),
    ("O.xXX.O", "three", "three", "three"),
    ("|.xXX.|", "three", "three", "three"),
    ("OxXX", "three", "three", "three"),
    ("|xXX..|", "three", "three", "three"),
    ("|xXX.|", "nothing", "nothing", "nothing"),
    ("X..xXX", "open_three", "open_three", "open_three"),
    ("X..xXX.O", "open_three", "three", "three"),
    ("x.XX", "broken_three", "broken_three", "broken_three"),
    ("O.Xx.X.O", "broken_three", "broken_three", "broken_three"),
    ("Ox.XX", "three", "three", "three"),
    ("|x.XX", "three", "three", "three"),
    ("X.x.X.X", "broken_three", "broken_three", "three"),
    ("x..XX", "three", "three", "three"),
    ("xX", "open_two", "open_two", "open_two"),
    ("x.X", "open_two", "open_two", "open_two"),
    ("x..X", "open_two", "open_two", "open_two"),
    ("|xX", "two", "two", "two"),
    ("O.xX..O", "two", "two", "two"),
    ("OxX..O", "nothing", "nothing", "nothing"),
    ("x...X", "two", "two", "two"),
    ("x", "open_one", "open_one", "open_one"),
    ("|.x", "open_one", "open_one", "open_one"),
    ("|x", "one", "one", "one"),
    ("|x....O", "one", "one", "one"),
    ("|x...O", "nothing", "nothing", "nothing"),
    ("|..x.|", "nothing", "nothing", "nothing"),
    ("|x|", "nothing", "nothing", "nothing"),
]
OTHER_LENGTHS = [
    # connect, line, freestyle, standard
    (4, "xXXX", "five", "five"),
    (4, "XxXXX", "five", "overline"),
    (4, "XxX", "open_four", "open_four"),
    (4, "|xXX", "four", "four"),
    (4, "XxX.X", "open_four", "four"),
    (4, "X.xX.X", "double_four", "double_four"),
    (4, "xX", "open_three", "open_three"),
    (4, "x.X", "broken_three", "broken_three"),
    (4, "|xX", "three", "three"),
    (4, "x", "open_two", "open_two"),
    (4, "|x", "two", "two"),
    (4, "|x..|", "nothing", "nothing"),
    (3, "xXX", "five", "five"),
    (3, "xX", "open_four", "open_four"),
    (3, "x.X", "four", "four"),
    (3, "x", "open_three", "open_three"),
    (3, "|x", "three", "three"),
    (3, "|.x.|", "three", "three"),
    (3, "|x.|", "nothing", "nothing"),
    (6, "XXxXXX", "five", "five"),
    (6, "xXXXX", "open_four", "open_four"),
    (6, "xXXX", "open_three", "open_three"),
    (6, "xX", "open_one", "open_one"),
]


def expand(text, connect):
    """The line of a vector: with empty cells where it has no border; and where the stone is."""
    room = "." * connect
    left = "" if text.startswith("|") else room
    right = "" if text.endswith("|") else room
    line = left + text.strip("|") + right
    return line.replace("x", "X"), line.index("x")


VECTORS = [
    *((5, text, expected) for text, *expected in FIVE_IN_A_ROW),
    *((connect, text, expected) for connect, text, *expected in OTHER_LENGTHS),
]


@pytest.mark.parametrize(("connect", "text", "expected"), VECTORS)
def test_patterns_by_hand(connect, text, expected):
    line, at = expand(text, connect)
    for counting, name in zip(COUNTINGS, expected, strict=False):
        assert classify(connect, counting, window(line, at, connect)) == name
        assert SlowLines(connect, counting).classify(line, at) == name


BY_CARO = {
    "OxXXXXO": "nothing",
    "OxXXXX": "five",
    "|xXXXXO": "five",
    "OXXxXXXO": "five",  # six
    "OxXXX": "four",
    "XxXX": "open_four",
    "XxXX.O": "four",  # one stone, in front of it, stops both fives
    "O.XxXX.O": "four",
    "|.XXXx.O": "four",
    "|.XXXx.|": "open_four",
    "X.XxX.X": "double_four",
    "OX.XxX.XO": "four",  # as one in the first gap keeps the other five from winning
}


@pytest.mark.parametrize("text", BY_CARO)
def test_patterns_of_caro_by_hand(text):
    line, at = expand(text, 5)
    assert classify(5, "caro", window(line, at, 5)) == BY_CARO[text]


# ---- positions that know their patterns ----------------------------------------------------------


BOARDS = {
    "15": gomoku.new(15),
    "15-standard": gomoku.new(15, 5, "standard"),
    "20": gomoku.new(20),
    "20-standard": gomoku.new(20, 5, "standard"),
    "5x7": gomoku.new((5, 7)),
    "5x7-standard": gomoku.new((5, 7), 5, "standard"),
    "6-connect-4": gomoku.new(6, 4),
    "6-connect-4-standard": gomoku.new(6, 4, "standard"),
    "4x9-connect-3": gomoku.new((4, 9), 3),
    "7-connect-6-standard": gomoku.new(7, 6, "standard"),
    "15-renju": gomoku.new(15, rule="renju"),
    "7-renju": gomoku.new(7, rule="renju"),
    "9-caro": gomoku.new(9, rule="caro"),
    "6x8-connect-4-caro": gomoku.new((6, 8), 4, rule="caro"),
    "9-renju-loses": gomoku.new(9, rule="renju", forbidden="loses"),
}
over_boards = pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.slow] if "renju" in name and name != "7-renju" else []
        )
        for name in BOARDS
    ],
)


@kernel
def is_as_studied(game, state, fresh):
    """Whether codes, counts and totals are what the stones alone say."""
    game.copy(state, fresh)
    game.classify_all(fresh)
    for row in range(3):
        for cell in range(game.num_actions()):
            if state.codes[row, cell] != fresh.codes[row, cell]:
                return False
    for side in range(2):
        for kind in range(board.NUM_KINDS):
            if state.counts[side, kind] != fresh.counts[side, kind]:
                return False
        if state.totals[side] != fresh.totals[side]:
            return False
    return True


@kernel
def wins_are_those_of_the_rules(game, state):
    """Whether the cells that make five are those where the rules see a win; and their number."""
    if game.is_terminal(state):
        return True
    for side in range(2):
        found = 0
        for cell in range(game.num_actions()):
            if game.owner(state, cell) == base.EMPTY:
                wins = game.rules.wins_at(state, side, cell)
                found += wins
                if wins != (game.kind(state, side, cell) == board.WINS):
                    return False
        if found != state.counts[side, board.WINS]:
            return False
    return True


@kernel
def barred_cells_are_those_of_the_rules(game, state):
    """Whether the cells that renju forbids are known, and those where the lines alone say so."""
    if game.is_terminal(state):
        return True
    for side in range(2):
        for cell in range(game.num_actions()):
            if game.owner(state, cell) != base.EMPTY:
                continue
            reason = renju.ALLOWED
            if game.bars(side):
                reason = game.rules.verdict(state, cell)
            by_lines = reason in (renju.OVERLINE, renju.FOUR_AND_FOUR)
            if (game.kind(state, side, cell) == board.BARRED) != by_lines:
                return False
            if game.allows(state, side, cell) != (reason <= renju.FIVE):
                return False
    return True


@kernel
def play_and_compare(game, rng, count, scratch, kinds):
    """Play games at random, and compare each of so many positions with what its stones say.

    Args:
        game: A `PatternGame`.
        rng: The stream.
        count: How many positions.
        scratch: ``(3,)`` states.
        kinds: ``(2, NUM_KINDS)``: receives in how many positions each player had such cells.

    Returns:
        How many positions are wrong: after a move, after another one, and once it is taken back;
        and how many disagree with the rules about wins, or about what is forbidden.
    """
    state, fresh, before = scratch[0], scratch[1], scratch[2]
    wrong = 0
    unlike_rules = 0
    style = 0
    game.initial(state)
    for number in range(count):
        if game.is_terminal(state):
            game.initial(state)
            style = (style + 1) % 3
        if number % 4 == 0:
            game.copy(state, before)
            for _ in range(3):
                if not game.is_terminal(state):
                    game.step(state, pick_cell(game.rules, state, rng, 0))
                    wrong += not is_as_studied(game, state, fresh)
            game.copy(before, state)
            wrong += not is_as_studied(game, state, fresh)
        game.step(state, pick_cell(game.rules, state, rng, style))
        wrong += not is_as_studied(game, state, fresh)
        unlike_rules += not wins_are_those_of_the_rules(game, state)
        unlike_rules += not barred_cells_are_those_of_the_rules(game, state)
        for side in range(2):
            for kind in range(board.NUM_KINDS):
                kinds[side, kind] += state.counts[side, kind] > 0
    return wrong, unlike_rules


compiled_play_and_compare = CompiledFunction(play_and_compare)


class SlowCells:
    """The classes of the stones that are and could be on the cells of a board, by definition."""

    def __init__(self, rules):
        self.rules = rules
        self.slow = [SlowLines(rules.connect, counting) for counting in countings(rules)]
        self.cells = [
            [self._window(cell, direction) for direction in range(4)]
            for cell in range(rules.num_actions())
        ]

    def _window(self, cell, direction):
        """The cells around one, -1 for those beyond the board."""
        cells, at = line_cells(self.rules.rows, self.rules.columns, cell, direction)
        beyond = [-1] * self.rules.connect
        return (beyond + cells + beyond)[at : at + 2 * self.rules.connect + 1]

    def classes(self, owners, side, cell):
        """The four classes of a stone of a side: owners is a list, with something else at -1."""
        symbols = {base.EMPTY: ".", side: "X", None: "|"}
        found = []
        for window in self.cells[cell]:
            text = "".join([symbols.get(owners[place], "O") for place in window])
            text = with_stone(text, self.rules.connect)
            found.append(self.slow[side].classify(text, self.rules.connect))
        return found


def kind_of(classes, is_barred=False):
    """What four classes make together; `is_barred` for a side that is barred from some of it."""
    fours = classes.count("four") + 2 * classes.count("double_four")
    threes = classes.count("open_three") + classes.count("broken_three")
    if "five" in classes:
        return board.WINS
    if is_barred and ("overline" in classes or fours + classes.count("open_four") > 1):
        return board.BARRED
    if "open_four" in classes:
        return board.OPENS_FOUR
    if fours > 1:
        return board.TWO_FOURS
    if fours == 1:
        return board.FOUR_THREE if threes else board.MAKES_FOUR
    if threes:
        return board.DOUBLE_THREE if threes > 1 else board.MAKES_THREE
    return board.QUIET


@pytest.mark.compiled
@over_boards
def test_patterns_are_kept_up_to_date_in_random_games(name):
    rules = BOARDS[name]
    game, rng = board.new(rules), np.random.default_rng(15)
    scratch, kinds = base.new_states(game, 3), np.zeros((2, board.NUM_KINDS), np.int64)
    count = 10_000 if JIT else 60
    assert compiled_play_and_compare(game, rng, count, scratch, kinds) == (0, 0)
    if JIT:
        bars = [counting == "renju" for counting in countings(rules)]
        assert (kinds[:, board.BARRED] > 0).tolist() == bars
        assert (kinds[:, [board.MAKES_FOUR, board.OPENS_FOUR, board.WINS]] > 0).all()


@pytest.mark.compiled
@over_boards
def test_all_that_a_position_knows_by_the_definitions(name):
    rules = BOARDS[name]
    game = board.new(rules)
    slow = SlowCells(rules)
    bars = [counting == "renju" for counting in countings(rules)]
    worth = {name: board.PUBLISHED_POINTS.get(name, 0) for name in PATTERNS}
    for plain in random_positions(rules, 36 if JIT else 4, seed=3):
        state = board.state_of(game, plain)
        owners = [*base.cell_owners(rules, plain).ravel().tolist(), None]
        counts = np.zeros((2, board.NUM_KINDS), int)
        totals = [0, 0]
        for cell, side in itertools.product(range(rules.num_actions()), (0, 1)):
            code, kind = int(state.codes[side, cell]), game.kind(state, side, cell)
            if owners[cell] != base.EMPTY:
                assert code == kind == game.point(state, side, cell) == 0
            if owners[cell] not in (side, base.EMPTY):
                continue
            classes = slow.classes(owners, side, cell)
            points = sum(worth[name] for name in classes)
            if owners[cell] == side:
                totals[side] += points
                code = int(state.codes[board.STONES, cell])
            else:
                assert kind == kind_of(classes, bars[side])
                assert game.point(state, side, cell) == points
                assert PATTERNS[game.pattern(state, side, cell, 3)] == classes[3]
                assert state.codes[board.STONES, cell] == 0
                counts[side, kind] += 1
            assert [PATTERNS[code >> shift & 15] for shift in (0, 4, 8, 12)] == classes
        assert state.totals.tolist() == totals
        assert (state.counts == counts).all()
        assert game.balance(state, 0) == totals[0] - totals[1] == -game.balance(state, 1)
        assert board.plain_state(game, state).tobytes() == plain.tobytes()


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["15", "5x7-standard", "6-connect-4", "15-renju", "7-renju"])
def test_a_stone_that_is_put_does_not_pass_the_turn_but_all_else_is_as_studied(name):
    rules = BOARDS[name]
    game = board.new(rules)
    fresh = base.new_state(game)
    rng = np.random.default_rng(8)
    for plain in random_positions(rules, 10 if JIT else 3, seed=5):
        state = board.state_of(game, plain)
        ply, last = int(state.ply), int(state.last_action)
        for _ in range(6):
            empty = [c for c in range(rules.num_actions()) if game.owner(state, c) == base.EMPTY]
            if not empty:
                break
            side, cell = int(rng.integers(2)), int(rng.choice(empty))
            game.put(state, side, cell)
            assert game.owner(state, cell) == side
            assert is_as_studied(game, state, fresh)
        assert (state.ply, state.last_action, state.winner) == (ply, last, base.IN_PLAY)


@pytest.mark.parametrize("rule", ["standard", "renju"])
def test_positions_compiled_and_interpreted(rule):
    rules = gomoku.new(9, 5, rule)
    game = board.new(rules)
    plain, stepped = base.new_state(rules), base.new_state(game)
    rng = np.random.default_rng(6)
    for style in (0, 1, 2) * 8:
        cell = pick_cell(rules, plain, rng, style)
        if rules.is_terminal(plain):
            break
        rules.step(plain, cell)
        game.step(stepped, cell)
        expected = board.state_of(game, plain, compiles=False).tobytes()
        assert board.state_of(game, plain).tobytes() == stepped.tobytes() == expected


@pytest.mark.parametrize("rule", ["freestyle", "standard", "renju"])
def test_the_kind_of_every_four_classes(rule):
    game = board.new(gomoku.new(15, 5, rule))
    for side in (0, 1):
        is_barred = countings(game.rules)[side] == "renju"
        for numbers in itertools.product(range(len(PATTERNS)), repeat=4):
            code = sum(number << 4 * place for place, number in enumerate(numbers))
            assert game.kinds[side, code] == kind_of(
                [PATTERNS[number] for number in numbers], is_barred
            )


# ---- what patterns are worth ---------------------------------------------------------------------


def test_a_table_of_worths(tmp_path):
    found = board.points_array({"five": 10**9, "open_three": 7, "overline": 0})
    assert found.dtype == np.int64
    assert dict(zip(PATTERNS, found.tolist(), strict=True)) == dict.fromkeys(PATTERNS, 0) | {
        "five": 10**9,
        "open_three": 7,
    }
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1
    assert not board.points_array({}).any()
    path = tmp_path / "worth.json"
    path.write_text(json.dumps({"open_three": 7, "five": 10**9}))
    assert (board.load_points(path) == found).all()


def test_other_worths_change_points_and_balance_alone():
    rules = gomoku.new(9)
    usual = board.new(rules)
    other = board.new(rules, board.points_array({"open_two": 3, "open_one": 2}))
    actions = notation.parse_moves(rules, "e5 a1 f5")
    position = notation.play(rules, actions)
    states = [board.state_of(game, position) for game in (usual, other)]
    assert (states[0].codes == states[1].codes).all()
    assert (states[0].counts == states[1].counts).all()
    assert usual.balance(states[0], 0) == 2 * (100 + 3 * 10) - (1 + 1)
    assert other.balance(states[1], 0) == 2 * (3 + 3 * 2) - 0
    cell = rules.parse_action("g5")
    assert usual.point(states[0], 0, cell) == 1_000 + 3 * 10
    assert other.point(states[1], 0, cell) == 0 + 3 * 2


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"[1, 2]", r"\[1, 2\]"),
        (b'{"fourth": 1}', "'fourth'"),
        (b'{"four": true}', "True"),
        (b'{"four": NaN}', "NaN"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, content, named):
    path = tmp_path / "points.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"points\.json.*{named}"):
        board.load_points(path)


@pytest.mark.parametrize("value", [1.0, True, "5", 10**9 + 1, -5])
def test_points_are_whole_numbers_of_python(value):
    with pytest.raises(ValueError, match="for one"):
        board.points_array({"one": value})
