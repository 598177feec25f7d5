"""Where self-play runs: in this process, in several, or as actors of a Ray cluster.

An engine is given tasks, one for each worker, and gives back their results in the workers' order. A
worker that dies is replaced and its task played again, with the same result.
"""

import functools
import multiprocessing
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final, Protocol

import torch

from agents.arena.processes import end_with_parent, quiet_start
from agents.learning.configuration import Configuration
from agents.learning.self_play import Result, SelfPlay, Task
from hexenv.extras import library

ATTEMPTS: Final = 5
"""Deaths of workers, for every task (in processes, where one breaks all, in sum), after which they
are taken for the tasks' fault."""


class Engine(Protocol):
    """What plays tasks."""

    def submit(self, tasks: Sequence[Task]) -> None:
        """Begin to play; the results are fetched by `collect` before the next tasks come."""
        ...

    def collect(self) -> list[Result]:
        """Wait for the results of the tasks.

        Raises:
            ChildProcessError: If workers die again and again.
        """
        ...

    def close(self) -> None:
        """Stop the workers."""
        ...


class LocalEngine:
    """Plays in this process, when the results are asked for."""

    def __init__(self, configuration: Configuration) -> None:
        self._worker = SelfPlay(configuration)
        self._tasks: Sequence[Task] = ()

    def submit(self, tasks: Sequence[Task]) -> None:
        """See `Engine.submit`."""
        self._tasks = tasks

    def collect(self) -> list[Result]:
        """See `Engine.collect`."""
        return [self._worker.play(task) for task in self._tasks]

    def close(self) -> None:
        """There is nothing to stop."""


_worker: Callable[[], SelfPlay]


def _start_worker(configuration: Configuration) -> None:
    """In a process of the pool."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the learner
    end_with_parent()
    torch.set_num_threads(1)
    # Made by the first task, which can tell what goes wrong; here it would break the pool.
    _worker = functools.cache(lambda: SelfPlay(configuration))


def _play(task: Task) -> Result:
    """In a process of the pool."""
    return _worker().play(task)


class ProcessEngine:
    """Plays in processes of this machine."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._pool = self._new_pool()
        self._tasks: Sequence[Task] = ()
        self._futures: list[Future[Result]] = []

    def _new_pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        count = self._configuration.workers
        return ProcessPoolExecutor(count, context, _start_worker, (self._configuration,))

    def submit(self, tasks: Sequence[Task]) -> None:
        """See `Engine.submit`."""
        self._tasks = tasks
        self._futures = [self._submitted(task) for task in tasks]

    def _submitted(self, task: Task) -> "Future[Result]":
        with quiet_start():  # a task may be what a process is started for
            try:
                return self._pool.submit(_play, task)
            except BrokenProcessPool:
                self._pool = self._new_pool()
                return self._pool.submit(_play, task)

    def collect(self) -> list[Result]:
        """See `Engine.collect`."""
        attempts = 0
        while True:
            try:
                return [future.result() for future in self._futures]
            except BrokenProcessPool as error:  # one died, and its death has broken them all
                attempts += 1
                if attempts == ATTEMPTS:
                    raise ChildProcessError(
                        f"a process that plays has died {ATTEMPTS} times: out of memory?"
                    ) from error
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = self._new_pool()
                self._futures = [
                    future if is_done(future) else self._submitted(task)
                    for future, task in zip(self._futures, self._tasks, strict=True)
                ]

    def close(self) -> None:
        """See `Engine.close`."""
        known: dict[int, Any] = getattr(self._pool, "_processes", None) or {}
        processes = list(known.values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


def is_done(future: "Future[Result]") -> bool:
    """Whether a task has a result."""
    return future.done() and not future.cancelled() and future.exception() is None


class RayEngine:
    """Plays in actors of a Ray cluster; the learner and the replay buffer stay in this process.

    It joins the cluster that the environment variable RAY_ADDRESS names, or starts one on this
    machine. An actor takes a task whenever it has none, so that while one lives, nobody waits for
    one that has died and for whose replacement there may be no machine any more.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._ray = ray = library("ray", "distributed")
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            ray.init(log_to_driver=False, logging_level="ERROR", include_dashboard=False)
        self._claims = {"num_cpus": 1.0, "num_gpus": configuration.self_play.gpus}
        try:
            check_claims(configuration, ray.cluster_resources())
        except ValueError:
            self._stop_ray()
            raise
        self._configuration = configuration
        self._idle: list[Any] = []
        self._busy: dict[Any, tuple[Any, int | None]] = {}
        """Actors and their tasks (None: to start), by Ray's reference to what comes of it."""
        self._tasks: Sequence[Task] = ()
        self._waiting: list[int] = []
        self._results: dict[int, Result] = {}
        self._deaths = 0
        for _ in range(configuration.workers):
            self._start_actor()

    def _start_actor(self) -> None:
        actor = self._ray.remote(**self._claims)(RayWorker).remote(self._configuration)
        self._busy[actor.start.remote()] = (actor, None)

    def actors(self) -> list[Any]:
        """Those that live, as far as is known; idle ones first."""
        return [*self._idle, *(actor for actor, _ in self._busy.values())]

    def submit(self, tasks: Sequence[Task]) -> None:
        """See `Engine.submit`."""
        self._tasks = tasks
        shared: dict[int, Any] = {}  # weights travel once to each machine
        for task in tasks:
            if id(task.weights) not in shared:
                shared[id(task.weights)] = self._ray.put(task.weights)
        self._weights = [shared[id(task.weights)] for task in tasks]
        self._waiting = list(range(len(tasks)))
        self._results = {}
        self._deaths = 0
        self._hand_out()

    def _hand_out(self) -> None:
        while self._idle and self._waiting:
            actor, number = self._idle.pop(), self._waiting.pop(0)
            task = self._tasks[number]._replace(weights={})
            self._busy[actor.play.remote(task, self._weights[number])] = (actor, number)

    def collect(self) -> list[Result]:
        """See `Engine.collect`."""
        while len(self._results) < len(self._tasks):
            (reference,), _ = self._ray.wait(list(self._busy), num_returns=1)
            self._take(reference)
            self._hand_out()
        return [self._results[number] for number in range(len(self._tasks))]

    def _take(self, reference: Any) -> None:
        """What came of something an actor was asked for."""
        actor, number = self._busy.pop(reference)
        try:
            result: Result | None = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            self._idle.append(actor)
            raise error.cause from error  # what it does, it would do again
        except self._ray.exceptions.RayError as error:  # the actor, its machine, or what it had
            self._ray.kill(actor)
            self._deaths += 1
            if self._deaths == ATTEMPTS * len(self._tasks):
                raise ChildProcessError(
                    f"actors that play have died {self._deaths} times, the last time so: "
                    f"{str(error).strip().splitlines()[-1]}"
                ) from error
            self._start_actor()
            if number is not None:
                self._waiting.append(number)
            return
        self._idle.append(actor)
        if number is not None and result is not None:
            # (What Ray hands over cannot be written to.)
            self._results[number] = result._replace(unfinished=result.unfinished.copied())

    def close(self) -> None:
        """See `Engine.close`."""
        for actor in self.actors():
            self._ray.kill(actor)
        self._stop_ray()

    def _stop_ray(self) -> None:
        if self._is_ours:
            self._ray.shutdown()


def check_claims(configuration: Configuration, there: Mapping[str, float]) -> None:
    """See that Ray has room for all actors: some would wait for ever.

    Raises:
        ValueError: If it has not.
    """
    workers, gpus = configuration.workers, configuration.self_play.gpus
    processors = int(there.get("CPU", 0))
    if workers > processors:
        raise ValueError(
            f"expected workers up to {processors}, the processors that Ray has, got {workers}"
        )
    if gpus and workers > int(there.get("GPU", 0)) * int(1 / gpus):
        raise ValueError(
            f"expected self_play.gpus as a share that Ray's {there.get('GPU', 0):g} GPUs can give "
            f"to {workers} workers, got {gpus}"
        )


class RayWorker:
    """An actor that plays."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def start(self) -> None:
        """Make all that tasks need; in a method, as Ray hides the errors of `__init__`."""
        torch.set_num_threads(1)
        self._worker = SelfPlay(self._configuration)

    def play(self, task: Task, weights: Any) -> Result:
        """A task; its weights come through Ray's store, where every machine has one copy."""
        copies = {name: tensor.clone() for name, tensor in weights.items()}
        return self._worker.play(task._replace(weights=copies))


ENGINES: Final[dict[str, type[Any]]] = {
    "local": LocalEngine,
    "processes": ProcessEngine,
    "ray": RayEngine,
}
"""Engines by name."""
