"""A network of AlphaHex as an agent: its policy alone.

PyTorch (extra ``train``) evaluates the network, or OpenVINO (extra ``fast``), which is faster and
slightly less precise (see `agents.learning.fast_graph`); without either NumPy does.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.policies.models import PolicyOutput, safe_threads
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
        ValueError: If it is damaged; without PyTorch also if it is not residual.
    """

    name = "network"

    def __init__(self, net: str, temperature: float = 0.0, seed: int | None = None) -> None:
        from agents.learning.saved import find_network

        self._use_network(read_network(find_network(net)), temperature, seed, f"network:net={net}")

    @classmethod
    def from_saved(
        cls, saved: Any, temperature: float = 0.0, seed: int | None = None, title: str = "network"
    ) -> "NetworkAgent":
        """Of a network that is loaded, an `agents.learning.saved.SavedNetwork`."""
        agent = cls.__new__(cls)
        agent._use_network(saved, temperature, seed, title)
        return agent

    def _use_network(self, saved: Any, temperature: float, seed: int | None, title: str) -> None:
        self._evaluators: dict[tuple[Any, ...], Any] = {}
        planes = tuple(saved.options.planes)
        super().__init__(no_network, temperature, seed, planes, title)
        self._take(saved)

    def _take(self, saved: Any) -> None:
        """Play with this network from here on; it sees the same planes as the one before."""
        self.saved = saved
        self._runtime = _runtime_of(saved.network)
        self.policy = self._runtime.policy(saved.network)

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
        if isinstance(states, np.ndarray):
            key = game.__class__, *game  # games of two kinds may be equal
            with self._runtime.threads():
                if key not in self._evaluators:
                    self.check_game(game)
                    planes, new_evaluator = self.saved.options.planes, self._runtime.evaluator
                    self._evaluators[key] = new_evaluator(self.saved.network, game, tuple(planes))
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
        from agents.learning.files import load_network
        from agents.learning.saved import find_network

        saved = load_network(find_network(file), trusted=None)
        self._use_network(saved, temperature, seed, f"own-network:file={file}")


def read_network(path: Path) -> Any:
    """An `agents.learning.saved.SavedNetwork`, for PyTorch or, without it, for NumPy."""
    if has_pytorch():
        from agents.learning.files import load_network

        return load_network(path)
    from agents.learning.plain import load_plain

    return load_plain(path)


def has_pytorch() -> bool:
    """Whether what loads networks into PyTorch is installed."""
    return all(find_spec(name) is not None for name in ("torch", "safetensors"))


def no_network(planes: Any, masks: Any) -> PolicyOutput:
    """The policy of an agent that does not know the game yet."""
    raise PolicyError("expected an environment of hexenv, to know the game, got another one", 0)


class _Runtime(NamedTuple):
    """What evaluates networks: PyTorch, OpenVINO or NumPy."""

    policy: Any
    """Of a network."""
    evaluator: Any
    """Of a network, a game, and the names of its planes besides the game's own."""
    threads: Callable[[], AbstractContextManager[None]]
    """With how many threads an evaluation runs."""


def _runtime_of(network: Any) -> _Runtime:
    """What evaluates this network."""
    from agents.learning.plain import PlainEvaluator, PlainNetwork, PlainPolicy

    if isinstance(network, PlainNetwork):
        return _Runtime(PlainPolicy, PlainEvaluator, nullcontext)
    from agents.learning.evaluator import NetworkEvaluator, NetworkPolicy
    from agents.learning.fast_graph import fast_graph

    policy = partial(NetworkPolicy, graph_of=fast_graph)
    return _Runtime(policy, partial(NetworkEvaluator, graph_of=fast_graph), _one_thread)


def _one_thread() -> AbstractContextManager[None]:
    return safe_threads(library("torch", "train"), few_boards=True)
