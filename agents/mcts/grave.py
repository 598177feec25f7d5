"""GRAVE: generalised rapid action value estimation."""

from typing import Unpack

from agents.core.options import number_within, whole_number_within
from agents.mcts.playouts import make_playout
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.search.mcts import Variant
from agents.search.rave import Grave
from agents.search.reward import WinLoss


class GRAVE(TreeSearchAgent):
    r"""RAVE with the statistics of an ancestor that has enough of them (Cazenave 2015).

    Formula:
        $$(1 - \beta)\, \bar x + \beta A + c \sqrt{\frac{\ln\, N}{n}}$$

        $$\beta = \frac{a}{n + a + b\, n a}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $A$ is the mean reward of the $a$ simulations
        in which the player made the move then or later, through the nearest ancestor with the same
        player to move and more than `ref` visits; $b$ is `bias`.

    Sources:
        Cazenave, "Generalized rapid action value estimation", IJCAI 2015.

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        ref: Visits that are enough.
        bias: How fast the weight of these statistics shrinks.
        c: Weight of exploration.
        plain_every: Every so many visits of a node, UCB1 selects, in case the rule is blind to a
            good move; 0: never.
        playout: A policy of `agents.mcts.playouts`; for Hex, ``"bridges"``.
        **options: See `TreeSearchAgent`.
    """

    name = "grave"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        ref: int = 50,
        bias: float = 1e-5,
        c: float = 0.0,
        plain_every: int = 30,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        selection = Grave(
            whole_number_within("ref", ref, 0, 2**31),
            number_within("bias", bias),
            number_within("c", c),
            plain_every=whole_number_within("plain_every", plain_every, 0, 2**31),
        )
        variant = Variant(selection, make_playout(playout), WinLoss())
        super().__init__(variant, simulations, seconds, **options)
