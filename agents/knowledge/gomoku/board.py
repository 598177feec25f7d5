"""Gomoku with patterns: positions that know what a stone on every cell would make.

`PatternGame` is the game of Gomoku (or any m,n,k game) for players that look at patterns. Its
states keep, for either side and every empty cell, the class of the pattern that a stone there would
make in each of the four directions; and for every stone the classes of those that it is part of. A
move changes only the cells of the four lines through it, as far as a window reaches and no stone of
the other side is in between.
"""

import os
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.core.reading import read_object
from hexenv.compiled import (
    CompiledFunction,
    compiled,
    copy_array,
    copy_record,
    kernel,
)
from hexenv.compiled.bits import row_and_column
from hexenv.games import base
from hexenv.games.base import EMPTY, NO_ACTION, Actions, State
from hexenv.games.gomoku import CARO, FREESTYLE, RENJU, RENJU_LOSES, STANDARD, Gomoku
from hexenv.games.gomoku.patterns import (
    BROKEN_THREE,
    DOUBLE_FOUR,
    EXACT,
    FIVE,
    FOUR,
    FREE,
    OPEN_FOUR,
    OPEN_THREE,
    OVERLINE,
    PATTERNS,
    PatternTable,
    pattern_table,
)
from hexenv.games.gomoku.patterns import CARO as CARO_COUNTING
from hexenv.games.gomoku.patterns import RENJU as RENJU_COUNTING
from hexenv.games.gomoku.stone_lines import (
    MAX_SIZE,
    NUM_LINES,
    line_through,
    set_stone,
    take_stone,
)

QUIET: Final = 0
MAKES_THREE: Final = 1
DOUBLE_THREE: Final = 2
MAKES_FOUR: Final = 3
FOUR_THREE: Final = 4
TWO_FOURS: Final = 5
OPENS_FOUR: Final = 6
WINS: Final = 7
BARRED: Final = 8
"""What a stone on a cell makes in all four lines together: nothing that asks for an answer; an open
or broken three; two; a four; a four and an open or broken three; two fours; an open four; five; and
what black may not make in renju, an overline or two fours. (Whether two threes are forbidden does
not show in the lines: `PatternGame.allows`.)"""
NUM_KINDS: Final = 9
STONES: Final = 2
"""The row of a state's `codes` for the stones; those of players 0 and 1 are for the empty cells."""


def _kinds(barred: bool) -> NDArray[np.uint8]:
    """``(65536,)``: the kind of every code, four classes of four bits each."""
    codes = np.arange(1 << 16)
    classes: Any = codes[:, None] >> (0, 4, 8, 12) & 15
    threes = np.isin(classes, (OPEN_THREE, BROKEN_THREE)).sum(axis=1)
    doubles = (classes == DOUBLE_FOUR).any(axis=1)
    fours = np.isin(classes, (FOUR, OPEN_FOUR)).sum(axis=1)
    kinds = np.select(
        [
            (classes == FIVE).any(axis=1),
            barred & ((classes == OVERLINE).any(axis=1) | doubles | (fours > 1)),
            (classes == OPEN_FOUR).any(axis=1),
            doubles | (fours > 1),
            (fours == 1) & (threes > 0),
            fours == 1,
            threes > 1,
            threes == 1,
        ],
        [WINS, BARRED, OPENS_FOUR, TWO_FOURS, FOUR_THREE, MAKES_FOUR, DOUBLE_THREE, MAKES_THREE],
        QUIET,
    )
    return kinds.astype(np.uint8)


KINDS_OF: Final = [np.stack([_kinds(barred), _kinds(False)]) for barred in (False, True)]
"""By whether black is barred from something: for either player the kind of every code."""

# ---- points --------------------------------------------------------------------------------------


PUBLISHED_POINTS: Final = {
    "one": 1,
    "open_one": 10,
    "two": 10,
    "open_two": 100,
    "three": 100,
    "broken_three": 1_000,
    "open_three": 1_000,
    "four": 10_000,
    "double_four": 100_000,
    "open_four": 100_000,
    "five": 10_000_000,
}
"""The table of RHMCTS (Zhang and Xie 2019, README). It knows no gaps: a broken three counts as the
open three, and fours twice in a line as the open four, which they answer to."""


def points_array(points: dict[str, int]) -> NDArray[np.int64]:
    """``(len(PATTERNS),)``: the points of the classes; 0 for those that are not named."""
    array = np.zeros(len(PATTERNS), np.int64)
    for name, value in points.items():
        if name not in PATTERNS:
            raise ValueError(f"expected a pattern of {', '.join(PATTERNS)}, got {name!r}")
        if type(value) is not int or not 0 <= value <= 10**9:
            raise ValueError(f"expected a whole number from 0 to 10^9 for {name}, got {value!r}")
        array[PATTERNS.index(name)] = value
    array.setflags(write=False)
    return array


PUBLISHED: Final = points_array(PUBLISHED_POINTS)


def load_points(path: str | os.PathLike[str]) -> NDArray[np.int64]:
    """Read a table from a JSON file: an object such as ``{"open_three": 1000, "four": 500}``.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is no such object, or `path` is no path.
    """
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"expected the path of a file of patterns, got {path!r}")
    found = read_object(path)
    try:
        return points_array(found)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


# ---- the game with patterns ----------------------------------------------------------------------


@kernel
def line_at(
    direction: int, row: int, column: int, rows: int, columns: int
) -> tuple[int, int, int, int]:
    """The line through a cell of the board in one direction (`hexenv.games.gomoku.stone_lines`).

    Its number; the cell's bit in it; its cells on the board, as set bits; and how far it is, in
    cell numbers, from one bit to the next.
    """
    line = line_through(direction, row, column)
    if direction == 0:
        return line, column, (1 << columns) - 1, 1
    if direction == 1:
        return line, row, (1 << rows) - 1, columns
    if direction == 2:
        first, last = max(0, column - row), min(columns - 1, rows - 1 - row + column)
        return line, column, (2 << last) - (1 << first), columns + 1
    first, last = max(0, row + column - rows + 1), min(columns - 1, row + column)
    return line, column, (2 << last) - (1 << first), 1 - columns


@compiled
class PatternGame(NamedTuple):
    """Gomoku whose states know the patterns; `new` makes one, `state_of` a state of it."""

    rules: Gomoku
    first: PatternTable
    """What counts for player 0."""
    second: PatternTable
    scores: Any
    """``(len(PATTERNS),) int64``: the points of the classes, see `points_array`. (`ValuedGame`
    has its `Values` here.)"""
    kinds: NDArray[np.uint8]
    """``(2, 65536)``: for either player the kind of every code."""
    start: Any
    """``(1,)``: the starting position."""

    name = "gomoku"
    style = "points"
    state_dtype = base.state_dtype(
        ("hash", np.int64),
        ("lines", np.uint32, (2, NUM_LINES)),
        ("codes", np.uint16, (3, MAX_SIZE * MAX_SIZE)),
        ("counts", np.int16, (2, NUM_KINDS)),
        ("totals", np.int64, (2,)),
    )

    copy = base.copy
    is_terminal = base.is_terminal
    to_play = base.to_play
    outcome = base.outcome
    cell_of = base.cell_of
    num_cells = base.num_cells

    def num_actions(self) -> int:
        return self.rules.num_actions()

    def max_plies(self) -> int:
        return self.rules.max_plies()

    def position_hash(self, state: State) -> int:
        return self.rules.position_hash(state)

    def owner(self, state: State, cell: int) -> int:
        return self.rules.owner(state, cell)

    def legal_actions(self, state: State, out: Actions) -> int:
        return self.rules.legal_actions(state, out)

    def next_actions(self, state: State, actions: Actions, count: int, played: int) -> int:
        return self.rules.next_actions(state, actions, count, played)

    def wins_at(self, state: State, player: int, action: int) -> bool:
        return self.rules.wins_at(state, player, action)

    def winning_action(
        self, state: State, player: int, near: int, actions: Actions, count: int
    ) -> int:
        return self.rules.winning_action(state, player, near, actions, count)

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        self.rules.random_playout(state, rng, buffer)

    def initial(self, state: State) -> None:
        copy_record(self.start[0], state)

    def step(self, state: State, action: int) -> None:
        player = int(state.ply & 1)
        self.rules.step(state, action)
        self.count_stone(state, player, action)
        self.reclassify(state, action)

    def put(self, state: State, player: int, cell: int) -> None:
        """Put a stone on an empty cell without judging the position or passing the turn."""
        self.rules.place(state, cell, player)
        self.count_stone(state, player, cell)
        self.reclassify(state, cell)

    def pattern(self, state: State, side: int, cell: int, direction: int) -> int:
        """The class of what a stone of `side` on an empty cell would make in one direction.

        0: along the row, 1: down the column, 2: the falling diagonal, 3: the rising one. `NOTHING`
        where there is a stone.
        """
        return (int(state.codes[side, cell]) >> (4 * direction)) & 15

    def kind(self, state: State, side: int, cell: int) -> int:
        """What it would make in all directions together; `QUIET` where there is a stone."""
        return int(self.kinds[side, state.codes[side, cell]])

    def point(self, state: State, side: int, cell: int) -> int:
        """The point evaluation: the points of the four patterns together."""
        return self.sum_scores(int(state.codes[side, cell]))

    def sum_scores(self, code: int) -> int:
        """The points of the four classes of a code together."""
        scores = self.scores
        found = scores[code & 15] + scores[code >> 4 & 15]
        return int(found + scores[code >> 8 & 15] + scores[code >> 12])

    def bars(self, side: int) -> bool:
        """Whether the rules forbid this side some empty cells: black in renju."""
        return self.rules.rule in (RENJU, RENJU_LOSES) and side == 0

    def allows(self, state: State, side: int, cell: int) -> bool:
        """Whether the rules let `side` have an empty cell."""
        if not self.bars(side):
            return True
        kind = self.kind(state, side, cell)
        if kind in (DOUBLE_THREE, FOUR_THREE, OPENS_FOUR):  # perhaps with two threes that count
            return not self.rules.is_forbidden(state, cell)
        return kind != BARRED

    def balance(self, state: State, side: int) -> int:
        """The board evaluation: the points of the side's stones, less those of the other's."""
        return int(state.totals[side] - state.totals[1 - side])

    def count_stone(self, state: State, player: int, cell: int) -> None:
        """Count a cell, on which a stone has been put, among the stones."""
        for side in range(2):
            state.counts[side, self.kind(state, side, cell)] -= 1
            self.note_empty(state, side, int(state.codes[side, cell]), 0)
        code = int(state.codes[player, cell])
        state.codes[STONES, cell] = code
        state.codes[0, cell] = 0
        state.codes[1, cell] = 0
        self.note_stone(state, player, 0, code)

    def reclassify(self, state: State, cell: int) -> None:
        """Classify anew what a stone that has been put on a cell may have changed."""
        rows, columns = self.rules.rows, self.rules.columns
        row, column = row_and_column(cell, columns)
        for direction in range(4):
            line, bit, inside, stride = line_at(direction, row, column, rows, columns)
            for side in range(2):
                table = self.first if side == 0 else self.second
                reach = table.reach
                own = int(state.lines[side, line]) << reach
                free = (inside & ~int(state.lines[1 - side, line])) << reach
                for sign in (-1, 1):
                    for distance in range(1, table.radius + 1):
                        at = bit + sign * distance
                        if not (free >> (at + reach)) & 1:
                            break  # no window reaches past the other side's stone, or the border
                        found = self.class_at(table, own, free, inside, at)
                        is_stone = (own >> (at + reach)) & 1
                        place = cell + sign * distance * stride
                        self.note_pattern(state, side, place, direction, found, is_stone)

    def class_at(self, table: PatternTable, own: int, free: int, inside: int, at: int) -> int:
        """The class of a cell, a bit of a line.

        `own` are the side's stones, and `free` all cells but the other side's stones, both moved by
        the table's reach; `inside` are the cells of the board.
        """
        mask = (2 << (2 * table.reach)) - 1
        blocked = ~free >> at & mask
        border = 0
        if self.rules.has_blocked_fives():
            border = table.border_of(blocked, ~(inside << table.reach) >> at & mask)
        return table.classify(own >> at & mask, blocked, border)

    def note_pattern(
        self, state: State, side: int, cell: int, direction: int, found: int, is_stone: int
    ) -> None:
        """Write down a class, and count what follows from it."""
        kept = STONES if is_stone else side
        code = int(state.codes[kept, cell])
        before = code >> (4 * direction) & 15
        if before == found:
            return
        after = code ^ ((before ^ found) << (4 * direction))
        state.codes[kept, cell] = after
        if is_stone:
            self.note_stone(state, side, code, after)
        else:
            self.note_empty(state, side, code, after)
            state.counts[side, self.kinds[side, code]] -= 1
            state.counts[side, self.kinds[side, after]] += 1

    def note_stone(self, state: State, side: int, before: int, after: int) -> None:
        """The code of a stone has changed."""
        state.totals[side] += self.sum_scores(after) - self.sum_scores(before)

    def note_empty(self, state: State, side: int, before: int, after: int) -> None:
        """The code of an empty cell has changed; 0 where there is a stone now."""

    def classify_all(self, state: State) -> None:
        """Classify all that a position has, from its stones alone."""
        rows, columns = self.rules.rows, self.rules.columns
        state.codes[:] = 0
        state.counts[:] = 0
        state.totals[:] = 0
        for cell in range(rows * columns):
            owner = self.rules.owner(state, cell)
            row, column = row_and_column(cell, columns)
            for side in range(2):
                if owner == 1 - side:
                    continue
                table = self.first if side == 0 else self.second
                code = 0
                for direction in range(4):
                    line, bit, inside, _ = line_at(direction, row, column, rows, columns)
                    own = int(state.lines[side, line]) << table.reach
                    free = (inside & ~int(state.lines[1 - side, line])) << table.reach
                    found = self.class_at(table, own, free, inside, bit)
                    code |= found << (4 * direction)
                if owner == EMPTY:
                    state.codes[side, cell] = code
                    state.counts[side, self.kinds[side, code]] += 1
                    self.note_empty(state, side, 0, code)
                else:
                    state.codes[STONES, cell] = code
                    self.note_stone(state, side, 0, code)


def new(rules: Gomoku, scores: NDArray[np.int64] = PUBLISHED) -> PatternGame:
    """The game with patterns, whose points are those of `points_array`."""
    counts = {FREESTYLE: FREE, STANDARD: EXACT, CARO: CARO_COUNTING}
    first = counts.get(rules.rule, RENJU_COUNTING)
    second = FREE if first == RENJU_COUNTING else first
    start = np.zeros(1, PatternGame.state_dtype).view(np.recarray)
    game = PatternGame(
        rules,
        pattern_table(rules.connect, first),
        pattern_table(rules.connect, second),
        scores,
        KINDS_OF[int(first == RENJU_COUNTING)],
        start,
    )
    rules.initial(start[0])
    game.classify_all(start[0])
    return game


@kernel
def classify_position(game: Any, position: State, into: State) -> None:
    """Write a position of the plain game as one of the game with patterns."""
    into.hash = position.hash
    copy_array(position.lines, into.lines)
    into.ply = position.ply
    into.last_action = position.last_action
    into.winner = position.winner
    game.classify_all(into)


compiled_classify: Final = CompiledFunction(classify_position, "the patterns")


def state_of(game: PatternGame, position: State, compiles: bool = True) -> State:
    """A position of the plain game as one of the game with patterns."""
    state = np.zeros(1, game.state_dtype).view(np.recarray)[0]
    compiled_classify.fitting(game, compiles)(game, position, state)
    return state


def plain_state(game: PatternGame, state: State) -> State:
    """The position as one of the plain game."""
    position = base.new_state(game.rules)
    for field in game.rules.state_dtype.names or ():
        position[field] = state[field]
    return position


# ---- cells of a kind -----------------------------------------------------------------------------


@kernel
def find_kind(game: Any, state: State, side: int, kind: int, start: int) -> int:
    """The first cell from `start` on where a stone of `side` makes this; `NO_ACTION`: none."""
    for cell in range(start, game.num_actions()):
        if game.kind(state, side, cell) == kind:
            return cell
    return NO_ACTION


@kernel
def find_stop(game: Any, state: State, side: int, start: int) -> int:
    """The first cell from `start` on where the other side stops all fives that `side` can make.

    `NO_ACTION` if there is none, as renju may forbid it, or there is no five. Only in caro can
    there be several: a stone at the end of a five may stop it as well.
    """
    fives = state.counts[side, WINS]
    if fives == 0:
        return NO_ACTION
    if not game.rules.has_blocked_fives():
        cell = find_kind(game, state, side, WINS, start) if fives == 1 else NO_ACTION
        is_stop = cell != NO_ACTION and game.allows(state, 1 - side, cell)
        return cell if is_stop else NO_ACTION
    five = find_kind(game, state, side, WINS, 0)
    for cell in range(start, game.num_actions()):
        if (cell == five or are_near(game, five, cell)) and stops_all(game, state, side, cell):
            return cell
    return NO_ACTION


@kernel
def are_near(game: Any, one: int, other: int) -> bool:
    """Whether a stone on one cell may be at the end of a five that has the other one."""
    row, column = row_and_column(one, game.rules.columns)
    down, right = row_and_column(other, game.rules.columns)
    down, right = abs(down - row), abs(right - column)
    return max(down, right) <= game.rules.connect and (down == right or min(down, right) == 0)


@kernel
def stops_all(game: Any, state: State, side: int, cell: int) -> bool:
    """Whether `side` makes no five any more once the other side has an empty cell (caro)."""
    if game.owner(state, cell) != EMPTY:
        return False
    row, column = row_and_column(cell, game.rules.columns)
    lines = state.lines[1 - side]
    set_stone(lines, row, column)
    five = find_kind(game, state, side, WINS, 0)
    while five != NO_ACTION and (five == cell or not game.rules.wins_at(state, side, five)):
        five = find_kind(game, state, side, WINS, five + 1)
    take_stone(lines, row, column)
    return five == NO_ACTION


@kernel
def list_stops(game: Any, state: State, side: int, out: Actions) -> int:
    """All of `find_stop`; how many."""
    count = 0
    cell = find_stop(game, state, side, 0)
    while cell != NO_ACTION:
        out[count] = cell
        count += 1
        if not game.rules.has_blocked_fives():
            break  # a look at the rest of the board takes time
        cell = find_stop(game, state, side, cell + 1)
    return count


@kernel
def has_other_stops(game: Any, state: State, side: int, cell: int) -> bool:
    """Whether the other side can stop all fives of `side` on another cell than this."""
    if not game.rules.has_blocked_fives():
        return False  # the cell is that of a five
    stop = find_stop(game, state, side, 0)
    if stop == cell:
        stop = find_stop(game, state, side, cell + 1)
    return stop != NO_ACTION


@kernel
def makes_four(kind: int) -> bool:
    """Whether a stone of this kind has to be answered at once."""
    return MAKES_FOUR <= kind <= OPENS_FOUR


@kernel
def list_fours(game: Any, state: State, side: int, out: Actions) -> int:
    """The cells where a stone of `side` makes a four, the most promising last; how many."""
    return list_kinds(game, state, side, MAKES_FOUR, OPENS_FOUR, out)


@kernel
def list_kinds(game: Any, state: State, side: int, least: int, most: int, out: Actions) -> int:
    """The cells where a stone of `side` makes one of these kinds, the greatest last; how many."""
    found, left = 0, count_kinds(state, side, least, most)
    cell = 0
    while left > 0:
        kind = game.kind(state, side, cell)
        if least <= kind <= most:
            left -= 1
            if game.allows(state, side, cell):
                place = found
                while place > 0 and game.kind(state, side, int(out[place - 1])) > kind:
                    out[place] = out[place - 1]
                    place -= 1
                out[place] = cell
                found += 1
        cell += 1
    return found


@kernel
def count_kinds(state: State, side: int, least: int, most: int) -> int:
    """On how many cells a stone of `side` makes one of these kinds."""
    found = 0
    for kind in range(least, most + 1):
        found += state.counts[side, kind]
    return found
