"""How a person chooses an action: by its cell, by its column, or by an answer to a question."""

from typing import Final

from hexenv.games.base import Game, State

COLUMN_STYLE: Final = "holes"
"""The style of games whose actions are columns."""


def cell_of(game: Game, state: State, action: int) -> int | None:
    """The cell that an action would fill; None for one that fills none, as a swap.

    The action is legal there, or, as in a line of a search, later on.
    """
    if action >= game.num_actions() or (is_by_column(game) and action >= game.columns):
        return None
    cell = int(game.cell_of(state, action))
    is_one = 0 <= cell < game.rows * game.columns and game.cells_of_action(state, action) == (cell,)
    return cell if is_one else None


def arrow_of(game: Game, state: State, action: int) -> tuple[int, ...] | None:
    """The cells that a legal action leads from and to; None for one that is on one or none."""
    cells = game.cells_of_action(state, action)
    return cells if len(cells) == 2 else None


def is_by_column(game: Game) -> bool:
    """Whether a player chooses a column, and not a cell."""
    return game.style == COLUMN_STYLE


def cells_of(game: Game, state: State, action: int) -> list[int]:
    """The cells that stand for an action, legal or not: that of its stone, or all of its column."""
    if is_by_column(game):
        columns = range(game.columns)
        return [row * game.columns + action for row in range(game.rows) if action in columns]
    cell = cell_of(game, state, action)
    return [] if cell is None else [cell]
