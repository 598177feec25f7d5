"""The contract of a game, and what every game shares.

A *game* is a `typing.NamedTuple` under `@compiled`: its fields are the static parameters, its
methods the rules. A *state* is one NumPy record that the game's verbs fill and change in place.

A game may also offer two verbs that playouts with decisive moves need: `wins_at(state, player,
action) -> bool`, whether `player` would win at once by playing the legal `action`, were it that
player's turn, and `winning_action`, which finds such an action; see the shared one below. A game in
which an action may lose at once has `loses_by(state, action) -> bool`: whether the action that has
led here did. Of such an end the stones tell nothing. And a game in which they do not tell the whole
position has `details(state) -> dict[str, int]`, what else there is (nothing where they do), and
`set_up(state, owners, to_play, details)`, which writes into a starting position all but the stones.

Words used everywhere, each for one idea:

* *player*: 0 or 1, a side of the game; player 0 moves first. (*agent*: what plays for a side.)
* *action*: an integer, ``0 <= action < num_actions()``. *Move*: its text, as people write it.
* *cell*: the number of a place on the board, row by row from the top left.
* *ply*: one action by one player; `state.ply` counts them from the start.
* *outcome*: 1, 0 or -1, always from the view of a named player.

The methods above the line in `Game` compile, so they use only numbers, arrays and records; they do
not check legality, which is done at the doors: an environment's `step`, an agent's result, `play`.
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import copy_record, inlined_kernel, kernel

IN_PLAY: Final = -1
"""`state.winner` while the game goes on."""
DRAW: Final = 2
"""`state.winner` of a drawn game; a won game has the winner, 0 or 1, there."""
EMPTY: Final = -1
"""The owner of an empty cell."""
OUTSIDE: Final = 3
"""The owner of what lies beyond the board."""
NO_ACTION: Final = -1
"""`state.last_action` before the first ply, or where it is not known."""

Style = Literal["squares", "points", "holes", "hexagons"]
"""Drawing styles: a grid of squares, crossing lines, a wall of holes, a rhombus of hexagons."""

State: TypeAlias = np.record  # an element of an array of the game's `state_dtype`
Actions = NDArray[np.int32]
Cells = NDArray[np.int8]


class Game(Protocol):
    """What a game offers. `hexenv.testing.check_game` checks all of it on any game."""

    @property
    def name(self) -> str:
        """The game's name in lower case, as in its environment's module: ``hex`` of ``hex_v0``."""
        ...

    @property
    def style(self) -> str:
        """How the board is drawn: one of `Style`."""
        ...

    @property
    def state_dtype(self) -> np.dtype[np.void]:
        """Structured dtype of a state, with at least the fields of `STATE_FIELDS`."""
        ...

    @property
    def rows(self) -> int:
        """Rows of the board."""
        ...

    @property
    def columns(self) -> int:
        """Columns of the board."""
        ...

    def num_actions(self) -> int:
        """How many actions there are, legal or not."""
        ...

    def max_plies(self) -> int:
        """An upper bound on the length of a game."""
        ...

    def initial(self, state: State) -> None:
        """Write the starting position into `state`."""
        ...

    def copy(self, source: State, into: State) -> None:
        """Copy one state over another, without allocation."""
        ...

    def step(self, state: State, action: int) -> None:
        """Apply a legal action, in place."""
        ...

    def legal_actions(self, state: State, out: Actions) -> int:
        """Write the legal actions in ascending order into `out`; return how many. None at the end.

        Args:
            state: The position.
            out: ``(>= num_actions(),) int32``; what follows the returned count is left as it was.
        """
        ...

    def next_actions(self, state: State, actions: Actions, count: int, played: int) -> int:
        """Bring the legal actions up to date after a step, in whatever order is quickest.

        Playouts live on it: mostly all actions stay legal but the one that was played.

        Args:
            state: The position after the step.
            actions: ``(>= num_actions(),) int32``: the actions that were legal before it, which
                are overwritten with those that are legal now.
            count: How many there were.
            played: Where among them the action of the step is.

        Returns:
            How many there are now; at the end of the game any number.
        """
        ...

    def legal_mask(self, state: State, owners: Cells, out: NDArray[np.int8]) -> None:
        """Write 1 for every legal action and 0 for the others into ``(num_actions(),) int8``.

        Args:
            state: The position.
            owners: What `owners` says of it.
            out: The mask.
        """
        ...

    def is_terminal(self, state: State) -> bool:
        """Whether the game is over."""
        ...

    def to_play(self, state: State) -> int:
        """The player whose turn it is, 0 or 1 (at the end: who would be next)."""
        ...

    def outcome(self, state: State, player: int) -> int:
        """1 if `player` has won, -1 if the other has, 0 for a draw or a game that goes on."""
        ...

    def position_hash(self, state: State) -> int:
        """A 64-bit hash of the position: equal for equal positions reached by other move orders."""
        ...

    def owner(self, state: State, cell: int) -> int:
        """Whose stone is on `cell`: 0, 1 or `EMPTY`."""
        ...

    def owners(self, state: State, out: Cells) -> None:
        """Write `owner` of every cell into ``(rows * columns,) int8``."""
        ...

    def observe(self, state: State, player: int, owners: Cells, out: NDArray[Any]) -> None:
        """Write the planes of `planes` as `player` sees them.

        Args:
            state: The position.
            player: Whose view.
            owners: What `owners` says of it.
            out: ``(rows * columns, >= len(planes()))``: plane 0 gets the player's own stones, plane
                1 the opponent's, as ones; planes beyond the game's own get zeros.
        """
        ...

    def last_cell(self, state: State) -> int:
        """The cell of the stone that was placed last, or `NO_ACTION`."""
        ...

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        """Play uniformly random actions to the end; afterwards only `state.winner` has a meaning.

        A game without a faster way takes `play_randomly`. A fast form draws from the same
        distribution, but for what its docstring names, and may use the stream otherwise.

        Args:
            state: The position, overwritten.
            rng: The stream.
            buffer: ``(>= num_actions(),) int32`` of scratch space.
        """
        ...

    def cell_of(self, state: State, action: int) -> int:
        """The cell that an action would fill; for an action that fills none, a number of its own.

        Searches use it to know the same move again in other positions.
        """
        ...

    def num_cells(self) -> int:
        """One more than the greatest number that `cell_of` returns."""
        ...

    def place(self, state: State, cell: int, player: int) -> None:
        """Put a stone on an empty cell without judging the position or passing the turn."""
        ...

    def completes(self, state: State, cell: int) -> bool:
        """Whether the owner of the stone on `cell` has won, as far as that stone can tell.

        It may look at the whole board, or only at the lines through the cell.
        """
        ...

    # ---- plain Python from here on ----

    def action_text(self, action: int) -> str:
        """The move as people write it."""
        ...

    def parse_action(self, text: str) -> int:
        """The action of a move's text.

        Raises:
            ValueError: If the text is no move on this board.
        """
        ...

    def why_illegal(self, state: State, action: int) -> str:
        """Why an action of a game in play is not legal: ``e5 is taken``."""
        ...

    def count_plies(self, owners: Cells, to_play: int) -> int:
        """How many plies lead from the start to these stones.

        Args:
            owners: ``(rows, columns) int8`` of 0, 1 and `EMPTY`.
            to_play: The player to move.

        Raises:
            ValueError: If the stones cannot come about.
        """
        ...

    def labels(self) -> tuple[list[str], list[str]]:
        """The names of the columns from the left and of the rows from the top, for the margins.

        Either list may be empty: its margin stays bare.
        """
        ...

    def planes(self) -> tuple[str, ...]:
        """The names of the planes that `observe` writes; the first two are own and opponent."""
        ...

    def symmetries(self) -> NDArray[np.int32]:
        """The symmetry group: ``(s, num_actions()) int32``, the identity first.

        Playing ``symmetries()[k, a]`` for every action ``a`` of a game gives the image of the game:
        the same legality and the same outcome at every ply.
        """
        ...

    def winning_cells(self, state: State) -> list[int]:
        """The cells that won, in order along the line or path; empty where nobody has won."""
        ...


STATE_FIELDS: Final[list[tuple[str, type[np.signedinteger[Any]]]]] = [
    ("ply", np.int16),
    ("last_action", np.int16),
    ("winner", np.int8),
]
"""The fields every state has; a game's dtype is these and its board."""


def state_dtype(*board: tuple[Any, ...]) -> np.dtype[np.void]:
    """The dtype of a state: the shared fields and the game's own, aligned as in C."""
    return np.dtype([*board, *STATE_FIELDS], align=True)


# ---- methods that games share: `copy = base.copy` in a game's class ------------------------------


@kernel
def copy(self: Any, source: State, into: State) -> None:
    """`Game.copy`: one memory copy."""
    copy_record(source, into)


@kernel
def is_terminal(self: Any, state: State) -> bool:
    """`Game.is_terminal`."""
    return state.winner != IN_PLAY


@kernel
def to_play(self: Any, state: State) -> int:
    """`Game.to_play` where the players alternate."""
    return state.ply & 1


@kernel
def outcome(self: Any, state: State, player: int) -> int:
    """`Game.outcome`."""
    return int(state.winner == player) - int(state.winner == 1 - player)


@kernel
def last_cell(self: Any, state: State) -> int:
    """`Game.last_cell` where actions are cells."""
    return int(state.last_action)


@kernel
def cell_of(self: Any, state: State, action: int) -> int:
    """`Game.cell_of` where actions are cells."""
    return action


@kernel
def num_cells(self: Any) -> int:
    """`Game.num_cells` where actions are cells."""
    return self.num_actions()


@kernel
def next_actions(self: Any, state: State, actions: Actions, count: int, played: int) -> int:
    """`Game.next_actions` for every game: ask for them all."""
    return self.legal_actions(state, actions)


@kernel
def winning_action(
    self: Any, state: State, player: int, near: int, actions: Actions, count: int
) -> int:
    """An action with which `player` would win at once, or `NO_ACTION`.

    Args:
        self: The game.
        state: A position in play.
        player: Who would play it.
        near: A cell; it is enough to find wins that the stone there has a part in. -1: all.
        actions: The legal actions.
        count: How many.
    """
    for pick in range(count):
        if self.wins_at(state, player, int(actions[pick])):
            return int(actions[pick])
    return NO_ACTION


@kernel
def drop_played(self: Any, state: State, actions: Actions, count: int, played: int) -> int:
    """`Game.next_actions` where a step makes nothing but its own action illegal."""
    actions[played] = actions[count - 1]
    return count - 1


def stone_planes(self: Any) -> tuple[str, ...]:
    """`Game.planes` where the stones say all there is to know."""
    return ("own", "opponent")


def why_illegal(self: Any, state: State, action: int) -> str:
    """`Game.why_illegal` where a move is a stone on a cell."""
    return f"{self.action_text(action)} is taken"


def count_plies(self: Any, owners: Cells, to_play: int) -> int:
    """`Game.count_plies` where the players alternate and every ply adds a stone."""
    stones = [int(np.count_nonzero(owners == player)) for player in (0, 1)]
    if stones[0] - stones[1] != to_play:
        raise ValueError(
            f"expected as many X as O with X to play, or one X more with O to play; "
            f"got {stones[0]} X and {stones[1]} O with {'XO'[to_play]} to play"
        )
    return sum(stones)


@kernel
def owners(self: Any, state: State, out: Cells) -> None:
    """`Game.owners` by way of `Game.owner`."""
    for cell in range(out.size):
        out[cell] = self.owner(state, cell)


@kernel
def owner_by_bits(first: int, second: int) -> int:
    """Whose stone it is by the lowest bits of two numbers, one for the stones of each player."""
    return (first & 1) + 2 * (second & 1) + EMPTY


@kernel
def legal_mask(self: Any, state: State, owners: Cells, out: NDArray[np.int8]) -> None:
    """`Game.legal_mask` where the actions are the cells, and the empty ones legal."""
    in_play = state.winner == IN_PLAY
    for cell in range(owners.size):
        out[cell] = in_play & (owners[cell] == EMPTY)


@kernel
def observe(self: Any, state: State, player: int, owners: Cells, out: NDArray[Any]) -> None:
    """`Game.observe` where the stones say all there is to know."""
    write_stones(owners, player, 0, out)


@inlined_kernel
def write_stones(owners: Cells, player: int, third: int, out: NDArray[Any]) -> None:
    """Write planes 0 and 1 of `Game.observe`, `third` all over plane 2, and zeros beyond.

    The first two cases are the last one over again. A compiler that knows how many planes there
    are writes them several times as fast, and compares bytes with bytes many at once.
    """
    own, opponent = np.int8(player), np.int8(1 - player)
    if out.shape[1] == 2:
        for cell in range(owners.size):
            out[cell, 0] = owners[cell] == own
            out[cell, 1] = owners[cell] == opponent
    elif out.shape[1] == 3:
        for cell in range(owners.size):
            out[cell, 0] = owners[cell] == own
            out[cell, 1] = owners[cell] == opponent
            out[cell, 2] = third
    else:
        out[:, 2] = third
        out[:, 3:] = 0
        for cell in range(owners.size):
            out[cell, 0] = owners[cell] == own
            out[cell, 1] = owners[cell] == opponent


@kernel
def play_randomly(self: Any, state: State, rng: np.random.Generator, buffer: Actions) -> None:
    """`Game.random_playout` in its generic form: one draw a ply over the ascending actions."""
    while not self.is_terminal(state):
        count = self.legal_actions(state, buffer)
        self.step(state, int(buffer[int(rng.random() * count)]))


@kernel
def split_draw(fraction: float, count: int) -> tuple[int, float]:
    """One of `count` at random, and what is left of the draw for another choice.

    Args:
        fraction: A uniform draw from [0, 1), or the rest of one. It has 53 random bits and a choice
            uses log2(count) of them; a playout that draws once for several choices saves more time
            than all its other arithmetic takes.
        count: Of how many to choose.
    """
    fraction *= count
    choice = int(fraction)
    return choice, fraction - choice


def zobrist_keys(*shape: int) -> NDArray[np.int64]:
    """Fixed random 64-bit keys, the same in every process (Zobrist 1970)."""
    bits = np.random.Generator(np.random.PCG64(1970))
    return bits.integers(np.iinfo(np.int64).min, np.iinfo(np.int64).max, shape)


SECOND_PLAYER_KEY: Final = 0x1D8E4E27C47D124F
"""Part of the hash of a position with player 1 to move."""


# ---- plain Python over any game ------------------------------------------------------------------


def parameters(game: Game) -> dict[str, Any]:
    """The parameters of a game by name, as plain Python values."""
    return {name: getattr(game, name) for name in type(game).__annotations__}


def column_letters(columns: int) -> list[str]:
    """``a``, ``b``, ``c``, ... without gaps."""
    return [chr(97 + column) for column in range(columns)]


def new_states(game: Game, count: int) -> Any:
    """``(count,)`` record array of starting positions."""
    states = np.zeros(count, game.state_dtype).view(np.recarray)
    for state in states:
        game.initial(state)
    return states


def new_state(game: Game) -> State:
    """The starting position of a game, as a record of its own."""
    return new_states(game, 1)[0]


def clone(game: Game, state: State) -> State:
    """An independent copy of a state."""
    result = np.zeros(1, game.state_dtype).view(np.recarray)[0]
    game.copy(state, result)
    return result


def legal_actions(game: Game, state: State) -> list[int]:
    """The legal actions as a list of Python integers, ascending."""
    out = np.empty(game.num_actions(), np.int32)
    return out[: game.legal_actions(state, out)].tolist()


def cell_owners(game: Game, state: State) -> Cells:
    """The whole board: ``(rows, columns) int8`` of 0, 1 and `EMPTY`."""
    cells = np.empty(game.rows * game.columns, np.int8)
    game.owners(state, cells)
    return cells.reshape(game.rows, game.columns)


def legal_mask_of(game: Game, state: State) -> NDArray[np.int8]:
    """The mask of the legal actions, ``(num_actions(),) int8``."""
    mask = np.empty(game.num_actions(), np.int8)
    game.legal_mask(state, cell_owners(game, state).reshape(-1), mask)
    return mask


def grid_symmetries(
    rows: int, columns: int, keep: Callable[[NDArray[np.int32]], Iterable[NDArray[np.int32]]]
) -> NDArray[np.int32]:
    """Permutations of a grid's cells: `keep` turns the array of cell numbers into its images.

    Returns:
        ``(s, rows * columns) int32``: entry ``[k, cell]`` is where the image has that cell.
    """
    cells = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    return np.stack([np.argsort(image, axis=None) for image in keep(cells)]).astype(np.int32)


def dihedral_images(cells: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """The images of a board under the symmetries of its square (8) or rectangle (4)."""
    turns = [0, 1, 2, 3] if cells.shape[0] == cells.shape[1] else [0, 2]
    turned = [np.rot90(cells, turn) for turn in turns]
    return turned + [image[:, ::-1] for image in turned]


def line_cells(game: Game, state: State, length: int) -> list[int]:
    """The winner's stones on the lines of at least `length` that have won, ascending."""
    if state.winner == IN_PLAY:
        return []
    owners = cell_owners(game, state)
    found: set[int] = set()
    for row, column in zip(*np.nonzero(owners == state.winner), strict=True):
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            line = _run_from(owners, int(row), int(column), down, right)
            if len(line) >= length and all(game.completes(state, cell) for cell in line):
                found.update(line)
    return sorted(found)


def _run_from(owners: Cells, row: int, column: int, down: int, right: int) -> list[int]:
    """The cells of the run that starts here in one direction; empty where it starts earlier."""
    rows, columns = owners.shape

    def owner(row: int, column: int) -> int:
        inside = 0 <= row < rows and 0 <= column < columns
        return int(owners[row, column]) if inside else OUTSIDE

    player = owner(row, column)
    line: list[int] = []
    if owner(row - down, column - right) != player:
        while owner(row, column) == player:
            line.append(row * columns + column)
            row, column = row + down, column + right
    return line


def whole_number(name: str, value: Any) -> int:
    """A parameter as an integer.

    Raises:
        ValueError: If it is none.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"expected a whole number of {name}, got {value!r}") from None


def parse_board_size(board_size: int | tuple[int, int], least: int, most: int) -> tuple[int, int]:
    """``(rows, columns)`` of a board size given as a number or a pair.

    Raises:
        ValueError: If it is neither, or a side is not within `least` and `most`.
    """
    sides = board_size if isinstance(board_size, (tuple, list)) else (board_size, board_size)
    try:
        rows, columns = map(operator.index, sides)
    except (TypeError, ValueError):
        rows, columns = 0, 0  # no pair, or not of integers
    if not (least <= rows <= most and least <= columns <= most):
        raise ValueError(
            f"expected a board size from {least} to {most}, or a pair of such, got {board_size!r}"
        )
    return rows, columns


def parse_cell(text: str, rows: int, columns: int) -> tuple[int, int]:
    """The row number, from 0, and the column of a cell written as letter and number from 1.

    Raises:
        ValueError: If the text is no cell of a board of this size.
    """
    letter, number = text[:1], text[1:]
    if number.isdecimal() and 1 <= int(number) <= rows and 0 <= ord(letter) - 97 < columns:
        return int(number) - 1, ord(letter) - 97
    raise ValueError(f"expected a cell from a1 to {chr(96 + columns)}{rows}, got {text!r}")
