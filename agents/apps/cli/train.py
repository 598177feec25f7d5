"""The command `hexenv train`, which imports PyTorch when it is called."""

import json
import sys
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.progress import MofNCompleteColumn
from rich.table import Table

from agents.apps.cli.curves import write_all
from agents.apps.cli.shared import (
    INTERRUPTED,
    clear_errors,
    interruptible,
    is_terminal,
    plot_option,
    progress_bar,
    wide_console,
)
from agents.core.reading import read_object, read_objects
from agents.learning import configuration as configurations
from agents.learning.topp import options_of
from agents.records.plots import check_plot, game_text, training_plot, write_plot
from agents.registry import environment_name
from hexenv.common.extras import library


@click.command()
@click.argument("game")
@click.option("--run", "directory", help="The run's directory.  [default: runs/GAME]")
@click.option("--config", type=click.Path(dir_okay=False), help="JSON; see --describe.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter, such as search.simulations=50; may be repeated.",
)
@click.option(
    "--from-data",
    type=click.Path(file_okay=False),
    help="Learn from a folder of hexenv data, without self-play.",
)
@click.option(
    "--seeds",
    default=1,
    type=click.IntRange(1),
    help="How many runs, of seeds from the configuration's on, in RUN/seed-0 and so on.",
)
@click.option("--describe", is_flag=True, help="Show all parameters with their values, and end.")
@click.option(
    "--estimate", is_flag=True, help="Measure what the run will take on this machine, and end."
)
@click.option("--json", "as_json", is_flag=True, help="Print figures as JSON, a line an iteration.")
@plot_option("the log's figures over the iterations")
def train(
    game: str,
    directory: str | None,
    config: str | None,
    settings: tuple[str, ...],
    from_data: str | None,
    seeds: int,
    describe: bool,
    estimate: bool,
    as_json: bool,
    plot: str | None,
) -> None:
    """Learn to play GAME from search: AlphaZero on one machine or on a Ray cluster.

    GAME is one of ours, or module:function of your own. Called again with the same directory, a run
    goes on from its last checkpoint, however it ended. Ctrl-C saves it and ends. Where the output
    is no terminal, every iteration prints a line.

    Example: hexenv train hex --set options.board_size=7 --set iterations=200
    """
    with interruptible(), clear_errors():
        values = read_object(config) if config else {}
        game = environment_name(game)
        if environment_name(str(values.get("game", game))) != game:
            raise ValueError(f"expected a configuration of {game}, got one of {values['game']}")
        values = configurations.merged(values, configurations.parse_settings(settings))
        values["game"] = game
        if from_data is not None:
            values["data"] = from_data
        if describe:
            show(configurations.make(values), as_json)
            return
        if plot is not None:
            check_plot(plot)
        library("torch", "train")
    folder = directory or f"runs/{game.partition(':')[0]}"
    if estimate:
        with interruptible(), clear_errors():
            show_estimate(game, folder, values, as_json)
        return
    if seeds == 1:
        train_one(folder, values, as_json, plot)
        return
    with clear_errors():
        first = configurations.make(values).seed
    for seed in range(first, first + seeds):
        train_one(f"{folder}/seed-{seed}", {**values, "seed": seed}, as_json, None)
    shared = configurations.make(values)
    if shared.duel_games == 0:
        click.echo("no curve without duels: --set duel_games=20", err=True)
        return
    simulations = f"{shared.search.simulations} simulations a move"
    title = f"{game_text(game, options_of(shared))}: {seeds} seeds, {simulations}"
    write_all(folder, "elo", title, plot, as_json)


def train_one(directory: str, values: dict[str, Any], as_json: bool, plot: str | None) -> None:
    """Train the run in a directory to its end; Ctrl-C ends the program."""
    with interruptible(), clear_errors():
        from agents.learning.training import Run

        run = Run(directory, values)
    total = run.configuration.iterations
    if not as_json:
        begun = f"goes on after iteration {run.iteration}" if run.iteration else "begins"
        click.echo(f"{run.directory}: {begun}, to {total}", err=True)
    with interruptible(), clear_errors():
        is_stopped = run_shown(run, as_json)
    if plot is not None:
        with clear_errors():
            draw(run.directory, run.configuration, plot)
    if is_stopped:
        click.echo(f"saved after iteration {run.iteration} of {total}", err=True)
        sys.exit(INTERRUPTED)


def run_shown(run: Any, as_json: bool) -> bool:
    """Let a run go to its end, and show its iterations; returns whether Ctrl-C stopped it."""
    from agents.learning.training import StoppedError

    total = run.configuration.iterations
    prints_lines = not as_json and not is_terminal("stdout", "stderr")
    seconds: list[float] = []
    is_off = as_json or not is_terminal("stderr")
    with progress_bar(is_off, MofNCompleteColumn()) as bar:
        task = bar.add_task("train", total=total, completed=run.iteration, figures="")

        def report(figures: dict[str, Any]) -> None:
            seconds.append(figures["seconds"])
            if as_json:
                click.echo(json.dumps(figures))
            elif prints_lines:
                left = (total - figures["iteration"]) * sum(seconds) / len(seconds)
                done = f"{figures['iteration']}/{total}"
                click.echo(f"{done}: {in_short(figures)}, {duration(left)} left")
            bar.update(task, completed=figures["iteration"], figures=in_short(figures))

        try:
            run.run(report)
        except StoppedError:
            return True
    return False


def draw(directory: Path, configuration: configurations.Configuration, plot: str) -> None:
    """Write the plot of a run's log if it has lines."""
    path = directory / "log.jsonl"
    log = read_objects(path) if path.exists() else []
    if not log:
        click.echo(f"no iteration to plot in {directory}", err=True)
        return
    game = game_text(configuration.game, options_of(configuration))
    simulations = f"{configuration.search.simulations} simulations a move"
    write_plot(training_plot(log, f"{game}: {len(log)} iterations, {simulations}"), plot)


def in_short(figures: dict[str, Any]) -> str:
    """The main figures of an iteration."""
    words = [f"{figures['positions_per_second']:.0f} positions/s"] if figures["positions"] else []
    for key, name in (("policy_loss", "policy"), ("value_loss", "value"), ("elo", "Elo")):
        if key in figures:
            words.append(f"{name} {figures[key]:{'+.0f' if key == 'elo' else '.2f'}}")
    return ", ".join(words)


def duration(seconds: float) -> str:
    """A time with two figures or so."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            count = seconds / size
            return f"{count:.1f} {unit}" if count < 10 else f"{count:.0f} {unit}"
    return f"{seconds:.0f} s"


def show_estimate(game: str, directory: str, values: dict[str, Any], as_json: bool) -> None:
    """Measure and print what a run will take."""
    from agents.learning.estimate import estimate

    if not as_json:
        click.echo("measuring: some plies of self-play, some steps of learning", err=True)
    found = estimate(directory, values)
    if as_json:
        click.echo(json.dumps(found.as_json()))
        return
    sizes = f"{found.positions:,} positions and {found.steps:.0f} steps of learning each"
    click.echo(f"{game}: {found.iterations} iterations of {sizes}")
    bounds = f"{duration(found.least)} to {duration(found.most)}"
    memory = [] if found.memory is None else [f"{found.memory / 1e9:.1f} GB of memory"]
    memory += [f"{found.gpu_memory / 1e9:.1f} GB on the GPU"] if found.gpu_memory else []
    at_most = f"; at most {', '.join(memory)}" if memory else ""
    click.echo(f"about {duration(found.seconds)} ({bounds}){at_most}")
    alone, both = found.alone, found.together
    click.echo(
        f"a ply of all games {alone.ply:.2f} s, while it learns {both.ply:.2f} s; "
        f"a step {1000 * alone.step:.0f} ms, while games are played {1000 * both.step:.0f} ms"
    )
    click.echo(
        f"measured for {duration(found.measured)} with a network that has learnt nothing: games "
        "will get longer or shorter, and other programs may take processors"
    )


def show(configuration: configurations.Configuration, as_json: bool) -> None:
    """Print every parameter."""
    if as_json:
        click.echo(json.dumps(configurations.as_dict(configuration), indent=1))
        return
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("parameter", "value", ""):
        table.add_column(column, overflow="fold")
    for row in configurations.described(configuration):
        table.add_row(*row)
    wide_console(100).print(table)
