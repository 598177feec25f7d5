"""UCT with progressive history."""

from typing import Unpack

from agents.options import number_within
from agents.playouts import make_playout
from agents.search.history import ProgressiveHistory
from agents.search.mcts import Variant
from agents.search.reward import WinLoss
from agents.tree_search import SearchOptions, TreeSearchAgent


class HistoryMCTS(TreeSearchAgent):
    """Moves that did well anywhere are tried first (Nijssen and Winands 2011).

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration.
        weight: Weight of the history.
        playout: A policy of `agents.playouts`.
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
