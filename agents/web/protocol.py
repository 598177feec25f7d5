"""The messages of a page to the server: JSON of a few shapes, checked before anything is done."""

import json
from typing import Any, Final, cast

from agents.web.choices import Setup

MOST_CHARACTERS: Final = 4096
"""Of a message."""
MOST_OPTIONS: Final = 16

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "play": ("action", "ply"),
    "undo": ("ply",),
    "hint": ("ply",),
    "resign": ("ply",),
    "retry": ("ply",),
}
"""The types of messages about a game, and the whole numbers that each holds besides.

``ply`` is the ply that the page shows: what was sent before the page knew of another is refused.
"""


class MessageError(ValueError):
    """A message that is refused; the game is as it was."""


def read_object(text: str | bytes) -> dict[str, Any]:
    """The object of a message.

    Raises:
        MessageError: If it is too long, or no JSON object.
    """
    if len(text) > MOST_CHARACTERS:
        raise MessageError(f"expected at most {MOST_CHARACTERS} characters, got {len(text)}")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise MessageError("expected JSON, got something else") from None
    if not isinstance(found, dict):
        raise MessageError(f"expected a JSON object, got {type(found).__name__}")
    return cast("dict[str, Any]", found)


def parse_message(text: str | bytes) -> dict[str, Any]:
    """A message about a game: its ``type``, and what `KINDS` says.

    Raises:
        MessageError: If it is none.
    """
    message = read_object(text)
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        raise MessageError(f"expected a type of {', '.join(KINDS)}, got {_short(kind)}")
    _expect_keys(message, ("type", *KINDS[kind]))
    for key in KINDS[kind]:
        if type(message[key]) is not int or not 0 <= message[key] < 2**31:
            raise MessageError(f"expected {key} as a whole number, got {_short(message[key])}")
    return message


def parse_setup(text: str | bytes) -> Setup:
    """What a page wants to play.

    Raises:
        MessageError: If the text does not tell.
    """
    found = read_object(text)
    _expect_keys(found, ("game", "options", "agent", "side", "seed"))
    for key in ("game", "agent"):
        if not isinstance(found[key], str):
            raise MessageError(f"expected {key} as a text, got {_short(found[key])}")
    options = found["options"]
    if not isinstance(options, list) or len(cast("list[Any]", options)) > MOST_OPTIONS:
        raise MessageError(f"expected options as a list of texts, got {_short(options)}")
    texts = cast("list[Any]", options)
    if not all(isinstance(option, str) for option in texts):
        raise MessageError(f"expected options as a list of texts, got {_short(texts)}")
    if type(found["side"]) is not int or found["side"] not in (0, 1):
        raise MessageError(f"expected side 0 or 1, got {_short(found['side'])}")
    seed = found["seed"]
    if seed is not None and (type(seed) is not int or not 0 <= seed < 2**31):
        raise MessageError(f"expected seed as a whole number or null, got {_short(seed)}")
    return Setup(found["game"], tuple(texts), found["agent"], found["side"], seed)


def _expect_keys(found: dict[str, Any], keys: tuple[str, ...]) -> None:
    if set(found) != set(keys):
        raise MessageError(f"expected {', '.join(keys)}, got {_short(', '.join(found))}")


def _short(value: Any) -> str:
    """How a value is told in an error."""
    told = repr(value)
    return told if len(told) <= 60 else f"{told[:57]}..."
