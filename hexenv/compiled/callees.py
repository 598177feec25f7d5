"""How what compiled code calls is found and compiled: kernels, and what classes offer.

Kernels become parts of their callers. Numba optimises every function, with all that it calls, and
makes machine code of it, though only the outermost function is entered from Python. For the seventy
kernels of a search that was almost half of the compilation.

What is behind the dot of an instance is looked up in its class, as Python does: its fields, else
its methods, properties and constants. Numba itself knows methods of NamedTuples by name alone, so
that all classes would share their names and parameters.
"""

# Numba's types are partly missing.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportPrivateImportUsage=false
# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false

import ctypes
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, Literal, NamedTuple, TypeVar

import numpy as np

from hexenv.compiled.numba_parts import (
    MISSING,
    AbstractTemplate,
    AttributeTemplate,
    TypingError,
    infer_getattr,
    lower_getattr_generic,
    private,
    register_jitable,
    register_model,
    types,
)

_make_function = private("callees", "numba._dynfunc:make_function")
JITCodeLibrary = private("callees", "numba.core.codegen:JITCodeLibrary")
CompilerBase = private("callees", "numba.core.compiler:CompilerBase")
DefaultPassBuilder = private("callees", "numba.core.compiler:DefaultPassBuilder")
register_pass = private("callees", "numba.core.compiler_machinery:register_pass")
NativeLowering = private("callees", "numba.core.typed_passes:NativeLowering")

_REFUSES: Final = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value
"""The address of a function that Python may call: it raises TypeError."""
_ENVIRONMENT: Final = "_ZN08NumbaEnv"
"""How numba begins the names of the variables that hold a function's Python objects."""
_SMALL: Final = 30
"""A kernel of at most so many basic blocks is also optimised by itself, before it is linked: some
short loops become faster so."""


class _CalleeLibrary(JITCodeLibrary):
    """Code for linking: the caller optimises it and makes machine code."""

    reads_environment = False
    """Whether it reads Python objects, as to print does: these are set for machine code alone."""

    def add_llvm_module(self, ll_module: Any) -> None:
        text = str(ll_module)
        names = [variable.name for variable in ll_module.global_variables]
        named = [name for name in names if name.startswith(_ENVIRONMENT)]
        self.reads_environment |= any(text.count(name) > 1 for name in named)
        super().add_llvm_module(ll_module)

    def finalize(self) -> None:
        if self.reads_environment:
            super().finalize()
            return
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        if sum(len(list(f.blocks)) for f in self._final_module.functions) <= _SMALL:
            passes, builder = self._codegen._module_pass_manager()
            passes.run(self._final_module, builder)
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _CalleeLowering(NativeLowering):
    """Numba's pass, but for its end: Python gets a function that only raises TypeError."""

    _name = "callee_lowering"

    def run_pass(self, state: Any) -> Literal[True]:
        context = state.targetctx
        library = _CalleeLibrary(context.codegen(), state.func_id.func_qualname)
        state.library = library
        state.flags.no_compile = state.flags.no_cfunc_wrapper = True
        super().run_pass(state)
        lowered = state["cr"]
        if library.reads_environment:
            entry = context.get_executable(library, lowered.fndesc, lowered.env)
        else:
            module, name = lowered.fndesc.lookup_module(), state.func_id.func_name
            entry = _make_function(module, name, "", _REFUSES, lowered.env, (library,))
        context.insert_user_function(entry, lowered.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class CalleeCompiler(CompilerBase):
    """Numba's pipeline for a function that only compiled code calls."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_CalleeLowering if a_pass is NativeLowering else a_pass, why)
            for a_pass, why in passes.passes
        ]
        passes.finalize()
        return [passes]


# ---- kernels and classes -------------------------------------------------------------------------

F = TypeVar("F", bound=Callable[..., Any])
CALLEE: Final[dict[str, Any]] = {"error_model": "numpy"}
if "callees" not in MISSING:
    CALLEE["pipeline_class"] = CalleeCompiler
"""Numba's options for what compiled code calls."""
_kernels: Final[set[Any]] = set()
CLASSES: Final[dict[type, dict[str, Any]]] = {}
"""What compiled code finds in each class, beside the fields, since `register_class`."""
_OF_EVERY_CLASS: Final = frozenset(vars(NamedTuple("One", [("x", int)]))) - {"x"}


def register_kernel(function: F, **options: Any) -> F:
    """Let compiled code call a function; indexes of one that is not ours are checked."""
    if function not in _kernels:
        register_jitable(**CALLEE, **options, boundscheck=not is_ours(function))(function)
        _kernels.add(function)
    return function


def is_ours(value: Any) -> bool:
    """Whether a function or a class is one of these packages, whose tests look at every index."""
    return value.__module__.partition(".")[0] in ("hexenv", "agents")


def register_class(cls: type) -> None:
    """Let compiled code use the methods, properties and constants of a NamedTuple class."""
    found = members_of(cls)
    for value in found.values():
        function = value.fget if isinstance(value, property) else value
        if isinstance(function, FunctionType):
            register_kernel(function)
    CLASSES[cls] = found


def members_of(cls: type) -> dict[str, Any]:
    """What a class has that not every NamedTuple has, its own before that of its base classes."""
    found: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        if each not in (object, tuple):
            found |= vars(each)
    return {name: value for name, value in found.items() if name not in _OF_EVERY_CLASS}


def constants_of(cls: type) -> list[str]:
    """The values in a class that machine code takes as constants, as texts."""
    found = CLASSES.get(cls, {}).items()
    return [f"{name} {text}" for name, value in sorted(found) if (text := _text_of(value))]


def _text_of(value: Any) -> str:
    """A text that differs for different constants; empty for a method and what else is none."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_text_of, value))},)"
    return repr(value) if isinstance(value, int | float | complex | np.generic | str) else ""


class _Method(types.BoundFunction):
    """A method of an instance: numba compiles it as the function that it is."""

    def get_impl_key(self, sig: Any) -> Any:
        return self.template.function.get_impl_key(sig.as_function())


@register_model(_Method)
def _model_of_method(manager: Any, method: Any) -> Any:
    return manager[method.this]


class _MethodTemplate(AbstractTemplate):
    function: Any
    """Numba's type of the function."""
    this: Any
    """Numba's type of the instance."""

    def generic(self, args: Any, kws: Any) -> Any:
        signature = self.function.get_call_type(self.context, (self.this, *args), kws)
        return signature and signature.as_method()


@infer_getattr
class _AttributesOfClass(AttributeTemplate):
    key = types.BaseNamedTuple

    def generic_resolve(self, instance: Any, name: str) -> Any:
        found = CLASSES.get(instance.instance_class, {}).get(name)
        if found is None or name in instance.fields:
            return None
        if isinstance(found, property):
            getter = self.context.resolve_value_type(found.fget)
            return getter.get_call_type(self.context, (instance,), {}).return_type
        try:
            kind = self.context.resolve_value_type(found)
        except (ValueError, TypingError):
            return None  # of no use in compiled code, such as a dtype or a text
        if not isinstance(found, FunctionType):
            return types.unliteral(kind)
        holds = {"key": found, "function": kind}
        return _Method(type(name, (_MethodTemplate,), holds), instance)


def _lower_attribute(context: Any, builder: Any, instance: Any, value: Any, name: str) -> Any:
    """A field, or what the class has under the name."""
    if name in instance.fields:
        index = instance.fields.index(name)
        field = builder.extract_value(value, index)
        if context.enable_nrt:
            context.nrt.incref(builder, instance[index], field)
        return field
    found = CLASSES[instance.instance_class][name]
    typing = context.typing_context
    if isinstance(found, property):
        getter = typing.resolve_value_type(found.fget)
        signature = getter.get_call_type(typing, (instance,), {})
        return context.get_function(getter, signature)(builder, (value,))
    kind = types.unliteral(typing.resolve_value_type(found))
    return context.get_constant_generic(builder, kind, found)


for _kind in (types.NamedTuple, types.NamedUniTuple):
    lower_getattr_generic(_kind)(_lower_attribute)
