"""The position of an environment, and the compiled code that plays on it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import is_compiled
from hexenv.games.base import Game, State
from hexenv.observation import (
    advance,
    compiled_advance,
    compiled_show,
    compiled_write_mask,
    show,
    write_mask,
)
from hexenv.starts import Start


class Position:
    """One position of a game, which changes in place, and its legal mask.

    Args:
        game: The rules.
        start: Where it is at first.
        extra_planes: See `hexenv.observation.extra_codes`.
        num_planes: How many planes there are, with the game's own.

    Attributes:
        mask: ``(num_actions,) int8``: 1 for a legal action; all zeros once the game is over.
    """

    def __init__(
        self, game: Game, start: Start, extra_planes: NDArray[np.int8], num_planes: int
    ) -> None:
        self.game = game
        self._extra_planes = extra_planes
        self._planes_shape = (game.rows * game.columns, num_planes)
        self._dtype = np.dtype((np.record, game.state_dtype))  # a record in Python, too
        self._bytes = start.record.copy()
        self._states = self._bytes.view(self._dtype)
        self.mask = np.zeros(game.num_actions(), np.int8)
        self._advance: Callable[..., Any] | None = None
        self._show: Callable[..., Any] | None = None
        self._write_mask: Callable[..., Any] | None = None

    @property
    def state(self) -> State:
        """The position as a record for the game's verbs."""
        return self._states[0]

    def bind(self) -> None:
        """Find the machine code; a game that does not compile is interpreted."""
        if self._advance is None:
            game, states = self.game, self._states
            self._advance, self._show = advance, show
            if is_compiled(game):
                out = np.empty(self._planes_shape, np.int8)
                self._advance = compiled_advance.specialise(game, states, 0, self.mask)
                self._show = compiled_show.specialise(game, states, 0, self._extra_planes, out)

    def start(self, start: Start) -> None:
        """Go to a start."""
        self._bytes[:] = start.record
        self.mask[:] = start.mask

    def begin_at(self, state: State) -> None:
        """Go to any position of the game."""
        self._bytes[:] = np.frombuffer(state.tobytes(), np.uint8)
        if self._write_mask is None:  # searches and opponents come here at every position
            self._write_mask = write_mask
            if is_compiled(self.game):
                arguments = (self.game, self._states, self.mask)
                self._write_mask = compiled_write_mask.specialise(*arguments)
        self._write_mask(self.game, self._states, self.mask)

    def step(self, action: int) -> tuple[int, int]:
        """Play a legal action; returns the winner and the player to move."""
        assert self._advance is not None
        return self._advance(self.game, self._states, action, self.mask)

    def planes(self, player: int) -> NDArray[np.int8]:
        """``(cells, planes)``: what a player sees, a fresh array."""
        out = np.empty(self._planes_shape, np.int8)
        assert self._show is not None
        self._show(self.game, self._states, player, self._extra_planes, out)
        return out

    def copy(self) -> "Position":
        """An independent position of the same code."""
        twin = object.__new__(Position)
        twin.__dict__ = self.__dict__.copy()
        twin._bytes = self._bytes.copy()
        twin._states = np.ndarray(1, self._dtype, twin._bytes)  # faster than a view
        twin.mask = self.mask.copy()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        left_out = dict.fromkeys(("_states", "_advance", "_show", "_write_mask"))
        return {**self.__dict__, **left_out}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._states = self._bytes.view(self._dtype)
