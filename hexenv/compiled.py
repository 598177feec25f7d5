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

# Numba ships no type information; this module is where that stays.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false

import ast
import hashlib
import inspect
import os
import shutil
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

import numba
from numba.core import cgutils, types
from numba.core import event as numba_event
from numba.extending import intrinsic, overload, overload_method, register_jitable

__all__ = ["CompiledFunction", "compiled", "copy_record", "is_compiled", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

_methods: Final[dict[str, inspect.Signature]] = {}
_fields: Final[dict[str, str]] = {}
_classes: Final[set[type]] = set()


def kernel(function: F) -> F:
    """Mark a function as callable from compiled code. It stays an ordinary Python function."""
    register_jitable(error_model="numpy")(function)
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
            (numba would then read the method where the field is meant).
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
    return type(value) in _classes and all(
        is_compiled(part) for part in _tuple_items(value) if hasattr(part, "_fields")
    )


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
    overload_method(
        types.BaseNamedTuple, name, strict=False, jit_options={"error_model": "numpy"}
    )(resolve)


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
    if isinstance(source, types.Record) and source == into:
        return lambda source, into: _copy_memory(source, into)
    return None


class CompiledFunction:
    """A kernel as machine code, compiled for the types of its arguments when first called.

    The code is kept on disk and found again by later processes, until a source it was made from
    changes. Classes defined in `__main__` or at a prompt are compiled for this process alone.

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
        with _lock:
            dispatcher = self._dispatchers.get(classes)
            if dispatcher is None:
                dispatcher = _make_dispatcher(self.function, classes)
                self._dispatchers[classes] = dispatcher
            signature = tuple(numba.typeof(argument) for argument in arguments)
            if signature not in dispatcher.overloads:
                with _announcement(self.function, classes):
                    dispatcher.compile(signature)
        return dispatcher.overloads[signature].entry_point


_lock: Final = threading.RLock()


def _tuple_items(value: Any) -> Iterator[Any]:
    return iter(value) if isinstance(value, tuple) else iter(())


def _named_tuple_classes(values: Iterable[Any]) -> Iterator[type]:
    for value in values:
        if hasattr(value, "_fields"):
            yield type(value)
            yield from _named_tuple_classes(_tuple_items(value))


# ---- the cache ----------------------------------------------------------------------------------


def _make_dispatcher(function: Callable[..., Any], classes: frozenset[type]) -> Any:
    directory = _cache_directory(function, classes)
    before = numba.config.CACHE_DIR
    # Numba reads the setting when it decorates, so the user's own functions keep their place.
    numba.config.CACHE_DIR = str(directory) if directory else before
    try:
        return numba.njit(cache=directory is not None, nogil=True, error_model="numpy")(function)
    finally:
        numba.config.CACHE_DIR = before


def _cache_directory(function: Callable[..., Any], classes: frozenset[type]) -> Path | None:
    """The directory for one function over one set of classes, or None where nothing can be kept."""
    modules = sorted({function.__module__, *(cls.__module__ for cls in classes)})
    if any(_source_file(module) is None for module in modules):
        return None
    root = _cache_root()
    if root is None:
        return None
    names = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)
    places = [str(_source_file(module)) for module in modules]
    family = f"{function.__name__}-{_digest([repr((names, places))])}"
    settings = repr((numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.CPU_NAME))
    directory = root / f"{family}-{_digest([*_sources(modules), settings])}"
    if not directory.exists():
        for stale in root.glob(f"{family}-*"):  # what an older source was compiled to
            shutil.rmtree(stale, ignore_errors=True)
    return directory


def _cache_root() -> Path | None:
    """`NUMBA_CACHE_DIR`, else beside this package, else (read-only install) the user's cache."""
    package = Path(__file__).resolve().parent
    of_this_install = f"hexenv-{_digest([str(package)])}"
    if numba.config.CACHE_DIR:
        candidates = [Path(numba.config.CACHE_DIR) / of_this_install]
    else:
        candidates = [package / "__pycache__" / "compiled", _user_cache() / of_this_install]
    for candidate in candidates:
        try:
            candidate.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(candidate, os.W_OK | os.X_OK):
            return candidate
    return None


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


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


def _sources(modules: Iterable[str]) -> list[str]:
    """The text of the given modules and, followed through their imports, of all local ones."""
    tops = {module.partition(".")[0] for module in modules}
    found: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        file = _source_file(name)
        if name in found or file is None or not _is_local(name, file, tops):
            continue
        found[name] = file.read_text(encoding="utf-8")
        waiting.extend(_imported_modules(name, found[name]))
    return [f"{name}\n{found[name]}" for name in sorted(found)]


_LIBRARIES: Final = tuple(
    Path(path).resolve()
    for path in {sysconfig.get_paths()[key] for key in ("stdlib", "purelib", "platlib")}
)


def _is_local(name: str, file: Path, tops: set[str]) -> bool:
    """Whether a module belongs to the code that is compiled, and not to an installed library."""
    if name.partition(".")[0] in tops:
        return True
    return not any(file.resolve().is_relative_to(library) for library in _LIBRARIES)


def _imported_modules(name: str, source: str) -> Iterator[str]:
    """Names of the modules that a module's import statements may mean."""
    package = getattr(sys.modules[name], "__package__", None) or ""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package.split(".")[: len(package.split(".")) - node.level + 1]
            parts = [*(start if node.level else []), *([node.module] if node.module else [])]
            base = ".".join(parts)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


class _Announcer(numba_event.Listener):
    """Prints one line when numba really compiles (and none when the code comes from the cache)."""

    def __init__(self, line: str) -> None:
        self.line = line

    def on_start(self, event: Any) -> None:
        if self.line:
            print(self.line, file=sys.stderr, flush=True)
        self.line = ""

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def _announcement(function: Callable[..., Any], classes: frozenset[type]) -> Iterator[None]:
    names = ", ".join(sorted(cls.__name__ for cls in classes))
    line = f"hexenv: compiling {function.__name__} for {names} (once, some seconds)"
    with numba_event.install_listener("numba:compile", _Announcer(line)) or nullcontext():
        yield
