"""A pool of workers on the machines of a Ray cluster (Moritz et al. 2018).

`hexenv`, and the modules that tasks come from, must be installed on every machine.
"""

import faulthandler
import math
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final

from agents.core.workers import ATTEMPTS, UNLIMITED, Host, Limits, Lost, Pool, Worker, unpacked
from hexenv.common.extras import library

GET_SECONDS: Final = 60.0
"""How long the answer of a worker that has one may take to arrive."""
POLL_SECONDS: Final = 1.0


class RayPool(Pool):
    """Workers that are actors of Ray: each claims one processor, and Ray finds the machine.

    Where the program is connected to Ray, that is used; else the cluster that the variable
    RAY_ADDRESS names; else Ray is started on this machine, and stopped in the end.

    An actor takes a task whenever it has none: while one lives, no task waits for the replacement
    of a dead one, for which there may be no machine any more.

    Args:
        make: Makes the worker of an actor.
        workers: How many; None, or more than Ray has processors, for one on each.
        limits: After which an actor is ended.
        gpus: The share of a GPU that each claims.

    Attributes:
        resources: What Ray has, such as ``{"CPU": 8.0}``.
    """

    def __init__(
        self,
        make: Callable[[], Worker],
        workers: int | None = None,
        limits: Limits = UNLIMITED,
        gpus: float = 0.0,
    ) -> None:
        self._ray = ray = library("ray", "distributed")
        self._is_ours = not ray.is_initialized()
        with ExitStack() as if_it_fails:
            if self._is_ours:
                ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
                if_it_fails.callback(ray.shutdown)
            self.resources: dict[str, float] = ray.cluster_resources()
            self._arguments = tuple(sys.path), ray.put(ray.cloudpickle.dumps(make)), limits
            if_it_fails.pop_all()
        processors = max(1, int(self.resources.get("CPU", 1)))
        super().__init__(min(workers or processors, processors), ATTEMPTS)
        self._claims = {"num_cpus": 1.0, "num_gpus": gpus}
        self._limits = limits
        self._shared: tuple[int, Any] = 0, None
        self._idle: list[Any] = []
        self._busy: dict[Any, tuple[Any, int | None, float]] = {}
        """Actors, their tasks (None: to start) and since when, by Ray's reference to the answer."""

    def actors(self) -> list[Any]:
        """Those that are alive as far as is known, idle ones first."""
        return [*self._idle, *(actor for actor, _, _ in self._busy.values())]

    def share(self, value: Any) -> None:
        # The value goes to each machine once, however many actors are there.
        self._shared = self._shared[0] + 1, [self._ray.put(pickle.dumps(value))]

    def put(self, number: int, task: Any) -> None:
        self._waiting.append((number, pickle.dumps(task)))
        self._hand_out()

    def wait(self) -> list[tuple[int, Any]]:
        self._hand_out()
        if not self._busy:
            return []
        ended = [self._take(reference) for reference in self._heard_from()]
        return [outcome for outcome in ended if outcome is not None]

    def close(self) -> None:
        super().close()
        for actor in self.actors():
            self._ray.kill(actor)
        self._idle.clear()
        self._busy.clear()
        if self._is_ours:
            self._ray.shutdown()

    def _hand_out(self) -> None:
        """Give waiting tasks to idle actors, and start actors for the rest."""
        now = time.monotonic()
        while self._idle and self._waiting:
            actor, (number, task) = self._idle.pop(), self._waiting.popleft()
            self._busy[actor.do.remote(*self._shared, task)] = actor, number, now
        working = sum(number is not None for _, number, _ in self._busy.values())
        while len(self.actors()) < min(self.workers, working + len(self._waiting)):
            actor = self._ray.remote(**self._claims)(RayActor).remote(*self._arguments)
            self._busy[actor.start.remote()] = actor, None, now

    def _heard_from(self) -> list[Any]:
        """References to answers, and to those that took far longer than an actor may live."""
        found, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=POLL_SECONDS)
        latest = time.monotonic() - sum(self._limits)
        return found + [
            reference
            for reference, (_, number, since) in self._busy.items()
            if number is not None and since < latest and reference not in found
        ]

    def _take(self, reference: Any) -> tuple[int, Any] | None:
        """The outcome of an actor's task, if it had one."""
        actor, number, since = self._busy.pop(reference)
        seconds = time.monotonic() - since
        try:
            ready, _ = self._ray.wait([reference], timeout=0)
            answer: bytes | None = self._ray.get(reference, timeout=GET_SECONDS if ready else 0)
        except self._ray.exceptions.RayError as error:  # the actor or its machine is lost
            self._ray.kill(actor)
            reason = f"its worker ended with {type(error).__name__}"
            if seconds > self._limits.task:
                reason += f", perhaps as it took longer than {self._limits.task:g} s"
            if number is not None:
                return number, Lost(reason)
            self._note_start(f"{reason}: {str(error).strip().splitlines()[-1]}")
            return None
        self._idle.append(actor)
        if number is None or answer is None:
            self._note_start(None)
            return None
        return number, unpacked(answer)


class RayActor:
    """The process of a worker, which ends itself after its limits.

    It finds modules where the pool's process does, on one machine; unpickling `make` may need that.
    """

    def __init__(self, paths: Sequence[str], make: bytes, limits: Limits) -> None:
        sys.path.extend(path for path in paths if path not in sys.path)
        self._host = Host(lambda: pickle.loads(make)())
        self._limits = limits
        self._version = 0

    def start(self) -> None:
        """Ready for tasks."""

    def do(self, version: int, shared: list[Any] | None, task: bytes) -> bytes:
        """The packed outcome of a pickled task; see `Host.do`.

        What tasks have in common is of this version, and behind Ray's reference `shared`.
        """
        news: bytes | None = None
        if shared is not None and version != self._version:
            news = library("ray", "distributed").get(shared[0])
            self._version = version
        try:
            self._end_after(self._limits.prepare)
            return self._host.do(news, task, lambda: self._end_after(self._limits.task))
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _end_after(self, seconds: float) -> None:
        """End this process after some time, even if a task never returns to Python."""
        faulthandler.cancel_dump_traceback_later()
        if seconds < math.inf:
            faulthandler.dump_traceback_later(seconds, exit=True)
