"""What planning asks of an environment: its layers, its legal actions, what it shows, a copy.

Nothing is imported from PettingZoo: only what an environment offers is used.
"""

import copy
import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agents.search.chance import seeded, shared_generators

TRANSPARENT: Final = {
    "hexenv.envs.aec.BoardEnv",
    "hexenv.envs.standard_wrapper.StandardWrapper",
    "pettingzoo.utils.wrappers.assert_out_of_bounds.AssertOutOfBoundsWrapper",
    "pettingzoo.utils.wrappers.capture_stdout.CaptureStdoutWrapper",
    "pettingzoo.utils.wrappers.order_enforcing.OrderEnforcingWrapper",
    "pettingzoo.utils.wrappers.terminate_illegal.TerminateIllegalWrapper",
}
"""Classes that change neither the legal moves nor the rewards of what they wrap."""

SHARED: Final = {"action_spaces", "observation_spaces", "metadata", "possible_agents"}
"""Attributes that describe an environment and never change: its clones share them."""


def layers_of(env: Any) -> list[Any]:
    """The environment and what it wraps, from the outside in."""
    layers = [env]
    while "env" in getattr(layers[-1], "__dict__", ()):
        layers.append(layers[-1].env)
    return layers


def is_transparent(env: Any) -> bool:
    """Whether it is one of ours, under no wrapper that can change moves or rewards."""
    names = [class_name(layer) for layer in layers_of(env)]
    return names[-1] == "hexenv.envs.aec.BoardEnv" and TRANSPARENT.issuperset(names)


def class_name(layer: Any) -> str:
    """The class of an environment or a wrapper, with its module."""
    return f"{type(layer).__module__}.{type(layer).__qualname__}"


def names_of(env: Any) -> str:
    """The classes of an environment and what it wraps, for messages."""
    return " over ".join(type(layer).__name__ for layer in layers_of(env))


class UnfitEnvironmentError(ValueError):
    """Raised for an environment that agents cannot play in, or not plan over; it says why."""


def check_agents(env: Any) -> None:
    """Refuse what is no PettingZoo environment whose agents act in turn, or was not reset.

    Raises:
        UnfitEnvironmentError: If it is none.
        ValueError: If it has not been reset.
    """
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


def is_over(env: Any) -> bool:
    """Whether there is nothing left to choose: the game has ended, or no action is legal."""
    return len(legal_actions(env)) == 0


def legal_actions(env: Any) -> NDArray[Any]:
    """The legal actions of the agent to move, ascending; none when its game is over.

    Raises:
        UnfitEnvironmentError: If there is no action mask.
    """
    agent = env.agent_selection if env.agents else None
    if agent is None or env.terminations[agent] or env.truncations[agent]:
        return np.zeros(0, np.int64)
    return np.flatnonzero(action_mask(env))


def action_mask(env: Any) -> NDArray[Any]:
    """``(num_actions,)`` mask of the agent to move, from its observation or its info.

    Where both have one, only what both allow is legal: a wrapper may restrict either.

    Raises:
        UnfitEnvironmentError: If there is none.
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


# ---- cloning -------------------------------------------------------------------------------------


def clone(env: Any) -> Any:
    """An independent copy of an environment in the middle of a game, wrappers and all.

    An environment's own `clone` is used where its class has one. Otherwise the attributes are
    copied one by one: `copy.deepcopy` of PettingZoo's classic environments builds a new one and
    loses the game. What cannot be copied, such as a window, is shared; `check_clone` sees whether
    the result is a faithful copy all the same.
    """
    own_clone = own_clone_of(env)
    return _attribute_copy(env) if own_clone is None else own_clone(env)


def own_clone_of(env: Any) -> Callable[[Any], Any] | None:
    """The method `clone` of an environment's class, if it has one."""
    # A wrapper hands attributes on, so only the class tells whether `clone` copies the wrapper too.
    return getattr(cast("type[Any]", type(env)), "clone", None)


def independent_copy(env: Any) -> Any:
    """A copy that may be reset; None where there might be none.

    A `clone` of somebody's own may share what a step replaces, and a reset writes on.
    """
    methods = map(own_clone_of, layers_of(env))
    if all(method is None or method.__module__.startswith("hexenv.") for method in methods):
        return silent_clone(env)
    try:
        return silenced(_attribute_copy(env, in_full=True))
    except Exception:  # whatever a foreign object raises: it will not be copied
        return None


def _attribute_copy(env: Any, in_full: bool = False) -> Any:
    """A copy of an environment, attribute by attribute.

    Args:
        env: The environment.
        in_full: Whether to raise what an attribute raises that will not be copied, and to use no
            method `clone`; else such attributes are shared.
    """
    twin: Any = object.__new__(cast("type[Any]", type(env)))
    memo: dict[int, Any] = {id(env): twin}
    attributes = cast("dict[str, Any]", vars(env))
    if "env" in attributes:
        inner = attributes["env"]
        copied = _attribute_copy(inner, in_full) if in_full else clone(inner)
        layers = zip(layers_of(inner), layers_of(copied), strict=True)
        memo.update({id(layer): twin_layer for layer, twin_layer in layers})
    for name, value in attributes.items():
        if name in SHARED:
            twin.__dict__[name] = value
        else:
            twin.__dict__[name] = copy.deepcopy(value, memo) if in_full else _copied(value, memo)
    return twin


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    if isinstance(value, (int, float, str, bool, type(None))):
        return value
    try:
        if hasattr(value, "agent_iter") and id(value) not in memo:  # an environment within it
            memo[id(value)] = clone(value)
        return copy.deepcopy(value, memo)
    except Exception:  # whatever a foreign object raises: it will not be copied
        return value


def silent_clone(env: Any) -> Any:
    """A clone that draws nothing: nobody wants to see, or wait for, what is only thought."""
    return silenced(clone(env))


def silenced(env: Any) -> Any:
    """The environment, which draws nothing any more."""
    if hasattr(env.unwrapped, "render_mode"):
        env.unwrapped.render_mode = None
    return env


def check_clone(env: Any) -> None:
    """Play one action on a clone, twice: the same must follow, and nothing in the original.

    Raises:
        UnfitEnvironmentError: If its clones are not faithful, with what to do about it.
    """
    try:
        before = snapshot(env)
    except Exception as error:
        raise UnfitEnvironmentError(
            "expected an environment that shows every agent something at any time, "
            f"got {names_of(env)}, which raised {error!r}"
        ) from error
    action = int(legal_actions(env)[0])
    shared = shared_generators(layers_of(env))  # which is no fault of the clone
    try:
        twins = silent_clone(env), silent_clone(env)
        copied = all(same(snapshot(twin), before) for twin in twins)
        for twin in twins:
            with seeded(shared, 0):
                twin.step(action)
        after = [snapshot(twin) for twin in twins]
    except Exception as error:
        raise _cannot_clone(env, f"a clone raised {error!r}") from error
    if not copied:
        raise _cannot_clone(env, "a clone does not show the same position")
    if not same(*after):
        reason = "by what they share, or by chance that cannot be seeded"
        raise _cannot_clone(env, f"one action leads two clones to two positions, {reason}")
    if not same(snapshot(env), before):
        raise _cannot_clone(env, "a step of a clone changed the original")


def _cannot_clone(env: Any, reason: str) -> UnfitEnvironmentError:
    return UnfitEnvironmentError(
        f"expected an environment that can be cloned, got {names_of(env)} "
        f"(give its class a method clone() that returns an independent copy): {reason}"
    )


def snapshot(env: Any) -> list[Any]:
    """What an environment shows: who is to move, whether it is over, and all observations."""
    shown: list[Any] = [env.agent_selection, dict(env.terminations), dict(env.rewards)]
    return shown + [env.observe(agent) for agent in env.agents]


def digest_of(shown: Any) -> bytes:
    """A short name for what is shown: the same for what looks the same."""
    digest = hashlib.blake2b(digest_size=8)
    for leaf in leaves(shown):
        digest.update(leaf)
    return digest.digest()


def leaves(shown: Any) -> Iterator[bytes]:
    """The bytes of all that a snapshot holds, in order."""
    if isinstance(shown, dict):
        for key, value in cast("dict[Any, Any]", shown).items():
            yield repr(key).encode()
            yield from leaves(value)
    elif isinstance(shown, (list, tuple)):
        for value in cast("list[Any]", shown):
            yield from leaves(value)
    elif isinstance(shown, np.ndarray):
        array = cast("NDArray[Any]", shown)
        if array.dtype.hasobject:  # whose bytes are addresses
            yield from leaves(array.tolist())
        else:
            yield array.tobytes()
    else:
        yield repr(shown).encode()


def same(one: Any, other: Any) -> bool:
    """Whether two snapshots hold the same."""
    if isinstance(one, dict):
        pairs = cast("dict[Any, Any]", one)
        return list(pairs) == list(other) and all(same(pairs[key], other[key]) for key in pairs)
    if isinstance(one, (list, tuple)):
        items = cast("list[Any]", one)
        return len(items) == len(other) and all(map(same, items, other))
    return bool(np.array_equal(one, other)) or list(leaves(one)) == list(leaves(other))  # NaN
