"""UCT with the last good reply in its playouts."""

from typing import Unpack

from agents.options import number_within, whole_number_within
from agents.playouts import make_playout
from agents.search.mcts import Variant
from agents.search.replies import LastGoodReply
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.tree_search import SearchOptions, TreeSearchAgent


class LGR(TreeSearchAgent):
    """A move is answered as it was last in a win (Drake 2009; Baier and Drake 2010).

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration.
        order: 1: replies to the move before; 2: to the two moves before, else to one.
        forgetting: Whether replies that lose are forgotten (LGRF).
        playout: What is played where there is no reply, a policy of `agents.playouts`.
        **options: See `TreeSearchAgent`.
    """

    name = "lgr"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.0,
        order: int = 1,
        forgetting: bool = True,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        order = whole_number_within("order", order, 1, 2)
        replies = LastGoodReply(order, bool(forgetting), make_playout(playout))
        super().__init__(
            Variant(UCB1(number_within("c", c)), replies, WinLoss()),
            simulations,
            seconds,
            **options,
        )
