"""The command `hexenv accuracy`."""

import json
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from agents.arena.accuracy import (
    CHUNK,
    Accuracy,
    SolvedPosition,
    difference,
    load_positions,
    measure,
    own_sets,
    with_simulations,
)
from agents.cli.shared import clear_errors, option_of_game, plot_option, wide_console
from agents.core.files import expect_writable, write_csv
from agents.pictures.plots import accuracy_plot, check_plot, write_plot
from agents.registry import make_agent
from hexenv.cpus import usable_cpus


@click.command()
@click.argument("game")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@click.option("--positions", type=click.Path(), help="A file of solved positions of your own.")
@option_of_game
@click.option(
    "--simulations",
    metavar="N,N...",
    help="Measure each agent with these numbers of simulations a move, such as 100,300,1000.",
)
@click.option("--seeds", default=5, show_default=True, type=click.IntRange(1), help="Runs.")
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Seed of all random numbers.",
)
@click.option(
    "--limit", type=click.IntRange(1), help="Use only so many positions of a set, evenly spread."
)
@click.option(
    "--workers", type=click.IntRange(0), help="Processes; by default one a processor, 0: none."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--csv", "csv_path", type=click.Path(), help="File for the table.")
@plot_option("the shares over the simulations")
def accuracy(
    game: str,
    agents: tuple[str, ...],
    positions: str | None,
    options: tuple[str, ...],
    simulations: str | None,
    seeds: int,
    seed: int,
    limit: int | None,
    workers: int | None,
    as_json: bool,
    csv_path: str | None,
    plot: str | None,
) -> None:
    """Let each AGENT move in solved positions of GAME, and count how often it is right.

    Example: hexenv accuracy hex uct rave:playout=bridges --option board_size=6

    Positions in which every move is as good as another are left out. "keeps value": the share of
    moves after which the game is still won, or still drawn; "optimal": of those that win soonest or
    lose latest, where the set knows; "loss": how much a move gives away, in wins and draws (2: a
    win made a loss); "beside the first": the difference, with McNemar's p. The intervals are of
    95 %, over positions. --simulations leaves agents as they are that have their
    own, or that count none.
    """
    with clear_errors():
        if csv_path is not None:
            expect_writable("csv", csv_path)
        if plot is not None:
            check_plot(plot)
        if positions and options:
            raise ValueError("expected no --option beside --positions, whose positions have theirs")
        sets = {positions: load_positions(positions)} if positions else own_sets(game, options)
        of = {position.game for members in sets.values() for position in members}
        if of != {game}:
            raise ValueError(f"expected positions of {game}, got some of {', '.join(sorted(of))}")
        sets = {
            name: _spread([position for position in members if position.mistake_possible], limit)
            for name, members in sets.items()
        }
        if simulations is not None:
            counts = _counts(simulations)
            agents = tuple(text for agent in agents for text in with_simulations(agent, counts))
        found = _measure_all(sets, agents, seeds, seed, _workers(workers), as_json)
    rows = [result.as_json() for result in found]
    if as_json:
        click.echo(json.dumps(rows))
    else:
        _print_table(found, agents)
    with clear_errors():
        if csv_path is not None:
            write_csv(csv_path, [_split_intervals(row) for row in rows])
        if plot is not None:
            write_plot(accuracy_plot(found, f"{game}: accuracy in solved positions"), plot)


def _counts(text: str) -> list[int]:
    """Whole numbers from 1 with commas between them, in order and each once.

    Raises:
        ValueError: If there is anything else.
    """
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"expected simulations as whole numbers such as 100,300, got {text!r}")
    return sorted({int(part) for part in parts})


def _split_intervals(row: dict[str, Any]) -> dict[str, Any]:
    """A row for CSV: each interval as two numbers, without lists."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, tuple):
            flat |= {f"{key}_low": value[0], f"{key}_high": value[1]}
        elif not isinstance(value, list):
            flat[key] = value
    return flat


def _spread(members: list[SolvedPosition], limit: int | None) -> list[SolvedPosition]:
    """At most this many of a list, evenly spread."""
    if limit is None or limit >= len(members):
        return members
    return [members[number * len(members) // limit] for number in range(limit)]


def _workers(workers: int | None) -> int:
    return usable_cpus() if workers is None else workers


def _measure_all(
    sets: dict[str, Any],
    agents: tuple[str, ...],
    seeds: int,
    seed: int,
    workers: int,
    quiet: bool,
) -> list[Accuracy]:
    for agent in agents:
        make_agent(agent)  # finds mistakes before any agent has played
    chunks = sum(-(-len(members) // CHUNK) for members in sets.values()) * seeds * len(agents)
    with Progress(console=Console(stderr=True), disable=quiet) as bar:
        task = bar.add_task("positions", total=chunks)
        return [
            measure(
                agent,
                members,
                name=name,
                seeds=seeds,
                seed=seed,
                workers=workers,
                on_chunk=lambda: bar.advance(task),
            )
            for name, members in sets.items()
            for agent in agents
        ]


def _print_table(found: list[Accuracy], agents: tuple[str, ...]) -> None:
    """Print a row for each set and agent; the last column compares with the first agent."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("set", "agent", "positions", "keeps value", "optimal", "loss", "ms/move"):
        table.add_column(column, justify="left" if column in ("set", "agent") else "right")
    if len(agents) > 1:
        table.add_column("beside the first", justify="right")
    first = found[0]
    for result in found:
        if result.name != first.name:
            first = result
        row = result.as_json()
        cells = [result.name, result.agent, str(row["positions"])]
        for share in ("kept", "optimal"):
            low, high = row[f"{share}_interval"]
            cells.append(f"{100 * row[share]:.1f} ({100 * low:.1f}-{100 * high:.1f})")
        cells += [f"{row['loss']:.3f}", f"{1000 * row['seconds_per_move']:.2f}"]
        if result is not first:
            gain, (low, high), p = difference(result, first)
            cells.append(f"{100 * gain:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}), p {p:.2g}")
        table.add_row(*cells)
    wide_console(140).print(table)
