"""Playing a tournament: the games that are missing are played by a pool of workers and kept."""

import copy
import functools
import importlib
import inspect
import math
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, cast, get_args

from msgspec import Meta

from agents.arena.game_records import TournamentRecords, agent_names, environment_seed, game_name
from agents.arena.match import close, play_game, prepare
from agents.arena.openings import OF_AGENTS
from agents.arena.results import FailedGame, PlayedGame, Result, ResultsFile
from agents.arena.schedule import Schedule, ScheduledGame, new_environment, stream_seed
from agents.arena.specification import Entrant, Tournament
from agents.arena.standings import SprtMonitor, Standings, standings
from agents.core.agent import Agent, ForfeitError, Statistics
from agents.core.ray_workers import RayPool
from agents.core.structured import convert
from agents.core.workers import Limits, LocalPool, Lost, Pool, ProcessPool, Worker
from agents.planning.environment import action_mask
from agents.planning.view import planner_view
from agents.records.recorder import Recorder
from agents.registry import make_agent
from hexenv.common.extras import library
from hexenv.compiled.cpus import usable_cpus

EngineName = Literal["processes", "ray"]
ENGINES: Final[tuple[EngineName, ...]] = get_args(EngineName)
PREPARE_SECONDS: Final = 600.0
"""How long agents may take to be made and to compile, before the clock of their game starts."""
GAME_SECONDS: Final = 3600.0
"""How long a game may take before its agents count as hung."""


# ---- agents --------------------------------------------------------------------------------------


class CallableAgent:
    """An agent that asks a function.

    Examples:
        >>> from hexenv import tictactoe_v0
        >>> env = tictactoe_v0.env()
        >>> env.reset()
        >>> CallableAgent(lambda observation, action_mask: int(action_mask.argmax())).act(env)
        0

    Args:
        function: With one parameter that must be given, ``function(env) -> action``, it is handed
            the environment, which it must leave as it was. With two, ``function(observation,
            action_mask) -> action``, what the agent to move sees, and its ``(num_actions,)`` mask.

    Raises:
        ValueError: If it takes neither one nor two arguments.
    """

    statistics: Statistics | None = None

    def __init__(self, function: Callable[..., Any]) -> None:
        self._takes = needed_arguments(function)
        self._function = function
        if self._takes not in (1, 2):
            raise ValueError(
                "expected a function of an environment, or of an observation and an action mask, "
                f"got {function!r}, which takes {self._takes} arguments"
            )

    def reset(self, seed: int | None = None) -> None:
        """Hand the seed on to the function's own `reset`, if it has one."""
        if hasattr(self._function, "reset"):
            cast("Any", self._function).reset(seed)

    def act(self, env: Any) -> int:
        """What the function chooses."""
        if self._takes == 1:
            return self._function(env)
        return self._function(env.last()[0], action_mask(env))


def needed_arguments(function: Callable[..., Any]) -> int:
    """How many positional arguments a function must be given."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        parameter.kind in kinds and parameter.default is parameter.empty
        for parameter in inspect.signature(function).parameters.values()
    )


def new_agent(entrant: Entrant) -> Agent:
    """A new agent, as an entrant describes it.

    A text ``module.function`` names a function for `CallableAgent` if that function must be given
    one or two arguments; all other texts are those of `agents.registry.make_agent`, which may make
    an agent or again such a function.

    Raises:
        ValueError: If there is no such agent, or it refuses a value.
    """
    agent: Any = entrant.agent
    if isinstance(agent, str):
        agent = _function_named(agent) or make_agent(agent, or_function=True)
    elif hasattr(agent, "act"):
        agent = copy.deepcopy(agent)
    return agent if hasattr(agent, "act") else CallableAgent(agent)


def _function_named(text: str) -> Callable[..., Any] | None:
    module, _, attribute = text.partition(":")[0].rpartition(".")
    if not module or ":" in text:
        return None
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except (ImportError, ValueError):
        return None  # the message of `make_agent` is better
    is_function = inspect.isroutine(found) and needed_arguments(found) in (1, 2)
    return found if is_function else None


def check_agents(tournament: Tournament, must_pickle: bool) -> None:
    """Make every agent once, so that mistakes are found before anything is played.

    Raises:
        ValueError: Naming the agent, or why it cannot plan in the tournament's environment.
    """
    env = new_environment(tournament)
    try:
        env.reset(seed=tournament.seed)
        for entrant in tournament.entrants:
            agent: Any = new_agent(entrant)
            if hasattr(agent, "assume"):  # it plans
                planner_view(env, agent.route, agent.assume)
            if must_pickle:
                _check_pickles(f"the agent {entrant.label!r}", entrant.agent)
    finally:
        env.close()
    if must_pickle:
        _check_pickles("the game", tournament.game)


def _check_pickles(name: str, value: Any) -> None:
    try:
        pickle.dumps(value)
    except Exception as error:  # an object of the user's may raise anything
        raise ValueError(
            f"{name}: expected something that can be pickled, got {value!r}: {error} "
            "(define it in a module, or play with workers=0)"
        ) from error


class AgentError(Exception):
    """An agent's exception, with its label."""


class _LabelledAgent:
    """An agent whose exceptions become `AgentError`s."""

    def __init__(self, agent: Agent, label: str) -> None:
        self.wrapped, self._label = agent, label

    @property
    def statistics(self) -> Statistics | None:
        return getattr(self.wrapped, "statistics", None)

    @property
    def refused(self) -> int:
        return getattr(self.wrapped, "refused", 0)

    def act(self, env: Any) -> int:
        return self._guarded(self.wrapped.act, env)

    def reset(self, seed: int | None = None) -> None:
        self._guarded(self.wrapped.reset, seed)

    def prepare(self, env: Any) -> None:
        self._guarded(prepare, env, [self.wrapped])

    def close(self) -> None:
        with suppress(Exception):  # the agent is not used any more
            close([self.wrapped])

    def _guarded(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except ForfeitError:  # the agent loses, which is no failure
            raise
        except (Exception, SystemExit) as error:
            raise AgentError(f"{self._label}: {type(error).__name__}: {error}") from error


class Players(Worker):
    """The agents of a tournament in one process, and the environment they play in.

    Every game is a function of its description alone: environment and agents are reset with seeds
    that come from the tournament's seed and the game's number. An agent is made for its first game,
    and compiles before the game's clock starts.
    """

    def __init__(self, tournament: Tournament, keeps_records: bool = False) -> None:
        self._tournament = tournament
        self._keeps_records = keeps_records
        self._env: Any = None
        self._agents: dict[int, _LabelledAgent] = {}

    def do(self, task: ScheduledGame, start_clock: Callable[[], None]) -> Result:
        """Play a game; it has failed if an agent or the environment raises something."""
        try:
            return self._play(task, start_clock)
        except (Exception, SystemExit) as error:
            self.close()  # they may be in any state
            kind = "" if isinstance(error, AgentError) else f"{type(error).__name__}: "
            return FailedGame(task, f"{kind}{error}")

    def close(self) -> None:
        close(self._agents.values())
        self._agents.clear()
        env, self._env = self._env, None
        if env is not None:
            env.close()

    def _play(self, game: ScheduledGame, start_clock: Callable[[], None]) -> PlayedGame:
        tournament = self._tournament
        if self._env is None:
            self._env = new_environment(tournament)
        seed = environment_seed(tournament, game)
        self._env.reset(seed=seed)
        agents = [self._agent(number) for number in game.agents]
        for place, agent in enumerate(agents):
            agent.reset(stream_seed(tournament.seed, OF_AGENTS, game.number, place))
        start_clock()
        about = game_name(tournament), tournament.options, agent_names(tournament, game)
        recorder = Recorder(*about, agents) if self._keeps_records else None
        on_move = recorder and recorder.on_move
        rules = tournament.adjudicate, tournament.clock
        result = play_game(self._env, agents, game.first, on_move, game.opening, *rules)
        record = recorder and recorder.record(result, seed=seed, env=self._env)
        return PlayedGame(**vars(replace(result, clock=())), game=game, record=record)

    def _agent(self, number: int) -> _LabelledAgent:
        if number not in self._agents:
            entrant = self._tournament.entrants[number]
            agent = _LabelledAgent(new_agent(entrant), entrant.label)
            agent.prepare(self._env)
            self._agents[number] = agent
        return self._agents[number]


# ---- the tournament ------------------------------------------------------------------------------


class TournamentRun:
    """A tournament in progress: iterate over it to play the games that are missing.

    Examples:
        >>> run = TournamentRun(Tournament("tictactoe", ["greedy", "random"], pairs=2), workers=0)
        >>> results = list(run)
        >>> run.standings().agents[0].games
        4

    Args:
        tournament: What is played.
        results: File to which every game is appended as it ends. One that exists must be of this
            tournament: then only the games that it lacks, or that have failed, are played.
        engine: ``"processes"``, or ``"ray"`` for more than one machine.
        workers: Games played in parallel; None for one on each processor. With 0 all are played in
            this process, which a crash of an agent ends and a hanging agent stops.
        game_seconds: How long a game may take, without compilation; None for no limit.
        records: Directory for the record of every game (see `agents.records`). Records of earlier
            games belong to the lines of `results`; one more may be there, of a game that was
            killed before its line was written.

    Attributes:
        results: The results so far, by the number of the game.
        notes: Messages for the user about the file of results.

    Raises:
        ValueError: If the game, an agent or an argument is wrong, or the file cannot be used.
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
        self._records = None
        if records is not None:
            try:
                self._records = TournamentRecords(records, tournament, self._schedule, self.results)
            except BaseException:
                self.close()
                raise
        self._failed_before = {n for n, r in self.results.items() if isinstance(r, FailedGame)}
        self._monitor = None
        if tournament.sprt is not None:
            self._monitor = SprtMonitor(tournament.sprt, tournament.pairs)
            self._follow()

    def close(self) -> None:
        """Close the file of results."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def missing(self) -> Iterator[ScheduledGame]:
        """The games to be played: those with no result, and those that failed in earlier runs."""
        for number in range(len(self._schedule)):
            if number not in self.results or number in self._failed_before:
                yield self._schedule[number]

    def count_missing(self) -> int:
        """How many games are missing, without an early stop."""
        return len(self._schedule) - len(self.results.keys() - self._failed_before)

    def standings(self) -> Standings:
        """The table of the games so far."""
        return standings(self.tournament, self.results, self._monitor)

    def __iter__(self) -> Iterator[Result]:
        if self._is_decided():
            return
        with closing(self._new_pool()) as pool:
            for game, outcome in pool.each(self.missing()):
                is_lost = isinstance(outcome, Lost)
                yield self._keep(FailedGame(game, outcome.reason) if is_lost else outcome)
                if self._is_decided():
                    return

    def _new_pool(self) -> Pool:
        make = functools.partial(Players, self.tournament, self._records is not None)
        limits = Limits(PREPARE_SECONDS, self._game_seconds or math.inf)
        if self._engine == "ray":
            return RayPool(make, self._workers, limits)
        if self._workers == 0:
            return LocalPool(make)
        workers = min(self._workers or usable_cpus(), self.count_missing())
        return ProcessPool(make, workers, limits)

    def _keep(self, result: Result) -> Result:
        """Write a result to the files; it is returned without its record."""
        if self._records is not None and isinstance(result, PlayedGame):
            self._records.add(result)  # before the line: every line has a record
            result = replace(result, record=None)
        if self._file is not None:
            self._file.add(result)
        self.results[result.game.number] = result
        self._failed_before.discard(result.game.number)
        self._follow()
        return result

    def _follow(self) -> None:
        if self._monitor is not None:
            self._monitor.follow(self.results, without=self._failed_before)

    def _is_decided(self) -> bool:
        return self._monitor is not None and self._monitor.state.accepted is not None


def check_running(engine: str, workers: int | None, game_seconds: float | None) -> None:
    """Check how a tournament is played."""
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
    """Play a tournament, or the rest of one, and return its table.

    The arguments are those of `TournamentRun`. A script that calls this needs its own code under
    ``if __name__ == "__main__":``, because processes are started.
    """
    run = TournamentRun(tournament, results, engine, workers, game_seconds, records)
    try:
        for _ in run:
            pass
    finally:
        run.close()
    return run.standings()
