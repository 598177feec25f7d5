"""The command `hexenv review`."""

import functools
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import click

from agents.apps.cli.shared import clear_errors, plain_bar, print_figures
from agents.core.files import write_text
from agents.core.reading import names_file, read_text
from agents.core.workers import LocalPool, Lost, ProcessPool, Worker
from agents.records.asking import Limit
from agents.records.formats import load_games
from agents.records.record import GameRecord
from agents.records.review import Review, summary
from agents.records.review import review as review_game
from agents.registry import make_agent
from hexenv.compiled.cpus import usable_cpus

MOST_SHOWN: Final = 3
"""Games whose reviews are printed one by one; of more there is a table."""


class Reviewer(Worker):
    """Reviews games. An agent with chance has the same seed in each."""

    def __init__(self, agent: str, limit: Limit | None) -> None:
        self._agent, self._limit = agent, limit

    def do(self, task: tuple[int, GameRecord], start_clock: Callable[[], None]) -> Review:
        start_clock()
        return review_game(task[1], make_agent(self._agent, 0), self._limit, title=self._agent)


USUAL_AGENT: Final = "uct:seconds=1"


@click.command()
@click.argument("games", nargs=-1, required=True, metavar="GAME...")
@click.option("--agent", help=f"Who reviews.  [default: {USUAL_AGENT}]")
@click.option("--exact", is_flag=True, help="Let the exact solver review, where it has the time.")
@click.option("--seconds", type=float, help="Seconds for each position.")
@click.option("--simulations", type=int, help="Simulations for each position.")
@click.option("--to", "target", type=click.Path(), help="A .json or .html file, or a directory.")
@click.option("--workers", type=click.IntRange(0), help="Processes.  [default: processors]")
@click.option("--json", "as_json", is_flag=True, help="Print the reviews as lines of JSON.")
def review(
    games: tuple[str, ...],
    agent: str | None,
    exact: bool,
    seconds: float | None,
    simulations: int | None,
    target: str | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Review games: what each move lost, which were errors, and what would have been better.

    GAME is a file or a directory, in any format of hexenv convert. A move is an inaccuracy, a
    mistake or a blunder where it loses 5, 10 or 20 per cent of the probability of winning; a draw
    is half a win. Of more than three games there is a table of who errs, and by how much.

    --to a directory keeps one file a game, and the same command goes on where it was interrupted;
    .html is a page to step through one game.

    Example: hexenv review games/000001.json --agent rave:seconds=1 --to review.html
    """
    with clear_errors():
        if exact and agent is not None:
            raise ValueError(f"expected --exact or --agent, got both, with {agent}")
        name = f"solver:seconds={seconds or 1:g}" if exact else agent or USUAL_AGENT
        make_agent(name)  # finds mistakes before any game is read
        is_limited = (seconds, simulations) != (None, None)
        limit = Limit(seconds, simulations) if is_limited and not exact else None
        records = [record for path in games for record in load_games(path)]
        kept = _kept(target, records, name)
        waiting = [each for each in enumerate(records) if each[0] not in kept]
        make = functools.partial(Reviewer, name, limit)
        count = min(usable_cpus() if workers is None else workers, len(waiting))
        found: dict[int, Review] = dict(kept)
        with (
            plain_bar(as_json) as bar,
            closing(ProcessPool(make, count) if count > 1 else LocalPool(make)) as pool,
        ):
            task = bar.add_task("games", total=len(waiting))
            for (number, _), outcome in pool.each(waiting):
                if isinstance(outcome, Lost):
                    raise ValueError(f"a process that reviewed has ended: {outcome.reason}")
                found[number] = outcome
                _keep(target, number, outcome)
                bar.advance(task)
    reviews = [found[number] for number in sorted(found)]
    if as_json:
        for one in reviews:
            click.echo(one.to_json())
    elif len(reviews) <= MOST_SHOWN:
        click.echo("\n\n".join(map(str, reviews)))
    else:
        print_figures(*summary(reviews))
    if agent is None and not exact:
        click.echo(
            f"reviewed by {USUAL_AGENT}; --exact asks the solver, where it has the time", err=True
        )


def _file(target: str, number: int) -> Path:
    """The file of a game in a directory."""
    return Path(target) / f"{number + 1:06}.json"


def _kept(target: str | None, records: Sequence[GameRecord], agent: str) -> dict[int, Review]:
    """The reviews that are there already; ValueError if they are others, or a target fits not."""
    if target is None:
        return {}
    suffix = Path(target).suffix.lower()
    if suffix in (".json", ".html"):
        if len(records) != 1:
            raise ValueError(f"expected one game for {target}, got {len(records)}")
        return {}
    if suffix:
        raise ValueError(f"expected a .json or .html file, or a directory, got {target}")
    Path(target).mkdir(exist_ok=True)
    found: dict[int, Review] = {}
    for number, record in enumerate(records):
        if (path := _file(target, number)).exists():
            with names_file(path):
                one = Review.from_json(read_text(path))
                if (one.record.actions, one.agent) != (record.actions, agent):
                    raise ValueError("expected a review of the same game by the same agent")
            found[number] = one
    return found


def _keep(target: str | None, number: int, found: Review) -> None:
    """Write a review, if it is to be kept."""
    if target is None:
        return
    if Path(target).suffix.lower() == ".html":
        from agents.apps.web.page import replay_page  # only pages need it

        write_text(target, replay_page(found.record, errors=found.errors))
    else:
        path = target if Path(target).suffix else _file(target, number)
        write_text(path, found.to_json() + "\n")
