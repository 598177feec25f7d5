"""Gomoku written down a second time, slowly: patterns by their definitions, wins by looking."""

from functools import cache

import numpy as np

from hexenv.compiled import CompiledFunction, kernel
from hexenv.games import base, gomoku

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Along the row, down the column, the falling diagonal, the rising one."""


# ---- patterns ------------------------------------------------------------------------------------


class SlowLines:
    """What a stone makes of its line, from the definitions of `hexenv.games.gomoku.patterns`.

    A line is a text: ``X`` an own stone, ``.`` an empty cell, ``O`` a stone of the other side,
    anything else is in the way. Each of the methods gives the class of the own stone at a place, if
    it is as good as its name or better.
    """

    def __init__(self, connect, counting):
        self.connect = connect
        self.counting = counting
        self.find_four = cache(self.find_four)
        self.find_three = cache(self.find_three)
        self.find_two = cache(self.find_two)
        self.classify = cache(self.classify)

    def find_five(self, line, at):
        run = run_length(line, at)
        if run > self.connect:
            return "five" if self.counting in ("free", "caro") else "overline"
        ends = [line[end : end + 1] for end in run_ends(line, at) if end >= 0]
        is_blocked = self.counting == "caro" and ends == ["O", "O"]
        return "five" if run == self.connect and not is_blocked else None

    def ways_to_five(self, line, at):
        return [
            cell
            for cell in range(len(line))
            if line[cell] == "." and self.find_five(with_stone(line, cell), at) == "five"
        ]

    def is_stopped(self, line, at):
        """Whether one stone of the other side is enough that no five can be made."""
        return any(
            not self.ways_to_five(with_stone(line, cell, "O"), at)
            for cell in range(len(line))
            if line[cell] == "."
        )

    def find_four(self, line, at):
        better = self.find_five(line, at)
        if better:
            return better
        ways = self.ways_to_five(line, at)
        if not ways or self.is_stopped(line, at):
            return "four" if ways else None
        left, right = run_ends(line, at)
        is_straight = run_length(line, at) == self.connect - 1 and left in ways and right in ways
        return "open_four" if is_straight else "double_four"

    def find_three(self, line, at):
        better = self.find_four(line, at)
        if better:
            return better
        made = {self.find_four(more, at) for more in with_one_more(line)}
        if run_length(line, at) == self.connect - 2 and "open_four" in made:
            return "open_three"
        if "open_four" in made or ("double_four" in made and self.counting != "renju"):
            return "broken_three"
        return "three" if made & {"four", "double_four"} else None

    def find_two(self, line, at):
        better = self.find_three(line, at)
        if better:
            return better
        made = {self.find_three(more, at) for more in with_one_more(line)}
        if made & {"open_three", "broken_three"}:
            return "open_two"
        return "two" if "three" in made else None

    def classify(self, line, at):
        """The name of the class."""
        better = self.find_two(line, at)
        if better:
            return better
        made = {self.find_two(more, at) for more in with_one_more(line)}
        if "open_two" in made:
            return "open_one"
        return "one" if "two" in made else "nothing"


def with_stone(line, cell, stone="X"):
    return line[:cell] + stone + line[cell + 1 :]


def with_one_more(line):
    return [with_stone(line, cell) for cell in range(len(line)) if line[cell] == "."]


def run_ends(line, at):
    """The places just before and just after the run of stones around a stone."""
    left = right = at
    while left >= 0 and line[left] == "X":
        left -= 1
    while right < len(line) and line[right] == "X":
        right += 1
    return left, right


def run_length(line, at):
    left, right = run_ends(line, at)
    return right - left - 1


def line_cells(rows, columns, cell, direction):
    """The cells of the whole line through a cell, in order, and where among them the cell is."""
    down, right = DIRECTIONS[direction]
    row, column = divmod(cell, columns)
    back = 0
    while 0 <= row - down < rows and 0 <= column - right < columns:
        row, column, back = row - down, column - right, back + 1
    cells = []
    while 0 <= row < rows and 0 <= column < columns:
        cells.append(row * columns + column)
        row, column = row + down, column + right
    return cells, back


def countings(rules):
    """How the stones of player 0 and of player 1 count: names for `SlowLines`."""
    by_rule = {
        "freestyle": ("free", "free"),
        "standard": ("exact", "exact"),
        "renju": ("renju", "free"),
        "caro": ("caro", "caro"),
    }
    return by_rule[gomoku.rule_name(rules.rule)]


# ---- fives and fours -----------------------------------------------------------------------------


def bits(cells):
    """The single bits of a set of cells."""
    while cells:
        yield cells & -cells
        cells &= cells - 1


class SlowBoard:
    """An m,n,k game on sets of cells (bit i for cell i), by going through all places for a five."""

    def __init__(self, game):
        rows, columns, self.connect = game.rows, game.columns, game.connect
        exactly, self.is_caro = game.rule == gomoku.STANDARD, game.rule == gomoku.CARO
        self.all = (1 << (rows * columns)) - 1
        self.segments = []
        """Cells that make five; and those at its ends, where the winner has no stone, or (caro) the
        other side not both."""
        for row in range(rows):
            for column in range(columns):
                for down, right in DIRECTIONS:
                    places = [
                        (row + i * down, column + i * right) for i in range(-1, self.connect + 1)
                    ]
                    masks = [
                        1 << (r * columns + c) if 0 <= r < rows and 0 <= c < columns else 0
                        for r, c in places
                    ]
                    if all(masks[1:-1]):
                        is_inner = masks[0] and masks[-1]
                        counts = exactly or (self.is_caro and is_inner)
                        ends = masks[0] | masks[-1] if counts else 0
                        self.segments.append((sum(masks[1:-1]), ends))
        self.lines = [
            [line_cells(rows, columns, cell, direction) for direction in range(4)]
            for cell in range(rows * columns)
        ]
        self.slow = SlowLines(self.connect, countings(game)[0])
        self.by_fours = cache(self.by_fours)
        self.by_threats = cache(self.by_threats)

    def fives(self, own, other):
        """The empty cells where `own` gets five."""
        found = 0
        for cells, ends in self.segments:
            missing = cells & ~own
            is_barred = ends and not ends & ~other if self.is_caro else ends & own
            if missing & (missing - 1) == 0 and not (missing & other or is_barred):
                found |= missing
        return found

    def near_fours(self, own, other):
        """The empty cells of all places for a five in which two stones are missing."""
        found = 0
        for cells, _ in self.segments:
            missing = cells & ~own
            if not missing & other and missing.bit_count() == 2:
                found |= missing
        return found

    def by_fours(self, own, other):
        """Whether `own`, to move, wins by continuous fours: every reply to every four is tried.

        In caro only fours count that are answered on one cell alone, that of the first five.
        """
        if self.fives(own, other):
            return True
        for attack in bits(self.near_fours(own, other)):
            after = own | attack
            fives = self.fives(after, other)
            if self.fives(other, after) or not fives:
                continue
            stops = self.stops(after, other, fives)
            if self.is_caro and stops not in ([], [fives & -fives]):
                continue
            if all(self.by_fours(after, other | reply) for reply in stops):
                return True
        return False

    def stops(self, own, other, fives):
        """The replies of `other` after which `own` makes no five, who can make these."""
        replies = bits(self.all & ~(own | other))
        if not self.is_caro:
            return [reply for reply in replies if not fives & ~reply]
        return [reply for reply in replies if not self.fives(own, other | reply)]

    def threatens(self, own, other, cell):
        """Whether a stone of `own` makes a four, an open or a broken three in a line."""
        own |= 1 << cell
        for cells, at in self.lines[cell]:
            line = "".join(
                "X" if own >> place & 1 else "O" if other >> place & 1 else "." for place in cells
            )
            if self.slow.classify(line, at) in THREATS:
                return True
        return False

    def two_fives(self, own, other):
        """The empty cells where a stone of `own` makes two fives possible at once."""
        cells = bits(self.near_fours(own, other))
        return sum(cell for cell in cells if self.is_sure(own | cell, other))

    def is_sure(self, own, other):
        """Whether `own` can make five, whatever one stone the other side adds."""
        fives = self.fives(own, other)
        return fives > 0 and not self.stops(own, other, fives)

    def by_threats(self, own, other):
        """Whether `own`, to move, wins by continuous threats: every reply to each is tried.

        A threat makes a four, or an open or broken three, and leaves a five or two fives at once to
        make; where the other side makes five next, only the cell that stops it is looked at.
        """
        if self.fives(own, other):
            return True
        threatened = self.fives(other, own)
        doubles = self.two_fives(own, other)
        if doubles and not threatened:
            return True  # more fives than the other side can stop
        for attack in bits(self.all & ~(own | other)):
            after = own | attack
            if self.fives(other, after):
                continue
            if not threatened and not self.threatens(own, other, attack.bit_length() - 1):
                continue
            fives = self.fives(after, other)
            if not fives and not self.two_fives(after, other):
                continue
            replies = list(bits(self.all & ~(after | other)))
            if replies and all(self.by_threats(after, other | reply) for reply in replies):
                return True
        return False


THREATS = {"four", "double_four", "open_four", "open_three", "broken_three", "five"}


def stones(game, state):
    """The cells of the player to move, and of the other, as sets."""
    owners = base.cell_owners(game, state).ravel()
    sets = [sum(1 << int(cell) for cell in np.flatnonzero(owners == side)) for side in (0, 1)]
    player = int(game.to_play(state))
    return sets[player], sets[1 - player]


# ---- random positions ----------------------------------------------------------------------------


@kernel
def is_legal(rules, state, cell):
    """Whether the player to move may play a cell of a position in play."""
    return rules.owner(state, cell) == base.EMPTY and not rules.is_barred(state, cell)


@kernel
def pick_cell(rules, state, rng, style):
    """A random legal cell: near the centre (style 0), near the last stone (1), near any (2)."""
    rows, columns = rules.rows, rules.columns
    last = int(state.last_action)
    while True:
        row, column = int(rng.random() * rows), int(rng.random() * columns)
        if style == 0 or (style == 1 and last < 0):
            row = int((rng.random() + rng.random() + rng.random()) / 3 * rows)
            column = int((rng.random() + rng.random() + rng.random()) / 3 * columns)
        elif style == 1 and rng.random() < 0.9:
            row = last // columns + int(rng.random() * 5) - 2
            column = last % columns + int(rng.random() * 5) - 2
        elif style == 2 and last >= 0 and rng.random() < 0.9:
            while rules.owner(state, row * columns + column) == base.EMPTY:
                row, column = int(rng.random() * rows), int(rng.random() * columns)
            row += int(rng.random() * 3) - 1
            column += int(rng.random() * 3) - 1
        row, column = min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)
        cell = row * columns + column
        if is_legal(rules, state, cell):
            return cell


@kernel
def play_at_random(rules, rng, style, plies, state, trial):
    """A random position in play of so many plies; a move that wins is mostly not played."""
    while True:
        rules.initial(state)
        while state.ply < plies and not rules.is_terminal(state):
            rules.copy(state, trial)
            rules.step(trial, pick_cell(rules, state, rng, style))
            if not rules.is_terminal(trial) or rng.random() < 0.1:
                rules.copy(trial, state)
        if not rules.is_terminal(state):
            return


compiled_play_at_random = CompiledFunction(play_at_random)


def random_positions(rules, count, seed, least=0, most=60):
    """Random positions in play with the stones close together."""
    rng = np.random.default_rng(seed)
    most = min(most, rules.num_actions() - 1)
    found = base.new_states(rules, count)
    trial = base.new_state(rules)
    for number, state in enumerate(found):
        plies = int(rng.integers(min(least, most), most + 1))
        compiled_play_at_random(rules, rng, number % 3, plies, state, trial)
    return found
