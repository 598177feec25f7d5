"""What agents may use of Hex besides its rules; see `agents.core.knowledge`."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from agents.core.knowledge import GameKnowledge, SureWin
from agents.knowledge.bits import NONE, common, one_bit
from agents.knowledge.hex import openings
from agents.knowledge.hex.h_search import (
    MOST_CELLS,
    MOST_EXTENDED,
    connect,
    new_connections,
    new_grid,
    winning_carrier,
)
from agents.knowledge.hex.known import may_be_swapped, parts_in, with_knowledge
from agents.knowledge.hex.solver import HexSolver
from agents.planning.environment import View
from agents.search.variant import Variant
from hexenv.compiled import CompiledFunction
from hexenv.games import base
from hexenv.games.hex import Hex

compiled_connect: Final = CompiledFunction(connect, "connections")
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

    def sure_win(self, view: View) -> SureWin | None:
        """A connection of the sides that nobody can break, by H-search."""
        game, state = view.game, view.root
        size = game.rows * game.columns
        if size > MOST_CELLS or may_be_swapped(game, state):
            return None
        owners, links = base.cell_owners(game, state).astype(np.int8).ravel(), new_connections(size)
        grid, player = new_grid(game.rows, game.columns), int(game.to_play(state))
        for one, is_to_move in ((player, True), (1 - player, False)):
            arguments = grid, owners, one, is_to_move, MOST_EXTENDED, links
            find = compiled_connect.specialise(*arguments) if view.compiles else connect
            if find(*arguments):
                carrier = winning_carrier(links)
                cells = [cell for cell in range(size) if common(carrier, one_bit(cell)) != NONE]
                return SureWin(one, tuple(cells))
        return None

    def exact_solver(self, game: Any, compiles: bool, book: Any, entries: int) -> HexSolver | None:
        if not isinstance(game, Hex):
            return None
        if game.rows * game.columns > MOST_SOLVED_CELLS:
            raise ValueError(
                f"expected a board of Hex of at most {MOST_SOLVED_CELLS} cells, got {game.rows} x "
                f"{game.columns}"
            )
        return HexSolver(game, min(entries, MOST_ENTRIES), compiles)
