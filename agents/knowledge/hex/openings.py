"""First moves of Hex with the swap: fair ones to play, and which to take over.

A table has, for square boards, how good each first move is for its player without the swap: the
share of games that a search wins with it and, where the board is solved, the winner. The command
``python -m agents.knowledge.hex.estimate_openings`` makes it.

The first stone is placed where the estimate is nearest to 0.5, so that the opponent gains little
by the choice. It is taken over where it wins: by the solution, else by the estimate.
"""

import os
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from msgspec import Meta, Struct

from agents.core.formats import Format
from agents.core.structured import to_structure
from agents.planning.environment import View
from hexenv.games.hex import Hex

TABLE: Final = Path(__file__).with_name("openings.json")
FORMAT: Final = Format("hexenv-hex-openings")
FAIREST: Final = 4
"""The first stone is one of so many, or the half turn of one."""


class Board(Struct, frozen=True, forbid_unknown_fields=True):
    """The first moves on a square board."""

    size: Annotated[int, Meta(ge=1, le=19)]
    command: str
    """What found the estimates."""
    estimates: list[Annotated[float, Meta(ge=0, le=1)]]
    """For each cell, row by row, how often its player wins."""
    wins: str = ""
    """``1`` where the first move wins, ``0`` where it loses; empty if the board is not solved."""


class Openings(Struct, frozen=True, forbid_unknown_fields=True):
    """What the table has besides its format."""

    boards: list[Board]


def load_openings(path: str | os.PathLike[str]) -> dict[int, Board]:
    """Read a table; the boards by their size.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is no such table.
    """
    found = to_structure(FORMAT.read_json(path), Openings, str(path))
    for board in found.boards:
        cells = board.size * board.size
        if len(board.estimates) != cells or len(board.wins) not in (0, cells):
            raise ValueError(f"{path}: expected {cells} moves on {board.size} x {board.size}")
    return {board.size: board for board in found.boards}


@cache
def known_openings() -> dict[int, Board]:
    """The table in the package."""
    return load_openings(TABLE)


def opening_board(view: View) -> Board | None:
    """What is known of the board, in the first two plies of a game with the swap; else None."""
    game: Any = view.game
    if not isinstance(game, Hex) or not game.swap or game.rows != game.columns:
        return None
    return known_openings().get(game.rows) if view.root.ply < 2 else None


def first_move(board: Board, rng: np.random.Generator) -> int:
    """One of the fairest moves."""
    cells = board.size * board.size
    half = rng.permutation((cells + 1) // 2)  # so that chance decides between equals
    unfairness = np.abs(np.array(board.estimates)[half] - 0.5).round(6)
    cell = int(rng.choice(half[unfairness.argsort(kind="stable")[:FAIREST]]))
    return cell if rng.random() < 0.5 else cells - 1 - cell


def should_swap(board: Board, cell: int) -> bool:
    """Whether a first stone is worth taking over."""
    if board.wins:
        return board.wins[cell] == "1"
    return board.estimates[cell] > 0.5


def without_swap(view: View) -> View:
    """The position as that of a game in which no stone is taken over."""
    return view._replace(game=view.game._replace(swap=False))
