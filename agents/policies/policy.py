"""Learned policies as agents: from Stable-Baselines3, PyTorch, RLlib, or any function.

Examples:
    >>> from agents import PolicyAgent
    >>> agent = PolicyAgent.from_function(lambda observation, mask: int(mask.argmax()))

They enter matches, tournaments and accuracy like any agent (``sb3:path=model.zip`` on the command
line), play the other side in training, and lead a search: see `agents.mcts.puct`.
"""

import copy
import inspect
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import SeededAgent
from agents.core.options import NonNegative
from agents.planning.environment import action_mask, check_in_play
from agents.policies.models import (
    ByPriors,
    OneByOne,
    Policy,
    PolicyOutput,
    RLlibModule,
    SB3Model,
    TorchModule,
    copy_of_sb3,
    load_sb3,
)
from agents.registry import make_agent
from agents.search.evaluator import Evaluator, PolicyError, position_text, refuse
from hexenv.common.messages import shortened
from hexenv.compiled import announced
from hexenv.envs.aec import AGENTS, BoardEnv
from hexenv.envs.observation import plane_names, planes_of
from hexenv.games.base import Game, State

LARGEST_CRITIC: Final = 2.0
"""The greatest size of a policy's value in a search: no regression of results from -1 to 1 that
has learnt something is further off."""


class PolicyAgent(SeededAgent):
    r"""Plays what a policy says, of the legal actions.

    It is an agent, and as well an opponent for many boards at once: ``agent(observations, masks)``
    are actions.

    Examples:
        >>> from hexenv import tictactoe_v0
        >>> agent = PolicyAgent.from_function(lambda observation, mask: int(mask.argmax()))
        >>> env = tictactoe_v0.env()
        >>> env.reset()
        >>> agent.act(env)
        0

    Formula:
        $$\pi(a) \propto e^{\ell(a) / T}$$

        $\ell(a)$ is the policy's logit of a legal action, $T$ the `temperature`; with 0 the action
        with the highest logit is played.

    Args:
        policy: The policy; see `Policy`. The class methods make one of models.
        temperature: 0: the action with the highest logit; else actions are drawn with probabilities
            in proportion to ``exp(logit / temperature)``.
        seed: Of the random stream; None: a different one each time.
        planes: Names of the planes that the policy was trained with besides the game's own (see
            `hexenv.envs.aec.ViewOptions`); None: it sees what the environment shows.
        title: What to call it in messages, and among opponents.

    Attributes:
        policy: As given.
        own_planes: The `planes` that were given.
    """

    def __init__(
        self,
        policy: Policy,
        temperature: NonNegative = 0.0,
        seed: int | None = None,
        planes: tuple[str, ...] | None = None,
        title: str = "policy",
    ) -> None:
        super().__init__(seed)
        if not callable(policy) or is_torch_module(policy):
            raise ValueError(
                "expected a policy, a function of planes and masks (PyTorch modules: from_torch), "
                f"got {shortened(policy)}"
            )
        self.temperature = temperature
        self.title = title
        self.policy = policy
        self.own_planes = planes
        self._view: BoardEnv | None = None
        self._shown: BoardEnv | None = None

    def __getstate__(self) -> dict[str, Any]:
        not_kept = {"_view": None, "_shown": None}  # who plays with it shows them anew
        return {**super().__getstate__(), **not_kept}

    # ---- of what it can be made ------------------------------------------------------------------

    @classmethod
    def from_sb3(
        cls, model: Any, algorithm: str = "MaskablePPO", frozen: bool = False, **options: Any
    ) -> "PolicyAgent":
        """Of a model of Stable-Baselines3 or sb3-contrib that was trained on our environments.

        Args:
            model: The model, or the path of its file. (Such a file is read by pickle, which may run
                code: open none that you do not trust.)
            algorithm: The class that reads the file.
            frozen: Whether to take a copy of the model as it is now, which learns no more: an
                opponent from its own past.
            **options: Arguments of `PolicyAgent`.
        """
        options.setdefault("title", "sb3")
        if isinstance(model, (str, os.PathLike)):
            model = load_sb3(cast("str | os.PathLike[str]", model), algorithm)
        return cls(SB3Model(copy_of_sb3(model) if frozen else model), **options)

    @classmethod
    def from_torch(
        cls, module: Any, channels_first: bool = False, frozen: bool = False, **options: Any
    ) -> "PolicyAgent":
        """Of a PyTorch module that returns logits, or a pair of logits and values.

        Args:
            module: Called with a float32 tensor ``(N, rows, columns, K)``, without gradients and in
                whatever mode, training or not, it is in.
            channels_first: With ``(N, K, rows, columns)`` instead.
            frozen: Whether to take a copy of the module as it is now, in evaluation mode, which
                learns no more.
            **options: Arguments of `PolicyAgent`.
        """
        options.setdefault("title", type(module).__name__)
        if frozen:
            module = copy.deepcopy(module).eval()
        return cls(TorchModule(module, channels_first), **options)

    @classmethod
    def from_rllib(
        cls, checkpoint: str | os.PathLike[str], module: str = "default_policy", **options: Any
    ) -> "PolicyAgent":
        """Of an RLlib checkpoint (new API stack) of a module made by `hexenv.adapters.rllib`.

        It gives no values.

        Args:
            checkpoint: The folder of an algorithm's checkpoint, or of one of its modules. (RLlib
                reads it by pickle, which may run code: open none that you do not trust.)
            module: Which of the algorithm's modules, where there are several.
            **options: Arguments of `PolicyAgent`.
        """
        options.setdefault("title", "rllib")
        return cls(RLlibModule(checkpoint, module), **options)

    @classmethod
    def from_function(
        cls, function: Callable[[Any, NDArray[np.int8]], Any], **options: Any
    ) -> "PolicyAgent":
        """Of a function ``f(planes, mask) -> action``, asked for one board at a time.

        It gets planes ``(rows, columns, K)`` and a mask ``(num_actions,)``. A temperature makes no
        difference, as all other actions have a probability of 0.
        """
        if not callable(function):
            raise ValueError(f"expected a function of planes and a mask, got {function!r}")
        options.setdefault("title", getattr(function, "__name__", "function"))
        return cls(OneByOne(function), **options)

    @classmethod
    def from_priors(cls, function: Callable[[NDArray[Any]], Any], **options: Any) -> "PolicyAgent":
        """Of a function ``f(planes) -> (priors, values)``, asked for many positions at once.

        It gets planes ``(N, rows, columns, K)``, as those to move see them. Priors are
        ``(N, num_actions)``, finite and at least 0, such as probabilities: those of illegal actions
        are ignored, and the others are scaled to add up to 1. Values are ``(N,)``, from -1 (lost)
        to 1 for those to move. Both may be arrays, lists, or tensors of PyTorch. (A function that
        returns logits is a `Policy`: give it to `PolicyAgent` itself.)
        """
        try:
            inspect.signature(function).bind(None)
        except TypeError as error:
            raise ValueError(
                f"expected a function of planes, which returns priors and values, got "
                f"{shortened(function)}: {error} (PolicyAgent itself takes one of planes and masks)"
            ) from None
        options.setdefault("title", getattr(function, "__name__", "function"))
        return cls(ByPriors(function), **options)

    # ---- as an agent -----------------------------------------------------------------------------

    def see_as(self, env: Any) -> None:
        """Expect positions and observations as this environment shows them, if it is one of ours.

        Searches and vector environments call it, as their positions and observations do not say.
        """
        env = env.unwrapped
        if not isinstance(env, BoardEnv):
            return
        if self._shown is None or self._shown.planes != env.planes:
            self._view = None
        self._shown = env

    def sees_moves(self) -> bool:
        """Whether equal positions may look different to it, by the last move."""
        return "last_move" in self._plane_names()

    def _plane_names(self) -> tuple[str, ...]:
        """Its own planes, or those that it is shown."""
        shown = self._shown.planes if self._shown is not None else ()
        return shown if self.own_planes is None else self.own_planes

    @announced
    def act(self, env: Any) -> int:
        """The policy's action for the agent to move.

        Raises:
            ValueError: Naming the agent and the position, if the policy fails, or its answer is of
                another shape, not finite, or an illegal action.
        """
        check_in_play(env)
        planes, mask = self._seen(env)
        with self._named_in(env):
            return int(self._choose(planes[None], mask[None])[0])

    def judge(self, env: Any) -> tuple[NDArray[np.float64], float | None]:
        """What the policy thinks of a position, whatever the `temperature`.

        Returns:
            ``(num_actions,)``: the probabilities of the actions, 0 for illegal ones; and the value
            for the agent to move, -1 to 1, or None where the policy has none.

        Raises:
            ValueError: As `act`.
        """
        check_in_play(env)
        planes, mask = self._seen(env)
        with self._named_in(env):
            logits, values = self._checked_output(planes[None], mask[None])
        value = None if values is None else float(np.clip(values[0], -1.0, 1.0))
        return softmax(logits)[0], value

    @contextmanager
    def _named_in(self, env: Any) -> Generator[None]:
        """Let errors of the policy name the agent and the position."""
        try:
            yield
        except PolicyError as error:
            raise PolicyError(f"{self.title}: {error}{position_of(env)}", error.row) from error

    def _seen(self, env: Any) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """What the policy sees of an environment: planes ``(rows, columns, K)``, and the mask."""
        raw = env.unwrapped
        if self.own_planes is not None and isinstance(raw, BoardEnv):
            planes, _ = self._seen_at(raw.game, raw.state)
        else:
            planes = planes_of(env.last()[0])
            if isinstance(raw, BoardEnv) and raw.channels_first:
                planes = np.moveaxis(planes, -3, -1)
        return planes, action_mask(env).astype(np.int8)

    def _seen_at(self, game: Game, state: State) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """What the player to move sees of a position: planes, and the mask."""
        view = self._view
        if view is None or view.game is not game:
            planes = self._plane_names()
            view = BoardEnv(game, game.name, planes=planes, mask_in="observation")
            view.begin_at(state, ())  # from here on it has its machine code, and its clones have
            self._view = view
        view = view.clone()  # as several threads may search
        view.begin_at(state, ())
        seen: Any = view.observe(AGENTS[game.to_play(state)])
        return seen["observation"], seen["action_mask"]

    def sees_as_shown(self, env: BoardEnv) -> bool:
        """Whether the observations of an environment have the planes that it was trained with."""
        return self.own_planes is None or plane_names(env.game, self.own_planes) == env.planes

    def __call__(self, observations: Any, masks: NDArray[np.int8]) -> NDArray[np.int64]:
        """Actions for many boards.

        Args:
            observations: As a vector environment gives them, for those who are to move: planes
                ``(N, rows, columns, K)``, or as the environment of `see_as` shows them, or a
                dictionary with these under ``"observation"``.
            masks: ``(N, num_actions)``.

        Returns:
            ``(N,)`` legal actions.

        Raises:
            ValueError: As `act`, naming the row; or if the observations have other planes than it
                was made for.
        """
        planes, shown = planes_of(observations), self._shown
        if shown is not None and not self.sees_as_shown(shown):
            wanted = plane_names(shown.game, self.own_planes or ())
            raise ValueError(
                f"{self.title}: expected boards with planes of {', '.join(wanted)}, "
                f"got {', '.join(shown.planes)}"
            )
        if shown is not None and shown.channels_first:
            planes = np.moveaxis(planes, -3, -1)
        try:
            return self._choose(planes, masks)
        except PolicyError as error:
            raise PolicyError(f"{self.title}: {error} (row {error.row})", error.row) from error

    # ---- the policy's answers --------------------------------------------------------------------

    def _choose(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> NDArray[np.int64]:
        logits, _ = self._checked_output(planes, masks, to_play=True)
        if self.temperature > 0.0:  # the greatest of logits with Gumbel noise: a draw from softmax
            logits -= np.max(logits, axis=1, keepdims=True)
            with np.errstate(over="ignore"):  # to -inf, as the temperature goes to 0
                logits = logits / self.temperature
            logits += cast("NDArray[np.float64]", self._rng.gumbel(size=logits.shape))
        return np.argmax(logits, axis=1)

    def _checked_output(
        self, planes: NDArray[Any], masks: NDArray[np.int8], to_play: bool = False
    ) -> PolicyOutput:
        """The policy's logits, -inf where an action is illegal, and its values; checked.

        `to_play` needs no values.
        """
        legal = np.asarray(masks) != 0
        refuse(~legal.any(axis=1), "expected a mask with a legal action in it")
        logits, values = self._output(planes, masks, to_play)
        if logits.shape != legal.shape:
            raise PolicyError(f"expected logits of shape {legal.shape}, got {logits.shape}", 0)
        refuse(np.isnan(logits), "expected logits that are numbers", logits)
        logits[~legal] = -np.inf
        refuse(np.isposinf(logits), "expected logits that are finite or -inf", logits)
        lacking = ~np.isfinite(logits).any(axis=1)
        refuse(lacking, "expected a finite logit for a legal action")
        if values is not None:
            values = values.reshape(-1)
            if values.shape != legal.shape[:1]:
                raise PolicyError(f"expected {len(legal)} values, got {len(values)}", 0)
            refuse(~np.isfinite(values), "expected finite values", values)
        return logits, values

    def _output(self, planes: NDArray[Any], masks: NDArray[np.int8], to_play: bool) -> PolicyOutput:
        """The policy's answer, as arrays."""
        logits_of = getattr(self.policy, "logits", None) if to_play else None
        try:
            if logits_of is not None:
                return np.array(logits_of(planes, masks), np.float64), None
            answer: Any = self.policy(planes, masks)
        except PolicyError:
            raise
        except Exception as error:  # whatever it is, the agent and the position are to be named
            raise PolicyError(f"its policy failed: {type(error).__name__}: {error}", 0) from error
        try:
            logits, values = answer
            logits = np.array(logits, np.float64)
            return logits, None if values is None else np.asarray(values, np.float64)
        except (TypeError, ValueError):
            kind = type(answer).__name__
            raise PolicyError(f"expected logits and values (or None), got {kind}", 0) from None

    # ---- in a search -----------------------------------------------------------------------------

    def evaluate(self, game: Any, states: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Its priors (softmax of the logits) and values of positions in a search.

        It is an `agents.search.evaluator.Evaluator`. Values are 0 where the policy has none. Those
        of a critic may be somewhat beyond -1 and 1, and are cut off there; one beyond
        `LARGEST_CRITIC` is refused.
        """
        seen = [
            self._seen(state.env) if hasattr(state, "env") else self._seen_at(game, state)
            for state in states  # with an `env`, they are those of a foreign environment
        ]
        planes, masks = (np.stack(part) for part in zip(*seen, strict=True))
        try:
            logits, values = self._checked_output(planes, masks)
            if values is not None:
                beyond = np.abs(values) > LARGEST_CRITIC
                refuse(beyond, "expected values from -1 to 1", values)
        except PolicyError as error:
            state = states[error.row]
            env = getattr(state, "env", None)
            where = f" ({position_text(game, state)})" if env is None else position_of(env)
            raise PolicyError(f"{self.title}: {error}, in a search{where}", error.row) from error
        if values is None:
            values = np.zeros(len(states))
        return softmax(logits), np.clip(values, -1.0, 1.0)


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities in each row, from logits of which some may be -inf."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def is_torch_module(value: Any) -> bool:
    """Whether it is a PyTorch module; if there is one, PyTorch has been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def as_evaluator(given: Any) -> Evaluator:
    """The evaluator that a user gives to a search, by its name or as what it is made of.

    Args:
        given: An evaluator, the name of an agent that is one (``"network:net=connect4"``), a
            PyTorch module as of `PolicyAgent.from_torch`, or a function as of
            `PolicyAgent.from_priors`.

    Raises:
        ValueError: If it is none of these.
    """
    found: Any = make_agent(given) if isinstance(given, str) else given
    if isinstance(found, type) or not (hasattr(found, "evaluate") or callable(found)):
        raise ValueError(
            "expected an evaluator, the name of a policy (such as sb3), a PyTorch module, or a "
            f"function of a batch of planes, got {shortened(given)}"
        )
    if hasattr(found, "evaluate"):
        return cast("Evaluator", found)
    make = PolicyAgent.from_torch if is_torch_module(found) else PolicyAgent.from_priors
    return make(found)


def position_of(env: Any) -> str:
    """Where a game is, for a message."""
    raw = env.unwrapped
    if isinstance(raw, BoardEnv):
        return f" (ply {raw.state.ply}, after {raw.moves!r})"
    return f" ({env.agent_selection} to move in {env})"


# ---- by name -------------------------------------------------------------------------------------


def names_of(planes: str | None) -> tuple[str, ...] | None:
    """The names of planes that are joined by ``+``."""
    return None if planes is None else tuple(planes.split("+"))


class SB3Policy(PolicyAgent):
    """A model of Stable-Baselines3 or sb3-contrib from its file (extra `sb3`).

    Args:
        path: The file. (It is read by pickle, which may run code: open none that you do not trust.)
        algorithm: The class that wrote it.
        temperature: See `PolicyAgent`.
        seed: See `PolicyAgent`.
        planes: See `PolicyAgent`; names joined by ``+``.
    """

    name = "sb3"

    def __init__(
        self,
        path: str,
        algorithm: str = "MaskablePPO",
        temperature: float = 0.0,
        seed: int | None = None,
        planes: str | None = None,
    ) -> None:
        policy = SB3Model(load_sb3(path, algorithm))
        super().__init__(policy, temperature, seed, names_of(planes), f"sb3:path={path}")


class RLlibPolicy(PolicyAgent):
    """A module of RLlib from its checkpoint (extra `rllib`).

    Args:
        path: The folder of the checkpoint. (RLlib reads it by pickle, which may run code: open none
            that you do not trust.)
        temperature: See `PolicyAgent`.
        seed: See `PolicyAgent`.
        planes: See `PolicyAgent`; names joined by ``+``.
        module: Which module of an algorithm's checkpoint, where there are several.
    """

    name = "rllib"

    def __init__(
        self,
        path: str,
        temperature: float = 0.0,
        seed: int | None = None,
        planes: str | None = None,
        module: str = "default_policy",
    ) -> None:
        policy = RLlibModule(path, module)
        super().__init__(policy, temperature, seed, names_of(planes), f"rllib:path={path}")
