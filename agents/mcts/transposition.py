"""UCT over a graph: positions reached by several move orders share what is known of them."""

from typing import ClassVar, Unpack

from agents.core.options import NonNegative
from agents.mcts.playouts import variant_of
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.selection import UCB1


class TranspositionMCTS(TreeSearchAgent):
    r"""Statistics by position, visits by edge (Childs, Brodeur and Kocsis 2008, as UCT2).

    Formula:
        $$Q(s, a) + c \sqrt{\frac{\ln\, N(s)}{n(s, a)}}$$

        $$Q(s) = \frac{W(s) + \sum_a n(s, a)\, Q(s_a)}{N(s)}$$

        $n(s, a)$ are the visits of an edge and $N(s)$ those of a position; the value of an edge is
        that of the position $s_a$ it leads to, and $W(s)$ is the sum of the rewards of the
        simulations that ended in $s$.

    Sources:
        Childs, Brodeur and Kocsis, "Transpositions and move groups in Monte Carlo tree search", CIG
        2008: UCT2.

        Czech, Korus and Kersting, "Improving AlphaZero using Monte-Carlo graph search", ICAPS 2021.

    Args:
        c: Weight of exploration.
        playout: A policy of `agents.mcts.playouts`.
    """

    name = "transposition"
    other_defaults: ClassVar[SearchOptions] = {"transpositions": True}

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: NonNegative = 1.0,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        options = {**self.other_defaults, **options}
        variant = variant_of(UCB1(c), playout)
        super().__init__(variant, simulations, seconds, **options)
