"""AlphaZero with the shipped networks of Hex, and with what is known of Hex."""

from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.learning.saved import shipped_network
from agents.mcts.puct import PUCTAgent, PUCTOptions
from agents.policies.network import NetworkAgent
from hexenv.games.base import new_states


class ShippedNetworks:
    """An evaluator: for each board the network of the smallest board that is no smaller.

    The networks know no swap: where it is legal its prior is that of all stones together.
    """

    title = "hexzero"

    def __init__(self) -> None:
        self._networks: dict[Path, NetworkAgent] = {}

    def network_for(self, game: Any) -> NetworkAgent:
        """The network for a board."""
        path = shipped_network(game)
        if path not in self._networks:
            self._networks[path] = NetworkAgent(str(path))
        return self._networks[path]

    def prepare(self, env: Any) -> None:
        """Load the network for an environment now."""
        game = env.unwrapped.game
        self.evaluate(game, new_states(game, 1))

    def evaluate(self, game: Any, states: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """See `agents.search.evaluator.Evaluator`."""
        network = self.network_for(game)
        if not game.swap:
            return network.evaluate(game, states)
        priors, values = network.evaluate(game._replace(swap=False), states)
        return np.hstack([priors, np.ones((len(priors), 1), priors.dtype)]), values


class HexZero(PUCTAgent):
    """AlphaZero with a network for the size of the board, inferior cells and virtual connections.

    The network gives priors and values. Inferior cells get no nodes, moves outside of the must-play
    region no simulations, and a proven root ends the search; see `agents.knowledge.hex.known`. For
    Hex on square boards to 13 x 13.

    Sources:
        Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go
        through self-play", Science 362, 2018.

        Gao, Mueller and Hayward, "Three-head neural network architecture for Monte Carlo tree
        search", IJCAI 2018: a network in MoHex.

    Args:
        net: The file of a network, or the name of a shipped one; None: for each board the shipped
            one of the smallest board that is no smaller, for boards above 11 x 11 that of 11 x 11.
        c: Weight of exploration; see `PUCTAgent`.
        fpu: First-play urgency; see `PUCTAgent`.
        **options: See `PUCTAgent`. Defaults: `solver` ``"hard"``, `knowledge` ``"all"`` (but the
            priors), `knowledge_at` 2, `batch` 8.
    """

    name = "hexzero"
    other_defaults: ClassVar[PUCTOptions] = {
        "solver": "hard",
        "knowledge": "all",
        "knowledge_at": 2,
        "batch": 8,
    }

    def __init__(
        self,
        net: str | None = None,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.0,
        fpu: float = 0.1,
        **options: Unpack[PUCTOptions],
    ) -> None:
        options = {**self.other_defaults, **options}
        policy = ShippedNetworks() if net is None else NetworkAgent(net)
        super().__init__(policy, simulations, seconds, c, fpu, **options)
