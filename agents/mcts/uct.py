"""UCT: upper confidence bounds applied to trees."""

import math
from typing import Unpack

from agents.core.options import FirstPlayUrgency, NonNegative
from agents.mcts.playouts import variant_of
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.selection import UCB1


class UCT(TreeSearchAgent):
    r"""UCB1 in the tree, by default random playouts below it (Kocsis and Szepesvari 2006).

    Formula:
        $$\bar x + c \sqrt{\frac{\ln\, N}{n}}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent.

    Sources:
        Kocsis and Szepesvari, "Bandit based Monte-Carlo planning", ECML 2006, section 2.

        Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem",
        Machine Learning 47, 2002, section 2.

    Args:
        c: Weight of exploration, for rewards in [0, 1].
        fpu: First-play urgency: the score of an action before its first visit.
        playout: A policy of `agents.mcts.playouts`.
    """

    name = "uct"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: NonNegative = 1.0,
        fpu: FirstPlayUrgency = math.inf,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        super().__init__(variant_of(UCB1(c, fpu), playout), simulations, seconds, **options)
