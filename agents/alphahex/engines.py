"""Where self-play runs: in this process, in several, or as actors of a Ray cluster.

An engine is given tasks, one for each worker, and gives back their results in the workers' order. A
worker that dies is replaced and its task played again, with the same result.
"""

import multiprocessing
import os
import signal
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final, Protocol

import torch

from agents.alphahex.configuration import Configuration
from agents.alphahex.self_play import Result, SelfPlay, Task
from agents.models import library
from agents.tournament.processes import end_with_parent, quiet_start

ATTEMPTS: Final = 5
"""How often a task is begun before its failures are taken for its own fault."""


class Engine(Protocol):
    """What plays tasks."""

    def submit(self, tasks: Sequence[Task]) -> None:
        """Begin to play; the results are fetched by `collect` before the next tasks come."""
        ...

    def collect(self) -> list[Result]:
        """Wait for the results of the tasks.

        Raises:
            RuntimeError: If workers die again and again.
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


_worker: SelfPlay | None = None


def _start_worker(configuration: Configuration) -> None:
    """In a process of the pool."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the learner
    end_with_parent()
    torch.set_num_threads(1)
    _worker = SelfPlay(configuration)


def _play(task: Task) -> Result:
    """In a process of the pool."""
    if _worker is None:
        raise RuntimeError("expected a worker that has been started")
    return _worker.play(task)


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
        for _ in range(ATTEMPTS):
            try:
                return [future.result() for future in self._futures]
            except BrokenProcessPool:  # one died, and its death has broken them all
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = self._new_pool()
                self._futures = [
                    future if is_done(future) else self._submitted(task)
                    for future, task in zip(self._futures, self._tasks, strict=True)
                ]
        raise RuntimeError(f"a process that plays has died {ATTEMPTS} times: out of memory?")

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
    machine.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._ray = ray = library("ray", "distributed")
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            ray.init(log_to_driver=False, logging_level="ERROR", include_dashboard=False)
        processors = int(ray.cluster_resources().get("CPU", 1))
        if configuration.workers > processors:  # some would wait for ever
            self._stop_ray()
            raise ValueError(
                f"expected workers up to {processors}, the processors that Ray has, got "
                f"{configuration.workers}"
            )
        self._configuration = configuration
        self._actors = [self._new_actor() for _ in range(configuration.workers)]
        self._tasks: Sequence[Task] = ()
        self._waiting: list[Any] = []

    def _new_actor(self) -> Any:
        return self._ray.remote(num_cpus=1)(RayWorker).remote(self._configuration)

    def submit(self, tasks: Sequence[Task]) -> None:
        """See `Engine.submit`."""
        self._tasks = tasks
        shared: dict[int, Any] = {}  # weights travel once to each machine
        for task in tasks:
            if id(task.weights) not in shared:
                shared[id(task.weights)] = self._ray.put(task.weights)
        self._weights = [shared[id(task.weights)] for task in tasks]
        self._waiting = [self._begun(number) for number in range(len(tasks))]

    def _begun(self, number: int) -> Any:
        task = self._tasks[number]._replace(weights={})
        return self._actors[number].play.remote(task, self._weights[number])

    def collect(self) -> list[Result]:
        """See `Engine.collect`."""
        return [self._result(number) for number in range(len(self._tasks))]

    def _result(self, number: int) -> Result:
        for _ in range(ATTEMPTS):
            try:
                result: Result = self._ray.get(self._waiting[number])
                # (What Ray hands over cannot be written to.)
                return result._replace(unfinished=result.unfinished.copied())
            except self._ray.exceptions.RayTaskError:
                raise  # what it does, it would do again
            except self._ray.exceptions.RayError:  # an actor, its machine or what it had is lost
                self._actors[number] = self._new_actor()
                self._waiting[number] = self._begun(number)
        raise RuntimeError(f"an actor that plays has died {ATTEMPTS} times: out of memory?")

    def close(self) -> None:
        """See `Engine.close`."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._stop_ray()

    def _stop_ray(self) -> None:
        if self._is_ours:
            self._ray.shutdown()


class RayWorker:
    """An actor that plays."""

    def __init__(self, configuration: Configuration) -> None:
        torch.set_num_threads(1)
        self._worker = SelfPlay(configuration)

    def play(self, task: Task, weights: Any) -> Result:
        """A task; its weights come through Ray's store, where every machine has one copy."""
        copies = {name: tensor.clone() for name, tensor in weights.items()}
        return self._worker.play(task._replace(weights=copies))

    def pid(self) -> int:
        """Its process, on its machine."""
        return os.getpid()


ENGINES: Final[dict[str, type[Any]]] = {
    "local": LocalEngine,
    "processes": ProcessEngine,
    "ray": RayEngine,
}
"""Engines by name."""
