"""Dots and Boxes: who draws the fourth line around a box has it, and draws again; most boxes win.

The board has a cell for each dot, line and box: rows of dots and lines, ``. - . - .``, and between
them rows of lines and boxes, ``| o | x |``. Lines are the cells with odd numbers: action ``a`` is
the line on cell ``2 * a + 1``. As text its column's letter and its row's number from above.
"""

from typing import Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

import hexenv
from hexenv.envs.aec import BoardEnv, ViewOptions
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import base
from hexenv.games.base import DRAW, EMPTY, NO_ACTION, Actions, State
from hexenv.games.own import game

MAX_BOXES: Final = 9
"""In a row or column."""
MAX_CELLS: Final = (2 * MAX_BOXES + 1) ** 2


@game
class DotsAndBoxes(NamedTuple):
    """The rules; what is not written here, `game` adds."""

    box_rows: int = 5
    box_columns: int = 5

    name = "dots_and_boxes"
    state_dtype = base.state_dtype(
        ("cells", np.int8, (MAX_CELLS,)),  # who drew a line, who has a box
        ("boxes", np.int16, (2,)),  # of each player
        ("lines", np.int16),  # to be drawn
        ("mover", np.int8),
    )

    @property
    def rows(self) -> int:
        return 2 * self.box_rows + 1

    @property
    def columns(self) -> int:
        return 2 * self.box_columns + 1

    def num_actions(self) -> int:
        return self.rows * self.columns // 2

    def max_plies(self) -> int:
        return self.num_actions()

    def initial(self, state: State) -> None:
        base.begin(state)
        for cell in range(MAX_CELLS):
            state.cells[cell] = EMPTY
        state.boxes[0] = state.boxes[1] = 0
        state.lines = self.num_actions()
        state.mover = 0

    def to_play(self, state: State) -> int:
        return int(state.mover)

    def legal_actions(self, state: State, out: Actions) -> int:
        count = 0
        for action in range(self.num_actions()):
            if state.cells[2 * action + 1] == EMPTY:
                out[count] = action
                count += 1
        return count

    next_actions, cells_of_action = base.drop_played, base.cells_of_action

    def is_complete(self, state: State, row: int, column: int) -> bool:
        """Whether there is a box with four lines around it."""
        if row < 0 or row >= self.rows or column < 0 or column >= self.columns:
            return False
        cell = row * self.columns + column
        for line in (cell - self.columns, cell - 1, cell + 1, cell + self.columns):
            if state.cells[line] == EMPTY:
                return False
        return True

    def step(self, state: State, action: int) -> None:
        cell, player = 2 * action + 1, int(state.mover)
        row, column = cell // self.columns, cell % self.columns
        state.cells[cell] = player
        state.ply += 1
        state.last_action = action
        state.lines -= 1
        state.mover = 1 - player
        for side in (-1, 1):  # above and below a line of an even row, else left and right of it
            down, right = (side, 0) if row % 2 == 0 else (0, side)
            if self.is_complete(state, row + down, column + right):
                state.cells[cell + down * self.columns + right] = player
                state.boxes[player] += 1
                state.mover = player
        if state.lines == 0:
            lead = state.boxes[0] - state.boxes[1]
            state.winner = DRAW if lead == 0 else int(lead < 0)

    def final_score(self, state: State, player: int) -> float:
        """The lead over the other player, as a share of all boxes."""
        lead = int(state.boxes[player]) - int(state.boxes[1 - player])
        return lead / (self.box_rows * self.box_columns)

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        """A list of the lines that are left is kept up to date, instead of made anew each ply."""
        count = self.legal_actions(state, buffer)
        while count > 0:
            pick = int(rng.random() * count)
            self.step(state, int(buffer[pick]))
            count = self.next_actions(state, buffer, count, pick)

    def cell_of(self, state: State, action: int) -> int:
        return 2 * action + 1

    def num_cells(self) -> int:
        return self.rows * self.columns

    def owner(self, state: State, cell: int) -> int:
        return state.cells[cell]

    def last_cell(self, state: State) -> int:
        return NO_ACTION if state.last_action < 0 else 2 * int(state.last_action) + 1

    def action_text(self, action: int) -> str:
        row, column = divmod(2 * action + 1, self.columns)
        return f"{chr(97 + column)}{row + 1}"

    def labels(self) -> tuple[list[str], list[str]]:
        return base.column_letters(self.columns), [str(row) for row in range(1, self.rows + 1)]

    def symmetries(self) -> NDArray[np.int32]:
        cells = base.grid_symmetries(self.rows, self.columns, base.dihedral_images)
        return cells[:, 1::2] // 2


def raw_env(box_rows: int = 5, box_columns: int = 5, **view: Unpack[ViewOptions]) -> BoardEnv:
    """Dots and Boxes of 1 x 1 to 9 x 9 boxes."""
    if not (1 <= box_rows <= MAX_BOXES and 1 <= box_columns <= MAX_BOXES):
        raise ValueError(f"expected 1 to {MAX_BOXES} boxes, got {box_rows} x {box_columns}")
    return BoardEnv(DotsAndBoxes(box_rows, box_columns), "dots_and_boxes_v0", **view)


env = with_standard_wrapper(raw_env)
hexenv.register("DotsAndBoxes-v0", __name__)
