"""The command `hexenv bench`."""

import json
from dataclasses import asdict
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from agents.apps.cli import shared
from agents.arena.bench import SUITE, TIERS, BoardResult, chosen_boards, overall, run_bench, slug
from agents.arena.running import ENGINES, EngineName
from agents.arena.standings import interval_text
from agents.core.files import write_text
from agents.core.tables import html_page, latex_table, markdown_table
from agents.records.analysis import html_of
from agents.registry import make_agent


@click.command()
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@click.option(
    "--tier", type=click.Choice(list(TIERS)), default="quick", help="How much.", show_default=True
)
@click.option(
    "--board", "names", multiple=True, help="Only this board, such as hex-7-x-7; may be repeated."
)
@click.option(
    "--to",
    "directory",
    type=click.Path(file_okay=False),
    default="bench",
    help="Directory for games and results, with one for each agent in it.",
    show_default=True,
)
@shared.seed_option
@shared.workers_option
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="processes",
    help="What plays.",
    show_default=True,
)
@shared.json_option
def bench(
    agents: tuple[str, ...],
    tier: str,
    names: tuple[str, ...],
    directory: str,
    seed: int,
    workers: int | None,
    engine: EngineName,
    as_json: bool,
) -> None:
    """Measure AGENTs on fixed boards, beside opponents with fixed ratings and in solved positions.

    Ratings of one version of the bench are on one scale, whoever measured them: in every game 1000
    is uct:simulations=100. The directory of an agent has all games, bench.json with versions, the
    machine, seeds and hashes, and the table as Markdown and LaTeX. The same command goes on where
    it was stopped.

    Example: hexenv bench uct:simulations=500 mymodule.MyAgent --board connect4
    """
    with shared.clear_errors():
        chosen_boards(names)  # a mistake is found now
        for agent in agents:
            make_agent(agent)
    found: dict[str, list[BoardResult]] = {}
    with (
        shared.interruptible("the same command goes on"),
        shared.clear_errors(),
        shared.plain_bar(as_json) as bar,
    ):
        for agent in agents:
            folder, report = Path(directory) / slug(agent), shared.counter(bar, agent)
            found[agent] = run_bench(agent, folder, tier, names, seed, workers, engine, report)
            write_text(folder / "bench.md", markdown(agent, found[agent], tier))
            write_text(folder / "bench.tex", latex(agent, found[agent], tier))
        write_text(Path(directory) / PAGE, page(found, tier))
    if as_json:
        results = {agent: [asdict(one) for one in each] for agent, each in found.items()}
        click.echo(json.dumps({"suite": SUITE, "tier": tier, "agents": results}))
    else:
        for agent, each in found.items():
            table = shared.new_table(*COLUMNS, texts=("board",), title=agent)
            for row in _rows(each):
                table.add_row(*row)
            shared.wide_console().print(table)
            if each:
                click.echo(overall_text(each))
        click.echo(f"all tables are in {Path(directory) / PAGE}", err=True)


PAGE: Final = "bench.html"
COLUMNS: Final = ("board", "rating", "95 %", "games", "illegal", "keeps value", "ms/move")


def _rows(results: list[BoardResult]) -> list[list[str]]:
    rows: list[list[str]] = []
    for one in results:
        rating, kept = one.rating, one.accuracy and one.accuracy["kept"]
        rows.append(
            [
                one.board,
                f"{rating.elo:.0f}",
                interval_text(rating.interval),
                str(rating.games),
                str(rating.illegal_moves),
                "" if kept is None else f"{kept:.3f}",
                f"{1000 * one.seconds_per_move:.2f}",
            ]
        )
    return rows


def markdown(agent: str, results: list[BoardResult], tier: str) -> str:
    """The table of an agent as Markdown."""
    below = f"\n{overall_text(results)}\n" if results else ""
    return f"`{agent}`, {SUITE}, tier {tier}\n\n{markdown_table(COLUMNS, _rows(results))}{below}"


def overall_text(results: list[BoardResult]) -> str:
    """The score over all boards in words."""
    mean, low, high = overall(results)
    return f"interquartile mean of all pairs of games: {mean:.3f} (95 %: {low:.3f} to {high:.3f})"


def latex(agent: str, results: list[BoardResult], tier: str) -> str:
    """The table of an agent as LaTeX, for the package booktabs."""
    return f"% {agent}, {SUITE}, tier {tier}\n{latex_table(COLUMNS, _rows(results), 'lrrrrrr')}"


def page(found: dict[str, list[BoardResult]], tier: str) -> str:
    """The tables of all agents as HTML, and their plots where there is matplotlib."""
    found = {agent: results for agent, results in found.items() if results}
    parts = [f"<p>{escape(f'{SUITE}, tier {tier}')}</p>"]
    if found and find_spec("matplotlib"):
        from agents.records.plots import bench_plot, svg_text

        parts.append(svg_text(bench_plot(found)))
    for agent, results in found.items():
        parts += [html_of(agent, COLUMNS, _rows(results)), f"<p>{overall_text(results)}</p>"]
    return html_page(SUITE, parts)
