"""Playing a tournament: what is missing is played, by one engine or another, and written down."""

import os
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Annotated, Final, Literal, get_args

from msgspec import Meta

from agents.arena.game_records import TournamentRecords
from agents.arena.games import FailedGame, PlayedGame, Result
from agents.arena.players import check_agents
from agents.arena.processes import available_cpus, play_here, play_in_processes
from agents.arena.ray_engine import play_with_ray
from agents.arena.results import ResultsFile
from agents.arena.schedule import Game, Schedule
from agents.arena.specification import Tournament
from agents.arena.standings import SprtMonitor, Standings, standings
from agents.core.structured import convert
from hexenv.extras import library

EngineName = Literal["processes", "ray"]
ENGINES: Final[tuple[EngineName, ...]] = get_args(EngineName)
GAME_SECONDS: Final = 3600.0
"""How long a game may take before its agents are taken as hung."""


class TournamentRun:
    """A tournament in progress: iterate over it to play the games that are missing.

    Examples:
        >>> run = TournamentRun(Tournament("tictactoe", ["greedy", "random"], pairs=2), workers=0)
        >>> results = list(run)
        >>> run.standings().agents[0].games
        4

    Args:
        tournament: What is played.
        results: File to which every game is added as it ends. If it is there already, it must be
            of this tournament: then only the games that it lacks, or that have failed, are played.
        engine: ``"processes"``, or ``"ray"`` for more than one machine.
        workers: Games at a time; None for one on each processor. With 0 all are played in this
            process, where agents that crash or hang take it with them.
        game_seconds: How long a game may take, compilation apart; None for no limit.
        records: Directory for the record of every game (see `agents.records`). It goes with
            `results`: without it, and where that is begun, there may be no records but one, of a
            game that was broken off before its line was written.

    Attributes:
        results: What came of the games so far, by number.
        notes: What to tell the user about the file of results.

    Raises:
        ValueError: If the game, an agent or an argument is wrong, or the file is of no use.
        ImportError: If the engine is not installed.
        OSError: If the file cannot be written.
    """

    def __init__(
        self,
        tournament: Tournament,
        results: str | os.PathLike[str] | None = None,
        engine: EngineName = "processes",
        workers: int | None = None,
        game_seconds: float | None = GAME_SECONDS,
        records: str | os.PathLike[str] | None = None,
    ) -> None:
        check_running(engine, workers, game_seconds)
        self.tournament = tournament
        self._engine, self._workers, self._game_seconds = engine, workers, game_seconds
        if engine == "ray":
            library("ray", "distributed")
        check_agents(tournament, must_pickle=engine == "processes" and workers != 0)
        self._schedule = Schedule(tournament)
        self.results: dict[int, Result] = {}
        self.notes: list[str] = []
        self._file: ResultsFile | None = None
        if results is not None:
            self._file = ResultsFile(results, tournament, self._schedule)
            self.notes += self._file.notes
            self.results |= {result.game.number: result for result in self._file.results}
            self.results |= {  # one that failed first and was then played
                result.game.number: result
                for result in self._file.results
                if isinstance(result, PlayedGame)
            }
        self._records = None if records is None else self._open_records(records)
        self._is_again = {n for n, r in self.results.items() if isinstance(r, FailedGame)}
        self._monitor = None
        if tournament.sprt is not None:
            self._monitor = SprtMonitor(tournament.sprt, tournament.pairs)
            self._follow()

    def _open_records(self, path: str | os.PathLike[str]) -> TournamentRecords:
        try:
            return TournamentRecords(path, self.tournament, self._schedule, self.results)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let others use the file of results."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __iter__(self) -> Iterator[Result]:
        return self._play()

    def missing(self) -> Iterator[Game]:
        """The games to be played: those with no result, and those that failed in earlier runs."""
        for number in range(len(self._schedule)):
            if number not in self.results or number in self._is_again:
                yield self._schedule[number]

    def count_missing(self) -> int:
        """How many games that is, without an early stop."""
        return len(self._schedule) - len(self.results.keys() - self._is_again)

    def standings(self) -> Standings:
        """The table of the games so far."""
        return standings(self.tournament, self.results, self._monitor)

    def _play(self) -> Iterator[Result]:
        if self._is_decided():
            return
        games = self._games()
        try:
            for result in games:
                yield self._keep(result)
                if self._is_decided():
                    return
        finally:
            games.close()

    def _games(self) -> Generator[Result, None, None]:
        arguments = self.tournament, self.missing()
        keeps_records = self._records is not None
        if self._engine == "ray":
            yield from play_with_ray(*arguments, self._workers, self._game_seconds, keeps_records)
        elif self._workers == 0:
            yield from play_here(*arguments, keeps_records)
        else:
            workers = min(self._workers or available_cpus(), self.count_missing())
            yield from play_in_processes(*arguments, workers, self._game_seconds, keeps_records)

    def _keep(self, result: Result) -> Result:
        """Write down a result, which is returned without its record."""
        if self._records is not None and isinstance(result, PlayedGame):
            self._records.add(result)  # first: every line has its record
            result = replace(result, record=None)
        if self._file is not None:
            self._file.add(result)
        self.results[result.game.number] = result
        self._is_again.discard(result.game.number)
        self._follow()
        return result

    def _follow(self) -> None:
        if self._monitor is not None:
            self._monitor.follow(self.results, without=self._is_again)

    def _is_decided(self) -> bool:
        return self._monitor is not None and self._monitor.state.accepted is not None


def check_running(engine: str, workers: int | None, game_seconds: float | None) -> None:
    """Refuse a way of playing that there is not.

    Raises:
        ValueError: Naming the wrong value.
    """
    convert(engine, EngineName, "engine")
    if workers is not None:
        convert(workers, Annotated[int, Meta(ge=1 if engine == "ray" else 0)], "workers")
    if game_seconds is not None:
        convert(game_seconds, Annotated[float, Meta(ge=1e-3, le=1e9)], "timeout")


def run_tournament(
    tournament: Tournament,
    results: str | os.PathLike[str] | None = None,
    engine: EngineName = "processes",
    workers: int | None = None,
    game_seconds: float | None = GAME_SECONDS,
    records: str | os.PathLike[str] | None = None,
) -> Standings:
    """Play a tournament to its end, or go on with one, and return its table.

    The arguments are those of `TournamentRun`. A script that calls this needs its own code under
    ``if __name__ == "__main__":``, as with everything that starts processes.
    """
    run = TournamentRun(tournament, results, engine, workers, game_seconds, records)
    try:
        for _ in run:
            pass
    finally:
        run.close()
    return run.standings()
