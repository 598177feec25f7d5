"""The shipped baselines of reinforcement learning, by name: for each game and size a network."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agents.policies.network import NetworkAgent, no_network, read_network
from agents.policies.policy import PolicyAgent
from agents.search.evaluator import PolicyError


class BaselineAgent(NetworkAgent):
    """Plays the network of its family for the game that it meets, without a search.

    There are networks for TicTacToe, Connect4, Hex 5x5 to 11x11 and Gomoku 9x9 and 15x15. Another
    board of Hex or Gomoku is played by that of the next larger one, or of the largest.

    Args:
        temperature: See `PolicyAgent`.
        seed: See `PolicyAgent`.
    """

    family: ClassVar[str]

    def __init__(self, temperature: float = 0.0, seed: int | None = None) -> None:
        self._loaded: dict[Path, Any] = {}
        self._evaluators = {}
        self.saved = None
        PolicyAgent.__init__(self, no_network, temperature, seed, (), self.name)

    def see_as(self, env: Any) -> None:
        """See `PolicyAgent.see_as`."""
        super().see_as(env)
        game = getattr(env.unwrapped, "game", None)
        if game is not None:
            self.check_game(game)

    def __call__(self, observations: Any, masks: NDArray[np.int8]) -> NDArray[np.int64]:
        """See `PolicyAgent.__call__`; the network is that for the environment of `see_as`."""
        if self._shown is not None:
            self.check_game(self._shown.game)
        return super().__call__(observations, masks)

    def check_game(self, game: Any) -> None:
        """Take the network for a game, or refuse the game."""
        from agents.learning.saved import shipped_network

        try:
            path = shipped_network(game, f"{self.family}-")
        except ValueError as error:
            raise PolicyError(f"{self.title}: {error}", 0) from None
        if path not in self._loaded:
            self._loaded[path] = read_network(path)
        if self._loaded[path] is not self.saved:
            self._take(self._loaded[path])
        super().check_game(game)


class PPOAgent(BaselineAgent):
    """MaskablePPO, trained against a pool of its own past.

    Sources:
        Schulman et al., "Proximal policy optimization algorithms", arXiv 1707.06347, 2017.

        Huang and Ontanon, "A closer look at invalid action masking in policy gradient algorithms",
        FLAIRS 2022.

    Args:
        temperature: See `PolicyAgent`.
        seed: See `PolicyAgent`.
    """

    name = family = "ppo"


class DQNAgent(BaselineAgent):
    """A deep Q-network that looks at legal actions only, trained against a pool of its own past.

    Sources:
        Mnih et al., "Human-level control through deep reinforcement learning", Nature 518, 2015.

    Args:
        temperature: See `PolicyAgent`; its logits are values of actions, -1 to 1.
        seed: See `PolicyAgent`.
    """

    name = family = "dqn"
