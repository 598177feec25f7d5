"""Connect4 solved exactly: alpha-beta on bitboards.

What makes it quick is known from Tromp's Fhourstones benchmark and explained step by step in Pons'
tutorial "Solving Connect 4" (blog.gamesolver.org), with one idea of Allis (1988):

* A position is two integers, the stones of the player to move and all stones, and a win, or all
  cells at which one would be won, takes a few shifts of them.
* A search asks one question, "is the score at least `goal`?" (a null window), again and again with
  other goals until it knows the score. Each answer is a bound, and both bounds of a position are
  kept in a table, in which all later questions look.
* Only moves are tried after which the opponent does not win at once, so no node has a win at hand:
  the search sees two plies farther than it goes.
* Moves that make most threats come first, and the centre before the edge.
* A reply that the table knows to be good enough settles a position at once.
* *Claimeven* (Allis): where every column has an even number of cells left, the player who is not to
  move can answer every stone with the one above it. If the lines that the mover could still get so
  are none, the mover does not win; if the follower gets one, the mover loses.

A score (`agents.solvers.questions`) counts stones: on the usual board it is 22 - s for a win with
the s-th stone, from 18 with the fourth to 1 with the 21st.
"""

from collections.abc import Callable
from typing import Any, Final, cast

from agents.knowledge.connect4.grid import CONNECT, new_grid, winning_cells
from agents.knowledge.connect4.search import compiled_search, new_stack, search
from agents.knowledge.connect4.table import new_table
from agents.solvers.questions import Clock
from hexenv.games import base

SLICE: Final = 1 << 17
"""Nodes between two looks at the clock."""


def no_book(state: Any) -> int | None:
    """The score of no position."""
    return None


class Connect4Solver:
    """Solves positions of one board; see `agents.solvers.questions.PositionSolver`.

    Args:
        game: Connect4 with four in a row.
        entries: Of the table, 8 bytes each: 2^23 are enough for positions from about 8 stones on.
        compiles: Whether to run as machine code.
        book: The score of a position where it is known beforehand, else None.

    Raises:
        ValueError: If another number of stones in a row wins.
    """

    def __init__(
        self,
        game: Any,
        entries: int = 1 << 23,
        compiles: bool = True,
        book: Callable[[Any], int | None] = no_book,
    ) -> None:
        if game.connect != CONNECT:
            raise ValueError(f"expected Connect4 that connects {CONNECT}, got {game}")
        self.game = game
        self.compiles = compiles
        self.book = book
        self.grid = new_grid(game.rows, game.columns)
        self.table = new_table(self.grid, entries)
        self.stack = new_stack(self.grid)
        self._search: Callable[..., bool] | None = None if compiles else search

    def copy_of(self, state: Any) -> Any:
        """An independent copy of a position."""
        return base.clone(self.game, state)

    def prepare(self) -> None:
        """Compile the search."""
        if self._search is None:
            self._search = compiled_search.specialise(self.grid, self.table, self.stack, 0, 1)

    def known(self, state: Any) -> tuple[int, int]:
        """The bounds that the number of stones sets; exact at the end, and where a move wins."""
        half, ply = self.grid.half, int(state.ply)
        player = ply & 1
        if self.game.is_terminal(state):
            score = self.game.outcome(state, player) * (half - (ply + 1) // 2)
            return score, score
        mine = int(state.stones[player])
        taken = mine | int(state.stones[1 - player])
        if winning_cells(self.grid, mine) & (taken + self.grid.floor) & ~taken:
            return half - (ply + 2) // 2, half - (ply + 2) // 2
        score = self.book(state)
        if score is not None:
            return score, score
        return (ply + 3) // 2 - half, half - (ply + 4) // 2

    def ask(self, state: Any, goal: int, clock: Clock) -> int:
        """A bound on the score for the player to move; see `questions.PositionSolver`."""
        player, stack = int(state.ply) & 1, self.stack
        stack.mine[0] = state.stones[player]
        stack.taken[0] = int(state.stones[0]) | int(state.stones[1])
        stack.goal[0] = goal
        stack.control[0] = 0
        arguments = (self.grid, self.table, stack, int(state.ply))
        self.prepare()
        run = cast("Callable[..., bool]", self._search)
        budget = SLICE if self.compiles else SLICE >> 7
        stack.control[1] = 0
        while not run(*arguments, budget):
            clock.count(int(stack.control[1]))
            stack.control[1] = 0
        clock.nodes += int(stack.control[1])
        return int(stack.best[0])
