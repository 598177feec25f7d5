"""The command `hexenv play`: a person against an agent."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import click

from agents.apps.cli.shared import agents_seed_option, clear_errors, is_terminal, option_of_game
from agents.apps.play import plain
from agents.apps.play.session import Session
from agents.apps.play.titles import title_of
from agents.arena import close, prepare
from agents.core.agent import Agent
from agents.records import save_record
from agents.registry import make_agent, make_environment
from agents.search.evaluator import PolicyError
from hexenv.common.extras import how_to_install


@click.command()
@click.argument("game")
@click.argument("agent")
@click.option(
    "--side",
    type=click.Choice(["first", "second"]),
    default="first",
    help="Whether you move first.",
)
@click.option("--moves", help="Moves to start from, such as 'a1 b2'.")
@agents_seed_option
@click.option("--window", is_flag=True, help="Play by mouse, in a window.")
@click.option("--plain", "is_plain", is_flag=True, help="Line by line, without cursor keys.")
@click.option(
    "--record",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="A new file for the record of the game, as JSON.",
)
@option_of_game
def play(
    game: str,
    agent: str,
    side: str,
    moves: str | None,
    seed: int | None,
    window: bool,
    is_plain: bool,
    record: Path | None,
    options: tuple[str, ...],
) -> None:
    """Play GAME against AGENT, by cursor keys or moves as text; 'help' says what else there is.

    Example: hexenv play hex rave:playout=bridges,seconds=1 --option board_size=7

    Without a terminal, such as in a pipe, moves are read line by line.
    """
    with clear_errors():
        env = make_environment(game, options)
        if not hasattr(env.unwrapped, "game"):
            raise ValueError(f"expected a game of hexenv to play, got {game}")
        run = _face(window, is_plain)
        if record is not None and record.exists():
            raise ValueError(f"expected a new file for the record, got {record}, which is there")
        if record is not None and not record.parent.is_dir():
            raise ValueError(f"expected a directory for the record, got {record.parent}")
        opponent: Agent = make_agent(agent, seed)
        env.reset(seed=seed, options={"moves": moves} if moves else None)
        prepare(env, [opponent])
    title = title_of(game, options, env.unwrapped.game)
    session = Session(env, opponent, 0 if side == "first" else 1, title=title)
    try:
        run(session)
    except (OSError, PolicyError) as error:  # such as a solver out of time
        raise click.ClickException(str(error)) from error
    finally:
        plain.show_end(session)
        close([opponent])
        if record is not None:
            names = ("person", agent) if side == "first" else (agent, "person")
            with clear_errors():
                save_record(session.record_maker(game, options, names, seed)(), record)
            click.echo(f"record: {record}")


def _face(window: bool, is_plain: bool) -> Callable[[Session], None]:
    """The function that plays a session in a window, on the terminal or line by line."""
    if window and is_plain:
        raise ValueError("expected one of --window and --plain, got both")
    if window and find_spec("pygame") is None:
        raise ImportError(f"--window needs pygame: {how_to_install('human')}")
    if window:
        from agents.apps.play import window as in_window  # an extra

        return in_window.run
    if is_plain or not is_terminal("stdin", "stdout"):
        return plain.run
    if find_spec("prompt_toolkit") is None:
        click.echo(f"for cursor keys: {how_to_install('human')}", err=True)
        return plain.run
    from agents.apps.play import terminal  # an extra

    return terminal.run
