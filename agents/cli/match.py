"""The command `hexenv match`."""

import json
import sys
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import Progress

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
from agents.cli import shared
from agents.records.files import MatchRecords
from agents.records.recorder import Recorder
from agents.registry import make_agent, make_environment
from agents.search.environment import UnfitEnvironmentError
from agents.search.evaluator import PolicyError

COLUMNS: Final = "", "won", "drawn", "lost", "score (95 %)", "moving first", "illegal", "ms/move"


@click.command()
@click.argument("game")
@click.argument("agents", nargs=2, metavar="AGENT AGENT")
@click.option("--games", default=10, type=click.IntRange(1), help="Number of games.")
@shared.seed_option
@click.option("--render", type=click.Choice(["ansi", "human"]), help="Show every move.")
@shared.records_option
@shared.option_of_game
@shared.json_option
def match(
    game: str,
    agents: tuple[str, str],
    games: int,
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
    results: list[GameResult] = []
    interrupted, failure = False, None
    on_move = _on_move(agents if render == "ansi" else None, as_json, kept)
    try:
        is_shown = as_json or render == "ansi"
        with Progress(console=Console(stderr=True), disable=is_shown) as bar:
            task = bar.add_task(f"{agents[0]} - {agents[1]}", total=games)
            for result in play_match(env, players, games, seed, on_move):
                results.append(result)
                if kept is not None:
                    kept.add(result)
                bar.advance(task)
    except KeyboardInterrupt:
        interrupted = True
    except Exception as error:  # of an agent or an environment: first show the results
        failure = error
    finally:
        env.close()
        close(players)
    summary = summarise(results)
    if as_json:
        about = {"game": game, "options": list(options), "agents": list(agents), "seed": seed}
        click.echo(json.dumps({**about, "interrupted": interrupted, **summary.as_json()}))
    else:
        _print_summary(agents, summary)
        if interrupted:
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


def _print_summary(names: tuple[str, str], summary: MatchSummary) -> None:
    """Print the table of a match; "moving first": games won of those that the agent began."""
    low, high = summary.interval
    click.echo(f"{summary.games} game{'s' if summary.games != 1 else ''}")
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
    for reason in summary.reasons:
        click.echo(reason)
    for number, assumed in enumerate(summary.assumed):
        if assumed is not None:
            click.echo(f"{'AB'[number]} assumed {assumed}: it knew more than a player can know")
