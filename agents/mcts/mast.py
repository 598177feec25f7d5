"""UCT with move-average sampling in its playouts."""

from typing import Unpack

from agents.core.options import number_within
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.search.mast import Mast
from agents.search.mcts import Variant
from agents.search.reward import WinLoss
from agents.search.selection import UCB1


class MAST(TreeSearchAgent):
    r"""Playouts prefer the moves with the best mean so far (Finnsson and Bjornsson 2008).

    Formula:
        $$\bar x + c \sqrt{\frac{\ln\, N}{n}}$$

        $$\text{in playouts, with probability } 1 - \epsilon\text{: } \arg\max_m\, q(m)$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $q(m)$ is the mean reward of all simulations
        in which the player made the move $m$, and 1 before the first. With `temperature` T moves
        are drawn in proportion to $e^{q(m)/T}$.

    Sources:
        Finnsson and Björnsson, "Simulation-based approach to general game playing", AAAI 2008.

        Tak, Winands and Björnsson, "N-grams and the last-good-reply policy applied in general game
        playing", IEEE TCIAIG 4(2), 2012: with probability `epsilon`.

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration in the tree.
        epsilon: Share of random moves in the playouts.
        temperature: From 0.01: moves in proportion to exp(mean / temperature), in the place of
            `epsilon`; 0: not.
        **options: See `TreeSearchAgent`.
    """

    name = "mast"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.0,
        epsilon: float = 0.4,
        temperature: float = 0.0,
        **options: Unpack[SearchOptions],
    ) -> None:
        if temperature != 0.0:  # exp(1 / temperature) has to stay finite
            temperature = number_within("temperature", temperature, 0.01)
        playout = Mast(number_within("epsilon", epsilon, 0, 1), temperature)
        super().__init__(
            Variant(UCB1(number_within("c", c)), playout, WinLoss()),
            simulations,
            seconds,
            **options,
        )
