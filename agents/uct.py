"""UCT: upper confidence bounds applied to trees."""

from agents.search.mcts import Variant
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.tree_search import TreeSearchAgent


class UCT(TreeSearchAgent):
    """UCB1 in the tree, uniformly random playouts below it (Kocsis and Szepesvari 2006).

    Args:
        simulations: See `TreeSearchAgent`, as for all that is not named here.
        seconds: See `TreeSearchAgent`.
        c: Weight of exploration, for rewards in [0, 1].
        final_move: See `TreeSearchAgent`.
        playout: ``"fast"``: as the game likes best; ``"generic"``: one draw a ply over the
            ascending legal actions, the same for every game and environment.
        max_nodes: See `TreeSearchAgent`.
        route: See `TreeSearchAgent`.
        seed: See `TreeSearchAgent`.
    """

    name = "uct"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.0,
        final_move: str = "visits",
        playout: str = "fast",
        max_nodes: int = 5_000_000,
        route: str = "auto",
        seed: int | None = None,
    ) -> None:
        if playout not in ("fast", "generic"):
            raise ValueError(f"expected a playout of fast, generic, got {playout!r}")
        super().__init__(
            Variant(UCB1(float(c)), Uniform(playout == "fast"), WinLoss()),
            simulations=simulations,
            seconds=seconds,
            final_move=final_move,
            max_nodes=max_nodes,
            route=route,
            seed=seed,
        )
