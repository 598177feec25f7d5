"""Balanced openings: those from which an agent, playing both sides, wins about half the games."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from itertools import chain, takewhile
from typing import Any, Final, NamedTuple

from agents.arena.match import close
from agents.arena.openings import RandomOpenings, opening_view, parse_openings
from agents.arena.results import PlayedGame, Result
from agents.arena.running import TournamentRun
from agents.arena.specification import Entrant, Tournament
from agents.arena.standings import expect_no_failure
from agents.registry import make_agent, make_environment
from hexenv.envs.aec import BoardEnv
from hexenv.games import notation
from hexenv.games.base import Game

BALANCED: Final = (0.4, 0.6)
"""The least and the greatest score of the side that begins, in games of a balanced opening."""
DRAWN_FOR_ONE: Final = 20
"""Openings drawn for each that is wanted, until it is given up to find more."""


class ScoredOpening(NamedTuple):
    """An opening and what came of it.

    Attributes:
        moves: In the notation of the game.
        score: Points for a game of the side that begins, 0 to 1; what the agent expects, if none
            was played.
        games: How many were played.
    """

    moves: str
    score: float
    games: int


def score_openings(
    agent: str,
    game: str,
    openings: Sequence[str],
    options: Sequence[str] = (),
    games: int = 20,
    seed: int = 0,
    results: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    report: Callable[[int, int], object] = lambda _played, _all: None,
) -> list[ScoredOpening]:
    """Let an agent play both sides of openings.

    Examples:
        >>> drawn = drawn_openings("tictactoe", count=5)
        >>> found = score_openings("solver", "tictactoe", drawn, games=2, workers=0)
        >>> sorted({one.score for one in found})  # a draw, or a win of the side that begins
        [0.5, 1.0]

    Args:
        agent: Its text; see `agents.registry`.
        game: By its name, or ``module:function``.
        openings: In the notation of the game. Of those that are images of each other, only the
            first is played.
        options: Of the game, ``key=value``.
        games: Of each opening, an even number.
        seed: Of the agents.
        results: File of the games, from which a run that was stopped goes on.
        workers: Processes; 0: none, None: as many as processors.
        report: Called after each game with the number of games played and of all.

    Returns:
        The openings in their order, without images of others.

    Raises:
        ValueError: If an argument is wrong, the game is not one by the rules of hexenv, or a game
            failed.
    """
    if games < 2 or games % 2:
        raise ValueError(f"expected an even number of games, got {games}")
    rules, distinct = _parsed(make_environment(game, options), openings)
    both, pairs = [Entrant("one", agent), Entrant("other", agent)], len(distinct) * games // 2
    tournament = Tournament(
        game, both, kind="pair", pairs=pairs, seed=seed, options=options,
        openings=list(distinct.values()),
    )  # fmt: skip
    with closing(TournamentRun(tournament, results, workers=workers)) as run:
        for _ in run:
            report(len(run.results), tournament.games)
    expect_no_failure(run.standings().failed)
    points = _points(rules, run.results.values())
    return [
        ScoredOpening(text, sum(points[key]) / len(points[key]), len(points[key]))
        for key, text in distinct.items()
    ]


def _points(rules: Game, results: Iterable[Result]) -> dict[int, list[float]]:
    """What the side that begins has scored in each game, by the `_image_key` of its opening."""
    found: dict[int, list[float]] = {}
    for one in results:
        if isinstance(one, PlayedGame):
            outcome = -one.outcome if one.first else one.outcome
            found.setdefault(_image_key(rules, one.game.opening), []).append((1 + outcome) / 2)
    return found


def expected_openings(
    agent: str,
    game: str,
    openings: Sequence[str],
    options: Sequence[str] = (),
    seed: int = 0,
    report: Callable[[int, int], object] = lambda _done, _all: None,
) -> list[ScoredOpening]:
    """Ask an agent what it expects of openings; the arguments are those of `score_openings`.

    An engine that always plays the same game needs this.

    Raises:
        ValueError: As there, or the agent has no values.
    """
    env = make_environment(game, options)
    _, distinct = _parsed(env, openings)
    player, found = make_agent(agent), list[ScoredOpening]()
    try:
        for text in distinct.values():
            env.reset(seed=seed, options={"moves": text})
            player.reset(seed)
            action = player.act(env)
            statistics = getattr(player, "statistics", None)
            if statistics is None or statistics.visits[action] == 0:
                raise ValueError(f"expected an agent with values of its moves, got {agent}")
            value = float(statistics.values[action])
            is_first = env.agent_selection == env.possible_agents[0]
            found.append(ScoredOpening(text, (1 + (value if is_first else -value)) / 2, 0))
            report(len(found), len(distinct))
    finally:
        close([player])
    return found


def is_balanced(opening: ScoredOpening) -> bool:
    """Whether the side that begins has scored within `BALANCED`."""
    return BALANCED[0] <= opening.score <= BALANCED[1]


def drawn_openings(
    game: str,
    options: Sequence[str] = (),
    plies: int = 2,
    count: int = 100,
    seed: int = 0,
    middle: int | None = None,
) -> list[str]:
    """Random openings, no two of them images of each other.

    Args:
        game: As of `score_openings`.
        options: As there.
        plies: Of an opening.
        count: How many at most.
        seed: Of the openings.
        middle: See `agents.arena.openings.RandomOpenings`.

    Returns:
        The openings, in the notation of the game.

    Raises:
        ValueError: If there is no opening, or the game is not one by the rules of hexenv.
    """
    env = make_environment(game, options)
    env.reset(seed=seed)
    if not isinstance(env.unwrapped, BoardEnv):
        raise ValueError(f"expected a game by the rules of hexenv, got {game}")
    openings = RandomOpenings(opening_view(env, plies), plies, seed, middle=middle)
    later = (openings[number] for number in range(1, DRAWN_FOR_ONE * count))
    until_all = takewhile(lambda actions: actions != openings[0], later)
    return list(_distinct(env.unwrapped.game, chain([openings[0]], until_all), count).values())


def _parsed(env: Any, openings: Sequence[str]) -> tuple[Game, dict[int, str]]:
    """The rules of an environment, and `_distinct` openings."""
    actions = parse_openings(env, openings)
    return env.unwrapped.game, _distinct(env.unwrapped.game, actions)


def _distinct(
    rules: Game, openings: Iterable[Sequence[int]], most: int | None = None
) -> dict[int, str]:
    """The first of all images of each opening, by their `_image_key`."""
    found: dict[int, str] = {}
    for actions in openings:
        found.setdefault(_image_key(rules, actions), notation.moves_text(rules, list(actions)))
        if len(found) == most:
            break
    return found


def _image_key(rules: Game, actions: Sequence[int]) -> int:
    """The same number for the positions after actions and after all their images."""
    return min(
        int(rules.position_hash(notation.play(rules, image[list(actions)].tolist())))
        for image in rules.symmetries()
    )
