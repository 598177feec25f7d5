"""PUCT: priors and values from a function of the position, such as a network.

The function is a value with a method `assess`; `Assessment` makes one of a Python function. It
serves twice: `PUCT` takes the priors of a node's children from it, and `Assessed` the outcome of
a simulation, in place of a playout.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.search.selection import scored_first
from agents.search.simulation import Simulation, no_moves, no_update
from agents.search.tree import Tree
from hexenv.compiled import compiled


class Assessor(Protocol):
    """A judge of positions."""

    def assess(self, game: Any, state: Any, priors: NDArray[np.float64]) -> float:
        """Write the priors of all actions, ``(num_actions(),)``, and return the value.

        Those of illegal actions are ignored; the others are scaled to add up to 1. The value is in
        [-1, 1] for the player to move.
        """
        ...


class Assessment(NamedTuple):
    """An assessor made of any Python function; the search then runs interpreted.

    Args:
        function: Called with the game and the state (over a foreign environment: `state.env`);
            returns priors over all actions and the value for the player to move.
    """

    function: Callable[[Any, Any], tuple[Any, float]]

    def assess(self, game: Any, state: Any, priors: NDArray[np.float64]) -> float:
        """See `Assessor.assess`."""
        found, value = self.function(game, state)
        priors[:] = found
        return float(value)


@compiled
class Indifferent(NamedTuple):
    """Equal priors, and every position even: the baseline of assessors."""

    value: float = 0.0

    def assess(self, game: Any, state: Any, priors: NDArray[np.float64]) -> float:
        priors[:] = 1.0
        return self.value


class PriorExtras(NamedTuple):
    """What `PUCT` keeps for each node."""

    prior: NDArray[np.float64]


@compiled
class PUCT(NamedTuple):
    """Q + P (c + ln((N + base + 1) / base)) sqrt(N) / (1 + n) (Rosin 2011; Silver et al. 2018).

    N and n are the visits of the node and the child, P the child's prior, Q its mean reward in
    [0, 1]; an unvisited child has `fpu`. (Published constants are for values in [-1, 1]: halve
    them.)
    """

    assessor: Any = Indifferent()
    c: float = 0.625
    base: float = 19652.0
    fpu: float = 0.5
    priors: NDArray[np.float64] = np.zeros(1)
    """``(num_actions(),)``: scratch space."""

    update = no_update
    needs_moves = no_moves
    tries_all_first = scored_first

    def new_extras(self, max_nodes: int) -> PriorExtras:
        return PriorExtras(np.empty(max_nodes, np.float64))

    def with_memory(self, game: Any) -> "PUCT":
        return self._replace(priors=np.zeros(game.num_actions()))

    def initialise(self, game: Any, state: Any, tree: Tree, node: int) -> None:
        self.assessor.assess(game, state, self.priors)
        first = tree.first_child[node]
        last = first + tree.child_count[node]
        total = 0.0
        for child in range(first, last):
            total += self.priors[tree.action[child]]
        for child in range(first, last):
            even = 1.0 / (last - first)
            prior = self.priors[tree.action[child]] / total if total > 0.0 else even
            tree.extras.prior[child] = prior

    def prepare(self, tree: Tree, node: int) -> float:
        visits = tree.visits[node]
        return (self.c + math.log((visits + self.base + 1.0) / self.base)) * math.sqrt(visits)

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        visits, mean, prior = tree.visits[child], tree.value[child], tree.extras.prior[child]
        if visits == 0:
            mean = self.fpu
        return mean + prepared * prior / (1.0 + visits)


@compiled
class Assessed(NamedTuple):
    """No playout: the outcome is the assessor's value of the leaf."""

    assessor: Any = Indifferent()
    priors: NDArray[np.float64] = np.zeros(1)
    """``(num_actions(),)``: scratch space."""

    update = no_update
    needs_moves = no_moves

    def with_memory(self, game: Any) -> "Assessed":
        return self._replace(priors=np.zeros(game.num_actions()))

    def choose(
        self,
        game: Any,
        state: Any,
        rng: np.random.Generator,
        actions: NDArray[np.int32],
        count: int,
        simulation: Simulation,
    ) -> int:
        return 0

    def simulate(
        self,
        game: Any,
        state: Any,
        rng: np.random.Generator,
        actions: NDArray[np.int32],
        simulation: Simulation,
    ) -> float:
        value = self.assessor.assess(game, state, self.priors)
        return value if game.to_play(state) == 0 else -value
