"""A game in a terminal with moves as text, line by line: it works through pipes, too."""

import click

from agents.core.agent import ForfeitError
from agents.play.session import Session
from agents.play.words import help_text, understand
from hexenv.render.ansi import render_text


def run(session: Session) -> None:
    """Play until the session is over or the person stops."""
    click.echo(f"{session.greeting}; type help for help")
    try:
        while not session.is_over:
            if session.is_persons_turn:
                click.echo(f"\n{render_text(session.game, session.state)}")
                _take_turn(session)
            else:
                click.echo(session.reply(session.think()))
    except ForfeitError as forfeit:
        session.forfeit = forfeit.reason
    except (click.Abort, EOFError, KeyboardInterrupt):
        click.echo()


def say_ending(session: Session) -> None:
    """Print how a session has ended, in whatever face it was."""
    if session.is_over and session.forfeit is None:
        click.echo(f"\n{render_text(session.game, session.state)}")
    click.echo(session.result)
    click.echo(f"moves: {session.moves}")


def _take_turn(session: Session) -> None:
    """Ask until there is a move, or until a command has changed the turn."""
    while session.is_persons_turn:
        word = click.prompt(session.prompt, prompt_suffix=": ")
        try:
            meant = understand(session, word)
            if isinstance(meant, int):
                click.echo(session.play(meant))
                return
        except ValueError as error:
            click.echo(str(error))
            continue
        if meant == "quit":
            raise click.Abort
        if meant == "undo":
            if session.undo():
                return
            click.echo("nothing to take back")
        elif meant == "hint":
            click.echo(session.hint(session.think()).text)
        elif meant == "moves":
            click.echo(session.moves or "none yet")
        else:
            click.echo(help_text(session))
