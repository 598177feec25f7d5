"""Pools of workers, which do tasks in this process or in others of this machine.

`agents.core.ray_workers` has those of a cluster.

A worker does one task at a time, and a task goes to any worker that has none. Every process has a
pipe of its own, so a worker that crashes or hangs harms no other: its task is `Lost`, and a new
process takes its place. The user of the pool decides what a lost task means: `Pool.each` reports
it, `Pool.collect` has it done again.
"""

import ctypes
import functools
import itertools
import math
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context, parent_process, resource_tracker
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

PR_SET_PDEATHSIG: Final = 1
"""Of prctl(2) on Linux."""
ATTEMPTS: Final = 5
"""After this many deaths of its workers a task is given up."""
READY: Final = "ready"
"""A process sends this when it waits for its first task."""
CLOCK_STARTED: Final = "clock started"
"""A process sends this when a task has started its clock."""

THREADS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Variables that say how many threads libraries use: one in each of many processes."""


class Worker(ABC):
    """What does tasks. Its pool makes it in the process where it works, for its first task."""

    @abstractmethod
    def do(self, task: Any, start_clock: Callable[[], None]) -> Any:
        """The result of a task.

        Args:
            task: The task.
            start_clock: To be called when all is prepared; `Limits` says for what.
        """

    def share(self, value: Any) -> None:
        """Take what all tasks from now on have in common."""
        raise NotImplementedError

    def close(self) -> None:  # noqa: B027  # most workers have nothing to close
        """Release what the worker holds."""


class Lost(NamedTuple):
    """The outcome of a task whose worker died or was killed."""

    reason: str


class Raised(NamedTuple):
    """The outcome of a task that has raised an error."""

    error: BaseException


class Limits(NamedTuple):
    """How many seconds a worker may take before it is killed."""

    prepare: float = math.inf
    """To start, and for a task until it starts its clock."""
    task: float = math.inf
    """For a task from then on."""


UNLIMITED: Final = Limits()


class StartError(RuntimeError):
    """Workers cannot be started."""


class Pool(ABC):
    """Workers that do tasks.

    Args:
        workers: How many.
        start_attempts: How many workers in a row may fail to start.
    """

    def __init__(self, workers: int, start_attempts: int = 1) -> None:
        self.workers = workers
        self._start_attempts = start_attempts
        self._failed_starts = 0
        self._numbers = itertools.count()  # for all calls: none takes the outcomes of another
        self._tasks: dict[int, Any] | None = None  # of the latest call of `each` or `submit`
        self._waiting = deque[tuple[int, Any]]()

    @abstractmethod
    def share(self, value: Any) -> None:
        """Give every worker, before its next task, what the tasks from now on have in common."""

    @abstractmethod
    def put(self, number: int, task: Any) -> None:
        """Have a task done as soon as a worker is idle; `wait` calls it by this number."""

    @abstractmethod
    def wait(self) -> list[tuple[int, Any]]:
        """Wait until something happens, if there are tasks.

        Returns:
            Numbers and results, `Lost` or `Raised` of tasks that have ended.

        Raises:
            StartError: If workers cannot be started.
        """

    @abstractmethod
    def close(self) -> None:
        """End all workers, whatever they do, and forget all tasks."""
        self._tasks = None
        self._waiting.clear()

    def each(self, tasks: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Have tasks done; hands over each one with its outcome, in the order in which they end.

        Raises:
            Exception: The one that a task has raised.
            StartError: If workers cannot be started.
        """
        running = self._new_tasks()
        for_later = iter(tasks)
        while True:
            for task in itertools.islice(for_later, self.workers - len(running)):
                number = next(self._numbers)
                running[number] = task
                self.put(number, task)
            if not running:
                return
            for number, outcome in self._ended(running):
                yield running.pop(number), outcome

    def submit(self, tasks: Sequence[Any]) -> None:
        """Have tasks done; `collect` waits for their results before the next ones are submitted."""
        submitted = self._new_tasks()
        submitted.update(zip(self._numbers, tasks, strict=False))
        for number, task in submitted.items():
            self.put(number, task)

    def collect(self) -> list[Any]:
        """Wait for the results of the tasks submitted, in their order; lost ones are done again.

        Raises:
            ChildProcessError: If a task has lost `ATTEMPTS` workers, or none can be started.
            Exception: The one that a task has raised.
            RuntimeError: If no tasks were submitted since the latest call, or the pool was closed.
        """
        tasks = self._tasks
        if tasks is None:
            raise RuntimeError("expected tasks to be submitted before their results are collected")
        results: dict[int, Any] = {}
        deaths = Counter[int]()
        try:
            while len(results) < len(tasks):
                for number, outcome in self._ended(tasks):
                    if not isinstance(outcome, Lost):
                        results[number] = outcome
                        continue
                    deaths[number] += 1
                    if deaths[number] == ATTEMPTS:
                        raise ChildProcessError(
                            f"expected the result of a task, but its workers died {ATTEMPTS} "
                            f"times, the last time: {outcome.reason} (out of memory?)"
                        )
                    self.put(number, tasks[number])
        except StartError as error:
            raise ChildProcessError(str(error)) from error
        finally:
            self._tasks = None
        return [results[number] for number in tasks]

    def _new_tasks(self) -> dict[int, Any]:
        """Where a call keeps its tasks by number; those of an earlier call that failed are dropped.

        Workers finish what they do, and `_ended` ignores the outcome.
        """
        self._waiting.clear()
        self._tasks = {}
        return self._tasks

    def _ended(self, tasks: dict[int, Any]) -> Iterator[tuple[int, Any]]:
        """Wait; the outcomes of these tasks that have ended, then an error if one has raised it."""
        if tasks is not self._tasks:
            raise RuntimeError("expected a pool's latest tasks, but it was closed or has new ones")
        for number, outcome in sorted(self.wait(), key=lambda end: isinstance(end[1], Raised)):
            if number in tasks:
                if isinstance(outcome, Raised):
                    raise outcome.error
                yield number, outcome

    def _note_start(self, failure: str | None) -> None:
        """Count the starts of workers that failed in a row."""
        self._failed_starts = 0 if failure is None else self._failed_starts + 1
        if self._failed_starts >= self._start_attempts:
            raise StartError(
                f"expected a worker to start, but {failure} (a script that starts processes "
                'needs its own code under if __name__ == "__main__")'
            )


class LocalPool(Pool):
    """One worker in this process, for a debugger: nothing protects it from crashes."""

    def __init__(self, make: Callable[[], Worker]) -> None:
        super().__init__(1)
        self._worker = functools.cache(make)

    def share(self, value: Any) -> None:
        self._worker().share(value)

    def put(self, number: int, task: Any) -> None:
        self._waiting.append((number, task))

    def wait(self) -> list[tuple[int, Any]]:
        if not self._waiting:
            return []
        number, task = self._waiting.popleft()
        return [(number, self._worker().do(task, lambda: None))]  # errors stop a debugger there

    def close(self) -> None:
        super().close()
        if self._worker.cache_info().currsize:
            self._worker().close()
            self._worker.cache_clear()


# ---- in a process of a pool ----------------------------------------------------------------------


class Host:
    """Runs a worker for a pool in another process, and packs its answers.

    Args:
        make: Makes the worker. What it raises is the outcome of the first task.
    """

    def __init__(self, make: Callable[[], Worker]) -> None:
        self._make = make
        self._worker: Worker | None = None
        self._shared: bytes | None = None

    def do(self, shared: bytes | None, task: bytes, start_clock: Callable[[], None]) -> bytes:
        """The outcome of a pickled task, for `unpacked`; `shared` is None where it is as before."""
        if shared is not None:
            self._shared = shared
        try:
            self._worker = self._worker or self._make()
            if self._shared is not None:
                self._worker.share(pickle.loads(self._shared))
                self._shared = None
            return pickle.dumps((self._worker.do(pickle.loads(task), start_clock), None))
        except BaseException as error:
            note = f"in a worker:\n{traceback.format_exc()}"
            try:
                packed = pickle.dumps((error, note))
                pickle.loads(packed)
            except Exception:  # many exceptions do not survive this
                packed = pickle.dumps((RuntimeError(repr(error)), note))
            return packed

    def close(self) -> None:
        """Close the worker."""
        if self._worker is not None:
            self._worker.close()


def unpacked(answer: bytes) -> Any:
    """The result in an answer of `Host.do`, or `Raised`, with the worker's traceback as a note."""
    value, note = pickle.loads(answer)
    if note is None:
        return value
    value.add_note(note)
    return Raised(value)


def _serve(pipe: Any, make: Callable[[], Worker]) -> None:
    """Do the tasks that come through the pipe until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this one
    _end_with_parent()
    with suppress(OSError, ValueError):
        os.dup2(sys.stderr.fileno(), 1)  # what workers print is no part of the program's output
    host = Host(make)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(READY)
        while True:
            shared, task = pipe.recv()
            pipe.send(host.do(shared, task, lambda: pipe.send(CLOCK_STARTED)))
    host.close()


def _end_with_parent() -> None:
    """End this process when its parent is killed."""
    # The kernel does it even while no Python runs here, and as soon as the thread ends that has
    # started this process: `_lasting_thread`.
    if sys.platform == "linux":
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
def _worker_environment() -> Generator[None]:
    """Start processes with one thread each, which Ctrl-C does not reach even while they start."""
    before = {key: os.environ.get(key) for key in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    resource_tracker.ensure_running()  # its start would undo the mask
    has_masks = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if has_masks else set[Any]()
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
        if has_masks:  # last: Ctrl-C that came meanwhile is raised here
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_Calls = SimpleQueue[tuple[Callable[[], None], Future[None]]]


@functools.cache
def _lasting_thread(process: int) -> _Calls:  # a forked one needs its own
    """The calls for a thread that lasts as long as this process, with the signal mask of now."""
    calls: _Calls = SimpleQueue()
    threading.Thread(target=_make_calls, args=(calls,), daemon=True).start()
    return calls


def _make_calls(calls: _Calls) -> None:
    while True:
        call, done = calls.get()
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)


class _Process:
    """A process of the pool.

    Attributes:
        task: The number of the task that it does, or None.
        is_ready: Whether it has started.
        version: Of the shared value that it has.
        limit: How many seconds it may take for what it does now.
        deadline: When they are over, on the clock of `time.monotonic`.
    """

    def __init__(self, make: Callable[[], Worker], limit: float) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, make), daemon=True)
        started = Future[None]()
        _lasting_thread(os.getpid()).put((self.process.start, started))
        started.result()
        theirs.close()  # now the pipe ends with the process
        self.task: int | None = None
        self.is_ready = False
        self.version = 0
        self.set_limit(limit)

    def set_limit(self, limit: float) -> None:
        self.limit = limit
        self.deadline = time.monotonic() + limit

    def message(self) -> str | bytes | None:
        """What it has sent; None if it has ended."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            return None

    def end(self, kill: bool) -> str:
        """End it, and say how it ended."""
        self.pipe.close()
        if not kill:
            self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        status = self.process.exitcode
        self.process.close()
        if status is not None and status < 0:
            with suppress(ValueError):
                return f"its process was ended by {signal.Signals(-status).name}"
        return f"its process ended with status {status}"


class ProcessPool(Pool):
    """Workers in processes of this machine, which are started when there are tasks for them.

    They print to standard error, leave Ctrl-C to this process, and end with it.

    Args:
        make: Makes the worker of a process; it must be possible to pickle it.
        workers: How many processes.
        limits: After which a process is killed.
        start_attempts: How many processes in a row may fail to start.
    """

    def __init__(
        self,
        make: Callable[[], Worker],
        workers: int,
        limits: Limits = UNLIMITED,
        start_attempts: int = 1,
    ) -> None:
        super().__init__(workers, start_attempts)
        self._make, self._limits = make, limits
        self._processes: list[_Process] = []
        self._shared: bytes | None = None
        self._version = 0

    def share(self, value: Any) -> None:
        self._shared = pickle.dumps(value)
        self._version += 1

    def put(self, number: int, task: Any) -> None:
        self._waiting.append((number, pickle.dumps(task)))
        self._hand_out()

    def wait(self) -> list[tuple[int, Any]]:
        self._hand_out()
        ended = [self._listen_to(process) for process in self._heard_from()]
        return [outcome for outcome in ended if outcome is not None]

    def close(self) -> None:
        super().close()
        while self._processes:
            self._processes.pop().end(kill=True)

    def _hand_out(self) -> None:
        """Give waiting tasks to idle processes, and start processes for the rest."""
        for process in list(self._processes):
            if process.is_ready and process.task is None and self._waiting:
                if process.pipe.poll():  # it has nothing to say: this is its end
                    self._lose(process)
                else:
                    self._start_task(process, *self._waiting.popleft())
        busy = sum(process.task is not None for process in self._processes)
        while len(self._processes) < min(self.workers, busy + len(self._waiting)):
            with _worker_environment():
                self._processes.append(_Process(self._make, self._limits.prepare))

    def _start_task(self, process: _Process, number: int, task: bytes) -> None:
        process.task = number
        process.set_limit(self._limits.prepare)
        shared = None if process.version == self._version else self._shared
        process.version = self._version
        with suppress(BrokenPipeError, ConnectionResetError):  # `_heard_from` finds its end
            process.pipe.send((shared, task))

    def _heard_from(self) -> list[_Process]:
        """Wait for processes that have sent something, have ended, or took too long."""
        live = [each for each in self._processes if each.task is not None or not each.is_ready]
        if not live:
            return []
        patience = max(0.0, min(process.deadline for process in live) - time.monotonic())
        by_source: dict[Any, _Process] = {process.pipe: process for process in self._processes}
        by_source |= {process.process.sentinel: process for process in self._processes}
        heard = connection.wait(list(by_source), None if patience == math.inf else patience)
        now = time.monotonic()
        late = [process for process in live if process.deadline <= now]
        return list(dict.fromkeys([*(by_source[source] for source in heard), *late]))

    def _listen_to(self, process: _Process) -> tuple[int, Any] | None:
        """The outcome of a process's task, if it has ended."""
        if process.pipe.poll():
            message = process.message()
        elif process.deadline <= time.monotonic():
            return self._lose(process, is_late=True)
        else:  # it is ending, though perhaps not yet dead
            message = None
        if message is None:
            return self._lose(process)
        if message == READY:
            process.is_ready = True
            self._note_start(None)
        elif message == CLOCK_STARTED:
            process.set_limit(self._limits.task)
        else:
            assert isinstance(message, bytes)
            assert process.task is not None
            number, process.task = process.task, None
            return number, unpacked(message)
        return None

    def _lose(self, process: _Process, is_late: bool = False) -> tuple[int, Lost] | None:
        """Remove a process that has ended or takes too long; its task is lost."""
        self._processes.remove(process)
        reason = process.end(kill=is_late)
        if is_late:
            reason = f"it took longer than {process.limit:g} s"
        if not process.is_ready:
            self._note_start(reason)
        return None if process.task is None else (process.task, Lost(reason))
