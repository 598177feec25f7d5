"""What a tree search knows of Hex, in parts.

* ``"inferior"``: every node is expanded without the cells that patterns show to be inferior
  (`agents.knowledge.hex.inferior`).
* ``"connections"``: a node that has been visited `visits` times, and the root, is looked at for
  virtual connections of the opponent, the root for those of the player to move as well
  (`agents.knowledge.hex.h_search`): on the board as it is filled in with the first part, on the
  board as it is without. Children outside of the must-play region are proven losses, the key of a
  winning semi-connection is a proven win, and so the node may be proven; the solver of the search
  does the rest (Arneson, Hayward and Henderson, "Monte Carlo tree search in Hex", 2010).
* ``"priors"``: moves are tried in the order of what the cells around them promise
  (`agents.knowledge.hex.priors`, `agents.search.bias`). A search with an evaluator, a network, has
  its priors from there.
* ``"openings"``: with the swap, the first stone and whether it is taken over follow from a table
  (`agents.knowledge.hex.openings`).

Where the first stone may still be taken over (`swap`), nothing is proven. Each position is looked
at anew: a node is several moves from the root, and to follow each of them takes longer.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.bits import NONE, meet, one_bit, set_in, union, without
from agents.knowledge.hex.h_search import (
    IS_FULL,
    MOST_EXTENDED,
    Grid,
    cells_of,
    connect,
    empty_cells,
    must_play,
    new_connections,
    new_grid,
    new_owners,
    sees_win,
    winning_carrier,
    winning_key,
)
from agents.knowledge.hex.inferior import choose_moves, chosen_for, fill_all, new_rings
from agents.knowledge.hex.patterns import RING
from agents.knowledge.hex.priors import HexPriors
from agents.knowledge.hex.shortest import next_stone, stones_needed
from agents.knowledge.hex.surroundings import follow, numbers_of
from agents.search.bias import ProgressiveBias
from agents.search.evaluated import is_evaluated
from agents.search.knowledge import all_covered
from agents.search.tree import ROOT, Tree
from agents.search.variant import Variant
from hexenv.common.messages import suggestion
from hexenv.compiled import compiled, kernel
from hexenv.games.base import EMPTY, Actions, State

PARTS: Final = ("inferior", "connections", "priors", "openings")
ALL: Final = "all"
"""In place of all of them."""
FULLS: Final = 6
SEMIS: Final = 20
"""Connections and semi-connections that are kept of a pair of places: fewer than the solver keeps,
as that takes less time."""
OF_EMPTY: Final = 2
"""The most cells of a carrier between two empty cells. With 2 these are neighbours and bridges. The
three limits decide nearly as many positions as those of the solver, in less than half of the time
(``tests/benchmarks/hex_connections.py``)."""
BIAS: Final = 2.5
"""Weight of a prior; see `ProgressiveBias`."""
FIRST_PLAY: Final = 0.5
"""The score of a move without a visit, besides."""


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
    numbers: Any = None
    """``(num_cells(),)``: scratch space; the numbers of the rings."""
    seen: Any = None
    """``(num_cells() + 2,)``: the owners in the last position, not filled in, and 0 and 1."""
    seen_numbers: Any = None
    """``(num_cells(),)``: the numbers of the rings there."""
    captured: Any = None
    """``(2, 3)``: the sets of cells that each player needs for what is filled in."""
    chosen: Any = None
    """``(num_cells(),)``: scratch space; see `fill_all` and `choose_moves`."""
    last_root: Any = None
    """``(1,)``: the hash of the root that was looked at last."""

    covers = all_covered

    def with_memory(self, game: Any) -> "HexParts":
        """ValueError if the game is not Hex, or the board has more than `MOST_CELLS` cells."""
        size = cells_of(game)
        grid, rings = new_grid(game.rows, game.columns), new_rings(game.rows, game.columns)
        seen = new_owners(size)
        return self._replace(
            grid=grid,
            rings=rings,
            links=new_connections(size, FULLS, SEMIS, of_empty=OF_EMPTY),
            owners=new_owners(size),
            numbers=np.zeros(size, np.int32),
            seen=seen,
            seen_numbers=numbers_of(rings.of_cells, seen, 0, RING),
            captured=np.zeros((2, 3), np.int64),
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
        choose_moves(self.rings, self.owners, self.numbers, player, self.chosen)
        best = 0
        for i in range(kept):
            if self.chosen[out[i]] == out[i]:
                out[best], out[i] = out[i], out[best]
                best += 1
        return best if best > 0 else kept

    def is_due(self, visits: int) -> bool:
        return self.connections and visits == self.visits

    def is_root_due(self, game: Any, state: State) -> bool:
        """Whether the root is another one than last time."""
        key = game.position_hash(state)
        if not self.connections or self.last_root[0] == key:
            return False
        self.last_root[0] = key
        return True

    def examine(self, game: Any, state: State, tree: Tree, node: int) -> None:
        """Prove children of a node. At a lost root not those that hold out longest."""
        if may_be_swapped(game, state):
            return
        read_board(self, game, state)
        player, owners = game.to_play(state), self.owners[: len(self.grid.around)]
        stones = self.seen[: len(owners)] if self.inferior else owners
        if sees_win(self.grid, owners, player, node == ROOT, MOST_EXTENDED, self.links):
            plies = 2 * stones_needed(self.grid, stones, player, empty_cells(stones)) - 2
            key = winning_key(self.links)
            is_chosen = key == IS_FULL and node == ROOT
            if is_chosen:  # any move wins: one that joins the sides soonest
                key = next_stone(self.grid, stones, player, cells_to_join(self, owners, player))
            elif key == IS_FULL:  # the child's own stone may be of no use, so all are needed still
                plies += 2
            if not prove_win(tree, node, key, plies):
                if is_chosen:
                    replace_first(tree, key)
                elif self.inferior:
                    choose_moves(self.rings, self.owners, self.numbers, player, self.chosen)
                    key = chosen_for(self.chosen, key)
                prove_win(tree, node, key, plies)
            return
        moves = NONE
        if not connect(self.grid, owners, 1 - player, False, MOST_EXTENDED, self.links):
            moves = must_play(self.links, empty_cells(owners))
            if moves != NONE:
                moves = union(moves, set_in(self.captured, 1 - player))
        if node == ROOT and moves == NONE:
            cells = cells_to_join(self, owners, 1 - player)
            prove_short_losses(tree, self.grid, stones, 1 - player, cells)
            return
        plies = 2 * stones_needed(self.grid, stones, 1 - player, empty_cells(stones)) - 1
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            action = int(tree.action[child])
            if moves == NONE or (owners[action] == EMPTY and not meet(moves, one_bit(action))):
                tree.proof[child] = -1
                tree.plies_left[child] = plies


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
    if ALL in given:
        given = PARTS
    return given


def with_knowledge(variant: Variant, names: str, visits: int) -> Variant:
    """A variant of tree search with the parts that a text names.

    Raises:
        ValueError: If there is no such part, or it is the priors in a search with an evaluator;
            there all are all but these.
    """
    given = parts_in(names)
    if is_evaluated(variant.selection):
        if "priors" in names.split("+"):
            raise ValueError(
                f"expected no priors by patterns where an evaluator gives the priors, got {names!r}"
            )
    elif "priors" in given:
        rule = ProgressiveBias(variant.selection, HexPriors(), BIAS, FIRST_PLAY)
        variant = variant._replace(selection=rule)
    parts = HexParts("inferior" in given, "connections" in given, visits)
    return variant._replace(knowledge=parts)


@kernel
def may_be_swapped(game: Any, state: State) -> bool:
    """Whether the first stone has yet to be placed, or may be taken over."""
    return bool(game.swap and state.ply < 2)


@kernel
def read_board(parts: Any, game: Any, state: State) -> None:
    """Write the owners of the cells, filled in if that is wanted."""
    game.owners(state, parts.owners)
    if parts.inferior:
        around, numbers = parts.rings.of_cells, parts.numbers
        follow(around, parts.owners, 0, parts.seen, parts.seen_numbers, RING)
        for cell in range(len(numbers)):
            numbers[cell] = parts.seen_numbers[cell]
        parts.captured[:] = 0
        fill_all(parts.rings, parts.owners, numbers, parts.captured, parts.chosen)


@kernel
def cells_to_join(parts: Any, owners: NDArray[np.int8], player: int) -> tuple[int, int, int]:
    """The empty cells that a player who is connected joins the sides with, one by one.

    They are those of the connection, and what was filled in for the player.
    """
    cells = winning_carrier(parts.links)
    for cell in range(len(owners)):
        if parts.inferior and owners[cell] == player and parts.seen[cell] == EMPTY:
            cells = union(cells, one_bit(cell))
    return cells


@kernel
def replace_first(tree: Tree, action: int) -> None:
    """Let the first child of the root be that of an action without one, as it seemed inferior."""
    child = tree.first_child[ROOT]
    tree.action[child] = action
    tree.first_child[child] = tree.child_count[child] = tree.visits[child] = 0
    tree.value[child] = tree.spread[child] = 0.0


@kernel
def prove_short_losses(
    tree: Tree, grid: Grid, owners: NDArray[np.int8], winner: int, cells: tuple[int, int, int]
) -> None:
    """Prove the root's children, but for those after which the winner needs the most stones.

    `cells` are those of the winner's connection, or of one semi-connection of several.
    """
    first, most = tree.first_child[ROOT], 0
    last = first + tree.child_count[ROOT]
    for child in range(first, last):
        left = without(cells, one_bit(int(tree.action[child])))
        plies = 2 * stones_needed(grid, owners, winner, left) - 1
        tree.plies_left[child] = plies
        most = max(most, plies)
    for child in range(first, last):
        if tree.plies_left[child] < most:
            tree.proof[child] = -1


@kernel
def prove_win(tree: Tree, node: int, key: int, plies: int) -> bool:
    """Prove that the player to move at a node wins by playing at a key, or anywhere.

    `plies` are those to the end after that.

    Returns:
        Whether the node has that child.
    """
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        if tree.action[child] == key or key == IS_FULL:
            tree.proof[child] = 1
            tree.plies_left[child] = plies
            return True
    return False
