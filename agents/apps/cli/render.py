"""The command `hexenv render`."""

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from agents.apps.cli.shared import clear_errors
from agents.core.files import write_text
from agents.records import load_record
from agents.records.films import (
    OVERLAYS,
    SECONDS,
    Film,
    film_of,
    write_gif,
    write_image,
    write_mp4,
)
from agents.records.formats import READERS
from agents.registry import make_environment
from hexenv.render.look import MAX_CELL_SIZE, MIN_CELL_SIZE, THEMES, Look, Theme

ONE_POSITION: Final = (".png", ".svg", ".txt")
"""Formats that can show one position."""
SUFFIXES: Final = (".gif", ".mp4", *ONE_POSITION, ".html")


@click.command()
@click.argument("record", type=click.Path(dir_okay=False))
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(dir_okay=False),
    help="The file to write; its suffix tells the format.",
)
@click.option("--theme", type=click.Choice(THEMES), help="Colours; light by default.")
@click.option(
    "--cell-size",
    type=click.IntRange(MIN_CELL_SIZE, MAX_CELL_SIZE),
    default=48,
    help="Pixels from cell to cell.",
)
@click.option("--coordinates/--no-coordinates", default=True, help="Whether rows have labels.")
@click.option(
    "--numbers", "numbered", is_flag=True, help="Write the numbers of the moves on the stones."
)
@click.option(
    "--overlay",
    type=click.Choice(OVERLAYS),
    default="none",
    help="What the search for the next ply found; with --ply that for this ply.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.02, 60),
    default=SECONDS,
    help="How long each position is shown.",
)
@click.option(
    "--ply",
    type=click.IntRange(0),
    help="Only the position after this number of plies; with --overlay the one in which that ply "
    "was searched, before it is played.",
)
@click.option("--game", help="Allow to import the record's game, module:function.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def render(
    record: str,
    target: str,
    theme: Theme | None,
    cell_size: int,
    coordinates: bool,
    seconds: float,
    ply: int | None,
    game: str | None,
    force: bool,
    **shown: Any,
) -> None:
    """Show the game in the file RECORD as a film, a page, pictures or text.

    .gif, .mp4 (extra video) and .svg are films, .txt has every position as text, and .png the last.
    With --ply .svg, .txt and .png have the one position. .html is a page to step through, where the
    reader chooses the overlay: of the options it takes --theme.

    Example: hexenv render games/000001.json --to game.gif --overlay visits
    """
    with clear_errors():
        check_target(target, force)
        if ply is not None and (suffix := Path(target).suffix.lower()) not in ONE_POSITION:
            raise ValueError(f"expected --ply with {', '.join(ONE_POSITION)}, got it with {suffix}")
        if Path(record).suffix.lower() in (*READERS, ".npz"):
            raise ValueError(
                f"{record}: expected a record, which hexenv convert makes of this file"
            )
        found = load_record(record)
        env = None
        if found.is_foreign:
            if found.game != game:
                raise ValueError(
                    f"expected --game {found.game}, to import the record's, got {game}"
                )
            env = make_environment(found.game, found.options)
        if Path(target).suffix.lower() == ".html":
            from agents.apps.web.page import replay_page  # only pages need it

            write_text(target, replay_page(found, env=env, theme=theme or "auto"))
        else:
            look = Look(theme or "light", cell_size, coordinates)
            film = film_of(found, env=env, look=look, **shown)
            write_film(target, film, seconds, _position(film, ply, shown["overlay"]))
    click.echo(f"written: {target}", err=True)


def _position(film: Film, ply: int | None, overlay: str) -> int | None:
    """The number of the position to show for a ply; None for all."""
    if ply is None:
        return None
    first = 0 if overlay == "none" else 1  # a search is shown in the position before its ply
    if not first <= ply < len(film):
        raise ValueError(f"expected --ply from {first} to {len(film) - 1}, got {ply}")
    if first == 1 and film.overlays[ply - 1] is None:
        raise ValueError(f"expected a --ply that was searched, with {overlay}, got {ply}")
    return ply - first


def check_target(target: str, force: bool, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Check the file to write, before anything is read."""
    suffix = Path(target).suffix.lower()
    if suffix not in suffixes:
        raise ValueError(f"{target}: expected a file of {', '.join(suffixes)}, got {suffix!r}")
    if Path(target).exists() and not force:
        raise FileExistsError(errno.EEXIST, "exists already (--force replaces it)", target)


def write_film(target: str, film: Film, seconds: float, ply: int | None) -> None:
    """Write a game, or one position of it, in the format of the file's suffix."""
    match Path(target).suffix.lower():
        case ".gif":
            write_gif(target, film, seconds)
        case ".mp4":
            write_mp4(target, film, seconds)
        case ".png":
            write_image(target, film[-1 if ply is None else ply])
        case ".svg":
            write_text(target, film.animation(seconds) if ply is None else film.svg(ply))
        case _:
            plies = range(len(film)) if ply is None else [ply]
            write_text(target, "\n".join(film.text(each) for each in plies))
