"""Networks for other programs: export, and a description.

An exported network is the one that plays, with normalisations folded into the convolutions. Its
input is ``planes``, ``(batch, rows, columns, K) float32`` as the player to move sees them; its
outputs are ``logits``, ``(batch, num_actions)``, and ``values``, ``(batch,)`` in [-1, 1] for that
player. The batch may have any size. The files contain `description`, which names the planes.
"""

import io
import json
import logging
import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.core.files import write_bytes
from agents.learning.configuration import as_dict
from agents.learning.evaluator import traced
from agents.learning.networks import folded, parameter_table
from agents.learning.saved import SavedNetwork
from agents.policies.network import NetworkAgent
from hexenv.common.extras import library
from hexenv.envs.observation import plane_names
from hexenv.games import base, notation
from hexenv.games.base import State

DESCRIPTION: Final = "hexenv"
"""The name of the description in a file's metadata."""


class EvaluatedPosition(NamedTuple):
    """What a network says of a position."""

    state: State
    policy: NDArray[np.float64]
    """``(num_actions,)``: probabilities, 0 where an action is illegal."""
    value: float
    """In [-1, 1], for the player to move."""


def description(saved: SavedNetwork) -> dict[str, Any]:
    """The description of a network, for JSON."""
    game = saved.game
    return {
        "game": game.name,
        "parameters": base.parameters(game),
        "planes": list(plane_names(game, tuple(saved.options.planes))),
        "rows": game.rows,
        "columns": game.columns,
        "num_actions": game.num_actions(),
        "weights": sum(count for _, _, count in parameter_table(saved.network)),
        "network": as_dict(saved.options),
        "about": saved.about,
    }


def evaluate_position(saved: SavedNetwork, moves: str = "") -> EvaluatedPosition:
    """What a network says of the position after these moves, as people write them."""
    game = saved.game
    state = notation.play(game, notation.parse_moves(game, moves))
    if game.is_terminal(state):
        raise ValueError(f"expected moves after which the game goes on, got {moves!r}")
    policy, values = NetworkAgent.from_saved(saved).evaluate(game, [state])
    return EvaluatedPosition(state, policy[0], float(values[0]))


def example(saved: SavedNetwork) -> Tensor:
    """Planes of two empty boards: with one, some exporters would fix the size of the batch."""
    game = saved.game
    planes = plane_names(game, tuple(saved.options.planes))
    return torch.zeros(2, game.rows, game.columns, len(planes))


@contextmanager
def quiet() -> Generator[None]:
    """Suppress PyTorch's warnings about its own deprecations and about optional packages."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def write_onnx(saved: SavedNetwork, path: str | os.PathLike[str]) -> None:
    """Write a network as an ONNX file, for ONNX Runtime and the like."""
    with quiet():
        for module in ("onnx", "onnxscript"):
            library(module, "train")
        program = cast("Any", torch.onnx).export(
            folded(saved.network),
            (example(saved),),
            input_names=["planes"],
            output_names=["logits", "values"],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            dynamo=True,
            verbose=False,
        )
        program.model.metadata_props[DESCRIPTION] = json.dumps(description(saved))
    write_bytes(path, program.model_proto.SerializeToString())


def write_torchscript(saved: SavedNetwork, path: str | os.PathLike[str]) -> None:
    """Write a network as a frozen TorchScript file, for ``torch.jit.load`` and C++."""
    planes = example(saved)
    graph = traced(folded(saved.network), planes.shape[-1], (saved.game.rows, saved.game.columns))
    if not isinstance(graph, torch.jit.ScriptModule):
        raise ValueError(f"expected a network that TorchScript can trace, got {saved.options.kind}")
    buffer = io.BytesIO()
    with quiet():
        compiler: Any = torch.jit
        about = {f"{DESCRIPTION}.json": json.dumps(description(saved))}
        compiler.save(compiler.freeze(graph), buffer, about)
    write_bytes(path, buffer.getvalue())


def write_graph(saved: SavedNetwork, directory: str | os.PathLike[str]) -> None:
    """Add the graph of a network to a directory of TensorBoard."""
    with quiet():
        library("tensorboard", "train")
        new_writer = library("torch.utils.tensorboard", "train").SummaryWriter
        with new_writer(str(directory)) as writer:
            writer.add_graph(saved.network, example(saved))
