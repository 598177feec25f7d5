"""What the commands share. A mistake of the user gives one line, not a traceback."""

import os
import sys
import warnings
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

INTERRUPTED: Final = 130
"""Exit status after Ctrl-C, as shells give it."""

option_of_game = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the game, such as board_size=7; may be repeated.",
)
seed_option = click.option(
    "--seed", default=0, type=click.IntRange(0), help="Seed of all random numbers."
)
table_option = click.option(
    "--table", type=click.Path(), help="File for the table: .csv, .md or .tex."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
agents_seed_option = click.option("--seed", type=click.IntRange(0), help="Of the agent's chance.")
workers_option = click.option(
    "--workers", type=click.IntRange(0), help="Processes; 0: none.  [default: processors]"
)
records_option = click.option(
    "--records", type=click.Path(file_okay=False), help="Directory for a record of every game."
)


def plot_option(what: str, default: str = "") -> Callable[[Callable[..., Any]], Any]:
    """The option `--plot` of what it shows; `default` is the file without it, for the help."""
    text = f"File for a plot of {what}: .png, .svg or .pdf; needs the extra plot."
    return click.option(
        "--plot", type=click.Path(), help=text + (default and f"  [default: {default}]")
    )


def wide_console(columns: int = 80) -> Console:
    """A console for tables, wide enough to show all numbers."""
    console = Console()
    console.width = max(console.width, columns)
    return console


def print_figures(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of figures; in a narrow terminal turned, with a line for each column."""
    table = new_table(*columns)
    for row in rows:
        table.add_row(*row)
    if wide_console(1000).measure(table).maximum > Console().width:
        table = new_table(columns[0], *(row[0] for row in rows), texts=columns[:1])
        for line in zip(columns[1:], *(row[1:] for row in rows), strict=True):
            table.add_row(*line)
    wide_console(wide_console(1000).measure(table).maximum).print(table)


def is_terminal(*streams: str) -> bool:
    """Whether streams of this process, such as "stdout", are terminals that can be drawn on."""
    is_dumb = os.environ.get("TERM") == "dumb"
    return not is_dumb and all(getattr(sys, stream).isatty() for stream in streams)


def progress_bar(is_off: bool, *counts: ProgressColumn) -> Progress:
    """A progress bar on standard error, with the text `figures` of each task at its end.

    `counts` are columns before the time that is left.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *counts,
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
        console=Console(stderr=True),
        disable=is_off,
    )


def plain_bar(is_off: bool) -> Progress:
    """A progress bar on standard error, with the columns that rich gives it."""
    return Progress(console=Console(stderr=True), disable=is_off)


def new_table(*columns: str, texts: Container[str] = (), title: str | None = None) -> Table:
    """A table of figures, but for the columns named in `texts`, which may be wrapped.

    What is longer than its column goes on in the next line: nothing is cut off.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=title)
    for column in columns:
        is_text = column in texts
        justify = "left" if is_text else "right"
        table.add_column(column, justify=justify, no_wrap=not is_text, overflow="fold")
    return table


@contextmanager
def interruptible(message: str = "") -> Generator[None]:
    """Ctrl-C ends the program without a traceback, with a message if there is one."""
    try:
        yield
    except KeyboardInterrupt:
        if message:
            click.echo(f"interrupted: {message}", err=True)
        sys.exit(INTERRUPTED)


def counter(bar: Progress, title: str) -> Callable[[int, int], None]:
    """A new row of a bar; call it with how many are done, and how many there are in all."""
    task = bar.add_task(title, total=None)

    def report(done: int, wanted: int) -> None:
        bar.update(task, completed=done, total=wanted)

    return report


@contextmanager
def clear_errors(prefix: str = "") -> Generator[None]:
    """Turn errors in the user's input or in a file into a `click.ClickException`.

    A `UserWarning` is a line too.
    """
    with warnings.catch_warnings():
        show = warnings.showwarning

        def tell(message: Any, category: Any, *where: Any) -> None:
            if category is UserWarning:
                click.echo(f"warning: {prefix}{message}", err=True)
            else:
                show(message, category, *where)

        warnings.showwarning = tell
        try:
            yield
        except (ValueError, ImportError) as error:
            raise click.UsageError(f"{prefix}{error}") from error
        except OSError as error:
            file = "" if error.filename is None else f"{error.filename}: "
            raise click.ClickException(f"{prefix}{file}{error.strerror or error}") from error
