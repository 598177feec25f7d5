"""What agents ask of a PettingZoo environment: its legal actions, and a game to plan in.

`agents.planning.foreign` and `agents.planning.requirements` are for environments of others.
"""

from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.games.base import clone, new_states

PERFECT_INFORMATION: Final = "perfect information"
"""What an agent may assume, if the user says so."""

TRANSPARENT: Final = {
    "hexenv.envs.aec.BoardEnv",
    "hexenv.envs.standard_wrapper.StandardWrapper",
    "pettingzoo.utils.wrappers.assert_out_of_bounds.AssertOutOfBoundsWrapper",
    "pettingzoo.utils.wrappers.capture_stdout.CaptureStdoutWrapper",
    "pettingzoo.utils.wrappers.order_enforcing.OrderEnforcingWrapper",
    "pettingzoo.utils.wrappers.terminate_illegal.TerminateIllegalWrapper",
}
"""Classes that change neither the legal moves nor the rewards of what they wrap."""


class UnfitEnvironmentError(ValueError):
    """Raised for an environment in which agents cannot play or plan; the message says why."""


# ---- the environment and its wrappers ------------------------------------------------------------


def layers_of(env: Any) -> list[Any]:
    """The environment and what it wraps, from the outside in."""
    layers = [env]
    while "env" in getattr(layers[-1], "__dict__", ()):
        layers.append(layers[-1].env)
    return layers


def class_name(kind: type) -> str:
    """The name of an environment's or a wrapper's class, with its module."""
    return f"{kind.__module__}.{kind.__qualname__}"


def names_of(env: Any) -> str:
    """The classes of an environment and what it wraps, for messages."""
    return " over ".join(type(layer).__name__ for layer in layers_of(env))


def is_transparent(env: Any) -> bool:
    """Whether it is one of ours, under no wrapper that can change moves or rewards."""
    return _are_transparent(tuple(map(type, layers_of(env))))


@lru_cache(256)
def _are_transparent(classes: tuple[type, ...]) -> bool:
    names = list(map(class_name, classes))
    return names[-1] == "hexenv.envs.aec.BoardEnv" and TRANSPARENT.issuperset(names)


# ---- the state of the game -----------------------------------------------------------------------


def check_agents(env: Any) -> None:
    """Refuse what is no PettingZoo environment whose agents act in turn, or was not reset."""
    wanted = "expected a PettingZoo environment of two agents who act in turn"
    if not hasattr(env, "possible_agents"):
        raise UnfitEnvironmentError(
            f"{wanted}, got {names_of(env)}, which names no agents (a Gymnasium environment is for "
            "one; one of hexenv's takes an agent as its opponent)"
        )
    if not hasattr(env, "last"):
        raise UnfitEnvironmentError(
            f"{wanted}, got {names_of(env)}, whose agents act at the same time"
        )
    if not (hasattr(env, "agents") and hasattr(env, "agent_selection")):
        raise ValueError("expected an environment in play, got one before reset")


def check_in_play(env: Any) -> None:
    """Refuse an environment in which there is nothing to choose.

    Raises:
        UnfitEnvironmentError: If its agents do not act in turn, or it has no mask of legal actions.
        ValueError: If it has not been reset, or the game is over.
    """
    check_agents(env)
    if is_over(env):
        raise ValueError("expected an environment in play, got one whose game is over")


def is_over(env: Any) -> bool:
    """Whether there is nothing left to choose: the game has ended, or no action is legal."""
    if is_transparent(env):  # it ends where no action is legal: its mask need not be made
        raw = env.unwrapped
        agent = raw.agent_selection
        return not raw.agents or raw.terminations[agent] or raw.truncations[agent]
    return len(legal_actions(env)) == 0


def legal_actions(env: Any) -> NDArray[Any]:
    """The legal actions of the agent to move, ascending; none when its game is over."""
    agent = env.agent_selection if env.agents else None
    if agent is None or env.terminations[agent] or env.truncations[agent]:
        return np.zeros(0, np.int64)
    return np.flatnonzero(action_mask(env))


def action_mask(env: Any) -> NDArray[Any]:
    """``(num_actions,)`` mask of the agent to move, from its observation or its info.

    Where both have one, only what both allow is legal: a wrapper may restrict either.
    """
    observation, _, _, _, info = env.last()
    shown = cast("dict[str, Any]", observation) if isinstance(observation, dict) else {}
    masks = [np.asarray(of["action_mask"]) for of in (shown, info) if "action_mask" in of]
    if len(masks) == 2:
        return np.logical_and(*masks)
    if masks:
        return masks[0]
    raise UnfitEnvironmentError(
        f"expected an action_mask in the observation or the info of {names_of(env)}"
    )


# ---- a game to plan in ---------------------------------------------------------------------------


class View(NamedTuple):
    """How a planner sees an environment."""

    game: Any
    root: Any  # the position
    compiles: bool  # whether game and position may be used by machine code
    actions: tuple[int, ...] | None  # since the reset; None over a foreign one, which does not know
    assumed: str | None = None  # what is taken as given though it is not so; then nothing is proven

    def new_states(self, count: int) -> Any:
        """States to work in: an array of records, or a list over a foreign environment."""
        if self.actions is None:
            return [self.game.new_state(self.root) for _ in range(count)]
        return new_states(self.game, count)

    def new_state(self) -> Any:
        """A state to work in."""
        is_foreign = self.actions is None
        return self.game.new_state(self.root) if is_foreign else clone(self.game, self.root)
