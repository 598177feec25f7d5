"""Balanced openings: those from which an agent, playing both sides, wins about half the games."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Final, NamedTuple

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
    options: Sequence[str] = (),
    plies: int = 2,
    count: int = 100,
    games: int = 20,
    seed: int = 0,
    results: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    report: Callable[[int, int], object] = lambda _played, _all: None,
    middle: int | None = None,
    listed: Sequence[str] | None = None,
) -> list[ScoredOpening]:
    """Let an agent play both sides of openings.

    Examples:
        >>> found = score_openings("solver", "tictactoe", count=5, games=2, workers=0)
        >>> sorted({one.score for one in found})  # a draw, or a win of the side that begins
        [0.5, 1.0]

    Args:
        agent: Its text; see `agents.registry`.
        game: By its name, or ``module:function``.
        options: Of the game, ``key=value``.
        plies: Of an opening.
        count: The most openings. No two of them are images of each other.
        games: Of each, an even number.
        seed: Of openings and agents.
        results: File of the games, from which a run that was stopped goes on.
        workers: Processes; 0: none, None: as many as processors.
        report: Called after each game with the number of games played and of all.
        middle: See `agents.arena.openings.RandomOpenings`.
        listed: Openings in place of random ones; `plies`, `count` and `middle` are not used then.

    Returns:
        The openings in the order in which they were drawn or listed.

    Raises:
        ValueError: If an argument is wrong, the game is not one by the rules of hexenv, or a game
            failed.
    """
    if games < 2 or games % 2:
        raise ValueError(f"expected an even number of games, got {games}")
    rules, openings = drawn_openings(game, options, plies, count, seed, middle, listed)
    both, pairs = [Entrant("one", agent), Entrant("other", agent)], len(openings) * games // 2
    tournament = Tournament(
        game, both, kind="pair", pairs=pairs, seed=seed, options=options,
        openings=list(openings.values()),
    )  # fmt: skip
    with closing(TournamentRun(tournament, results, workers=workers)) as run:
        for _ in run:
            report(len(run.results), tournament.games)
    expect_no_failure(run.standings().failed)
    points = _points(rules, run.results.values())
    return [
        ScoredOpening(text, sum(points[key]) / len(points[key]), len(points[key]))
        for key, text in openings.items()
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
    options: Sequence[str] = (),
    plies: int = 2,
    count: int = 100,
    seed: int = 0,
    report: Callable[[int, int], object] = lambda _done, _all: None,
    middle: int | None = None,
    listed: Sequence[str] | None = None,
) -> list[ScoredOpening]:
    """Ask an agent what it expects of openings; the arguments are those of `score_openings`.

    An engine that always plays the same game needs this.

    Raises:
        ValueError: As there, or the agent has no values.
    """
    _, openings = drawn_openings(game, options, plies, count, seed, middle, listed)
    env, player, found = make_environment(game, options), make_agent(agent), list[ScoredOpening]()
    try:
        for text in openings.values():
            env.reset(seed=seed, options={"moves": text})
            player.reset(seed)
            action = player.act(env)
            statistics = getattr(player, "statistics", None)
            if statistics is None or statistics.visits[action] == 0:
                raise ValueError(f"expected an agent with values of its moves, got {agent}")
            value = float(statistics.values[action])
            is_first = env.agent_selection == env.possible_agents[0]
            found.append(ScoredOpening(text, (1 + (value if is_first else -value)) / 2, 0))
            report(len(found), len(openings))
    finally:
        close([player])
    return found


def is_balanced(opening: ScoredOpening) -> bool:
    """Whether the side that begins has scored within `BALANCED`."""
    return BALANCED[0] <= opening.score <= BALANCED[1]


def drawn_openings(
    game: str,
    options: Sequence[str],
    plies: int,
    count: int,
    seed: int,
    middle: int | None = None,
    listed: Sequence[str] | None = None,
) -> tuple[Game, dict[int, str]]:
    """The rules of a game, and random or listed openings, no two of them images of each other.

    The keys of the openings are the same for all images of one. Of random ones there may be fewer
    than `count`; ValueError if there is none, one of the list cannot be played, or the game is not
    one by the rules of hexenv.
    """
    env = make_environment(game, options)
    env.reset(seed=seed)
    if not isinstance(env.unwrapped, BoardEnv):
        raise ValueError(f"expected a game by the rules of hexenv, got {game}")
    rules = env.unwrapped.game
    found: dict[int, str] = {}
    if listed is not None:
        for actions in parse_openings(env, listed):
            found.setdefault(_image_key(rules, actions), notation.moves_text(rules, list(actions)))
        return rules, found
    openings = RandomOpenings(opening_view(env, plies), plies, seed, middle=middle)
    for number in range(DRAWN_FOR_ONE * count):
        actions = openings[number]
        if number and actions == openings[0]:
            break  # these were all
        text = notation.moves_text(rules, list(actions))
        found.setdefault(_image_key(rules, actions), text)
        if len(found) == count:
            break
    return rules, found


def _image_key(rules: Game, actions: Sequence[int]) -> int:
    """The same number for the positions after actions and after all their images."""
    return min(
        int(rules.position_hash(notation.play(rules, image[list(actions)].tolist())))
        for image in rules.symmetries()
    )
