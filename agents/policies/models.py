"""Models of learning libraries as policies. A library is imported when its model is given."""

import io
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agents.search.evaluator import PolicyError, checked
from hexenv.common.extras import library
from hexenv.common.messages import not_one_of, shortened

PolicyOutput = tuple[NDArray[np.float64], NDArray[np.float64] | None]
"""Logits ``(N, num_actions)`` and, or None, values ``(N,)`` in [-1, 1] for who is to move."""
Policy = Callable[[NDArray[Any], NDArray[np.int8]], PolicyOutput]
"""Called with planes ``(N, rows, columns, K)`` and masks ``(N, num_actions)``."""


SB3_LIBRARIES: Final = ("stable_baselines3", "sb3_contrib")


_IMPORTED_IN: Final = os.getpid()
"""The process that has imported PyTorch's models; another one is a fork of it."""


@contextmanager
def safe_threads(torch: Any, few_boards: bool = False) -> Generator[None]:
    """Run PyTorch in one thread for few boards, and in a forked process.

    For few boards more threads are slower. In a forked process they would never answer: it has no
    copy of the threads that PyTorch has started, but PyTorch waits for them.
    """
    before = torch.get_num_threads()
    is_one = before > 1 and (few_boards or os.getpid() != _IMPORTED_IN)
    if is_one:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if is_one:
            torch.set_num_threads(before)


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
        "another board, or other planes?"
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
    return read_sb3_policy(type(network), written, network.device)


class SB3Model:
    """The policy of a model or of its policy: an actor-critic's distribution and value, or a DQN.

    The value of a Q-network is the greatest of its legal actions. It is pickled, as `write` writes
    it, by what Stable-Baselines3 writes of a policy.
    """

    def __init__(self, model: Any) -> None:
        self._torch = library("torch", "torch")
        self.network: Any = getattr(model, "policy", model)
        network = self.network
        self._is_q_network = hasattr(network, "q_net")
        is_actor_critic = hasattr(network, "get_distribution")
        if not self._is_q_network and (not is_actor_critic or hasattr(network, "lstm_actor")):
            raise ValueError(f"expected an actor-critic or a DQN, got {type(model).__name__}")
        # The library's own policies give logits in a quarter of the time of a distribution.
        get = getattr(cast("Any", type(network)), "get_distribution", None)
        self._is_plain = getattr(get, "__module__", "").partition(".")[0] in SB3_LIBRARIES
        space = network.observation_space
        self._is_in_dictionary = "observation" in getattr(space, "spaces", {})
        self._boards: Any = space["observation"] if self._is_in_dictionary else space

    def __call__(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> PolicyOutput:
        tensors = self._seen(planes, masks)
        with self._torch.no_grad(), safe_threads(self._torch):
            if self._is_q_network:
                values = self.network.q_net(tensors).cpu().numpy()
                return values, np.where(masks != 0, values, -np.inf).max(axis=1)
            logits = self.network.get_distribution(tensors).distribution.logits
            values = self.network.predict_values(tensors)
        return logits.cpu().numpy(), values.cpu().numpy()

    def logits(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> NDArray[Any]:
        """The logits alone, but for a constant in each row: all that playing needs."""
        if not self._is_plain:
            return self(planes, masks)[0]
        tensors, network = self._seen(planes, masks), self.network
        with self._torch.no_grad(), safe_threads(self._torch):
            extract = library("stable_baselines3.common.policies", "sb3").BaseModel.extract_features
            features = extract(network, tensors, network.pi_features_extractor)
            found = network.action_net(network.mlp_extractor.forward_actor(features))
        return found.cpu().numpy()

    def _seen(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> Any:
        """The observation as the network takes it."""
        seen = fitted(planes, self._boards.shape).astype(self._boards.dtype)
        observation: Any = {"observation": seen, "action_mask": masks}
        tensors, _ = self.network.obs_to_tensor(observation if self._is_in_dictionary else seen)
        return tensors

    def __getstate__(self) -> dict[str, Any]:
        written = io.BytesIO()
        self.network.save(written)
        return {"class": type(self.network), "file": written.getvalue()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(read_sb3_policy(state["class"], io.BytesIO(state["file"])))


def read_sb3_policy(policy_class: Any, file: Any, device: Any = "cpu") -> Any:
    """A policy from what its own method `save` wrote, not in training."""
    network = policy_class.load(file, device=device)
    network.set_training_mode(False)
    return network


class TorchModule:
    """The policy of a PyTorch module; see `PolicyAgent.from_torch`."""

    def __init__(self, module: Any, channels_first: bool) -> None:
        library("torch", "torch")  # if it is not there, this says so now
        if isinstance(module, type) or not callable(module):
            raise ValueError(
                f"expected a module of PyTorch, got {shortened(module)} (NetworkAgent reads the "
                "files of hexenv train)"
            )
        self.module: Any = module
        self.channels_first = channels_first

    def __call__(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> PolicyOutput:
        if self.channels_first:
            planes = np.moveaxis(planes, -1, 1)
        torch = library("torch", "torch")
        with torch.no_grad(), safe_threads(torch):
            found = self.module(torch.as_tensor(np.ascontiguousarray(planes), dtype=torch.float32))
        is_pair = isinstance(found, (tuple, list))
        logits, values = cast("Any", found if is_pair else (found, None))
        return logits.cpu().numpy(), None if values is None else values.cpu().numpy()


class RLlibModule:
    """The policy of an RLlib checkpoint; see `PolicyAgent.from_rllib`."""

    def __init__(self, checkpoint: str | os.PathLike[str], module: str = "default_policy") -> None:
        rl_module = library("ray.rllib.core.rl_module.rl_module", "rllib")
        folder = Path(checkpoint).absolute()
        if not folder.is_dir():
            raise FileNotFoundError(
                f"expected the folder of a checkpoint, found none at {checkpoint}"
            )
        modules = folder / "learner_group" / "learner" / "rl_module"
        if modules.is_dir():  # of an algorithm, not of one module
            known = sorted(path.name for path in modules.iterdir() if path.is_dir())
            if module not in known:
                raise ValueError(f"{checkpoint}: {not_one_of('a module', known, module)}")
            folder = modules / module
        self._module = rl_module.RLModule.from_checkpoint(folder)
        self._shape = self._module.observation_space["observations"].shape

    def __call__(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> PolicyOutput:
        torch = library("torch", "torch")
        seen = torch.as_tensor(fitted(planes, self._shape).astype(np.float32))
        ones = torch.ones(masks.shape)  # the mask is applied by who asks
        batch = {"obs": {"observations": seen, "action_mask": ones}}
        with torch.no_grad(), safe_threads(torch):
            found = self._module.forward_inference(batch)
        return found["action_dist_inputs"].cpu().numpy(), None


class OneByOne:
    """The policy of a function of one position; see `PolicyAgent.from_function`."""

    def __init__(self, function: Callable[[Any, NDArray[np.int8]], Any]) -> None:
        self._function = function

    def __call__(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> PolicyOutput:
        logits = np.full(masks.shape, -np.inf)
        for row, (seen, mask) in enumerate(zip(planes, masks, strict=True)):
            action = np.asarray(self._function(seen, mask.copy()))  # it may write on what it gets
            legal = action.shape == () and action.dtype.kind in "iu"
            if not (legal and 0 <= action < mask.size and mask[action]):
                raise PolicyError(f"expected a legal action, got {action.tolist()!r}", row)
            logits[row, action] = 1.0
        return logits, None


class ByPriors:
    """The policy of a function of many positions; see `PolicyAgent.from_priors`."""

    def __init__(self, function: Callable[[NDArray[Any]], Any]) -> None:
        self._function = function

    def __call__(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> PolicyOutput:
        priors, values = checked(self._function(planes), masks.shape)
        logits = np.full(masks.shape, -np.inf)
        np.log(priors, where=priors > 0.0, out=logits)
        logits[(priors * masks).sum(axis=1) == 0.0] = 0.0  # as a search takes them: all alike
        return logits, values.astype(np.float64)
