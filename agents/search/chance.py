"""The random generators that an environment draws from: found, seeded for a while, and put back."""

import gc
import random
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from types import FunctionType, ModuleType
from typing import Any, Final, cast

import numpy as np

MOST_OBJECTS: Final = 10_000
"""How many parts of an environment are looked through for generators."""
KINDS: Final = (np.random.Generator, np.random.RandomState, random.Random)
GLOBAL: Final[tuple[Any, ...]] = (random, np.random)
"""Modules that are used as generators: they have the same functions."""

_lock: Final = threading.RLock()


def generators_in(env: Any) -> list[Any]:
    """The random generators that an environment holds, or that anything does which it holds."""
    found: list[Any] = []
    seen: set[int] = set()
    waiting: list[Any] = [env]
    while waiting and len(seen) < MOST_OBJECTS:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kind = cast("type[Any]", type(value))  # not its __class__, which a proxy may fail to give
        if issubclass(kind, KINDS):
            found.append(value)
        elif not issubclass(kind, (type, ModuleType, FunctionType)):
            waiting += filter(gc.is_tracked, gc.get_referents(value))  # numbers hold nothing
    return found


def shared_generators(layers: Iterable[Any]) -> list[Any]:
    """The generators that no clone can hold: global ones, those of classes and of their modules.

    Args:
        layers: An environment and what it wraps.
    """
    classes = dict.fromkeys(each for layer in layers for each in type(layer).__mro__)
    modules = dict.fromkeys(sys.modules.get(each.__module__) for each in classes)
    spaces = [vars(each) for each in (*classes, *modules) if each is not None]
    found = [value for space in spaces for value in list(space.values())]
    return [*GLOBAL, *(value for value in found if issubclass(type(value), KINDS))]


@contextmanager
def seeded(generators: Iterable[Any], seed: int) -> Generator[None]:
    """Seed generators, and put them back after. What cannot be put back is left alone.

    Args:
        generators: Generators, or modules that are used as such.
        seed: From 0.
    """
    with _lock:
        before: list[tuple[Any, Any]] = []
        try:
            for generator in generators:
                with suppress(Exception):  # such as of random.SystemRandom
                    before.append((generator, _state(generator)))
                    _seed(generator, seed)
            yield
        finally:
            for generator, state in reversed(before):
                _restore(generator, state)


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if hasattr(generator, "get_state"):
        return generator.get_state(legacy=False)
    return generator.getstate()


def _seed(generator: Any, seed: int) -> None:
    if isinstance(generator, np.random.Generator):
        kind = type(generator.bit_generator)
        generator.bit_generator.state = kind(seed).state
    else:
        generator.seed(seed)


def _restore(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif hasattr(generator, "set_state"):
        generator.set_state(state)
    else:
        generator.setstate(state)
