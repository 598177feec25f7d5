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

from agents.search.selection import scored_first, sqrt_log
from agents.search.simulation import Simulation, no_moves, no_update
from agents.search.tree import ROOT, UNPROVEN, Tree
from hexenv.compiled import compiled, inlined_kernel, kernel


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


@compiled
class Given(NamedTuple):
    """The assessment that somebody else has written down: `agents.search.evaluated` does."""

    given: NDArray[np.float64]
    """``(num_actions() + 1,)``: the priors, and the value for the player to move."""

    def assess(self, game: Any, state: Any, priors: NDArray[np.float64]) -> float:
        for action in range(priors.size):
            priors[action] = self.given[action]
        return self.given[priors.size]


class EvaluatedExtras(NamedTuple):
    """What a rule with an evaluator keeps for each node."""

    prior: NDArray[np.float64]
    """``(N,)``: how likely the evaluator finds the action; siblings add up to 1."""
    worth: NDArray[np.float64]
    """``(N,)``: the evaluator's own value of the position, 0 to 1, for the player to move there."""
    pending: NDArray[np.int32]
    """``(N,)``: simulations that passed the node and wait for their evaluation."""
    noise: NDArray[np.float64]
    """``(N,)``: what the noise has added to the priors of the root's children (`PUCT`), or adds to
    their logits (`agents.search.gumbel`)."""


def new_evaluated_extras(self: Any, max_nodes: int) -> EvaluatedExtras:
    """`Selection.new_extras` of rules with an evaluator."""
    return EvaluatedExtras(
        np.empty(max_nodes, np.float64),
        np.empty(max_nodes, np.float64),
        np.empty(max_nodes, np.int32),
        np.empty(max_nodes, np.float64),
    )


def with_priors(self: Any, game: Any) -> Any:
    """`with_memory` of what asks an assessor: room for the priors it writes."""
    return self._replace(priors=np.zeros(game.num_actions()))


@kernel
def take_priors(self: Any, game: Any, state: Any, tree: Tree, node: int) -> None:
    """`Selection.initialise` of rules with an evaluator."""
    extras = tree.extras
    value = self.assessor.assess(game, state, self.priors)
    extras.worth[node] = 0.5 * (value + 1.0)
    extras.pending[node] = 0
    first = tree.first_child[node]
    last = first + tree.child_count[node]
    total = 0.0
    for child in range(first, last):
        total += self.priors[tree.action[child]]
    for child in range(first, last):
        even = 1.0 / (last - first)
        prior = self.priors[tree.action[child]] / total if total > 0.0 else even
        extras.prior[child] = prior
        extras.worth[child] = 0.0  # until it is evaluated itself
        extras.pending[child] = 0
        extras.noise[child] = 0.0


@inlined_kernel
def mean_reward(tree: Tree, child: int, otherwise: float) -> float:
    """The mean reward of a child, with those that wait counted as lost; `otherwise` without any."""
    visits = tree.visits[child] + tree.extras.pending[child]
    return tree.value[child] * tree.visits[child] / visits if visits > 0 else otherwise


@kernel
def standing(tree: Tree, child: int) -> int:
    """1 for a proven win, -1 for a proven loss, 0 for what lies between."""
    proof = int(tree.proof[child])
    return 0 if proof == UNPROVEN else proof


@kernel
def most_visited(tree: Tree) -> int:
    """The root's child with the most visits, of equals the one with the higher value.

    Proven wins come before all others, proven losses after them.
    """
    first = tree.first_child[ROOT]
    best = first
    for child in range(first + 1, first + tree.child_count[ROOT]):
        more = standing(tree, child) - standing(tree, best)
        if more == 0:
            more = tree.visits[child] - tree.visits[best]
        if more > 0 or (more == 0 and tree.value[child] > tree.value[best]):
            best = child
    return best


@kernel
def share_visits(self: Any, tree: Tree, policy: NDArray[np.float32]) -> int:
    """Write what the search makes of the root's actions: the shares of its visits.

    Args:
        self: The rule.
        tree: The tree.
        policy: ``(num_actions(),)``, zeros: receives the distribution.

    Returns:
        The child to play.
    """
    first = tree.first_child[ROOT]
    last = first + tree.child_count[ROOT]
    total = 0
    for child in range(first, last):
        total += tree.visits[child]
    for child in range(first, last):
        share = tree.visits[child] / total if total > 0 else tree.extras.prior[child]
        policy[tree.action[child]] = share
    return most_visited(tree)


@compiled
class PUCT(NamedTuple):
    """Q + P (c + ln((N + base + 1) / base)) sqrt(N) / (1 + n) (Rosin 2011; Silver et al. 2018).

    N and n are the visits of the node and the child, P the child's prior, Q its mean reward in
    [0, 1]. (Published constants are for values in [-1, 1]: halve them.) An unvisited child has the
    evaluator's value of its parent, less `fpu` (first-play urgency). A simulation that waits for
    its evaluation counts as a visit that was lost (virtual loss: Chaslot et al. 2008).
    """

    assessor: Any = Indifferent()
    c: float = 0.625
    base: float = 19652.0
    fpu: float = 0.0
    noise_share: float = 0.0
    """Of the root's priors: how much of them is the noise that `stir` gets."""
    priors: NDArray[np.float64] = np.zeros(1)
    """``(num_actions(),)``: scratch space."""

    update = no_update
    needs_moves = no_moves
    tries_all_first = scored_first
    new_extras = new_evaluated_extras
    initialise = take_priors
    with_memory = with_priors
    judge_root = share_visits

    def prepare(self, tree: Tree, node: int) -> tuple[float, float]:
        visits = tree.visits[node] + tree.extras.pending[node]
        weight = (self.c + math.log((visits + self.base + 1.0) / self.base)) * math.sqrt(visits)
        return weight, tree.extras.worth[node] - self.fpu

    def score(self, tree: Tree, child: int, prepared: tuple[float, float]) -> float:
        weight, urgency = prepared
        visits = tree.visits[child] + tree.extras.pending[child]
        exploration = weight * tree.extras.prior[child] / (1.0 + visits)
        return mean_reward(tree, child, urgency) + exploration

    def stir(self, tree: Tree, noise: NDArray[np.float64]) -> None:
        """Mix noise into the root's priors (Silver et al. 2017, "Self-play"), and any before out.

        Args:
            tree: The tree.
            noise: ``(num_actions(),)``: draws of a gamma distribution; those of the legal actions,
                scaled to add up to 1, are a draw of the Dirichlet distribution.
        """
        first = tree.first_child[ROOT]
        last = first + tree.child_count[ROOT]
        total = 0.0
        for child in range(first, last):
            total += noise[tree.action[child]]
        if total > 0.0 and self.noise_share > 0.0:
            for child in range(first, last):
                drawn = noise[tree.action[child]] / total
                prior = tree.extras.prior[child] - tree.extras.noise[child]
                tree.extras.noise[child] = self.noise_share * (drawn - prior)
                tree.extras.prior[child] = prior + tree.extras.noise[child]


@compiled
class EvaluatedUCB1(NamedTuple):
    """`agents.search.selection.UCB1` for searches with an evaluator, whose priors it ignores."""

    assessor: Any = Indifferent()
    c: float = 1.0
    priors: NDArray[np.float64] = np.zeros(1)
    """``(num_actions(),)``: scratch space."""

    update = no_update
    needs_moves = no_moves
    tries_all_first = scored_first
    new_extras = new_evaluated_extras
    initialise = take_priors
    with_memory = with_priors
    judge_root = share_visits

    def prepare(self, tree: Tree, node: int) -> float:
        return self.c * sqrt_log(tree.visits[node] + tree.extras.pending[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        visits = tree.visits[child] + tree.extras.pending[child]
        if visits == 0:
            return np.inf
        return mean_reward(tree, child, 0.0) + prepared / math.sqrt(visits)

    def stir(self, tree: Tree, noise: NDArray[np.float64]) -> None:
        """Nothing is done with noise."""


@compiled
class Assessed(NamedTuple):
    """No playout: the outcome is the assessor's value of the leaf."""

    assessor: Any = Indifferent()
    priors: NDArray[np.float64] = np.zeros(1)
    """``(num_actions(),)``: scratch space."""

    update = no_update
    needs_moves = no_moves
    with_memory = with_priors

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
