"""Flat Monte Carlo: playouts without a tree."""

from typing import ClassVar, NamedTuple, Unpack

import numpy as np

from agents.mcts.playouts import make_playout
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.reward import WinLoss
from agents.search.simulation import part
from agents.search.tree import Tree
from agents.search.variant import Variant


@part
class Evenly(NamedTuple):
    """The rule of `FlatMonteCarlo`: the child with the fewest visits.

    Examples:
        >>> variant = UCT().variant._replace(selection=Evenly(), max_depth=1)
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    weight: float = 1.0

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> float:
        return self.weight

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        return -prepared * tree.visits[child]


class FlatMonteCarlo(TreeSearchAgent):
    r"""The same number of playouts for every action; the best mean is played (Brügmann 1993).

    Formula:
        $$\arg\max_a\, \bar x(a)$$

        $\bar x(a)$ is the mean reward of the playouts that begin with the action $a$, as many for
        each.

    Sources:
        Brügmann, "Monte Carlo Go", 1993.

    Args:
        playout: A policy of `agents.mcts.playouts`.
    """

    name = "flat"
    other_defaults: ClassVar[SearchOptions] = {"final_move": "value", "solver": "off"}

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        options = {**self.other_defaults, **options}
        variant = Variant(Evenly(), make_playout(playout), WinLoss(), max_depth=1)
        super().__init__(variant, simulations, seconds, **options)
