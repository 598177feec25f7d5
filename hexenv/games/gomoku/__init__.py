"""Gomoku: five in a row on a go board. Player 0 (black) moves first.

Actions are the cells, row by row from the top left; as text the column's letter and the row's
number from the bottom: ``h8`` is the centre of 15 x 15.

In renju black wins with exactly five and must not make an overline, two fours or two threes
(`hexenv.games.gomoku.renju`). White wins with five or more, and nothing is forbidden to it. A
forbidden move is not a legal action, or it loses at once, as in tournaments: two different rules.
There is no passing: where black has no legal move, the game is a draw. On a board that is given,
black's stones are taken as allowed.

In caro five in a row with a stone of the other player at both ends do not win; the border of the
board is no such stone. Six or more always win. So Gomocup's judge has it for its rule 8
(https://github.com/Gomocup/GomocupJudge, ``client/ai_match.py``), and so has Piskvork.

A state keeps every line of the board as an integer for each player
(`hexenv.games.gomoku.stone_lines`).
"""

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.common.options import OneOf, Within, checks_options
from hexenv.compiled import compiled
from hexenv.compiled.bits import ONES, SPREAD, count_bits, row_and_column, store_bytes
from hexenv.games import base
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, NO_ACTION, Actions, Cells, State
from hexenv.games.gomoku import renju
from hexenv.games.gomoku.stone_lines import (
    DOWN,
    MAX_SIZE,
    NUM_LINES,
    RIGHT,
    SECOND,
    crossing,
    line_through,
    set_stone,
)
from hexenv.games.lines import runs

FREESTYLE, STANDARD, RENJU, RENJU_LOSES, CARO = range(5)
"""With `RENJU_LOSES` a forbidden move loses; in `RENJU` it is no legal action."""
RULES: Final = ("freestyle", "standard", "renju", "caro")
"""Names of the rules: five or more in a row win, or exactly five; renju; caro."""
FORBIDDEN: Final = ("masked", "loses")
"""What becomes of forbidden moves in renju."""

KEYS: Final = base.zobrist_keys(2, MAX_SIZE * MAX_SIZE)


@compiled
class Gomoku(NamedTuple):
    """The rules of Gomoku, and of any m,n,k game up to 20 x 20. `new` checks the parameters.

    Examples:
        >>> from hexenv.games import base, gomoku
        >>> game = gomoku.new(board_size=9, rule="renju")
        >>> game.num_actions(), game.action_text(40)
        (81, 'e5')
    """

    rows: int = 15
    columns: int = 15
    connect: int = 5
    rule: int = FREESTYLE  # or STANDARD; the others belong to `Renju` and `Caro`

    name = "gomoku"
    style = "points"
    state_dtype = base.state_dtype(("hash", np.int64), ("lines", np.uint32, (2, NUM_LINES)))

    copy = base.copy
    is_terminal = base.is_terminal
    to_play = base.to_play
    outcome = base.outcome
    planes = base.stone_planes
    last_cell = base.last_cell
    cell_of = base.cell_of
    cells_of_action = base.cells_of_action
    num_cells = base.num_cells
    next_actions = base.drop_played
    random_action = base.draw_cell
    why_illegal = base.why_illegal
    observe = base.observe
    count_plies = base.count_plies

    def num_actions(self) -> int:
        return self.rows * self.columns

    def max_plies(self) -> int:
        return self.rows * self.columns

    def initial(self, state: State) -> None:
        base.begin(state)
        state.hash = 0
        state.lines[:] = 0

    def needs_exactly(self, player: int) -> bool:
        """Whether the player wins with no more in a row than `connect`."""
        return self.rule == STANDARD

    def line_wins(self, line: int, exactly: bool) -> bool:
        """Whether a line, or one of two in a number, has a row that wins."""
        found = runs(line, 1, self.connect)
        if exactly:  # no sixth stone below or above the run
            found &= ~(line << 1) & ~(line >> self.connect)
        return found != 0

    def wins_through(self, lines: NDArray[np.uint32], row: int, column: int, exactly: bool) -> bool:
        straight, oblique = crossing(lines, row, column)
        return self.line_wins(straight, exactly) or self.line_wins(oblique, exactly)

    def has_won(self, lines: NDArray[np.uint32], player: int, row: int, column: int) -> bool:
        """Whether a stone that the player has there is part of a row that wins."""
        return self.wins_through(lines[player], row, column, self.needs_exactly(player))

    def verdict(self, state: State, cell: int) -> int:
        """What a black stone on the cell makes, in renju: a verdict of `renju`."""
        return renju.ALLOWED

    def is_forbidden(self, state: State, cell: int) -> bool:
        """Whether renju forbids black the cell, which is empty or has the stone on it."""
        return self.verdict(state, cell) > renju.FIVE

    def has_blocked_fives(self) -> bool:
        """Whether stones at both ends keep a five from winning."""
        return False

    def has_barred(self, state: State) -> bool:
        """Whether empty cells may be no legal actions: black is to move and they are masked."""
        return False

    def is_barred(self, state: State, cell: int) -> bool:
        """Whether the empty cell is no legal action."""
        return self.has_barred(state) and self.is_forbidden(state, cell)

    def loses_by(self, state: State, action: int) -> bool:
        """Whether the action that has led here was forbidden, where that loses."""
        return False

    def place(self, state: State, cell: int, player: int) -> None:
        state.hash ^= KEYS[player, cell]
        row, column = row_and_column(cell, self.columns)
        set_stone(state.lines[player], row, column)

    def completes(self, state: State, cell: int) -> bool:
        row, column = row_and_column(cell, self.columns)
        return self.has_won(state.lines, self.owner(state, cell), row, column)

    def wins_at(self, state: State, player: int, action: int) -> bool:
        row, column = row_and_column(action, self.columns)
        straight, oblique = crossing(state.lines[player], row, column)
        straight |= 1 << column | 1 << row + SECOND
        oblique |= 1 << column | 1 << column + SECOND
        exactly = self.needs_exactly(player)
        return self.line_wins(straight, exactly) or self.line_wins(oblique, exactly)

    def winning_action(
        self, state: State, player: int, near: int, actions: Actions, count: int
    ) -> int:
        if near >= 0:
            return self.winning_action_near(state, player, near)
        for cell in range(self.rows * self.columns):
            if self.owner(state, cell) == player:
                action = self.winning_action_near(state, player, cell)
                if action != NO_ACTION:
                    return action
        return NO_ACTION

    def winning_action_near(self, state: State, player: int, cell: int) -> int:
        """`winning_action` on the lines through a stone."""
        row, column = row_and_column(cell, self.columns)
        lines = state.lines[player]
        reach = self.connect - 1
        for direction in range(4):
            down, right = DOWN[direction], RIGHT[direction]
            line = line_through(direction, row, column)
            bit = row if right == 0 else column
            around = (int(lines[line]) << reach >> bit) & ((1 << (2 * reach + 1)) - 1)
            if count_bits(around) < reach:
                continue
            for step in range(-reach, reach + 1):
                to_row, to_column = row + step * down, column + step * right
                if 0 <= to_row < self.rows and 0 <= to_column < self.columns:
                    action = to_row * self.columns + to_column
                    if (
                        self.owner(state, action) == EMPTY
                        and self.wins_at(state, player, action)
                        and not self.is_barred(state, action)
                    ):
                        return action
        return NO_ACTION

    def step(self, state: State, action: int) -> None:
        player = state.ply & 1
        self.place(state, action, player)
        state.ply += 1
        state.last_action = action
        row, column = row_and_column(action, self.columns)
        if self.has_won(state.lines, player, row, column):
            state.winner = player
        elif self.loses_by(state, action):
            state.winner = 1 - player
        elif state.ply == self.rows * self.columns or (
            self.has_barred(state) and not self.can_move(state)
        ):
            state.winner = DRAW

    def can_move(self, state: State) -> bool:
        """Whether renju leaves black an empty cell."""
        for cell in range(self.rows * self.columns):
            if self.owner(state, cell) == EMPTY and not self.is_barred(state, cell):
                return True
        return False

    def owner(self, state: State, cell: int) -> int:
        row, column = row_and_column(cell, self.columns)
        if (state.lines[0, row] >> column) & 1:
            return 0
        if (state.lines[1, row] >> column) & 1:
            return 1
        return EMPTY

    def owners(self, state: State, out: Cells) -> None:
        cells = self.rows * self.columns
        cell = end = 0
        for row in range(self.rows):
            end += self.columns
            first, second = int(state.lines[0, row]), int(state.lines[1, row])
            while cell < end:
                if cell + 8 <= cells:  # what is beyond the row, the next row overwrites
                    mine, others = SPREAD[first & 255], SPREAD[second & 255]
                    store_bytes(out, cell, ~(mine | others) | (others & ONES))
                    cell, first, second = cell + 8, first >> 8, second >> 8
                else:
                    out[cell] = base.owner_by_bits(first, second)
                    cell, first, second = cell + 1, first >> 1, second >> 1
            cell = end

    def is_legal(self, state: State, action: int) -> bool:
        """Whether an action of a game in play is legal."""
        return self.owner(state, action) == EMPTY and not self.is_barred(state, action)

    def adds_stones(self, state: State) -> bool:
        return self.rule != RENJU  # there the players' legal actions differ

    def legal_actions(self, state: State, out: Actions) -> int:
        if state.winner != IN_PLAY:
            return 0
        if self.has_barred(state):
            return self.allowed_actions(state, out)
        count = 0
        for row in range(self.rows):
            taken = int(state.lines[0, row] | state.lines[1, row])
            for column in range(self.columns):
                if not (taken >> column) & 1:
                    out[count] = row * self.columns + column
                    count += 1
        return count

    def allowed_actions(self, state: State, out: Actions) -> int:
        """`legal_actions` for black in renju."""
        count = 0
        for cell in range(self.rows * self.columns):
            if self.owner(state, cell) == EMPTY and not self.is_forbidden(state, cell):
                out[count] = cell
                count += 1
        return count

    def legal_mask(self, state: State, owners: Cells, out: NDArray[np.int8]) -> None:
        base.legal_mask(self, state, owners, out)
        if self.has_barred(state):
            for cell in range(owners.size):
                if out[cell] and self.is_forbidden(state, cell):
                    out[cell] = 0

    def position_hash(self, state: State) -> int:
        return int(state.hash) ^ (base.SECOND_PLAYER_KEY if state.ply & 1 else 0)

    def empty_places(self, state: State, out: Actions) -> int:
        """Write the empty cells as ``row << 8 | column`` into `out`; return how many."""
        count = 0
        for row in range(self.rows):
            taken = int(state.lines[0, row] | state.lines[1, row])
            for column in range(self.columns):
                out[count] = row << 8 | column
                count += 1 - ((taken >> column) & 1)
        return count

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        if state.winner != IN_PLAY:
            return
        count = self.empty_places(state, buffer)
        player = int(state.ply & 1)
        bits = base.draw_bits(rng)
        while count > 0:
            if count & 3 == 0:
                bits = base.draw_bits(rng)
            pick, bits = base.split_draw(bits, count)
            place = int(buffer[pick])
            count -= 1
            buffer[pick] = buffer[count]
            row, column = place >> 8, place & 255
            straight, oblique = set_stone(state.lines[player], row, column)
            found = runs(straight, 1, self.connect) | runs(oblique, 1, self.connect)
            if found and self.has_won(state.lines, player, row, column):
                state.winner = player
                return
            player = 1 - player
        state.winner = DRAW

    def action_text(self, action: int) -> str:
        return f"{chr(97 + action % self.columns)}{self.rows - action // self.columns}"

    def parse_action(self, text: str) -> int:
        row, column = base.parse_cell(text, self.rows, self.columns)
        return (self.rows - 1 - row) * self.columns + column

    def labels(self) -> tuple[list[str], list[str]]:
        return base.column_letters(self.columns), [str(row) for row in range(self.rows, 0, -1)]

    def symmetries(self) -> NDArray[np.int32]:
        return base.grid_symmetries(self.rows, self.columns, base.dihedral_images)

    def winning_cells(self, state: State) -> list[int]:
        return base.line_cells(self, state, self.connect)


@compiled
class Renju(Gomoku):
    """Gomoku by `RENJU` or `RENJU_LOSES`; a class of its own, so that other games do without."""

    __slots__ = ()

    def needs_exactly(self, player: int) -> bool:
        return player == 0

    def verdict(self, state: State, cell: int) -> int:
        row, column = row_and_column(cell, self.columns)
        return renju.verdict(state.lines, self.rows, self.columns, row, column)

    def has_barred(self, state: State) -> bool:
        return self.rule == RENJU and state.ply & 1 == 0

    def next_actions(self, state: State, actions: Actions, count: int, played: int) -> int:
        if self.rule == RENJU:
            return self.legal_actions(state, actions)
        return base.drop_played(self, state, actions, count, played)

    def loses_by(self, state: State, action: int) -> bool:
        return self.rule == RENJU_LOSES and state.ply & 1 == 1 and self.is_forbidden(state, action)

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        """Draw a cell, and look at what it makes only then: another one where it is barred."""
        if state.winner != IN_PLAY:
            return
        count = self.empty_places(state, buffer)
        player = int(state.ply & 1)
        left = count  # how many of the places have not been drawn and found barred
        while left > 0:
            pick = int(rng.random() * left)
            place = int(buffer[pick])
            row, column = place >> 8, place & 255
            found = renju.ALLOWED
            if player == 0:
                found = renju.verdict(state.lines, self.rows, self.columns, row, column)
            left -= 1
            if found > renju.FIVE and self.rule == RENJU:
                buffer[pick], buffer[left] = buffer[left], place
                continue
            if found > renju.FIVE:
                state.winner = 1 - player
                return
            set_stone(state.lines[player], row, column)
            if self.wins_through(state.lines[player], row, column, player == 0):
                state.winner = player
                return
            count -= 1
            buffer[pick] = buffer[left]
            buffer[left] = buffer[count]
            left = count
            player = 1 - player
        state.winner = DRAW

    def why_illegal(self, state: State, action: int) -> str:
        if self.owner(state, action) != EMPTY:
            return super().why_illegal(state, action)
        reason = renju.REASONS[self.verdict(state, action)]
        return f"{self.action_text(action)} is forbidden to black: {reason}"


@compiled
class Caro(Gomoku):
    """Gomoku by `CARO`; a class of its own, as `Renju` is."""

    __slots__ = ()

    def has_blocked_fives(self) -> bool:
        return True

    def has_won(self, lines: NDArray[np.uint32], player: int, row: int, column: int) -> bool:
        for direction in range(4):
            line = line_through(direction, row, column)
            own = int(lines[player, line]) | 1 << (row if direction == 1 else column)
            other = int(lines[1 - player, line])
            blocked = other << 1 & other >> self.connect  # runs from here, below and above
            if runs(own, 1, self.connect) & ~blocked:
                return True
        return False

    def wins_at(self, state: State, player: int, action: int) -> bool:
        row, column = row_and_column(action, self.columns)
        return self.has_won(state.lines, player, row, column)


def rule_name(rule: int) -> str:
    """The name in `RULES` of a rule; renju's two forms have the same."""
    return RULES[rule - (rule >= RENJU_LOSES)]


@checks_options
def new(
    board_size: int | tuple[int, int] = 15,
    connect: Annotated[int, Within(3, 6)] = 5,
    rule: Annotated[str, OneOf(RULES)] = "freestyle",
    forbidden: Annotated[str, OneOf(FORBIDDEN)] = "masked",
) -> Gomoku:
    """The game of Gomoku, with the arguments of `hexenv.gomoku_v0.raw_env` but for an opening.

    Raises:
        ValueError: If a parameter is out of its range.
    """
    rows, columns = base.parse_board_size(board_size, min(5, connect), MAX_SIZE)
    if rule != "renju":
        if forbidden != "masked":
            raise ValueError(f"expected forbidden moves only in renju, got them in {rule}")
        if rule == "caro":
            return Caro(rows, columns, connect, CARO)
        return Gomoku(rows, columns, connect, RULES.index(rule))
    if connect != 5:
        raise ValueError(f"expected connect of 5 in renju, got {connect}")
    return Renju(rows, columns, connect, RENJU if forbidden == "masked" else RENJU_LOSES)
