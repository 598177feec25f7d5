"""Hex solved exactly: a depth-first search over virtual connections.

A *carrier* is a set of empty cells on which a player wins whatever happens elsewhere. Whatever
proves a win here, a pattern or a whole search, hands back its carrier, and carriers prune:

* A *connection* of two places holds even if the opponent moves first; a *semi-connection* only if
  its owner does. Larger ones follow from smaller ones by two rules (Anshelevich, "The game of Hex:
  an automatic theorem proving approach to game programming", AAAI 2000, where they are called
  virtual): in series, with disjoint carriers; and a set of semi-connections of which no cell is in
  all carriers is a connection. They grow here from a player's two sides inwards, by adjacent
  cells and bridges.
* *Must-play*: a move outside the carrier of an opponent's semi-connection from side to side loses
  to it. And if a move was searched and loses, so does each move outside the carrier of that loss
  (Hayward, Björnsson, Johanson, Kan, Po and van Rijswijck, "Solving 7x7 Hex with domination,
  virtual connections, and game-state reduction", TCS 2005). Where no move is left the position is
  lost, on the union of all these carriers.
* *Inferior cells* (Björnsson, Hayward, Johanson and van Rijswijck, "Dead cell analysis in Hex and
  the Shannon game", 2006): a cell is dead if no shortest path leads through it, whoever owns the
  rest. Dead cells are filled, and so are pairs in which a player can answer each stone of the
  opponent with one that makes it dead: the player has captured them. A move that a reply makes
  dead is not tried.
* Moves are judged before one is searched: by how many moves they leave to the opponent, and by
  the current that would flow through the cell if the board were an electrical circuit (Anshelevich
  2000, after Shannon).

Sets of cells are the bits of one integer, so a board has at most 61 cells (and two sides).
"""

import functools
import threading
from typing import Any, Final

from agents.knowledge.hex.board import MOST_CELLS, UNKNOWN, new_board, new_links
from agents.knowledge.hex.search import compiled_search, new_stack, search
from agents.knowledge.hex.table import new_table
from agents.solvers.questions import Clock
from hexenv.compiled import uses_machine_code
from hexenv.games import base
from hexenv.games.base import EMPTY, State
from hexenv.games.hex import Hex

SLICE: Final = 1000
"""Positions between two looks at the clock."""


class HexSolver:
    """Solves positions of one board and remembers them.

    Args:
        rows: Of the board.
        columns: Of the board.
        entries: Of the table of solved positions, 29 bytes each.
        compiles: Whether to run as machine code.

    Raises:
        ValueError: If the board has more than 61 cells.
    """

    def __init__(
        self, rows: int, columns: int, entries: int = 1 << 20, compiles: bool = True
    ) -> None:
        if rows * columns > MOST_CELLS:
            raise ValueError(
                f"expected a board of Hex of at most {MOST_CELLS} cells, got {rows} x {columns}"
            )
        self.board = new_board(rows, columns)
        self._table = new_table(entries)
        self._stack = new_stack(self.board)
        self._arguments = (self.board, self._table, new_links(self.board), self._stack)
        self._run: Any = search
        if compiles:
            self._run = compiled_search.specialise(*self._arguments, SLICE)

    def solve(self, first: int, second: int, mover: int, clock: Clock) -> tuple[int, int]:
        """Who wins a position, and on which carrier.

        Args:
            first: The stones of player 0, as bits.
            second: The stones of player 1.
            mover: Whose turn it is.
            clock: It counts the positions searched, and ends the search when its time is over.
        """
        stack = self._stack
        stack.stones[0] = first, second
        stack.mover[0] = mover
        stack.control[0] = 0
        budget = SLICE if self._run is not search else SLICE // 100
        winner = UNKNOWN
        while winner == UNKNOWN:
            before = int(stack.control[1])
            winner = int(self._run(*self._arguments, budget))
            clock.count(int(stack.control[1]) - before)
        return winner, int(stack.proof[0])


_lock: Final = threading.Lock()


@functools.lru_cache(maxsize=2)
def shared_solver(rows: int, columns: int, compiles: bool = True) -> HexSolver:
    """The solver of a board, which keeps what it found for the next call."""
    return HexSolver(rows, columns, compiles=compiles)


def solve(
    game: Hex, state: State, seconds: float | None = None, found: dict[int, int] | None = None
) -> dict[int, int]:
    """The value of each legal action, 1 if it wins and -1 if it loses with perfect play.

    Args:
        game: Hex on a board of at most 61 cells. Up to 6x6 every position takes seconds at most,
            larger boards may take very long while they are nearly empty.
        state: The position; not changed.
        seconds: The time allowed; None for no limit.
        found: Is given each value as soon as it is known, and is returned.

    Raises:
        ValueError: If the board is too large.
        TimeoutError: If the time does not suffice; what was found is kept for the next call.
    """
    solver = shared_solver(game.rows, game.columns, uses_machine_code())
    clock = Clock(seconds)
    with _lock:
        return action_values(game, state, solver, clock, found)


def winner(game: Hex, state: State, seconds: float | None = None) -> int:
    """The player, 0 or 1, who wins with perfect play; arguments and errors as for `solve`."""
    solver = shared_solver(game.rows, game.columns, uses_machine_code())
    clock = Clock(seconds)
    with _lock:
        return winner_of(game, state, solver, clock)[0]


def action_values(
    game: Hex,
    state: State,
    solver: HexSolver,
    clock: Clock,
    found: dict[int, int] | None = None,
) -> dict[int, int]:
    """The value of each legal action; see `solve`.

    A move outside the carrier on which the opponent refutes another move loses as well.
    """
    mover, cells = game.to_play(state), solver.board.size
    must = solver.board.everything
    values = {} if found is None else found
    actions = base.legal_actions(game, state)
    for action in sorted(actions, key=lambda action: eccentricity(game, action)):
        if action < cells and not must >> action & 1:
            values[action] = -1
            continue
        winner, carrier = winner_after(game, state, action, solver, clock)
        values[action] = 1 if winner == mover else -1
        if winner != mover and action < cells:
            must &= carrier
    return {action: values[action] for action in actions}


def eccentricity(game: Hex, action: int) -> int:
    """How far an action is from the centre, where the shortest losses begin; the swap is last."""
    row, column = divmod(action, game.columns)
    down, right = 2 * row - game.rows + 1, 2 * column - game.columns + 1
    return max(abs(down), abs(right), abs(down + right))


def winner_after(
    game: Hex, state: State, action: int, solver: HexSolver, clock: Clock
) -> tuple[int, int]:
    """As `winner_of`, after an action."""
    child = base.clone(game, state)
    game.step(child, action)
    return winner_of(game, child, solver, clock)


def winner_of(game: Hex, state: State, solver: HexSolver, clock: Clock) -> tuple[int, int]:
    """Who wins a position, and on which carrier; all cells, where the swap is needed for it."""
    if game.is_terminal(state):
        return int(state.winner), 0
    mover, board = game.to_play(state), solver.board
    if game.can_swap(state):
        if winner_after(game, state, board.size, solver, clock)[0] == mover:
            return mover, board.everything
    elif game.swap and state.ply == 0:
        values = action_values(game, state, solver, clock)
        return (mover if 1 in values.values() else 1 - mover), board.everything
    stones = [0, 0]
    for cell, owner in enumerate(base.cell_owners(game, state).flat):
        if owner != EMPTY:
            stones[owner] |= 1 << cell
    return solver.solve(stones[0], stones[1], mover, clock)
