"""Signatures as callers need them: each option by name, in place of ``**options: Unpack[...]``.

And examples of agents, which are made for their pages, in the reference as well.
"""

import inspect
from collections.abc import Iterator
from pydoc import locate
from typing import Any

import griffe
from agent_pages import example
from writing import default_text

from agents.registry import agent_classes, parameters


class TrueSignatures(griffe.Extension):
    """What MkDocs loads to change what it has read of a package.

    Griffe's own extension for this, `unpack_typeddict`, knows neither defaults nor options that one
    `TypedDict` has of another.
    """

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Write out the options of all functions, and document what `env` of a game takes."""
        for function in list(functions_of(pkg)):
            write_out(function)
            module = function.parent
            if function.name == "raw_env" and "env" in module.attributes:
                module.set_member("env", wrapped(function))
        for agent in agent_classes().values():
            package, _, path = f"{agent.__module__}.{agent.__qualname__}".partition(".")
            code = example(agent)
            if code and package == pkg.path and (docstring := pkg[path].docstring):
                docstring.value += f"\n\nExample:\n\n{code}"


def functions_of(owner: griffe.Module | griffe.Class) -> Iterator[griffe.Function]:
    """The functions of a package and the methods of its classes."""
    for each in owner.members.values():
        if each.is_alias:
            continue
        if each.is_function:
            yield each
        elif each.is_module or each.is_class:
            yield from functions_of(each)


def write_out(function: griffe.Function) -> None:
    """Put the members of ``Unpack[SomeTypedDict]`` in the place of the parameter that has it."""
    last = function.parameters[-1] if len(function.parameters) else None
    if last is None or last.kind is not griffe.ParameterKind.var_keyword:
        return
    if isinstance(last.annotation, griffe.ExprSubscript):
        options = function.modules_collection[last.annotation.slice.canonical_path]
        defaults = defaults_of(function)
        del function.parameters[last.name]
        for name, member in options.all_members.items():
            function.parameters.add(
                griffe.Parameter(
                    name,
                    annotation=member.annotation,
                    kind=griffe.ParameterKind.keyword_only,
                    default=defaults[name],
                )
            )


def defaults_of(function: griffe.Function) -> dict[str, str]:
    """The defaults, as texts, of a constructor or of the class that a function returns."""
    made: Any = locate(function.parent.path if function.name == "__init__" else function.path)
    if not inspect.isclass(made):
        made = inspect.get_annotations(made, eval_str=True)["return"]
    return {name: default_text(each.default) for name, each in parameters(made).items()}


def wrapped(raw: griffe.Function) -> griffe.Function:
    """What `env` of a game is: `raw_env` within the wrapper that PettingZoo's games have."""
    text = (
        f"`{raw.path}` within PettingZoo's usual wrapper, "
        "`hexenv.envs.standard_wrapper.StandardWrapper`: an illegal move loses the game. "
        "The parameters are the same."
    )
    env = griffe.Function(
        "env",
        parameters=raw.parameters,
        returns="StandardWrapper",
        docstring=griffe.Docstring(text),
    )
    env.docstring.parent = env
    return env
