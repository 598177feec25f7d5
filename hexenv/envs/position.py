"""The position of an environment, and the compiled code that plays on it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import is_compiled
from hexenv.envs.observation import (
    advance,
    compiled_advance,
    compiled_show,
    compiled_write_mask,
    show,
    write_mask,
)
from hexenv.envs.starts import Start
from hexenv.games.base import Game, State


class Code:
    """The rules and their machine code, which a position and its copies share.

    Args:
        game: The rules.
        extra_planes: See `hexenv.envs.observation.extra_codes`.
        num_planes: How many planes there are, with the game's own.
    """

    def __init__(self, game: Game, extra_planes: NDArray[np.int8], num_planes: int) -> None:
        self.game = game
        self.extra_planes = extra_planes
        self.planes_shape = (game.rows * game.columns, num_planes)
        self.dtype = np.dtype((np.record, game.state_dtype))  # a record in Python, too
        self.advance: Callable[..., Any] | None = None
        self.show: Callable[..., Any] | None = None
        self.write_mask: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, **dict.fromkeys(("advance", "show", "write_mask"))}


class Position:
    """One position of a game, which changes in place, and its legal mask.

    Args:
        start: Where it is at first.
        code: What plays on it.

    Attributes:
        mask: ``(num_actions,) int8``: 1 for a legal action; all zeros once the game is over.
    """

    def __init__(self, start: Start, code: Code) -> None:
        self._code = code
        self._bytes = start.record.copy()
        self._states = self._bytes.view(code.dtype)
        self.mask = np.zeros(code.game.num_actions(), np.int8)

    @property
    def state(self) -> State:
        """The position as a record for the game's verbs."""
        return self._states[0]

    def bind(self) -> None:
        """Find the machine code; a game that does not compile is interpreted."""
        code = self._code
        if code.advance is None:
            game, states = code.game, self._states
            code.advance, code.show = advance, show
            if is_compiled(game):
                out = np.empty(code.planes_shape, np.int8)
                code.advance = compiled_advance.specialise(game, states, 0, self.mask)
                code.show = compiled_show.specialise(game, states, 0, code.extra_planes, out)

    def start(self, start: Start) -> None:
        """Go to a start."""
        self._bytes[:] = start.record
        self.mask[:] = start.mask

    def begin_at(self, state: State) -> None:
        """Go to any position of the game."""
        code = self._code
        self._bytes[:] = np.frombuffer(state.tobytes(), np.uint8)
        if code.write_mask is None:  # searches and opponents come here at every position
            code.write_mask = write_mask
            if is_compiled(code.game):
                arguments = (code.game, self._states, self.mask)
                code.write_mask = compiled_write_mask.specialise(*arguments)
        code.write_mask(code.game, self._states, self.mask)

    def step(self, action: int) -> tuple[int, int]:
        """Play a legal action; returns the winner and the player to move."""
        code = self._code
        assert code.advance is not None
        return code.advance(code.game, self._states, action, self.mask)

    def planes(self, player: int) -> NDArray[np.int8]:
        """``(cells, planes)``: what a player sees, a fresh array."""
        code = self._code
        out = np.empty(code.planes_shape, np.int8)
        assert code.show is not None
        code.show(code.game, self._states, player, code.extra_planes, out)
        return out

    def copy(self) -> "Position":
        """An independent position of the same code."""
        twin = object.__new__(Position)
        twin._code = self._code
        twin._bytes = self._bytes.copy()
        twin._states = np.ndarray(1, self._code.dtype, twin._bytes)  # faster than a view
        twin.mask = self.mask.copy()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_states": None}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._states = self._bytes.view(self._code.dtype)
