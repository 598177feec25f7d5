"""AlphaZero: PUCT led by a network of AlphaHex, by its file or as shipped."""

from typing import Any, Unpack

from agents.network import network_policy
from agents.puct import PUCTAgent
from agents.tree_search import SearchOptions


class AlphaZero(PUCTAgent):
    """`PUCTAgent` with a network (Silver et al. 2018).

    Args:
        net: See `agents.network.NetworkAgent`.
        simulations: See `PUCTAgent`, as all that follow.
        seconds: Seconds a move.
        c: Weight of exploration.
        fpu: First-play urgency.
        batch: Leaves that are evaluated together.
        noise: Share of Dirichlet noise.
        noise_total: Sum of its parameters.
        temperature: Of the choice of a move.
        temperature_plies: In the first so many.
        **options: See `TreeSearchAgent`.
    """

    name = "alphazero"

    def __init__(
        self,
        net: str,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.0,
        fpu: float = 0.1,
        batch: int = 1,
        noise: float = 0.0,
        noise_total: float = 10.0,
        temperature: float = 0.0,
        temperature_plies: int = 1_000_000,
        **options: Unpack[SearchOptions],
    ) -> None:
        policy: Any = network_policy(net, 0.0, None, f"alphazero:net={net}")
        super().__init__(
            policy,
            simulations,
            seconds,
            c,
            fpu,
            batch,
            noise,
            noise_total,
            temperature,
            temperature_plies,
            **options,
        )
