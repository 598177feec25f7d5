"""The command `hexenv export`."""

from pathlib import Path

import click

from agents.apps.cli.shared import clear_errors


@click.group()
def export() -> None:
    """Write agents for other programs."""


@export.command()
@click.argument("agent")
@click.option("--to", "target", type=click.Path(path_type=Path), default="submission.py")
def connectx(agent: str, target: Path) -> None:
    """Write AGENT as a submission for Kaggle's ConnectX: one file that needs NumPy alone.

    A search takes three quarters of the time that there is for a move. Where there is Numba it is
    compiled, in the time that a submission has besides.

    Example: hexenv export connectx "uct:playout=decisive" --to submission.py
    """
    from agents.apps.protocols.connectx import write_submission

    with clear_errors():
        size = write_submission(agent, target)
    click.echo(f"{target}: {size:,} bytes")
