"""A game of your own in one file: TicTacToe on a tube, checked, as an environment, played by UCT.

The left and the right edge of the board meet, so that a line may run around the tube. In a module
of its own the game would be compiled once; here, in `__main__`, it is in every process.
"""

from collections.abc import Iterator
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents import UCT, GreedyAgent
from agents.arena import play_game
from hexenv.envs.aec import BoardEnv, ViewOptions
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import base
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, Actions, State
from hexenv.games.own import game
from hexenv.testing import check_game


@game
class Tube(NamedTuple):
    """The rules; what is not written here, `game` adds. Bit ``c`` of a number is cell ``c``."""

    rows: int = 3
    columns: int = 5

    state_dtype = base.state_dtype(("stones", np.int64, (2,)))

    def num_actions(self) -> int:
        return self.rows * self.columns

    def max_plies(self) -> int:
        return self.rows * self.columns

    def initial(self, state: State) -> None:
        base.begin(state)
        state.stones[0] = 0
        state.stones[1] = 0

    def place(self, state: State, cell: int, player: int) -> None:
        state.stones[player] |= 1 << cell

    def neighbour(self, cell: int, down: int, right: int) -> int:
        """The cell one step on, around the tube, or -1 above and below the board."""
        row = cell // self.columns + down
        if row < 0 or row >= self.rows:
            return -1
        return row * self.columns + (cell + right) % self.columns

    def completes(self, state: State, cell: int) -> bool:
        stones = int(state.stones[self.owner(state, cell)])
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            length = 1
            for way in (1, -1):
                place = self.neighbour(cell, way * down, way * right)
                while length < 3 and place >= 0 and (stones >> place) & 1:
                    length += 1
                    place = self.neighbour(place, way * down, way * right)
            if length == 3:
                return True
        return False

    def step(self, state: State, action: int) -> None:
        player = state.ply & 1
        self.place(state, action, player)
        state.ply += 1
        state.last_action = action
        if self.completes(state, action):
            state.winner = player
        elif state.ply == self.rows * self.columns:
            state.winner = DRAW

    def owner(self, state: State, cell: int) -> int:
        if (state.stones[0] >> cell) & 1:
            return 0
        return 1 if (state.stones[1] >> cell) & 1 else EMPTY

    def legal_actions(self, state: State, out: Actions) -> int:
        count = 0
        if state.winner == IN_PLAY:
            for cell in range(self.num_actions()):
                if self.owner(state, cell) == EMPTY:
                    out[count] = cell
                    count += 1
        return count

    def action_text(self, action: int) -> str:
        return str(action + 1)

    def symmetries(self) -> NDArray[np.int32]:
        return base.grid_symmetries(self.rows, self.columns, images)


def images(cells: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    """The board turned around the tube, and each of these mirrored both ways."""
    for turned in (np.roll(cells, step, axis=1) for step in range(cells.shape[1])):
        yield from (turned, turned[::-1], turned[:, ::-1], turned[::-1, ::-1])


def raw_env(rows: int = 3, columns: int = 5, **view: Unpack[ViewOptions]) -> BoardEnv:
    """TicTacToe on a tube: two rows and three columns or more, and at most 31 cells."""
    if rows < 2 or columns < 3 or rows * columns > 31:
        raise ValueError(f"expected 2 x 3 cells or more, at most 31, got {rows} x {columns}")
    return BoardEnv(Tube(rows, columns), "tube_v0", **view)


env = with_standard_wrapper(raw_env)


if __name__ == "__main__":
    check_game(Tube())
    tube = env(render_mode="ansi")
    tube.reset()
    play_game(tube, [UCT(simulations=2_000, seed=1), GreedyAgent(seed=2)])
    print(tube.render())
    print("moves:", tube.unwrapped.moves)
