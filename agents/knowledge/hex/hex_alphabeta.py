"""Alpha-beta by what is known of Hex, as the programs Hexy and Wolve play."""

from typing import Annotated, Any, Final, NamedTuple

import numpy as np

from agents.knowledge.bits import meet, one_bit
from agents.knowledge.hex.circuit import add_currents
from agents.knowledge.hex.evaluation import MOST_EXTENDED, Resistance, TwoDistance
from agents.knowledge.hex.h_search import connect, empty_cells, must_play, sees_win
from agents.knowledge.hex.known import HexParts, cells_to_join, may_be_swapped, read_board
from agents.knowledge.hex.shortest import next_stone
from agents.planning.environment import View
from agents.solvers.alphabeta import AlphaBeta, AlphaBetaNodes
from hexenv.common.options import OneOf, Within
from hexenv.compiled import compiled
from hexenv.games.base import EMPTY, Actions, State

EVALUATIONS: Final = ("resistance", "two-distance")


@compiled
class CurrentCandidates(NamedTuple):
    """The moves with the most current, of both players' circuits (`agents.search.knowledge`).

    Inferior cells are left out and, with connections, what is not in the must-play region. Who has
    won but for cells that are filled in joins the sides.
    """

    parts: HexParts
    width: int
    """How many, at most."""
    volts: Any = None
    """``(size,)``: scratch space."""
    currents: Any = None
    """``(size,)``: scratch space."""

    def with_memory(self, game: Any) -> "CurrentCandidates":
        parts = self.parts.with_memory(game)
        size = game.rows * game.columns
        return self._replace(parts=parts, volts=np.zeros(size), currents=np.zeros(size))

    def covers(self, selection: Any, tree: Any, node: int) -> bool:
        return False  # a move that is not looked at may be the only one that wins

    def decides(self, game: Any, state: State) -> bool:
        return False

    def list_actions(self, game: Any, state: State, rng: np.random.Generator, out: Actions) -> int:
        parts, currents = self.parts, self.currents
        count = parts.list_actions(game, state, rng, out)
        if count == 0 or may_be_swapped(game, state):
            return count
        read_board(parts, game, state)
        player, owners = int(game.to_play(state)), parts.owners[: len(currents)]
        if sees_win(parts.grid, owners, player, False, MOST_EXTENDED, parts.links):
            stones, cells = parts.seen[: len(currents)], cells_to_join(parts, owners, player)
            out[0] = next_stone(parts.grid, stones, player, cells)
            return 1
        if parts.connections:
            cells = empty_cells(owners)
            if not connect(parts.grid, owners, 1 - player, False, MOST_EXTENDED, parts.links):
                cells = must_play(parts.links, cells)
            kept = 0
            for i in range(count):
                if owners[out[i]] == EMPTY and meet(cells, one_bit(int(out[i]))):
                    out[kept] = out[i]
                    kept += 1
            count = max(kept, 1)  # where all lose, any move will do
        currents[:] = 0.0
        for one in range(2):
            add_currents(parts.grid, owners, one, self.volts, currents)
        best = min(self.width, count)
        for i in range(best):
            for j in range(i + 1, count):
                if currents[out[j]] > currents[out[i]]:
                    out[i], out[j] = out[j], out[i]
        for i in range(best // 2):  # the last one is tried first
            out[i], out[best - 1 - i] = out[best - 1 - i], out[i]
        return best


class HexAlphaBeta(AlphaBeta):
    """Alpha-beta over few moves, with an evaluation by resistance; for Hex up to 13 x 13.

    The programs that won before tree search did played so: Hexy, Six and Wolve. It looks at the
    moves with the most current. Inferior cells are left out and, with connections, moves outside of
    the must-play region.

    Sources:
        Anshelevich, "A hierarchical approach to computer Hex", Artificial Intelligence 134, 2002.

        Arneson, Hayward and Henderson, "Wolve 2008 wins Hex tournament", ICGA Journal 32, 2009.

    Args:
        depth: Plies to look ahead; by default 2, or as many as there is time for.
        seconds: Seconds per move; see `AlphaBeta`.
        width: The most moves that are looked at in a position.
        evaluation: ``"resistance"`` or ``"two-distance"``; see `agents.knowledge.hex.evaluation`.
        connections: Whether virtual connections prove wins and must-play regions, and are wires of
            the circuits.
        route: See `AlphaBeta`.
        seed: Of the random stream; None: a different one each time.
        assume: See `AlphaBeta`.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name = "hex-alphabeta"
    usual_depth = 2

    def __init__(
        self,
        depth: int | None = None,
        seconds: float | None = None,
        width: Annotated[int, Within(1, 2**31 - 1)] = 12,
        evaluation: Annotated[str, OneOf(EVALUATIONS)] = "resistance",
        connections: bool = True,
        route: str = "auto",
        seed: int | None = None,
        assume: str | None = None,
    ) -> None:
        self.width, self.connections = width, connections
        found = TwoDistance() if evaluation == "two-distance" else Resistance(connections)
        super().__init__(depth, found, seconds, route, seed, assume)

    @property
    def tries_all(self) -> bool:
        return False

    def _nodes(self, view: View) -> AlphaBetaNodes:
        parts = HexParts(True, self.connections, 0)
        candidates = CurrentCandidates(parts, self.width).with_memory(view.game)
        return super()._nodes(view)._replace(knowledge=candidates)
