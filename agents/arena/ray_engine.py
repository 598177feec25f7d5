"""The engine of more than one machine: games as tasks of Ray (Moritz et al. 2018).

One task plays one game on one processor; Ray finds the machine. A task that dies takes no other
with it. `hexenv`, and the modules that agents come from, must be installed on every machine.
"""

# Ray's types are partly missing; this module is where that stays.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false

import faulthandler
import itertools
import pickle
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from agents.arena.games import FailedGame, Result
from agents.arena.players import PREPARE_SECONDS, Players
from agents.arena.schedule import Game
from agents.arena.specification import Tournament
from hexenv.extras import library

GET_SECONDS: Final = 60.0
"""How long the result of a task that has ended may take to arrive."""

_players: Final[dict[str, Players]] = {}
"""In a process of Ray's: the agents of the tournament that it plays, by the tournament's key."""


def _play_one(job: "_Job", game: Game, game_seconds: float | None) -> Result:
    """Play a game, with the agents of the game before if this process had one."""
    if job.key not in _players:
        for players in _players.values():
            players.close()
        _players.clear()
        sys.path.extend(path for path in job.paths if path not in sys.path)
        _players[job.key] = Players(pickle.loads(job.tournament), job.keeps_records)

    def start_the_clock() -> None:
        faulthandler.cancel_dump_traceback_later()
        if game_seconds is not None:
            faulthandler.dump_traceback_later(game_seconds, exit=True)

    try:  # at the end of the time the process ends, even if it never returns to Python
        faulthandler.dump_traceback_later(PREPARE_SECONDS, exit=True)
        return _players[job.key].play(game, start_the_clock)
    finally:
        faulthandler.cancel_dump_traceback_later()


@dataclass(frozen=True)
class _Job:
    """What a process of Ray's has to know of a tournament.

    Attributes:
        key: Tells it from all others.
        paths: Where this process finds modules: on one machine the others find them there too.
        tournament: Pickled, as it may need these paths.
        keeps_records: Whether the games' records are made.
    """

    key: str
    paths: tuple[str, ...]
    tournament: bytes
    keeps_records: bool


def play_with_ray(
    tournament: Tournament,
    games: Iterable[Game],
    workers: int | None,
    game_seconds: float | None,
    keeps_records: bool = False,
) -> Iterator[Result]:
    """Play games as tasks of Ray, and hand over each as it ends.

    Where the program is connected to Ray, that is used; else the cluster that the variable
    RAY_ADDRESS names; else Ray is started on this machine, and stopped in the end.

    Args:
        tournament: What is played.
        games: Its games that are wanted.
        workers: How many games at a time; None, or more than Ray has processors, for one on each.
        game_seconds: How long a game may take, without compilation; None for as long as it likes.
        keeps_records: Whether the games' records are made.
    """
    ray = library("ray", "distributed")
    is_ours = not ray.is_initialized()
    if is_ours:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        processors = max(1, int(ray.cluster_resources().get("CPU", 1)))
        count = min(workers or processors, processors)  # tasks that wait would seem to hang
        tasks = _Tasks(ray, tournament, game_seconds, keeps_records)
        yield from tasks.play(iter(games), count)
    finally:
        if is_ours:
            ray.shutdown()


class _Tasks:
    """The games that Ray plays at the moment."""

    def __init__(
        self, ray: Any, tournament: Tournament, game_seconds: float | None, keeps_records: bool
    ) -> None:
        self._ray = ray
        self._task = ray.remote(num_cpus=1, max_retries=0)(_play_one)
        pickled = ray.cloudpickle.dumps(tournament)
        self._job = ray.put(_Job(uuid.uuid4().hex, tuple(sys.path), pickled, keeps_records))
        self._limit = game_seconds
        self._running: dict[Any, tuple[Game, float]] = {}

    def play(self, games: Iterator[Game], count: int) -> Iterator[Result]:
        try:
            for game in itertools.islice(games, count):
                self._start(game)
            while self._running:
                for reference in self._ended():
                    result = self._result(reference)
                    for game in itertools.islice(games, 1):
                        self._start(game)
                    yield result
        finally:
            for reference in self._running:
                self._ray.cancel(reference, force=True)

    def _start(self, game: Game) -> None:
        reference = self._task.remote(self._job, game, self._limit)
        self._running[reference] = game, time.monotonic()

    def _ended(self) -> list[Any]:
        """Tasks that have ended, or that nothing was heard from for far too long."""
        found, _ = self._ray.wait(list(self._running), num_returns=1, timeout=1.0)
        now = time.monotonic()
        limit = None if self._limit is None else self._limit + PREPARE_SECONDS
        late = [
            reference
            for reference, (_, started) in self._running.items()
            if limit is not None and now - started > limit and reference not in found
        ]
        return found + late

    def _result(self, reference: Any) -> Result:
        game, started = self._running.pop(reference)
        ready, _ = self._ray.wait([reference], timeout=0)
        if not ready:
            self._ray.cancel(reference, force=True)
            return FailedGame(
                game, f"nothing was heard of it for {time.monotonic() - started:.0f} s"
            )
        try:
            return self._ray.get(reference, timeout=GET_SECONDS)
        except self._ray.exceptions.RayError as error:
            reason = f"its task ended with {type(error).__name__}"
            if self._limit is not None and time.monotonic() - started > self._limit:
                reason += f", perhaps as it took longer than {self._limit:g} s"
            return FailedGame(game, reason)
