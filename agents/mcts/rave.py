"""MC-RAVE: rapid action value estimation."""

import math
from typing import Unpack

from agents.core.options import expect_one_of, number_within, whole_number_within
from agents.mcts.playouts import make_playout
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.search.mcts import Variant
from agents.search.rave import SCHEDULES, Rave
from agents.search.reward import WinLoss


class RAVE(TreeSearchAgent):
    r"""Means of moves played next, mixed with means of moves played ever (Gelly and Silver 2007).

    Formula:
        $$(1 - \beta)\, \bar x + \beta A + c \sqrt{\frac{\ln\, N}{n}}$$

        $$\beta = \frac{a}{n + a + n a / k}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $A$ is the mean reward of the $a$ simulations
        through the parent in which its player made the child's move then or later. $\beta$ is that
        of ``schedule="mse"``.

    Sources:
        Gelly and Silver, "Combining online and offline knowledge in UCT", ICML 2007
        (``"hand"``).

        Gelly and Silver, "Monte-Carlo tree search and rapid action value estimation in computer
        Go", Artificial Intelligence 175, 2011 (``"mse"``).

        Brügmann, "Monte Carlo Go", 1993: all moves as first.

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        k: About how many visits make the former as good as the latter.
        c: Weight of exploration.
        schedule: How the mixture changes, ``"mse"``, ``"hand"`` or ``"text"``; see
            `agents.search.rave.amaf_weight`.
        fpu: First-play urgency: the score of an action that has not been played ever.
        plain_every: Every so many visits of a node, UCB1 selects, in case the rule is blind to a
            good move; 0: never.
        playout: A policy of `agents.mcts.playouts`; for Hex, ``"bridges"``.
        **options: See `TreeSearchAgent`.
    """

    name = "rave"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        k: float = 3000.0,
        c: float = 0.05,
        schedule: str = "mse",
        fpu: float = math.inf,
        plain_every: int = 30,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        expect_one_of("schedule", schedule, SCHEDULES)
        selection = Rave(
            number_within("k", k, 1e-9),
            number_within("c", c),
            SCHEDULES.index(schedule),
            number_within("fpu", fpu, -1e9, math.inf),
            whole_number_within("plain_every", plain_every, 0, 2**31),
        )
        variant = Variant(selection, make_playout(playout), WinLoss())
        super().__init__(variant, simulations, seconds, **options)
