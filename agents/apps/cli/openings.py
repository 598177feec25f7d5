"""The command `hexenv openings`."""

import json
import shlex

import click

from agents.apps.cli import shared
from agents.arena.balance import (
    ScoredOpening,
    drawn_openings,
    expected_openings,
    is_balanced,
    score_openings,
)
from agents.arena.opening_files import read_openings
from agents.core.files import expect_distinct, expect_writable, write_text


@click.command()
@click.argument("game")
@click.argument("agent")
@click.option("--plies", type=click.IntRange(1), help="Of an opening.  [default: 2]")
@click.option("--count", type=click.IntRange(1), help="Openings to be drawn.  [default: 100]")
@click.option("--games", type=click.IntRange(2), help="Of each, an even number.  [default: 20]")
@click.option("--ask", is_flag=True, help="Ask AGENT what it expects, in place of games.")
@click.option(
    "--middle",
    type=click.IntRange(0),
    help="Draw cells at most so many rows and columns from the middle.",
)
@click.option(
    "--openings", "listed", type=click.Path(), help="File with openings, in place of random ones."
)
@click.option("--to", type=click.Path(), help="File for the balanced ones, such as openings.txt.")
@click.option("--results", type=click.Path(), help="File for the games; continued if it exists.")
@shared.option_of_game
@shared.seed_option
@shared.workers_option
@shared.json_option
def openings(
    game: str,
    agent: str,
    plies: int | None,
    count: int | None,
    games: int | None,
    ask: bool,
    middle: int | None,
    listed: str | None,
    to: str | None,
    results: str | None,
    options: tuple[str, ...],
    seed: int,
    workers: int | None,
    as_json: bool,
) -> None:
    """Find balanced openings of GAME: AGENT plays both sides of random ones, or those of a file.

    Those are kept from which the side that begins scores 40 to 60 %, or with --ask is expected to.
    Tournaments take their file with --openings.

    Example: hexenv openings hex rave:simulations=500 --option board_size=7 --to openings.txt
    """
    if ask and (games, results) != (None, None):
        raise click.UsageError("expected no --games or --results with --ask, which plays no games")
    if listed is not None and (plies, count, middle) != (None, None, None):
        raise click.UsageError("expected no --plies, --count or --middle with --openings")
    plies, count, games = plies or 2, count or 100, games or 20
    kept = "the same command goes on" if results else "no game is kept without --results"
    with shared.interruptible(kept), shared.clear_errors(), shared.plain_bar(as_json) as bar:
        expect_distinct(to, results, listed)
        if to is not None:
            expect_writable("--to", to)
        if listed is None:
            texts = drawn_openings(game, options, plies, count, seed, middle)
        else:
            texts = read_openings(listed, game, options)
        report = shared.counter(bar, "openings" if ask else "games")
        if ask:
            found = expected_openings(agent, game, texts, options, seed, report)
        else:
            found = score_openings(
                agent, game, texts, options, games, seed, results, workers, report
            )
        balanced = [one for one in found if is_balanced(one)]
        if to is not None and balanced:
            about = [game, agent, "--seed", seed, *(["--ask"] if ask else ["--games", games])]
            drawn = ["--plies", plies, "--count", count]
            about += drawn if listed is None else ["--openings", listed]
            about += [] if middle is None else ["--middle", middle]
            about += [text for option in options for text in ("--option", option)]
            _write(to, about, balanced)
    _show(found, balanced, as_json)
    if to is not None and not balanced:
        raise click.ClickException(
            f"expected a balanced opening for {to}, found none of {len(found)} (more may have one)"
        )


def _write(to: str, about: list[str | int], balanced: list[ScoredOpening]) -> None:
    command = shlex.join(map(str, ["hexenv", "openings", *about]))
    write_text(to, "\n".join([f"# {command}", *map(_as_line, balanced), ""]))


def _show(found: list[ScoredOpening], balanced: list[ScoredOpening], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"openings": [one._asdict() for one in found]}))
        return
    for one in balanced:
        click.echo(_as_line(one))
    click.echo(f"{len(balanced)} of {len(found)} openings are balanced", err=True)


def _as_line(opening: ScoredOpening) -> str:
    by = f"of {opening.games} games" if opening.games else "expected"
    return f"{opening.moves}  # {opening.score:.2f} {by}"
