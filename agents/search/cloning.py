"""Copies of environments in the middle of a game, and whether two environments look the same."""

import copy
import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agents.search.environment import layers_of

SHARED: Final = {"action_spaces", "observation_spaces", "metadata", "possible_agents"}
"""Attributes that describe an environment and never change: its clones share them."""


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
