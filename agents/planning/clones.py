"""Clones of environments of others: independent copies in the middle of a game, made fast.

`copy.deepcopy` of PettingZoo's classic environments builds a new one and loses the game, and takes
most of its time to find out how an object is copied. Here the common kinds (numbers, lists, dicts,
arrays, objects with plain attributes) are copied at once, to the same result; all others are left
to `copy.deepcopy`. One memo for all layers keeps what two of them share.
"""

import copy
import copyreg
import sys
from collections.abc import Callable
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final, cast
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from agents.planning.environment import class_name, layers_of

SHARED: Final = {"action_spaces", "observation_spaces", "metadata", "possible_agents"}
"""Attributes that describe an environment and never change: its clones share them."""

ATOMS: Final = frozenset(
    {int, float, complex, bool, str, bytes, type(None), type, FunctionType, BuiltinFunctionType}
    | {kind for kind in np.sctypeDict.values() if not issubclass(kind, (np.void, np.object_))}
)
"""Types of values that never change."""

SMALL: Final = 1 << 16
"""Bytes of an array that is copied with all its views; a view of a larger one is copied alone."""

Memo = dict[int, Any]
"""The copies so far, by the `id` of what was copied, as `copy.deepcopy` has it."""
RENDERS: Final = 0
"""Is in the memo, and nothing's `id`, if the environment renders."""

_drawn_on: Final = WeakSet[Any]()
"""Surfaces of environments that render: no clone draws on them, once its rendering is off."""


def clone(env: Any) -> Any:
    """An independent copy of an environment in the middle of a game, wrappers and all.

    Where its class has no `clone` of its own, the attributes are copied one by one. What cannot be
    copied, such as a window, is shared, and so is what an environment that renders draws on;
    `agents.planning.requirements.check_clone` sees whether the copy is faithful all the same.
    """
    own_clone = own_clone_of(env)
    return _attribute_copy(env, {}, duplicate) if own_clone is None else own_clone(env)


def own_clone_of(env: Any) -> Callable[[Any], Any] | None:
    """The method `clone` of an environment's class, if it has one."""
    # A wrapper forwards attributes: only a `clone` of its own class copies the wrapper too.
    return getattr(cast("type[Any]", type(env)), "clone", None)


def independent_copy(env: Any) -> Any:
    """A copy that may be reset; None if there is no safe one.

    A class's own `clone` may share arrays that a step replaces but a reset overwrites.
    """
    methods = map(own_clone_of, layers_of(env))
    if all(method is None or method.__module__.startswith("hexenv.") for method in methods):
        return silent_clone(env)
    try:
        return silenced(_attribute_copy(env, {}, copy.deepcopy))
    except Exception:  # whatever a foreign object raises: it will not be copied
        return None


def bytes_of(env: Any) -> int:
    """About how much memory a clone takes; at least 1."""
    memo: Memo = {}
    _environment_copy(env, memo)
    return sum(_bytes_of_one(copied) for copied in memo.values())


def _bytes_of_one(value: Any) -> int:
    if hasattr(cast("type[Any]", type(value)), "get_buffer"):  # of pygame
        return value.get_buffer().length
    return max(sys.getsizeof(value), getattr(value, "nbytes", 0))


def silent_clone(env: Any) -> Any:
    """A clone that draws nothing: a search must not open windows or wait for them."""
    return silenced(clone(env))


def silenced(env: Any) -> Any:
    """The environment, whose rendering is off from now on."""
    if hasattr(env.unwrapped, "render_mode"):
        env.unwrapped.render_mode = None
    return env


# ---- attribute by attribute ----------------------------------------------------------------------


def _attribute_copy(env: Any, memo: Memo, copy_of: Callable[[Any, Memo], Any]) -> Any:
    """A copy by the attributes; with `copy.deepcopy` it shares nothing and uses no `clone`."""
    twin: Any = object.__new__(cast("type[Any]", type(env)))
    memo[id(env)] = twin
    attributes, slots = _attributes(env)
    if attributes.get("render_mode") is not None:
        memo[RENDERS] = True
    if "env" in attributes:  # first, as the attributes may look through to the bottom
        inner = attributes["env"]
        if copy_of is duplicate:
            _environment_copy(inner, memo)
        else:
            _attribute_copy(inner, memo, copy_of)
    into = twin.__dict__
    for name, value in attributes.items():
        into[name] = value if name in SHARED else _copied(value, memo, copy_of)
    for name, value in slots.items():
        object.__setattr__(twin, name, _copied(value, memo, copy_of))
    return twin


def _attributes(value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The attributes of an object in its ``__dict__``, and those in slots."""
    state: Any = object.__getstate__(value)
    if isinstance(state, tuple):
        in_dict, slots = cast("tuple[Any, Any]", state)
        return in_dict or {}, slots
    return state or {}, {}


def _copied(value: Any, memo: Memo, copy_of: Callable[[Any, Memo], Any]) -> Any:
    if type(value) in ATOMS:
        return value
    if copy_of is not duplicate:
        return copy_of(value, memo)
    before = len(memo)
    try:
        return duplicate(value, memo)
    except Exception:  # whatever a foreign object raises: it will not be copied
        for half_copied in list(memo)[before:]:
            del memo[half_copied]
        return value


def _environment_copy(env: Any, memo: Memo) -> Any:
    """A clone of an environment within another one."""
    own_clone = own_clone_of(env)
    if own_clone is None:
        return _attribute_copy(env, memo, duplicate)
    twin = own_clone(env)
    memo |= zip(map(id, layers_of(env)), layers_of(twin), strict=True)
    return twin


# ---- value by value ------------------------------------------------------------------------------


def duplicate(value: Any, memo: Memo) -> Any:
    """`copy.deepcopy`, done fast for the kinds that environments are made of.

    Views of one array stay views of one array, and environments are cloned.
    """
    kind = cast("type[Any]", type(value))
    if kind in ATOMS:
        return value
    if id(value) in memo:
        return memo[id(value)]
    return _copier_of(kind)(value, memo)


def _list_copy(value: list[Any], memo: Memo) -> list[Any]:
    if ATOMS.issuperset(map(type, value)):
        return memo.setdefault(id(value), value.copy())
    twin: list[Any] = []
    memo[id(value)] = twin  # before its items, which may hold it
    twin += [duplicate(item, memo) for item in value]
    return twin


def _dict_copy(value: dict[Any, Any], memo: Memo) -> dict[Any, Any]:
    if ATOMS.issuperset(map(type, value)) and ATOMS.issuperset(map(type, value.values())):
        return memo.setdefault(id(value), value.copy())
    twin: dict[Any, Any] = {}
    memo[id(value)] = twin
    for key, item in value.items():
        twin[duplicate(key, memo)] = duplicate(item, memo)
    return twin


def _tuple_copy(value: tuple[Any, ...], memo: Memo) -> tuple[Any, ...]:
    if ATOMS.issuperset(map(type, value)):
        return value
    twin = tuple([duplicate(item, memo) for item in value])
    return memo.setdefault(id(value), twin)  # it may hold itself, by way of a list


def _array_copy(value: NDArray[Any], memo: Memo) -> NDArray[Any]:
    if value.dtype.hasobject:
        return copy.deepcopy(value, memo)
    twin = memo[id(value)] = _base_and_view(value, memo)
    return twin


def _base_and_view(value: NDArray[Any], memo: Memo) -> NDArray[Any]:
    base: Any = value.base
    if type(base) is not np.ndarray or base.nbytes > SMALL or not value.flags.writeable:
        return value.copy(order="K")
    if base.base is not None or base.dtype.hasobject or not base.flags.c_contiguous:
        return value.copy(order="K")
    start = value.ctypes.data - base.ctypes.data
    return np.ndarray(value.shape, value.dtype, duplicate(base, memo), start, value.strides)


def _surface_copy(value: Any, memo: Memo) -> Any:
    if RENDERS in memo:
        _drawn_on.add(value)
    return value if value in _drawn_on else copy.deepcopy(value, memo)


def _object_copy(value: Any, memo: Memo) -> Any:
    twin: Any = object.__new__(cast("type[Any]", type(value)))
    memo[id(value)] = twin
    attributes, slots = _attributes(value)
    for name, item in attributes.items():
        twin.__dict__[name] = duplicate(item, memo)
    for name, item in slots.items():
        object.__setattr__(twin, name, duplicate(item, memo))
    return twin


COPIERS: Final[dict[Any, Callable[[Any, Memo], Any]]] = {
    list: _list_copy,
    dict: _dict_copy,
    tuple: _tuple_copy,
    np.ndarray: _array_copy,
}


@lru_cache(1024)
def _copier_of(kind: type[Any]) -> Callable[[Any, Memo], Any]:
    """What copies the values of a type; it notes the copy in the memo."""
    if kind in COPIERS:
        return COPIERS[kind]
    if hasattr(kind, "agent_iter"):
        return _environment_copy
    if class_name(kind) in ("pygame.surface.Surface", "pygame.Surface"):
        return _surface_copy
    return _object_copy if _has_only_attributes(kind) else copy.deepcopy


def _has_only_attributes(kind: type[Any]) -> bool:
    """Whether `copy.deepcopy` copies the objects of a class by their attributes, and no more."""
    standard = ("__new__", "__reduce__", "__reduce_ex__", "__getstate__", "__getattribute__")
    special = ("__deepcopy__", "__setstate__", "__getnewargs__", "__getnewargs_ex__", "__getattr__")
    if kind in copyreg.dispatch_table or issubclass(kind, type):
        return False
    if any(getattr(kind, name) is not getattr(object, name) for name in standard):
        return False
    if any(hasattr(kind, name) for name in special):
        return False
    if hasattr(kind, "__del__"):  # of the object that is made here
        return False
    try:  # refused for what holds more than attributes, such as a lock
        reduced = object.__reduce_ex__(object.__new__(kind), 4)
    except Exception:
        return False
    return reduced[:2] == (cast("Any", copyreg).__newobj__, (kind,))
