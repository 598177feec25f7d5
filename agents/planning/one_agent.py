"""A Gymnasium environment of one agent as an AEC environment, to plan in."""

from types import ModuleType
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agents.planning.clones import silent_clone
from agents.planning.environment import UnfitEnvironmentError, class_name, layers_of, names_of
from agents.planning.foreign import same

AGENT: Final = "agent"
OF_GYMNASIUM: Final = ("action_space", "step", "reset", "get_wrapper_attr")
"""What an environment of Gymnasium has."""
RECORDERS: Final = {
    "gymnasium.wrappers.rendering.HumanRendering",
    "gymnasium.wrappers.rendering.RecordVideo",
    "gymnasium.wrappers.rendering.RenderCollection",
}
"""Wrappers that only show or record: what a search tries is not for them."""


class OneAgentEnv:
    """A Gymnasium environment in the middle of an episode.

    Where the environment draws from Gymnasium's `np_random`, each clone draws other numbers, from a
    stream of its own.

    Args:
        env: The environment, after `reset`. Actions are ``Discrete``; those that are legal are
            what its method `action_masks` says, if it has one, else all.

    Raises:
        UnfitEnvironmentError: If it is no such environment, or a copy of it is not faithful.
    """

    def __init__(self, env: Any) -> None:
        if isinstance(env, ModuleType):
            raise UnfitEnvironmentError(
                f"expected an environment, got the module {env.__name__}: make one by its env()"
            )
        if not all(hasattr(env, name) for name in OF_GYMNASIUM) or hasattr(env, "num_envs"):
            raise UnfitEnvironmentError(
                "expected an environment of PettingZoo whose agents act in turn, or one of "
                f"Gymnasium, got {names_of(env)}"
            )
        while class_name(cast("type[Any]", type(env))) in RECORDERS:
            env = env.env
        if any(getattr(layer, "_has_reset", True) is False for layer in layers_of(env)):
            raise ValueError("expected an environment in play, got one before reset")
        self.env = env
        self.possible_agents = [AGENT]
        self.agents = [AGENT]
        self.agent_selection = AGENT
        self.rewards = {AGENT: 0.0}
        self.terminations = {AGENT: False}
        self.truncations = {AGENT: False}
        self._futures = np.random.default_rng(0)
        self._shown: Any = None  # until the first step: Gymnasium does not show it again
        self._mask = self._legal()
        if self._mask.size > 0 and not self._mask.any():
            raise ValueError("expected an environment in play, got one without a legal action")

    def __str__(self) -> str:
        return str(self.env)

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped

    def action_space(self, agent: str) -> Any:
        return self.env.action_space

    def _legal(self) -> NDArray[np.int8]:
        try:
            masks = self.env.get_wrapper_attr("action_masks")
        except AttributeError:
            return np.ones(getattr(self.env.action_space, "n", 0), np.int8)
        return np.asarray(masks(), np.int8)

    def observe(self, agent: str) -> dict[str, Any]:
        return {"observation": self._shown, "action_mask": self._mask}

    def last(self) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """As that of PettingZoo's environments."""
        over = self.terminations[AGENT], self.truncations[AGENT]
        return self.observe(AGENT), self.rewards[AGENT], *over, {}

    def step(self, action: Any) -> None:
        self._shown, reward, terminated, truncated, _ = self.env.step(action)
        self.rewards = {AGENT: float(reward)}
        self.terminations, self.truncations = {AGENT: terminated}, {AGENT: truncated}
        if not (terminated or truncated):
            self._mask = self._legal()

    def clone(self) -> "OneAgentEnv":
        return self._clone(int(self._futures.integers(2**63)))

    def _clone(self, seed: int) -> "OneAgentEnv":
        twin = object.__new__(OneAgentEnv)
        twin.__dict__.update(self.__dict__, env=silent_clone(self.env))
        if hasattr(twin.env.unwrapped, "_np_random"):
            twin.env.unwrapped.np_random = np.random.default_rng(seed)
        return twin

    def check_clones(self) -> None:
        """Play an action on three copies with the same future: what they show must be the same."""
        action = int(np.flatnonzero(self._mask)[0])
        found = list[Any]()
        for _ in range(3):
            try:
                twin = self._clone(0)
                twin.step(action)
            except Exception as error:
                raise self._unfaithful(f"a copy raised {error!r}") from error
            found.append((twin._shown, twin.rewards, twin.terminations, twin.truncations))
        if not all(same(found[0], other) for other in found[1:]):
            raise self._unfaithful("one action leads copies to several positions")

    def _unfaithful(self, reason: str) -> UnfitEnvironmentError:
        return UnfitEnvironmentError(
            f"expected an environment that can be copied, got {names_of(self.env)} (give its class "
            f"a method clone() that returns an independent copy): {reason}"
        )
