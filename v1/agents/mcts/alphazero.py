"""AlphaZero: PUCT led by a network of AlphaHex, by its file or as shipped."""

from typing import Unpack

from agents.mcts.puct import PUCTAgent, PUCTOptions
from agents.policies.network import NetworkAgent


class AlphaZero(PUCTAgent):
    """`PUCTAgent` with a network (Silver et al. 2018).

    Args:
        net: See `agents.policies.network.NetworkAgent`.
    """

    name = "alphazero"

    def __init__(
        self,
        net: str,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.0,
        fpu: float = 0.1,
        **options: Unpack[PUCTOptions],
    ) -> None:
        policy = NetworkAgent(net)
        policy.title = f"alphazero:net={net}"
        super().__init__(policy, simulations, seconds, c, fpu, **options)
