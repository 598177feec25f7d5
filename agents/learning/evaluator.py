"""A network as an evaluator of positions, and as a policy."""

# PyTorch's types are partly missing.
# pyright: reportUnknownMemberType=false

import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from agents.learning.networks import BoardNetwork, folded
from agents.learning.planes import PlaneWriter
from agents.policies.models import PolicyOutput, safe_threads
from hexenv.games.base import Game


class NetworkEvaluator(PlaneWriter):
    """Evaluates many positions of one game at once: an `agents.search.evaluator.Evaluator`.

    Later training of the network has no effect here until `update`. `planes` are the names of its
    input planes besides the game's own. `graph_of` is `traced`, or, for a network that never gets
    other weights, `agents.learning.fast_graph.fast_graph`.
    """

    def __init__(
        self,
        network: nn.Module,
        game: Game,
        planes: tuple[str, ...],
        device: str = "cpu",
        graph_of: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(game, planes)
        self.title = type(network).__name__
        self.device = torch.device(device)
        self._dtype = torch.float16 if self.device.type == "cuda" else torch.float32
        shape = game.rows, game.columns
        self._network = (graph_of or traced)(self._on_device(network), len(self._names), shape)

    def _on_device(self, network: nn.Module) -> nn.Module:
        return folded(network).to(self.device, self._dtype)

    def update(self, network: nn.Module) -> None:
        """Take the weights of a network of the same kind."""
        # Keep the old trace: tracing again would leak some megabytes.
        self._network.load_state_dict(self._on_device(network).state_dict())

    def evaluate(self, game: Game, states: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Priors (softmax of the logits) and values for the player to move."""
        logits, values = self.logits_and_values(self.planes_of(game, states))
        return torch.softmax(logits, 1).cpu().numpy(), values.cpu().numpy()

    def logits_and_values(self, planes: NDArray[np.int8]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values of positions, from their planes."""
        seen = torch.from_numpy(planes).to(self.device, self._dtype)
        with torch.inference_mode(), safe_threads(torch):
            logits, values = self._network(seen)
        return logits.float(), values.float().clamp(-1.0, 1.0)


def device_of(device: str, key: str) -> str:
    """The device that an option of this name (auto, cpu or cuda) asks for, if it is there."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"expected auto or cpu for {key}, got cuda: there is no CUDA device")
    return device


def traced(network: nn.Module, planes: int, shape: tuple[int, int]) -> Any:
    """A network for inference: on the CPU as a TorchScript graph, which is quicker.

    A network of others stays as it is where its graph would say something else, as of another batch
    or of other planes.
    """
    if any(parameter.is_cuda for parameter in network.parameters()):
        return network
    example = torch.zeros(2, *shape, planes)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # PyTorch warns that TorchScript will be replaced
        if isinstance(network, BoardNetwork):
            return cast("Any", torch.jit.trace(network, example, check_trace=False))
        try:
            graph = cast("Any", torch.jit.trace(network, example, check_trace=False))
            others = (torch.arange(5 * example[0].numel()) % 3 == 0).float()
            seen = others.reshape(5, *example.shape[1:])
            pairs = zip(graph(seen), network(seen), strict=True)
            is_same = all(torch.allclose(one, other, atol=1e-4) for one, other in pairs)
        except Exception:  # code of others, which the graph's compiler may not know
            return network
        return graph if is_same else network


class NetworkPolicy:
    """The policy of a network, for boards of any size; an `agents.policies.models.Policy`."""

    def __init__(self, network: nn.Module, graph_of: Callable[..., Any] = traced) -> None:
        self._network, self._graph_of = folded(network), graph_of
        self._traced_by_shape: dict[tuple[int, ...], Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_traced_by_shape": {}}  # graphs cannot be pickled

    def __call__(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> PolicyOutput:
        shape = planes.shape[1:]
        with safe_threads(torch, few_boards=True):
            if shape not in self._traced_by_shape:
                graph = self._graph_of(self._network, shape[2], shape[:2])
                self._traced_by_shape[shape] = graph
            seen = torch.as_tensor(np.ascontiguousarray(planes), dtype=torch.float32)
            with torch.inference_mode():
                logits, values = self._traced_by_shape[shape](seen)
        return cast("PolicyOutput", (logits.numpy(), values.numpy()))
