"""What a game's file imports: the contract (of `contract.py`), and what games share beside it."""

import operator
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import shortened
from hexenv.compiled import copy_record, inlined_kernel, kernel, optional_method
from hexenv.games.contract import (
    DRAW,
    EMPTY,
    IN_PLAY,
    MOST,
    NO_ACTION,
    OUTSIDE,
    PLAIN_VERBS,
    STATE_FIELDS,
    Actions,
    Cells,
    Game,
    OptionalVerbs,
    State,
    StoneGame,
    Style,
    state_dtype,
)

__all__ = [
    "DRAW", "EMPTY", "IN_PLAY", "MOST", "NO_ACTION", "OUTSIDE", "PLAIN_VERBS",
    "SECOND_PLAYER_KEY", "STATE_FIELDS", "Actions", "Cells", "Game", "OptionalVerbs", "State",
    "StoneGame", "Style", "begin", "cell_of", "cell_owners", "cells_of_action", "clone",
    "column_letters", "copy", "count_plies", "dihedral_images", "draw_bits", "drop_played",
    "expect_game", "from_middle", "grid_symmetries", "is_terminal", "last_cell", "legal_actions",
    "legal_mask", "legal_mask_of", "line_cells", "new_state", "new_states", "next_actions",
    "num_cells", "observe", "outcome", "owner_by_bits", "owners", "parameters", "parse_board_size",
    "parse_cell", "play_randomly", "score_of", "split_draw", "state_dtype", "stone_planes",
    "to_play", "why_illegal", "winning_action", "write_stones", "zobrist_keys",
]  # fmt: skip


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
def outcome_as_score(self: Any, state: State, player: int) -> float:
    """`score_of` in a game that knows only wins, draws and losses."""
    return float(self.outcome(state, player))


score_of = optional_method("final_score", outcome_as_score)
"""The result of a game that is over for a player, -1 to 1: its `final_score`, else `outcome`."""


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

    With a cell `near` it is enough to find wins that the stone there has a part in; -1: all. A game
    in which a player may move twice in a row looks for all of them.
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


def cells_of_action(self: Any, state: State, action: int) -> tuple[int, ...]:
    """`Game.cells_of_action` by `Game.cell_of`: the cell that the action fills."""
    cell = int(self.cell_of(state, action))
    return (cell,) if 0 <= cell < self.rows * self.columns else ()


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


TRIALS: Final = 16
"""How often `draw_cell` tries before it lists the legal actions."""


@kernel
def draw_listed(self: Any, state: State, rng: Any, buffer: Actions) -> int:
    """`random_action` for every game: list the legal actions and draw one."""
    count = self.legal_actions(state, buffer)
    return int(buffer[int(rng.random() * count)])


random_action = optional_method("random_action", draw_listed)
"""A uniformly random legal action of a game in play; `buffer` as in `Game.random_playout`."""


@kernel
def draw_cell(self: Any, state: State, rng: Any, buffer: Actions) -> int:
    """`random_action` of a game with many actions, mostly legal: draw until one `is_legal`."""
    for _ in range(TRIALS):
        action = int(rng.random() * self.num_actions())
        if self.is_legal(state, action):
            return action
    return draw_listed(self, state, rng, buffer)


DRAWN: Final = 53
"""Random bits in a draw."""


@inlined_kernel
def draw_bits(rng: np.random.Generator) -> int:
    """A random number below ``2**DRAWN``."""
    return int(rng.random() * (1 << DRAWN))


@inlined_kernel
def split_draw(bits: int, count: int) -> tuple[int, int]:
    """One of `count`, at most 1,023, by the bits of a draw, and what is left for another choice.

    A choice uses log2(count) of the bits; a playout that draws once for several choices saves more
    time than all its other arithmetic takes. The probability of n choices is wrong by a share of
    about ``count**n / 2**DRAWN``: for four of 400, 3e-6.
    """
    bits *= count
    return bits >> DRAWN, bits & ((1 << DRAWN) - 1)


@kernel
def begin(state: State) -> None:
    """Write the fields of every state as they are before the first ply: for `Game.initial`."""
    state.ply = 0
    state.last_action = NO_ACTION
    state.winner = IN_PLAY


def zobrist_keys(*shape: int) -> NDArray[np.int64]:
    """Fixed random 64-bit keys, the same in every process (Zobrist 1970)."""
    bits = np.random.Generator(np.random.PCG64(1970))
    return bits.integers(np.iinfo(np.int64).min, np.iinfo(np.int64).max, shape)


SECOND_PLAYER_KEY: Final = 0x1D8E4E27C47D124F
"""Part of the hash of a position with player 1 to move."""


# ---- plain Python over any game ------------------------------------------------------------------


def parameters(game: Game) -> dict[str, Any]:
    """The parameters of a game by name, as JSON gives them back: lists for tuples."""
    names = getattr(type(game), "_fields", type(game).__annotations__)
    return {name: _plain(getattr(game, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in cast("tuple[Any, ...]", value)]
    return cast("Any", value).item() if isinstance(value, np.generic) else value


def expect_game(value: Any) -> None:
    """Refuse what is no game, or one that states, files or searches cannot hold.

    Raises:
        TypeError: With what was expected.
        ValueError: If it has more actions or plies than a state can count.
    """
    if isinstance(value, type):
        name = value.__name__
        raise TypeError(f"expected a game, got the class {name}: make one with {name}()")
    for name in ("state_dtype", "num_actions", "max_plies", "initial", "legal_actions", "step"):
        if not hasattr(value, name):
            raise TypeError(f"expected a game, got {shortened(value)}, which has no {name}")
    for name in getattr(value, "_fields", ()):
        if not _is_parameter(field := getattr(value, name)):
            expected = "fields of numbers, texts, flags and tuples; arrays are class constants"
            raise TypeError(f"{value}: expected {expected}; got {shortened(field)} as {name}")
    for name in ("num_actions", "max_plies"):
        if not 1 <= (count := getattr(value, name)()) <= MOST:
            raise ValueError(f"{value}: expected {name}() from 1 to {MOST}, got {count}")


def _is_parameter(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_parameter, cast("tuple[Any, ...]", value)))
    return value is None or isinstance(value, int | float | str | np.generic)


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


def from_middle(rows: int, columns: int, cell: int) -> float:
    """How many rows or columns, whichever are more, a cell is from the middle of the board."""
    row, column = divmod(cell, columns)
    return max(abs(2 * row - rows + 1), abs(2 * column - columns + 1)) / 2


def clone(game: Game, state: State) -> State:
    """An independent copy of a state."""
    result = np.zeros(1, np.dtype((np.record, game.state_dtype)))[0]
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

    ``(s, rows * columns) int32``: entry ``[k, cell]`` is where the image has that cell.
    """
    cells = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    return np.stack([np.argsort(image, axis=None) for image in keep(cells)]).astype(np.int32)


def dihedral_images(cells: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """The images of a board under the symmetries of its square (8) or rectangle (4)."""
    turns = [0, 1, 2, 3] if cells.shape[0] == cells.shape[1] else [0, 2]
    turned = [np.rot90(cells, turn) for turn in turns]
    return turned + [image[:, ::-1] for image in turned]


def line_cells(game: StoneGame, state: State, length: int) -> list[int]:
    """The winner's stones on the lines of at least `length` that have won, ascending."""
    if state.winner == IN_PLAY:
        return []
    board = np.pad(cell_owners(game, state), 1, constant_values=OUTSIDE)
    found: set[int] = set()
    for row, column in np.argwhere(board == state.winner).tolist():
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            if board[row - down, column - right] == state.winner:
                continue  # the line starts earlier
            line, place = list[int](), (row, column)
            while board[place] == state.winner:
                line.append((place[0] - 1) * game.columns + place[1] - 1)
                place = place[0] + down, place[1] + right
            if len(line) >= length and all(game.completes(state, cell) for cell in line):
                found.update(line)
    return sorted(found)


def parse_board_size(board_size: int | tuple[int, int], least: int, most: int) -> tuple[int, int]:
    """``(rows, columns)`` of a board size, a number or a pair, within `least` and `most`."""
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
    """The row number, from 0, and the column of a cell written as letter and number from 1."""
    letter, number = text[:1], text[1:]
    if number.isdecimal() and 1 <= int(number) <= rows and 0 <= ord(letter) - 97 < columns:
        return int(number) - 1, ord(letter) - 97
    raise ValueError(f"expected a cell from a1 to {chr(96 + columns)}{rows}, got {text!r}")
