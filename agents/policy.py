"""Learned policies as agents: from Stable-Baselines3, PyTorch, RLlib, or any function.

>>> from agents import PolicyAgent
>>> agent = PolicyAgent.from_function(lambda observation, mask: int(mask.argmax()))

They enter matches, tournaments and accuracy like any agent (``sb3:path=model.zip`` on the command
line), play the other side in training, and lead a search: see `agents.puct`.
"""

import os
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agents.agent import Statistics, check_in_play
from agents.models import (
    Judgement,
    Policy,
    PolicyError,
    copy_of_sb3,
    load_sb3,
    rllib_policy,
    sb3_policy,
    torch_policy,
)
from agents.options import number_within
from agents.search.foreign import action_mask
from agents.search.puct import Assessment
from hexenv.aec import AGENTS, BoardEnv, planes_of
from hexenv.games.base import Game, State, legal_mask_of


class PolicyAgent:
    """Plays what a policy says, of the legal actions.

    It is an agent, and as well an opponent for many boards at once: ``agent(observations, masks)``
    are actions.

    Args:
        policy: The policy; see `Policy`. The class methods make one of models.
        temperature: 0: the action with the highest logit; else actions are drawn with probabilities
            in proportion to ``exp(logit / temperature)``.
        seed: Of the random stream; None for an unforeseeable one.
        planes: Names of the planes that the policy was trained with besides the game's own (see
            `hexenv.aec.ViewOptions`); None: it sees what the environment shows.
        title: What to call it in messages.
    """

    statistics: Statistics | None = None

    def __init__(
        self,
        policy: Policy,
        temperature: float = 0.0,
        seed: int | None = None,
        planes: tuple[str, ...] | None = None,
        title: str = "policy",
    ) -> None:
        self.temperature = number_within("temperature", temperature)
        self.title = title
        self._policy = policy
        self._planes = planes
        self._rng = np.random.default_rng(seed)
        self._view: BoardEnv | None = None

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
        return cls(sb3_policy(copy_of_sb3(model) if frozen else model), **options)

    @classmethod
    def from_torch(cls, module: Any, channels_first: bool = False, **options: Any) -> "PolicyAgent":
        """Of a PyTorch module that returns logits, or a pair of logits and values.

        Args:
            module: Called with a float32 tensor ``(N, rows, columns, K)``, without gradients and in
                whatever mode, training or not, it is in.
            channels_first: With ``(N, K, rows, columns)`` instead.
            **options: Arguments of `PolicyAgent`.
        """
        options.setdefault("title", type(module).__name__)
        return cls(torch_policy(module, channels_first), **options)

    @classmethod
    def from_rllib(cls, checkpoint: str | os.PathLike[str], **options: Any) -> "PolicyAgent":
        """Of an RLlib checkpoint (new API stack) of a module made by `hexenv.adapters.rllib`.

        Args:
            checkpoint: The folder of an algorithm's checkpoint, or of its module's.
            **options: Arguments of `PolicyAgent`.
        """
        options.setdefault("title", "rllib")
        return cls(rllib_policy(checkpoint), **options)

    @classmethod
    def from_function(
        cls, function: Callable[[Any, NDArray[np.int8]], Any], **options: Any
    ) -> "PolicyAgent":
        """Of a function ``f(planes, mask) -> action``, asked for one board at a time.

        Args:
            function: Called with planes ``(rows, columns, K)`` and a mask ``(num_actions,)``.
            **options: Arguments of `PolicyAgent`.
        """
        options.setdefault("title", getattr(function, "__name__", "function"))

        def policy(planes: NDArray[Any], masks: NDArray[np.int8]) -> Judgement:
            logits = np.zeros(masks.shape)
            for row, (seen, mask) in enumerate(zip(planes, masks, strict=True)):
                action = np.asarray(function(seen, mask))
                legal = action.shape == () and action.dtype.kind in "iu"
                if not (legal and 0 <= action < mask.size and mask[action]):
                    raise PolicyError(f"expected a legal action, got {action.tolist()!r}", row)
                logits[row, action] = 1.0
            return logits, None

        return cls(policy, **options)

    # ---- as an agent -----------------------------------------------------------------------------

    def reset(self, seed: int | None = None) -> None:
        """With a seed, start the random stream anew."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)

    def act(self, env: Any) -> int:
        """The policy's action for the agent to move.

        Raises:
            ValueError: Naming the agent and the position, if the policy's answer is of another
                shape, not finite, or an illegal action.
        """
        check_in_play(env)
        planes, mask = self._seen(env)
        try:
            return int(self._choose(planes[None], mask[None])[0])
        except PolicyError as error:
            raise ValueError(f"{self.title}: {error}{position_of(env)}") from None

    def _seen(self, env: Any) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """What the policy sees of an environment: planes ``(rows, columns, K)``, and the mask."""
        raw = env.unwrapped
        if self._planes is not None and isinstance(raw, BoardEnv):
            planes = self._planes_of(raw.game, raw.state)
        else:
            planes = planes_of(env.last()[0])
            if isinstance(raw, BoardEnv) and raw.channels_first:
                planes = np.moveaxis(planes, -3, -1)
        return planes, action_mask(env).astype(np.int8)

    def _planes_of(self, game: Game, state: State) -> NDArray[Any]:
        """What the player to move sees of a position, with the planes asked for."""
        if self._view is None or self._view.game is not game:
            self._view = BoardEnv(game, game.name, planes=self._planes or (), mask_in="info")
        self._view.begin_at(state, ())
        return np.asarray(self._view.observe(AGENTS[game.to_play(state)]))

    def __call__(self, observations: Any, masks: NDArray[np.int8]) -> NDArray[np.int64]:
        """Actions for many boards.

        Args:
            observations: As a vector environment gives them, for those who are to move: planes
                ``(N, rows, columns, K)``, or a dictionary with these under ``"observation"``.
            masks: ``(N, num_actions)``.

        Returns:
            ``(N,)`` legal actions.

        Raises:
            ValueError: As `act`, naming the row.
        """
        try:
            return self._choose(planes_of(observations), masks)
        except PolicyError as error:
            raise ValueError(f"{self.title}: {error} (row {error.row})") from None

    def _choose(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> NDArray[np.int64]:
        logits, _ = self._judge(planes, masks)
        if self.temperature > 0.0:  # the greatest of logits with Gumbel noise: a draw from softmax
            logits = logits / self.temperature + self._rng.gumbel(size=logits.shape)
        return logits.argmax(axis=1)

    def _judge(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> Judgement:
        """The policy's logits, -inf where an action is illegal, and its values; checked."""
        legal = np.asarray(masks) != 0
        for row in np.flatnonzero(~legal.any(axis=1)).tolist():
            raise PolicyError("expected a mask with a legal action in it, got none", row)
        logits, values = self._policy(planes, masks)
        logits = np.array(logits, np.float64)
        if logits.shape != legal.shape:
            raise PolicyError(f"expected logits of shape {legal.shape}, got {logits.shape}", 0)
        for row in np.flatnonzero(np.isnan(logits).any(axis=1)).tolist():
            raise PolicyError("expected logits that are numbers, got NaN", row)
        logits[~legal] = -np.inf
        for row in np.flatnonzero(~np.isfinite(logits.max(axis=1))).tolist():
            raise PolicyError("expected a finite logit for a legal action, got none", row)
        if values is not None:
            values = np.asarray(values, np.float64).reshape(-1)
            if values.shape != legal.shape[:1] or not np.isfinite(values).all():
                raise PolicyError(f"expected {len(legal)} finite values, got {values}", 0)
        return logits, values

    # ---- in a search -----------------------------------------------------------------------------

    def assessment(self) -> Assessment:
        """Its priors (softmax of the logits) and values, for `agents.search.puct`.

        The value is 0 where the policy has none.
        """

        def assess(game: Any, state: Any) -> tuple[NDArray[np.float64], float]:
            env = getattr(state, "env", None)  # over a foreign environment
            if env is not None:
                planes, mask = self._seen(env)
            else:
                planes, mask = self._planes_of(game, state), legal_mask_of(game, state)
            try:
                logits, values = self._judge(planes[None], mask[None])
            except PolicyError as error:
                raise ValueError(f"{self.title}: {error}, in a search") from None
            priors = np.exp(logits[0] - logits[0].max())
            value = 0.0 if values is None else float(np.clip(values[0], -1.0, 1.0))
            return priors / priors.sum(), value

        return Assessment(assess)


def position_of(env: Any) -> str:
    """Where a game is, for a message."""
    raw = env.unwrapped
    return f" (ply {raw.state.ply}, after {raw.moves!r})" if isinstance(raw, BoardEnv) else ""


# ---- by name -------------------------------------------------------------------------------------


class SB3Policy(PolicyAgent):
    """A model of Stable-Baselines3 or sb3-contrib from its file (extra `sb3`).

    Args:
        path: The file. (It is read by pickle, which may run code: open none that you do not trust.)
        algorithm: The class that wrote it.
        temperature: See `PolicyAgent`.
        seed: See `PolicyAgent`.
    """

    name = "sb3"

    def __init__(
        self,
        path: str,
        algorithm: str = "MaskablePPO",
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> None:
        policy = sb3_policy(load_sb3(path, algorithm))
        super().__init__(policy, temperature, seed, title=f"sb3:path={path}")


class RLlibPolicy(PolicyAgent):
    """A module of RLlib from its checkpoint (extra `rllib`).

    Args:
        path: The folder of the checkpoint.
        temperature: See `PolicyAgent`.
        seed: See `PolicyAgent`.
    """

    name = "rllib"

    def __init__(self, path: str, temperature: float = 0.0, seed: int | None = None) -> None:
        super().__init__(rllib_policy(path), temperature, seed, title=f"rllib:path={path}")
