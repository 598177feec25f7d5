"""The command `hexenv export`."""

import click

from agents.apps.cli.render import check_target
from agents.apps.cli.shared import clear_errors


@click.group()
def export() -> None:
    """Write agents for other programs: Kaggle's ConnectX."""


@export.command()
@click.argument("agent")
@click.option(
    "--to", "target", type=click.Path(), default="submission.py", help="File.", show_default=True
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def connectx(agent: str, target: str, force: bool) -> None:
    """Write AGENT as a submission for Kaggle's ConnectX: one file that needs NumPy alone.

    AGENT is one that needs no files of data: no network, and no book of openings. A search takes
    three quarters of the time that there is for a move. Where there is Numba it is compiled, in the
    time that a submission has besides.

    Example: hexenv export connectx "uct:playout=decisive" --to submission.py
    """
    from agents.apps.protocols.connectx import write_submission

    with clear_errors():
        check_target(target, force, (".py",))
        size = write_submission(agent, target)
    click.echo(f"{target}: {size:,} bytes")
