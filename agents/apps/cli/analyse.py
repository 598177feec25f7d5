"""The command `hexenv analyse`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from agents.apps.cli.shared import agents_seed_option, clear_errors, json_option, option_of_game
from agents.apps.protocols.analysis_engine import AnalysisEngine, serve_lines
from agents.apps.protocols.pasted import HEXWORLD, read_pasted
from agents.planning.environment import is_over
from agents.records.asking import Limit, compare
from agents.records.asking import analyse as analyse_position
from agents.records.formats import load_games
from agents.records.record import is_foreign_name
from agents.registry import make_agent, make_environment
from hexenv.compiled.cpus import usable_cpus

DEFAULT_AGENT: Final = "uct:seconds=1"


@click.command()
@click.argument("source", metavar="GAME|FILE|LINK")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    default=[DEFAULT_AGENT],
    help="Who is asked; may be repeated, to compare.",
)
@click.option("--position", help='With GAME: its moves so far, such as 4453 or "a1 b2".')
@click.option("--game", help="With FILE: the game, where the file does not say.")
@option_of_game
@click.option("--ply", type=click.IntRange(0), help="With FILE: only the position at this ply.")
@click.option("--seconds", type=float, help="Seconds for each position.")
@click.option("--simulations", type=int, help="Simulations for each position.")
@click.option("--lines", type=click.IntRange(1), default=3, help="The most moves to list.")
@json_option
@click.option("--stdin", "is_engine", is_flag=True, help="Answer queries on standard input.")
@click.option(
    "--threads", type=click.IntRange(1, 256), help="With --stdin: positions at the same time.  "
    "[default: processors]",
)  # fmt: skip
@agents_seed_option
def analyse(
    source: str,
    agents: tuple[str, ...],
    position: str | None,
    game: str | None,
    options: tuple[str, ...],
    ply: int | None,
    seconds: float | None,
    simulations: int | None,
    lines: int,
    as_json: bool,
    is_engine: bool,
    threads: int | None,
    seed: int | None,
) -> None:
    """Ask agents about positions: their best moves, with values, lines and proofs.

    GAME is hex, connect4, tictactoe or gomoku, FILE a game in any format of hexenv convert, whose
    positions are looked at one after another, and LINK a position of hexworld.org. Values are for
    the side to move, from -1 to 1.

    With --stdin it is an engine for other programs: one JSON query a line, with the fields of
    KataGo's analysis engine.

    Example: hexenv analyse connect4 --position 4453 --agent rave --agent uct:simulations=10000
    """
    with clear_errors():
        if is_engine:
            if len(agents) != 1:
                raise ValueError(f"expected one --agent with --stdin, got {len(agents)}")
            count = threads or usable_cpus()
            serve_lines(
                lambda write: AnalysisEngine(
                    agents[0], source, options, write, count, max(lines, 20), seed
                )
            )
            return
        asked: list[Any] = [make_agent(agent, seed) for agent in agents]
        is_limited = (seconds, simulations) != (None, None)
        limit = Limit(seconds, simulations) if is_limited else None
        for env in _positions(source, position, game, options, ply):
            if as_json:
                for agent, name in zip(asked, agents, strict=True):
                    click.echo(analyse_position(env, agent, limit, lines, name).to_json())
            elif len(agents) == 1:
                click.echo(f"{analyse_position(env, asked[0], limit, lines, agents[0])}\n")
            else:
                found = compare(env, asked, limit, lines, agents)
                click.echo(f"{found.analyses[0].position}\n{found}\n")


def _positions(
    source: str,
    position: str | None,
    game: str | None,
    options: tuple[str, ...],
    ply: int | None,
) -> Iterator[Any]:
    """The positions to look at, as environments in play."""
    if HEXWORLD.search(source):
        *_, env = read_pasted(source, "hex", options).main_line().replay()
        yield env
        return
    is_file = Path(source).suffix or Path(source).exists()
    if is_foreign_name(source) or not is_file:
        if ply is not None or game is not None:
            raise ValueError(f"expected --ply and --game with a file, got {source}")
        env = make_environment(source, options)
        env.reset(options=None if position is None else {"moves": position})
        yield env
        return
    if position is not None:
        raise ValueError(f"expected --position with a game, got the file {source}")
    for record in load_games(source, game, options):
        plies = len(record.actions)
        if ply is not None and ply > plies:
            raise ValueError(f"expected --ply up to {plies}, got {ply}")
        for number, env in enumerate(record.replay()):
            if (ply is None or number == ply) and not is_over(env):
                yield env
