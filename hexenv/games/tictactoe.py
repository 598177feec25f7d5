"""TicTacToe: three in a row on three by three cells, X moves first.

Actions are the cells, row by row; as text ``1`` to ``9``:

    1 2 3
    4 5 6
    7 8 9

A state holds one bitboard for each player: bit ``c`` is cell ``c``.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled
from hexenv.games import base
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, Actions, Cells, State

LINES: Final = (
    (0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6),
)  # fmt: skip
LINE_BITS: Final = tuple(sum(1 << cell for cell in line) for line in LINES)
HAS_LINE: Final = np.array(
    [any(stones & line == line for line in LINE_BITS) for stones in range(512)]
)
"""Whether a player with these stones has won, by bitboard."""


@compiled
class TicTacToe(NamedTuple):
    """The rules of TicTacToe. The board has one size.

    Examples:
        >>> from hexenv.games import base, tictactoe
        >>> game = tictactoe.new()
        >>> state = base.new_state(game)
        >>> game.step(state, 4)
        >>> list(base.legal_actions(game, state))
        [0, 1, 2, 3, 5, 6, 7, 8]
    """

    rows: int = 3
    columns: int = 3

    name = "tictactoe"
    style = "squares"
    state_dtype = base.state_dtype(("stones", np.int16, (2,)))

    copy = base.copy
    is_terminal = base.is_terminal
    to_play = base.to_play
    outcome = base.outcome
    winning_action = base.winning_action
    planes = base.stone_planes
    last_cell = base.last_cell
    cell_of = base.cell_of
    cells_of_action = base.cells_of_action
    num_cells = base.num_cells
    legal_mask = base.legal_mask
    observe = base.observe
    next_actions = base.drop_played
    why_illegal = base.why_illegal
    count_plies = base.count_plies

    def num_actions(self) -> int:
        return 9

    def max_plies(self) -> int:
        return 9

    def initial(self, state: State) -> None:
        base.begin(state)
        state.stones[0] = 0
        state.stones[1] = 0

    def place(self, state: State, cell: int, player: int) -> None:
        state.stones[player] |= 1 << cell

    def completes(self, state: State, cell: int) -> bool:
        return bool(HAS_LINE[state.stones[self.owner(state, cell)]])

    def wins_at(self, state: State, player: int, action: int) -> bool:
        return bool(HAS_LINE[state.stones[player] | 1 << action])

    def step(self, state: State, action: int) -> None:
        player = state.ply & 1
        self.place(state, action, player)
        state.ply += 1
        state.last_action = action
        if HAS_LINE[state.stones[player]]:
            state.winner = player
        elif state.ply == 9:
            state.winner = DRAW

    def owner(self, state: State, cell: int) -> int:
        if (state.stones[0] >> cell) & 1:
            return 0
        return 1 if (state.stones[1] >> cell) & 1 else EMPTY

    def owners(self, state: State, out: Cells) -> None:
        first, second = int(state.stones[0]), int(state.stones[1])
        for cell in range(9):
            out[cell] = base.owner_by_bits(first >> cell, second >> cell)

    def legal_actions(self, state: State, out: Actions) -> int:
        if state.winner != IN_PLAY:
            return 0
        taken = state.stones[0] | state.stones[1]
        count = 0
        for cell in range(9):
            if not (taken >> cell) & 1:
                out[count] = cell
                count += 1
        return count

    def position_hash(self, state: State) -> int:
        return int(state.stones[0]) | int(state.stones[1]) << 9

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        count = self.legal_actions(state, buffer)
        player = int(state.ply & 1)
        mine = int(state.stones[player])
        theirs = int(state.stones[1 - player])
        # One draw serves the whole playout: 9! orders take 19 of its 53 random bits.
        bits = base.draw_bits(rng)
        while count > 0:
            pick, bits = base.split_draw(bits, count)
            mine |= 1 << buffer[pick]
            if HAS_LINE[mine]:
                state.winner = player
                return
            count -= 1
            buffer[pick] = buffer[count]
            mine, theirs = theirs, mine
            player = 1 - player
        if state.winner == IN_PLAY:
            state.winner = DRAW

    def action_text(self, action: int) -> str:
        return str(action + 1)

    def parse_action(self, text: str) -> int:
        if len(text) != 1 or text not in "123456789":
            raise ValueError(f"expected a cell from 1 to 9, got {text!r}")
        return int(text) - 1

    def labels(self) -> tuple[list[str], list[str]]:
        return [], []

    def symmetries(self) -> NDArray[np.int32]:
        return base.grid_symmetries(3, 3, base.dihedral_images)

    def winning_cells(self, state: State) -> list[int]:
        for line in LINES:
            owners = {self.owner(state, cell) for cell in line}
            if len(owners) == 1 and EMPTY not in owners:
                return list(line)
        return []


def new(**options: Any) -> TicTacToe:
    """The game of TicTacToe. It takes no options."""
    if options:
        raise TypeError(f"tictactoe takes no options, got {', '.join(options)}")
    return TicTacToe()
