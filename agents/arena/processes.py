"""The engines of one machine: a pool of processes, and none.

Each process has a pipe of its own, so that one that crashes or hangs takes no other with it: its
game has failed, a new process takes its place, and the rest go on.
"""

import ctypes
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context, parent_process, resource_tracker
from typing import Any, Final, Literal, TypeAlias, cast

from agents.arena.games import FailedGame, Result
from agents.arena.players import PREPARE_SECONDS, Players
from agents.arena.schedule import Game
from agents.arena.specification import Tournament

PR_SET_PDEATHSIG: Final = 1
"""Of prctl(2) on Linux."""
READY: Final = "ready"
"""What a process says when it waits for its first game."""
STARTED: Final = "started"
"""What it says when its agents are prepared and the game's clock starts."""
Message: TypeAlias = Literal["ready", "started"] | Result

THREADS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Variables that say how many threads libraries use: one in each of many processes."""


def available_cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def play_here(
    tournament: Tournament, games: Iterable[Game], keeps_records: bool = False
) -> Iterator[Result]:
    """Play games in this process, one after the other: for a debugger.

    Nothing protects it from agents that crash or hang.
    """
    players = Players(tournament, keeps_records)
    try:
        for game in games:
            yield players.play(game)
    finally:
        players.close()


def play_in_processes(
    tournament: Tournament,
    games: Iterable[Game],
    workers: int,
    game_seconds: float | None,
    keeps_records: bool = False,
) -> Iterator[Result]:
    """Play games in processes of their own, and hand over each as it ends.

    Args:
        tournament: What is played.
        games: Its games that are wanted.
        workers: How many processes.
        game_seconds: How long a game may take, without compilation; None for as long as it likes.
        keeps_records: Whether the games' records are made.

    Raises:
        RuntimeError: If a process cannot be started.
    """
    pool = _Pool(tournament, iter(games), workers, game_seconds, keeps_records)
    try:
        yield from pool.play()
    finally:
        pool.close()


# ---- in the process ------------------------------------------------------------------------------


def _serve(pipe: Any, tournament: Tournament, keeps_records: bool) -> None:
    """Play the games that come through the pipe until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    end_with_parent()
    with suppress(OSError, ValueError):
        os.dup2(sys.stderr.fileno(), 1)  # what agents print is no part of the result
    players = Players(tournament, keeps_records)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(READY)
        while True:
            game = pipe.recv()
            pipe.send(players.play(game, lambda: pipe.send(STARTED)))
    players.close()


def end_with_parent() -> None:
    """Leave nothing behind when the parent of this process is killed."""
    if sys.platform == "linux":  # the kernel sees to it, even if no Python runs any more here
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = parent_process()
    assert parent is not None
    sentinel = parent.sentinel

    def wait() -> None:
        connection.wait([sentinel])
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


# ---- in the parent -------------------------------------------------------------------------------


@contextmanager
def quiet_start() -> Generator[None, None, None]:
    """Start processes with one thread each, and deaf to Ctrl-C from their first moment."""
    before = {key: os.environ.get(key) for key in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    resource_tracker.ensure_running()  # which would undo the mask
    has_masks = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if has_masks else set[Any]()
    try:
        yield
    finally:
        if has_masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


class _Worker:
    """A process of the pool.

    Attributes:
        game: What it plays, or None.
        is_ready: Whether it has said that it is there.
        limit: How many seconds it may take for what it does now.
        deadline: When these are over, on the clock of `time.monotonic`.
    """

    def __init__(self, tournament: Tournament, keeps_records: bool) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = theirs, tournament, keeps_records
        self.process = context.Process(target=_serve, args=arguments, daemon=True)
        with quiet_start():
            self.process.start()
        theirs.close()  # so that its end is seen
        self.game: Game | None = None
        self.is_ready = False
        self.limit = PREPARE_SECONDS
        self.deadline = time.monotonic() + self.limit

    def start(self, game: Game) -> None:
        self.game = game
        self.limit = PREPARE_SECONDS
        self.deadline = time.monotonic() + self.limit
        with suppress(BrokenPipeError, ConnectionResetError):  # its end is seen later
            self.pipe.send(game)

    def message(self) -> Message | None:
        """What it says; None if it has ended."""
        try:
            return cast("Message", self.pipe.recv())
        except (EOFError, OSError):
            return None

    def end(self, kill: bool) -> str:
        """End it; returns how it ended."""
        self.pipe.close()
        if not kill:
            self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        status = self.process.exitcode
        self.process.close()
        return _ending(status)


def _ending(status: int | None) -> str:
    if status is not None and status < 0:
        with suppress(ValueError):
            return f"its process was ended by {signal.Signals(-status).name}"
    return f"its process ended with status {status}"


class _Pool:
    """Processes that play the games of one tournament."""

    def __init__(
        self,
        tournament: Tournament,
        games: Iterator[Game],
        workers: int,
        limit: float | None,
        keeps_records: bool,
    ) -> None:
        self._tournament, self._games, self._limit = tournament, games, limit
        self._keeps_records = keeps_records
        self._count = workers
        self._workers: list[_Worker] = []
        self._next = next(games, None)

    def play(self) -> Iterator[Result]:
        while True:
            self._hand_out()
            busy = [worker for worker in self._workers if worker.game is not None]
            if self._next is None and not busy:
                return
            for worker in self._heard_from():
                result = self._listen_to(worker)
                if result is not None:
                    yield result

    def close(self) -> None:
        """End all processes, whatever they do."""
        while self._workers:
            self._workers.pop().end(kill=True)

    def _hand_out(self) -> None:
        """Give every idle process a game, and have as many processes as there should be."""
        for worker in self._workers:
            if worker.is_ready and worker.game is None and self._next is not None:
                worker.start(self._next)
                self._next = next(self._games, None)
        while self._next is not None and len(self._workers) < self._count:
            self._workers.append(_Worker(self._tournament, self._keeps_records))

    def _heard_from(self) -> list[_Worker]:
        """The processes that have something to say, have ended, or took too long."""
        now = time.monotonic()
        live = [w for w in self._workers if w.game is not None or not w.is_ready]
        patience = max(0.0, min(worker.deadline for worker in live) - now)
        by_source: dict[Any, _Worker] = {worker.pipe: worker for worker in self._workers}
        by_source |= {worker.process.sentinel: worker for worker in self._workers}
        spoke = connection.wait(list(by_source), None if patience == math.inf else patience)
        now = time.monotonic()
        late = [worker for worker in live if worker.deadline <= now]
        return list(dict.fromkeys([*(by_source[source] for source in spoke), *late]))

    def _listen_to(self, worker: _Worker) -> Result | None:
        """What came of a process's game, if that is known now."""
        if worker.pipe.poll():
            message = worker.message()
        elif worker.deadline <= time.monotonic():
            return self._lost(worker, is_late=True)
        else:  # it is ending, though perhaps not yet dead
            message = None
        if message is None:
            return self._lost(worker)
        if message == READY:
            worker.is_ready = True
        elif message == STARTED:
            worker.limit = math.inf if self._limit is None else self._limit
            worker.deadline = time.monotonic() + worker.limit
        else:
            worker.game = None
            return message
        return None

    def _lost(self, worker: _Worker, is_late: bool = False) -> FailedGame | None:
        """Do without a process that has ended or takes too long; its game has failed."""
        self._workers.remove(worker)
        ending = worker.end(kill=is_late)
        if is_late:
            ending = f"it took longer than {worker.limit:g} s"
        if not worker.is_ready:
            raise RuntimeError(
                f"expected a process to start, but {ending} (a script that plays a tournament "
                'needs its own code under if __name__ == "__main__")'
            )
        return None if worker.game is None else FailedGame(worker.game, ending)
