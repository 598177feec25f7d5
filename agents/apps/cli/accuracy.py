"""The command `hexenv accuracy`."""

import json
from typing import Any, Final

import click

from agents.apps.cli import shared
from agents.arena.accuracy import (
    CHUNK,
    Accuracy,
    SolvedPosition,
    difference,
    load_positions,
    measure,
    own_sets,
    spread,
    with_simulations,
)
from agents.core.tables import check_table, write_table
from agents.records.plots import accuracy_plot, check_plot, write_plot
from agents.registry import make_agent
from hexenv.compiled.cpus import usable_cpus

EXPLAINED: Final = {
    "keeps value": "moves after which the game is still won, or still drawn, in per cent",
    "optimal": "of those, moves that win soonest or lose latest, where the set knows",
    "loss": "wins and draws that a move gives away on average (2: a win made a loss)",
    "beside the first": "moves that keep the value, less those of the first agent, in per cent, "
    "with McNemar's p",
}
"""What the columns say, below the table."""


@click.command()
@click.argument("game")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@click.option("--positions", type=click.Path(), help="A file of solved positions of your own.")
@shared.option_of_game
@click.option(
    "--simulations",
    metavar="N,N...",
    help="Measure each agent with these numbers of simulations a move, such as 100,300,1000.",
)
@click.option("--seeds", default=5, type=click.IntRange(1), help="Runs.")
@shared.seed_option
@click.option(
    "--limit", type=click.IntRange(1), help="Use only so many positions of a set, evenly spread."
)
@shared.workers_option
@shared.json_option
@shared.table_option
@shared.plot_option("the shares over the simulations")
def accuracy(
    game: str,
    agents: tuple[str, ...],
    simulations: str | None,
    workers: int | None,
    as_json: bool,
    table: str | None,
    plot: str | None,
    seeds: int,
    seed: int,
    **of_sets: Any,
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
    with shared.clear_errors():
        if table is not None:
            check_table(table)
        if plot is not None:
            check_plot(plot)
        sets = _sets(game, **of_sets)
        if simulations is not None:
            counts = _counts(simulations)
            agents = tuple(text for agent in agents for text in with_simulations(agent, counts))
        for agent in agents:
            make_agent(agent)  # finds mistakes before any agent has played
        how = {"seeds": seeds, "seed": seed}
        how["workers"] = usable_cpus() if workers is None else workers
        chunks = sum(-(-len(members) // CHUNK) for members in sets.values()) * seeds * len(agents)
        with shared.plain_bar(as_json) as bar:
            task = bar.add_task("positions", total=chunks)
            found = [
                measure(agent, members, name=name, on_chunk=lambda: bar.advance(task), **how)
                for name, members in sets.items()
                for agent in agents
            ]
    rows = [result.as_json() for result in found]
    if as_json:
        click.echo(json.dumps(rows))
    else:
        _print_table(found, agents)
    with shared.clear_errors():
        if table is not None:
            write_table(table, [_split_intervals(row) for row in rows])
        if plot is not None:
            write_plot(accuracy_plot(found, f"{game}: accuracy in solved positions"), plot)


def _sets(
    game: str, positions: str | None, options: tuple[str, ...], limit: int | None
) -> dict[str, list[SolvedPosition]]:
    """The positions of each set in which a mistake is possible, at most `limit` evenly spread."""
    if positions and options:
        raise ValueError("expected no --option beside --positions, whose positions have theirs")
    sets = {positions: load_positions(positions)} if positions else own_sets(game, options)
    of = {position.game for members in sets.values() for position in members}
    if of != {game}:
        raise ValueError(f"expected positions of {game}, got some of {', '.join(sorted(of))}")
    return {name: spread(members, limit) for name, members in sets.items()}


def _counts(text: str) -> list[int]:
    """Whole numbers from 1 with commas between them, in order and each once."""
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


def _print_table(found: list[Accuracy], agents: tuple[str, ...]) -> None:
    """Print a row for each set and agent; the last column compares with the first agent."""
    columns = ["set", "agent", "positions", "keeps value", "optimal", "loss", "ms/move"]
    if len(agents) > 1:
        columns.append("beside the first")
    table = shared.new_table(*columns, texts=("set", "agent"))
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
    console = shared.wide_console(140)
    console.print(table)
    for column, meaning in EXPLAINED.items():
        if column in columns:
            console.print(f"{column}: {meaning}", highlight=False)
    console.print("in brackets: intervals of 95 %, over positions", highlight=False)
