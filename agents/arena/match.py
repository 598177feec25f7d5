"""A match: games between two agents, and their summary."""

import operator
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Annotated, Any, cast

import numpy as np

from agents.arena.adjudication import Adjudication, Judge
from agents.arena.clock import Clock, TimeControl
from agents.arena.intervals import distinct_share
from agents.arena.openings import new_openings
from agents.arena.ratings import PairScores
from agents.arena.specification import OPENING_PLIES
from agents.core.agent import Agent, ForfeitError
from agents.planning.environment import action_mask, check_in_play, is_over
from agents.planning.foreign import ForeignGame, ForeignState
from hexenv.common.messages import shortened
from hexenv.common.options import NO_BOUND, AtLeastOne, Within, checks_options

OnMove = Callable[[Any, int, int], None]
"""Called after each move with the environment, the number of the agent, and its action."""


@dataclass(frozen=True)
class GameResult:
    """One game between agents 0 and 1.

    Examples:
        >>> from agents import GreedyAgent, RandomAgent
        >>> from hexenv import tictactoe_v0
        >>> env = tictactoe_v0.env()
        >>> env.reset(seed=1)
        >>> result = play_game(env, [GreedyAgent(seed=1), RandomAgent(seed=2)])
        >>> result.first, result.outcome, result.illegal
        (0, 1, None)

    Attributes:
        first: The agent that moved first.
        outcome: For agent 0: 1 won, 0 drawn, -1 lost.
        actions: All legal actions played, those of an opening first.
        illegal: The agent that lost by an illegal action, or None.
        seconds: Time each agent spent choosing.
        moves: Moves each agent made.
        forfeit: Why the loser lost, where it was by an `agents.core.agent.ForfeitError` or for want
            of time; else None.
        clock: Time that each of the actions took to choose.
        assumed: What each agent's searches assumed although it is false.
        opening: How many of the actions are those of an opening.
        adjudicated: Why the game was ended, as `agents.arena.adjudication.Verdict` has it; None
            where it was played to its end.
        refused: Answers of each agent that were no move, where it is a player that speaks
            (`agents.policies.text_agent.TextAgent`).
    """

    first: int
    outcome: int
    actions: tuple[int, ...]
    illegal: int | None
    seconds: tuple[float, float]
    moves: tuple[int, int]
    forfeit: str | None = None
    clock: tuple[float, ...] = ()
    assumed: tuple[str | None, str | None] = (None, None)
    opening: int = 0
    adjudicated: str | None = None
    refused: tuple[int, int] = (0, 0)

    @property
    def forfeited_by(self) -> int | None:
        """The agent that lost by a forfeit, or None."""
        return None if self.forfeit is None else int(self.outcome > 0)

    @property
    def course(self) -> tuple[int, tuple[int, ...], int]:
        """Sides, moves (with those of the opening) and outcome; the same for the same game."""
        return self.first, self.actions, self.outcome


def check_agents(agents: Any) -> None:
    """Refuse by a ValueError what is not two agents: names, classes, one agent alone."""
    try:
        two = tuple(agents)
    except TypeError:
        two = (agents,)
    if len(two) != 2 or any(isinstance(one, type) or not hasattr(one, "act") for one in two):
        got = ", ".join(map(shortened, two))
        by_name = any(isinstance(one, str) for one in two)
        hint = " (agents.registry.make_agent makes one of a name)" if by_name else ""
        raise ValueError(f"expected two agents, objects with act, got {got}{hint}")


def play_game(
    env: Any,
    agents: Sequence[Agent],
    first: int = 0,
    on_move: OnMove | None = None,
    opening: Sequence[int] = (),
    adjudication: Adjudication | None = None,
    control: TimeControl | None = None,
) -> GameResult:
    """Play a game that has been reset to its end.

    Who chooses an illegal action, raises `ForfeitError`, or runs out of time, loses at once.

    Args:
        env: A two-agent AEC environment after `reset`.
        agents: The two agents.
        first: Which of them plays the environment's first agent.
        on_move: Called after each move of an agent.
        opening: Legal actions that are played before the agents are asked.
        adjudication: When the game is ended early; None: never.
        control: The time that the agents have for all their moves; None: as their budgets say.

    Raises:
        ValueError: If these are not two agents, or the opening is illegal or ends the game.
    """
    check_agents(agents)
    if first not in (0, 1):
        raise ValueError(f"expected first as 0 or 1, got {first!r}")
    game, played = ForeignGame(env), ForeignState(env)
    seconds, moves, actions, clock = [0.0, 0.0], [0, 0], list(opening), list[float]()
    assumed: list[str | None] = [None, None]
    illegal, forfeit, verdict = None, None, None
    judge, times = Judge(adjudication), Clock(control)
    _play_opening(env, game, played, opening)
    while not is_over(env):
        number = game.to_play(played) ^ first
        chosen, forfeit, taken = _ask(agents[number], env, number, times)
        seconds[number] += taken
        moves[number] += 1
        statistics = getattr(agents[number], "statistics", None)
        assumed[number] = assumed[number] or getattr(statistics, "assumed", None)
        if forfeit is not None or not is_legal(env, chosen):
            illegal = number if forfeit is None else None
            outcome = 1 if number else -1
            break
        action = operator.index(chosen)  # it may be a NumPy integer, or True
        actions.append(action)
        clock.append(taken)
        game.step(played, action)
        if on_move is not None:
            on_move(env, number, action)
        verdict = None if is_over(env) else judge.after(number, action, statistics, len(actions))
        if verdict is not None:
            outcome = verdict.outcome
            break
    else:
        outcome = game.outcome(played, first)
    spent = (seconds[0], seconds[1]), (moves[0], moves[1])
    told = forfeit, tuple(clock), (assumed[0], assumed[1]), len(opening), verdict and verdict.reason
    return GameResult(first, outcome, tuple(actions), illegal, *spent, *told, _refused(agents))


def _refused(agents: Sequence[Agent]) -> tuple[int, int]:
    """How many answers of each agent were no move, since its last `reset`."""
    counts = [int(getattr(agent, "refused", 0)) for agent in agents]
    return counts[0], counts[1]


def _play_opening(
    env: Any, game: ForeignGame, played: ForeignState, opening: Sequence[int]
) -> None:
    """Play the actions of an opening; ValueError if they are not legal, or end the game."""
    for action in opening:
        if is_over(env) or not is_legal(env, action):
            raise ValueError(f"expected an opening of legal actions, got {action} in {opening}")
        game.step(played, action)
    if opening and is_over(env):
        raise ValueError("expected an opening after which the game goes on, got one that ends it")


def _ask(agent: Agent, env: Any, number: int, times: Clock) -> tuple[Any, str | None, float]:
    """What an agent chooses, or why it forfeits, and the seconds that this took."""
    chosen, forfeit = None, None
    with times.limited(number, agent):
        started = time.perf_counter()
        try:
            chosen = agent.act(env)
        except ForfeitError as error:
            forfeit = error.reason
        taken = time.perf_counter() - started
    late = times.count(number, taken)
    return chosen, late if forfeit is None else forfeit, taken


def check_playable(env: Any) -> None:
    """Refuse an environment, after `reset`, in which two agents cannot play in turn."""
    ForeignGame(env)
    check_in_play(env)


def prepare(env: Any, agents: Sequence[Agent]) -> None:
    """Let agents compile what they need before the time of their moves is measured.

    The environment is one after `reset`; agents without a method `prepare` are skipped. What an
    agent says against the environment is a ValueError with its name.
    """
    for agent in agents:
        if hasattr(agent, "prepare"):
            try:
                cast("Any", agent).prepare(env)
            except ValueError as error:
                name = getattr(agent, "name", type(agent).__name__)
                raise ValueError(f"{name}: {error}") from error


def close(agents: Iterable[Agent]) -> None:
    """Let agents that have a method `close` end what they have started, such as a process."""
    for agent in agents:
        if hasattr(agent, "close"):
            cast("Any", agent).close()


def is_legal(env: Any, action: Any) -> bool:
    """Whether an agent's choice is an integer that the mask allows."""
    mask = action_mask(env)
    try:
        number = operator.index(action)
    except TypeError:
        return False
    return 0 <= number < len(mask) and bool(mask[number])


@checks_options
def play_match(
    env: Any,
    agents: Sequence[Agent],
    games: AtLeastOne,
    seed: int = 0,
    on_move: OnMove | None = None,
    opening_plies: Annotated[int | None, Within(0, NO_BOUND)] = 0,
) -> Iterator[GameResult]:
    """Play games with alternating sides; yields each result when its game ends.

    Games 0 and 1, 2 and 3, ... are pairs, with one start, one opening and the sides swapped.

    Before every game the agents are reset with seeds made of `seed`, the game's number and the
    agent's number, so that a game can be repeated alone.

    Args:
        env: A two-agent AEC environment.
        agents: The two agents; agent 0 moves first in games 0, 2, 4, ...
        games: How many, at least 1.
        seed: Of all random numbers.
        on_move: As in `play_game`.
        opening_plies: How many random plies each pair begins with. With None there are none as long
            as the agents play different games: if the second pair repeats the first one, they leave
            nothing to chance, and the others begin with `OPENING_PLIES`, in environments that can
            be planned in.

    Raises:
        ValueError: At the call, if these are not two agents, an environment and a number of games.
    """
    check_agents(agents)
    if isinstance(env, type | ModuleType) or not hasattr(env, "reset"):
        raise ValueError(f"expected an environment, got {shortened(env)}")
    return _play_match(env, agents, games, seed, on_move, opening_plies)


def _play_match(
    env: Any,
    agents: Sequence[Agent],
    games: int,
    seed: int,
    on_move: OnMove | None,
    opening_plies: int | None,
) -> Iterator[GameResult]:
    env.reset(seed=seed)
    openings = new_openings(env, opening_plies or 0, seed)
    prepare(env, agents)
    courses: list[Any] = []  # of the first two pairs
    for game in range(games):
        if game == 4 and opening_plies is None and distinct_share(courses) == 0.5:
            with suppress(ValueError):  # there are no openings
                env.reset(seed=seed)
                openings = new_openings(env, OPENING_PLIES, seed)
        for number, agent in enumerate(agents):
            agent.reset(int(np.random.SeedSequence([seed, game, number]).generate_state(1)[0]))
        env.reset(seed=seed + game // 2)
        result = play_game(env, agents, game % 2, on_move, openings[game // 2])
        if game < 4:
            courses.append(result.course)
        yield result


def pair_scores(
    games: Iterable[tuple[GameResult, int]], agents: tuple[int, int] = (0, 1)
) -> PairScores:
    """The scores of the first of two agents, from all of their games, each with its pair's number.

    A pair may have one game. `agents` are the two agents' numbers.
    """
    pairs: dict[int, list[float]] = {}
    courses: list[Any] = []
    for game, pair in games:
        pairs.setdefault(pair, []).append((1 + game.outcome) / 2)
        courses.append(game.course)
    return PairScores(
        agents,
        np.array([sum(scores) for scores in pairs.values()], np.float64),
        np.array([len(scores) for scores in pairs.values()], np.float64),
        len(set(courses)),
    )


@dataclass(frozen=True)
class MatchSummary:
    """The summary of a match, from agent 0's view.

    Examples:
        >>> from agents import GreedyAgent, RandomAgent
        >>> from hexenv import tictactoe_v0
        >>> agents = [GreedyAgent(seed=1), RandomAgent(seed=2)]
        >>> summary = summarise(list(play_match(tictactoe_v0.env(), agents, games=4)))
        >>> summary.games == summary.wins + summary.draws + summary.losses == 4
        True
        >>> summary.illegal_moves
        (0, 0)

    Attributes:
        games: Games played: `wins`, `draws` and `losses` of agent 0 together.
        distinct: How many of them do not repeat an earlier one, by sides, moves and outcome.
        opened: How many began with a random opening.
        score: (wins + draws / 2) / games.
        interval: 95 % interval of the score (`agents.arena.intervals.score_interval`), over pairs
            of games in which both agents move first once. All games together weigh as much as the
            distinct ones: a repeated game adds nothing.
        wins_moving_first: Wins of agent 0, then of agent 1, in the games each moved first.
        games_moving_first: How many games that were.
        illegal_moves: Games lost by an illegal action, by agent.
        seconds_per_move: Mean time for a move, by agent.
        plies: Mean length of a game.
        forfeits: Games lost by a forfeit, by agent.
        reasons: Why, a line for each of these games.
        assumed: What searches assumed although it is false, by agent.
    """

    games: int
    distinct: int
    opened: int
    wins: int
    draws: int
    losses: int
    score: float
    interval: tuple[float, float]
    wins_moving_first: tuple[int, int]
    games_moving_first: tuple[int, int]
    illegal_moves: tuple[int, int]
    seconds_per_move: tuple[float, float]
    plies: float
    forfeits: tuple[int, int] = (0, 0)
    reasons: tuple[str, ...] = ()
    assumed: tuple[str | None, str | None] = (None, None)

    def as_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return asdict(self)


def summarise(results: Sequence[GameResult]) -> MatchSummary:
    """The summary of the games of a match; a ValueError if there are none."""
    scores = pair_scores((result, number // 2) for number, result in enumerate(results))
    if scores.score is None:
        raise ValueError("expected the results of at least one game, got none")
    outcomes = [result.outcome for result in results]
    count = len(results)
    wins, draws, losses = (outcomes.count(outcome) for outcome in (1, 0, -1))

    def of_both(value: Callable[[int], Any]) -> tuple[Any, Any]:
        return value(0), value(1)

    def seconds_per_move(number: int) -> float:
        moves = sum(result.moves[number] for result in results)
        return sum(result.seconds[number] for result in results) / max(moves, 1)

    return MatchSummary(
        games=count,
        distinct=scores.distinct,
        opened=sum(result.opening > 0 for result in results),
        wins=wins,
        draws=draws,
        losses=losses,
        score=scores.score,
        interval=scores.interval,
        wins_moving_first=of_both(
            lambda n: sum(r.first == n and r.outcome == (1, -1)[n] for r in results)
        ),
        games_moving_first=of_both(lambda n: sum(r.first == n for r in results)),
        illegal_moves=of_both(lambda n: sum(r.illegal == n for r in results)),
        seconds_per_move=of_both(seconds_per_move),
        plies=sum(len(result.actions) for result in results) / count,
        forfeits=of_both(lambda n: sum(r.forfeited_by == n for r in results)),
        reasons=tuple(
            f"game {number}: {'AB'[result.forfeited_by]} forfeits: {result.forfeit}"
            for number, result in enumerate(results, 1)
            if result.forfeited_by is not None
        ),
        assumed=of_both(lambda n: next((r.assumed[n] for r in results if r.assumed[n]), None)),
    )
