"""UCT with UCB1-Tuned."""

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.options import NonNegative
from agents.mcts.playouts import variant_of
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.selection import sqrt_log
from agents.search.simulation import Simulation, part
from agents.search.tree import Tree
from hexenv.games.base import Game, State


class SquaresExtras(NamedTuple):
    """What `UCB1Tuned` keeps for each node."""

    squares: NDArray[np.float64]  # the mean of the squared rewards


@part
class UCB1Tuned(NamedTuple):
    """The rule of `UCB1TunedMCTS`: UCB1 with a bound on the variance.

    The cap 1/4 is the greatest variance of rewards in [0, 1]. With rewards of 0 and 1 it nearly
    always applies; then the rule is UCB1 with c / 2.

    Examples:
        >>> variant = UCT().variant._replace(selection=UCB1Tuned(c=0.7))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    c: float = 1.0
    variance_cap: float = 0.25

    def new_extras(self, max_nodes: int) -> SquaresExtras:
        return SquaresExtras(np.empty(max_nodes, np.float64))

    def initialise(self, game: Game, state: State, tree: Tree, node: int) -> None:
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            tree.extras.squares[child] = 0.0

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> float:
        return sqrt_log(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        mean = tree.value[child]
        width = prepared * tree.spread[child]
        variance = tree.extras.squares[child] - mean * mean + math.sqrt(2.0) * width
        return mean + self.c * width * math.sqrt(min(self.variance_cap, variance))

    def update(self, tree: Tree, simulation: Simulation) -> None:
        squares = tree.extras.squares
        for i in range(simulation.depth[0]):
            node = simulation.path[i]
            reward = simulation.rewards[i]
            squares[node] += (reward * reward - squares[node]) / tree.visits[node]


class UCB1TunedMCTS(TreeSearchAgent):
    r"""UCB1-Tuned in the tree (Auer, Cesa-Bianchi and Fischer 2002, section 4; Gelly et al. 2006).

    Formula:
        $$\bar x + c \sqrt{\frac{\ln\, N}{n} \min\left(C,\; s^2 + \sqrt{\frac{2 \ln\,
            N}{n}}\right)}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent, $s^2$ is the variance of the child's rewards
        and $C$ the `variance_cap`.

    Sources:
        Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem",
        Machine Learning 47, 2002, section 4.

        Gelly, Wang, Munos and Teytaud, "Modification of UCT with patterns in Monte-Carlo Go", INRIA
        RR-6062, 2006.

    Args:
        c: Weight of exploration.
        variance_cap: Bound on the variance of a reward.
        playout: A policy of `agents.mcts.playouts`.
    """

    name = "ucb1-tuned"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: NonNegative = 1.0,
        variance_cap: NonNegative = 0.25,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        rule = UCB1Tuned(c, variance_cap)
        super().__init__(variant_of(rule, playout), simulations, seconds, **options)
