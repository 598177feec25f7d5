"""Connect4: drop stones into columns; the first to have four in a row wins. Player 0 moves first.

Actions are the columns from the left; as text ``1`` to ``7``. Cells are numbered row by row with
row 0 on top. A state holds one bitboard for each player, column by column from the bottom, with an
empty bit above each column, so that no run of bits continues from one column into the next:

     6 13 20 ...     never set
     5 12 19 ...     row 0
     :  :  :
     0  7 14 ...     row 5
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.common.options import AtLeastOne, Within, checks_options
from hexenv.compiled import compiled
from hexenv.games import base
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, NO_ACTION, Actions, Cells, State
from hexenv.games.lines import runs


@compiled
class Connect4(NamedTuple):
    """The rules of Connect4 on any board of at most 63 bits. `new` checks the parameters.

    Examples:
        >>> from hexenv.games import base, connect4
        >>> game = connect4.new(rows=5, columns=6)
        >>> state = base.new_state(game)
        >>> game.step(state, 2)
        >>> list(base.legal_actions(game, state))
        [0, 1, 2, 3, 4, 5]
    """

    rows: int = 6
    columns: int = 7
    connect: int = 4

    name = "connect4"
    style = "holes"
    state_dtype = base.state_dtype(("stones", np.int64, (2,)))

    copy = base.copy
    is_terminal = base.is_terminal
    to_play = base.to_play
    outcome = base.outcome
    winning_action = base.winning_action
    cells_of_action = base.cells_of_action
    planes = base.stone_planes
    observe = base.observe

    def num_actions(self) -> int:
        return self.columns

    def max_plies(self) -> int:
        return self.rows * self.columns

    def initial(self, state: State) -> None:
        base.begin(state)
        state.stones[0] = 0
        state.stones[1] = 0

    def has_line(self, stones: int) -> bool:
        height = self.rows + 1
        return (
            runs(stones, height, self.connect)  # along a row
            | runs(stones, 1, self.connect)  # up a column
            | runs(stones, height - 1, self.connect)  # falling
            | runs(stones, height + 1, self.connect)  # rising
        ) != 0

    def bit(self, cell: int) -> int:
        return cell % self.columns * (self.rows + 1) + self.rows - 1 - cell // self.columns

    def place(self, state: State, cell: int, player: int) -> None:
        state.stones[player] |= 1 << self.bit(cell)

    def completes(self, state: State, cell: int) -> bool:
        return self.has_line(int(state.stones[self.owner(state, cell)]))

    def top(self, state: State, action: int) -> int:
        """The bit that a stone dropped into a column sets."""
        bottom = action * (self.rows + 1)
        column = ((1 << self.rows) - 1) << bottom
        # Adding one at the bottom of a column carries up to its first empty bit.
        return (int(state.stones[0] | state.stones[1]) + (1 << bottom)) & column

    def cell_of(self, state: State, action: int) -> int:
        filled = int(state.stones[0] | state.stones[1]) >> (action * (self.rows + 1))
        row = self.rows - 1
        while filled & 1:
            filled >>= 1
            row -= 1
        return row * self.columns + action

    def num_cells(self) -> int:
        return self.rows * self.columns

    def wins_at(self, state: State, player: int, action: int) -> bool:
        return self.has_line(int(state.stones[player]) | self.top(state, action))

    def next_actions(self, state: State, actions: Actions, count: int, played: int) -> int:
        bottom = int(actions[played]) * (self.rows + 1)
        if (int(state.stones[0] | state.stones[1]) >> (bottom + self.rows - 1)) & 1:
            return base.drop_played(self, state, actions, count, played)
        return count

    def step(self, state: State, action: int) -> None:
        player = state.ply & 1
        state.stones[player] |= self.top(state, action)
        state.ply += 1
        state.last_action = action
        if self.has_line(int(state.stones[player])):
            state.winner = player
        elif state.ply == self.rows * self.columns:
            state.winner = DRAW

    def owner(self, state: State, cell: int) -> int:
        bit = self.bit(cell)
        if (state.stones[0] >> bit) & 1:
            return 0
        return 1 if (state.stones[1] >> bit) & 1 else EMPTY

    def owners(self, state: State, out: Cells) -> None:
        rows, columns = self.rows, self.columns
        first, second = int(state.stones[0]), int(state.stones[1])
        for row in range(rows):
            cells = out[row * columns :]
            bit = rows - 1 - row
            for column in range(columns):
                cells[column] = base.owner_by_bits(first >> bit, second >> bit)
                bit += rows + 1

    def legal_actions(self, state: State, out: Actions) -> int:
        if state.winner != IN_PLAY:
            return 0
        taken = int(state.stones[0] | state.stones[1])
        top = self.rows - 1
        count = 0
        for column in range(self.columns):
            if not (taken >> (column * (self.rows + 1) + top)) & 1:
                out[count] = column
                count += 1
        return count

    def legal_mask(self, state: State, owners: Cells, out: NDArray[np.int8]) -> None:
        in_play = state.winner == IN_PLAY
        for column in range(self.columns):  # whose top cells are the first
            out[column] = in_play & (owners[column] == EMPTY)

    def position_hash(self, state: State) -> int:
        # Unique, not only likely so: the stones of player 0, and a bit above each column's top
        # stone (Tromp, "The Fhourstones Benchmark"), fit one number.
        taken = int(state.stones[0] | state.stones[1])
        floor = 0
        for column in range(self.columns):
            floor |= 1 << (column * (self.rows + 1))
        return int(state.stones[0]) + taken + floor

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        if state.winner != IN_PLAY:
            return
        height = self.rows + 1
        column = (1 << self.rows) - 1
        player = int(state.ply & 1)
        mine = int(state.stones[player])
        theirs = int(state.stones[1 - player])
        first_end = 2 * self.connect - 2  # the ply that can be the first to make a line
        bits = base.draw_bits(rng)
        for ply in range(state.ply, self.rows * self.columns):
            taken = mine | theirs
            if ply & 3 == 0:
                bits = base.draw_bits(rng)
            choice, bits = base.split_draw(bits, self.columns)
            while (taken >> (choice * height + self.rows - 1)) & 1:  # full: draw again
                choice, bits = base.split_draw(base.draw_bits(rng), self.columns)
            bottom = choice * height
            mine |= (taken + (1 << bottom)) & (column << bottom)
            if ply >= first_end and self.has_line(mine):
                state.winner = player
                return
            mine, theirs = theirs, mine
            player = 1 - player
        state.winner = DRAW

    def action_text(self, action: int) -> str:
        return str(action + 1)

    def parse_action(self, text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= self.columns:
            raise ValueError(f"expected a column from 1 to {self.columns}, got {text!r}")
        return int(text) - 1

    def why_illegal(self, state: State, action: int) -> str:
        return f"column {self.action_text(action)} is full"

    def count_plies(self, owners: Cells, to_play: int) -> int:
        floating = (owners[:-1] != EMPTY) & (owners[1:] == EMPTY)
        if floating.any():
            row, column = (int(number[0]) for number in np.nonzero(floating))
            raise ValueError(
                f"expected stones resting on others, got one in the air in row {row + 1} from "
                f"the top of column {column + 1}"
            )
        return base.count_plies(self, owners, to_play)

    def labels(self) -> tuple[list[str], list[str]]:
        return [str(column) for column in range(1, self.columns + 1)], []

    def last_cell(self, state: State) -> int:
        """The top stone of the last column."""
        if state.last_action != NO_ACTION:
            for cell in range(state.last_action, self.rows * self.columns, self.columns):
                if self.owner(state, cell) != EMPTY:
                    return cell
        return NO_ACTION

    def symmetries(self) -> NDArray[np.int32]:
        columns = np.arange(self.columns, dtype=np.int32)
        return np.stack([columns, columns[::-1]][: self.columns])

    def winning_cells(self, state: State) -> list[int]:
        return base.line_cells(self, state, self.connect)


@checks_options
def new(
    rows: AtLeastOne = 6, columns: AtLeastOne = 7, connect: Annotated[int, Within(2, 8)] = 4
) -> Connect4:
    """The game of Connect4, with the arguments of `hexenv.connect4_v0.raw_env`.

    Raises:
        ValueError: If a parameter is out of its range or the board does not fit 63 bits, nor the
            steps along its diagonals.
    """
    if (rows + 1) * columns > 63:
        raise ValueError(
            f"expected (rows + 1) * columns of at most 63 (the board is kept in one integer), "
            f"got ({rows} + 1) * {columns} = {(rows + 1) * columns}"
        )
    most = 63 // max(1, min(2, connect - 2), connect - 4) - 2  # see `lines.runs`
    if rows > most:
        raise ValueError(f"expected at most {most} rows to connect {connect}, got {rows}")
    return Connect4(rows, columns, connect)
