"""Plain Python that also compiles: the interface between rules, searches and numba.

* `@kernel` marks a function that compiled code may call; called from Python it stays what it is.
* `@compiled` marks a NamedTuple class whose methods compiled code may call: a game, a selection
  rule, a playout policy. The class selects the method at compile time, so a search is specialised
  for its game and variant, without branches at run time.
* `CompiledFunction(search)` is a search (or any kernel) as machine code, cached on disk.

The interpreted form is the function itself. `with interpreted():` uses it for a part of a program,
and the environment variable `NUMBA_DISABLE_JIT=1` for all of it.
"""

# Numba's types are partly missing and partly wrong; only this module and `compiled_cache` use them.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportCallIssue=false

import inspect
import shutil
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import numba

# The first registration wins: fields of NamedTuples must be registered before our methods.
import numba.core.typing.collections  # pyright: ignore[reportUnusedImport]
from numba.core import cgutils, types
from numba.core import event as numba_event
from numba.core.errors import NumbaError, NumbaRuntimeError
from numba.extending import intrinsic, overload, overload_method, register_jitable

from hexenv.compiled_cache import cache_directory

__all__ = [
    "COMPILE_ERRORS",
    "CompiledFunction",
    "compiled",
    "copy_record",
    "inlined_kernel",
    "interpreted",
    "is_compiled",
    "kernel",
    "uses_machine_code",
]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

_methods: Final[dict[str, inspect.Signature]] = {}
_fields: Final[dict[str, str]] = {}
_classes: Final[set[type]] = set()


def kernel(function: F) -> F:
    """Mark a function as callable from compiled code. It stays an ordinary Python function."""
    register_jitable(error_model="numpy")(function)
    return function


def inlined_kernel(function: F) -> F:
    """A `kernel` whose code becomes part of its caller's.

    For the inner steps of a search: passing their many arguments takes a tenth of a simulation's
    time.
    """
    register_jitable(error_model="numpy", forceinline=True)(function)
    return function


def compiled(cls: C) -> C:
    """Class decorator: make every public method of a NamedTuple callable from compiled code.

    Args:
        cls: A `typing.NamedTuple` class with at least one field.

    Returns:
        The same class.

    Raises:
        TypeError: If `cls` is not a NamedTuple, has no field, has a method with other parameters
            than the same method of another compiled class, or a method with the name of another
            class's field (numba would use the one that was registered first).
    """
    fields: tuple[str, ...] | None = getattr(cls, "_fields", None)
    if not fields:
        raise TypeError(f"expected a NamedTuple class with at least one field, got {cls.__name__}")
    methods = {
        name: method
        for name, method in vars(cls).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }
    for name, method in methods.items():
        signature = _parameters(method)
        if name in _fields:
            raise TypeError(f"{cls.__name__}.{name} is a method, but a field of {_fields[name]}")
        if _methods.get(name, signature) != signature:
            raise TypeError(
                f"{cls.__name__}.{name}{signature} has other parameters than the compiled classes "
                f"before it: expected {name}{_methods[name]}"
            )
    for name in fields:
        if name in _methods:
            raise TypeError(f"{cls.__name__}.{name} is a field, but a method of another class")

    for name, method in methods.items():
        if name not in _methods:
            _methods[name] = _parameters(method)
            _expose(name, method)
    _fields.update(dict.fromkeys(fields, cls.__name__))
    _classes.add(cls)
    return cls


def is_compiled(value: object) -> bool:
    """Whether `value` and all NamedTuples in it are instances of `@compiled` classes."""
    return type(value) in _classes and _classes.issuperset(_named_tuple_classes([value]))


def _parameters(method: Callable[..., Any]) -> inspect.Signature:
    """The signature without annotations: names, order and defaults."""
    signature = inspect.signature(method)
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return inspect.Signature(parameters)


def _expose(name: str, method: Callable[..., Any]) -> None:
    """Register a method name with numba, which looks the method up in the class of its object."""

    def resolve(self: Any, *_args: Any, **_keywords: Any) -> Any:
        return getattr(self.instance_class, name, None)

    # Numba checks the parameters of an overload by this attribute.
    resolve.__signature__ = _parameters(method)  # type: ignore[attr-defined]
    options: dict[str, Any] = {"strict": False, "jit_options": {"error_model": "numpy"}}
    overload_method(types.BaseNamedTuple, name, **options)(resolve)


def copy_record(source: Any, into: Any) -> None:
    """Copy one record (an element of a structured array) over another of the same dtype."""
    into.setfield(source, into.dtype)


@intrinsic
def _copy_memory(_context: Any, source: Any, into: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        size = cgutils.intp_t(source.size)
        cgutils.raw_memcpy(builder, arguments[1], arguments[0], size, 1)
        return context.get_dummy_value()

    return types.void(source, into), generate


@overload(copy_record, strict=False)
def _overload_copy_record(source: Any, into: Any) -> Any:
    def copy_memory(source: Any, into: Any) -> None:
        _copy_memory(source, into)

    return copy_memory if isinstance(source, types.Record) and source == into else None


class CompiledFunction:
    """A kernel as machine code, compiled for the types of its arguments when first called.

    The code is cached on disk for later processes, until one of its sources changes. Functions and
    classes of `__main__`, of a prompt or inside a function are compiled for this process only, as a
    later process cannot import them; so are sources edited during this process.

    Args:
        function: A function under `@kernel`, or any function that numba compiles.
        allocates: Whether it, or what it calls, makes new arrays. Code that makes none can do
            without counted references to arrays, which take most of the time of a small search; it
            must not return an array, and a text or a generator among its arguments is never freed.
    """

    def __init__(self, function: Callable[..., Any], allocates: bool = True) -> None:
        self.function = function
        self.allocates = allocates
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._dispatchers: dict[frozenset[type], Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code for these arguments, compiling it first if needed."""
        return self.specialise(*arguments)(*arguments)

    def specialise(self, *arguments: Any) -> Callable[..., Any]:
        """The machine code for the types of `arguments`, without numba's dispatch.

        Call it only with arguments of exactly these types: types are not checked again.
        """
        if not uses_machine_code():
            return self.function
        classes = frozenset(_named_tuple_classes(arguments))
        signature = tuple(numba.typeof(argument) for argument in arguments)
        with _lock:
            if classes not in self._dispatchers:
                self._dispatchers[classes] = _make_dispatcher(
                    self.function, classes, self.allocates
                )
            dispatcher = self._dispatchers[classes]
            if signature not in dispatcher.overloads:
                dispatcher = _compile(dispatcher, classes, signature, self.allocates)
                self._dispatchers[classes] = dispatcher
        return dispatcher.overloads[signature].entry_point


COMPILE_ERRORS: Final = (NumbaError, NumbaRuntimeError)
"""What `CompiledFunction.specialise` raises where numba cannot compile a function."""

_lock: Final = threading.RLock()
_interpreting = 0
"""How many bodies of `interpreted` are running, in all threads."""


def uses_machine_code() -> bool:
    """Whether compiled functions are machine code: not in `interpreted`, or `NUMBA_DISABLE_JIT`."""
    return not (numba.config.DISABLE_JIT or _interpreting)


@contextmanager
def interpreted() -> Generator[None, None, None]:
    """Use plain Python instead of machine code in the body of the `with` statement.

    A debugger can then step through the rules and the searches; results are the same, slowly. This
    holds for all threads of the process. An environment or agent that was used before may keep
    the machine code that it found then, so make new ones in the body.
    """
    global _interpreting
    with _lock:
        _interpreting += 1
    try:
        yield
    finally:
        with _lock:
            _interpreting -= 1


def _named_tuple_classes(values: Iterable[Any]) -> Iterator[type]:
    for value in values:
        if isinstance(value, tuple):
            if hasattr(value, "_fields"):
                yield type(value)
            yield from _named_tuple_classes(value)


def _jit(function: Callable[..., Any], cache: bool, allocates: bool) -> Any:
    options: dict[str, Any] = {} if allocates else {"_nrt": False}  # callees inherit it
    return numba.njit(cache=cache, nogil=True, error_model="numpy", **options)(function)


def _make_dispatcher(
    function: Callable[..., Any], classes: frozenset[type], allocates: bool
) -> Any:
    directory = cache_directory(function, classes, allocates)
    if directory is not None:
        before = numba.config.CACHE_DIR
        # Numba reads the setting when it decorates, so other functions keep their directory.
        numba.config.CACHE_DIR = str(directory)
        try:
            dispatcher = _jit(function, cache=True, allocates=allocates)
            # If numba cannot write there, it uses another place, whose name misses our key.
            if Path(dispatcher.stats.cache_path).is_relative_to(directory):
                return dispatcher
        except RuntimeError:
            pass  # numba found no directory
        finally:
            numba.config.CACHE_DIR = before
    return _jit(function, cache=False, allocates=allocates)


def _compile(
    dispatcher: Any, classes: frozenset[type], signature: tuple[Any, ...], allocates: bool
) -> Any:
    """Compile for one signature, or load it; returns the dispatcher that has it."""
    cache = dispatcher.stats.cache_path
    with _announcement(dispatcher.py_func, classes, is_kept=cache is not None):
        try:
            dispatcher.compile(signature)
        except Exception as error:
            if cache is None or isinstance(error, COMPILE_ERRORS):
                raise
            # A damaged file or a full disk: compile without a cache; the next process rebuilds it.
            shutil.rmtree(cache, ignore_errors=True)
            dispatcher = _jit(dispatcher.py_func, cache=False, allocates=allocates)
            dispatcher.compile(signature)
    return dispatcher


# ---- the announcement ---------------------------------------------------------------------------


class _Announcer(numba_event.Listener):
    """Prints one line if numba compiles, none if the code comes from the cache."""

    def __init__(self, function: Callable[..., Any], line: str) -> None:
        self.function = function
        self.line = line

    def on_start(self, event: Any) -> None:
        if self.line and event.data["dispatcher"].py_func is self.function:
            print(self.line, file=sys.stderr, flush=True)
            self.line = ""

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def _announcement(
    function: Callable[..., Any], classes: frozenset[type], is_kept: bool
) -> Generator[None, None, None]:
    names = ", ".join(sorted(cls.__name__ for cls in classes)) or "numbers and arrays"
    often = "once" if is_kept else "in every process"
    line = f"hexenv: compiling {function.__name__} for {names} ({often}, seconds to minutes)"
    with numba_event.install_listener("numba:compile", _Announcer(function, line)):
        yield
