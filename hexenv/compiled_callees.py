"""How kernels are compiled that only compiled code calls: they become parts of their callers.

Numba optimises every function, with all that it calls, and makes machine code of it, though only
the outermost function is entered from Python. For the seventy kernels of a search that was almost
half of the compilation.
"""

# Numba's types are partly missing.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportPrivateImportUsage=false
# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false

import ctypes
from typing import Any, Final, Literal

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

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
            entry = _dynfunc.make_function(module, name, "", _REFUSES, lowered.env, (library,))
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
