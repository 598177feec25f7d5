"""Hex on a rhombus: player 0 (black) joins top and bottom, player 1 (white) left and right.

One of the two always succeeds, so there is no draw (Nash 1952; Gale 1979). Actions are the cells,
row by row; as text the column's letter and the row's number from the top. Neighbours of (r, c):

        (r-1, c) (r-1, c+1)
    (r, c-1)  (r, c)  (r, c+1)
        (r+1, c-1) (r+1, c)

With `swap`, player 1 may answer the first stone by taking it over: action ``rows * columns``, as
text ``swap``, legal only at ply 1. The stone moves to the mirror cell (r, c) -> (c, r) and becomes
player 1's; the players keep their edges.

A state keeps the cells in rows of 21 with a border around the board. The border's four sides are
stones of the players who own them, so that no neighbour needs a bounds check, and connectivity is
a union-find over all of these: a player has won when a chain touches both of the player's sides.
"""

from collections import deque
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import NOT_NEGATIVE, compiled, kernel
from hexenv.compiled.bits import ONES, SPREAD, count_bits, load_bytes, row_and_column, store_bytes
from hexenv.games import base
from hexenv.games.base import EMPTY, IN_PLAY, NO_ACTION, OUTSIDE, Actions, Cells, State

MAX_SIZE: Final = 19
WIDTH: Final = MAX_SIZE + 2
"""Length of a row in memory: the place of cell (r, c) is ``(r + 1) * WIDTH + c + 1``."""
PLACES: Final = WIDTH * WIDTH

AROUND: Final = np.array([WIDTH, WIDTH - 1, -1, -WIDTH, 1 - WIDTH, 1])
"""The six neighbours in clockwise order from below."""
TOP: Final = 1
LEFT: Final = WIDTH

KEYS: Final = base.zobrist_keys(2, PLACES)

FILLED: Final = -128
"""Added to the owner of a cell that a playout fills; bit 0 still tells the owner."""

NO_SIDE: Final = -1
ONE_SIDE: Final = -2
OTHER_SIDE: Final = -3
BOTH_SIDES: Final = ONE_SIDE & OTHER_SIDE
"""The link of the place that stands for a chain: which of its player's sides the chain touches.

Chains that are joined touch what all bits of both links say. Other links are places of the chain.
"""


@kernel
def find(links: NDArray[np.int16], place: int) -> int:
    """The place that stands for the chain of `place`; halves the way there for the next time."""
    while True:
        link = int(links[place])
        if link < 0:
            return place
        further = int(links[link])
        if further < 0:
            return link
        links[place] = further
        place = further


@kernel
def sides_of(links: NDArray[np.int16], place: int) -> int:
    """The sides that a chain touches, a link below 0; it changes nothing."""
    while links[place] >= 0:
        place = links[place]
    return int(links[place])


@kernel
def join(links: NDArray[np.int16], head: int, near: int) -> int:
    """Join the chain that `head` stands for to that of `near`; the place that stands for both."""
    other = find(links, near)
    if other != head:
        links[other] &= links[head]
        links[head] = other
    return other


@compiled
class Hex(NamedTuple):
    """The rules of Hex. `new` checks the parameters.

    Examples:
        >>> from hexenv.games import base, hex
        >>> game = hex.new(board_size=3)
        >>> state = base.new_state(game)
        >>> for move in "b1 a1 b2 a2 b3".split():
        ...     game.step(state, game.parse_action(move))
        >>> int(state.winner)  # player 0 has a chain from the top to the bottom
        0
    """

    rows: int = 11
    columns: int = 11
    swap: bool = False

    name = "hex"
    style = "hexagons"
    state_dtype = base.state_dtype(
        ("hash", np.int64), ("owners", np.int8, (PLACES,)), ("links", np.int16, (PLACES,))
    )

    copy = base.copy
    is_terminal = base.is_terminal
    to_play = base.to_play
    outcome = base.outcome
    winning_action = base.winning_action
    cell_of = base.cell_of
    num_cells = base.num_cells
    random_action = base.draw_cell

    def num_actions(self) -> int:
        return self.rows * self.columns + (1 if self.swap else 0)

    def max_plies(self) -> int:
        return self.num_actions()

    def place_of(self, cell: int) -> int:
        row, column = row_and_column(cell, self.columns)
        return (row + 1) * WIDTH + column + 1

    def initial(self, state: State) -> None:
        base.begin(state)
        state.hash = 0
        owners, links = state.owners, state.links
        for place in range(PLACES):
            owners[place] = OUTSIDE
            links[place] = NO_SIDE
        for row in range(1, self.rows + 1):
            for column in range(1, self.columns + 1):
                owners[row * WIDTH + column] = EMPTY
        bottom, right = (self.rows + 1) * WIDTH + 1, LEFT + self.columns + 1
        for column in range(1, self.columns + 1):
            for row, corner in ((0, TOP), (self.rows + 1, bottom)):
                owners[row * WIDTH + column] = 0
                links[row * WIDTH + column] = corner
        for row in range(1, self.rows + 1):
            for column, corner in ((0, LEFT), (self.columns + 1, right)):
                owners[row * WIDTH + column] = 1
                links[row * WIDTH + column] = corner
        links[TOP] = links[LEFT] = ONE_SIDE
        links[bottom] = links[right] = OTHER_SIDE

    def place(self, state: State, cell: int, player: int) -> None:
        self.put(state, cell, player)

    def put(self, state: State, cell: int, player: int) -> int:
        """`place` a stone; returns the place that stands for its chain.

        Of neighbours that follow one another around the cell, only the first is joined to it: they
        are neighbours themselves.
        """
        place = self.place_of(cell)
        state.hash ^= KEYS[player, place]
        state.owners[place] = player
        state.links[place] = NO_SIDE  # even where a game is tried in which the cell is taken
        head = place
        was_own = state.owners[place + AROUND[5]] == player
        for offset in AROUND:
            is_own = state.owners[place + offset] == player
            if is_own and not was_own:
                head = join(state.links, head, place + offset)
            was_own = is_own
        if was_own and head == place:  # the stones are all around
            head = join(state.links, head, place + AROUND[5])
        return head

    def has_joined(self, state: State, player: int) -> bool:
        return sides_of(state.links, TOP if player == 0 else LEFT) == BOTH_SIDES

    def completes(self, state: State, cell: int) -> bool:
        return sides_of(state.links, self.place_of(cell)) == BOTH_SIDES

    def wins_at(self, state: State, player: int, action: int) -> bool:
        """Whether the cell joins the chains of the player's two sides."""
        if action == self.rows * self.columns:
            return False
        place = self.place_of(action)
        sides = NO_SIDE
        for offset in AROUND:
            if state.owners[place + offset] == player:
                sides &= sides_of(state.links, place + offset)
        return sides == BOTH_SIDES

    def step(self, state: State, action: int) -> None:
        player = state.ply & 1
        cell = action
        if action == self.rows * self.columns:
            cell = self.swapped_cell(state)
        head = self.put(state, cell, player)
        state.ply += 1
        state.last_action = action
        if state.links[head] == BOTH_SIDES:
            state.winner = player

    def swapped_cell(self, state: State) -> int:
        """Take the first stone off the board and return the mirror cell, where it comes back."""
        row, column = row_and_column(self.first_stone(state), self.columns)
        self.initial(state)
        state.ply = 1
        return column * self.columns + row

    def first_stone(self, state: State) -> int:
        """The first cell that is not empty; for a board with a stone on it."""
        cell = 0
        while self.owner(state, cell) == EMPTY:
            cell += 1
        return cell

    def owner(self, state: State, cell: int) -> int:
        return state.owners[self.place_of(cell)]

    def can_swap(self, state: State) -> bool:
        return self.swap and state.ply == 1

    def is_legal(self, state: State, action: int) -> bool:
        """Whether an action of a game in play is legal."""
        if action == self.rows * self.columns:
            return self.can_swap(state)
        return bool(self.owner(state, action) == EMPTY)

    def adds_stones(self, state: State) -> bool:
        return not self.swap or state.ply > 3  # two plies before, nobody could swap any more

    def legal_actions(self, state: State, out: Actions) -> int:
        if state.winner != IN_PLAY:
            return 0
        count = 0
        cell = 0
        for row in range(1, self.rows + 1):
            for place in range(row * WIDTH + 1, row * WIDTH + 1 + self.columns):
                if state.owners[place] == EMPTY:
                    out[count] = cell
                    count += 1
                cell += 1
        if self.can_swap(state):
            out[count] = cell
            count += 1
        return count

    def next_actions(self, state: State, actions: Actions, count: int, played: int) -> int:
        if self.swap and state.ply <= 2:
            return self.legal_actions(state, actions)
        return base.drop_played(self, state, actions, count, played)

    def owners(self, state: State, out: Cells) -> None:
        cells = self.rows * self.columns
        cell = end = 0
        for row in range(self.rows):
            end += self.columns
            further = (row + 1) * WIDTH + 1 - cell  # from a cell to its place
            while cell < end:
                if cell + 8 <= cells:  # what is beyond the row, the next row overwrites
                    store_bytes(out, cell, load_bytes(state.owners, cell + further))
                    cell += 8
                else:
                    out[cell] = state.owners[cell + further]
                    cell += 1
            cell = end

    def legal_mask(self, state: State, owners: Cells, out: NDArray[np.int8]) -> None:
        base.legal_mask(self, state, owners, out)
        if self.swap:
            out[self.rows * self.columns] = self.can_swap(state)

    def observe(self, state: State, player: int, owners: Cells, out: NDArray[Any]) -> None:
        base.write_stones(owners, player, 1 - (state.ply & 1), out)
        if self.swap:
            out[:, 3] = self.can_swap(state)

    def position_hash(self, state: State) -> int:
        return int(state.hash) ^ (base.SECOND_PLAYER_KEY if state.ply & 1 else 0)

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        """Fill the board at random and look once: the order of the moves makes no difference.

        First each empty cell goes to either player. Then random ones of them change hands until
        both players have got as many as they would have placed: all ways to share the cells out are
        equally likely. The swap is never played here; it is a matter for the tree.
        """
        if state.winner != IN_PLAY:
            return
        filled, second = self.fill(state.owners, rng)
        wanted = (filled + (state.ply & 1)) // 2  # so many go to player 1
        more = 1 if second > wanted else 0  # who gives cells away
        tried = bits = 0
        while second != wanted:
            if tried & 3 == 0:
                bits = base.draw_bits(rng)
            tried += 1
            row, bits = base.split_draw(bits, self.rows)
            column, bits = base.split_draw(bits, self.columns)
            place = (row + 1) * WIDTH + column + 1
            if state.owners[place] == FILLED + more:
                state.owners[place] = FILLED + 1 - more
                second += 1 - 2 * more
        state.winner = self.winner_of_full_board(state.owners)

    def fill(self, owners: NDArray[np.int8], rng: np.random.Generator) -> tuple[int, int]:
        """Give every empty cell to either player at random, marked as `FILLED`.

        Returns:
            How many cells, and how many of them go to player 1.
        """
        filled = second = 0
        for row in range(1, self.rows + 1):
            bits = base.draw_bits(rng)
            start = row * WIDTH + 1
            for place in range(start, start + self.columns, 8):
                word = load_bytes(owners, place)
                empty = word >> 6 & ONES  # a bit of `EMPTY` alone, not of `FILLED`
                given = SPREAD[bits & 255] & empty
                store_bytes(owners, place, word & ~(empty * 127) | given)
                filled += count_bits(empty)
                second += count_bits(given)
                bits >>= 8
        return filled, second

    def winner_of_full_board(self, owners: NDArray[np.int8]) -> int:
        """Walk between the colours from the corner of top and left to where the colours end.

        On the walk's left is always a stone of player 0 that top is joined to, on its right one of
        player 1 that left is joined to. The cell ahead touches both; its stone takes the place of
        the one with its colour. The walk ends at the corner of the side that one of them joins
        (Gale 1979).

        The two cases are told apart by arithmetic: nobody foresees which one comes, and a wrong
        guess takes the processor longer than a step.
        """
        ahead = WIDTH + 1
        from_left, from_right = WIDTH, 1  # the ways from the two stones to the cell ahead
        while True:
            owner = int(owners[ahead & NOT_NEGATIVE])
            if owner == OUTSIDE:  # at the right end of the top, or below the left side
                return 1 if ahead < WIDTH else 0
            second = -(owner & 1)  # all ones for player 1
            way = from_left - from_right  # the next step if player 0 has the cell, else back
            ahead += (way ^ second) - second
            from_left, from_right = (
                way ^ ((way ^ from_right) & second),
                from_left ^ ((from_left ^ -way) & second),
            )

    def action_text(self, action: int) -> str:
        if action == self.rows * self.columns:
            return "swap"
        return f"{chr(97 + action % self.columns)}{action // self.columns + 1}"

    def parse_action(self, text: str) -> int:
        if text == "swap" and self.swap:
            return self.rows * self.columns
        row, column = base.parse_cell(text, self.rows, self.columns)
        return row * self.columns + column

    def why_illegal(self, state: State, action: int) -> str:
        text = self.action_text(action)
        return "the swap is legal only at ply 1" if text == "swap" else f"{text} is taken"

    def count_plies(self, owners: Cells, to_play: int) -> int:
        second = int(np.count_nonzero(owners == 1))
        if self.swap and second > 0 and np.count_nonzero(owners == 0) == second - 1 + to_play:
            return 2 * second + to_play  # the first stone was taken over: a ply without a stone
        return base.count_plies(self, owners, to_play)

    def details(self, state: State) -> dict[str, int]:
        """The plies of a position that no game leads to, as one side has more stones."""
        try:
            self.count_plies(base.cell_owners(self, state), int(self.to_play(state)))
        except ValueError:
            return {"ply": int(state.ply)}
        return {}

    def set_up(self, state: State, owners: Cells, to_play: int, details: dict[str, int]) -> None:
        """Write the plies: with `details` of any stones, as more of them never hurt in Hex."""
        stones = int(np.count_nonzero(owners != EMPTY))
        try:
            state.ply = self.count_plies(owners, to_play)
        except ValueError:
            if not details or not stones:
                raise
            ply = stones + (stones + to_play) % 2  # the parity says who moves
            state.ply = details.get("ply") or max(ply, 2 + to_play)  # after the time of the swap
            if not (max(ply, 2) <= state.ply < ply + 4 and state.ply % 2 == to_play):
                raise ValueError(f"expected {ply} plies, got {details} (damaged data?)") from None

    def planes(self) -> tuple[str, ...]:
        """Own, opponent, side (1 while player 0 is to move) and, with `swap`, swap available."""
        return ("own", "opponent", "side", *(["swap"] if self.swap else []))

    def labels(self) -> tuple[list[str], list[str]]:
        return base.column_letters(self.columns), [str(row) for row in range(1, self.rows + 1)]

    def last_cell(self, state: State) -> int:
        """The last cell played; after a swap the cell to which the stone has gone."""
        if state.last_action < self.rows * self.columns:
            return int(state.last_action)
        return self.first_stone(state) if state.ply == 2 else NO_ACTION

    def cells_of_action(self, state: State, action: int) -> tuple[int, ...]:
        """The cell of the stone; a swap is shown on the stone that it takes."""
        if action < self.rows * self.columns:
            return (action,)
        return (self.first_stone(state),) if self.can_swap(state) else ()

    def symmetries(self) -> NDArray[np.int32]:
        half_turn = base.grid_symmetries(
            self.rows, self.columns, lambda cells: [cells, cells[::-1, ::-1]]
        )
        if self.swap:
            return np.pad(half_turn, ((0, 0), (0, 1)), constant_values=self.rows * self.columns)
        return half_turn

    def winning_cells(self, state: State) -> list[int]:
        """A shortest chain of the winner's stones from one side to the other."""
        if state.winner == IN_PLAY:
            return []
        owners = base.cell_owners(self, state)
        if state.winner == 1:
            owners = owners.T  # now the winner joins top and bottom
        reached_from: dict[tuple[int, int], tuple[int, int] | None] = {
            (0, int(column)): None for column in np.flatnonzero(owners[0] == state.winner)
        }
        waiting = deque(reached_from)
        while waiting:
            cell = waiting.popleft()
            if cell[0] == owners.shape[0] - 1:
                path = [cell]
                while (cell := reached_from[cell]) is not None:
                    path.append(cell)
                if state.winner == 1:
                    path = [(column, row) for row, column in path]
                return [row * self.columns + column for row, column in reversed(path)]
            for down, right in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)):
                row, column = cell[0] + down, cell[1] + right
                if not (0 <= row < owners.shape[0] and 0 <= column < owners.shape[1]):
                    continue
                if owners[row, column] == state.winner and (row, column) not in reached_from:
                    reached_from[row, column] = cell
                    waiting.append((row, column))
        return []


def new(board_size: int | tuple[int, int] = 11, swap: bool = False) -> Hex:
    """The game of Hex, with the arguments of `hexenv.hex_v0.raw_env`.

    Raises:
        ValueError: If the size is out of range, or the swap is asked for on another than a square.
    """
    rows, columns = base.parse_board_size(board_size, 2, MAX_SIZE)
    if swap not in (False, True):
        raise ValueError(f"expected swap to be True or False, got {swap!r}")
    if swap and rows != columns:
        raise ValueError(f"expected a square board for the swap, got {rows} x {columns}")
    return Hex(rows, columns, bool(swap))
