"""Claims about a game's source: what would run as Python, and not as machine code."""

import dis
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, Final, cast

from hexenv.compiled import can_be_compiled
from hexenv.compiled.callees import members_of
from hexenv.games.base import PLAIN_VERBS, Game
from hexenv.games.own import CONTRACT
from hexenv.games.promises import unguarded
from hexenv.testing.log import fail

COMPILED: Final = [
    name
    for name, value in CONTRACT.items()
    if isinstance(value, FunctionType) and name not in PLAIN_VERBS
]
"""The methods of a game that compiled code may call."""


def check_source(game: Game) -> None:
    """What the compiled methods use can be compiled: said before anything is."""
    methods = {name: unguarded(value) for name, value in members_of(type(game)).items()}
    waiting = [name for name in COMPILED if name in methods]
    seen = set(waiting)
    while waiting:
        asked = waiting.pop()
        method: Any = methods[asked]
        if type(method) in (staticmethod, classmethod):
            kind = type(method).__name__
            fail(game, asked, "a method with self, or a function under @kernel", f"a {kind}")
        function = method.fget if isinstance(method, property) else method
        if not isinstance(function, FunctionType):
            continue
        for name in set(_members_used(function)) & set(methods):
            if name == asked:
                fail(game, asked, "a loop", "a method that calls itself")
            _refuse_mutable(game, f"{asked}, which uses {name}", methods[name])
            if name not in seen:
                seen.add(name)
                waiting.append(name)
        for name, value in _globals_of(function):
            _check_value(game, f"{function.__name__}, which uses {name}", value)


def _check_value(game: Game, claim: str, value: Any) -> None:
    if can_be_compiled(value):
        return
    if isinstance(value, FunctionType):
        fail(game, claim, "a function under hexenv.compiled.kernel", "one without it")
    _refuse_mutable(game, claim, value)
    fail(game, claim, "what numba compiles", f"a {type(value).__name__}: {value!r}")


def _refuse_mutable(game: Game, claim: str, value: Any) -> None:
    if type(value) in (dict, list, set):
        fail(game, claim, "a tuple or an array", f"a {type(value).__name__}")


def _members_used(function: FunctionType) -> Iterator[str]:
    """What a method asks of its first parameter, as ``self.count``."""
    loaded: Any = None
    for step in dis.get_instructions(function):
        is_asked = step.opname in ("LOAD_ATTR", "LOAD_METHOD")
        if is_asked and loaded in function.__code__.co_varnames[:1]:
            yield str(step.argval)
        loaded = step.argval if step.opname.startswith("LOAD_FAST") else None
        if isinstance(loaded, tuple):  # two at once
            loaded = cast("tuple[str, ...]", loaded)[-1]


def _globals_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The names from outside that a function reads, as ``base.begin``, and what they are."""
    names: list[tuple[str, Any]] = []
    outer: Any = None
    held = function.__globals__
    for step in dis.get_instructions(function):
        name = str(step.argval)
        if step.opname == "LOAD_GLOBAL":
            outer = (name, held[name]) if name in held else None
            if outer is not None and not isinstance(outer[1], ModuleType):
                names.append(outer)
                outer = None
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and outer is not None:
            if hasattr(outer[1], name):
                found = f"{outer[0]}.{name}", getattr(outer[1], name)
                if isinstance(found[1], ModuleType):
                    outer = found
                    continue
                names.append(found)
            outer = None
        elif step.opname not in ("CACHE", "PUSH_NULL", "PRECALL"):
            outer = None
    yield from names
