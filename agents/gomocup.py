"""Gomoku engines that speak the Gomocup (Piskvork) protocol, as agents.

The protocol is https://plastovicka.github.io/protocl2en.htm: lines of text, with ``x,y`` for the
column and the row of a cell, from 0 at the top left.
"""

import re
import time
from collections.abc import Sequence
from typing import Any, Final

from agents.agent import ForfeitError
from agents.engine_process import START_SECONDS, EngineAgent
from agents.options import number_within, whole_number_within
from hexenv.games.base import cell_owners
from hexenv.games.gomoku import RULES, Gomoku

CONNECT: Final = 5
RULE_BITS: Final = {"freestyle": 0, "standard": 1, "renju": 4, "caro": 8}
"""What ``INFO rule`` says of the rules of that name."""
CONTINUOUS: Final = 2
"""The bit of ``INFO rule`` for games that go on after a five."""
UNLIMITED: Final = 2_147_483_647
"""What ``INFO time_left`` says where a match has no limit."""
MEBIBYTE: Final = 2**20


def check_game(game: Any) -> Gomoku:
    """The game, if the protocol has it.

    Raises:
        ValueError: If it is another game, or a variant without a number in the protocol.
    """
    if not isinstance(game, Gomoku) or game.connect != CONNECT:
        raise ValueError(f"expected Gomoku with five in a row, got {game}")
    if RULES[game.rule] not in RULE_BITS or game.num_actions() != game.rows * game.columns:
        raise ValueError(f"expected rules that the Gomocup protocol has, got {game}")
    return game


def read_coordinates(text: str) -> tuple[int, int] | None:
    """The x and y that a text begins with, or None."""
    found = re.match(r"\s*([+-]?\d{1,9})\s*,\s*([+-]?\d{1,9})(?!\d)", text, re.ASCII)
    return None if found is None else (int(found[1]), int(found[2]))


def is_ok(answer: str) -> bool:
    """Whether an answer is OK, with or without words of explanation."""
    return answer.split()[:1] == ["OK"]


def coordinates(game: Gomoku, action: int) -> str:
    """A cell as the protocol writes it."""
    return f"{action % game.columns},{action // game.columns}"


class GomocupEngine(EngineAgent):
    """An outside engine that speaks the Gomocup protocol, for `hexenv.gomoku_v0`.

    It loses a game when it crashes, answers something else than a legal move, or is late.

    Args:
        command: Its command line.
        seconds: Limit for a move, which the engine is told.
        match_seconds: Limit for all its moves in a game, which it is told; None for none.
        memory: Limit in MiB that it is told, which nothing enforces; 0 for none.
        tolerance: Seconds by which an answer may be late, for pipes and the system.

    Raises:
        ValueError: If there is no such program, or a number is out of its range.
    """

    name = "gomocup"
    newline = "\r\n"
    farewell = "END"

    def __init__(
        self,
        command: str,
        seconds: float = 5.0,
        match_seconds: float | None = None,
        memory: int = 0,
        tolerance: float = 0.1,
    ) -> None:
        super().__init__(command, seconds, tolerance)
        if match_seconds is not None:
            match_seconds = number_within("match_seconds", match_seconds, 1e-3, 1e6)
        self.match_seconds = match_seconds
        self.memory = whole_number_within("memory", memory, 0, 2**20)
        self._game: Gomoku | None = None
        self._known: tuple[int, ...] | None = None  # the actions the engine knows of this game
        self._left: float | None = match_seconds

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_game": None, "_known": None}

    def reset(self, seed: int | None = None) -> None:
        """Begin another game with the next move; engines have no seeds."""
        super().reset(seed)
        if self._known != ():  # else it has only just been started
            self._known = None
        self._left = self.match_seconds

    def get_ready(self, raw: Any) -> None:
        """Start the engine, or let it clear its board."""
        game = check_game(getattr(raw, "game", None))
        is_open = self.is_running() and self._game == game
        if is_open and (self._known == () or self._is_continued(raw)):
            return
        if not (is_open and is_ok(self._answer_to("RESTART"))):
            self.close()
            size = f"START {game.rows}"
            if game.rows != game.columns:
                size = f"RECTSTART {game.columns},{game.rows}"
            answer = self._answer_to(size)
            if not is_ok(answer):
                raise ForfeitError(f"expected OK to {size}, got {answer!r:.200}")
        self._game, self._known, self._left = game, (), self.match_seconds
        self.engine().send(
            f"INFO timeout_turn {round(1000 * self.seconds)}",
            f"INFO timeout_match {round(1000 * (self.match_seconds or 0))}",
            f"INFO max_memory {self.memory * MEBIBYTE}",
            "INFO game_type 1",
            f"INFO rule {RULE_BITS[RULES[game.rule]]}",
        )

    def _answer_to(self, command: str) -> str:
        self.engine().send(command)
        return self._answer(time.monotonic() + START_SECONDS)

    def _is_continued(self, raw: Any) -> bool:
        """Whether the position is what the engine knows and a move in answer."""
        actions = tuple(raw.actions)
        return len(actions) == raw.state.ply > 0 and actions[:-1] == self._known

    def _answer(self, deadline: float) -> str:
        """The next line that is no message and not empty."""
        while True:
            line = self.engine().read_line(deadline).strip()
            if line and line.split()[0].upper() not in ("MESSAGE", "DEBUG"):
                return line

    def choose(self, raw: Any) -> int:
        """Tell the engine what has been played, and wait for its move as long as it has time."""
        game = check_game(raw.game)
        limit = self.seconds if self._left is None else min(self.seconds, self._left)
        left = UNLIMITED if self._left is None else round(1000 * self._left)
        started = time.monotonic()
        self.engine().send(f"INFO time_left {left}", *self._question(raw))
        try:
            action = self._read_move(game, started + limit + self.tolerance)
        except ForfeitError as error:
            if time.monotonic() < started + limit + self.tolerance:
                raise
            raise ForfeitError(f"no move in {limit:g} s") from error
        if self._left is not None:
            self._left = max(self._left - (time.monotonic() - started), 0.0)
        if not raw.is_legal(action):
            raise ForfeitError(f"illegal move {coordinates(game, action)}")
        is_whole = len(raw.actions) == raw.state.ply
        self._known = (*raw.actions, action) if is_whole else None
        return action

    def _question(self, raw: Any) -> Sequence[str]:
        """The commands that ask for a move in this position."""
        if raw.state.ply == 0:
            return ["BEGIN"]
        if self._is_continued(raw):
            return [f"TURN {coordinates(raw.game, raw.actions[-1])}"]
        is_known = len(raw.actions) == raw.state.ply
        return ["BOARD", *(stones_in_order(raw) if is_known else stones_as_they_lie(raw)), "DONE"]

    def _read_move(self, game: Gomoku, deadline: float) -> int:
        answer = self._answer(deadline)
        while answer.split()[0].upper() == "SUGGEST":
            self.engine().send(f"PLAY {answer.partition(' ')[2].strip()}")
            answer = self._answer(deadline)
        found = read_coordinates(answer)
        if found is None:
            raise ForfeitError(f"expected a move x,y, got {answer!r:.200}")
        x, y = found
        if not (0 <= x < game.columns and 0 <= y < game.rows):
            raise ForfeitError(f"illegal move {x},{y}")
        return y * game.columns + x


def stones_in_order(raw: Any) -> list[str]:
    """The lines of BOARD for a game that has been played from the start, in its order."""
    to_play = raw.game.to_play(raw.state)
    return [
        f"{coordinates(raw.game, action)},{1 if ply & 1 == to_play else 2}"
        for ply, action in enumerate(raw.actions)
    ]


def stones_as_they_lie(raw: Any) -> list[str]:
    """The lines of BOARD for a position whose order of moves is not known, black and white in turn.

    So the engine at least sees the right player to move, if it counts on the order.
    """
    to_play = raw.game.to_play(raw.state)
    owners = cell_owners(raw.game, raw.state).ravel()
    stones = [[cell for cell, owner in enumerate(owners) if owner == player] for player in (0, 1)]
    lines: list[str] = []
    for ply in range(sum(map(len, stones))):
        cell = stones[ply & 1].pop(0)
        lines.append(f"{coordinates(raw.game, cell)},{1 if ply & 1 == to_play else 2}")
    return lines
