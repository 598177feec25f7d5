"""How many processors there are, and threads for them."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def usable_cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Threads:
    """Threads that start with their first work. A copy, or a forked process, starts its own."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  # in which they run

    def submit(self, work: Callable[..., T], *arguments: Any) -> Future[T]:
        """Let a thread call a function."""
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self._count), os.getpid()
        return self._pool.submit(work, *arguments)

    def close(self) -> None:
        """End them."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown()
        self._pool = None

    def __reduce__(self) -> tuple[type["Threads"], tuple[int]]:
        return Threads, (self._count,)
