"""The command `hexenv match`."""

import json
import sys
from typing import Any, Final

import click

from agents.apps.cli import shared
from agents.arena.match import (
    GameResult,
    MatchSummary,
    OnMove,
    check_playable,
    close,
    play_match,
    prepare,
    summarise,
)
from agents.arena.openings import new_openings
from agents.arena.specification import OPENING_PLIES
from agents.planning.environment import UnfitEnvironmentError
from agents.records.files import MatchRecords
from agents.records.recorder import Recorder
from agents.registry import make_agent, make_environment
from agents.search.evaluator import PolicyError

COLUMNS: Final = "", "won", "drawn", "lost", "score (95 %)", "moving first", "illegal", "ms/move"


@click.command()
@click.argument("game")
@click.argument("agents", nargs=2, metavar="AGENT AGENT")
@click.option("--games", default=10, type=click.IntRange(1), help="Number of games.")
@click.option(
    "--opening-plies",
    type=click.IntRange(0),
    help="Random plies that each pair of games begins with, sides swapped.  [default: 0, and "
    f"{OPENING_PLIES} once two pairs were alike]",
)
@shared.seed_option
@click.option("--render", type=click.Choice(["ansi", "human"]), help="Show every move.")
@shared.records_option
@shared.option_of_game
@shared.json_option
def match(
    game: str,
    agents: tuple[str, str],
    games: int,
    opening_plies: int | None,
    seed: int,
    render: str | None,
    records: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Let two agents play GAME, with alternating sides.

    Example: hexenv match hex uct:simulations=1000 random --option board_size=7 --render ansi

    The agents' random numbers come from --seed; their own seeds are not used.
    """
    with shared.clear_errors():
        env = make_environment(game, options, **({"render_mode": render} if render else {}))
        players = [make_agent(text) for text in agents]
        env.reset(seed=seed)
        recorder = Recorder(game, options, agents, players)
        kept = None if records is None else MatchRecords(records, recorder, games, seed)
        prepare(env, players)
        check_playable(env)
        new_openings(env, opening_plies or 0, seed)  # a wrong number is told before the first game
    results, interrupted, failure = list[GameResult](), False, None
    on_move = _on_move(agents if render == "ansi" else None, as_json, kept)
    try:
        with shared.plain_bar(as_json or render == "ansi") as bar:
            task = bar.add_task(f"{agents[0]} - {agents[1]}", total=games)
            for result in play_match(env, players, games, seed, on_move, opening_plies):
                results.append(result)
                if kept is not None:
                    kept.add(result, env)
                bar.advance(task)
    except KeyboardInterrupt:
        interrupted = True
    except Exception as error:  # of an agent or an environment: first show the results
        failure = error
    finally:
        env.close()
        close(players)
    summary = summarise(results) if results else None  # stopped in the first game
    if as_json:
        about = {"game": game, "options": list(options), "agents": list(agents), "seed": seed}
        about |= {"opening_plies": opening_plies, "interrupted": interrupted}
        click.echo(json.dumps(about | (summary.as_json() if summary else {"games": 0})))
    elif summary is not None:
        _print_summary(agents, summary, draws_openings=opening_plies is None)
    if interrupted and not as_json:
        click.echo(f"interrupted after {len(results)} of {games} games", err=True)
    expected = (OSError, PolicyError, UnfitEnvironmentError)
    if isinstance(failure, expected):  # such as a solver out of time
        raise click.ClickException(str(failure)) from failure
    if failure is not None:
        raise failure
    if interrupted:
        sys.exit(shared.INTERRUPTED)


def _on_move(names: tuple[str, str] | None, to_stderr: bool, kept: MatchRecords | None) -> OnMove:
    """A function that prints each move, if it gets names, and records it."""

    def on_move(env: Any, number: int, action: int) -> None:
        if names is not None:
            raw = env.unwrapped
            move = raw.game.action_text(action) if hasattr(raw, "game") else str(action)
            click.echo(f"\n{names[number]} plays {move}\n{env.render()}", err=to_stderr)
        if kept is not None:
            kept.on_move(env, number, action)

    return on_move


def _print_summary(names: tuple[str, str], summary: MatchSummary, draws_openings: bool) -> None:
    """Print the table of a match; "moving first": games won of those that the agent began.

    `draws_openings` says that the match had openings only if its first games were alike.
    """
    low, high = summary.interval
    games = f"{summary.games} game{'s' if summary.games != 1 else ''}"
    click.echo(f"{games}, {summary.distinct} distinct")
    click.echo(f"A = {names[0]}\nB = {names[1]}")
    figures = [
        (summary.wins, summary.losses, summary.score, low, high),
        (summary.losses, summary.wins, 1 - summary.score, 1 - high, 1 - low),
    ]
    rows = [
        (
            "AB"[number],
            str(won),
            str(summary.draws),
            str(lost),
            f"{score:.2f} ({lowest:.2f}-{highest:.2f})" if summary.games else "-",
            f"{summary.wins_moving_first[number]}/{summary.games_moving_first[number]}",
            str(summary.illegal_moves[number]),
            f"{1000 * summary.seconds_per_move[number]:.2f}",
        )
        for number, (won, lost, score, lowest, highest) in enumerate(figures)
    ]
    shared.print_figures(COLUMNS, rows)
    if summary.opened and draws_openings:
        click.echo(
            "the second pair of games repeated the first one: these agents leave nothing to chance,"
            f" so the other {summary.opened} games begin with random openings of {OPENING_PLIES} "
            "plies (--opening-plies 0 plays without)"
        )
    if repeated := summary.games - summary.distinct:
        click.echo(
            f"repeated games add nothing to the interval: {repeated} of {summary.games} "
            "(more --opening-plies make games differ)"
        )
    for reason in summary.reasons:
        click.echo(reason)
    for number, assumed in enumerate(summary.assumed):
        if assumed is not None:
            click.echo(f"{'AB'[number]} assumed {assumed}: it knew more than a player can know")
