"""The records of a tournament's games: a directory beside the file of results."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.arena.openings import OF_ENVIRONMENTS
from agents.arena.results import PlayedGame, Result
from agents.arena.schedule import Schedule, ScheduledGame, stream_seed
from agents.arena.specification import Tournament, describe
from agents.records.files import RecordDirectory, load_unchecked
from agents.records.record import GameRecord
from agents.records.recorder import end_of


def game_name(tournament: Tournament) -> str:
    """The game as records name it; a function as ``module:name``."""
    game: Any = tournament.game
    return game if isinstance(game, str) else f"{game.__module__}:{game.__qualname__}"


def agent_names(tournament: Tournament, game: ScheduledGame) -> tuple[str, str]:
    """The two agents of a game: their labels, with their texts where the labels are others."""
    names: list[str] = []
    for entrant in (tournament.entrants[number] for number in game.agents):
        text = describe(entrant.agent)
        is_text = entrant.label.startswith(text)
        names.append(entrant.label if is_text else f"{entrant.label}={text}")
    return names[0], names[1]


def environment_seed(tournament: Tournament, game: ScheduledGame) -> int:
    """The seed of the environment, the same for both games of a pair."""
    return stream_seed(tournament.seed, OF_ENVIRONMENTS, game.pairing, game.pair)


def known_before(tournament: Tournament, game: ScheduledGame) -> dict[str, Any]:
    """The fields of a game's record that are known before it is played."""
    names = agent_names(tournament, game)
    return {
        "game": game_name(tournament),
        "options": tuple(tournament.options),
        "agents": (names[game.first], names[1 - game.first]),
        "seed": environment_seed(tournament, game),
        "opening": len(game.opening),
    }


def plain_record(tournament: Tournament, played: PlayedGame) -> GameRecord:
    """The record of a game from its line in the file of results: without searches."""
    known = known_before(tournament, played.game)
    return GameRecord.of(actions=played.actions, **end_of(played), **known)


class TournamentRecords:
    """The records of a tournament's games, game n in file n + 1.

    A record is written before the line of its game in the file of results. So when a tournament
    goes on, at most one record has no line, and its game is played again. Lines without a record
    come from a tournament that began without records; they get one without searches.

    Raises:
        OSError: If a file cannot be read or written.
        ValueError: If there is a record of another game; then nothing is written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        tournament: Tournament,
        schedule: Schedule,
        results: Mapping[int, Result],
    ) -> None:
        self._tournament = tournament
        self._directory = RecordDirectory(path, len(schedule))
        played = {n: result for n, result in results.items() if isinstance(result, PlayedGame)}
        found = dict(self._directory.known())
        unknown = [file for number, file in found.items() if number - 1 not in played]
        if len(unknown) > 1:
            raise ValueError(
                f"expected records of games in the file of results, got {unknown[0]} and others "
                "(name another directory)"
            )
        for number, file in found.items():
            if not 1 <= number <= len(schedule):
                raise ValueError(f"{file}: expected a game of this tournament, got another number")
            self._check(file, schedule[number - 1], played.get(number - 1))
        for number, result in played.items():
            if number + 1 not in found:
                self._directory.save(number + 1, plain_record(tournament, result))

    def _check(self, file: Path, game: ScheduledGame, played: PlayedGame | None) -> None:
        record = load_unchecked(file)
        expected = known_before(self._tournament, game)
        found = {key: getattr(record, key) for key in expected}
        is_opened = record.actions[: record.opening] == game.opening
        is_same = played is None or record.actions == played.actions
        if found != expected or not is_opened or not is_same:
            raise ValueError(
                f"{file}: expected the record of game {game.number} of this tournament, got that "
                "of another game (name another directory)"
            )

    def add(self, played: PlayedGame) -> None:
        """Write the record of a game."""
        record = played.record or plain_record(self._tournament, played)
        self._directory.save(played.game.number + 1, record)
