"""What the servers of both protocols share: lines, the agent's time, and positions."""

import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from itertools import zip_longest
from typing import Any, BinaryIO, Final

from agents.apps.protocols.engine_process import LONGEST_LINE, EngineAgent
from agents.core.agent import Agent, ForfeitError
from hexenv.envs.aec import BoardEnv
from hexenv.games import base, notation
from hexenv.games.base import IN_PLAY

SHORTEST: Final = 0.001
"""Seconds of search where no time is left."""


class ProtocolServer:
    """Answers the lines of a protocol with an agent's moves.

    Args:
        agent: What plays. Its budget `seconds`, if it has one, is set for each move; its other
            budgets stay.
        label: The agent in words.
    """

    is_over = False
    """Whether the other side has ended the conversation."""

    def __init__(self, agent: Agent, label: str) -> None:
        self.agent = agent
        self._label = label
        self._own_seconds: float | None = getattr(agent, "seconds", None)
        self._since = time.perf_counter()  # when the time of the present answer began
        self._stdout: BinaryIO | None = None

    def answer(self, line: str) -> str:
        """The text to write for a line, with line ends; empty for a line without an answer."""
        raise NotImplementedError

    def run(self) -> None:
        """Answer the lines of standard input, until `is_over` or nobody reads the answers.

        What agents print goes to standard error.
        """
        stdin, self._stdout = sys.stdin.buffer, sys.stdout.buffer
        with redirect_stdout(sys.stderr):
            for line in read_lines(stdin):
                self.write(self.answer(line))
                if self.is_over:
                    return
                self.go_on()

    def go_on(self) -> None:
        """Begin what follows an answer that has been written; mostly nothing."""

    def write(self, text: str) -> None:
        """Write to whom it answers; it is over where nobody reads that."""
        if text and self._stdout is not None:
            try:
                self._stdout.write(text.encode("ascii", "replace"))
                self._stdout.flush()
            except BrokenPipeError:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stdout.fileno())  # so that the process exits without error
                self.is_over = True

    def _elapsed(self) -> float:
        """Seconds of the present answer so far."""
        return time.perf_counter() - self._since

    def _think(self, env: BoardEnv, limit: float | None, share: float = 1.0) -> tuple[int, float]:
        """What the agent plays, and its value for the player to move, -1 to 1; 0 if unknown.

        Args:
            env: The position.
            limit: Seconds from the start of this answer to its end; None for the agent's own
                budget.
            share: The part of the time that this search may use.
        """
        seconds = self._own_seconds
        if limit is not None:
            seconds = share * search_seconds(limit - self._elapsed())
        return self._act(env, seconds)

    def _act(self, env: BoardEnv, seconds: float | None) -> tuple[int, float]:
        agent: Any = self.agent
        if hasattr(agent, "seconds"):
            agent.seconds = seconds
        action = agent.act(env)
        if not env.is_legal(action):
            raise ValueError(f"expected a legal action of the agent, got {action!r}")
        statistics = self.agent.statistics
        return int(action), 0.0 if statistics is None else float(statistics.values[action])

    def _warm_up(self, env: BoardEnv) -> None:
        """Compile all that a move needs, so that the first takes no longer than others."""
        agent: Any = self.agent
        env.begin_at(env.state, [])
        if hasattr(agent, "prepare"):
            agent.prepare(env)
        if hasattr(agent, "seconds") and not isinstance(agent, EngineAgent):
            self._act(env, SHORTEST)
            agent.reset()
        env.step(base.legal_actions(env.game, env.state)[0])  # positions are reached by steps
        env.reset()


def search_seconds(limit: float) -> float:
    """How long to search where the answer has to be there in `limit` seconds.

    A tenth and 15 ms, at most half a second in all, are kept for other work.
    """
    return max(limit - min(0.1 * limit + 0.015, 0.5), SHORTEST)


# ---- lines ---------------------------------------------------------------------------------------


def raw_lines(stream: BinaryIO, longest: int) -> Iterator[bytes]:
    """Lines as they come; of one with more than `longest` bytes the beginning."""
    while data := stream.readline(longest):
        yield data
        while len(data) == longest and not data.endswith(b"\n"):
            data = stream.readline(longest)


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """Lines as they come, without their ends, each at most `LONGEST_LINE` characters."""
    for data in raw_lines(stream, LONGEST_LINE):
        yield data.decode("ascii", "replace").rstrip("\r\n")


def whole_number(text: str) -> int | None:
    """The number that a text is, or None."""
    found = re.fullmatch(r"\s*([+-]?\d{1,18})\s*", text, re.ASCII)
    return None if found is None else int(found[1])


def error_text(error: Exception) -> str:
    """The message of an error, with its class unless we raise it on purpose."""
    is_expected = isinstance(error, ForfeitError | ValueError)
    return str(error) if is_expected else f"{type(error).__name__}: {error}"


# ---- positions -----------------------------------------------------------------------------------


def bring_to(env: BoardEnv, actions: Sequence[int]) -> bool:
    """Play actions from the start, or from the present position if it lies on the way.

    Whether all are legal in their order; else the position is undefined.
    """
    played = len(env.actions)
    if played != env.state.ply or env.actions != list(actions[:played]):
        env.reset()
    for action in actions[len(env.actions) :]:
        if not env.is_legal(action):
            return False
        env.step(action)
    return True


def set_up(env: BoardEnv, stones: Mapping[int, int]) -> None:
    """Put stones onto an environment's board; player 0 has as many as player 1, or one more.

    They are played in turn if that is possible: it is fast, and searches keep their trees.

    Raises:
        ValueError: If no game leads to this position, or it is the end of a game.
    """
    first, second = ([cell for cell, player in stones.items() if player == one] for one in (0, 1))
    in_turn = [cell for pair in zip_longest(first, second) for cell in pair if cell is not None]
    if not bring_to(env, in_turn):
        owners = notation.cell_owners(env.game, notation.new_state(env.game))
        owners.flat[list(stones)] = list(stones.values())
        env.reset()
        env.begin_at(notation.from_cells(env.game, owners, len(stones) % 2), [])
    if env.state.winner != IN_PLAY:
        raise ValueError("expected a game in play, got one that is over")
