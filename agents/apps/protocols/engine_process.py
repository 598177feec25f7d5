"""Outside engines: processes that exchange lines with us, and agents that play their moves."""

import os
import queue
import shlex
import shutil
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO, Annotated, Any, Final, TypeAlias, TypeVar, cast

from agents.core.agent import AgentBase, ForfeitError, Statistics
from agents.core.options import NonNegative
from agents.planning.environment import check_in_play
from hexenv.common.options import Within

START_SECONDS: Final = 300.0
"""Time for an engine to start and to get ready for a game, which no clock of a game counts."""
EXIT_SECONDS: Final = 1.0
"""Time for an engine to exit when it is told to."""
LONGEST_LINE: Final = 10_000
"""Characters of a line that are kept."""
MOST_LINES: Final = 10_000
"""Lines in the queue of unread output; the engine waits when it is full."""
KILLED: Final = 9
"""The signal that no process can ignore."""
GUARD: Final = 'read -r line; kill -9 "-$1" 2>/dev/null'
"""A shell script that kills the engine's process group when the pipe from this process closes."""

T = TypeVar("T")
Lines: TypeAlias = "queue.Queue[str | None]"
"""Lines of an engine's output, and None at its end."""


def split_command(command: str) -> list[str]:
    """The words of an engine's command line; ValueError if no program by that name exists."""
    if not isinstance(command, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"expected a command to run, got {command!r}")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"expected a command to run, got {command!r}: {error}") from None
    if not words:
        raise ValueError(f"expected a command to run, got {command!r}")
    if shutil.which(words[0]) is None:
        raise ValueError(f"expected a program that can be run, got {words[0]!r}")
    return words


class EngineProcess:
    """A child process that reads and writes lines.

    It ends on `close`, when this object is garbage collected, and when this process ends for any
    reason. All processes of its process group end with it.

    Args:
        command: The words of `split_command`.
        newline: The end of a line that is sent. Lines that come may end with LF, CR LF or CR.

    Raises:
        OSError: If it cannot be started.
    """

    def __init__(self, command: list[str], newline: str = "\n") -> None:
        self._newline = newline
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # it does not receive our Ctrl-C
        )
        guard = _start_guard(self._process.pid)
        self._lines: Lines = queue.Queue(MOST_LINES)
        self._sent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._errors: deque[str] = deque(maxlen=20)
        self._threads = [
            threading.Thread(target=target, args=arguments, daemon=True)
            for target, arguments in (
                (_write_all, (self._process.stdin, self._sent)),
                (_read_all, (self._process.stdout, self._lines)),
                (_keep_last, (self._process.stderr, self._errors)),
            )
        ]
        for thread in self._threads:
            thread.start()
        self._kill = weakref.finalize(
            self, _kill, self._process, guard, self._sent, self._lines, self._threads, os.getpid()
        )

    def send(self, *lines: str) -> None:
        """Queue lines for the engine, without waiting until it reads them.

        Unread output from before is dropped: it cannot be an answer to these lines.
        """
        with suppress(queue.Empty):
            while self._lines.get_nowait() is not None:
                pass
            self._lines.put(None)  # keep the mark of the end
        self._sent.put("".join(line + self._newline for line in lines).encode())

    def read_line(self, deadline: float) -> str:
        """The next line of output, without its end.

        ForfeitError if none comes before `deadline`, by `time.monotonic`, or the engine has exited.
        """
        try:
            line = self._lines.get(timeout=deadline - time.monotonic())
        except (queue.Empty, ValueError):  # ValueError: the deadline is in the past
            raise ForfeitError(self._with_errors("no answer in time")) from None
        if line is None:
            self._lines.put(None)  # `_kill` waits for the mark of the end
            raise ForfeitError(self._exit_reason())
        return line

    def has_ended(self) -> bool:
        """Whether no more output can come than is in the queue."""
        return not self._threads[1].is_alive()

    def _exit_reason(self) -> str:
        self._kill()
        status = self._process.returncode
        if status == -KILLED:
            reason = "the engine closed its output, or was killed"
        elif status < 0:
            reason = f"the engine was ended by signal {-status}"
        else:
            reason = f"the engine exited with status {status}"
        return self._with_errors(reason)

    def _with_errors(self, reason: str) -> str:
        """A reason, with the last line of the engine's standard error."""
        said = [line for line in tuple(self._errors) if line]
        return f"{reason}: {said[-1]}" if said else reason

    def close(self, quit_command: str | None = None) -> None:
        """End it, after `EXIT_SECONDS` for the command that asks it to exit, if one is given."""
        if quit_command is not None and self._kill.alive:
            self.send(quit_command)
            deadline = time.monotonic() + EXIT_SECONDS
            with suppress(ForfeitError):
                while True:
                    self.read_line(deadline)
        self._kill()


def _start_guard(group: int) -> "subprocess.Popen[bytes] | None":
    """A process that kills a process group when this process is gone, even by SIGKILL.

    None where there is no shell: then only an exit that Python sees ends the engine.
    """
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "sh", str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None


def _kill(
    process: "subprocess.Popen[bytes]",
    guard: "subprocess.Popen[bytes] | None",
    sent: "queue.SimpleQueue[bytes | None]",
    lines: Lines,
    threads: list[threading.Thread],
    owner: int,
) -> None:
    """Kill an engine and its process group, and wait for its end and that of our threads."""
    if os.getpid() != owner:
        return  # this process is a fork of the owner
    if guard is not None:
        guard.kill()
        guard.wait()
        cast("IO[bytes]", guard.stdin).close()
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, KILLED)  # before `wait`: no other process has this number yet
    process.kill()
    process.wait()
    sent.put(None)
    deadline = time.monotonic() + EXIT_SECONDS
    with suppress(queue.Empty):
        while lines.get(timeout=max(deadline - time.monotonic(), 0.0)) is not None:
            pass  # make room, so that the reading thread can finish
        lines.put(None)  # the mark of the end stays, for who reads on
    for thread in threads:
        thread.join(EXIT_SECONDS)


def _write_all(pipe: IO[bytes], sent: "queue.SimpleQueue[bytes | None]") -> None:
    """Write what is queued, until None comes or the pipe breaks."""
    with pipe, suppress(OSError):
        while (data := sent.get()) is not None:
            while data:
                data = data[pipe.write(data) :]


def _read_all(pipe: IO[bytes], lines: Lines) -> None:
    for line in _lines_of(pipe):
        lines.put(line)
    lines.put(None)


def _keep_last(pipe: IO[bytes], lines: deque[str]) -> None:
    lines.extend(_lines_of(pipe))


def _lines_of(pipe: IO[bytes]) -> Iterator[str]:
    """Lines as they come, until the pipe closes or breaks."""

    def pieces() -> Iterator[bytes]:
        with pipe, suppress(OSError):
            while data := pipe.read(65536):
                yield data

    return cut_lines(pieces())


def cut_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Lines as soon as they end, with LF, CR LF or CR, each at most `LONGEST_LINE` characters.

    `io.TextIOWrapper` does the same, but holds a line that ends with CR until more bytes come.
    """
    begun = ""
    after_return = False
    for data in pieces:
        text = data.decode("ascii", "replace")
        if after_return:
            text = text.removeprefix("\n")
        after_return = data.endswith(b"\r")
        *whole, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for line in whole:
            yield (begun + line)[:LONGEST_LINE]
            begun = ""
        begun = (begun + rest)[:LONGEST_LINE]
    if begun:
        yield begun


class EngineAgent(AgentBase):
    """An agent that plays the moves of an outside engine.

    The engine starts at its first use. A copy of the agent, also in another process, starts an
    engine of its own.

    Args:
        command: Its command line.
        seconds: Limit for a move.
        tolerance: Seconds by which an answer may be late, for pipes and the system.

    Raises:
        ValueError: If there is no such program, or a number is out of its range.
    """

    newline = "\n"
    quit_command = ""
    statistics: Statistics | None = None

    def __init__(
        self, command: str, seconds: Annotated[float, Within(1e-3)], tolerance: NonNegative
    ) -> None:
        self._words = split_command(command)
        self.command = command
        self.seconds = seconds
        self.tolerance = tolerance
        self._engine: EngineProcess | None = None
        self._game: Any = None  # the game the engine plays
        self._known: Any = None  # what it knows of the position; empty at the start of a game

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_engine": None, "_game": None, "_known": None}

    def close(self) -> None:
        """End the engine; the next move starts it again."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close(self.quit_command)

    def reset(self, seed: int | None = None) -> None:
        """Begin another game; an engine that has exited between two games is started again."""
        if self._engine is not None and self._engine.has_ended():
            self.close()
        if self._known:  # else the engine is already at the start of a game
            self._known = None

    def get_ready(self, raw: Any) -> None:
        """Bring the engine to where it can be asked for a move, outside the time of a game."""
        raise NotImplementedError

    def choose(self, raw: Any) -> int:
        """Ask the engine, which is ready, for its move."""
        raise NotImplementedError

    def prepare(self, env: Any) -> None:
        """Start the engine before its first move.

        Raises:
            ValueError: If it does not start, or cannot play in this environment.
        """
        try:
            self._guarded(self.get_ready, env)
        except (ForfeitError, OSError) as error:
            raise ValueError(f"{self.command}: {error}") from error

    def act(self, env: Any) -> int:
        """The engine's move.

        Raises:
            ForfeitError: If the engine resigns, crashes, is late, or does not answer with a legal
                move; it is ended then.
            ValueError: If it cannot play in this environment.
        """
        check_in_play(env)

        def ask(raw: Any) -> int:
            self.get_ready(raw)
            return self.choose(raw)

        return self._guarded(ask, env)

    def within(self, limit: float, ask: Callable[[float], T]) -> T:
        """What `ask` returns, which is given a deadline by `time.monotonic`.

        The limit is in seconds, without the tolerance; ForfeitError if the engine is late.
        """
        deadline = time.monotonic() + limit + self.tolerance
        try:
            return ask(deadline)
        except ForfeitError as error:
            if time.monotonic() < deadline:
                raise
            raise ForfeitError(f"no move in {limit:.3g} s") from error

    def _guarded(self, call: Callable[[Any], T], env: Any) -> T:
        """Call with the environment inside all wrappers; any exception ends the engine."""
        try:
            return call(env.unwrapped)
        except BaseException:
            engine, self._engine = self._engine, None
            if engine is not None:
                engine.close()
            raise

    def engine(self) -> EngineProcess:
        """The engine, which is started if it does not run."""
        if self._engine is None:
            self._engine = EngineProcess(self._words, self.newline)
        return self._engine

    def is_running(self) -> bool:
        """Whether the engine has been started."""
        return self._engine is not None
