"""UCT: upper confidence bounds applied to trees."""

import math
from typing import Unpack

from agents.search.mcts import Variant
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.tree_search import SearchOptions, TreeSearchAgent


class UCT(TreeSearchAgent):
    """UCB1 in the tree, uniformly random playouts below it (Kocsis and Szepesvari 2006).

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration, for rewards in [0, 1].
        fpu: First-play urgency: the score of an action before its first visit.
        playout: ``"fast"``: as the game likes best; ``"generic"``: one draw a ply over the
            ascending legal actions, the same for every game and environment.
        **options: See `TreeSearchAgent`.
    """

    name = "uct"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.0,
        fpu: float = math.inf,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        if playout not in ("fast", "generic"):
            raise ValueError(f"expected a playout of fast, generic, got {playout!r}")
        variant = Variant(UCB1(float(c), float(fpu)), Uniform(playout == "fast"), WinLoss())
        super().__init__(variant, simulations, seconds, **options)
