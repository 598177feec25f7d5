"""What agents may use of Connect4 besides its rules; see `agents.core.knowledge`."""

from functools import cache
from pathlib import Path
from typing import Any, Final

from agents.core.knowledge import GameKnowledge
from agents.knowledge.connect4.book import Book, check_book, load_book
from agents.knowledge.connect4.grid import CONNECT
from agents.knowledge.connect4.solver import Connect4Solver
from agents.solvers.exhaustive import LineTactics
from hexenv.games.connect4 import Connect4

BOOK: Final = Path(__file__).with_name("book.npz")
USUAL: Final = (6, 7)
"""Rows and columns of its board."""


class Connect4Knowledge(GameKnowledge):
    """The exact solver of four in a row, with its opening books.

    The usual board has one of its own: ``build_book(connect4.new(), 8, "book.npz", entries=1 << 28,
    threads=2)``, of `agents.solvers.solver`, which takes about six hours on two processors.
    """

    def exact_solver(
        self, game: Any, compiles: bool, book: Any, entries: int
    ) -> Connect4Solver | None:
        if type(game) is not Connect4 or game.connect != CONNECT:
            return None
        if book is not None:
            check_book(book, game)
        elif (game.rows, game.columns) == USUAL:
            book = _own_book()
        return Connect4Solver(game, entries, compiles, book)

    def tactics(self, game: Any) -> LineTactics | None:
        return LineTactics() if type(game) is Connect4 else None


@cache
def _own_book() -> Book:
    return load_book(BOOK)
