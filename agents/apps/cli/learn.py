"""The command `hexenv learn`: a learning library against a pool of opponents, for each seed."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.progress import Progress

from agents.apps.cli import curves, shared
from agents.arena.anchors import AGENTS, Anchors
from agents.records.plots import check_plot, game_text
from agents.registry import make_environment

if TYPE_CHECKING:
    from agents.learning.progress.sb3_run import SB3Run


@click.command()
@click.argument("library", type=click.Choice(["sb3"]))
@click.argument("game")
@click.option("--run", "folder", help="Folder of the runs.  [default: runs/LIBRARY-GAME]")
@click.option("--seeds", default=1, type=click.IntRange(1), help="How many runs.")
@shared.seed_option
@click.option("--steps", type=click.IntRange(1), help="Of the learner, in each run.")
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), help="Of training, in each run."
)
@click.option(
    "--against",
    multiple=True,
    metavar="OPPONENT",
    help="An agent; or league: all of its past; or latest: its last snapshot. May be repeated."
    "  [default: league]",
)
@shared.option_of_game
@click.option(
    "--snapshot-every", default=50_000, type=click.IntRange(1), help="Steps between two snapshots."
)
@click.option(
    "--rate-every", default=100_000, type=click.IntRange(1), help="Steps between two ratings."
)
@click.option("--pairs", default=10, type=click.IntRange(1), help="Of games against each anchor.")
@click.option(
    "--anchor",
    "anchors",
    multiple=True,
    metavar="AGENT",
    help=f"An opponent of the ratings; may be repeated.  [default: {', '.join(AGENTS)}]",
)
@click.option("--background", is_flag=True, help="Play the ratings in a process of their own.")
@shared.plot_option("the learning curve", "RUN/curve.png with matplotlib")
@shared.json_option
def learn(
    library: str,
    game: str,
    folder: str | None,
    seeds: int,
    anchors: tuple[str, ...],
    background: bool,
    plot: str | None,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Learn GAME by a learning LIBRARY, once for each seed, and write the learning curve.

    Example: hexenv learn sb3 connect4 --seeds 3 --minutes 15

    sb3 is MaskablePPO of sb3-contrib. Each seed has a folder, from which a run that was stopped
    goes on. Ratings are beside opponents that stay the same, of whom the first has 0.
    """
    from agents.learning.progress.rating_log import anchors_of  # heavy: only for who learns
    from agents.learning.progress.sb3_run import LearnOptions, SB3Run

    chosen["against"] = chosen["against"] or ("league",)
    path = Path(folder or f"runs/{library}-{game}")
    with shared.clear_errors():
        wanted = LearnOptions(game, **chosen)
        if plot is not None:
            check_plot(plot)
        make_environment(game, wanted.options)
        wanted.new_pool()
        runs = [
            SB3Run(path / f"seed-{number}", replace(wanted, seed=number), background=background)
            for number in range(wanted.seed, wanted.seed + seeds)
        ]
    try:
        with shared.clear_errors(), shared.progress_bar(as_json) as bar:
            path.mkdir(parents=True, exist_ok=True)
            fixed = anchors_of(list(anchors or AGENTS), path, game, wanted.options)
            for run in runs:
                train(run, fixed, bar)
    except KeyboardInterrupt:
        click.echo(f"interrupted; goes on from the last snapshots in {path}", err=True)
        sys.exit(shared.INTERRUPTED)
    options = [f"{seeds} seeds", "against " + ", ".join(wanted.against)]
    title = f"{game_text(game, wanted.options)}: {', '.join(options)}"
    curves.write_all(path, "elo", title, plot, as_json)


def train(run: "SB3Run", anchors: Anchors, bar: Progress) -> None:
    """Train a run to its end, with its bar."""
    task = bar.add_task(run.folder.name, total=1.0, figures="")
    bar.update(task, completed=min(run.done, 1.0))

    def report(run: "SB3Run") -> None:
        figures = f"{run.steps:,} steps" + ("" if run.elo is None else f", Elo {run.elo:.0f}")
        bar.update(task, completed=min(run.done, 1.0), figures=figures)

    run.run(anchors, report)
