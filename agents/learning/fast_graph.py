"""Networks by OpenVINO, which runs them on a processor faster than PyTorch does.

It computes in bfloat16, with eight bits of precision, where that is faster: values then differ by
some hundredths from those of PyTorch.
"""

# PyTorch's and OpenVINO's types are partly missing.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false

import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, Final

import torch
from torch import nn

from agents.learning.evaluator import traced
from agents.learning.networks import BoardNetwork
from hexenv.common.extras import library

MOST: Final = 256
"""Positions that are evaluated together; a power of two."""
OPTIONS: Final = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}


def has_openvino() -> bool:
    """Whether what runs networks faster is installed."""
    return find_spec("openvino") is not None


def fast_graph(network: nn.Module, planes: int, shape: tuple[int, int]) -> Any:
    """As `agents.learning.evaluator.traced`, by OpenVINO if it is installed.

    Networks of others stay with PyTorch. The graph gets no other weights, and is not copied.
    """
    if isinstance(network, BoardNetwork) and has_openvino():
        return FastGraph(network, planes, shape)
    return traced(network, planes, shape)


class FastGraph:
    """A network for inference: from planes ``(N, rows, columns, K)`` to logits and values.

    It is compiled for batches of 1, 2, 4, ... positions, as batches of any size are slower; the
    next larger one evaluates what lies between.
    """

    def __init__(self, network: nn.Module, planes: int, shape: tuple[int, int]) -> None:
        self._openvino = library("openvino", "fast")
        self._shape = *shape, planes
        graph, example = traced(network, planes, shape), torch.zeros(2, *self._shape)
        self._model = self._openvino.convert_model(graph, example_input=example)
        self._compiled: dict[int, Any] = {}
        self._own = threading.local()  # a request serves one thread
        self._lock = threading.Lock()

    def __call__(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        firsts = range(0, max(1, len(seen)), MOST)
        parts = [self._evaluate(seen[first : first + MOST]) for first in firsts]
        if len(parts) == 1:
            return parts[0]
        logits, values = zip(*parts, strict=True)
        return torch.cat(logits), torch.cat(values)

    def _evaluate(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        count = len(seen)
        request = self._request(1 << max(0, count - 1).bit_length())
        request.get_input_tensor(0).data[:count] = seen.numpy()
        request.infer(share_outputs=True)  # in this thread, the only one of a forked process
        found = [request.get_output_tensor(i).data[:count].copy() for i in range(2)]
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])

    def _request(self, size: int) -> Any:
        """What runs batches of this size in this thread."""
        if not hasattr(self._own, "requests"):
            self._own.requests = {}
        requests: dict[int, Any] = self._own.requests
        if size not in requests:
            with self._lock:
                if size not in self._compiled:
                    model = self._model.clone()
                    model.reshape([size, *self._shape])
                    self._compiled[size] = self._compile(model)
            requests[size] = self._compiled[size].create_infer_request()
        return requests[size]

    def _compile(self, model: Any) -> Any:
        # OpenVINO gives the thread that compiles a stack for signals, and frees it with the model.
        # In a thread that lives longer than the model, the next Ctrl-C would crash.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(self._openvino.compile_model, model, "CPU", OPTIONS).result()
