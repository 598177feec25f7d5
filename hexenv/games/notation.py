"""Positions as text and as bytes: move lists, boards, serialised states, for any game."""

import json
import operator
import struct
import zlib
from typing import Any, Final, TypeGuard

import numpy as np

from hexenv.common.messages import shortened
from hexenv.games.base import (
    DRAW,
    EMPTY,
    IN_PLAY,
    NO_ACTION,
    Cells,
    Game,
    State,
    StoneGame,
    cell_owners,
    clone,
    legal_actions,
    new_state,
    parameters,
)
from hexenv.games.promises import unguarded

SYMBOLS: Final = "XO"
"""The stones of players 0 and 1 on text boards; an empty cell is a dot."""


OUT_OF_TURN: Final = {"ply": 0}
"""Details of a position for `from_cells` whose players may not have moved in turn."""


class IllegalActionError(ValueError):
    """An action that the rules do not allow here."""


# ---- moves -------------------------------------------------------------------------------------


def check_action(game: Game, state: State, action: object) -> int:
    """The action as an integer; an `IllegalActionError` says why it is not legal, and when."""
    where = f"(ply {state.ply})"
    try:
        number = operator.index(action)  # type: ignore[arg-type]
    except TypeError:
        raise IllegalActionError(
            f"illegal action {shortened(action)}: not an integer, expected one from 0 to "
            f"{game.num_actions() - 1}{action_of_move(game, action)} {where}"
        ) from None
    if not 0 <= number < game.num_actions():
        raise IllegalActionError(
            f"illegal action {number}: expected 0 to {game.num_actions() - 1} {where}"
        )
    if game.is_terminal(state):
        raise IllegalActionError(f"illegal action {number}: the game is over {where}")
    if number not in legal_actions(game, state):
        raise IllegalActionError(
            f"illegal action {number}: {game.why_illegal(state, number)} {where}"
        )
    return number


def action_of_move(game: Game, move: object) -> str:
    """`` (the move a1 is action 0)`` where a user gives a move for an action, else nothing."""
    if not isinstance(move, str):
        return ""
    try:
        return f" (the move {move} is action {game.parse_action(move.strip().lower())})"
    except ValueError:
        return ""


def parse_move(game: Game, state: State, text: str) -> int:
    """The legal action of a move's text."""
    return check_action(game, state, game.parse_action(text.strip().lower()))


def has_short_moves(game: Game) -> bool:
    """Whether every move is one character, so that a game is written without spaces."""
    return all(len(game.action_text(action)) == 1 for action in range(game.num_actions()))


def moves_text(game: Game, actions: list[int]) -> str:
    """A move list: ``4453`` where every move is one character, else ``a1 b2 c3``."""
    return ("" if has_short_moves(game) else " ").join(map(game.action_text, actions))


def parse_moves(game: Game, text: str) -> list[int]:
    """The actions of a move list from the start; a ValueError names the move that is none there.

    Spaces and commas may separate the moves.
    """
    words = text.replace(",", " ").split()
    if has_short_moves(game):
        words = [letter for word in words for letter in word]
    state = new_state(game)
    actions: list[int] = []
    for number, word in enumerate(words, 1):
        try:
            actions.append(parse_move(game, state, word))
        except ValueError as error:
            raise ValueError(f"move {number} of {len(words)}: {error}") from None
        game.step(state, actions[-1])
    return actions


def play(game: Game, actions: list[int], start: State | None = None) -> State:
    """The position after actions; `IllegalActionError` at one that is not legal.

    They are played from the start of the game, or from a position of it.
    """
    state = new_state(game) if start is None else clone(game, start)
    for action in actions:
        game.step(state, check_action(game, state, action))
    return state


# ---- boards ------------------------------------------------------------------------------------


def has_stones(game: Game) -> TypeGuard[StoneGame]:
    """Whether a position of the game can be built from the stones on it."""
    return hasattr(game, "place")


def _with_stones(game: Game) -> StoneGame:
    """The game, or a ValueError if its positions cannot be built from stones."""
    if has_stones(game):
        return game
    raise ValueError(
        f"expected a game whose stones stay where they are placed, got {game.name}: "
        "give the moves that lead to a position, or the bytes of its state"
    )


def board_text(game: Game, state: State) -> str:
    """The board as rows of ``X``, ``O`` and ``.``, separated by spaces, without margins."""
    symbols = {EMPTY: ".", 0: SYMBOLS[0], 1: SYMBOLS[1]}
    return "\n".join(
        " ".join(symbols[int(owner)] for owner in row) for row in cell_owners(game, state)
    )


def parse_board(
    game: Game, text: str, to_play: int | None = None, details: dict[str, int] | None = None
) -> State:
    """The position of a board written as rows of ``X``, ``O`` and ``.`` (or ``-``, ``_``).

    Line ends or slashes separate rows; blanks do not count. Who is to play is told by the numbers
    of stones unless given. `details` are those of `from_cells`. ValueError if the rows do not fit,
    or no game leads there.
    """
    game = _with_stones(game)
    values = {"x": 0, "o": 1, ".": EMPTY, "-": EMPTY, "_": EMPTY}
    rows = ["".join(row.split()).lower() for row in text.replace("/", "\n").splitlines()]
    rows = [row for row in rows if row]
    if len(rows) != game.rows or any(len(row) != game.columns for row in rows):
        widths = sorted({len(row) for row in rows})
        raise ValueError(
            f"expected a board of {game.rows} rows of {game.columns} cells, "
            f"got {len(rows)} rows of {', '.join(map(str, widths)) or 'no'} cells"
        )
    unknown = sorted(set("".join(rows)) - set(values))
    if unknown:
        raise ValueError(f"expected cells of X, O and '.', got {unknown[0]!r}")
    owners = np.array([[values[symbol] for symbol in row] for row in rows], np.int8)
    if to_play is None:
        stones = [int(np.count_nonzero(owners == player)) for player in (0, 1)]
        to_play = 1 if stones[0] > stones[1] else 0
    return from_cells(game, owners, to_play, details=details)


def from_cells(
    game: Game,
    owners: Cells,
    to_play: int,
    last_action: int = NO_ACTION,
    details: dict[str, int] | None = None,
) -> State:
    """The position with these ``(rows, columns)`` stones, judged as the rules judge it.

    `details` is what else `details_of` has said of it, or `OUT_OF_TURN`, where a game may allow
    what no game leads to. ValueError if it does not, or the game's positions cannot be built from
    stones.
    """
    game = _with_stones(game)
    if to_play not in (0, 1):
        raise ValueError(f"expected player 0 or 1 to play, got {to_play!r}")
    state = new_state(game)
    set_up = getattr(game, "set_up", None)
    if set_up is not None:
        set_up(state, owners, to_play, details or {})
    else:
        state.ply = game.count_plies(owners, to_play)
    for cell, owner in enumerate(owners.flat):
        if owner != EMPTY:
            game.place(state, cell, int(owner))
    winners = {
        int(owner)
        for cell, owner in enumerate(owners.flat)
        if owner != EMPTY and game.completes(state, cell)
    }
    if winners - {1 - to_play}:
        who = "both sides have" if len(winners) == 2 else "the side to play has"
        raise ValueError(f"expected a position of a game, got one in which {who} won")
    has_won = bool(winners)
    state.winner = winners.pop() if winners else IN_PLAY
    # A game's guard would refuse a full board that is not yet said to be a draw.
    find = unguarded(type(game).legal_actions)
    if not has_won and find(game, state, np.empty(game.num_actions(), np.int32)) == 0:
        state.winner = DRAW
    if details and 0 <= last_action < game.num_actions():
        state.last_action = last_action
    else:
        _set_last_action(game, state, last_action)
    if last_action != NO_ACTION and not has_won and is_lost_by(game, state):
        state.winner = to_play
    return state


def details_of(game: Game, state: State) -> dict[str, int]:
    """What the stones, the player to move and the last action do not tell; mostly nothing."""
    details = getattr(game, "details", None)
    return {} if details is None else details(state)


def is_lost_by(game: Game, state: State) -> bool:
    """Whether the last action loses the game for who played it: what the stones do not tell."""
    loses_by = getattr(game, "loses_by", None)
    return loses_by is not None and bool(loses_by(state, int(state.last_action)))


def _set_last_action(game: Game, state: State, action: int) -> None:
    """Note the last action, and refuse one whose stone is not on the board."""
    if action == NO_ACTION:
        return
    if 0 <= action < game.num_actions():
        state.last_action = action
        cell = game.last_cell(state)
        if cell != NO_ACTION and game.owner(state, cell) == 1 - game.to_play(state):
            return
    raise ValueError(f"expected a last action that led to these stones, got {action}")


# ---- bytes -------------------------------------------------------------------------------------

MAGIC: Final = b"hexenv"
FORMAT_VERSION: Final = 1


def to_bytes(game: Game, state: State) -> bytes:
    """A position as bytes: a header with the format's version and the game, then the stones.

    Of a game whose positions cannot be built from stones it is the state itself.
    """
    header: dict[str, Any] = {"game": game.name, "parameters": parameters(game)}
    if has_stones(game):
        header |= {"to_play": int(game.to_play(state)), "last_action": int(state.last_action)}
        if details := details_of(game, state):
            header["details"] = details
        position = cell_owners(game, state).tobytes()
    else:
        position = state.tobytes()
        header["check"] = zlib.crc32(position)
    text = json.dumps(header, sort_keys=True).encode()
    return MAGIC + struct.pack("<HH", FORMAT_VERSION, len(text)) + text + position


def from_bytes(game: Game, data: bytes) -> State:
    """The position that `to_bytes` wrote, checked as if it had been typed in.

    The state of a game without stones that are placed can only be checked for damage: take it from
    where you trust.

    ValueError if the data are damaged, or of another version, game or options.
    """
    start = len(MAGIC) + 4
    if data[: len(MAGIC)] != MAGIC or len(data) < start:
        raise ValueError("expected a position written by to_bytes, got other data")
    version, length = struct.unpack("<HH", data[len(MAGIC) : start])
    if version != FORMAT_VERSION:
        raise ValueError(f"expected format version {FORMAT_VERSION}, got {version}")
    try:
        header = json.loads(data[start : start + length])
        of = (str(header["game"]), dict(header["parameters"]))
        if not has_stones(game):
            to_play, last_action = 0, NO_ACTION
        else:
            to_play, last_action = int(header["to_play"]), int(header["last_action"])
        details = {str(key): int(value) for key, value in header.get("details", {}).items()}
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        raise ValueError("expected the header of a position, got damaged data") from None
    if of != (game.name, parameters(game)):
        raise ValueError(f"expected a position of {game}, got one of {of[0]} {of[1]}")
    board = data[start + length :]
    if not has_stones(game):
        return _state_of(game, board, header.get("check"))
    if len(board) != game.rows * game.columns:
        raise ValueError(
            f"expected {game.rows * game.columns} cells, got {len(board)} (damaged data?)"
        )
    owners = np.frombuffer(board, np.int8).reshape(game.rows, game.columns)
    if not np.isin(owners, (EMPTY, 0, 1)).all() or to_play not in (0, 1):
        raise ValueError("expected cells of -1, 0 and 1 and a player of 0 or 1, got damaged data")
    return from_cells(game, owners, to_play, last_action, details)


def _state_of(game: Game, data: bytes, check: object) -> State:
    """The state with these bytes."""
    if len(data) != game.state_dtype.itemsize or zlib.crc32(data) != check:
        raise ValueError(f"expected a state of {game}, got damaged data")
    state = new_state(game)
    game.copy(np.frombuffer(data, game.state_dtype).view(np.recarray)[0], state)
    return state
