"""UCT with progressive history."""

from typing import Unpack

from agents.core.options import number_within
from agents.mcts.playouts import make_playout
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.search.history import ProgressiveHistory
from agents.search.mcts import Variant
from agents.search.reward import WinLoss


class HistoryMCTS(TreeSearchAgent):
    r"""Moves that did well anywhere are tried first (Nijssen and Winands 2011).

    Formula:
        $$\bar x + c \sqrt{\frac{\ln\, N}{n}} + \frac{h\, w}{(1 - \bar x)\, n + 1}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $h$ is the mean reward of all simulations in
        which the player made the move, $w$ the `weight`.

    Sources:
        Nijssen and Winands, "Enhancements for multi-player Monte-Carlo tree search", Computers and
        Games 2010 (published 2011).

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration.
        weight: Weight of the history.
        playout: A policy of `agents.mcts.playouts`.
        **options: See `TreeSearchAgent`.
    """

    name = "history"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.0,
        weight: float = 3.0,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        selection = ProgressiveHistory(number_within("c", c), number_within("weight", weight))
        variant = Variant(selection, make_playout(playout), WinLoss())
        super().__init__(variant, simulations, seconds, **options)
