"""The command `hexenv data`."""

import json
import sys
from typing import Any

import click

from agents.apps.cli import shared
from agents.core.workers import StartError
from agents.learning.data.folder import FORMATS
from agents.learning.data.making import check_formats, make_data
from agents.learning.data.positions import Positions
from agents.planning.environment import UnfitEnvironmentError
from agents.search.evaluator import PolicyError
from hexenv.compiled.cpus import usable_cpus


@click.command()
@click.argument("game")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    required=True,
    metavar="AGENT",
    help="Plays against itself; may be repeated: then each plays against each other one.",
)
@click.option("--games", required=True, type=click.IntRange(1), help="Games in all.")
@click.option(
    "--to", required=True, type=click.Path(file_okay=False), help="The folder; goes on if there."
)
@shared.option_of_game
@shared.seed_option
@click.option(
    "--opening-plies", default=2, type=click.IntRange(0), help="Most random moves at the start."
)
@click.option(
    "--temperature",
    default=1.0,
    type=click.FloatRange(0, 100),
    help="Draw the first moves by visits ** (1 / temperature); 0: the agent's own.",
)
@click.option(
    "--temperature-plies", default=10, type=click.IntRange(0), help="First moves that are drawn."
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(FORMATS),
    default=("npz",),
    help="npz is always written; others beside it; may be repeated.",
)
@shared.workers_option
@shared.json_option
def data(
    game: str, agents: tuple[str, ...], games: int, to: str, as_json: bool, **options: Any
) -> None:
    """Let agents play GAME, and write the positions with what the searches found.

    Example: hexenv data hex --agent rave:playout=bridges,simulations=100 --option board_size=7
    --games 5000 --to hex7

    The same command goes on where it was interrupted; with more --games it adds to those there, and
    with another --format it converts them. Each game depends on --seed and its number alone. The
    README.md of the folder says what there is, and whose side values and outcomes are on.
    """
    if options["workers"] is None:
        options["workers"] = usable_cpus()
    with shared.clear_errors():
        check_formats(options["formats"])  # before the bar, which would say that it had begun
    with shared.clear_errors(), shared.plain_bar(as_json) as bar:
        task = bar.add_task("games", total=games)

        def report(count: int, positions: int) -> None:
            bar.update(task, advance=count)

        try:
            made = make_data(to, game, agents, games, report=report, **options)
        except KeyboardInterrupt:
            sys.exit(shared.INTERRUPTED)
        except (PolicyError, StartError, UnfitEnvironmentError) as error:
            raise click.ClickException(str(error)) from error
    if as_json:
        found = {"path": str(made.path), "games": made.games, "format": list(options["formats"])}
        click.echo(json.dumps(found | {"columns": list(Positions._fields)}))
    else:
        click.echo(f"{made.games} games in {made.path}; its README.md says more")
