"""GRAVE: RAVE that looks up its statistics at an ancestor which has enough of them."""

import math
from typing import Annotated, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.options import NonNegative
from agents.mcts.playouts import variant_of
from agents.mcts.rave import NOTHING_PLAYED, PLAIN_C, amaf_extras, initialise_amaf, update_amaf
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.selection import scored_first, sqrt_log
from agents.search.simulation import all_moves
from agents.search.tree import ROOT, UNPROVEN, Tree
from hexenv.common.options import Within
from hexenv.compiled import compiled
from hexenv.games.base import Game


@compiled
class Grave(NamedTuple):
    """The rule of `GRAVE`. With ``ref=0`` it is RAVE.

    Examples:
        >>> variant = UCT().variant._replace(selection=Grave(ref=20))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    ref: int = 50
    bias: float = 1e-5
    c: float = 0.0
    fpu: float = math.inf
    plain_every: int = 30
    played: NDArray[np.bool_] = NOTHING_PLAYED  # (2, num_cells()): as in `agents.mcts.rave.Rave`
    node_of: NDArray[np.int32] = np.zeros(1, np.int32)
    """``(num_cells(),)``: scratch space; the ancestor's child for a move, or -1."""

    needs_moves = all_moves
    tries_all_first = scored_first
    new_extras = amaf_extras
    initialise = initialise_amaf
    update = update_amaf

    def with_memory(self, game: Game) -> "Grave":
        cells = game.num_cells()
        return self._replace(
            played=np.zeros((2, cells), np.bool_), node_of=np.zeros(cells, np.int32)
        )

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> tuple[float, int, bool]:
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
        # If the ancestor lacks the move, source is -1 and what is read here is not used.
        amaf_visits, amaf_sum = tree.extras.amaf[source, 0], tree.extras.amaf[source, 1]
        if source < 0:
            amaf_visits = 0.0
        amaf = amaf_sum / amaf_visits if amaf_visits > 0.0 else self.fpu
        if visits == 0:
            return math.inf if prepared[2] else amaf
        if not prepared[2] and amaf_visits > 0.0 and proof == UNPROVEN:
            weight = amaf_visits / (visits + amaf_visits + self.bias * visits * amaf_visits)
            value += weight * (amaf - value)
        return value + prepared[0] * spread


class GRAVE(TreeSearchAgent):
    r"""RAVE with the statistics of an ancestor that has enough of them (Cazenave 2015).

    Formula:
        $$(1 - \beta)\, \bar x + \beta A + c \sqrt{\frac{\ln\, N}{n}}$$

        $$\beta = \frac{a}{n + a + b\, n a}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $A$ is the mean reward of the $a$ simulations
        in which the player made the move then or later, through the nearest ancestor with the same
        player to move and more than `ref` visits; $b$ is `bias`.

    Sources:
        Cazenave, "Generalized rapid action value estimation", IJCAI 2015.

    Args:
        ref: An ancestor with more visits than this has enough of them.
        bias: How fast the weight of these statistics shrinks.
        c: Weight of exploration.
        plain_every: As in `RAVE`.
        playout: A policy of `agents.mcts.playouts`; for Hex, ``"bridges"``.
    """

    name = "grave"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        ref: Annotated[int, Within(0, 2**31)] = 50,
        bias: NonNegative = 1e-5,
        c: NonNegative = 0.0,
        plain_every: Annotated[int, Within(0, 2**31)] = 30,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        rule = Grave(ref, bias, c, plain_every=plain_every)
        super().__init__(variant_of(rule, playout), simulations, seconds, **options)
