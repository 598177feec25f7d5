"""RAVE: the mean of a move played next, mixed with its mean whenever it was played.

The all-moves-as-first (AMAF) statistics of a child count the simulations through its parent in
which the player to move there played the child's move, a player and a cell, then or later.
"""

import math
from typing import Annotated, Any, Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.options import FirstPlayUrgency, NonNegative
from agents.mcts.playouts import variant_of
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.selection import scored_first, sqrt_log
from agents.search.simulation import Simulation, all_moves
from agents.search.tree import ROOT, UNPROVEN, Tree
from hexenv.common.options import OneOf, Within
from hexenv.compiled import compiled, kernel
from hexenv.games.base import Game, State

SCHEDULES: Final = ("mse", "hand")
"""How the weight of AMAF shrinks, see `amaf_weight`; its number in compiled code:"""
MSE, HAND = range(2)
PLAIN_C: Final = 1.0
"""Weight of exploration where UCB1 selects."""
NOTHING_PLAYED: Final = np.zeros((2, 1), np.bool_)


# ---- what RAVE and GRAVE share -------------------------------------------------------------------


class AmafExtras(NamedTuple):
    """What RAVE keeps for each node."""

    cells: NDArray[np.int32]  # the move that leads to the node, as `Game.cell_of` numbers it
    parents: NDArray[np.int32]  # the node's parent
    amaf: NDArray[np.float64]
    """``(N, 2)``: the AMAF simulations of the node, and the sum of their rewards for its player."""


def amaf_extras(self: Any, max_nodes: int) -> AmafExtras:
    """`Selection.new_extras` of RAVE."""
    cells, parents = np.empty(max_nodes, np.int32), np.empty(max_nodes, np.int32)
    return AmafExtras(cells, parents, np.empty((max_nodes, 2), np.float64))


@kernel
def initialise_amaf(self: Any, game: Game, state: State, tree: Tree, node: int) -> None:
    """`Selection.initialise` of RAVE."""
    extras = tree.extras
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        extras.cells[child] = game.cell_of(state, int(tree.action[child]))
        extras.parents[child] = node
        extras.amaf[child, 0] = 0.0
        extras.amaf[child, 1] = 0.0


@kernel
def update_amaf(self: Any, tree: Tree, simulation: Simulation) -> None:
    """`Selection.update`: go back from the end; each node learns from all moves after it."""
    cells, amaf = tree.extras.cells, tree.extras.amaf
    for ply in range(simulation.length[0] - 1, -1, -1):
        played = self.played[simulation.players[ply]]
        played[simulation.cells[ply]] = True
        if ply < simulation.depth[0]:
            node = simulation.path[ply - 1] if ply > 0 else ROOT
            reward = simulation.rewards[ply]
            first = tree.first_child[node]
            for child in range(first, first + tree.child_count[node]):
                count = 1.0 * played[cells[child]]  # a branch would often be mispredicted
                amaf[child, 0] += count
                amaf[child, 1] += count * reward
    for ply in range(simulation.length[0]):
        self.played[simulation.players[ply], simulation.cells[ply]] = False


# ---- RAVE ----------------------------------------------------------------------------------------


@kernel
def amaf_weight(schedule: int, k: float, parent: int, visits: int, amaf_visits: float) -> float:
    """The weight of AMAF (beta), 0 to 1, for a child with `visits` of its own.

    * mse: a / (n + a + n a / k), which minimises the squared error if the square of the bias of
      AMAF is 1 / (4 k) (Silver 2009; Gelly and Silver 2011);
    * hand: sqrt(k / (3 N + k)), N visits of the parent (Gelly and Silver 2007).
    """
    if schedule == MSE:
        return amaf_visits / (visits + amaf_visits + visits * amaf_visits / k)
    return math.sqrt(k / (3.0 * parent + k))


@compiled
class Rave(NamedTuple):
    """The rule of `RAVE`. A child without AMAF simulations scores `fpu`.

    Examples:
        >>> variant = UCT().variant._replace(selection=Rave(k=500.0))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    k: float = 3000.0
    c: float = 0.05
    schedule: int = MSE
    fpu: float = math.inf
    plain_every: int = 30
    played: NDArray[np.bool_] = NOTHING_PLAYED
    """``(2, num_cells())``: scratch space; who plays which move from a ply on."""

    needs_moves = all_moves
    tries_all_first = scored_first
    new_extras = amaf_extras
    initialise = initialise_amaf
    update = update_amaf

    def with_memory(self, game: Game) -> "Rave":
        return self._replace(played=np.zeros((2, game.num_cells()), np.bool_))

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> tuple[float, int, bool]:
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
        # The value of a proven child is exact: AMAF adds nothing to it.
        if not prepared[2] and amaf_visits > 0.0 and proof == UNPROVEN:
            weight = amaf_weight(self.schedule, self.k, prepared[1], visits, amaf_visits)
            value += weight * (amaf - value)
        return value + prepared[0] * spread


class RAVE(TreeSearchAgent):
    r"""Means of moves played next, mixed with means of moves played ever (Gelly and Silver 2007).

    Formula:
        $$(1 - \beta)\, \bar x + \beta A + c \sqrt{\frac{\ln\, N}{n}}$$

        $$\beta = \frac{a}{n + a + n a / k}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $A$ is the mean reward of the $a$ simulations
        through the parent in which its player made the child's move then or later. $\beta$ is that
        of ``schedule="mse"``.

    Sources:
        Gelly and Silver, "Combining online and offline knowledge in UCT", ICML 2007
        (``"hand"``).

        Gelly and Silver, "Monte-Carlo tree search and rapid action value estimation in computer
        Go", Artificial Intelligence 175, 2011 (``"mse"``).

        Brügmann, "Monte Carlo Go", 1993: all moves as first.

    Args:
        k: After about this many visits, the child's own mean is as good as AMAF.
        c: Weight of exploration.
        schedule: How $\beta$ shrinks, ``"mse"`` or ``"hand"``: see
            `agents.mcts.rave.amaf_weight`.
        fpu: First-play urgency: the score of a move that no simulation has played.
        plain_every: At every visit of a node whose number this divides, UCB1 selects, in case AMAF
            misses a good move; 0: never.
        playout: A policy of `agents.mcts.playouts`; for Hex, ``"bridges"``.
    """

    name = "rave"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        k: Annotated[float, Within(1e-9)] = 3000.0,
        c: NonNegative = 0.05,
        schedule: Annotated[str, OneOf(SCHEDULES)] = "mse",
        fpu: FirstPlayUrgency = math.inf,
        plain_every: Annotated[int, Within(0, 2**31)] = 30,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        rule = Rave(k, c, SCHEDULES.index(schedule), fpu, plain_every)
        super().__init__(variant_of(rule, playout), simulations, seconds, **options)
