"""What a person can say besides moves, and what is said to the person, in terminal and window."""

import textwrap
from typing import Final

from agents.apps.play.session import Hint, Session
from hexenv.common.messages import hundredths
from hexenv.games import notation

COMMANDS: Final = {
    "undo": "take back your last move and the answer to it",
    "hint": "ask the agent what it would play for you",
    "moves": "show the moves so far",
    "help": "show this",
    "quit": "stop",
}
"""The commands, with what they do."""

SHORT: Final = {"u": "undo", "h": "hint", "m": "moves", "?": "help", "q": "quit", "exit": "quit"}
"""Short forms of the commands. A legal move of the same text comes first."""

TYPED: Final = "Type a move ({example}), or"
"""How the help begins where moves are typed."""


def understand(session: Session, text: str) -> str | int:
    """What a text means: the name of a command, or a legal action.

    Raises:
        ValueError: If it is neither; the message is for the person.
    """
    word = text.strip().lower()
    if word in COMMANDS:
        return word
    try:
        return session.parse(word)
    except ValueError as error:
        if word in SHORT:
            return SHORT[word]
        raise type(error)(f"{error}; type help for help") from None


def help_text(session: Session, beginning: str = TYPED) -> str:
    """All commands and choices. The text begins with how moves are made (see `TYPED`)."""
    example = session.text(session.game.num_actions() // 2)
    choices = {session.text(action): "play this, no stone" for action in session.choices}
    lines = [f"  {name:10} {meaning}" for name, meaning in (choices | COMMANDS).items()]
    short = ", ".join(f"{word} for {name}" for word, name in SHORT.items() if len(word) == 1)
    return "\n".join([beginning.format(example=example), *lines, f"Short: {short}"])


def wrapped(text: str, columns: int) -> str:
    """A text whose lines end between words, within a number of columns."""
    return "\n".join(
        part
        for line in text.splitlines()
        for part in textwrap.wrap(line, columns, subsequent_indent="  ") or [""]
    )


def greeting(session: Session) -> str:
    """Which side the person has."""
    return f"you are {notation.SYMBOLS[session.side]}"


def prompt(session: Session) -> str:
    """What the person is asked for, with the question of an opening."""
    return f"your move ({session.question})" if session.question else "your move"


def last_move_text(session: Session) -> str:
    """What was played last, and by whom."""
    turn = session.turns[-1]
    who = "you" if turn.player == session.side else "the agent"
    return f"{who} played {session.text(turn.action)}"


def hint_text(session: Session, hint: Hint) -> str:
    """A hint with the value that the agent's search gave it."""
    value = hint.search.values.get(hint.action) if hint.search is not None else None
    shown = ""
    if hint.search is not None and value is not None:
        is_proven = hint.action in hint.search.proven_actions
        shown = f" (value {hundredths(value, is_proven) / 100:+.2f})"
    return f"the agent would play {session.text(hint.action)}{shown}"


def undo_text(session: Session, taken: list[int]) -> str:
    """What was taken back."""
    count = f"{len(taken)} move{'s' if len(taken) > 1 else ''}"
    return f"took back {count}: {' '.join(map(session.text, taken))}"


def names_of(session: Session) -> tuple[str, str]:
    """The players as a person knows them: ``X (you)``."""
    first, second = (
        f"{symbol} ({'you' if player == session.side else 'the agent'})"
        for player, symbol in enumerate(notation.SYMBOLS)
    )
    return first, second


def value_bar(session: Session, length: int = 24) -> str:
    """The value of the game as a bar, the longer a player's part the better for that player.

    An empty text before the first search.
    """
    value = session.value
    if value is None:
        return ""
    part = round(length * (1 + value) / 2)
    if abs(value) < 1:  # a player has the whole bar by a proof alone
        part = min(max(part, 1), length - 1)
    first, second = notation.SYMBOLS
    name = names_of(session)[0 if value >= 0 else 1]
    bar = f"{first} {'#' * part}{'-' * (length - part)} {second}"
    return f"{bar}  {abs(value):+.2f} for {name}"


def result_text(session: Session) -> str:
    """How the session has ended; ``stopped`` before its end."""
    if session.reason is not None:
        return f"the agent forfeits: {session.reason.removeprefix('forfeit: ')}"
    if not session.is_over:
        return "stopped"
    outcome = session.game.outcome(session.state, session.side)
    return {1: "you have won", 0: "a draw", -1: "the agent has won"}[outcome]
