"""What agents may use of Hex besides its rules; see `agents.core.knowledge`."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from agents.core.knowledge import GameKnowledge
from agents.knowledge.hex import openings
from agents.knowledge.hex.known import parts_in, with_knowledge
from agents.knowledge.hex.solver import HexSolver
from agents.planning.environment import View
from agents.search.variant import Variant
from hexenv.games.hex import Hex

MOST_SOLVED_CELLS: Final = 49
MOST_ENTRIES: Final = 1 << 20
"""Of the table: as many as games on such boards fill."""


class HexKnowledge(GameKnowledge):
    """The exact solver; openings with the swap, and knowledge for tree searches."""

    def is_opening(self, view: View, names: str | None = None) -> bool:
        is_used = names is not None and "openings" in parts_in(names)
        return is_used and openings.opening_board(view) is not None

    def play_opening(
        self, view: View, think: Callable[[View], tuple[int, float]], rng: np.random.Generator
    ) -> int:
        board: Any = openings.opening_board(view)
        if view.root.ply == 0:
            return openings.first_move(board, rng)
        if openings.should_swap(board, view.game.first_stone(view.root)):
            return view.game.rows * view.game.columns
        return think(openings.without_swap(view))[0]

    def add_knowledge(self, variant: Variant, game: Any, names: str, visits: int) -> Variant:
        return with_knowledge(variant, names, visits)

    def exact_solver(self, game: Any, compiles: bool, book: Any, entries: int) -> HexSolver | None:
        if not isinstance(game, Hex):
            return None
        if game.rows * game.columns > MOST_SOLVED_CELLS:
            raise ValueError(
                f"expected a board of Hex of at most {MOST_SOLVED_CELLS} cells, got {game.rows} x "
                f"{game.columns}"
            )
        return HexSolver(game, min(entries, MOST_ENTRIES), compiles)
