"""Where a game starts: a position that the options of a `reset` tell, or one of some openings."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.games import notation
from hexenv.games.base import IN_PLAY, Game, State, legal_mask_of, new_state


class Start(NamedTuple):
    """A position to start from, with what `reset` needs to know of it."""

    record: NDArray[np.uint8]
    mask: NDArray[np.int8]
    winner: int
    to_play: int
    actions: list[int]
    """What has led there, as far as it is known."""

    @staticmethod
    def of(game: Game, state: State, actions: Sequence[int] = ()) -> "Start":
        mask = legal_mask_of(game, state)
        record = np.frombuffer(state.tobytes(), np.uint8)
        return Start(record, mask, int(state.winner), int(game.to_play(state)), list(actions))

    @staticmethod
    def after(game: Game, moves: str) -> "Start":
        actions = notation.parse_moves(game, moves)
        return Start.of(game, notation.play(game, actions), actions)


def opening_starts(game: Game, openings: Sequence[str] | None) -> list[Start]:
    """The positions after given openings; without any, the start of the game.

    Raises:
        ValueError: If there is none among them, one is no list of legal moves, or ends the game.
    """
    if openings is None:
        return [Start.of(game, new_state(game))]
    if not isinstance(openings, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"expected an opening's name or move lists, got {openings!r}")
    if not openings:
        raise ValueError("expected at least one opening, got none")
    starts: list[Start] = []
    for moves in openings:
        if not isinstance(moves, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"expected openings as move lists, got {moves!r}")
        starts.append(Start.after(game, moves))
        if starts[-1].winner != IN_PLAY:
            raise ValueError(f"expected openings that leave the game in play, got {moves!r}")
    return starts


def told_start(game: Game, options: dict[str, Any]) -> Start | None:
    """The position that the options of a `reset` tell; None where they tell none.

    Args:
        game: The game.
        options: See `hexenv.envs.aec.BoardEnv.reset`.

    Raises:
        ValueError: If there are several, or one that cannot be read or cannot come about.
    """
    given = [key for key in ("moves", "board", "state") if options.get(key) is not None]
    if len(given) > 1:
        raise ValueError(f"expected one starting position, got {' and '.join(given)}")
    for key in ("moves", "board"):
        if key in given and not isinstance(options[key], str):
            raise ValueError(f"expected {key} as text, got {type(options[key]).__name__}")
    if "moves" in given:
        return Start.after(game, options["moves"])
    if "board" in given:
        board, to_play = options["board"], options.get("to_play")
        if to_play not in (None, 0, 1):
            raise ValueError(f"expected to_play of 0 or 1, got {to_play!r}")
        return Start.of(game, notation.parse_board(game, board, to_play))
    if "state" in given:
        return Start.of(game, _restored(game, options["state"]))
    return None


def _restored(game: Game, state: Any) -> State:
    """A state given as bytes, or as a record, which is checked by way of bytes."""
    if isinstance(state, bytes):
        return notation.from_bytes(game, state)
    if getattr(state, "dtype", None) != game.state_dtype:
        raise ValueError(f"expected a state of {game.name} or bytes, got {type(state).__name__}")
    restored = notation.from_bytes(game, notation.to_bytes(game, state))
    # A record does not tell the size of its board: on a wrong one it reads as another position.
    told = (state.ply, state.winner, game.position_hash(state))
    if told != (restored.ply, restored.winner, game.position_hash(restored)):
        raise ValueError(f"expected a state of {game}, got one of another board")
    return restored
