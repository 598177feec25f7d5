"""Files with openings of a tournament: lists, and games of which all moves count."""

import os
from collections.abc import Sequence
from pathlib import Path

from agents.core.reading import names_file, read_text
from agents.records.formats import load_games
from agents.records.record import GameRecord, rules_of
from hexenv.games import notation
from hexenv.games.base import Game


def read_openings(
    path: str | os.PathLike[str], game: str, options: Sequence[str] = ()
) -> tuple[str, ...]:
    """The openings in a file, each as text.

    A file ``.txt`` has one in a line; empty lines, and what follows a ``#``, are skipped. Of the
    games in any other file that `agents.records.formats.load_games` reads, all moves count.

    Raises:
        OSError: If it cannot be read.
        ValueError: If there is none in it, one of another board, or it is damaged.
    """
    if Path(path).suffix.lower() == ".txt":
        lines = [line.partition("#")[0].strip() for line in read_text(path).splitlines()]
        found = [line for line in lines if line]
    else:
        with names_file(path):
            rules = rules_of(game, tuple(options))
            found = [_moves_of(record, rules) for record in load_games(path, game)]
    with names_file(path):
        if not found:
            raise ValueError("expected an opening, got none")
    return tuple(found)


def _moves_of(record: GameRecord, rules: Game) -> str:
    if record.start is not None:
        raise ValueError("expected openings from the start of the game, got one of a position")
    own = record.rules()
    if (own.name, own.rows, own.columns) != (rules.name, rules.rows, rules.columns):
        raise ValueError(f"expected openings of {rules}, got one of {own}")
    return notation.moves_text(own, list(record.actions))
