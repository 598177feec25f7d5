"""What one process of a tournament does: make the agents, and play game after game."""

import copy
import importlib
import inspect
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from agents.arena.game_records import environment_seed, new_recorder
from agents.arena.games import FailedGame, PlayedGame, Result, played
from agents.arena.match import close, play_game, prepare
from agents.arena.schedule import OF_AGENTS, Game, new_environment, stream_seed
from agents.arena.specification import Entrant, Tournament
from agents.core.agent import Agent, ForfeitError, Statistics
from agents.registry import make_agent
from agents.search.environment import action_mask, planner_view

PREPARE_SECONDS: Final = 600.0
"""How long an agent may take to be made and to compile, before the clock of its game starts."""


class CallableAgent:
    """An agent that asks a function.

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
    """An agent of its own for a process, as an entrant describes it.

    A text ``module.function`` whose function must be given one or two arguments is such a function
    itself (see `CallableAgent`); all other texts are those of `agents.registry.make_agent`. What they
    make, a checkpoint for example, may be an agent or again such a function.

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
        return None  # which make_agent says better
    is_function = inspect.isroutine(found) and needed_arguments(found) in (1, 2)
    return found if is_function else None


def check_agents(tournament: Tournament, must_pickle: bool) -> None:
    """Make every agent once, to find what is wrong with them before anything is played.

    Args:
        tournament: Whose agents.
        must_pickle: Whether they have to reach other processes.

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
    except Exception as error:  # whatever a foreign object raises
        raise ValueError(
            f"{name}: expected what can be sent to another process, got {value!r}: {error} "
            "(define it in a module, or play with workers=0)"
        ) from error


class AgentError(Exception):
    """What an agent raised, with its label."""


class _Seat:
    """An agent in a game, with its label for what it raises."""

    def __init__(self, agent: Agent, label: str) -> None:
        self._agent, self._label = agent, label

    @property
    def statistics(self) -> Statistics | None:
        return getattr(self._agent, "statistics", None)

    def act(self, env: Any) -> int:
        return self._guarded(self._agent.act, env)

    def reset(self, seed: int | None = None) -> None:
        self._guarded(self._agent.reset, seed)

    def prepare(self, env: Any) -> None:
        self._guarded(prepare, env, [self._agent])

    def close(self) -> None:
        with suppress(Exception):  # nothing of it matters any more
            close([self._agent])

    def _guarded(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except ForfeitError:  # no failure: the agent loses
            raise
        except (Exception, SystemExit) as error:
            raise AgentError(f"{self._label}: {type(error).__name__}: {error}") from error


class Players:
    """The agents of a tournament in one process, and the environment they play in.

    Every game is a function of its description alone: environment and agents are reset with seeds
    that come from the tournament's seed and the game's number. Agents are made when their first
    game comes, and compile before its time is counted.

    Args:
        tournament: What is played.
        keeps_records: Whether the games' records are made.
    """

    def __init__(self, tournament: Tournament, keeps_records: bool = False) -> None:
        self._tournament = tournament
        self._keeps_records = keeps_records
        self._env: Any = None
        self._seats: dict[int, _Seat] = {}

    def play(self, game: Game, on_start: Callable[[], None] = lambda: None) -> Result:
        """Play a game; one in which an agent or the environment raises something has failed.

        Args:
            game: Which.
            on_start: Called when all is prepared and the agents' time begins.
        """
        try:
            return self._play(game, on_start)
        except (Exception, SystemExit) as error:
            self.close()  # nobody knows what state they are in
            reason = str(error)
            if not isinstance(error, AgentError):
                reason = f"{type(error).__name__}: {reason}"
            return FailedGame(game, reason)

    def close(self) -> None:
        """Forget agents and environment."""
        close(self._seats.values())
        self._seats.clear()
        env, self._env = self._env, None
        if env is not None:
            env.close()

    def _play(self, game: Game, on_start: Callable[[], None]) -> PlayedGame:
        tournament = self._tournament
        if self._env is None:
            self._env = new_environment(tournament)
        seed = environment_seed(tournament, game)
        self._env.reset(seed=seed)
        for action in game.opening:
            self._env.step(action)
        seats = [self._seat(number) for number in game.agents]
        for place, seat in enumerate(seats):
            seat.reset(stream_seed(tournament.seed, OF_AGENTS, game.number, place))
        on_start()
        if not self._keeps_records:
            return played(game, play_game(self._env, seats, game.first))
        recorder = new_recorder(tournament, game, seats)
        result = play_game(self._env, seats, game.first, recorder.on_move)
        return played(game, result, recorder.record(result, seed=seed, opening=game.opening))

    def _seat(self, number: int) -> _Seat:
        if number not in self._seats:
            entrant = self._tournament.entrants[number]
            seat = _Seat(new_agent(entrant), entrant.label)
            seat.prepare(self._env)
            self._seats[number] = seat
        return self._seats[number]
