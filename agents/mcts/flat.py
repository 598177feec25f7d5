"""Flat Monte Carlo: playouts without a tree."""

from typing import ClassVar, Unpack

from agents.mcts.playouts import make_playout
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.search.mcts import Variant
from agents.search.reward import WinLoss
from agents.search.selection import Evenly


class FlatMonteCarlo(TreeSearchAgent):
    r"""The same number of playouts for every action; the best mean is played (Brügmann 1993).

    Formula:
        $$\arg\max_a\, \bar x(a)$$

        $\bar x(a)$ is the mean reward of the playouts that begin with the action $a$, as many for
        each.

    Sources:
        Brügmann, "Monte Carlo Go", 1993.

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        playout: A policy of `agents.mcts.playouts`.
        **options: See `TreeSearchAgent`; by default ``final_move="value"`` and ``solver="off"``.
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
