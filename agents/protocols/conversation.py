"""What our side of a protocol needs, whichever it is: lines in and out, a budget, a position."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any, BinaryIO, Final

from agents.core.agent import Agent, ForfeitError
from agents.protocols.engine_process import LONGEST_LINE, EngineAgent
from hexenv.envs.aec import BoardEnv
from hexenv.games import notation
from hexenv.games.base import IN_PLAY

SHORTEST: Final = 0.001
"""Seconds of search where there is no time at all."""


# ---- lines ---------------------------------------------------------------------------------------


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """Lines as they come, without their ends, and cut; the last need not have an end."""
    while data := stream.readline(LONGEST_LINE):
        yield data.decode("ascii", "replace").rstrip("\r\n")
        while len(data) == LONGEST_LINE and not data.endswith(b"\n"):
            data = stream.readline(LONGEST_LINE)


def whole_number(text: str) -> int | None:
    """The number that a text is, or None."""
    found = re.fullmatch(r"\s*([+-]?\d{1,18})\s*", text, re.ASCII)
    return None if found is None else int(found[1])


def in_words(error: Exception) -> str:
    """What the other side is told of an error; of one that an agent did not foresee, the kind."""
    is_foreseen = isinstance(error, ForfeitError | ValueError)
    return str(error) if is_foreseen else f"{type(error).__name__}: {error}"


def converse(answer: Callable[[str], str], is_over: Callable[[], bool]) -> None:
    """Answer the lines on standard input until they end, or what they say ends it.

    What agents print is no part of it, and goes to standard error. Where nobody reads the answers
    any more, this ends as if there were no more lines.

    Args:
        answer: What to write for a line; nothing for an empty text.
        is_over: Whether to stop.
    """
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    with redirect_stdout(sys.stderr):
        for line in read_lines(stdin):
            text = answer(line)
            if text:
                try:
                    stdout.write(text.encode("ascii", "replace"))
                    stdout.flush()
                except BrokenPipeError:
                    _forget(stdout)
                    return
            if is_over():
                return


def _forget(stdout: BinaryIO) -> None:
    """Let what is still to be written go nowhere, so that the end of the process does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stdout.fileno())
    os.close(nowhere)


# ---- time ----------------------------------------------------------------------------------------


def search_seconds(limit: float) -> float:
    """How long to search where the answer has to be there in `limit` seconds.

    A tenth, and 15 ms, but no more than half a second in all, are left for what else is to be done.
    """
    return max(limit - min(0.1 * limit + 0.015, 0.5), SHORTEST)


class Thinker:
    """An agent with the time that a protocol leaves it.

    Args:
        agent: Of its budgets `seconds` is set, where it has that; others hold besides.

    Attributes:
        agent: The agent.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._own_seconds: float | None = getattr(agent, "seconds", None)

    def think(self, env: BoardEnv, limit: float | None, share: float = 1.0) -> tuple[int, float]:
        """What the agent plays.

        Args:
            env: The position.
            limit: Seconds until the answer has to be there; None for the agent's own budget.
            share: How much of the time for searching to use.

        Returns:
            The action, and its value for the player to move, -1 to 1; 0 where the agent does not
            tell.

        Raises:
            ValueError: If it is not legal.
        """
        self._set_seconds(self._own_seconds if limit is None else share * search_seconds(limit))
        action = self.agent.act(env)
        if not env.is_legal(action):
            raise ValueError(f"expected a legal action of the agent, got {action!r}")
        statistics = self.agent.statistics
        return int(action), 0.0 if statistics is None else float(statistics.values[action])

    def warm_up(self, env: BoardEnv) -> None:
        """Compile all that a move needs, so that the first takes no longer than others."""
        env.begin_at(env.state, [])
        if hasattr(self.agent, "prepare"):
            prepare: Any = getattr(self.agent, "prepare")  # noqa: B009  (not of the protocol)
            prepare(env)
        if hasattr(self.agent, "seconds") and not isinstance(self.agent, EngineAgent):
            self.think(env, SHORTEST)
            self.agent.reset()

    def _set_seconds(self, seconds: float | None) -> None:
        if hasattr(self.agent, "seconds"):
            agent: Any = self.agent
            agent.seconds = seconds


class Stopwatch:
    """Counts from now on.

    Args:
        begun: Seconds that it shows at the start.
    """

    def __init__(self, begun: float = 0.0) -> None:
        self._started = time.perf_counter() - begun

    def left_of(self, limit: float | None) -> float | None:
        """What is left of a limit in seconds; of None, None."""
        return None if limit is None else limit - self.seconds()

    def seconds(self) -> float:
        """How long it has been."""
        return time.perf_counter() - self._started


# ---- positions -----------------------------------------------------------------------------------


def bring_to(env: BoardEnv, actions: Sequence[int]) -> bool:
    """Play an environment to a position, going on from where it is if that is on the way.

    Returns:
        Whether all actions are legal in their order; else the environment is anywhere.
    """
    played = len(env.actions)
    if played != env.state.ply or env.actions != list(actions[:played]):
        env.reset()
    for action in actions[len(env.actions) :]:
        if not env.is_legal(action):
            return False
        env.step(action)
    return True


def set_up(env: BoardEnv, cells: tuple[Sequence[int], Sequence[int]], to_play: int) -> None:
    """Put stones onto an environment's board, whose order is not known or does not matter.

    They are played in turn if they can be, which is quick and lets searches keep their trees.

    Args:
        env: The environment.
        cells: Of player 0, and of player 1.
        to_play: The player to move.

    Raises:
        ValueError: If no game leads there, or it is over there.
    """
    first, second = cells
    in_turn = [cell for pair in zip(first, second, strict=False) for cell in pair]
    if len(first) == len(second) + 1:
        in_turn.append(first[-1])
    if not (len(first) - len(second) == to_play and bring_to(env, in_turn)):
        owners = notation.cell_owners(env.game, notation.new_state(env.game))
        for player, those in enumerate(cells):
            owners.flat[list(those)] = player
        env.reset()
        env.begin_at(notation.from_cells(env.game, owners, to_play), [])
    if env.state.winner != IN_PLAY:
        raise ValueError("expected a game in play, got one that is over")
