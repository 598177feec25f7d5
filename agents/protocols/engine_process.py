"""Outside engines: child processes that are asked in lines and never waited for without a limit."""

import os
import queue
import shlex
import shutil
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, Final, TypeAlias, TypeVar, cast

from agents.core.agent import ForfeitError, Statistics
from agents.core.options import number_within
from agents.search.environment import check_in_play

START_SECONDS: Final = 300.0
"""How long an engine may take to start and to get ready for a game, which is on nobody's clock."""
FAREWELL_SECONDS: Final = 1.0
"""How long it may take to end when it is told to."""
LONGEST_LINE: Final = 10_000
"""Characters of a line that are kept."""
MOST_LINES: Final = 10_000
"""Lines that wait to be read, before the engine has to."""

T = TypeVar("T")
Lines: TypeAlias = "queue.Queue[str | None]"
"""Lines of an engine's output, and None at its end."""

KILLED: Final = 9
"""The signal that ends any process."""
GUARD: Final = 'read -r line; kill -9 "-$1" 2>/dev/null'
"""A shell script that waits until its parent is gone, however that ended, and ends the engine."""


def split_command(command: str) -> list[str]:
    """The words of an engine's command line, of which the first can be run.

    Raises:
        ValueError: If it is none, or there is no such program.
    """
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
    """A child process that is written to and read from in lines.

    It ends when `close` is called, this object is forgotten, or this process ends in whatever way;
    and all that it has started in its process group ends with it.

    Args:
        command: Its words; see `split_command`.
        newline: What ends a line that is sent. Lines that come may end with LF, CR LF or CR.

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
            start_new_session=True,  # no Ctrl-C of ours reaches it
        )
        guard = _new_guard(self._process.pid)
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
        """Hand lines over; this does not wait until the engine reads them.

        What the engine has said before, and nobody has read, is forgotten: it answers none of them.
        """
        with suppress(queue.Empty):
            while self._lines.get_nowait() is not None:
                pass
            self._lines.put(None)  # its end stays to be read
        self._sent.put("".join(line + self._newline for line in lines).encode())

    def read_line(self, deadline: float) -> str:
        """The next line of its output, without its end.

        Args:
            deadline: When to give up, by `time.monotonic`.

        Raises:
            ForfeitError: If there was none in time, or the engine has exited.
        """
        try:
            line = self._lines.get(timeout=deadline - time.monotonic())
        except (queue.Empty, ValueError):  # the latter where the deadline is over
            raise ForfeitError(self._with_errors("no answer in time")) from None
        if line is None:
            raise ForfeitError(self._exit_reason())
        return line

    def has_ended(self) -> bool:
        """Whether there will be no more output than has been read or waits to be."""
        return not self._threads[1].is_alive()

    def _exit_reason(self) -> str:
        """How it ended, with the last it has said of errors."""
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
        """A reason with the last that the engine has said of errors."""
        said = [line for line in self._errors if line]
        return f"{reason}: {said[-1]}" if said else reason

    def close(self, farewell: str | None = None) -> None:
        """End it.

        Args:
            farewell: The command that tells it to end; it has `FAREWELL_SECONDS` to do so.
        """
        if farewell is not None and self._kill.alive:
            self.send(farewell)
            deadline = time.monotonic() + FAREWELL_SECONDS
            with suppress(ForfeitError):
                while True:
                    self.read_line(deadline)
        self._kill()


def _new_guard(group: int) -> "subprocess.Popen[bytes] | None":
    """A process that ends a process group when this process is gone, even by SIGKILL.

    Where there is no shell, None: then only an end that Python sees ends the engine.
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
    """End an engine and all that belongs to it, and wait for it."""
    if os.getpid() != owner:
        return  # a fork of the process whose engine it is
    if guard is not None:
        guard.kill()
        guard.wait()
        cast("IO[bytes]", guard.stdin).close()
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, KILLED)  # not reaped yet: the number is still its own
    process.kill()
    process.wait()
    sent.put(None)
    deadline = time.monotonic() + FAREWELL_SECONDS
    with suppress(queue.Empty):
        while lines.get(timeout=max(deadline - time.monotonic(), 0.0)) is not None:
            pass  # let its reader come to the end
    for thread in threads:
        thread.join(FAREWELL_SECONDS)


def _write_all(pipe: IO[bytes], sent: "queue.SimpleQueue[bytes | None]") -> None:
    """Write what is handed over, until None is, or the reader is gone."""
    with pipe, suppress(OSError):
        while (data := sent.get()) is not None:
            while data:
                data = data[pipe.write(data) :]


def _read_all(pipe: IO[bytes], lines: Lines) -> None:
    """Cut output into lines as it comes, in whatever pieces."""
    cutter = LineCutter()
    with pipe:
        while data := _read_some(pipe):
            for line in cutter.cut(data):
                lines.put(line)
    for line in cutter.end():
        lines.put(line)
    lines.put(None)


def _keep_last(pipe: IO[bytes], lines: deque[str]) -> None:
    """Read output, so that the engine can go on, and keep its last lines."""
    cutter = LineCutter()
    with pipe:
        while data := _read_some(pipe):
            lines.extend(cutter.cut(data))
    lines.extend(cutter.end())


def _read_some(pipe: IO[bytes]) -> bytes:
    try:
        return pipe.read(65536)
    except OSError:
        return b""


class LineCutter:
    """Lines out of bytes that come in pieces; LF, CR LF and CR end a line."""

    def __init__(self) -> None:
        self._begun = ""
        self._after_return = False

    def cut(self, data: bytes) -> list[str]:
        """The lines that end in these bytes, without their ends, and cut at `LONGEST_LINE`."""
        text = data.decode("ascii", "replace")
        if self._after_return and text.startswith("\n"):
            text = text[1:]
        self._after_return = data.endswith(b"\r")
        *whole, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        lines: list[str] = []
        for line in whole:
            lines.append((self._begun + line)[:LONGEST_LINE])
            self._begun = ""
        self._begun = (self._begun + rest)[:LONGEST_LINE]
        return lines

    def end(self) -> list[str]:
        """The last line, if it has begun and not ended."""
        begun, self._begun = self._begun, ""
        return [begun] if begun else []


class EngineAgent:
    """An agent whose moves are those of an outside engine.

    The engine is started when it is first needed, so that the agent can be copied and sent to other
    processes; a copy starts an engine of its own.

    Args:
        command: Its command line.
        seconds: Limit for a move.
        tolerance: Seconds by which an answer may be late, for pipes and the system.

    Raises:
        ValueError: If there is no such program, or a number is out of its range.
    """

    newline = "\n"
    farewell = ""
    statistics: Statistics | None = None

    def __init__(self, command: str, seconds: float, tolerance: float) -> None:
        self._words = split_command(command)
        self.command = command
        self.seconds = number_within("seconds", seconds, 1e-3)
        self.tolerance = number_within("tolerance", tolerance)
        self._engine: EngineProcess | None = None
        self._game: Any = None  # the game the engine plays
        self._known: tuple[Any, ...] | None = None  # what it knows of the position; () at the start

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_engine": None, "_game": None, "_known": None}

    def close(self) -> None:
        """End the engine; the next move starts it anew."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close(self.farewell)

    def reset(self, seed: int | None = None) -> None:
        """Begin another game with the next move; engines have no seeds.

        One that has ended since the last game is forgotten: that is no loss of the next.
        """
        if self._engine is not None and self._engine.has_ended():
            self.close()
        if self._known:  # else it has only just begun a game
            self._known = None

    def get_ready(self, raw: Any) -> None:
        """Bring the engine to where it can be asked for a move of this game, on nobody's clock."""
        raise NotImplementedError

    def choose(self, raw: Any) -> int:
        """Ask the engine, which is ready, for its move."""
        raise NotImplementedError

    def prepare(self, env: Any) -> None:
        """Start the engine, so that its first move does not.

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
            ForfeitError: If the engine resigns, crashes, is late, or answers something else than a
                legal move; it is ended then.
            ValueError: If it cannot play in this environment.
        """
        check_in_play(env)

        def ask(raw: Any) -> int:
            self.get_ready(raw)
            return self.choose(raw)

        return self._guarded(ask, env)

    def within(self, limit: float, ask: Callable[[float], T]) -> T:
        """Have the engine asked, with a limit of its own for that.

        Args:
            limit: In seconds, without the tolerance.
            ask: Is given the deadline, by `time.monotonic`.

        Raises:
            ForfeitError: If it was late, or as `ask` says.
        """
        deadline = time.monotonic() + limit + self.tolerance
        try:
            return ask(deadline)
        except ForfeitError as error:
            if time.monotonic() < deadline:
                raise
            raise ForfeitError(f"no move in {limit:.3g} s") from error

    def _guarded(self, call: Any, env: Any) -> Any:
        """Call with what is in an environment's wrappers; whatever goes wrong ends the engine."""
        try:
            return call(env.unwrapped)
        except BaseException:
            engine, self._engine = self._engine, None
            if engine is not None:
                engine.close()
            raise

    def engine(self) -> EngineProcess:
        """The engine, started if it has to be."""
        if self._engine is None:
            self._engine = EngineProcess(self._words, self.newline)
        return self._engine

    def is_running(self) -> bool:
        """Whether the engine has been started."""
        return self._engine is not None
