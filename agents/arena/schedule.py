"""The games of a tournament in their order, and their openings: its number determines a game.

A pairing is two agents who meet; a pair is two of their games with sides exchanged.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.arena.match import check_playable
from agents.arena.openings import (
    OF_ENVIRONMENTS,
    ListedOpenings,
    Openings,
    RandomOpenings,
    opening_view,
    parse_openings,
)
from agents.arena.specification import Tournament
from agents.registry import make_environment


@dataclass(frozen=True)
class ScheduledGame:
    """A game of a tournament.

    Attributes:
        number: From 0, in the order of pair, pairing, first mover.
        pairing: Which of the tournament's pairings it belongs to.
        pair: Which of the pairing's pairs.
        agents: The two agents' numbers.
        first: Which of the two, 0 or 1, plays as the environment's first agent.
        opening: The actions it starts with.
    """

    number: int
    pairing: int
    pair: int
    agents: tuple[int, int]
    first: int
    opening: tuple[int, ...]


def stream_seed(seed: int, *numbers: int) -> int:
    """A seed for one use, independent of the seeds of all other uses."""
    return int(np.random.SeedSequence([seed, *numbers]).generate_state(1)[0])


def new_environment(tournament: Tournament) -> Any:
    """The environment of a tournament; a `ValueError` if there is none."""
    if isinstance(tournament.game, str):
        return make_environment(tournament.game, tournament.options)
    return tournament.game()


class Schedule:
    """All games of a tournament.

    Raises:
        ValueError: If the game cannot be played, or has no such openings.
    """

    def __init__(self, tournament: Tournament) -> None:
        self._tournament = tournament
        env = new_environment(tournament)
        try:
            env.reset(seed=stream_seed(tournament.seed, OF_ENVIRONMENTS))
            check_playable(env)
            self._openings = _openings(tournament, env)
        finally:
            env.close()

    def __len__(self) -> int:
        return self._tournament.games

    def __getitem__(self, number: int) -> ScheduledGame:
        if not 0 <= number < len(self):
            raise IndexError(number)
        pairings = self._tournament.pairings
        pair, rest = divmod(number, 2 * len(pairings))
        pairing, first = divmod(rest, 2)
        opening = self._openings[pairing][pair]
        return ScheduledGame(number, pairing, pair, pairings[pairing], first, opening)


def _openings(tournament: Tournament, env: Any) -> list[Openings]:
    """The openings of each pairing."""
    seed, pairings = tournament.seed, range(len(tournament.pairings))
    if tournament.openings:
        listed = parse_openings(env, tournament.openings)
        images = env.unwrapped.game.symmetries()
        return [ListedOpenings(listed, images, seed, pairing) for pairing in pairings]
    plies = tournament.opening_plies
    view = opening_view(env, plies)
    return [RandomOpenings(view, plies, seed, pairing) for pairing in pairings]
