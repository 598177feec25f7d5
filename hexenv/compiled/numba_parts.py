"""What is taken from numba, and what happens where numba or a part of it is missing.

Machine code needs numba's public interface, `cpu_target`, `AbstractTemplate` and
`AttributeTemplate`. Where one of these is missing, or numba is, everything runs as plain Python.
`PRIVATE` are names that numba keeps to itself and that make machine code faster, or faster to get:
where one is missing, the public interface does instead. Both are told once, in a warning.
"""

# Numba's types are partly missing.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false

import importlib
import os
import warnings
from multiprocessing import parent_process
from typing import Any, Final

__all__ = [
    "HAS_NUMBA", "MISSING", "PRIVATE", "AbstractTemplate", "AttributeTemplate", "NativeValue",
    "NumbaError", "NumbaRuntimeError", "TypingError", "cgutils", "cpu_target", "event",
    "infer_getattr", "intrinsic", "ir", "lower_builtin", "lower_getattr_generic", "models",
    "numba", "overload", "private", "register_jitable", "register_model", "type_callable",
    "typeof_impl", "types", "unbox",
]  # fmt: skip


class _Nothing:
    """Stands for what is missing: as a decorator, a base class or a value it does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_arguments: Any, **_keywords: Any) -> Any:
        return self

    def __bool__(self) -> bool:
        return False

    def __mro_entries__(self, _bases: Any) -> tuple[type, ...]:
        return (object,)


NOTHING: Final[Any] = _Nothing()

try:
    import numba
    from llvmlite import ir
    from numba.core import cgutils, event, types
    from numba.core.errors import NumbaError, NumbaRuntimeError, TypingError
    from numba.core.registry import cpu_target
    from numba.core.typing.templates import AbstractTemplate, AttributeTemplate
    from numba.extending import (
        NativeValue,
        infer_getattr,
        intrinsic,
        lower_builtin,
        lower_getattr_generic,
        models,
        overload,
        register_jitable,
        register_model,
        type_callable,
        typeof_impl,
        unbox,
    )
except ImportError as error:
    _problem = str(error)
    NumbaError = NumbaRuntimeError = TypingError = type("NumbaError", (Exception,), {})
    numba = ir = types = cgutils = event = cpu_target = models = NOTHING
    AbstractTemplate = AttributeTemplate = NativeValue = NOTHING
    infer_getattr = intrinsic = lower_builtin = lower_getattr_generic = overload = NOTHING
    register_jitable = register_model = type_callable = typeof_impl = unbox = NOTHING
else:
    _problem = ""

HAS_NUMBA: Final = not _problem
"""Whether there can be machine code."""

PRIVATE: Final[dict[str, tuple[str, str]]] = {
    "callees": (
        "it takes longer to compile",
        """numba._dynfunc:make_function
        numba.core.codegen:CPUCodegen._module_pass_manager
        numba.core.codegen:JITCodeLibrary
        numba.core.codegen:JITCodeLibrary._codegen
        numba.core.codegen:JITCodeLibrary._final_module
        numba.core.codegen:JITCodeLibrary._finalize_dynamic_globals
        numba.core.codegen:JITCodeLibrary._finalized
        numba.core.codegen:JITCodeLibrary._get_module_for_linking
        numba.core.codegen:JITCodeLibrary._linking_libraries
        numba.core.codegen:JITCodeLibrary._raise_if_finalized
        numba.core.codegen:JITCodeLibrary._reload_init
        numba.core.compiler:CompilerBase
        numba.core.compiler:DefaultPassBuilder
        numba.core.compiler:DefaultPassBuilder.define_nopython_pipeline
        numba.core.compiler_machinery:register_pass
        numba.core.typed_passes:NativeLowering""",
    ),
    "uncounted": (
        "searches count references, which takes more than half the time of a small one",
        """numba.core.options:DefaultOptions._nrt
        numba.core.compiler:CompileResult.signature
        numba.core.dispatcher:Dispatcher._compiler
        numba.core.dispatcher:_FunctionCompiler._failed_cache""",
    ),
    "scratch arrays": (
        "searches make arrays in memory of their own",
        "numba.np.arrayobj:populate_array",
    ),
    "entry points": (
        "each call of machine code takes longer",
        """numba.core.compiler:CompileResult.entry_point
        numba.core.options:DefaultOptions.no_cfunc_wrapper""",
    ),
    "index of the cache": (
        "damaged code on disk is not noticed, and loaded code is announced as if it were compiled",
        """numba.core.caching:FunctionCache._cache_file
        numba.core.caching:FunctionCache._index_key
        numba.core.caching:IndexDataCacheFile
        numba.core.caching:IndexDataCacheFile._data_path
        numba.core.caching:IndexDataCacheFile._index_path
        numba.core.caching:IndexDataCacheFile._load_data
        numba.core.caching:IndexDataCacheFile._load_index
        numba.core.caching:IndexDataCacheFile._open_for_write
        numba.core.dispatcher:Dispatcher._cache""",
    ),
}
"""What private names are for: what happens without one of them, and the names."""


def _find(name: str) -> Any:
    """What a name such as ``module:Class.attribute`` stands for; `NOTHING` if it is missing.

    An attribute of instances alone, which the `__init__` of the class sets, is True.
    """
    module, _, path = name.partition(":")
    try:
        value: Any = importlib.import_module(module)
    except ImportError:
        return NOTHING
    for part in path.split("."):
        bases = value.__mro__ if isinstance(value, type) else ()
        starts: list[Any] = [vars(base).get("__init__") for base in bases]
        is_set = any(part in each.__code__.co_names for each in starts if hasattr(each, "__code__"))
        value = getattr(value, part, is_set or NOTHING)
    return value


_found: Final = {name: _find(name) for _, names in PRIVATE.values() for name in names.split()}
MISSING: Final = {
    use: lacking
    for use, (_, names) in PRIVATE.items()
    if (lacking := [name for name in names.split() if _found[name] is NOTHING])
}
"""The uses of `PRIVATE` that the public interface must do instead: the missing names of each."""


def private(use: str, name: str) -> Any:
    """What a name of `PRIVATE` stands for; something that does nothing where it is missing."""
    assert name in PRIVATE[use][1].split(), name
    return _found[name]


def _tell(text: str) -> None:
    """Warn of it, but not in workers, which do what their parent does, or where none wants code."""
    if parent_process() is None and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0":
        warnings.warn(text, RuntimeWarning, stacklevel=2)


if not HAS_NUMBA:
    _tell(
        f"there is no machine code without numba ({_problem}): everything runs as plain Python, "
        "and searches take 150 to 1,200 times as long"
    )
elif MISSING:
    _uses = (f"{PRIVATE[use][0]} (no {', '.join(names)})" for use, names in MISSING.items())
    _tell(f"numba {numba.__version__} is unlike those that hexenv knows: {'; '.join(_uses)}")
