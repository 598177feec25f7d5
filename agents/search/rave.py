"""RAVE and GRAVE: what a move was worth whenever it was played, not only when it was played next.

The all-moves-as-first (AMAF) statistics of a child are of the simulations through its parent in
which the player to move there played the child's move then or later (Brügmann 1993). A move is a
cell and a player: "the same move" in another position.

(Arrays are read at the top of `score`, before its branches: compiled code counts references to each
array that it takes out of a tuple, and these counts cancel only where no branch lies between. It
makes the whole search twice as fast.)
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.selection import scored_first, sqrt_log
from agents.search.simulation import Simulation, all_moves
from agents.search.tree import ROOT, UNPROVEN, Tree
from hexenv.compiled import compiled, kernel

SCHEDULES: Final = ("mse", "hand", "text")
"""How the weight of AMAF shrinks, by number; see `amaf_weight`."""
MSE, HAND, TEXT = range(3)


PLAIN_C: Final = 1.0
"""Weight of exploration in the selections by UCB1."""


class AmafExtras(NamedTuple):
    """What the rules of this module keep for each node."""

    cells: NDArray[np.int32]
    """What is played to reach the node, as `Game.cell_of` says it."""
    parents: NDArray[np.int32]
    """The node's parent."""
    amaf: NDArray[np.float64]
    """``(N, 2)``: simulations through the parent in which its player played this move, then or
    later, and the sum of their rewards for that player."""


def amaf_extras(self: Any, max_nodes: int) -> AmafExtras:
    """`Selection.new_extras` of the rules here."""
    cells, parents = np.empty(max_nodes, np.int32), np.empty(max_nodes, np.int32)
    return AmafExtras(cells, parents, np.empty((max_nodes, 2), np.float64))


@kernel
def initialise_amaf(self: Any, game: Any, state: Any, tree: Tree, node: int) -> None:
    """`Selection.initialise` of the rules here."""
    extras = tree.extras
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        extras.cells[child] = game.cell_of(state, int(tree.action[child]))
        extras.parents[child] = node
        extras.amaf[child, 0] = 0.0
        extras.amaf[child, 1] = 0.0


@kernel
def update_amaf(self: Any, tree: Tree, simulation: Simulation) -> None:
    """`Selection.update`: from the end to the root, each node learns of all that came after it."""
    cells, amaf = tree.extras.cells, tree.extras.amaf
    for ply in range(simulation.length[0] - 1, -1, -1):
        played = self.played[simulation.players[ply]]
        played[simulation.cells[ply]] = True
        if ply < simulation.depth[0]:
            node = simulation.path[ply - 1] if ply > 0 else ROOT
            reward = simulation.rewards[ply]
            first = tree.first_child[node]
            for child in range(first, first + tree.child_count[node]):
                if played[cells[child]]:
                    amaf[child, 0] += 1.0
                    amaf[child, 1] += reward
    for ply in range(simulation.length[0]):
        self.played[simulation.players[ply], simulation.cells[ply]] = False


@kernel
def amaf_weight(schedule: int, k: float, parent: int, visits: int, amaf_visits: float) -> float:
    """How much AMAF counts beside `visits` of a child's own, 0 to 1.

    * mse: a / (n + a + n a / k), which minimises the squared error where the square of the bias of
      AMAF is 1 / (4 k) (Silver 2009; Gelly and Silver 2011);
    * hand: sqrt(k / (3 N + k)), N visits of the parent (Gelly and Silver 2007);
    * text: k / (n + a + k), which trusts AMAF the less the more of it there is.
    """
    if schedule == MSE:
        return amaf_visits / (visits + amaf_visits + visits * amaf_visits / k)
    if schedule == HAND:
        return math.sqrt(k / (3.0 * parent + k))
    return k / (visits + amaf_visits + k)


NO_MOVES: Final = np.zeros((2, 1), np.bool_)


@compiled
class Rave(NamedTuple):
    """Own mean and AMAF mean mixed: (1 - b) Q + b A + c sqrt(ln N / n) (Gelly and Silver 2007).

    A child without any AMAF simulation scores `fpu`; one without a visit of its own scores A.
    """

    k: float = 3000.0
    """About how many visits make a child's own mean as good as AMAF."""
    c: float = 0.05
    schedule: int = MSE
    fpu: float = math.inf
    plain_every: int = 30
    played: NDArray[np.bool_] = NO_MOVES
    """``(2, num_cells())``: scratch space, who plays what from a ply on."""

    needs_moves = all_moves
    tries_all_first = scored_first
    new_extras = amaf_extras
    initialise = initialise_amaf
    update = update_amaf

    def with_memory(self, game: Any) -> "Rave":
        return self._replace(played=np.zeros((2, game.num_cells()), np.bool_))

    def prepare(self, tree: Tree, node: int) -> tuple[float, int, bool]:
        visits = tree.visits[node]
        plain = self.plain_every > 0 and visits % self.plain_every == 0
        return (PLAIN_C if plain else self.c) * sqrt_log(visits), visits, plain

    def score(self, tree: Tree, child: int, prepared: tuple[float, int, bool]) -> float:
        visits, value, spread = tree.visits[child], tree.value[child], tree.spread[child]
        proof = tree.proof[child]
        amaf_visits, amaf_sum = tree.extras.amaf[child, 0], tree.extras.amaf[child, 1]
        amaf = amaf_sum / amaf_visits if amaf_visits > 0.0 else self.fpu
        if visits == 0:
            return math.inf if prepared[2] else amaf
        if (
            not prepared[2] and amaf_visits > 0.0 and proof == UNPROVEN
        ):  # of a proven child there is nothing to guess
            weight = amaf_weight(self.schedule, self.k, prepared[1], visits, amaf_visits)
            value += weight * (amaf - value)
        return value + prepared[0] * spread


@compiled
class Grave(NamedTuple):
    """RAVE with the AMAF statistics of the nearest ancestor that has more than `ref` visits.

    A node with few visits has hardly any of its own (Cazenave 2015). `bias` is the weight's:
    a / (n + a + bias n a). With ``ref=0`` this is RAVE.
    """

    ref: int = 50
    bias: float = 1e-5
    c: float = 0.0
    fpu: float = math.inf
    plain_every: int = 30
    played: NDArray[np.bool_] = NO_MOVES
    node_of: NDArray[np.int32] = np.zeros(1, np.int32)
    """``(num_cells(),)``: scratch space, the ancestor's child for a move, or -1."""

    needs_moves = all_moves
    tries_all_first = scored_first
    new_extras = amaf_extras
    initialise = initialise_amaf
    update = update_amaf

    def with_memory(self, game: Any) -> "Grave":
        cells = game.num_cells()
        return self._replace(
            played=np.zeros((2, cells), np.bool_), node_of=np.zeros(cells, np.int32)
        )

    def prepare(self, tree: Tree, node: int) -> tuple[float, int, bool]:
        ancestor = node
        # Two plies up the same player is to move.
        while tree.visits[ancestor] <= self.ref and ancestor != ROOT:
            parent = tree.extras.parents[ancestor]
            if parent == ROOT:
                break
            ancestor = tree.extras.parents[parent]
        node_of, cells = self.node_of, tree.extras.cells
        node_of[:] = -1
        first = tree.first_child[ancestor]
        for child in range(first, first + tree.child_count[ancestor]):
            node_of[cells[child]] = child
        visits = tree.visits[node]
        plain = self.plain_every > 0 and visits % self.plain_every == 0
        return (PLAIN_C if plain else self.c) * sqrt_log(visits), ancestor, plain

    def score(self, tree: Tree, child: int, prepared: tuple[float, int, bool]) -> float:
        visits, value, spread = tree.visits[child], tree.value[child], tree.spread[child]
        proof = tree.proof[child]
        source = self.node_of[tree.extras.cells[child]]
        # Of a move the ancestor does not have, -1, the entry read is of no use.
        amaf_visits, amaf_sum = tree.extras.amaf[source, 0], tree.extras.amaf[source, 1]
        if source < 0:
            amaf_visits = 0.0
        amaf = amaf_sum / amaf_visits if amaf_visits > 0.0 else self.fpu
        if visits == 0:
            return math.inf if prepared[2] else amaf
        if (
            not prepared[2] and amaf_visits > 0.0 and proof == UNPROVEN
        ):  # of a proven child there is nothing to guess
            weight = amaf_visits / (visits + amaf_visits + self.bias * visits * amaf_visits)
            value += weight * (amaf - value)
        return value + prepared[0] * spread
