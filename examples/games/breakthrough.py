"""Breakthrough: pawns go ahead, and take aslant; who reaches the last row or takes all wins.

Player 0 has the two lower rows, goes up and moves first. An action is ``6 * cell + way``: the cell
where the pawn stands, and 0, 1, 2 for up and left, up, up and right; 3, 4, 5 for the same down. As
text it is both cells, ``a2b3``, with rows counted from below. (Dan Troyka, 2000.)
"""

from typing import Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

import hexenv
from hexenv.envs.aec import BoardEnv, ViewOptions
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import base
from hexenv.games.base import EMPTY, IN_PLAY, NO_ACTION, Actions, State
from hexenv.games.own import game

MAX_CELLS: Final = 256


@game
class Breakthrough(NamedTuple):
    """The rules; what is not written here, `game` adds."""

    rows: int = 8
    columns: int = 8
    state_dtype = base.state_dtype(("cells", np.int8, (MAX_CELLS,)), ("pawns", np.int16, (2,)))

    def num_actions(self) -> int:
        return 6 * self.rows * self.columns

    def max_plies(self) -> int:
        return 2 * self.columns * (2 * self.rows - 5) + 1  # each ply takes a pawn one row on

    def initial(self, state: State) -> None:
        base.begin(state)
        size, army = self.rows * self.columns, 2 * self.columns
        for cell in range(MAX_CELLS):
            state.cells[cell] = 1 if cell < army else 0 if size - army <= cell < size else EMPTY
        state.pawns[0] = state.pawns[1] = army

    def target(self, action: int) -> int:
        """The cell that an action leads to, or -1 outside the board."""
        cell, way = action // 6, action % 6
        row = cell // self.columns + (-1 if way < 3 else 1)
        column = cell % self.columns + way % 3 - 1
        if row < 0 or row >= self.rows or column < 0 or column >= self.columns:
            return -1
        return row * self.columns + column

    def legal_actions(self, state: State, out: Actions) -> int:
        if state.winner != IN_PLAY:
            return 0
        player, last, count = state.ply & 1, self.columns - 1, 0
        for cell in range(self.rows * self.columns):
            if state.cells[cell] == player:
                ahead = cell + (2 * player - 1) * self.columns  # there is a row ahead in play
                action, column = 6 * cell + 3 * player, cell % self.columns
                if column > 0 and state.cells[ahead - 1] != player:
                    out[count] = action
                    count += 1
                if state.cells[ahead] == EMPTY:
                    out[count] = action + 1
                    count += 1
                if column < last and state.cells[ahead + 1] != player:
                    out[count] = action + 2
                    count += 1
        return count

    def step(self, state: State, action: int) -> None:
        player, into = state.ply & 1, self.target(action)
        state.pawns[1 - player] -= state.cells[into] == 1 - player
        state.cells[action // 6] = EMPTY
        state.cells[into] = player
        state.ply += 1
        state.last_action = action
        if into // self.columns == (self.rows - 1) * player or state.pawns[1 - player] == 0:
            state.winner = player

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        """Draw a pawn and a way until the move is legal, so that all moves are equally likely.

        `buffer` has the cells of each player's pawns, and where in that list a cell's pawn is.
        """
        if state.winner != IN_PLAY:
            return
        size, columns, cells = self.rows * self.columns, self.columns, state.cells
        mine, theirs, player = 0, 0, int(state.ply & 1)
        for cell in range(size):
            if cells[cell] == player:
                buffer[player * size + mine], buffer[2 * size + cell] = cell, mine
                mine += 1
            elif cells[cell] != EMPTY:
                buffer[(1 - player) * size + theirs], buffer[2 * size + cell] = cell, theirs
                theirs += 1
        while True:
            draw = int(rng.random() * (3 * mine))
            pick, aslant = draw // 3, draw % 3 - 1
            cell = int(buffer[player * size + pick])
            column, into = cell % columns + aslant, cell + (2 * player - 1) * columns + aslant
            if column < 0 or column >= columns or cells[into] == player:
                continue
            if cells[into] != EMPTY:
                if aslant == 0:
                    continue
                theirs -= 1  # the last pawn of the list takes the place of the one that is taken
                place, moved = buffer[2 * size + into], buffer[(1 - player) * size + theirs]
                buffer[(1 - player) * size + place], buffer[2 * size + moved] = moved, place
            cells[cell], cells[into] = EMPTY, player
            buffer[player * size + pick], buffer[2 * size + into] = into, pick
            if theirs == 0 or into < columns or into >= size - columns:
                state.winner = player
                return
            mine, theirs, player = theirs, mine, 1 - player

    def owner(self, state: State, cell: int) -> int:
        return state.cells[cell]

    def last_cell(self, state: State) -> int:
        return NO_ACTION if state.last_action < 0 else self.target(int(state.last_action))

    def cells_of_action(self, state: State, action: int) -> tuple[int, ...]:
        return action // 6, self.target(action)

    def action_text(self, action: int) -> str:
        cells = action // 6, self.target(action)
        texts = [f"{chr(97 + c % self.columns)}{self.rows - c // self.columns}" for c in cells]
        return "".join(texts) if cells[1] >= 0 else f"{texts[0]}-{action % 6}"

    def labels(self) -> tuple[list[str], list[str]]:
        return base.column_letters(self.columns), [str(row) for row in range(self.rows, 0, -1)]

    def symmetries(self) -> NDArray[np.int32]:
        actions = np.arange(self.num_actions(), dtype=np.int32)
        mirrored = actions.reshape(self.rows, self.columns, 2, 3)[:, ::-1, :, ::-1]
        return np.stack([actions, mirrored.ravel()])


def raw_env(rows: int = 8, columns: int = 8, **view: Unpack[ViewOptions]) -> BoardEnv:
    """Breakthrough: from 4 rows and 2 columns to 16 of each."""
    if not (4 <= rows <= 16 and 2 <= columns <= 16):
        raise ValueError(f"expected 4 to 16 rows, 2 to 16 columns, got {rows} x {columns}")
    return BoardEnv(Breakthrough(rows, columns), "breakthrough_v0", **view)


env = with_standard_wrapper(raw_env)
hexenv.register("Breakthrough-v0", __name__)
