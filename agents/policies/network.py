"""A network of AlphaHex as an agent: its policy alone.

PyTorch is imported when a network is loaded (extra ``train``).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.policies.models import safe_threads
from agents.policies.policy import PolicyAgent
from agents.search.evaluator import PolicyError
from hexenv.common.extras import library
from hexenv.compiled import announced
from hexenv.games.base import new_states


class NetworkAgent(PolicyAgent):
    """Plays what a network says, without a search.

    Args:
        net: The file of a network that ``hexenv train`` has saved, or the name of a shipped one:
            ``tictactoe``, ``connect4``, ``hex5``, ``hex7``, ``hex9``, ``hex11``.
        temperature: See `PolicyAgent`.
        seed: See `PolicyAgent`.

    Raises:
        OSError: If there is no such file, nor a shipped network of this name.
        ValueError: If it is damaged.
        ImportError: Without PyTorch; it says what to install.
    """

    name = "network"

    def __init__(self, net: str, temperature: float = 0.0, seed: int | None = None) -> None:
        library("torch", "train")
        from agents.learning.files import find_network, load_network

        title = f"network:net={net}"
        self._use_network(load_network(find_network(net)), temperature, seed, title)

    @classmethod
    def from_saved(
        cls, saved: Any, temperature: float = 0.0, seed: int | None = None, title: str = "network"
    ) -> "NetworkAgent":
        """Of a network that is loaded, an `agents.learning.files.SavedNetwork`."""
        agent = cls.__new__(cls)
        agent._use_network(saved, temperature, seed, title)
        return agent

    def _use_network(self, saved: Any, temperature: float, seed: int | None, title: str) -> None:
        from agents.learning.evaluator import NetworkPolicy

        self.saved = saved
        self._evaluators: dict[tuple[Any, ...], Any] = {}
        planes = tuple(saved.options.planes)
        super().__init__(NetworkPolicy(saved.network), temperature, seed, planes, title)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_evaluators": {}}  # graphs cannot be pickled

    @announced
    def prepare(self, env: Any) -> None:
        """Compile now what `act` and `evaluate` need in such an environment."""
        self._seen(env)
        game = getattr(env.unwrapped, "game", None)
        if game is not None:
            self.evaluate(game, new_states(game, 1))

    def evaluate(self, game: Any, states: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """See `PolicyAgent.evaluate`; compiled code makes the planes of our own games."""
        from agents.learning.evaluator import NetworkEvaluator

        if isinstance(states, np.ndarray):
            key = game.__class__, *game  # games of two kinds may be equal
            with safe_threads(library("torch", "train"), few_boards=True):
                if key not in self._evaluators:
                    self.check_game(game)
                    network, planes = self.saved.network, tuple(self.saved.options.planes)
                    self._evaluators[key] = NetworkEvaluator(network, game, planes)
                return self._evaluators[key].evaluate(game, states)
        return super().evaluate(game, states)

    def check_game(self, game: Any) -> None:
        """Refuse a game that the network is not for."""
        why = self.saved.why_not(game)
        if why is not None:
            raise PolicyError(f"{self.title}: {why} ({self.saved.path})", 0)

    def _seen(self, env: Any) -> tuple[NDArray[Any], NDArray[np.int8]]:
        game = getattr(env.unwrapped, "game", None)
        if game is not None:
            self.check_game(game)
        return super()._seen(env)

    def _seen_at(self, game: Any, state: Any) -> tuple[NDArray[Any], NDArray[np.int8]]:
        self.check_game(game)
        return super()._seen_at(game, state)


class OwnNetworkAgent(NetworkAgent):
    """Plays what a network says that is of a class of your own, or of a game of your own.

    The class and the game, which the file names as ``module:name``, are imported: that runs code,
    so open no file that you do not trust. `NetworkAgent` refuses such a file.

    Args:
        file: What ``hexenv train`` has saved.
        temperature: See `PolicyAgent`.
        seed: See `PolicyAgent`.
    """

    name = "own-network"

    def __init__(self, file: str, temperature: float = 0.0, seed: int | None = None) -> None:
        library("torch", "train")
        from agents.learning.files import find_network, load_network

        saved = load_network(find_network(file), trusted=None)
        self._use_network(saved, temperature, seed, f"own-network:file={file}")
