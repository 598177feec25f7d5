"""The command `hexenv curves`, and the curves that commands with several seeds write."""

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from agents.apps.cli import shared
from agents.arena.anchors import ANCHORS, Anchors
from agents.core.tables import TABLES, check_table, write_table
from agents.learning.progress.curves import (
    Curve,
    is_rated,
    read_curve,
    rows_of,
    seed_folders,
    text_rows,
)
from agents.records.plots import check_plot, curves_plot, write_plot


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="[LABEL=]FOLDER...")
@click.option("--key", default="elo", help="Of a log of hexenv train: what the curves show.")
@click.option(
    "--table", "tables", multiple=True, metavar="FILE", help="File for a table: .csv, .md or .tex."
)
@shared.plot_option("the curves")
@shared.json_option
def curves(
    runs: tuple[str, ...], key: str, tables: tuple[str, ...], plot: str | None, as_json: bool
) -> None:
    """Learning curves of several seeds: interquartile means with 95 % intervals.

    Example: hexenv curves league=runs/league plain=runs/plain --plot curves.png --table curves.tex

    A FOLDER has the runs of hexenv learn or hexenv train in seed-0, seed-1, ... Folders of one
    method in different games are joined by commas, and stay apart in the bootstrap.
    """
    with shared.clear_errors():
        for table in tables:
            check_table(table)
        if plot is not None:
            check_plot(plot)
        named = [parsed(run) for run in runs]
        found = [read_curve(label, folders, key) for label, folders in named]
        folders = [folder for _, several in named for folder in several]
        write(found, tables, plot, ", ".join(dict.fromkeys(folders)), key, folders)
    show(found, as_json)


def parsed(run: str) -> tuple[str, list[str]]:
    """The label and the folders of an argument."""
    label, equals, rest = run.partition("=")
    return (label, rest.split(",")) if equals else (Path(run).name or run, run.split(","))


def write(
    found: Sequence[Curve],
    tables: Sequence[str],
    plot: str | None,
    title: str,
    key: str,
    folders: Sequence[str],
) -> None:
    """Write tables and the plot of curves; `folders` are where the anchors' ratings may be."""
    for table in tables:
        write_table(table, rows_of(found), text_rows(found))
    if plot is not None:
        levels = anchors_in(folders)
        values = "Elo beside the anchors" if levels else key
        write_plot(curves_plot(found, title, axis_of(folders), values, levels), plot)


def axis_of(folders: Sequence[str]) -> str:
    """What the steps of runs count."""
    rated = {is_rated(run) for folder in folders for run in seed_folders(folder)}
    if len(rated) > 1:  # each by its own
        return "step"
    return "steps of the learner" if True in rated else "iteration"


def anchors_in(folders: Sequence[str]) -> dict[str, float]:
    """The ratings of the anchors, if all runs have the same."""
    paths = [run / ANCHORS for folder in folders for run in seed_folders(folder)]
    found = [Anchors.load(path).elo for path in paths if path.exists()]
    is_one = len(found) == len(paths) > 0 and all(one == found[0] for one in found)
    return found[0] if is_one else {}


def show(found: Sequence[Curve], as_json: bool) -> None:
    """Print the end of each curve."""
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found]))
        return
    table = shared.new_table("", "seeds", "step", "value", "95 %", texts=("",))
    for one in found:
        interval = f"{one.low[-1]:.4g} to {one.high[-1]:.4g}"
        end = f"{one.steps[-1]:,.0f}", f"{one.values[-1]:.4g}", interval
        table.add_row(one.label, str(one.runs), *end)
    shared.wide_console().print(table)


def write_all(folder: str | Path, key: str, title: str, plot: str | None, as_json: bool) -> None:
    """Write the curve of a folder's seeds beside them in every form, and print its end."""
    path = Path(folder)
    with shared.clear_errors():
        found = [read_curve(path.name, [path], key)]
        tables = [str(path / f"curve{suffix}") for suffix in TABLES]
        if plot is None and importlib.util.find_spec("matplotlib") is not None:
            plot = str(path / "curve.png")
        write(found, tables, plot, title, key, [str(path)])
    show(found, as_json)
    for written in (*tables, *([] if plot is None else [plot])):
        click.echo(f"written: {written}", err=True)
