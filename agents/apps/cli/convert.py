"""The command `hexenv convert`."""

from collections.abc import Iterator

import click

from agents.apps.cli.shared import clear_errors
from agents.records.formats import load_games, save_games
from agents.records.record import GameRecord
from agents.registry import make_environment


@click.command()
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--game", help="The game, where IN does not say; module:function is imported.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the game that IN does not tell, such as rule=renju; may be repeated.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Replace what OUT is; records in a directory by those of the same numbers.",
)
def convert(
    source: str, target: str, game: str | None, options: tuple[str, ...], force: bool
) -> None:
    """Convert games from IN to OUT, whose formats their suffixes tell.

    .json is a record; .sgf is for Hex and Gomoku, .psq for Gomoku, .txt for Connect4, a string of
    columns a line; .npz are games of hexenv train. Without a suffix it is a directory of records.
    All moves are checked against the rules.

    Example: hexenv convert games/000001.json game.sgf
    """
    with clear_errors():
        count = save_games(_checked(load_games(source, game, options), game), target, force)
    click.echo(f"{target}: {count} game{'s' if count != 1 else ''}", err=True)


def _checked(records: Iterator[GameRecord], game: str | None) -> Iterator[GameRecord]:
    """Records; those of the game ``module:function`` that the user named are played in it."""
    for record in records:
        if game is not None and record.game != game:
            raise ValueError(f"expected games of {game}, got one of {record.game}")
        if game is not None and record.is_foreign:
            for _ in record.replay(make_environment(game, record.options)):
                pass
        yield record
