"""What the commands share. A mistake of the user gives one line, not a traceback."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

import click
from rich.console import Console

INTERRUPTED: Final = 130
"""Exit status after Ctrl-C, as shells give it."""

option_of_game = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the game, such as board_size=7; may be repeated.",
)


def wide_console(columns: int = 80) -> Console:
    """A console for tables, wide enough to show all numbers."""
    console = Console()
    console.width = max(console.width, columns)
    return console


def plot_option(what: str, default: str = "") -> Callable[[Callable[..., Any]], Any]:
    """The option `--plot` of a command, whose value `agents.pictures.plots.check_plot` checks.

    Args:
        what: What the plot shows.
        default: The file without this option, for the help.
    """
    text = f"File for a plot of {what}: .png, .svg or .pdf; needs the extra plot."
    return click.option(
        "--plot", type=click.Path(), help=text + (default and f"  [default: {default}]")
    )


@contextmanager
def clear_errors(prefix: str = "") -> Generator[None]:
    """Turn errors in the user's input or in a file into a `click.ClickException`.

    Args:
        prefix: The beginning of its message.
    """
    try:
        yield
    except (ValueError, ImportError) as error:
        raise click.UsageError(f"{prefix}{error}") from error
    except OSError as error:
        file = "" if error.filename is None else f"{error.filename}: "
        raise click.ClickException(f"{prefix}{file}{error.strerror or error}") from error
