"""The options of a game, as texts of a record."""

from collections.abc import Mapping
from typing import Any, cast

from agents.registry import environment_makers, parameters


def options_text(game: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """``key=value`` texts of the options that are not as they are by default.

    Those that the game does not have are among them; it is for the game to refuse them.

    Args:
        game: A game of `hexenv`.
        values: Its options; a board's size is a pair.
    """
    known = parameters(environment_makers()[game])
    found: list[str] = []
    for key, value in values.items():
        text = _text(value)
        if key not in known or text != _text(known[key].default):
            found.append(f"{key}={text}")
    return tuple(found)


def _text(value: Any) -> str:
    """A value as the command line reads it: a board's size as ``7`` or ``5x7``."""
    if isinstance(value, (tuple, list)):
        sides = [str(side) for side in cast("tuple[Any, ...]", value)]
        return sides[0] if len(set(sides)) == 1 else "x".join(sides)
    return str(value).lower() if isinstance(value, bool) else str(value)
