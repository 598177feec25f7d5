"""Records of the games of `hexenv train`: ``runs/hex/games/000042.npz``."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.core.reading import read_object
from agents.learning.configuration import make
from agents.learning.replay import Games, load_games
from agents.records.record import GameRecord, Search, options_text, rules_of
from agents.records.recorder import rounded

PERCENT = 100
"""Simulations of a search, if no configuration says."""


def read_training_games(
    path: str | os.PathLike[str], game: str | None = None, options: Sequence[str] = ()
) -> Iterator[GameRecord]:
    """The records of the games of an iteration.

    The file has the policy target and the value of each search. The visits of a record are the
    policy times the simulations of the run's configuration, rounded.

    The run's ``config.json``, two directories up, has the game and its options; `game` and
    `options` are for a file that is not in its run's directory.
    """
    simulations = PERCENT
    if game is None:
        about = Path(path).absolute().parent.parent / "config.json"
        if not about.is_file():
            raise ValueError(f"{path}: expected the game's name, as {about} is not there")
        configuration = make(read_object(about))
        game, simulations = configuration.game, configuration.search.simulations
        rules_of(game, ())  # refuses what is no game
        options = options_text(game, configuration.options)
    yield from _records(
        load_games(path, rules_of(game, tuple(options))), game, options, simulations
    )


def _records(
    games: Games, game: str, options: Sequence[str], simulations: int
) -> Iterator[GameRecord]:
    ends = np.cumsum(games.lengths)
    for begin, end in zip((ends - games.lengths).tolist(), ends.tolist(), strict=True):
        plies = range(begin, end)
        searches = [
            _search(games.policies[ply], float(games.values[ply]), simulations) for ply in plies
        ]
        opening = next((n for n, search in enumerate(searches) if search is not None), len(plies))
        actions = games.actions[begin:end].tolist()
        yield GameRecord.of(
            game,
            options,
            actions,
            agents=("self-play", "self-play"),
            opening=opening,
            searches=tuple(searches) if any(searches) else (),
        )


def _search(policy: NDArray[np.float32], value: float, simulations: int) -> Search | None:
    """The search of a position; None if it was not searched."""
    if not policy.any():
        return None
    visits = {int(a): round(float(policy[a]) * simulations) for a in np.flatnonzero(policy)}
    return Search(
        seconds=0.0,
        simulations=simulations,
        value=rounded(value),
        visits={action: count for action, count in visits.items() if count},
        principal_variation=(int(policy.argmax()),),
    )
