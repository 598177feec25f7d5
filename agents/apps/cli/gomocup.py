"""The command `hexenv gomocup`."""

import click

from agents.apps.cli.shared import agents_seed_option, clear_errors
from agents.apps.protocols.gomocup_brain import GomocupBrain
from agents.registry import make_agent


@click.command()
@click.option("--agent", default="gomoku-engine:seconds=5", help="What plays.")
@agents_seed_option
def gomocup(agent: str, seed: int | None) -> None:
    """Play Gomoku for a manager that speaks the Gomocup (Piskvork) protocol.

    Commands come on standard input, answers go to standard output. What the manager says of time is
    the budget of a move, for agents with a budget in seconds; before that, and without it, their
    own. Example of a command line for a manager: hexenv gomocup --agent uct:seconds=1
    """
    with clear_errors():
        brain = GomocupBrain(make_agent(agent, seed), agent, seed)
    brain.run()
