"""The command `hexenv play`: a person against an agent."""

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec

import click

from agents.agent import Agent
from agents.arena import close, prepare
from agents.doors import clear_errors, option_of_game
from agents.models import PolicyError
from agents.naming import make_agent, make_environment
from agents.play import plain
from agents.play.session import Session


@click.command()
@click.argument("game")
@click.argument("agent")
@click.option(
    "--side",
    type=click.Choice(["first", "second"]),
    default="first",
    show_default=True,
    help="Whether you move first.",
)
@click.option("--moves", default="", help="Moves to start from, such as 'a1 b2'.")
@click.option("--seed", type=click.IntRange(0), help="Of the agent's chance.")
@click.option("--window", is_flag=True, help="Play by mouse, in a window.")
@click.option("--plain", "is_plain", is_flag=True, help="Line by line, without cursor keys.")
@option_of_game
def play(
    game: str,
    agent: str,
    side: str,
    moves: str,
    seed: int | None,
    window: bool,
    is_plain: bool,
    options: tuple[str, ...],
) -> None:
    """Play GAME against AGENT, by cursor keys or moves as text; 'help' says what else there is.

    Where there is no terminal, such as in a pipe, moves are read line by line.
    """
    with clear_errors():
        env = make_environment(game, options)
        if not hasattr(env.unwrapped, "game"):
            raise ValueError(f"expected a game of hexenv to play, got {game}")
        run = _face(window, is_plain)
        opponent: Agent = make_agent(agent, seed)
        env.reset(seed=seed, options={"moves": moves} if moves else None)
        prepare(env, [opponent])
    session = Session(env, opponent, player=0 if side == "first" else 1)
    try:
        run(session)
    except (OSError, PolicyError) as error:  # such as a solver's limit of time
        raise click.ClickException(str(error)) from error
    finally:
        plain.say_ending(session)
        close([opponent])


def _face(window: bool, is_plain: bool) -> Callable[[Session], None]:
    """What a session is shown by.

    Raises:
        ValueError: If two are asked for.
        ImportError: If a window is asked for, and pygame is not installed.
    """
    if window and is_plain:
        raise ValueError("expected one of --window and --plain, got both")
    if window:
        from agents.play import window as in_window  # an extra

        return in_window.run
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if is_plain or not is_terminal:
        return plain.run
    if find_spec("prompt_toolkit") is None:
        click.echo('for cursor keys: pip install "hexenv[human]"', err=True)
        return plain.run
    from agents.play import terminal  # an extra

    return terminal.run
