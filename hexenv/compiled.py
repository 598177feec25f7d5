"""Plain Python that also compiles: the three doors between the rules, the searches and numba.

* `@kernel` marks a function that compiled code may call; called from Python it stays what it is.
* `@compiled` marks a NamedTuple class whose methods compiled code may call: a game, a selection
  rule, a playout policy. Which method runs is settled by the class, at compile time, so a search
  is specialised for the game and the variant it gets and no branch is left at run time.
* `CompiledFunction(search)` is a search (or any kernel) as machine code, kept on disk.

The interpreted form is always there: the function itself. `NUMBA_DISABLE_JIT=1` uses it everywhere.

The disk cache is keyed by the sources that are compiled: the module of the function, the modules of
the classes among its arguments, and every local module these import. Numba's own check sees only
the function's file, and so would run old rules after an edit elsewhere.
"""

# Numba's types are partly missing and partly wrong; this module is where that stays.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportCallIssue=false

import ast
import functools
import hashlib
import importlib.util
import inspect
import operator
import os
import shutil
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

import numba

# What is registered first wins: the fields of every NamedTuple have to, before our methods.
import numba.core.typing.collections  # pyright: ignore[reportUnusedImport]
from numba.core import cgutils, types
from numba.core import event as numba_event
from numba.core.errors import NumbaError
from numba.extending import intrinsic, overload, overload_method, register_jitable

__all__ = ["CompiledFunction", "compiled", "copy_record", "inlined_kernel", "is_compiled", "kernel"]

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

    For the inner steps of a search: their arguments are many, and passing them takes a tenth of a
    simulation's time.
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
        TypeError: If `cls` is not a NamedTuple, has no field, gives a method that another compiled
            class has other parameters, or a method the name of another compiled class's field
            (which of the two numba means hangs on the order in which it heard of them).
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
    """Whether `value` is an instance of a `@compiled` class, with all that it contains."""
    return type(value) in _classes and _classes.issuperset(_named_tuple_classes([value]))


def _parameters(method: Callable[..., Any]) -> inspect.Signature:
    """The signature without annotations: names, order and defaults."""
    signature = inspect.signature(method)
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return inspect.Signature(parameters)


def _expose(name: str, method: Callable[..., Any]) -> None:
    """Tell numba, once for each method name, to look the method up in the class of its object."""

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

    The code is kept on disk and found again by later processes, until a source it was made from
    changes. What a later process could not find, as it was defined in `__main__`, at a prompt or
    inside a function, is compiled for this process alone; so is a source edited while it runs.

    Args:
        function: A function under `@kernel`, or any function that numba compiles.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._dispatchers: dict[frozenset[type], Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code for these arguments, compiling it first where need be."""
        return self.specialise(*arguments)(*arguments)

    def specialise(self, *arguments: Any) -> Callable[..., Any]:
        """The machine code for the types of `arguments`, without numba's dispatch in front.

        Call it only with arguments of exactly these types: no type is looked at again.
        """
        if numba.config.DISABLE_JIT:
            return self.function
        classes = frozenset(_named_tuple_classes(arguments))
        signature = tuple(numba.typeof(argument) for argument in arguments)
        with _lock:
            if classes not in self._dispatchers:
                self._dispatchers[classes] = _make_dispatcher(self.function, classes)
            dispatcher = self._dispatchers[classes]
            if signature not in dispatcher.overloads:
                dispatcher = _compile(dispatcher, classes, signature)
                self._dispatchers[classes] = dispatcher
        return dispatcher.overloads[signature].entry_point


_lock: Final = threading.RLock()


def _named_tuple_classes(values: Iterable[Any]) -> Iterator[type]:
    for value in values:
        if isinstance(value, tuple):
            if hasattr(value, "_fields"):
                yield type(value)
            yield from _named_tuple_classes(value)


def _jit(function: Callable[..., Any], cache: bool) -> Any:
    return numba.njit(cache=cache, nogil=True, error_model="numpy")(function)


def _make_dispatcher(function: Callable[..., Any], classes: frozenset[type]) -> Any:
    directory = _cache_directory(function, classes)
    if directory is not None:
        before = numba.config.CACHE_DIR
        # Numba reads the setting when it decorates, so the user's own functions keep their place.
        numba.config.CACHE_DIR = str(directory)
        try:
            dispatcher = _jit(function, cache=True)
            # Where numba cannot write it takes another place, which an edit does not change.
            if Path(dispatcher.stats.cache_path).is_relative_to(directory):
                return dispatcher
        except RuntimeError:
            pass  # it found no place at all
        finally:
            numba.config.CACHE_DIR = before
    return _jit(function, cache=False)


def _compile(dispatcher: Any, classes: frozenset[type], signature: tuple[Any, ...]) -> Any:
    """Compile for one signature, or load it; returns the dispatcher that has it then."""
    cache = dispatcher.stats.cache_path
    with _announcement(dispatcher.py_func, classes, is_kept=cache is not None):
        try:
            dispatcher.compile(signature)
        except Exception as error:
            if cache is None or isinstance(error, NumbaError):
                raise
            # A damaged file or a full disk: do without, and let the next process start anew.
            shutil.rmtree(cache, ignore_errors=True)
            dispatcher = _jit(dispatcher.py_func, cache=False)
            dispatcher.compile(signature)
    return dispatcher


# ---- the cache ----------------------------------------------------------------------------------


_started: Final = time.time()
"""When this process began, near enough."""


def _cache_directory(function: Callable[..., Any], classes: frozenset[type]) -> Path | None:
    """The directory for one function over one set of classes, or None where nothing can be kept."""
    modules = sorted({function.__module__, *(cls.__module__ for cls in classes)})
    files = [str(_source_file(module) or "") for module in modules]
    if not all(files) or "<locals>" in function.__qualname__ or not all(map(_is_in_place, classes)):
        return None
    sources = _sources(modules)
    root = _cache_root()
    if sources is None or root is None:
        return None
    names = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)
    settings = (numba.config.BOUNDSCHECK, numba.config.OPT, sys.flags.optimize)
    family = f"{function.__name__}-{_digest([repr((names, files, settings))])}"
    directory = root / f"{family}-{_digest(sources)}"
    if not directory.exists():
        for stale in root.glob(f"{family}-*"):  # what an older source was compiled to
            if stale != directory:  # which another process may have begun by now
                shutil.rmtree(stale, ignore_errors=True)
    return directory


def _is_in_place(cls: type) -> bool:
    """Whether a class is found by its name, as a later process will have to."""
    with suppress(AttributeError):
        return operator.attrgetter(cls.__qualname__)(sys.modules[cls.__module__]) is cls
    return False


def _cache_root() -> Path | None:
    """`NUMBA_CACHE_DIR`, else beside this package, else (read-only install) the user's cache."""
    package = Path(__file__).resolve().parent
    of_this_install = f"hexenv-{_digest([str(package)])}"
    if numba.config.CACHE_DIR:
        candidates = [Path(numba.config.CACHE_DIR) / of_this_install]
    else:
        candidates = [package / "__pycache__" / "compiled", _user_cache() / of_this_install]
    for candidate in candidates:
        with suppress(OSError, RuntimeError):  # not writable; no home directory
            root = candidate.expanduser().absolute()
            root.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=root).close()
            return root
    return None


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")
    if sys.platform == "darwin":
        return Path("~/Library/Caches")
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")


def _digest(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def _source_file(module_name: str) -> Path | None:
    """The file of an imported module; None for `__main__` and the like, which do not last."""
    module: ModuleType | None = sys.modules.get(module_name)
    if module is None or module_name == "__main__":
        return None
    file = getattr(module, "__file__", None)
    return Path(file) if file and file.endswith(".py") and Path(file).exists() else None


def _sources(modules: Iterable[str]) -> list[str] | None:
    """The text of the given modules and, followed through their imports, of all local ones.

    None if one was edited since this process began, which may still run what was there before.
    """
    tops = {module.partition(".")[0] for module in (*modules, __name__)}
    found: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        file = _source_file(name)
        if name in found or file is None or not _is_local(name, file, tops):
            continue
        if _started < file.stat().st_mtime <= time.time():
            return None
        found[name] = importlib.util.decode_source(file.read_bytes())
        waiting.extend(_imported_modules(name, found[name]))
    return [f"{name}\n{found[name]}" for name in sorted(found)]


_LIBRARIES: Final = (
    Path(sysconfig.get_path("stdlib")).resolve(),
    Path(numba.__file__).resolve().parents[1],
)


def _is_local(name: str, file: Path, tops: set[str]) -> bool:
    """Whether a module belongs to the code that is compiled, and not to an installed library."""
    if name.partition(".")[0] in tops:
        return True
    file = file.resolve()
    installed = {"site-packages", "dist-packages"}.intersection(file.parts)
    return not installed and not any(file.is_relative_to(library) for library in _LIBRARIES)


@functools.cache
def _imported_modules(name: str, source: str) -> list[str]:
    """Names of the modules that a module's import statements may mean.

    Only what the module holds counts, as compiled code can reach nothing else: no import inside a
    function or for type checking, which may or may not have happened by now.
    """
    held = vars(sys.modules[name])
    package = held.get("__package__") or ""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if alias.asname in held:
                    found.append(alias.name)
                elif alias.asname is None and parts[0] in held:
                    found += [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
        elif isinstance(node, ast.ImportFrom):
            parent = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = f"{parent}.{node.module or ''}".strip(".")
            for alias in node.names:
                if alias.name == "*" or (alias.asname or alias.name) in held:
                    found += [base, f"{base}.{alias.name}"]
    return found


# ---- the announcement ---------------------------------------------------------------------------


class _Announcer(numba_event.Listener):
    """Prints one line when numba really compiles (and none when the code comes from the cache)."""

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
