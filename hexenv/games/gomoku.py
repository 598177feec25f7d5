"""Gomoku: five in a row on a go board. Player 0 (black) moves first.

Actions are the cells, row by row from the top left; as text the column's letter and the row's
number from the bottom: ``h8`` is the centre of 15 x 15.

A state keeps every line of the board as an integer, for each player: bit ``i`` is the line's
``i``-th cell. A cell lies on four lines, and a move sets four bits:

    row r                bit c
    column c             bit r
    diagonal r - c       bit c     (falling to the right)
    antidiagonal r + c   bit c     (rising to the right)

so a win is a run of bits in one of four integers, wherever on the board it happens.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled, kernel
from hexenv.games import base
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, NO_ACTION, Actions, Cells, State
from hexenv.games.lines import runs

MAX_SIZE: Final = 20
FREESTYLE: Final = 0
STANDARD: Final = 1
RULES: Final = ("freestyle", "standard")
"""Names of the rules by number: five or more in a row win, or exactly five."""

COLUMN_LINES: Final = MAX_SIZE
DIAGONAL_LINES: Final = COLUMN_LINES + MAX_SIZE + MAX_SIZE - 1  # where row - column = 0
ANTIDIAGONAL_LINES: Final = COLUMN_LINES + MAX_SIZE + 2 * MAX_SIZE - 1
NUM_LINES: Final = ANTIDIAGONAL_LINES + 2 * MAX_SIZE - 1

DOWN: Final = (0, 1, 1, 1)
"""The four directions of lines: along a row, down a column, falling and rising diagonals."""
RIGHT: Final = (1, 0, 1, -1)
LINE_STARTS: Final = (0, COLUMN_LINES, DIAGONAL_LINES, ANTIDIAGONAL_LINES)
"""The line through a cell in each direction: start + row * by_row + column * by_column."""
LINE_BY_ROW: Final = (1, 0, 1, 1)
LINE_BY_COLUMN: Final = (0, 1, -1, 1)

KEYS: Final = base.zobrist_keys(2, MAX_SIZE * MAX_SIZE)


@kernel
def set_stone(lines: NDArray[np.uint32], row: int, column: int) -> None:
    """Set a cell in the four lines of one player that cross there."""
    lines[row] |= np.uint32(1 << column)
    lines[COLUMN_LINES + column] |= np.uint32(1 << row)
    lines[DIAGONAL_LINES + row - column] |= np.uint32(1 << column)
    lines[ANTIDIAGONAL_LINES + row + column] |= np.uint32(1 << column)


@compiled
class Gomoku(NamedTuple):
    """The rules of Gomoku, and of any m,n,k game up to 20 x 20. `new` checks the parameters."""

    rows: int = 15
    columns: int = 15
    connect: int = 5
    rule: int = FREESTYLE

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
    num_cells = base.num_cells
    legal_mask = base.legal_mask
    observe = base.observe
    next_actions = base.drop_played
    why_illegal = base.why_illegal
    count_plies = base.count_plies

    def num_actions(self) -> int:
        return self.rows * self.columns

    def max_plies(self) -> int:
        return self.rows * self.columns

    def initial(self, state: State) -> None:
        state.hash = 0
        state.lines[:] = 0
        state.ply = 0
        state.last_action = NO_ACTION
        state.winner = IN_PLAY

    def line_wins(self, line: int) -> bool:
        found = runs(line, 1, self.connect)
        if self.rule == STANDARD:  # no sixth stone below or above the run
            found &= ~(line << 1) & ~(line >> self.connect)
        return found != 0

    def wins_through(self, lines: NDArray[np.uint32], row: int, column: int) -> bool:
        return (
            self.line_wins(int(lines[row]))
            or self.line_wins(int(lines[COLUMN_LINES + column]))
            or self.line_wins(int(lines[DIAGONAL_LINES + row - column]))
            or self.line_wins(int(lines[ANTIDIAGONAL_LINES + row + column]))
        )

    def place(self, state: State, cell: int, player: int) -> None:
        state.hash ^= KEYS[player, cell]
        set_stone(state.lines[player], cell // self.columns, cell % self.columns)

    def completes(self, state: State, cell: int) -> bool:
        row, column = cell // self.columns, cell % self.columns
        return self.wins_through(state.lines[self.owner(state, cell)], row, column)

    def wins_at(self, state: State, player: int, action: int) -> bool:
        row, column = action // self.columns, action % self.columns
        lines = state.lines[player]
        return (
            self.line_wins(int(lines[row]) | 1 << column)
            or self.line_wins(int(lines[COLUMN_LINES + column]) | 1 << row)
            or self.line_wins(int(lines[DIAGONAL_LINES + row - column]) | 1 << column)
            or self.line_wins(int(lines[ANTIDIAGONAL_LINES + row + column]) | 1 << column)
        )

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
        row, column = cell // self.columns, cell % self.columns
        lines = state.lines[player]
        reach = self.connect - 1
        for direction in range(4):
            down, right = DOWN[direction], RIGHT[direction]
            line = LINE_STARTS[direction] + row * LINE_BY_ROW[direction]
            line += column * LINE_BY_COLUMN[direction]
            bit = row if right == 0 else column
            around = (int(lines[line]) << reach >> bit) & ((1 << (2 * reach + 1)) - 1)
            stones = 0
            while around:
                around &= around - 1
                stones += 1
            if stones < reach:
                continue
            for step in range(-reach, reach + 1):
                to_row, to_column = row + step * down, column + step * right
                if 0 <= to_row < self.rows and 0 <= to_column < self.columns:
                    action = to_row * self.columns + to_column
                    if self.owner(state, action) == EMPTY and self.wins_at(state, player, action):
                        return action
        return NO_ACTION

    def step(self, state: State, action: int) -> None:
        player = state.ply & 1
        self.place(state, action, player)
        state.ply += 1
        state.last_action = action
        row, column = action // self.columns, action % self.columns
        if self.wins_through(state.lines[player], row, column):
            state.winner = player
        elif state.ply == self.rows * self.columns:
            state.winner = DRAW

    def owner(self, state: State, cell: int) -> int:
        row, column = cell // self.columns, cell % self.columns
        if (state.lines[0, row] >> column) & 1:
            return 0
        if (state.lines[1, row] >> column) & 1:
            return 1
        return EMPTY

    def owners(self, state: State, out: Cells) -> None:
        columns = self.columns
        for row in range(self.rows):
            first, second = int(state.lines[0, row]), int(state.lines[1, row])
            cells = out[row * columns :]
            for column in range(columns):
                cells[column] = base.owner_by_bits(first >> column, second >> column)

    def legal_actions(self, state: State, out: Actions) -> int:
        if state.winner != IN_PLAY:
            return 0
        count = 0
        for row in range(self.rows):
            taken = int(state.lines[0, row] | state.lines[1, row])
            for column in range(self.columns):
                if not (taken >> column) & 1:
                    out[count] = row * self.columns + column
                    count += 1
        return count

    def position_hash(self, state: State) -> int:
        return int(state.hash) ^ (base.SECOND_PLAYER_KEY if state.ply & 1 else 0)

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        if state.winner != IN_PLAY:
            return
        count = 0
        for row in range(self.rows):
            taken = int(state.lines[0, row] | state.lines[1, row])
            for column in range(self.columns):
                buffer[count] = row << 8 | column
                count += 1 - ((taken >> column) & 1)
        player = int(state.ply & 1)
        fraction = rng.random()
        while count > 0:
            if count & 3 == 0:
                fraction = rng.random()
            pick, fraction = base.split_draw(fraction, count)
            place = int(buffer[pick])
            count -= 1
            buffer[pick] = buffer[count]
            row, column = place >> 8, place & 255
            set_stone(state.lines[player], row, column)
            if self.wins_through(state.lines[player], row, column):
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


def new(
    board_size: int | tuple[int, int] = 15, connect: int = 5, rule: str = "freestyle"
) -> Gomoku:
    """The game of Gomoku.

    Args:
        board_size: Side of the board or ``(rows, columns)``, from `connect` (at most 5) to 20.
        connect: Stones in a row that win, 3 to 6.
        rule: ``"freestyle"``: `connect` or more in a row win; ``"standard"``: exactly `connect`.

    Raises:
        ValueError: If a parameter is out of its range.
    """
    connect = base.whole_number("connect", connect)
    if not 3 <= connect <= 6:
        raise ValueError(f"expected connect from 3 to 6, got {connect}")
    rows, columns = base.parse_board_size(board_size, min(5, connect), MAX_SIZE)
    if rule not in RULES:
        raise ValueError(f"expected a rule of {', '.join(RULES)}, got {rule!r}")
    return Gomoku(rows, columns, connect, RULES.index(rule))
