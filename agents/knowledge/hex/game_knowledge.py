"""What agents may use of Hex besides its rules; see `agents.core.knowledge`."""

from typing import Any, Final

from agents.core.knowledge import GameKnowledge
from agents.knowledge.hex import solver
from agents.solvers.questions import Clock
from hexenv.compiled import uses_machine_code
from hexenv.games.hex import Hex

MOST_SOLVED_CELLS: Final = 36


class HexKnowledge(GameKnowledge):
    """The exact solver."""

    def exact_solver(
        self, game: Any, compiles: bool, book: Any, entries: int
    ) -> "HexExactSolver | None":
        """The solver of the board, without a book.

        Raises:
            ValueError: If the board is too large.
        """
        if not isinstance(game, Hex):
            return None
        if game.rows * game.columns > MOST_SOLVED_CELLS:
            raise ValueError(
                f"expected a board of Hex of at most {MOST_SOLVED_CELLS} cells, got {game.rows} x "
                f"{game.columns}"
            )
        return HexExactSolver(game)


class HexExactSolver:
    """An `agents.solvers.questions.ExactSolver` of a board of Hex, which counts no plies."""

    def __init__(self, game: Hex) -> None:
        self.game = game

    def prepare(self) -> None:
        """Compile the solver of the board."""
        solver.shared_solver(self.game.rows, self.game.columns, uses_machine_code())

    def value(self, state: Any, clock: Clock) -> int:
        """See `ExactSolver`, as for the others."""
        winner = solver.winner(self.game, state, seconds=clock.seconds)
        return 1 if winner == self.game.to_play(state) else -1

    def values(self, state: Any, clock: Clock, found: dict[int, int]) -> dict[int, int]:
        return solver.solve(self.game, state, clock.seconds, found)

    def scores(self, state: Any, clock: Clock) -> dict[int, int]:
        raise ValueError("expected a game whose solver counts plies, got hex")

    def quickest(self, state: Any, actions: list[int], clock: Clock) -> list[int]:
        return actions
