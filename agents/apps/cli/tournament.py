"""The command `hexenv tournament`."""

import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, cast

import click
from msgspec import Meta
from rich.table import Table

from agents.apps.cli import shared
from agents.apps.cli.following import Follower, ratings_table, text_rows
from agents.arena.opening_files import read_openings
from agents.arena.running import ENGINES, GAME_SECONDS, TournamentRun, check_running
from agents.arena.specification import KINDS, Tournament
from agents.arena.standings import Standings, remarks, short_names, table_rows
from agents.core.files import expect_distinct, expect_writable
from agents.core.reading import read_object
from agents.core.structured import check_fields, expect_keys
from agents.core.tables import check_table, write_table
from agents.records.plots import check_plot, tournament_plot, write_plot

Name = Annotated[str, Meta(min_length=1)]


@dataclass(frozen=True)
class Settings:
    """How a tournament is played and where its results go: settings that change no game.

    They are the options of the command; `timeout` 0 is no limit.
    """

    engine: str = "processes"
    workers: int | None = None
    timeout: float = GAME_SECONDS
    results: Name | None = None
    records: Name | None = None
    table: Name | None = None
    plot: Name | None = None
    page: Name | None = None

    def __post_init__(self) -> None:
        check_running(self.engine, self.workers, None)
        if isinstance(self.timeout, bool) or self.timeout != 0:
            check_running(self.engine, self.workers, self.timeout)
        check_fields(self, "results", "records", "table", "plot", "page")
        for key in ("results", "table", "plot", "page"):
            if (path := getattr(self, key)) is not None:
                expect_writable(key, path)
        folder = None if self.records is None else Path(self.records)
        if folder is not None and (folder.is_file() or not folder.parent.is_dir()):
            raise ValueError(f"expected records as a directory, in one that exists, got {folder}")
        expect_distinct(self.results, self.table, self.plot, self.page)
        if self.table is not None:
            check_table(self.table)
        if self.page is not None and Path(self.page).suffix.lower() != ".html":
            raise ValueError(f"expected page as a file of .html, got {self.page}")


def new_tournament(given: Mapping[str, Any]) -> tuple[Tournament, Settings]:
    """A tournament, and how it is played, from the keys of a file and the flags."""
    settings = [item.name for item in fields(Settings)]
    about = [item.name for item in fields(Tournament) if item.init]
    expect_keys(given, [*about, *settings])
    tournament = Tournament.from_description({k: given[k] for k in given if k in about})
    return tournament, Settings(**{k: given[k] for k in given if k in settings})


@click.command()
@click.argument("game", required=False)
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@click.option("--spec", type=click.Path(), help="JSON file with what follows; flags go before it.")
@click.option("--kind", type=click.Choice(KINDS), help="Who meets whom.  [default: round-robin]")
@click.option("--pairs", type=click.IntRange(1), help="Pairs of games a pairing.  [default: 10]")
@click.option(
    "--opening-plies", type=click.IntRange(0), help="Random plies to start with.  [default: 2]"
)
@click.option(
    "--openings",
    type=click.Path(),
    help="File with openings instead: .txt, one in a line, or games of which all moves count.",
)
@click.option("--seed", type=click.IntRange(0), help="Seed of all random numbers.  [default: 0]")
@click.option("--sprt", metavar="ELO0,ELO1[,ALPHA,BETA]", help="Stop a match of two early.")
@click.option(
    "--adjudicate",
    metavar="proof,values=N,plies=N",
    help="End games early: once proven; after N plies in which both are sure; drawn after N.",
)
@click.option(
    "--clock",
    metavar="SECONDS[+INCREMENT]",
    help="Time of each agent for a game, instead of its budget; more after each move.",
)
@shared.option_of_game
@click.option("--engine", type=click.Choice(ENGINES), help="What plays.  [default: processes]")
@shared.workers_option
@click.option(
    "--timeout",
    type=click.FloatRange(0),
    help="Seconds until a game's agents count as hung; 0: never.  [default: 3600]",
)
@click.option("--results", type=click.Path(), help="File for the games; continued if it exists.")
@shared.records_option
@shared.table_option
@shared.plot_option("the ratings")
@click.option("--page", type=click.Path(), help="HTML file that follows the table.")
@shared.json_option
def tournament(
    game: str | None,
    agents: tuple[str, ...],
    spec: str | None,
    openings: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Let agents play GAME, each pair of games from one opening with the sides swapped.

    Example: hexenv tournament connect4 uct:simulations=200 greedy random --results games.jsonl

    The file of results makes a tournament that was stopped go on where it stopped. An AGENT may
    have a name for the tables: fast=uct:simulations=50. The agents' chance comes from --seed.
    """
    flags |= {"game": game, "agents": list(agents), "options": list(flags["options"])}
    given = {key: value for key, value in flags.items() if value not in (None, [])}
    with shared.clear_errors():
        described = {} if spec is None else read_object(spec)
    with shared.clear_errors("" if spec is None else f"{spec}: "):
        found, settings = new_tournament({**described, **given})
    with shared.clear_errors():
        files = settings.results, settings.table, settings.plot, settings.page
        expect_distinct(spec, openings, *files)
        if openings is not None:
            found = replace(found, openings=read_openings(openings, str(found.game), found.options))
        if settings.plot is not None:
            check_plot(settings.plot)
        run = TournamentRun(
            found,
            settings.results,
            cast("Any", settings.engine),
            settings.workers,
            settings.timeout or None,
            settings.records,
        )
    interrupted = play_missing(run, not as_json, settings.page)
    table = run.standings()
    _show(table, settings, interrupted, as_json)
    if interrupted:
        sys.exit(shared.INTERRUPTED)


def play_missing(run: TournamentRun, show_progress: bool, page: str | None = None) -> bool:
    """Play what is missing, and close the run; returns whether the user has stopped it."""
    for note in run.notes:
        click.echo(note, err=True)
    games = iter(run)
    try:
        # Agents and Ray print; standard output is for the table.
        with shared.clear_errors(), redirect_stdout(sys.stderr):
            Follower(run, page, show_progress).play(games)
    except KeyboardInterrupt:
        return True
    except RuntimeError as error:  # no process could be started
        raise click.ClickException(str(error)) from error
    finally:
        cast("Any", games).close()
        run.close()
    return False


def _show(table: Standings, settings: Settings, interrupted: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"interrupted": interrupted, **table.as_json()}))
    else:
        print_standings(table)
        if interrupted:
            click.echo(f"interrupted after {table.played} of {table.wanted} games", err=True)
    with shared.clear_errors():
        if settings.table is not None:
            write_table(settings.table, table_rows(table), text_rows(table))
        if settings.plot is not None:
            write_plot(tournament_plot(table), settings.plot)


# ---- the table on the terminal -------------------------------------------------------------------


def print_standings(standings: Standings) -> None:
    """Print ratings, cross table, and remarks about the games."""
    names = short_names(standings)
    console = shared.wide_console()
    console.print(games_text(standings), highlight=False)
    for label, short in names.items():
        console.print(f"{short} = {label}", highlight=False, markup=False, soft_wrap=True)
    console.print(ratings_table(standings, names))
    if len(names) > 2:
        console.print(_cross_table(standings, names))
    for line in remarks(standings):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def games_text(standings: Standings) -> str:
    """How many games were played, and how many of them are distinct."""
    played = f"{standings.played} of {standings.wanted} games played"
    return f"{played}, {standings.distinct} distinct"


def _cross_table(standings: Standings, names: dict[str, str]) -> Table:
    """Points of the agent at the left against the one above, out of their games."""
    order = [standings.labels.index(agent.agent) for agent in standings.agents]
    short = [names[standings.labels[number]] for number in order]
    table = shared.new_table("", *short)
    points = standings.cross_table
    for number, name in zip(order, short, strict=True):
        cells: list[str] = []
        for other in order:
            own, theirs = points[number][other], points[other][number]
            cells.append("-" if own is None or theirs is None else f"{own:g}/{own + theirs:g}")
        table.add_row(name, *cells)
    return table
