"""Hex engines that speak the Hex Text Protocol, as agents.

It is the Go Text Protocol, version 2 (https://www.lysator.liu.se/~gunnar/gtp/), with the cells of
Hex as in Benzene (MoHex, Wolve) and HexGui (https://www.hexwiki.net/index.php/GTP): the column's
letter and the row's number from the top. Black joins top and bottom, and moves first. A swap
exchanges the players' colours, as `agents.apps.protocols.exchange` explains.
"""

import math
import time
from typing import Any

from agents.apps.protocols.engine_process import START_SECONDS, EngineAgent
from agents.apps.protocols.exchange import COLOURS, SwapView, is_swap
from agents.core.agent import ForfeitError
from hexenv.games.base import cell_owners
from hexenv.games.hex import Hex


def check_game(game: Any) -> Hex:
    """The game, if it is Hex; else ValueError."""
    if not isinstance(game, Hex):
        raise ValueError(f"expected Hex, got {game}")
    return game


class HTPEngine(EngineAgent):
    """An outside engine that speaks the Hex Text Protocol, for `hexenv.hex_v0`.

    It loses a game when it resigns, crashes, does not answer with a legal move, or is late.

    Args:
        command: Its command line.
        seconds: Limit for a move. An engine that knows `time_settings` receives it in whole
            seconds, at least one; others need it in their command line or in `setup`.
        setup: Commands to send to it first, separated by semicolons, such as
            ``param_mohex max_time 4``.
        tolerance: Seconds by which an answer may be late, for pipes and the system.

    Raises:
        ValueError: If there is no such program, or a number is out of its range.
    """

    name = "htp"
    quit_command = "quit"

    def __init__(
        self, command: str, seconds: float = 10.0, setup: str = "", tolerance: float = 0.1
    ) -> None:
        super().__init__(command, seconds, tolerance)
        self.setup = setup

    def get_ready(self, raw: Any) -> None:
        game = check_game(getattr(raw, "game", None))
        if not self.is_running():
            self._game = None
            self._greet()
        if self._game != game:
            size = f"{game.rows}" if game.rows == game.columns else f"{game.columns} {game.rows}"
            self._do(f"boardsize {size}")
            self._game, self._known = game, None
        if self._new_actions(raw) is not None:
            return
        self._do("clear_board")
        actions = tuple(raw.actions)
        if len(actions) == raw.state.ply:
            self._play(raw, actions)
            self._known = actions
        else:
            self._set_up(raw)
            self._known = None

    def _view(self, raw: Any) -> SwapView:
        """How the engine sees the game; the stones of a start position are not exchanged."""
        actions = raw.actions if len(raw.actions) == raw.state.ply else ()
        return SwapView.after(check_game(raw.game), actions)

    def _new_actions(self, raw: Any) -> tuple[int, ...] | None:
        """The actions that the engine does not know yet; None if it does not know the game."""
        actions, known = tuple(raw.actions), self._known
        is_known = known is not None and actions[: len(known)] == known
        return actions[len(known or ()) :] if is_known and len(actions) == raw.state.ply else None

    def _greet(self) -> None:
        for command in filter(None, map(str.strip, self.setup.split(";"))):
            self._do(command)
        is_known, answer = self._ask("known_command time_settings")
        if is_known and answer == "true":
            self._do(f"time_settings 0 {max(1, math.floor(self.seconds))} 1")

    def _play(self, raw: Any, actions: tuple[int, ...], deadline: float | None = None) -> None:
        """Send the last moves; the swap may be refused: the stones are the same without it."""
        for ply, action in enumerate(actions, len(raw.actions) - len(actions)):
            view = SwapView.after(raw.game, raw.actions[:ply])
            command = f"play {view.colour(ply & 1)} {view.text(action)}"
            is_done, answer = self._ask(command, deadline)
            if not is_done and not is_swap(raw.game, action):
                raise refusal(command, answer)

    def _set_up(self, raw: Any) -> None:
        """Send the stones of a start position, black and white in turn."""
        owners = cell_owners(raw.game, raw.state).ravel()
        stones = [[cell for cell, owner in enumerate(owners) if owner == one] for one in (0, 1)]
        while any(stones):
            for colour, cells in zip(COLOURS, stones, strict=True):
                if cells:
                    self._do(f"play {colour} {raw.game.action_text(cells.pop(0))}")

    def choose(self, raw: Any) -> int:
        answer = self.within(self.seconds, lambda deadline: self._generate(raw, deadline))
        action = self._read_move(raw, answer.lower())
        if self._known is not None:
            self._known = (*raw.actions, action)
        return action

    def _generate(self, raw: Any, deadline: float) -> str:
        self._play(raw, self._new_actions(raw) or (), deadline)
        return self._do(f"genmove {self._view(raw).colour(raw.game.to_play(raw.state))}", deadline)

    def _read_move(self, raw: Any, text: str) -> int:
        if text == "resign":
            raise ForfeitError("resigned")
        try:
            action = self._view(raw).action(text)
        except ValueError:
            raise ForfeitError(f"expected a move, got {text!r:.200}") from None
        if not raw.is_legal(action):
            raise ForfeitError(f"illegal move {text}")
        return action

    def _do(self, command: str, deadline: float | None = None) -> str:
        """The answer to a command that has to succeed."""
        is_done, answer = self._ask(command, deadline)
        if not is_done:
            raise refusal(command, answer)
        return answer

    def _ask(self, command: str, deadline: float | None = None) -> tuple[bool, str]:
        """Whether a command succeeded, and the answer; without a deadline in `START_SECONDS`."""
        if deadline is None:
            deadline = time.monotonic() + START_SECONDS
        self.engine().send(command)
        lines = [""]
        while not lines[0].startswith(("=", "?")):  # other lines may come before the answer
            lines = [self.engine().read_line(deadline)]
        while lines[-1].strip():
            lines.append(self.engine().read_line(deadline))
        text = "\n".join(lines)
        return text.startswith("="), text[1:].strip()


def refusal(command: str, answer: str) -> ForfeitError:
    """The loss of an engine that does not do what it must."""
    return ForfeitError(f"refused {command}: {answer:.200}")
