"""The messages of a page to the server: JSON of a few shapes, checked before anything is done."""

import json
from typing import Annotated, Final, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from agents.core.reading import parse_json
from agents.core.structured import to_structure

MOST_CHARACTERS: Final = 4096
"""Of a message about a game."""
MOST_PASTED: Final = 1 << 16
"""Of a question of the analysis board, which may bring a file."""

Whole = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class MessageError(ValueError):
    """A message that is refused; the game is as it was."""


class Message(Struct, frozen=True, forbid_unknown_fields=True):
    """A message about a game.

    Attributes:
        type: What the page asks for; ``away`` and ``back`` tell whether its reader can see it.
        ply: The ply that the page shows; a message about an earlier ply is refused.
        action: The move, of a message ``play`` alone.
    """

    type: Literal["play", "undo", "hint", "resign", "retry", "away", "back"]
    ply: Whole
    action: Whole | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.type == "play") != (self.action is not UNSET):
            got = "none" if self.action is UNSET else self.action
            raise ValueError(
                f"expected an action for play, and no action for other types, got {got}"
            )


class Setup(Struct, frozen=True, forbid_unknown_fields=True):
    """What a page asks to play.

    Attributes:
        game: A game of `hexenv`.
        options: ``key=value`` texts for it.
        agent: The opponent.
        side: The player that the person is, 0 or 1.
        seed: Of the agent's random stream, where it takes one.
    """

    game: str
    options: Annotated[tuple[str, ...], Meta(max_length=16)]
    agent: str
    side: Literal[0, 1]
    seed: Whole | None = None


T = TypeVar("T")


def parse(
    text: str | bytes, kind: type[T], complete: bool = False, most: int = MOST_CHARACTERS
) -> T:
    """A message of a kind with at most so many characters, or `MessageError`."""
    if len(text) > most:
        raise MessageError(f"expected at most {most} characters, got {len(text)}")
    try:
        return to_structure(parse_json(text), kind, complete=complete)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise MessageError("expected JSON, got something else") from None
    except ValueError as error:
        raise MessageError(str(error)) from None


def parse_message(text: str | bytes) -> Message:
    """A message about a game, or `MessageError`."""
    return parse(text, Message, complete=False)


def parse_setup(text: str | bytes) -> Setup:
    """What a page asks to play, or `MessageError`."""
    return parse(text, Setup, complete=True)
