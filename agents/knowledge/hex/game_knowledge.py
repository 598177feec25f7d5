"""What agents may use of Hex besides its rules; see `agents.core.knowledge`."""

from typing import Any, Final

from agents.core.knowledge import GameKnowledge
from agents.knowledge.hex.known import HexParts, parts_of
from agents.knowledge.hex.solver import HexSolver
from hexenv.games.hex import Hex

MOST_SOLVED_CELLS: Final = 49
MOST_ENTRIES: Final = 1 << 20
"""Of the table: as many as games on such boards fill."""


class HexKnowledge(GameKnowledge):
    """The exact solver; inferior cells and virtual connections for tree searches."""

    def search_knowledge(self, game: Any, names: str, visits: int) -> HexParts:
        return parts_of(names, visits)

    def exact_solver(self, game: Any, compiles: bool, book: Any, entries: int) -> HexSolver | None:
        if not isinstance(game, Hex):
            return None
        if game.rows * game.columns > MOST_SOLVED_CELLS:
            raise ValueError(
                f"expected a board of Hex of at most {MOST_SOLVED_CELLS} cells, got {game.rows} x "
                f"{game.columns}"
            )
        return HexSolver(game, min(entries, MOST_ENTRIES), compiles)
