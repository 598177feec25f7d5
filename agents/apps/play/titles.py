"""Games and their options in words, for the heads of pages and windows."""

from collections.abc import Iterable
from typing import Final

from agents.registry import environment_makers, parameters, parse_options
from hexenv import GAMES
from hexenv.games.base import Game

SIZES: Final = ("board_size", "rows", "columns")
"""The options that the size of the board says already."""


def title_of(game: str, options: Iterable[str], rules: Game) -> str:
    """A game with its options: ``Hex 7 x 7, no swap``.

    Options that are flags are always named, others where they are not the default.

    Args:
        game: A game of `hexenv`, or ``module:function``.
        options: ``key=value`` texts for it.
        rules: The game itself.
    """
    if game not in GAMES:
        return " ".join((rules.name, *options))
    maker = environment_makers()[game]
    known, given = parameters(maker), parse_options(maker, options, game)
    has_sizes = not known.keys().isdisjoint(SIZES)
    words = [f"{GAMES[game]} {rules.rows} x {rules.columns}" if has_sizes else GAMES[game]]
    for key, parameter in known.items():
        value = given.get(key, parameter.default)
        if isinstance(value, bool):
            words.append(key if value else f"no {key}")
        elif key not in SIZES and value != parameter.default:
            words.append(f"{key.replace('_', ' ')} {value}")
    return ", ".join(words)
