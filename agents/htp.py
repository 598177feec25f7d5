"""Hex engines that speak the Hex Text Protocol, as agents.

It is the Go Text Protocol, version 2 (https://www.lysator.liu.se/~gunnar/gtp/), with the cells of
Hex, as Benzene (MoHex, Wolve) and HexGui have it (https://www.hexwiki.net/index.php/GTP): the
column's letter and the row's number from the top; black joins top and bottom, and moves first.
"""

import math
import time
from typing import Any, Final

from agents.agent import ForfeitError
from agents.engine_process import START_SECONDS, EngineAgent
from hexenv.games.base import cell_owners
from hexenv.games.hex import Hex

COLOURS: Final = ("black", "white")
SWAP: Final = "swap-pieces"
"""The move that takes over the first stone: to the mirror cell, while the players keep their sides.
"""


def check_game(game: Any) -> Hex:
    """The game, if it is Hex.

    Raises:
        ValueError: If it is another.
    """
    if not isinstance(game, Hex):
        raise ValueError(f"expected Hex, got {game}")
    return game


def is_swap(game: Hex, action: int) -> bool:
    """Whether an action is no cell."""
    return action == game.rows * game.columns


def move_text(game: Hex, action: int) -> str:
    """An action as the protocol writes it."""
    return SWAP if is_swap(game, action) else game.action_text(action)


class HTPEngine(EngineAgent):
    """An outside engine that speaks the Hex Text Protocol, for `hexenv.hex_v0`.

    It loses a game when it resigns, crashes, answers something else than a legal move, or is late.

    Args:
        command: Its command line.
        seconds: Limit for a move. An engine that knows `time_settings` is told it in whole seconds,
            at least one; others need it said in their command line or in `setup`.
        setup: Commands to send to it first, separated by semicolons, such as
            ``param_mohex max_time 4``.
        tolerance: Seconds by which an answer may be late, for pipes and the system.

    Raises:
        ValueError: If there is no such program, or a number is out of its range.
    """

    name = "htp"
    farewell = "quit"

    def __init__(
        self, command: str, seconds: float = 10.0, setup: str = "", tolerance: float = 0.1
    ) -> None:
        super().__init__(command, seconds, tolerance)
        self.setup = setup
        self._game: Hex | None = None
        self._known: tuple[int, ...] | None = None  # the actions the engine knows of this game

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_game": None, "_known": None}

    def reset(self, seed: int | None = None) -> None:
        """Begin another game with the next move; engines have no seeds."""
        super().reset(seed)
        if self._known != ():  # else its board is empty
            self._known = None

    def get_ready(self, raw: Any) -> None:
        """Start the engine, and show it the position."""
        game = check_game(getattr(raw, "game", None))
        if not self.is_running():
            self._game = None
            self._greet()
        if self._game != game:
            size = f"{game.rows}" if game.rows == game.columns else f"{game.columns} {game.rows}"
            self._do(f"boardsize {size}")
            self._game, self._known = game, None
        actions = tuple(raw.actions)
        is_whole = len(actions) == raw.state.ply
        known = self._known
        if known is None or not is_whole or actions[: len(known)] != known:
            self._do("clear_board")
            known = ()
        if is_whole:
            self._play(raw, actions[len(known) :], len(known))
        else:
            self._set_up(raw)
        self._known = actions if is_whole else None

    def _greet(self) -> None:
        for command in filter(None, map(str.strip, self.setup.split(";"))):
            self._do(command)
        is_known, answer = self._ask("known_command time_settings")
        if is_known and answer == "true":
            self._do(f"time_settings 0 {max(1, math.floor(self.seconds))} 1")

    def _play(self, raw: Any, actions: tuple[int, ...], ply: int) -> None:
        """Tell the engine moves; one that does not know the swap is shown its outcome instead."""
        game = raw.game
        for number, action in enumerate(actions, ply):
            command = f"play {COLOURS[number & 1]} {move_text(game, action)}"
            is_done, answer = self._ask(command)
            if not is_done and is_swap(game, action):
                self._do("clear_board")
                self._set_up(raw)
                return
            if not is_done:
                raise ForfeitError(f"refused {command}: {answer:.200}")

    def _set_up(self, raw: Any) -> None:
        """Show the engine the stones that lie on its empty board, black and white in turn."""
        owners = cell_owners(raw.game, raw.state).ravel()
        stones = [[cell for cell, owner in enumerate(owners) if owner == one] for one in (0, 1)]
        while any(stones):
            for colour, cells in zip(COLOURS, stones, strict=True):
                if cells:
                    self._do(f"play {colour} {raw.game.action_text(cells.pop(0))}")

    def choose(self, raw: Any) -> int:
        """Ask the engine for its move, and wait as long as it has time."""
        command = f"genmove {COLOURS[raw.game.to_play(raw.state)]}"
        started = time.monotonic()
        deadline = started + self.seconds + self.tolerance
        try:
            is_done, answer = self._ask(command, deadline)
        except ForfeitError as error:
            if time.monotonic() < deadline:
                raise
            raise ForfeitError(f"no move in {self.seconds:g} s") from error
        if not is_done:
            raise ForfeitError(f"refused {command}: {answer:.200}")
        action = self._read_move(raw, answer.lower())
        if self._known is not None:
            self._known = (*self._known, action)
        return action

    def _read_move(self, raw: Any, text: str) -> int:
        game = check_game(raw.game)
        if text == "resign":
            raise ForfeitError("resigned")
        try:
            action = game.rows * game.columns if text == SWAP else game.parse_action(text)
        except ValueError:
            raise ForfeitError(f"expected a move, got {text!r:.200}") from None
        if not raw.is_legal(action):
            raise ForfeitError(f"illegal move {text}")
        return action

    def _do(self, command: str) -> None:
        """Send a command that has to succeed."""
        is_done, answer = self._ask(command)
        if not is_done:
            raise ForfeitError(f"refused {command}: {answer:.200}")

    def _ask(self, command: str, deadline: float | None = None) -> tuple[bool, str]:
        """Send a command; returns whether it succeeded, and the answer."""
        if deadline is None:
            deadline = time.monotonic() + START_SECONDS
        self.engine().send(command)
        lines = [""]
        while not lines[0].startswith(("=", "?")):  # what comes before is no answer
            lines = [self.engine().read_line(deadline)]
        while lines[-1].strip():
            lines.append(self.engine().read_line(deadline))
        text = "\n".join(lines)
        return text.startswith("="), text[1:].strip()
