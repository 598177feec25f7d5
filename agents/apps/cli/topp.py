"""The command `hexenv topp`. PyTorch is imported when it is called."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from agents.apps.cli import shared
from agents.apps.cli.tournament import games_text, play_missing
from agents.arena import Standings, TournamentRun
from agents.arena.game_records import plain_record
from agents.arena.standings import interval_text, remarks
from agents.learning.topp import (
    Rating,
    Topp,
    check_results,
    chosen_games,
    file_name,
    new_topp,
    ratings,
)
from agents.records.films import film_of, write_gif
from agents.records.plots import check_plot, game_text, rating_plot, write_plot
from hexenv.common.extras import library


@click.command()
@click.argument("run")
@click.option(
    "--most",
    default=8,
    type=click.IntRange(2),
    help="Most networks that take part, evenly spread over the run.",
)
@click.option("--pairs", default=20, type=click.IntRange(1), help="Pairs of games per pairing.")
@click.option(
    "--simulations",
    default=0,
    type=click.IntRange(0),
    help="Let each network also play with a search of this many simulations; 0: no search.",
)
@click.option(
    "--search",
    type=click.Choice(["gumbel", "alphazero"]),
    help="Kind of search.  [default: as in the run]",
)
@click.option(
    "--opening-plies",
    type=click.IntRange(0),
    help="Random plies to start with.  [default: as in the run, at least 2]",
)
@click.option(
    "--temperature",
    default=0.0,
    type=click.FloatRange(0),
    help="Temperature of networks that play without search.",
)
@shared.seed_option
@shared.workers_option
@click.option(
    "--results",
    type=click.Path(dir_okay=False),
    help="File for the games; continued if it exists.  [default: RUN/topp.jsonl, "
    "with simulations RUN/topp-SIMULATIONS.jsonl]",
)
@shared.records_option
@shared.plot_option("the ratings over the iterations", "RUN/topp.png with matplotlib")
@click.option(
    "--gifs", default=0, type=click.IntRange(0), help="How many games to save as GIFs, in RUN/gifs."
)
@shared.json_option
def topp(
    run: str,
    workers: int | None,
    results: str | None,
    records: str | None,
    plot: str | None,
    gifs: int,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Let the networks that RUN has saved play each other: the Tournament of Progressive Policies.

    Example: hexenv topp runs/hex --simulations 32 --gifs 3

    RUN is a directory written by hexenv train. The rating of its first policy is 0; "better":
    likelihood that a network is better than the one before it. The file of results lets a stopped
    tournament continue.
    """
    with shared.clear_errors():
        library("torch", "train")
        library("safetensors", "train")
        found = new_topp(run, **chosen)
        suffix = f"-{chosen['simulations']}" if chosen.get("simulations") else ""
        results = results or str(Path(run) / f"topp{suffix}.jsonl")
        check_results(results, found.tournament)
        if plot is not None:
            check_plot(plot)
        elif importlib.util.find_spec("matplotlib") is not None:
            plot = str(Path(run) / "topp.png")
        playing = TournamentRun(found.tournament, results, workers=workers, records=records)
    interrupted = play_missing(playing, show_progress=not as_json)
    table = playing.standings()
    rows = ratings(found, table)
    written: list[str] = []
    with shared.clear_errors():
        if plot is not None and table.played:
            write_plot(rating_plot(rows, title(table, chosen["simulations"])), plot)
            written.append(plot)
        written += write_gifs(found, playing, Path(run) / "gifs", gifs)
    show(table, rows, written, interrupted, as_json)
    if interrupted:
        sys.exit(shared.INTERRUPTED)


def title(table: Standings, simulations: int) -> str:
    """The title of the plot: the game, and how many games were played."""
    about = table.tournament
    search = f", searches of {simulations} simulations" if simulations else ""
    return f"{game_text(about['game'], about['options'])}: {table.played} games{search}"


def write_gifs(found: Topp, run: TournamentRun, directory: Path, count: int) -> list[str]:
    """Write games as GIFs, and return their paths."""
    written: list[str] = []
    for result in chosen_games(found, run.results, count):
        directory.mkdir(exist_ok=True)
        path = directory / f"{file_name(found, result)}.gif"
        write_gif(path, film_of(plain_record(found.tournament, result)))
        written.append(str(path))
    return written


def show(
    table: Standings, rows: list[Rating], written: list[str], interrupted: bool, as_json: bool
) -> None:
    """Print the ratings, and remarks about the games."""
    if as_json:
        about = {"interrupted": interrupted, "written": written}
        listed = [rating.as_json() for rating in rows]
        click.echo(json.dumps({**about, "ratings": listed, "standings": table.as_json()}))
        return
    console = shared.wide_console()
    console.print(games_text(table), highlight=False)
    console.print(ratings_table(rows))
    for line in remarks(table):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for path in written:
        click.echo(f"written: {path}", err=True)
    if interrupted:
        click.echo(f"interrupted after {table.played} of {table.wanted} games", err=True)


def ratings_table(rows: list[Rating]) -> Table:
    """A line for each network, with or without search."""
    figures = ("iteration", "plays", "Elo", "95 %", "better", "points", "won/drawn/lost", "ms/move")
    table = shared.new_table(*figures)
    for rating in rows:
        table.add_row(
            str(rating.iteration),
            rating.plays,
            f"{rating.elo:.0f}" if rating.games else "-",
            interval_text(rating.interval),
            "" if rating.better is None else f"{100 * rating.better:.0f} %",
            f"{rating.points:g}/{rating.games}",
            f"{rating.wins}/{rating.draws}/{rating.losses}",
            f"{1000 * rating.seconds_per_move:.2f}",
        )
    return table
