"""UCT with UCB1-Tuned."""

from typing import Unpack

from agents.options import number_within
from agents.playouts import make_playout
from agents.search.mcts import Variant
from agents.search.reward import WinLoss
from agents.search.selection import UCB1Tuned
from agents.tree_search import SearchOptions, TreeSearchAgent


class UCB1TunedMCTS(TreeSearchAgent):
    """UCB1-Tuned in the tree (Auer, Cesa-Bianchi and Fischer 2002, section 4; Gelly et al. 2006).

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration.
        variance_cap: Bound on the variance of a reward.
        playout: A policy of `agents.playouts`.
        **options: See `TreeSearchAgent`.
    """

    name = "ucb1-tuned"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.0,
        variance_cap: float = 0.25,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        selection = UCB1Tuned(number_within("c", c), number_within("variance_cap", variance_cap))
        variant = Variant(selection, make_playout(playout), WinLoss())
        super().__init__(variant, simulations, seconds, **options)
