"""Games as their authors would write them, each unlike those of the package.

Their helpers have the names of other classes' fields and methods.
"""

from typing import NamedTuple

import numpy as np

from hexenv.compiled import kernel
from hexenv.games import base
from hexenv.games.base import DRAW, EMPTY, IN_PLAY
from hexenv.games.own import game


@game
class Subtraction(NamedTuple):
    """Take 1 to 3 counters; who takes the last one loses, and who takes 2 moves again.

    It has no board, and an action that loses at once.
    """

    visits: int = 9  # counters at the start

    state_dtype = base.state_dtype(("value", np.int16), ("mover", np.int8))
    MOST = 3

    def num_actions(self):
        return self.MOST

    def max_plies(self):
        return self.visits

    def initial(self, state):
        base.begin(state)
        state.value = self.visits
        state.mover = 0

    def is_legal(self, state, action):
        return action < state.value

    def legal_actions(self, state, out):
        count = 0
        while (
            state.winner == IN_PLAY and count < self.num_actions() and self.is_legal(state, count)
        ):
            out[count] = count
            count += 1
        return count

    def to_play(self, state):
        return state.mover

    def step(self, state, action):
        state.ply += 1
        state.last_action = action
        state.value -= action + 1
        if state.value == 0:
            state.winner = 1 - state.mover
        elif action != 1:
            state.mover = 1 - state.mover


@kernel
def count_bits(number):
    count = 0
    while number:
        number &= number - 1
        count += 1
    return count


@game
class Boxes(NamedTuple):
    """Dots and Boxes: the fourth side of a box wins it, and another move; most boxes win."""

    rows: int = 1
    columns: int = 2

    state_dtype = base.state_dtype(
        ("sides", np.int64), ("owned", np.int8, (16,)), ("mover", np.int8)
    )

    @property
    def above(self):
        """How many sides are above and below boxes; the others follow."""
        return (self.rows + 1) * self.columns

    def num_actions(self):
        return self.above + self.rows * (self.columns + 1)

    def max_plies(self):
        return self.num_actions()

    def initial(self, state):
        base.begin(state)
        state.sides = 0
        state.mover = 0
        for cell in range(16):
            state.owned[cell] = EMPTY

    def legal_actions(self, state, out):
        count = 0
        for action in range(self.num_actions()):
            if state.winner == IN_PLAY and not state.sides >> action & 1:
                out[count] = action
                count += 1
        return count

    def target(self, cell):
        """The four sides of a box."""
        row, column = cell // self.columns, cell % self.columns
        left = self.above + row * (self.columns + 1) + column
        return 1 << cell | 1 << cell + self.columns | 3 << left

    def value(self, state, player):
        count = 0
        for cell in range(self.rows * self.columns):
            count += state.owned[cell] == player
        return count

    def step(self, state, action):
        state.ply += 1
        state.last_action = action
        state.sides |= 1 << action
        is_done = False
        for cell in range(self.rows * self.columns):
            sides = self.target(cell)
            if state.owned[cell] == EMPTY and state.sides & sides == sides:
                state.owned[cell] = state.mover
                is_done = True
        if count_bits(state.sides) == self.num_actions():
            lead = self.value(state, 0) - self.value(state, 1)
            state.winner = DRAW if lead == 0 else int(lead < 0)
        if not is_done:
            state.mover = 1 - state.mover

    def to_play(self, state):
        return state.mover

    winning_action = base.winning_action

    def wins_at(self, state, player, action):
        """Only the last side decides; it is always the fourth of one box or of two."""
        if count_bits(state.sides) < self.num_actions() - 1:
            return False
        lead = self.value(state, player) - self.value(state, 1 - player)
        for cell in range(self.rows * self.columns):
            lead += state.owned[cell] == EMPTY
        return lead > 0

    def owner(self, state, cell):
        return state.owned[cell]


@game
class Pawns(NamedTuple):
    """Breakthrough of three columns: a pawn goes ahead, or takes aslant; who arrives wins.

    An action is a cell times three, plus where it goes: left, ahead, right. Actions have other
    parameters for `value` than `Boxes`, and `target` too.
    """

    rows: int = 4
    columns: int = 3

    state_dtype = base.state_dtype(("cells", np.int8, (64,)))

    def num_actions(self):
        return self.rows * self.columns * 3

    def max_plies(self):
        return 2 * self.columns * self.rows

    def initial(self, state):
        base.begin(state)
        for cell in range(64):
            row = cell // self.columns
            state.cells[cell] = 1 if row == 0 else 0 if row == self.rows - 1 else EMPTY

    def value(self, action):
        return action // 3

    def target(self, action, player):
        """The cell it goes to, or -1."""
        row, column = self.value(action) // self.columns, self.value(action) % self.columns
        row += 2 * player - 1
        column += action % 3 - 1
        if row < 0 or row >= self.rows or column < 0 or column >= self.columns:
            return -1
        return row * self.columns + column

    def can_move(self, state, action):
        player = self.to_play(state)
        into = self.target(action, player)
        if state.winner != IN_PLAY or into < 0 or state.cells[self.value(action)] != player:
            return False
        return state.cells[into] == (EMPTY if action % 3 == 1 else 1 - player) or (
            action % 3 != 1 and state.cells[into] == EMPTY
        )

    def legal_actions(self, state, out):
        count = 0
        for action in range(self.num_actions()):
            if self.can_move(state, action):
                out[count] = action
                count += 1
        return count

    def step(self, state, action):
        player = self.to_play(state)
        into = self.target(action, player)
        state.cells[into] = player
        state.cells[self.value(action)] = EMPTY
        state.ply += 1
        state.last_action = action
        arrives = into // self.columns == (self.rows - 1) * player
        if arrives or self._pawns(state, 1 - player) == 0:
            state.winner = player

    def _pawns(self, state, player):
        count = 0
        for cell in range(self.rows * self.columns):
            count += state.cells[cell] == player
        return count

    def owner(self, state, cell):
        return state.cells[cell]

    def last_cell(self, state):
        if state.last_action < 0:
            return -1
        return self.target(state.last_action, 1 - self.to_play(state))

    def action_text(self, action):
        row, column = self.value(action) // self.columns, self.value(action) % self.columns
        return f"{chr(97 + column)}{self.rows - row}{'lar'[action % 3]}"


OWN_GAMES = (Subtraction(), Boxes(), Pawns())
