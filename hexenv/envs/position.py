"""The position of an environment: its start, its legal mask, and compiled code to play on it."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import not_one_of, shortened, warn_user
from hexenv.compiled import CompiledFunction, is_compiled, kernel, scratch_array
from hexenv.envs.observation import compiled_show
from hexenv.games import notation
from hexenv.games.base import IN_PLAY, Game, State, legal_mask_of, new_state
from hexenv.render.display import board_image, render_picture

# ---- positions that show themselves --------------------------------------------------------------


def describe(game: Game, state: State | None) -> str:
    """A game and where it stands, in a line; without a state it has not begun."""
    if state is None:
        return f"{game!r} before reset"
    from hexenv.render.ansi import status_text  # few programs show anything

    last = (
        "" if state.last_action < 0 else f", last move {game.action_text(int(state.last_action))}"
    )
    return f"{game!r}: {status_text(game, state)}{last}"


class BoardState(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A state that shows itself, where it knows its game."""

    def _game(self) -> Game | None:
        return vars(self).get("game")

    def __repr__(self) -> str:
        game = self._game()
        return super().__repr__() if game is None else f"<state of {describe(game, self)}>"

    def __str__(self) -> str:
        game = self._game()
        return super().__str__() if game is None else render_picture(game, self, "ansi")

    def _repr_html_(self) -> str | None:
        game = self._game()
        return None if game is None else board_image(game, self)


def state_dtype_of(game: Game) -> np.dtype[Any]:
    """The dtype of a game's states with the class `BoardState`, of which NumPy makes elements."""
    return np.dtype((BoardState, game.state_dtype))


def state_in(game: Game, states: NDArray[Any]) -> State:
    """The first of some states of `state_dtype_of` a game, which it then knows."""
    state = states[0]
    vars(state)["game"] = game
    return state


# ---- starting positions --------------------------------------------------------------------------


class Start(NamedTuple):
    """A starting position, and what `reset` needs to know about it."""

    record: NDArray[np.uint8]
    mask: NDArray[np.int8]
    winner: int
    to_play: int
    actions: list[int]
    """The actions that led there, if they are known."""

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
    """The positions after the given openings, or the initial position if None are given."""
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


START_OPTIONS: Final = ("moves", "board", "to_play", "state")
"""What the options of a reset may give."""
IGNORED_OPTIONS: Final = ("options",)
"""What PettingZoo's API test gives, to see that options may be given."""


def start_from_options(game: Game, options: dict[str, Any]) -> Start | None:
    """The position that the options of `hexenv.envs.aec.BoardEnv.reset` give; None without one."""
    if not isinstance(options, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"expected options of reset as a dict, got {shortened(options)}")
    for key in options:
        if key not in START_OPTIONS and key not in IGNORED_OPTIONS:
            unknown = not_one_of("an option of reset", START_OPTIONS, key)
            warn_user(f"{unknown}: it is ignored")
    given = [key for key in ("moves", "board", "state") if options.get(key) is not None]
    if len(given) > 1:
        raise ValueError(f"expected one starting position, got {' and '.join(given)}")
    for key in ("moves", "board"):
        if key in given and not isinstance(options[key], str):
            raise ValueError(f"expected {key} as text, got {type(options[key]).__name__}")
    if options.get("to_play") is not None and "board" not in given:
        raise ValueError("expected to_play with a board, got it without one")
    if "moves" in given:
        return Start.after(game, options["moves"])
    if "board" in given:
        board, to_play = options["board"], options.get("to_play")
        if to_play not in (None, 0, 1):
            raise ValueError(f"expected to_play of 0 or 1, got {to_play!r}")
        return Start.of(game, notation.parse_board(game, board, to_play))
    if "state" in given:
        return Start.of(game, _checked_state(game, options["state"]))
    return None


def _checked_state(game: Game, state: Any) -> State:
    """A state given as bytes or as a record; a record is converted to bytes to be checked."""
    if isinstance(state, bytes):
        return notation.from_bytes(game, state)
    if getattr(state, "dtype", None) != game.state_dtype:
        raise ValueError(f"expected a state of {game.name} or bytes, got {type(state).__name__}")
    restored = notation.from_bytes(game, notation.to_bytes(game, state))
    # A record does not contain the size of its board: for a wrong size it means another position.
    expected = (state.ply, state.winner, game.position_hash(state))
    if expected != (restored.ply, restored.winner, game.position_hash(restored)):
        raise ValueError(f"expected a state of {game}, got one of another board")
    return restored


# ---- compiled code -------------------------------------------------------------------------------


@kernel
def write_mask(game: Any, states: Any, mask: NDArray[np.int8]) -> None:
    """Write the legal mask."""
    owners = scratch_array(game.rows * game.columns, np.int8)
    game.owners(states[0], owners)
    game.legal_mask(states[0], owners, mask)


@kernel
def advance(game: Any, states: Any, action: int, mask: NDArray[np.int8]) -> tuple[int, int]:
    """Step, and write the new mask; returns the winner and the player to move."""
    state = states[0]
    game.step(state, action)
    write_mask(game, states, mask)
    return state.winner, game.to_play(state)


compiled_advance: Final = CompiledFunction(advance, "the environment")
compiled_write_mask: Final = CompiledFunction(write_mask, "the environment")


class Rules:
    """A game and its machine code, made when it is first needed, for a position and its copies.

    A game that does not compile is interpreted.
    """

    def __init__(self, game: Game, extra_planes: NDArray[np.int8], num_planes: int) -> None:
        self.game = game
        self.extra_planes = extra_planes
        self.planes_shape = (game.rows * game.columns, num_planes)
        self.dtype = state_dtype_of(game)  # a record in Python, too
        self._mask = np.empty(game.num_actions(), np.int8)

    def _fast(self, function: CompiledFunction, *arguments: Any) -> Any:
        if not is_compiled(self.game):
            return function.function
        return function.specialise(self.game, np.zeros(1, self.dtype), *arguments)

    @cached_property
    def advance(self) -> Callable[..., Any]:
        return self._fast(compiled_advance, 0, self._mask)

    @cached_property
    def write_mask(self) -> Callable[..., Any]:
        return self._fast(compiled_write_mask, self._mask)

    @cached_property
    def show(self) -> Callable[..., Any]:
        out = np.empty(self.planes_shape, np.int8)
        return self._fast(compiled_show, 0, self.extra_planes, out)

    def __getstate__(self) -> dict[str, Any]:
        machine_code = ("advance", "show", "write_mask")  # which cannot be copied
        return {name: each for name, each in self.__dict__.items() if name not in machine_code}


class BoardPosition:
    """One position of a game, which changes in place, and its legal mask.

    The mask, ``(num_actions,) int8``, is all zeros once the game is over.
    """

    def __init__(self, start: Start, rules: Rules) -> None:
        self._rules = rules
        self._bytes = start.record.copy()
        self._states = self._bytes.view(rules.dtype)
        self.mask = np.zeros(rules.game.num_actions(), np.int8)

    @property
    def state(self) -> State:
        return state_in(self._rules.game, self._states)

    def start(self, start: Start) -> None:
        self._bytes[:] = start.record
        self.mask[:] = start.mask

    def begin_at(self, state: State) -> None:
        # Fast code pays: searches call this at every position.
        self._bytes[:] = np.frombuffer(state.tobytes(), np.uint8)
        self._rules.write_mask(self._rules.game, self._states, self.mask)

    def step(self, action: int) -> tuple[int, int]:
        """Play a legal action; returns the winner and the player to move."""
        return self._rules.advance(self._rules.game, self._states, action, self.mask)

    def planes(self, player: int) -> NDArray[np.int8]:
        """``(cells, planes)``: what a player sees, a fresh array."""
        rules = self._rules
        out = np.empty(rules.planes_shape, np.int8)
        rules.show(rules.game, self._states, player, rules.extra_planes, out)
        return out

    def copy(self) -> "BoardPosition":
        twin = object.__new__(BoardPosition)
        twin._rules = self._rules
        twin._bytes = self._bytes.copy()
        twin._states = np.ndarray(1, self._rules.dtype, twin._bytes)  # faster than a view
        twin.mask = self.mask.copy()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_states": None}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._states = self._bytes.view(self._rules.dtype)
