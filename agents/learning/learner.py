"""The learner: a network, its optimiser, and the steps of training."""

# PyTorch's types are partly missing.
# pyright: reportUnknownMemberType=false

import inspect
import math
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from agents.learning.configuration import Configuration, LearningOptions
from agents.learning.evaluator import device_of
from agents.learning.files import load_weights, weights_of
from agents.learning.networks import new_network, reason
from agents.learning.replay import Batch
from agents.registry import import_named
from hexenv.common.messages import shortened
from hexenv.envs.observation import cell_symmetries
from hexenv.games.base import Game

OPTIMISERS: Final[dict[str, Any]] = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
}


class Learner:
    """A network in training, the moving `average` of its weights, which plays, and the `steps`."""

    def __init__(self, configuration: Configuration, game: Game) -> None:
        options = configuration.learner
        self.options = options
        self.device = torch.device(device_of(options.device, "learner.device"))
        self.network = new_network(game, configuration.network, configuration.seed).to(self.device)
        self.average = {name: value.clone() for name, value in self.weights().items()}
        self.optimiser = new_optimiser(self.network, options)
        self.steps = 0
        if options.symmetries:
            self._cells, self._actions = symmetries_of(game)
        on_cuda = self.device.type == "cuda"
        self._half = options.half and on_cuda and torch.cuda.is_bf16_supported()
        self._forward: Any = self.network
        if options.compile and on_cuda:
            self._forward = torch.compile(self.network)

    def weights(self) -> dict[str, Tensor]:
        """The weights of the network, not copied."""
        return weights_of(self.network)

    def playing_weights(self) -> dict[str, Tensor]:
        """A copy of the weights that play, on the CPU."""
        source = self.average if self.options.average > 0 else self.weights()
        return {name: value.detach().cpu().clone() for name, value in source.items()}

    def step(self, batch: Batch, progress: float, rng: np.random.Generator) -> dict[str, float]:
        """Take a step of training, with `progress` as the share of the run that is done, 0 to 1.

        Returns:
            The losses of the policy and the value, and how often the network's best action is also
            the search's.
        """
        options = self.options
        planes, policies = batch.planes, batch.policies
        if options.symmetries:
            planes, policies = self._in_random_symmetries(planes, policies, rng)
        seen, target = self._tensor(planes), self._tensor(policies)
        wanted = self._tensor(
            (1 - options.value_mix) * batch.outcomes + options.value_mix * batch.values
        )
        self.network.train()
        for group in self.optimiser.param_groups:
            group["lr"] = options.rate * self._rate(progress)
        self.optimiser.zero_grad()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._half):
            logits, values = self._forward(seen)
            policy_loss = self._policy_loss(logits.float(), target)
            value_loss = functional.mse_loss(values.float(), wanted)
            loss = policy_loss + options.value_weight * value_loss
        loss.backward()
        if options.clip > 0:
            nn.utils.clip_grad_norm_(self.network.parameters(), options.clip)
        self.optimiser.step()
        self.steps += 1
        self._update_average()
        agreement = (logits.argmax(1) == target.argmax(1)).float().mean()
        return {
            "policy_loss": policy_loss.item(),
            "value_loss": value_loss.item(),
            "learnt_agreement": agreement.item(),
        }

    def check(self) -> None:
        """Check that the weights are finite."""
        if not all(value.isfinite().all() for value in self.weights().values()):
            raise ValueError(
                f"expected finite weights after step {self.steps}, got others: learning diverges "
                "(learner.rate and learner.clip may be lowered when the run goes on from its last "
                "checkpoint)"
            )

    def _policy_loss(self, logits: Tensor, target: Tensor) -> Tensor:
        if self.options.policy_loss == "squared_error":
            return (torch.softmax(logits, 1) - target).square().sum(1).mean()
        # Less the entropy of the target, so that 0 is perfect.
        entropy = -torch.xlogy(target, target).sum(1)
        return (functional.cross_entropy(logits, target, reduction="none") - entropy).mean()

    def _rate(self, progress: float) -> float:
        """The factor of the learning rate: a linear warm-up times half a cosine."""
        rise = min(1.0, (self.steps + 1) / max(1, self.options.warmup))
        low = self.options.final_rate
        return rise * (low + (1 - low) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))

    def _update_average(self) -> None:
        """Move the average towards the weights, faster in the first steps."""
        decay = min(self.options.average, self.steps / (self.steps + 10))
        with torch.no_grad():
            for name, value in self.weights().items():
                if value.is_floating_point():
                    self.average[name].lerp_(value, 1 - decay)
                else:  # as tables of indices
                    self.average[name].copy_(value)

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, np.float32)).to(self.device)

    def _in_random_symmetries(
        self, planes: NDArray[np.int8], policies: NDArray[np.float32], rng: np.random.Generator
    ) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        picks = (rng.random(len(planes)) * len(self._cells)).astype(np.int64)
        flat = planes.reshape(len(planes), -1, planes.shape[-1])
        turned, moved = np.empty_like(flat), np.empty_like(policies)
        rows = np.arange(len(planes))[:, None]
        turned[rows, self._cells[picks]] = flat
        moved[rows, self._actions[picks]] = policies
        return turned.reshape(planes.shape), moved

    # ---- between processes -----------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The learner's part of a checkpoint."""
        return {
            "network": self.network.state_dict(),
            "average": self.average,
            "optimiser": self.optimiser.state_dict(),
            "steps": self.steps,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state of `state`."""
        load_weights(self.network, state["network"])
        self.average = {name: value.to(self.device) for name, value in state["average"].items()}
        self.optimiser.load_state_dict(state["optimiser"])
        self.steps = state["steps"]


# ---- its parts -----------------------------------------------------------------------------------


def new_optimiser(network: nn.Module, options: LearningOptions) -> torch.optim.Optimizer:
    """The optimiser of a network: one of PyTorch, or of a class or function of the user's own.

    The user's own is called with the parameters, ``lr`` and `optimiser_arguments`.

    Raises:
        ValueError: If it cannot be made, or is no optimiser that steps by itself.
    """
    arguments: dict[str, Any] = {"lr": options.rate}
    if options.optimiser in OPTIMISERS:
        make = OPTIMISERS[options.optimiser]
        arguments["weight_decay"] = options.weight_decay
        if options.optimiser in ("sgd", "rmsprop"):
            arguments["momentum"] = options.momentum
    else:
        make = import_named(*options.optimiser.split(":", 1))
    where = f"learner.optimiser {options.optimiser}"
    try:
        found = make(network.parameters(), **arguments | options.optimiser_arguments)
    except Exception as error:  # it is code of others
        raise ValueError(f"{where}: cannot make it: {reason(error)}") from error
    if not isinstance(found, torch.optim.Optimizer):
        raise ValueError(f"{where}: expected a torch.optim.Optimizer, got {shortened(found)}")
    for parameter in inspect.signature(found.step).parameters.values():
        if parameter.default is parameter.empty and parameter.kind <= 1:
            raise ValueError(f"{where}: expected step() without arguments, got {parameter.name}")
    return found


def symmetries_of(game: Game) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The symmetries of a game on its cells and on its actions."""
    try:
        return cell_symmetries(game), game.symmetries()
    except ValueError as error:
        raise ValueError(f"{error} (learner.symmetries=false trains without)") from None
