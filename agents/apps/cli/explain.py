"""The command `hexenv explain`."""

from pathlib import Path
from typing import Final

import click

from agents.apps.cli.render import check_target, write_film
from agents.apps.cli.shared import agents_seed_option, clear_errors, option_of_game
from agents.core.files import write_text
from agents.records.explaining import explain as explain_search
from agents.records.films import film_of_search
from agents.registry import make_agent, make_environment

SUFFIXES: Final = (".html", ".gif", ".mp4", ".svg")
FRAME_SECONDS: Final = 0.5


@click.command()
@click.argument("game")
@click.argument("agent")
@click.option("--position", help='The moves so far, such as 4453 or "a1 b2".')
@option_of_game
@click.option("--simulations", type=int, default=200, help="How many are shown.")
@click.option("--to", "target", type=click.Path(dir_okay=False), help="The file to write.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@agents_seed_option
def explain(
    game: str,
    agent: str,
    position: str | None,
    options: tuple[str, ...],
    simulations: int,
    target: str | None,
    force: bool,
    seed: int | None,
) -> None:
    """Show a tree search step by step: the way of every simulation, and why it went there.

    AGENT is one that searches a tree, with or without a policy. --to a file that ends in .html
    writes a page to step through, with the tree and the scores of the children; .gif, .mp4 and .svg
    are films of the board. Without it the ways are printed.

    Example: hexenv explain connect4 uct --position 4453 --to search.html
    """
    with clear_errors():
        if target is not None:
            check_target(target, force, SUFFIXES)
        env = make_environment(game, options)
        env.reset(options=None if position is None else {"moves": position})
        found = explain_search(env, make_agent(agent, seed), simulations, agent)
        if target is None:
            click.echo(found)
        elif Path(target).suffix.lower() == ".html":
            from agents.apps.web.page import explain_page  # only pages need it

            write_text(target, explain_page(found))
        else:
            write_film(target, film_of_search(found), FRAME_SECONDS, None)
    if target is not None:
        click.echo(f"written: {target}", err=True)
