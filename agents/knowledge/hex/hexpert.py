"""RAVE with all that is known of Hex: bridges, inferior cells, virtual connections, priors."""

import math
from typing import Annotated, ClassVar, Unpack

from agents.mcts.rave import RAVE, SCHEDULES
from agents.mcts.settings import SearchOptions
from hexenv.common.options import OneOf


class Hexpert(RAVE):
    """RAVE with saved bridges, inferior cells, virtual connections and priors; for Hex to 13 x 13.

    Moves are tried in the order of what the cells around them promise. A node does without the
    cells that patterns show to be inferior. The root, and every node at its `knowledge_at`-th
    visit, is looked at for virtual connections: who has won, and which moves must be played. The
    solver goes on from there, and proven losses are not searched. See `agents.knowledge.hex.known`
    and `agents.knowledge.hex.priors`.

    Sources:
        Arneson, Hayward and Henderson, "Monte Carlo tree search in Hex", IEEE Transactions on
        Computational Intelligence and AI in Games 2, 2010.

        Anshelevich, "A hierarchical approach to computer Hex", Artificial Intelligence 134, 2002:
        virtual connections.

        Bjornsson, Hayward, Johanson and van Rijswijck, "Dead cell analysis in Hex and the Shannon
        game", 2006: inferior cells.

        Huang, Arneson, Hayward, Mueller and Pawlewicz, "MoHex 2.0: a pattern-based MCTS Hex
        player", Computers and Games 2013: priors by patterns.

    Args:
        **options: See `TreeSearchAgent`. Defaults: `solver` ``"hard"``, `knowledge`
            ``"all"``, `knowledge_at` 32.
    """

    name = "hexpert"
    other_defaults: ClassVar[SearchOptions] = {
        "solver": "hard",
        "knowledge": "all",
        "knowledge_at": 32,
    }

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        k: float = 3000.0,
        c: float = 0.05,
        schedule: Annotated[str, OneOf(SCHEDULES)] = "mse",
        fpu: float = math.inf,
        plain_every: int = 30,
        playout: str = "bridges",
        **options: Unpack[SearchOptions],
    ) -> None:
        options = {**self.other_defaults, **options}
        super().__init__(simulations, seconds, k, c, schedule, fpu, plain_every, playout, **options)
