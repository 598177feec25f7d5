"""UCT with UCB1-Tuned."""

from typing import Unpack

from agents.core.options import number_within
from agents.mcts.playouts import make_playout
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.search.mcts import Variant
from agents.search.reward import WinLoss
from agents.search.selection import UCB1Tuned


class UCB1TunedMCTS(TreeSearchAgent):
    r"""UCB1-Tuned in the tree (Auer, Cesa-Bianchi and Fischer 2002, section 4; Gelly et al. 2006).

    Formula:
        $$\bar x + c \sqrt{\frac{\ln\, N}{n} \min\left(C,\; s^2 + \sqrt{\frac{2 \ln\,
            N}{n}}\right)}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent, $s^2$ is the variance of the child's rewards
        and $C$ the `variance_cap`.

    Sources:
        Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem",
        Machine Learning 47, 2002, section 4.

        Gelly, Wang, Munos and Teytaud, "Modification of UCT with patterns in Monte-Carlo Go", INRIA
        RR-6062, 2006.

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration.
        variance_cap: Bound on the variance of a reward.
        playout: A policy of `agents.mcts.playouts`.
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
