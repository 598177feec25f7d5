"""The disk cache of machine code: a directory for each function and the sources it is made of.

The key contains all compiled sources: the module of the function, the modules of the classes of
its arguments, and every local module that these import. Numba's own check sees only the function's
file, and would run old rules after an edit elsewhere. The constants of these classes are in it by
their values, as a program may set them.

Every file has a checksum, so that damaged code is compiled anew and not run: `CheckedFiles`.
"""

# Numba's settings have no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false

import ast
import functools
import hashlib
import importlib.util
import io
import operator
import os
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from hexenv.compiled.numba_parts import numba, private

_started: Final = time.time()
"""About the time when this process began."""


def cache_directory(
    function: Callable[..., Any], classes: frozenset[type], constants: list[str], counts: bool
) -> Path | None:
    """The directory for one function over one set of classes, or None without a cache.

    `constants` are what machine code takes of the classes by value.
    """
    modules = sorted({function.__module__, *(cls.__module__ for cls in classes)})
    files = [str(_source_file(module) or "") for module in modules]
    if not all(files) or "<locals>" in function.__qualname__ or not all(map(_is_in_place, classes)):
        return None
    sources = _sources(modules)
    root = cache_root()
    if sources is None or root is None:
        return None
    names = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)
    settings = (numba.config.BOUNDSCHECK, numba.config.OPT, sys.flags.optimize, counts)
    family = f"{function.__name__}-{digest([repr((names, files, settings))])}"
    return _directory(root, family, [*sources, *constants])


def _directory(root: Path, family: str, sources: list[str]) -> Path:
    """The directory of a family for these sources; those for older ones are removed."""
    directory = root / f"{family}-{digest(sources)}"
    if not directory.exists():
        for stale in root.glob(f"{family}-*"):
            if stale != directory:  # another process may have created it by now
                shutil.rmtree(stale, ignore_errors=True)
    return directory


def mark_of(cls: type, what: str, of: str) -> Path | None:
    """A file by which later processes know something of a class, as long as its sources stay.

    Args:
        cls: The class.
        what: What is known, such as "played".
        of: Of which of its instances, as a text.

    Returns:
        The file, which may exist or not; None where nothing can be kept.
    """
    root = cache_root()
    sources = _sources([cls.__module__]) if _is_in_place(cls) else None
    if root is None or not sources or _source_file(cls.__module__) is None:
        return None
    family = f"{what}-{cls.__name__}-{digest([cls.__module__, cls.__qualname__])}"
    return _directory(root, family, sources) / digest([of])


def _is_in_place(cls: type) -> bool:
    """Whether a later process can find a class by its name."""
    with suppress(AttributeError):
        return operator.attrgetter(cls.__qualname__)(sys.modules[cls.__module__]) is cls
    return False


def cache_root() -> Path | None:
    """`NUMBA_CACHE_DIR`, else beside this package, else (read-only install) the user's cache."""
    package = Path(__file__).resolve().parents[1]
    of_this_install = f"hexenv-{digest([str(package)])}"
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


def digest(texts: Iterable[str]) -> str:
    """A short name for some texts."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def _source_file(module_name: str) -> Path | None:
    """The file of an imported module; None for `__main__` and modules without a file."""
    module: ModuleType | None = sys.modules.get(module_name)
    if module is None or module_name == "__main__":
        return None
    file = getattr(module, "__file__", None)
    return Path(file) if file and file.endswith(".py") and Path(file).exists() else None


def _sources(modules: Iterable[str]) -> list[str] | None:
    """The sources of the given modules and of all local modules that they import.

    None if one was edited since this process began: the process may still run the older source.
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
    Path(np.__file__).resolve().parents[1],
)


def _is_local(name: str, file: Path, tops: set[str]) -> bool:
    """Whether a module is ours or a user's, not an installed library."""
    if name.partition(".")[0] in tops:
        return True
    file = file.resolve()
    installed = {"site-packages", "dist-packages"}.intersection(file.parts)
    return not installed and not any(file.is_relative_to(library) for library in _LIBRARIES)


def _run_by_import(statements: list[Any]) -> Iterator[ast.AST]:
    """The statements that the import of a module runs, and those in them.

    A package holds what others import of it, so an import for type checking may look like one.
    """
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        yield node
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for part in ("body", "orelse", "handlers", "finalbody"):
            if not (is_for_types and part == "body"):
                yield from _run_by_import(getattr(node, part, []))


@functools.cache
def _imported_modules(name: str, source: str) -> list[str]:
    """The names of modules that a module's import statements may refer to.

    Only names in the module's namespace count, as compiled code can use nothing else: not imports
    inside functions or for type checking.
    """
    held = vars(sys.modules[name])
    package = held.get("__package__") or ""
    found: list[str] = []
    for node in _run_by_import(ast.parse(source).body):
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


# ---- damage --------------------------------------------------------------------------------------

CHECKSUM_BYTES: Final = 16


def checksum(content: bytes) -> bytes:
    """What a file of the cache ends with, of all that is before it."""
    return hashlib.blake2b(content, digest_size=CHECKSUM_BYTES).digest()


_Files: Final = private("index of the cache", "numba.core.caching:IndexDataCacheFile")


class CheckedFiles(_Files):
    """The files of a function that numba caches, with a checksum at the end of each.

    A damaged file is removed, and the process that removes it says so. For numba it is then not
    there: the code is compiled, and kept again.
    """

    def __init__(self, files: Any) -> None:
        vars(self).update(vars(files))  # numba knows where they are

    def has(self, key: Any) -> bool:
        """Whether there is code of a signature, and undamaged."""
        name = self._load_index().get(key)
        return name is not None and self._is_sound(self._data_path(name))

    def _load_index(self) -> dict[Any, str]:
        return super()._load_index() if self._is_sound(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        if not self._is_sound(self._data_path(name)):
            raise FileNotFoundError(name)  # which numba expects
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Generator[Any]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:  # in one step, so that nobody sees a half
            file.write(content.getvalue() + checksum(content.getvalue()))

    def _is_sound(self, path: str) -> bool:
        content = b""
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            return False
        except OSError:
            pass  # it cannot be read: damaged
        if checksum(content[:-CHECKSUM_BYTES]) == content[-CHECKSUM_BYTES:]:
            return True
        from hexenv.compiled.compiling import tell  # most processes find no damage

        removed = "is compiled anew"
        try:
            if path == self._index_path:  # the next index gives the names of these to other code
                for code in Path(path).parent.glob(f"{Path(path).stem}.*.nbc"):
                    code.unlink(missing_ok=True)
            os.unlink(path)
        except FileNotFoundError:
            return False  # another process was quicker
        except OSError as error:
            removed = f"cannot be removed ({error.strerror})"
        tell(f"damaged machine code {removed}: {path}")
        return False
