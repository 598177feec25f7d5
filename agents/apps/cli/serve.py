"""The command `hexenv serve`."""

import ipaddress
import socket
from contextlib import suppress
from itertools import chain
from typing import Any, Final

import click

from agents.apps.cli.shared import clear_errors
from agents.records.explorer import Explorer
from agents.records.formats import load_games
from agents.registry import environment_name, make_agent, make_environment
from hexenv.common.extras import library
from hexenv.envs.aec import BoardEnv

LIBRARIES: Final = ("starlette", "uvicorn", "websockets")


@click.command()
@click.option("--host", default="127.0.0.1", help="The address to listen at.")
@click.option("--port", default=8000, type=click.IntRange(0, 65535))
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="AGENT",
    help="One more agent to offer, such as module.Class or gomocup:command=...; may be repeated.",
)
@click.option(
    "--game",
    "offered",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="A game of your own to offer; may be repeated.",
)
@click.option("--games", default=32, type=click.IntRange(1, 1000), help="Maximal number of games.")
@click.option(
    "--idle-minutes",
    default=120.0,
    type=click.FloatRange(1),
    help="How long a game is kept that no page shows.",
)
@click.option(
    "--threads", default=4, type=click.IntRange(1, 64), help="Number of searches at the same time."
)
@click.option(
    "--records",
    "sources",
    multiple=True,
    metavar="PATH",
    help="Games whose openings the analysis board shows: a directory or a file of hexenv convert; "
    "may be repeated.",
)
@click.option(
    "--playhex", metavar="AGENT", help="Who answers the calls of playhex.org: /calculate-move and "
    "/analyze-game.",
)  # fmt: skip
def serve(
    host: str,
    port: int,
    agents: tuple[str, ...],
    offered: tuple[str, ...],
    games: int,
    idle_minutes: float,
    threads: int,
    sources: tuple[str, ...],
    playhex: str | None,
) -> None:
    """Play against agents in the browser, on this machine.

    Needs the extra "web". Ctrl-C ends it, and its games.

    Example: hexenv serve --agent rave:simulations=20000,c=0.1
    """
    with clear_errors():
        for name in LIBRARIES:
            library(name, "web")
        for text in (*agents, *([] if playhex is None else [playhex])):
            make_agent(text)  # so that a mistake is found now
        offered = tuple(map(environment_name, offered))
        for game in offered:
            if not isinstance(make_environment(game).unwrapped, BoardEnv):
                raise ValueError(f"expected a game by rules as hexenv's, got {game}")
        explorer = Explorer(chain.from_iterable(map(load_games, sources)))
        listening = listen(host, port)
    if not _is_loopback(host):
        warning = f"warning: {host} is reached by other machines too; anybody there can play"
        click.echo(warning, err=True)
    from agents.apps.web.choices import Offer
    from agents.apps.web.games import Games
    from agents.apps.web.playhex import HexService
    from agents.apps.web.server import make_app, own_names

    names = frozenset[str]() if _is_loopback(host) else own_names() | {host.lower()}
    address = listening.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    click.echo(f"hexenv serve: http://{shown}:{address[1]} (Ctrl-C ends it)")
    service = None if playhex is None else HexService(playhex)
    rooms = Games(Offer(agents, offered), games, 60 * idle_minutes, threads)
    _run(make_app(rooms, names, service, explorer), listening)
    click.echo("stopped")


def _run(app: Any, listening: socket.socket) -> None:
    """Serve until Ctrl-C."""
    from agents.apps.web.server import PatientServer, config

    with suppress(KeyboardInterrupt):
        PatientServer(config(app)).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at the address; an error names the address as its file."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    try:
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        error.filename = f"{host}:{port}"
        raise


def _is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
