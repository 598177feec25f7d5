"""What agents may use of Connect4 besides its rules; see `agents.core.knowledge`."""

from typing import Any

from agents.core.knowledge import GameKnowledge
from agents.knowledge.connect4.book import check_book
from agents.knowledge.connect4.grid import CONNECT
from agents.knowledge.connect4.solver import Connect4Solver
from agents.solvers.exhaustive import LineTactics
from hexenv.games.connect4 import Connect4


class Connect4Knowledge(GameKnowledge):
    """The exact solver of four in a row, with its opening books."""

    def exact_solver(
        self, game: Any, compiles: bool, book: Any, entries: int
    ) -> Connect4Solver | None:
        if type(game) is not Connect4 or game.connect != CONNECT:
            return None
        if book is not None:
            check_book(book, game)
        return Connect4Solver(game, entries, compiles, book)

    def tactics(self, game: Any) -> LineTactics | None:
        return LineTactics() if type(game) is Connect4 else None
