"""A Gymnasium environment of one agent as an AEC environment, to plan in."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agents.search.clones import clone
from agents.search.environment import UnfitEnvironmentError, names_of
from agents.search.foreign import same

AGENT: Final = "agent"
OF_GYMNASIUM: Final = ("action_space", "step", "reset", "get_wrapper_attr")
"""What an environment of Gymnasium has."""


class OneAgentEnv:
    """A Gymnasium environment in the middle of an episode.

    Its clones have a future of their own: where chance is drawn from Gymnasium's `np_random`, each
    draws from another stream, and none from that of the environment.

    Args:
        env: The environment, after `reset`. Actions are ``Discrete``; those that are legal are
            what its method `action_masks` says, if it has one, else all.

    Raises:
        UnfitEnvironmentError: If it is no such environment, or a copy of it is not faithful.
    """

    def __init__(self, env: Any) -> None:
        if not all(hasattr(env, name) for name in OF_GYMNASIUM) or hasattr(env, "num_envs"):
            raise UnfitEnvironmentError(
                "expected an environment of PettingZoo whose agents act in turn, or one of "
                f"Gymnasium, got {names_of(env)}"
            )
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

    def __str__(self) -> str:
        return str(self.env)

    @property
    def unwrapped(self) -> "OneAgentEnv":
        return self

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
        twin.__dict__.update(self.__dict__, env=clone(self.env))
        if hasattr(twin.env.unwrapped, "render_mode"):
            twin.env.unwrapped.render_mode = None
        if getattr(twin.env.unwrapped, "_np_random", None) is not None:
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
