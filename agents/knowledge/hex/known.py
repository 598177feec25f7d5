"""What a tree search knows of Hex, in parts.

* ``"inferior"``: every node is expanded without the cells that patterns show to be inferior
  (`agents.knowledge.hex.inferior`).
* ``"connections"``: a node that has been visited `visits` times, and the root, is looked at for
  virtual connections (`agents.knowledge.hex.h_search`), on the board as it is filled in with the
  first part, on the board as it is without. Children outside of the must-play region are proven
  losses, the key of a winning semi-connection is a proven win, and so the node may be proven; the
  solver of the search does the rest (Arneson, Hayward and Henderson, "Monte Carlo tree search in
  Hex", 2010).
* ``"priors"``: moves are tried in the order of what the cells around them promise
  (`agents.knowledge.hex.priors`, `agents.search.bias`).
* ``"openings"``: with the swap, the first stone and whether it is taken over follow from a table
  (`agents.knowledge.hex.openings`).

Where the first stone may still be taken over (`swap`), nothing is proven. Each position is looked
at anew: a node is several moves from the root, and to follow each of them takes longer
(`agents.knowledge.hex.h_moves`).
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.bits import NONE, meet, one_bit
from agents.knowledge.hex.h_search import (
    IS_FULL,
    MOST_CELLS,
    connect,
    empty_cells,
    must_play,
    new_connections,
    new_grid,
    winning_key,
)
from agents.knowledge.hex.inferior import choose_moves, chosen_for, fill_in, new_rings
from agents.knowledge.hex.priors import HexPriors
from agents.search.bias import ProgressiveBias
from agents.search.knowledge import all_covered
from agents.search.mcts import Variant
from agents.search.tree import ROOT, Tree
from hexenv.compiled import compiled, kernel
from hexenv.games.base import EMPTY, Actions, State
from hexenv.games.hex import Hex
from hexenv.messages import suggestion

PARTS: Final = ("inferior", "connections", "priors", "openings")
ALL: Final = "all"
BIAS: Final = 2.5
"""Weight of a prior; see `ProgressiveBias`."""
FIRST_PLAY: Final = 0.5
"""The score of a move without a visit, besides."""
MOST_EXTENDED: Final = 20_000
"""Connections that are extended in one position for one player."""


@compiled
class HexParts(NamedTuple):
    """The parts that are switched on, with their memory."""

    inferior: bool
    connections: bool
    visits: int
    """Of a node, when it is looked at for connections."""
    grid: Any = None
    rings: Any = None
    links: Any = None
    owners: Any = None
    """``(num_cells() + 2,)``: scratch space; the owners of the cells, filled in, and 0 and 1."""
    chosen: Any = None
    """``(num_cells(),)``: scratch space; see `choose_moves`."""
    last_root: Any = None
    """``(1,)``: the hash of the root that was looked at last."""

    covers = all_covered

    def with_memory(self, game: Any) -> "HexParts":
        """ValueError if the game is not Hex, or the board has more than `MOST_CELLS` cells."""
        if not isinstance(game, Hex):
            raise ValueError(f"expected Hex, for what is known of it, got {game}")
        size = game.rows * game.columns
        if size > MOST_CELLS:
            raise ValueError(
                f"expected Hex on at most {MOST_CELLS} cells, for what is known of it, got "
                f"{game.rows} x {game.columns}"
            )
        owners: NDArray[np.int8] = np.empty(size + 2, np.int8)
        owners[size:] = 0, 1
        return self._replace(
            grid=new_grid(game.rows, game.columns),
            rings=new_rings(game.rows, game.columns),
            links=new_connections(size),
            owners=owners,
            chosen=np.zeros(size, np.int16),
            last_root=np.full(1, -1, np.int64),
        )

    def decides(self, game: Any, state: State) -> bool:
        return False

    def list_actions(self, game: Any, state: State, rng: np.random.Generator, out: Actions) -> int:
        """All but the inferior cells; all of them where only such are left."""
        legal = game.legal_actions(state, out)
        if legal == 0 or not self.inferior or may_be_swapped(game, state):
            return legal
        read_board(self, game, state)
        kept, player = 0, game.to_play(state)
        for i in range(legal):
            if self.owners[out[i]] == EMPTY:
                out[kept] = out[i]
                kept += 1
        if kept == 0:
            return game.legal_actions(state, out)
        choose_moves(self.rings, self.owners, player, self.chosen)
        best = 0
        for i in range(kept):
            if self.chosen[out[i]] == out[i]:
                out[best], out[i] = out[i], out[best]
                best += 1
        return best if best > 0 else kept

    def is_due(self, tree: Tree, node: int) -> bool:
        return self.connections and tree.visits[node] == self.visits

    def is_root_due(self, game: Any, state: State) -> bool:
        """Whether the root is another one than last time."""
        key = game.position_hash(state)
        if not self.connections or self.last_root[0] == key:
            return False
        self.last_root[0] = key
        return True

    def examine(self, game: Any, state: State, tree: Tree, node: int) -> None:
        """Prove children of a node. At a lost root none: a move has to be chosen there."""
        if may_be_swapped(game, state):
            return
        read_board(self, game, state)
        player, owners = game.to_play(state), self.owners[: len(self.grid.around)]
        if connect(self.grid, owners, player, True, MOST_EXTENDED, self.links):
            key = winning_key(self.links)
            if self.inferior and key != IS_FULL and not prove_win(tree, node, key):
                choose_moves(self.rings, self.owners, player, self.chosen)
                key = chosen_for(self.chosen, key)
            prove_win(tree, node, key)
            return
        moves = NONE
        if not connect(self.grid, owners, 1 - player, False, MOST_EXTENDED, self.links):
            moves = must_play(self.links, empty_cells(owners))
        if node == ROOT and moves == NONE:
            return
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            action = int(tree.action[child])
            if moves == NONE or (owners[action] == EMPTY and not meet(moves, one_bit(action))):
                tree.proof[child] = -1


def parts_in(names: str) -> tuple[str, ...]:
    """The names in a text.

    Raises:
        ValueError: If there is no such part.
    """
    given = tuple(names.split("+"))
    for name in given:
        if name not in (*PARTS, ALL):
            raise ValueError(
                f"expected knowledge of {', '.join(PARTS)}, with a plus between them, or {ALL}; "
                f"got {names!r}{suggestion(name, (*PARTS, ALL))}"
            )
    return PARTS if ALL in given else given


def with_knowledge(variant: Variant, names: str, visits: int) -> Variant:
    """A variant of tree search with the parts that a text names.

    Raises:
        ValueError: If there is no such part.
    """
    given = parts_in(names)
    if "priors" in given:
        rule = ProgressiveBias(variant.selection, HexPriors(), BIAS, FIRST_PLAY)
        variant = variant._replace(selection=rule)
    return variant._replace(knowledge=HexParts("inferior" in given, "connections" in given, visits))


@kernel
def may_be_swapped(game: Any, state: State) -> bool:
    """Whether the first stone has yet to be placed, or may be taken over."""
    return bool(game.swap and state.ply < 2)


@kernel
def read_board(parts: Any, game: Any, state: State) -> None:
    """Write the owners of the cells, filled in if that is wanted."""
    game.owners(state, parts.owners)
    if parts.inferior:
        fill_in(parts.rings, parts.owners)


@kernel
def prove_win(tree: Tree, node: int, key: int) -> bool:
    """Prove that the player to move at a node wins by playing at a key, or anywhere.

    Returns:
        Whether the node has that child.
    """
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        if tree.action[child] == key or key == IS_FULL:
            tree.proof[child] = 1
            return True
    return False
