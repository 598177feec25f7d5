"""UCT with quality-based rewards: how soon a game is won counts too."""

from typing import Unpack

from agents.options import expect_one_of, number_within
from agents.playouts import make_playout
from agents.search.mcts import Variant
from agents.search.reward import Discounted, RelativeBonus
from agents.search.selection import UCB1
from agents.tree_search import SearchOptions, TreeSearchAgent


class QualityMCTS(TreeSearchAgent):
    """Wins sooner than usual count more (Pepels, Tak, Lanctot and Winands 2014).

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration.
        quality: ``"bonus"``: by the winner's average length (`RelativeBonus`); ``"discount"``:
            by the plies to the end (`Discounted`).
        a: Greatest bonus.
        k: How steeply the bonus grows.
        gamma: The discount of a ply.
        playout: A policy of `agents.playouts`.
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
