"""What a person may say besides moves, the same in every face."""

from typing import Final

from agents.play.session import Session

COMMANDS: Final = {
    "undo": "take back your last move and the answer to it",
    "hint": "ask the agent what it would play for you",
    "moves": "show the moves so far",
    "help": "show this",
    "quit": "stop",
}
"""The commands, with what they do."""

SHORT: Final = {"u": "undo", "h": "hint", "m": "moves", "?": "help", "q": "quit", "exit": "quit"}
"""Other words for them, where they are no moves."""

TYPED: Final = "Type a move ({example}), or"
"""How moves are made where they are typed."""


def understand(session: Session, text: str) -> str | int:
    """A command's name, or a legal action.

    Raises:
        ValueError: If it is neither, in words for the person.
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
    """All that may be said.

    Args:
        session: The session.
        beginning: How moves are made, with ``{example}`` for one.
    """
    example = session.text(session.game.num_actions() // 2)
    choices = {session.text(action): "play this, no stone" for action in session.choices}
    lines = [f"  {name:10} {meaning}" for name, meaning in (choices | COMMANDS).items()]
    short = ", ".join(f"{word} for {name}" for word, name in SHORT.items() if len(word) == 1)
    return "\n".join([beginning.format(example=example), *lines, f"Short: {short}"])
