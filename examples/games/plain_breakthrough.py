"""Breakthrough as first written: every rule where one looks for it, and no thought of speed.

`breakthrough.py` is the same game at fifty times the speed.
"""

from typing import NamedTuple, Unpack

import numpy as np

from hexenv.envs.aec import BoardEnv, ViewOptions
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import base
from hexenv.games.base import EMPTY, IN_PLAY, Actions, State
from hexenv.games.own import game


@game
class PlainBreakthrough(NamedTuple):
    """An action is ``6 * cell + way``; ways 0, 1, 2 go up, and 3, 4, 5 down: left, ahead, right."""

    rows: int = 8
    columns: int = 8

    state_dtype = base.state_dtype(("cells", np.int8, (64,)))

    def num_actions(self) -> int:
        return 6 * self.rows * self.columns

    def max_plies(self) -> int:
        return 2 * self.columns * (2 * self.rows - 5) + 1

    def initial(self, state: State) -> None:
        base.begin(state)
        for cell in range(64):
            row = cell // self.columns
            state.cells[cell] = EMPTY
            if row < 2:
                state.cells[cell] = 1
            elif self.rows - 2 <= row < self.rows:
                state.cells[cell] = 0

    def target(self, action: int) -> int:
        """The cell that an action leads to, or -1 outside the board."""
        cell, way = action // 6, action % 6
        row = cell // self.columns + (-1 if way < 3 else 1)
        column = cell % self.columns + way % 3 - 1
        if row < 0 or row >= self.rows or column < 0 or column >= self.columns:
            return -1
        return row * self.columns + column

    def is_legal(self, state: State, action: int) -> bool:
        player, into, way = state.ply & 1, self.target(action), action % 6
        if into < 0 or state.cells[action // 6] != player or way // 3 != player:
            return False
        return state.cells[into] == EMPTY or (way % 3 != 1 and state.cells[into] != player)

    def legal_actions(self, state: State, out: Actions) -> int:
        count = 0
        for action in range(self.num_actions()):
            if state.winner == IN_PLAY and self.is_legal(state, action):
                out[count] = action
                count += 1
        return count

    def step(self, state: State, action: int) -> None:
        player, into = state.ply & 1, self.target(action)
        state.cells[action // 6] = EMPTY
        state.cells[into] = player
        state.ply += 1
        state.last_action = action
        left = 0
        for cell in range(self.rows * self.columns):
            left += state.cells[cell] == 1 - player
        if left == 0 or into // self.columns == (self.rows - 1) * player:
            state.winner = player


def raw_env(rows: int = 8, columns: int = 8, **view: Unpack[ViewOptions]) -> BoardEnv:
    """Breakthrough: 4 rows and 2 columns or more, at most 64 cells."""
    if rows < 4 or columns < 2 or rows * columns > 64:
        raise ValueError(f"expected 4 x 2 cells or more, at most 64, got {rows} x {columns}")
    return BoardEnv(PlainBreakthrough(rows, columns), "plain_breakthrough_v0", **view)


env = with_standard_wrapper(raw_env)
