"""The command `hexenv tune`."""

import json
from dataclasses import asdict

import click

from agents.apps.cli import shared
from agents.arena.tuning import LEAST_GAMES, TUNING_PLIES, Tuning, ranges_of
from agents.arena.tuning import tune as tune_agent
from agents.registry import with_parameters


@click.command()
@click.argument("game")
@click.argument("agent")
@click.argument("names", nargs=-1, metavar="[PARAMETER]...")
@click.option("--simulations", type=click.IntRange(1), help="Of each move of both sides.")
@click.option("--seconds-per-move", type=click.FloatRange(1e-4), help="Of both sides.")
@click.option(
    "--games", type=click.IntRange(LEAST_GAMES), default=2000, help="To be played in all."
)
@click.option(
    "--opening-plies",
    type=click.IntRange(1),
    default=TUNING_PLIES,
    help="Random plies to start with.",
)
@click.option(
    "--to",
    "directory",
    type=click.Path(file_okay=False),
    default="tuning",
    help="Directory for games and result; continued if it has some.",
)
@shared.option_of_game
@shared.seed_option
@shared.workers_option
@shared.json_option
def tune(
    game: str,
    agent: str,
    names: tuple[str, ...],
    simulations: int | None,
    seconds_per_move: float | None,
    games: int,
    opening_plies: int,
    directory: str,
    options: tuple[str, ...],
    seed: int,
    workers: int | None,
    as_json: bool,
) -> None:
    """Find better values for the PARAMETERs of AGENT in GAME, and say what they gain.

    A PARAMETER is a name, with a range of your own if you like: c, k=10:10000:log, playout=fast/
    decisive. Without one, all that have a range are tuned, if AGENT is a tree search. Half of the
    games look for good values, a quarter chooses among the best five, and the last quarter measures
    the best one, all against AGENT as it was; each part has its own openings. Needs the extra tune.

    Example: hexenv tune hex rave k c --option board_size=9 --simulations 200 --games 2000
    """
    budget = {"simulations": simulations, "seconds": seconds_per_move}
    given = {key: value for key, value in budget.items() if value is not None}
    with (
        shared.interruptible("the same command goes on"),
        shared.clear_errors(),
        shared.plain_bar(as_json) as bar,
    ):
        base = with_parameters(agent, given)
        found = tune_agent(
            base,
            game,
            directory,
            options,
            ranges_of(base, names),
            games,
            opening_plies,
            seed,
            workers,
            shared.counter(bar, "games"),
        )
    if as_json:
        click.echo(json.dumps(asdict(found)))
    else:
        _print(found)


def _print(found: Tuning) -> None:
    table = shared.new_table("parameter", "found", "matters")
    for name, value in found.values.items():
        share = found.importance.get(name)
        table.add_row(name, value, "" if share is None else f"{share:.0%}")
    shared.wide_console().print(table)
    elo, low, high = found.elo
    click.echo(found.best)
    click.echo(
        f"{elo:+.0f} Elo, 95 %: {low:+.0f} to {high:+.0f} (score {found.score:.3f} in "
        f"{found.games} games against {found.agent})"
    )
    if found.interval[0] <= 0.5:
        click.echo("these games do not show that it is better")
