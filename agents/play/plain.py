"""A game in a terminal, line by line, with moves as text. It also works through pipes."""

import click

from agents.play import commands
from agents.play.session import Session
from hexenv.render.ansi import render_text


def run(session: Session) -> None:
    """Play until the session is over or the person stops."""
    click.echo(f"{commands.greeting(session)}; type help for help")
    try:
        while not session.is_over:
            if session.status == "yours":
                click.echo(f"\n{render_text(session.game, session.state)}")
                _take_turn(session)
            else:
                session.run_agent()
                if session.reason is None:
                    click.echo(commands.last_move_text(session))
    except (click.Abort, EOFError, KeyboardInterrupt):
        click.echo()


def show_end(session: Session) -> None:
    """Print how a session has ended."""
    if session.is_over and session.reason is None:
        click.echo(f"\n{render_text(session.game, session.state)}")
    click.echo(commands.result_text(session))
    click.echo(f"moves: {session.moves}")


def _take_turn(session: Session) -> None:
    """Ask until there is a move, or until a command has ended the turn."""
    while session.status == "yours":
        word = click.prompt(commands.prompt(session), prompt_suffix=": ")
        try:
            meant = commands.understand(session, word)
            if isinstance(meant, int):
                session.play(meant)
                click.echo(commands.last_move_text(session))
                return
        except ValueError as error:
            click.echo(str(error))
            continue
        if meant == "quit":
            raise click.Abort
        if meant == "undo":
            if session.can_undo:
                session.undo()
                return
            click.echo("nothing to take back")
        elif meant == "hint":
            session.ask_hint()
            session.run_agent()
            if session.hint is not None:
                click.echo(commands.hint_text(session, session.hint))
        elif meant == "moves":
            click.echo(session.moves or "none yet")
        else:
            click.echo(commands.help_text(session))
