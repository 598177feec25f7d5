"""The Connect4 text's search: a score by the distance to the end."""

import math
from typing import Unpack

from agents.core.options import number_within
from agents.knowledge.hex.distance import DistanceScore, DistanceUCB
from agents.mcts.playouts import make_playout
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.search.mcts import Variant


class DistanceMCTS(TreeSearchAgent):
    r"""Ends next ply count 1000, later ones 1 / plies, draws as losses; see `DistanceScore`.

    Formula:
        $$\bar s + c \sqrt{\frac{\ln\, N}{n}} \qquad s = \pm \frac{1}{d^{\,p}}$$

        $\bar s$ is the mean score of a child, $n$ and $N$ are the visits of the child and of its
        parent. The score of a simulation is that of a win or a loss $d$ plies away, $p$ is `power`;
        at the next ply it is `decisive`.

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration.
        decisive: Worth of a win at the next ply.
        power: A later win is worth 1 / plies ** power.
        draw: Worth of a draw: -1 as a loss, for both sides; 0 fair.
        faithful: As the text that the project began with has it: its formula of selection
            literally, the action with the best mean at the end, and no proofs.
        playout: A policy of `agents.mcts.playouts`.
        **options: See `TreeSearchAgent`.
    """

    name = "distance"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = math.sqrt(2),
        decisive: float = 1000.0,
        power: float = 1.0,
        draw: float = -1.0,
        faithful: bool = False,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        if faithful:
            options = {"final_move": "value", "solver": "off", **options}
        decisive = number_within("decisive", decisive, 1)
        selection = DistanceUCB(number_within("c", c), bool(faithful), decisive)
        reward = DistanceScore(
            decisive, number_within("power", power, 0, 100), number_within("draw", draw, -1, 1)
        )
        variant = Variant(selection, make_playout(playout), reward)
        super().__init__(variant, simulations, seconds, **options)
