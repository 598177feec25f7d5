"""Error messages: what was expected, what came, and what the user may have meant."""

import os
from collections.abc import Iterable
from typing import Any, Final

LONGEST_MESSAGE: Final = 300
"""Characters of a message about a file."""
LONGEST_VALUE: Final = 60
"""Characters of a value in a message."""


def shortened(value: Any) -> str:
    """A value as a message shows it."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def error_in(path: str | os.PathLike[str], error: ValueError) -> ValueError:
    """An error with the name of the file before it; a long message is cut."""
    text = str(error)
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[:LONGEST_MESSAGE]}..."
    return ValueError(f"{path}: {text}")


def error_at(line: int, message: object) -> ValueError:
    """An error with the line of a file."""
    return ValueError(f"line {line}: {message}")


def not_one_of(what: str, known: Iterable[str], got: Any) -> str:
    """``expected a game of hex, connect4, got 'hx' (did you mean hex?)``."""
    names = list(known)
    return f"expected {what} of {', '.join(names)}, got {shortened(got)}{suggestion(got, names)}"


def suggestion(got: Any, known: Iterable[str]) -> str:
    """`` (did you mean hex?)``, or nothing if no known name is close."""
    if not isinstance(got, str) or len(got) > LONGEST_VALUE:
        return ""
    import difflib  # only errors need it

    close = difflib.get_close_matches(got.lower(), list(known), 1, 0.66)
    return f" (did you mean {close[0]}?)" if close else ""
