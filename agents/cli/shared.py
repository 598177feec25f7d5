"""What the commands of the command line share; a mistake of the user's is a line, no traceback."""

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
    """A console for tables, at least so wide: in less, figures would be cut off."""
    console = Console()
    console.width = max(console.width, columns)
    return console


def plot_option(what: str, default: str = "") -> Callable[[Callable[..., Any]], Any]:
    """The flag `--plot` of a command; `agents.pictures.plots.check_plot` is for what it is given.

    Args:
        what: What is drawn.
        default: Where to without the flag, for the help.
    """
    text = f"File for a plot of {what}: .png, .svg or .pdf; needs the extra plot."
    return click.option(
        "--plot", type=click.Path(), help=text + (default and f"  [default: {default}]")
    )


@contextmanager
def clear_errors(prefix: str = "") -> Generator[None]:
    """Show what is wrong with the user's words, or with a file, as one line.

    Args:
        prefix: What to say before it.

    Raises:
        click.ClickException: In the place of the errors it stands for.
    """
    try:
        yield
    except (ValueError, ImportError) as error:
        raise click.UsageError(f"{prefix}{error}") from error
    except OSError as error:
        file = "" if error.filename is None else f"{error.filename}: "
        raise click.ClickException(f"{prefix}{file}{error.strerror or error}") from error
