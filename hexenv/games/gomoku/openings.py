"""Gomoku with an opening that takes away the advantage of the first move.

| Opening | |
|---|---|
| `swap` | Player 0 puts down black, white, black; player 1 chooses a colour |
| `swap2` | The same, but player 1 may also put down white and black, and let player 0 choose |
| `pro` | Black begins in the centre, and its second stone is at least 3 lines away from there |
| `long_pro` | At least 4 lines away |

Stones alternate in colour throughout, black first. Who is to choose either puts down the next
stone, which is white, and so plays white, or takes black by the action ``swap``: then the other
puts it down. In `swap2` the first choice has a third answer, ``place_two``: the same player puts
down two more stones, and the other chooses. The extra actions come after the cells:
``rows * columns`` is ``swap``, the next ``place_two``. On a board with an even side the centre is
any of the middle cells.

Players and colours are two things here. All that the contract of a game says is about players: a
stone's owner is the player who has its colour, and until the last choice is made black counts as
player 0's. So the stones on the board, and in pictures, change hands when colours do, and X is
always player 0. The colours are in a state's `stones`, which is a position of plain Gomoku with
black as its player 0; `inner` gives it, and the rules of the colours, to whoever plans in them.

A board given as text or as cells is one whose opening is over; the numbers of stones and who is to
move tell who has black.
"""

from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import not_one_of
from hexenv.compiled import compiled
from hexenv.compiled.bits import row_and_column
from hexenv.games import base, gomoku
from hexenv.games.base import EMPTY, IN_PLAY, NO_ACTION, Actions, Cells, Game, State
from hexenv.games.gomoku import Caro, Gomoku, Renju

SWAP, SWAP2, PRO, LONG_PRO = range(4)
OPENINGS: Final = ("swap", "swap2", "pro", "long_pro")
"""Names of the openings by number."""

EXTRA_ACTIONS: Final = ("swap", "place_two")


class Phase(IntEnum):
    """What is asked of the player to move."""

    PLAYING = 0
    """A stone of the player's own; the opening is over."""
    PLACING = 1
    """One of the first three stones."""
    CHOOSING = 2
    """White's stone, or black (``swap``), or in `swap2` two more stones (``place_two``)."""
    PLACING_TWO = 3
    """One of two more stones."""
    CHOOSING_LAST = 4
    """White's stone, or black (``swap``)."""


PLAYING, PLACING, CHOOSING, PLACING_TWO, CHOOSING_LAST = map(int, Phase)  # for compiled code

IN_OPENING: Final = {
    PLACING: ((0, 1, 2), (0,)),
    CHOOSING: ((3,), (0,)),
    PLACING_TWO: ((3, 4), (1,)),
    CHOOSING_LAST: ((5,), (1,)),
}
"""How many stones, and how many actions that were none, have led to a phase."""

LAST_PLY_OF_OPENING: Final = 7
"""In `swap2`: five stones, ``place_two``, and the last choice."""

PHASE_KEYS: Final = base.zobrist_keys(gomoku.KEYS.size + len(Phase))[-len(Phase) :]


@compiled
class OpenedGomoku(NamedTuple):
    """The rules of Gomoku with an opening. `new` checks the parameters."""

    rows: int = 15
    columns: int = 15
    connect: int = 5
    rule: int = gomoku.FREESTYLE
    opening: int = SWAP2

    name = "gomoku"
    style = "points"
    state_dtype = base.state_dtype(
        ("stones", Gomoku.state_dtype), ("phase", np.int8), ("black", np.int8)
    )

    copy = base.copy
    is_terminal = base.is_terminal
    outcome = base.outcome
    cell_of = base.cell_of
    cells_of_action = base.cells_of_action
    num_cells = base.num_cells

    def in_colours(self) -> Gomoku:
        """The rules for the colours: black is player 0."""
        return Gomoku(self.rows, self.columns, self.connect, self.rule)

    def num_actions(self) -> int:
        extra = 2 if self.opening == SWAP2 else 1 if self.opening == SWAP else 0
        return self.rows * self.columns + extra

    def max_plies(self) -> int:
        return self.num_actions()

    def initial(self, state: State) -> None:
        base.begin(state)
        self.in_colours().initial(state.stones)
        state.phase = PLACING
        state.black = 0

    def to_play(self, state: State) -> int:
        if self.opening < PRO and (state.phase == PLACING or state.phase == CHOOSING_LAST):
            return 0
        if state.phase == CHOOSING or state.phase == PLACING_TWO:
            return 1
        return int(state.stones.ply & 1) ^ int(state.black)

    def can_swap(self, state: State) -> bool:
        return state.phase == CHOOSING or state.phase == CHOOSING_LAST

    def step(self, state: State, action: int) -> None:
        player = self.to_play(state)
        cells = self.rows * self.columns
        if action < cells:
            if self.can_swap(state):  # the player has chosen white
                state.black = 1 - player
            self.in_colours().step(state.stones, action)
            state.phase = self.phase_after_stone(state)
            self.find_winner(state)
        elif action == cells:
            state.black = player
            state.phase = PLAYING
        else:
            state.phase = PLACING_TWO
        state.ply += 1
        state.last_action = action

    def phase_after_stone(self, state: State) -> int:
        stones = int(state.stones.ply)
        if state.phase == PLACING and stones < 3:
            return PLACING
        if state.phase == PLACING and self.opening < PRO:
            return CHOOSING
        if state.phase == PLACING_TWO:
            return PLACING_TWO if stones < 5 else CHOOSING_LAST
        return PLAYING

    def find_winner(self, state: State) -> None:
        """Say whose the result of the colours is."""
        winner = int(state.stones.winner)
        state.winner = winner ^ int(state.black) if winner == 0 or winner == 1 else winner

    def place(self, state: State, cell: int, player: int) -> None:
        self.in_colours().place(state.stones, cell, player ^ int(state.black))

    def owner(self, state: State, cell: int) -> int:
        colour = self.in_colours().owner(state.stones, cell)
        return EMPTY if colour == EMPTY else colour ^ int(state.black)

    def owners(self, state: State, out: Cells) -> None:
        self.in_colours().owners(state.stones, out)
        if state.black == 1:
            for cell in range(self.rows * self.columns):
                if out[cell] != EMPTY:
                    out[cell] = 1 - out[cell]

    def completes(self, state: State, cell: int) -> bool:
        return self.in_colours().completes(state.stones, cell)

    def loses_by(self, state: State, action: int) -> bool:
        is_stone = action < self.rows * self.columns
        return is_stone and self.in_colours().loses_by(state.stones, action)

    def wins_at(self, state: State, player: int, action: int) -> bool:
        if action >= self.rows * self.columns:
            return False
        return self.in_colours().wins_at(state.stones, player ^ int(state.black), action)

    def winning_action(
        self, state: State, player: int, near: int, actions: Actions, count: int
    ) -> int:
        if near >= self.rows * self.columns:
            near = -1
        colour = player ^ int(state.black)
        return self.in_colours().winning_action(state.stones, colour, near, actions, count)

    def first_stone(self, state: State) -> int:
        """The cell of the only black stone; `NO_ACTION` where there is none."""
        for cell in range(self.rows * self.columns):
            if self.in_colours().owner(state.stones, cell) == 0:
                return cell
        return NO_ACTION

    def is_within(self, first: int, cell: int) -> bool:
        """Whether `pro` and `long_pro` let black put a stone on an empty cell.

        `first` is the cell of black's first stone, or `NO_ACTION` for the first one itself.
        """
        row, column = row_and_column(cell, self.columns)
        if first == NO_ACTION:
            from_middle = max(abs(2 * row + 1 - self.rows), abs(2 * column + 1 - self.columns))
            return from_middle <= 1
        first_row, first_column = row_and_column(first, self.columns)
        distance = max(abs(row - first_row), abs(column - first_column))
        return distance >= (3 if self.opening == PRO else 4)

    def is_restricted(self, state: State) -> bool:
        """Whether an opening says where the next stone may go."""
        return self.opening >= PRO and state.phase == PLACING and state.stones.ply != 1

    def legal_actions(self, state: State, out: Actions) -> int:
        if state.winner != IN_PLAY:
            return 0
        if self.is_restricted(state):
            return self.restricted_actions(state, out)
        count = self.in_colours().legal_actions(state.stones, out)
        if self.can_swap(state):
            out[count] = self.rows * self.columns
            count += 1
            if state.phase == CHOOSING and self.opening == SWAP2:
                out[count] = self.rows * self.columns + 1
                count += 1
        return count

    def restricted_actions(self, state: State, out: Actions) -> int:
        """`legal_actions` for black's first two stones in `pro` and `long_pro`."""
        first = self.first_stone(state)
        count = 0
        for cell in range(self.rows * self.columns):
            if self.owner(state, cell) == EMPTY and self.is_within(first, cell):
                out[count] = cell
                count += 1
        return count

    def next_actions(self, state: State, actions: Actions, count: int, played: int) -> int:
        if state.ply <= LAST_PLY_OF_OPENING:
            return self.legal_actions(state, actions)
        return self.in_colours().next_actions(state.stones, actions, count, played)

    def legal_mask(self, state: State, owners: Cells, out: NDArray[np.int8]) -> None:
        out[:] = 0
        if state.winner != IN_PLAY:
            return
        self.in_colours().legal_mask(state.stones, owners, out)
        if self.is_restricted(state):
            first = self.first_stone(state)
            for cell in range(self.rows * self.columns):
                out[cell] &= self.is_within(first, cell)
        if self.can_swap(state):
            out[self.rows * self.columns :] = 1
            if state.phase == CHOOSING_LAST:
                out[self.rows * self.columns + 1 :] = 0

    def observe(self, state: State, player: int, owners: Cells, out: NDArray[Any]) -> None:
        if self.opening >= PRO:
            base.observe(self, state, player, owners, out)
        else:
            base.write_stones(owners, player, 1 - (state.stones.ply & 1), out)
            out[:, 3] = self.can_swap(state)

    def position_hash(self, state: State) -> int:
        found = int(state.stones.hash) ^ int(PHASE_KEYS[state.phase])
        return found ^ (base.SECOND_PLAYER_KEY if self.to_play(state) == 1 else 0)

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        while state.phase != PLAYING:
            count = self.legal_actions(state, buffer)
            self.step(state, int(buffer[int(rng.random() * count)]))
        if state.winner == IN_PLAY:
            self.in_colours().random_playout(state.stones, rng, buffer)
            self.find_winner(state)

    def last_cell(self, state: State) -> int:
        if state.last_action < self.rows * self.columns:
            return int(state.last_action)
        return int(state.stones.last_action)

    # ---- plain Python ----

    def action_text(self, action: int) -> str:
        cells = self.rows * self.columns
        if action >= cells:
            return EXTRA_ACTIONS[action - cells]
        return self.in_colours().action_text(action)

    def parse_action(self, text: str) -> int:
        cells = self.rows * self.columns
        word = text.replace(" ", "_").replace("-", "_")  # a person may type "place two"
        if word in EXTRA_ACTIONS[: self.num_actions() - cells]:
            return cells + EXTRA_ACTIONS.index(word)
        return self.in_colours().parse_action(text)

    def question(self, state: State) -> str:
        """What is asked of the player to move, in words; nothing where it is an own stone."""
        if state.phase == PLAYING or self.opening >= PRO:
            return ""
        stones = int(state.stones.ply)
        if state.phase in (PLACING, PLACING_TWO):
            return f"stone {stones + 1} of the opening, {'white' if stones & 1 else 'black'}"
        swap, place_two = EXTRA_ACTIONS
        more = f", or {place_two}" if state.phase == CHOOSING and self.opening == SWAP2 else ""
        return f"a stone to play white, or {swap} to take black{more}"

    def why_illegal(self, state: State, action: int) -> str:
        text = self.action_text(action)
        if text in EXTRA_ACTIONS:
            return f"{text} is legal only as the answer to the stones of the opening"
        if self.is_restricted(state) and self.owner(state, action) == EMPTY:
            if self.first_stone(state) == NO_ACTION:
                return f"{text} is not the centre"
            lines = 3 if self.opening == PRO else 4
            return f"{text} is less than {lines} lines away from the first stone"
        return self.in_colours().why_illegal(state.stones, action)

    def count_plies(self, owners: Cells, to_play: int) -> int:
        """The fewest plies; a choice that left the colours as they were does not show."""
        stones = int(np.count_nonzero(owners != EMPTY))
        return stones + _find_black(self, owners, to_play)

    def details(self, state: State) -> dict[str, int]:
        """What the stones, the player to move and the last action do not tell; mostly nothing."""
        cells = self.rows * self.columns
        chosen = int(state.ply - state.stones.ply)  # choices that took an action of their own
        is_told = state.phase == PLAYING and chosen == state.black and state.last_action < cells
        if self.opening >= PRO or is_told:
            return {}
        last_cell = self.last_cell(state)
        return {"phase": int(state.phase), "ply": int(state.ply), "last_cell": last_cell}

    def set_up(self, state: State, owners: Cells, to_play: int, details: dict[str, int]) -> None:
        """Write what there is beside the stones, not on the board yet, into a starting position."""
        stones = int(np.count_nonzero(owners != EMPTY))
        state.stones.ply = stones
        if details:
            _set_up_details(self, state, owners, to_play, details)
            return
        state.ply = self.count_plies(owners, to_play)
        state.black = _find_black(self, owners, to_play)
        state.phase = PLACING if self.opening >= PRO and stones < 3 else PLAYING

    def labels(self) -> tuple[list[str], list[str]]:
        return self.in_colours().labels()

    def planes(self) -> tuple[str, ...]:
        """Own, opponent and, where colours are chosen, whether black is next and a choice asked.

        `black` is 1 everywhere while the next stone is black, `swap` while the swap is legal.
        """
        return ("own", "opponent", *(["black", "swap"] if self.opening < PRO else []))

    def symmetries(self) -> NDArray[np.int32]:
        images = self.in_colours().symmetries()
        extra = np.arange(images.shape[1], self.num_actions(), dtype=np.int32)
        return np.hstack([images, np.tile(extra, (len(images), 1))])

    def winning_cells(self, state: State) -> list[int]:
        return base.line_cells(self, state, self.connect)


def _find_black(game: Any, owners: Cells, to_play: int) -> int:
    """Who has black on a board whose opening is over; ValueError if no game leads there."""
    first, second = (int(np.count_nonzero(owners == player)) for player in (0, 1))
    black = to_play if first == second else 1 - to_play
    if (game.opening >= PRO and black == 1) or abs(first - second) > 1:
        base.count_plies(game, owners, to_play)  # raises
    if first != second and (first > second) != (black == 0):
        raise ValueError(
            f"expected black, with a stone more, to have just moved; "
            f"got {first} X and {second} O with {'XO'[to_play]} to play"
        )
    if game.opening < PRO and first + second < 3:
        raise ValueError(
            f"expected a board whose opening is over, with 3 stones or more, got {first + second}"
        )
    return black


def _set_up_details(
    game: Any, state: State, owners: Cells, to_play: int, details: dict[str, int]
) -> None:
    """`set_up` with `details`, which may come from anywhere."""
    phase, ply, last_cell = (details.get(key, -1) for key in ("phase", "ply", "last_cell"))
    stones = int(state.stones.ply)
    black = _find_black(game, owners, to_play) if phase == PLAYING else 0
    possible, chosen = IN_OPENING.get(phase, (range(3, owners.size + 1), (2 - black,)))
    fits = (
        PLAYING <= phase <= (CHOOSING_LAST if game.opening == SWAP2 else CHOOSING)
        and game.opening < PRO
        and stones in possible
        and ply - stones in chosen
        and (game.opening == SWAP2 or ply - stones < 2)
        and int(np.count_nonzero(owners == black)) == (stones + 1) // 2
        and (stones == 0 or (0 <= last_cell < owners.size and owners.flat[last_cell] != EMPTY))
    )
    if fits:
        state.phase, state.black, state.ply = phase, black, ply
        state.stones.last_action = last_cell
        fits = game.to_play(state) == to_play
    if not fits:
        raise ValueError(f"expected the details of an opening, got {details} (damaged data?)")


@compiled
class OpenedRenju(OpenedGomoku):
    """The same with the rules of renju."""

    __slots__ = ()

    def in_colours(self) -> Renju:
        return Renju(self.rows, self.columns, self.connect, self.rule)


@compiled
class OpenedCaro(OpenedGomoku):
    """The same with the rules of caro."""

    __slots__ = ()

    def in_colours(self) -> Caro:
        return Caro(self.rows, self.columns, self.connect, self.rule)


AnyGomoku = Gomoku | OpenedGomoku


def inner(game: AnyGomoku, state: State) -> tuple[Gomoku, State]:
    """The rules of plain Gomoku and a fresh position in colours, black as player 0, at any time."""
    if isinstance(game, Gomoku):
        return game, base.clone(game, state)
    colours = game.in_colours()
    found = base.clone(colours, state.stones)
    winner = int(state.winner)
    found.winner = winner ^ int(state.black) if winner in (0, 1) else winner
    found.last_action = game.last_cell(state)
    return colours, found


def phase_of(game: Game, state: State) -> Phase:
    """What is asked of the player to move; `Phase.PLAYING` in a game without an opening."""
    return Phase(int(state.phase)) if isinstance(game, OpenedGomoku) else Phase.PLAYING


def is_opening(game: Game, state: State) -> bool:
    """Whether the opening is under way: the colours or the places of stones are not free yet."""
    return phase_of(game, state) != Phase.PLAYING


def new(
    opening: str,
    board_size: int | tuple[int, int] = 15,
    connect: int = 5,
    rule: str = "freestyle",
    forbidden: str = "masked",
) -> OpenedGomoku:
    """The game of Gomoku with an opening: ``"swap"``, ``"swap2"``, ``"pro"`` or ``"long_pro"``.

    The other arguments are those of `hexenv.games.gomoku.new`. Boards are at least 7 x 7 for `pro`,
    9 x 9 for `long_pro`; `connect` is 5 or 6. ValueError if a parameter is out of its range.
    """
    if opening not in OPENINGS:
        raise ValueError(not_one_of("an opening", OPENINGS, opening))
    plain = gomoku.new(board_size, connect, rule, forbidden)
    if plain.connect < 5:
        raise ValueError(f"expected connect of 5 or 6 with an opening, got {connect}")
    least = {"pro": 7, "long_pro": 9}.get(opening, 0)
    if min(plain.rows, plain.columns) < least:
        raise ValueError(
            f"expected a board of at least {least} x {least} for {opening}, "
            f"got {plain.rows} x {plain.columns}"
        )
    kinds: dict[type[Gomoku], type[OpenedGomoku]] = {Renju: OpenedRenju, Caro: OpenedCaro}
    kind = kinds.get(type(plain), OpenedGomoku)
    return kind(*plain, OPENINGS.index(opening))
