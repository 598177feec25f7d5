"""What agents may use of Connect4 besides its rules; see `agents.core.knowledge`."""

from typing import Any

from agents.core.knowledge import GameKnowledge
from agents.knowledge.connect4.book import check_book
from agents.knowledge.connect4.grid import CONNECT
from agents.knowledge.connect4.solver import Connect4Solver, no_book
from agents.solvers.exhaustive import LineTactics
from agents.solvers.questions import ScoreSolver
from hexenv.games.connect4 import Connect4


class Connect4Knowledge(GameKnowledge):
    """The exact solver of four in a row, with its opening books."""

    def exact_solver(
        self, game: Any, compiles: bool, book: Any, entries: int
    ) -> ScoreSolver | None:
        """The solver on bitboards.

        Raises:
            ValueError: If the book is for another board.
        """
        if type(game) is not Connect4 or game.connect != CONNECT:
            return None
        if book is not None:
            check_book(book, game)
        book_score = no_book if book is None else book.score
        return ScoreSolver(Connect4Solver(game, entries, compiles, book_score))

    def tactics(self, game: Any) -> LineTactics | None:
        """Finds wins in one move; only a stone on the winning cell stops them."""
        return LineTactics() if type(game) is Connect4 else None
