"""Models of learning libraries as policies. A library is imported when its model is given."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.extras import library

PolicyOutput = tuple[NDArray[np.float64], NDArray[np.float64] | None]
"""Logits ``(N, num_actions)`` and, or None, values ``(N,)`` in [-1, 1] for who is to move."""
Policy = Callable[[NDArray[Any], NDArray[np.int8]], PolicyOutput]
"""Called with planes ``(N, rows, columns, K)`` and masks ``(N, num_actions)``."""


class PolicyError(ValueError):
    """A policy's answer that cannot be played; `row` is the board of the batch."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


def fitted(planes: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Planes ``(N, rows, columns, K)`` in the shape of a model's observation."""
    seen = planes.shape[1:]
    if seen == shape:
        return planes
    if seen[-1:] + seen[:-1] == shape:
        return np.moveaxis(planes, -1, 1)
    if shape == (int(np.prod(seen)),):
        return planes.reshape(len(planes), -1)
    raise PolicyError(
        f"expected a position to be seen as {shape}, as in training, got {seen}: "
        "another board, or other planes?",
        0,
    )


def load_sb3(path: str | os.PathLike[str], algorithm: str) -> Any:
    """Read a model's file."""
    if not any(Path(f"{path}{end}").exists() for end in ("", ".zip")):
        raise FileNotFoundError(f"expected the file of a model, found none at {path}")
    for name in ("sb3_contrib", "stable_baselines3"):
        found = getattr(library(name, "sb3"), algorithm, None)
        if hasattr(found, "load"):
            model = cast("Any", found).load(path, device="cpu")
            model.policy.set_training_mode(False)
            return model
    raise ValueError(f"expected an algorithm of Stable-Baselines3, got {algorithm!r}")


def copy_of_sb3(model: Any) -> Any:
    """A copy of a model's policy; what it has last computed keeps `copy.deepcopy` from it."""
    network: Any = getattr(model, "policy", model)
    written = io.BytesIO()
    network.save(written)
    written.seek(0)
    copy = cast("Any", type(network)).load(written, device=network.device)
    copy.set_training_mode(False)
    return copy


def sb3_policy(model: Any) -> Policy:
    """The policy of a model or of its policy: an actor-critic's distribution and value, or a DQN.

    The value of a Q-network is the greatest of its legal actions.
    """
    torch = library("torch", "torch")
    network = getattr(model, "policy", model)
    is_actor_critic = hasattr(network, "get_distribution") and not hasattr(network, "lstm_actor")
    if not (is_actor_critic or hasattr(network, "q_net")):
        raise ValueError(f"expected an actor-critic or a DQN, got {type(model).__name__}")
    space = model.observation_space
    boards = space["observation"] if "observation" in getattr(space, "spaces", {}) else space

    def policy(planes: NDArray[Any], masks: NDArray[np.int8]) -> PolicyOutput:
        seen = fitted(planes, boards.shape).astype(boards.dtype)
        observation: Any = seen
        if boards is not space:
            observation = {"observation": seen, "action_mask": masks}
        with torch.no_grad():
            tensors, _ = network.obs_to_tensor(observation)
            if hasattr(network, "q_net"):
                values = network.q_net(tensors).cpu().numpy()
                return values, np.where(masks != 0, values, -np.inf).max(axis=1)
            logits = network.get_distribution(tensors).distribution.logits
            values = network.predict_values(tensors)
        return logits.cpu().numpy(), values.cpu().numpy()

    return policy


def torch_policy(module: Any, channels_first: bool) -> Policy:
    """The policy of a PyTorch module; see `PolicyAgent.from_torch`."""
    torch = library("torch", "torch")

    def policy(planes: NDArray[Any], masks: NDArray[np.int8]) -> PolicyOutput:
        if channels_first:
            planes = np.moveaxis(planes, -1, 1)
        with torch.no_grad():
            found = module(torch.as_tensor(np.ascontiguousarray(planes), dtype=torch.float32))
        is_pair = isinstance(found, (tuple, list))
        logits, values = cast("Any", found if is_pair else (found, None))
        return logits.cpu().numpy(), None if values is None else values.cpu().numpy()

    return policy


def rllib_policy(checkpoint: str | os.PathLike[str]) -> Policy:
    """The policy of an RLlib checkpoint; see `PolicyAgent.from_rllib`."""
    torch = library("torch", "torch")
    rl_module = library("ray.rllib.core.rl_module.rl_module", "rllib")

    folder = Path(checkpoint).absolute()
    if not folder.is_dir():
        raise FileNotFoundError(f"expected the folder of a checkpoint, found none at {checkpoint}")
    inner = folder / "learner_group" / "learner" / "rl_module" / "default_policy"
    module = rl_module.RLModule.from_checkpoint(inner if inner.exists() else folder)
    shape = module.observation_space["observations"].shape

    def policy(planes: NDArray[Any], masks: NDArray[np.int8]) -> PolicyOutput:
        seen = torch.as_tensor(fitted(planes, shape).astype(np.float32))
        ones = torch.ones(masks.shape)  # the mask is applied by who asks
        with torch.no_grad():
            found = module.forward_inference({"obs": {"observations": seen, "action_mask": ones}})
        return found["action_dist_inputs"].cpu().numpy(), None

    return policy
