"""Work on a thread that does not keep the program alive, and a look into a search meanwhile."""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event, Lock, Thread
from typing import TypeVar

from agents.core.agent import Statistics, StoppedError

T = TypeVar("T")


def in_background(work: Callable[[], T]) -> Future[T]:
    """Call a function on a new daemon thread; the future gets its result or exception."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # from now on it cannot be cancelled

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


class Slots:
    """Lets so many searches compute at the same time, and the others wait for their turn.

    More threads than processors would keep a thread that holds Python's lock from going on.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[Event] = deque()
        self._lock = Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            turn = Event()
            self._waiting.append(turn)
        turn.wait()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1

    def give_way(self) -> None:
        """Let another search have the slot for a while, if one waits."""
        self.__exit__()
        self.__enter__()


class Watch:
    """An agent's `on_slice`: looks into its search from time to time, and stops it.

    Args:
        show: Called with the statistics so far; None: nobody looks.
        every: Seconds between two looks.
        stopped: Once it is set, a `StoppedError` ends the search, after a last look.
        slots: Of which the search has one, to be given to others from time to time.
    """

    def __init__(
        self,
        show: Callable[[Statistics], None] | None,
        every: float,
        stopped: Event | None = None,
        slots: Slots | None = None,
    ) -> None:
        self._slots = slots
        self._show, self._every = show, every
        self._stopped = Event() if stopped is None else stopped
        self._shown_at = time.perf_counter()

    def __call__(self, found: Callable[[], Statistics]) -> None:
        is_stopped = self.is_stopped()
        is_due = is_stopped or time.perf_counter() - self._shown_at >= self._every
        if self._show is not None and is_due:
            self._show(found())
            self._shown_at = time.perf_counter()
        if is_stopped:
            raise StoppedError
        if self._slots is not None:
            self._slots.give_way()

    def stop(self) -> None:
        """End the search at its next look at the clock."""
        self._stopped.set()

    def is_stopped(self) -> bool:
        """Whether the search is to end: a long step of it may ask."""
        return self._stopped.is_set()
