"""UCT with the last good reply in its playouts."""

from typing import Unpack

from agents.core.options import number_within, whole_number_within
from agents.mcts.playouts import make_playout
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.search.mcts import Variant
from agents.search.replies import LastGoodReply
from agents.search.reward import WinLoss
from agents.search.selection import UCB1


class LGR(TreeSearchAgent):
    r"""A move is answered as it was last in a win (Drake 2009; Baier and Drake 2010).

    Formula:
        $$\bar x + c \sqrt{\frac{\ln\, N}{n}}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. This is the tree. In a playout a move is
        answered by the last reply to it that won; where there is none, or it is not legal,
        `playout` answers.

    Sources:
        Drake, "The last-good-reply policy for Monte-Carlo Go", ICGA Journal 32(4), 2009.

        Baier and Drake, "The power of forgetting: improving the last-good-reply policy in Monte
        Carlo Go", IEEE TCIAIG 2(4), 2010.

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration.
        order: 1: replies to the move before; 2: to the two moves before, else to one.
        forgetting: Whether replies that lose are forgotten (LGRF).
        playout: What is played where there is no reply, a policy of `agents.mcts.playouts`.
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
