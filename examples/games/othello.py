"""Othello: a stone turns the other player's stones between it and one's own; most stones win.

Player 0 is black and moves first. Actions are the cells, as text ``d3`` with rows from above, then
``pass``, legal where nothing else is. The game ends when neither player could place a stone.
"""

from typing import Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

import hexenv
from hexenv.envs.aec import BoardEnv, ViewOptions
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import base
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, NO_ACTION, OUTSIDE, Actions, State
from hexenv.games.own import game

WIDTH: Final = 10  # of a row in memory: the board has a border, where walks along a line end
WAYS: Final = (-WIDTH - 1, -WIDTH, 1 - WIDTH, -1, 1, WIDTH - 1, WIDTH, WIDTH + 1)


@game
class Othello(NamedTuple):
    """The rules; what is not written here, `game` adds."""

    rows: int = 8
    columns: int = 8
    state_dtype = base.state_dtype(("places", np.int8, (WIDTH * WIDTH,)))
    cells_of_action = base.cells_of_action

    def num_actions(self) -> int:
        return self.rows * self.columns + 1

    def max_plies(self) -> int:
        return 2 * (self.rows * self.columns - 4)  # after a pass comes no other

    def place_of(self, cell: int) -> int:
        return (cell // self.columns + 1) * WIDTH + cell % self.columns + 1

    def initial(self, state: State) -> None:
        base.begin(state)
        for place in range(WIDTH * WIDTH):
            state.places[place] = OUTSIDE
        for cell in range(self.rows * self.columns):
            state.places[self.place_of(cell)] = EMPTY
        middle = self.rows // 2 * (WIDTH + 1)  # above and left of the board's centre
        state.places[middle] = state.places[middle + WIDTH + 1] = 1
        state.places[middle + 1] = state.places[middle + WIDTH] = 0

    def turn(self, state: State, place: int, player: int, is_played: bool) -> int:
        """How many stones the player would turn by a stone here; if it is played, turn them."""
        total = 0
        if state.places[place] != EMPTY:
            return 0
        for way in WAYS:
            there = place + way
            while state.places[there] == 1 - player:
                there += way
            if state.places[there] == player and there != place + way:
                total += (there - place) // way - 1
                while is_played and there != place:
                    there -= way
                    state.places[there] = player
        return total

    def can_move(self, state: State, player: int) -> bool:
        for cell in range(self.rows * self.columns):
            if self.turn(state, self.place_of(cell), player, False) > 0:
                return True
        return False

    def legal_actions(self, state: State, out: Actions) -> int:
        if state.winner != IN_PLAY:
            return 0
        count, out[0] = 0, self.rows * self.columns  # the pass, unless there is another move
        for cell in range(self.rows * self.columns):
            if self.turn(state, self.place_of(cell), state.ply & 1, False) > 0:
                out[count] = cell
                count += 1
        return max(count, 1)

    def step(self, state: State, action: int) -> None:
        player = state.ply & 1
        if action < self.rows * self.columns:
            self.turn(state, self.place_of(action), player, True)
        state.ply += 1
        state.last_action = action
        if not self.can_move(state, 1 - player) and not self.can_move(state, player):
            self.count_stones(state)

    def count_stones(self, state: State) -> None:
        lead = 0
        for place in range(WIDTH * WIDTH):
            lead += int(state.places[place] == 0) - int(state.places[place] == 1)
        state.winner = DRAW if lead == 0 else int(lead < 0)

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        """Draw empty places until a stone may go there, so that all moves are equally likely."""
        if state.winner != IN_PLAY:
            return
        count, passes, player = 0, 0, state.ply & 1
        for place in range(WIDTH * WIDTH):
            if state.places[place] == EMPTY:
                buffer[count] = place
                count += 1
        while passes < 2:
            left, passes = count, passes + 1
            while left > 0:  # what is not yet drawn comes first
                pick = int(rng.random() * left)
                left -= 1
                buffer[pick], buffer[left] = buffer[left], buffer[pick]
                if self.turn(state, int(buffer[left]), player, True) > 0:
                    count -= 1
                    buffer[left] = buffer[count]
                    left, passes = 0, 0
            player = 1 - player
        self.count_stones(state)

    def owner(self, state: State, cell: int) -> int:
        return state.places[self.place_of(cell)]

    def last_cell(self, state: State) -> int:
        return NO_ACTION if state.last_action == self.rows * self.columns else state.last_action

    def action_text(self, action: int) -> str:
        row, column = divmod(action, self.columns)
        return "pass" if row == self.rows else f"{chr(97 + column)}{row + 1}"

    def labels(self) -> tuple[list[str], list[str]]:
        return base.column_letters(self.columns), [str(row) for row in range(1, self.rows + 1)]

    def symmetries(self) -> NDArray[np.int32]:
        """The four that keep the start; a mirror between two columns exchanges the colours."""
        cells = base.grid_symmetries(
            self.rows, self.columns, lambda c: [c, c[::-1, ::-1], c.T, c[::-1, ::-1].T]
        )
        return np.pad(cells, ((0, 0), (0, 1)), constant_values=self.rows * self.columns)


def raw_env(board_size: int = 8, **view: Unpack[ViewOptions]) -> BoardEnv:
    """Othello on 4 x 4, 6 x 6 or 8 x 8 cells."""
    if board_size not in (4, 6, 8):
        raise ValueError(f"expected a board size of 4, 6 or 8, got {board_size}")
    return BoardEnv(Othello(board_size, board_size), "othello_v0", **view)


env = with_standard_wrapper(raw_env)
hexenv.register("Othello-v0", __name__)
