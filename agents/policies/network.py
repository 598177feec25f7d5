"""A network of AlphaHex as an agent: its policy alone.

PyTorch is imported when a network is loaded (extra ``train``).
"""

from typing import Any

from agents.policies.policy import PolicyAgent
from hexenv.extras import library


def network_policy(net: str, temperature: float, seed: int | None, title: str) -> Any:
    """The policy of a network's file.

    Raises:
        OSError: If there is no such file, nor a shipped network of this name.
        ValueError: If it is damaged.
        ImportError: Saying what to install, without PyTorch.
    """
    library("torch", "train")
    from agents.learning.evaluator import NetworkPolicy
    from agents.learning.files import find_network, load_network

    return NetworkPolicy(load_network(find_network(net)), temperature, seed, title)


class NetworkAgent(PolicyAgent):
    """Plays what a network says, without a search.

    Args:
        net: The file of a network that ``hexenv train`` has saved, or the name of a shipped one:
            ``tictactoe``, ``connect4``, ``hex5``, ``hex7``.
        temperature: See `PolicyAgent`.
        seed: See `PolicyAgent`.
    """

    name = "network"

    def __new__(  # pyright: ignore[reportInconsistentConstructor]
        cls, net: str, temperature: float = 0.0, seed: int | None = None
    ) -> Any:
        """The policy of the network."""
        return network_policy(net, temperature, seed, f"network:net={net}")
