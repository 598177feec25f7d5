"""UCT with quality-based rewards: how soon a game is won counts too."""

from typing import Unpack

from agents.core.options import expect_one_of, number_within
from agents.mcts.playouts import make_playout
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.search.mcts import Variant
from agents.search.reward import Discounted, RelativeBonus
from agents.search.selection import UCB1


class QualityMCTS(TreeSearchAgent):
    r"""Wins sooner than usual count more (Pepels, Tak, Lanctot and Winands 2014).

    Formula:
        $$r + \operatorname{sgn}(r)\, a \left(\frac{2}{1 + e^{-k \lambda}} - 1\right)$$

        $$\lambda = \frac{D - d}{s}$$

        The reward of a simulation, scaled to 0 to 1: $r$ is -1, 0 or 1, $d$ the plies from the root
        to its end, $D$ and $s$ the mean and the standard deviation of $d$ in the winner's games so
        far. With ``quality="discount"`` it is $\frac{1}{2} + \frac{r}{2} \gamma^d$, $d$ counted
        from the node. The tree is that of `UCT`.

    Sources:
        Pepels, Tak, Lanctot and Winands, "Quality-based rewards for Monte-Carlo tree search
        simulations", ECAI 2014.

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration.
        quality: ``"bonus"``: by the winner's average length (`RelativeBonus`); ``"discount"``:
            by the plies to the end (`Discounted`).
        a: Greatest bonus.
        k: How steeply the bonus grows.
        gamma: The discount of a ply.
        playout: A policy of `agents.mcts.playouts`.
        **options: See `TreeSearchAgent`.
    """

    name = "quality"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.0,
        quality: str = "bonus",
        a: float = 0.25,
        k: float = 1.4,
        gamma: float = 0.98,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        expect_one_of("quality", quality, ("bonus", "discount"))
        bonus = RelativeBonus(number_within("a", a, 0, 1), number_within("k", k, 0, 20))
        discount = Discounted(number_within("gamma", gamma, 0, 1))
        reward = bonus if quality == "bonus" else discount
        variant = Variant(UCB1(number_within("c", c)), make_playout(playout), reward)
        super().__init__(variant, simulations, seconds, **options)
