"""A game in a terminal, line by line, with moves as text. It also works through pipes."""

import shutil
import sys
from typing import Final

import click

from agents.apps.play import commands
from agents.apps.play.session import Session
from hexenv.render.ansi import render_text, sides_text

UNLIMITED: Final = 1_000_000
"""Columns of what is no terminal."""
LEAST: Final = 8
"""Columns that a text has at least."""


def run(session: Session) -> None:
    """Play until the session is over or the person stops."""
    _say(f"{session.title}: {commands.greeting(session)}; type help for help")
    if sides := sides_text(session.game, commands.names_of(session)):
        _say(sides)
    try:
        while not session.is_over:
            if session.status == "yours":
                _show_board(session)
                _take_turn(session)
            else:
                session.run_agent()
                if session.reason is None:
                    _say(commands.last_move_text(session))
    except (click.Abort, EOFError, KeyboardInterrupt):
        click.echo()


def width() -> int:
    """Columns of the terminal, or `UNLIMITED` where the text goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED


def _say(text: str) -> None:
    """Print a text, in a terminal without a break within a word."""
    click.echo(commands.wrapped(text, max(width(), LEAST)))


def _show_board(session: Session) -> None:
    """Print the board, with a hint if there is one, and the value of the game."""
    hint = None if session.hint is None else session.hint.cell
    board = render_text(session.game, session.state, hint=hint)
    needed = max(map(len, board.splitlines()))
    if needed > width():
        _say(f"\nthe window is too narrow for the board, which has {needed} columns")
    click.echo("\n".join(filter(None, (f"\n{board}", commands.value_bar(session)))))


def show_end(session: Session) -> None:
    """Print how a session has ended."""
    if session.is_over and session.reason is None:
        click.echo(f"\n{render_text(session.game, session.state)}")
    _say(commands.result_text(session))
    click.echo(f"moves: {session.moves}")  # one line, to be copied


def _take_turn(session: Session) -> None:
    """Ask until there is a move, or until a command has ended the turn."""
    while session.status == "yours":
        word = click.prompt(commands.prompt(session), prompt_suffix=": ")
        try:
            meant = commands.understand(session, word)
            if isinstance(meant, int):
                session.play(meant)
                _say(commands.last_move_text(session))
                return
        except ValueError as error:
            _say(str(error))
            continue
        if meant == "quit":
            raise click.Abort
        if meant == "undo":
            if session.can_undo:
                _say(commands.undo_text(session, session.undo()))
                return
            _say("nothing to take back")
        elif meant == "hint":
            session.ask_hint()
            session.run_agent()
            if session.hint is not None:
                _show_board(session)
                _say(commands.hint_text(session, session.hint))
        elif meant == "moves":
            click.echo(session.moves or "none yet")
        else:
            _say(commands.help_text(session))
