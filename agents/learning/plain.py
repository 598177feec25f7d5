"""Residual networks without PyTorch: `agents.learning.networks.Residual`, evaluated by NumPy.

So the shipped networks play in a plain installation. With PyTorch, `agents.learning.evaluator` is
quicker.
"""

import math
import os
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from agents.core.reading import as_object, expect_regular, names_file, parse_json
from agents.core.structured import to_structure
from agents.learning.configuration import NetworkOptions
from agents.learning.planes import PlaneWriter
from agents.learning.saved import MOST_HEADER, NETWORK, SavedNetwork, checksum_of, game_of
from agents.registry import environment_makers
from hexenv.envs.observation import plane_names
from hexenv.games.base import Game

MOST_BYTES: Final = 1 << 30
"""Of a network's file."""
EPSILON: Final = 1e-5
"""That PyTorch adds to variances."""

Array: TypeAlias = NDArray[Any]
Weights: TypeAlias = Mapping[str, Array]


class PlainNetwork:
    """A residual network for inference: planes ``(N, rows, columns, K)`` to logits and values.

    Args:
        weights: By their names in PyTorch.
        options: Of a network of `kind` ``residual``.
        planes: The names of its planes, in order.
        num_actions: Of the game.

    Raises:
        ValueError: If the network is of another kind.
        KeyError: If a weight is missing.
    """

    def __init__(
        self, weights: Weights, options: NetworkOptions, planes: tuple[str, ...], num_actions: int
    ) -> None:
        if options.kind != "residual":
            raise ValueError(f"expected a residual network without PyTorch, got {options.kind}")
        self._weights, self._options, self._num_actions = weights, options, num_actions
        self._side = planes.index("side") if options.canonical else -1
        self._stem = _convolution(weights, "stem", "stem_norm")
        names = [f"blocks.{number}" for number in range(options.blocks)]
        self._blocks = [
            (
                _convolution(weights, f"{name}.first", f"{name}.first_norm"),
                _convolution(weights, f"{name}.second", f"{name}.second_norm"),
                f"{name}.whole" if f"{name}.whole.weight" in weights else "",
            )
            for name in names
        ]

    def __call__(self, planes: NDArray[Any]) -> tuple[Array, Array]:
        """Logits ``(N, num_actions)`` and values ``(N,)`` for the players to move."""
        x = planes.astype(np.float32)
        if self._side < 0:
            return self._judge(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))))
        rows, columns = x.shape[1:3]
        turned = (x[:, 0, 0, self._side] == 0)[:, None, None]
        logits, values = self._judge(self._with_border(x, turned))
        field = logits[:, : rows * columns].reshape(-1, rows, columns)
        field = np.where(turned, field.transpose(0, 2, 1), field).reshape(len(x), -1)
        return np.concatenate([field, logits[:, rows * columns :]], 1), values

    def _with_border(self, x: Array, turned: NDArray[np.bool_]) -> Array:
        """As the first player sees it, in a border of stones; see `networks.Canonical`."""
        x = np.where(turned[..., None], x.transpose(0, 2, 1, 3), x)
        x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        x[:, [0, -1], 1:-1, 0] = 1.0
        x[:, 1:-1, [0, -1], 1] = 1.0
        return np.delete(x, self._side, 3)

    def _judge(self, x: Array) -> tuple[Array, Array]:
        """Logits and values of planes with a border."""
        x = _relu(_filtered(x, *self._stem))
        for first, second, whole in self._blocks:
            y = _relu(_filtered(_padded(x), *first))
            if whole:
                y += self._linear(whole, _pooled(y))[:, None, None, :]
            x = _relu(x + _filtered(_padded(y), *second))
        p, v = _relu(self._linear("policy", x)), _relu(self._linear("value", x))
        if self._options.heads == "dense":
            logits, v = self._linear("logits", _flat(p)), _flat(v)
        else:
            field = self._linear("logits", p)[..., 0]
            is_by_column = self._num_actions < field[0].size
            logits = field.max(1) if is_by_column else field.reshape(len(x), -1)
            if "extra.weight" in self._weights:
                logits = np.concatenate([logits, self._linear("extra", _pooled(x))], 1)
            v = _pooled(v)
        hidden = _relu(self._linear("value_hidden", v))
        values = np.tanh(self._linear("value_out", hidden))[:, 0]
        return logits, values

    def _linear(self, name: str, x: Array) -> Array:
        """A dense layer, or a convolution of single cells, over the last axis."""
        weight = self._weights[f"{name}.weight"]
        return x @ weight.reshape(len(weight), -1).T + self._weights[f"{name}.bias"]


def _convolution(weights: Weights, name: str, norm: str) -> tuple[Array, Array]:
    """Weights ``(9 K, channels)`` and biases of a convolution, with the normalisation after it."""
    scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + EPSILON)
    bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale
    kernel = (weights[f"{name}.weight"] * scale[:, None, None, None]).transpose(2, 3, 1, 0)
    return np.ascontiguousarray(kernel.reshape(-1, kernel.shape[3])), bias


def _filtered(x: Array, kernel: Array, bias: Array) -> Array:
    """A convolution of 3 x 3 cells, of cells with a border."""
    windows = sliding_window_view(x, (3, 3), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
    shape = windows.shape[:3]
    return (windows.reshape(math.prod(shape), -1) @ kernel + bias).reshape(*shape, -1)


def _padded(x: Array) -> Array:
    return np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))


def _relu(x: Array) -> Array:
    return np.maximum(x, 0.0)


def _pooled(x: Array) -> Array:
    """Mean and maximum over the board."""
    return np.concatenate([x.mean((1, 2)), x.max((1, 2))], 1)


def _flat(x: Array) -> Array:
    """All numbers of each position, channel by channel, as PyTorch has them."""
    return x.transpose(0, 3, 1, 2).reshape(len(x), -1)


class PlainEvaluator(PlaneWriter):
    """Evaluates many positions of one game at once: an `agents.search.evaluator.Evaluator`."""

    def __init__(self, network: PlainNetwork, game: Game, planes: tuple[str, ...]) -> None:
        super().__init__(game, planes)
        self.title = type(network).__name__
        self._network = network

    def evaluate(self, game: Game, states: Any) -> tuple[Array, Array]:
        """Priors (softmax of the logits) and values for the player to move."""
        logits, values = self._network(self.planes_of(game, states))
        shares = np.exp(logits - logits.max(1, keepdims=True))
        return shares / shares.sum(1, keepdims=True), values


class PlainPolicy:
    """The policy of a network, for boards of any size; an `agents.policies.models.Policy`."""

    def __init__(self, network: PlainNetwork) -> None:
        self._network = network

    def __call__(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> tuple[Array, Array]:
        return self._network(planes)


# ---- files ---------------------------------------------------------------------------------------


def load_plain(path: str | os.PathLike[str]) -> SavedNetwork:
    """Read a network of `hexenv`, for a game of `hexenv`; nothing in the file is executed.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is damaged, or its network is not residual.
    """
    expect_regular(path)
    with open(path, "rb") as file:
        contents = file.read(MOST_BYTES + 1)
    try:
        texts, weights = _read_safetensors(contents)
        header = as_object(parse_json(texts.get("hexenv", "{}")))
        parts = {name: ("torch.float32", one.shape, one.data) for name, one in weights.items()}
        digest = checksum_of(texts.get("hexenv", ""), parts)
    except Exception as error:  # damaged data can raise anything
        raise ValueError(f"expected a network, got a damaged {path}: {error}") from error
    with names_file(path):
        NETWORK.read_head(header)
    if texts.get("sha256") != digest:
        raise ValueError(f"expected a network, got a damaged {path}: it has another checksum")
    try:
        options = to_structure(header["network"], NetworkOptions, "network")
        if header["game"] not in environment_makers():
            raise ValueError(f"expected a game of hexenv, got {header['game']}")
        game = game_of(header["game"], header["options"])
        planes = plane_names(game, tuple(options.planes))
        network = PlainNetwork(weights, options, planes, game.num_actions())
        return SavedNetwork(network, options, game, header["about"], str(path))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"expected a network in {path}: {error}") from error


def _read_safetensors(contents: bytes) -> tuple[Mapping[str, str], dict[str, Array]]:
    """Texts and weights of a file: https://huggingface.co/docs/safetensors."""
    length = int.from_bytes(contents[:8], "little")
    if length > MOST_HEADER or len(contents) > MOST_BYTES:
        raise ValueError(f"expected a header of at most {MOST_HEADER} bytes, got {length}")
    header = as_object(parse_json(contents[8 : 8 + length]))
    texts: Any = header.pop("__metadata__", {})
    weights: dict[str, Array] = {}
    for name, about in header.items():
        (first, last), shape = about["data_offsets"], tuple(about["shape"])
        if about["dtype"] != "F32" or not 0 <= first <= last <= len(contents) - 8 - length:
            raise ValueError(f"expected weights of float32 within the file, got {name}")
        part = np.frombuffer(contents, np.float32, (last - first) // 4, 8 + length + first)
        weights[name] = part.reshape(shape)
    return texts, weights
