"""The command `hexenv htp`."""

import click

from agents.apps.cli.shared import agents_seed_option, clear_errors
from agents.apps.protocols.htp_server import HTPServer
from agents.registry import make_agent


@click.command()
@click.option("--agent", default="rave:seconds=5,playout=bridges", help="What plays.")
@agents_seed_option
@click.option("--swap", is_flag=True, help="Let the agent take over the first stone.")
@click.option(
    "--logfile-name",
    "--logfile-level",
    "--use-logfile",
    multiple=True,
    expose_value=False,
    metavar="TEXT",
    help="Nothing: what controllers of Benzene append, such as its twogtp.",
)
@click.option("--quiet", "--verbose", is_flag=True, expose_value=False, help="Nothing, as well.")
def htp(agent: str, seed: int | None, swap: bool) -> None:
    """Play Hex for HexGui, or whatever speaks the Hex Text Protocol (GTP).

    Commands come on standard input, answers go to standard output. What the controller says of time
    is the budget of a move, for agents with a budget in seconds; before that, and without it, their
    own. Example of a command line for HexGui: hexenv htp --agent uct:seconds=1
    """
    with clear_errors():
        server = HTPServer(make_agent(agent, seed), agent, swap)
    server.run()
