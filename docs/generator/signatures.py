"""Signatures as callers need them: each option by name, in place of ``**options: Unpack[...]``.

And examples of agents, which are made for their pages, in the reference as well.
"""

import inspect
from collections.abc import Iterator
from pydoc import locate
from typing import Any

import griffe
from agent_pages import example

from agents.registry import agent_classes, parameters

VARIADIC = griffe.ParameterKind.var_keyword


class TrueSignatures(griffe.Extension):
    """What MkDocs loads to change what it has read of a package."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Write out the options of all functions, and document what `env` of a game takes."""
        for module in modules_of(pkg):
            for function in functions_of(module):
                write_out(function)
            if "raw_env" in module.functions and "env" in module.attributes:
                module.set_member("env", wrapped(module.functions["raw_env"]))
        for agent in agent_classes().values():
            if agent.__module__.partition(".")[0] == pkg.path:
                show_example(pkg[f"{agent.__module__}.{agent.__qualname__}".partition(".")[2]])


def show_example(agent: griffe.Class) -> None:
    """Put the example of an agent's page below what the class says of itself, if there is one."""
    code = example(locate(agent.path))
    if code and agent.docstring:
        agent.docstring.value += f"\n\nExample:\n\n{code}"


def modules_of(module: griffe.Module) -> Iterator[griffe.Module]:
    """A module and those in it."""
    yield module
    for each in module.modules.values():
        if not each.is_alias:
            yield from modules_of(each)


def functions_of(owner: griffe.Module | griffe.Class) -> Iterator[griffe.Function]:
    """The functions of a module and the methods of its classes."""
    yield from (each for each in owner.functions.values() if not each.is_alias)
    for each in owner.classes.values():
        if not each.is_alias:
            yield from functions_of(each)


def write_out(function: griffe.Function) -> None:
    """Put the members of ``Unpack[SomeTypedDict]`` in the place of the parameter that has it."""
    for variadic in [each for each in function.parameters if each.kind is VARIADIC]:
        annotation = variadic.annotation
        if not isinstance(annotation, griffe.ExprSubscript):
            continue
        options = function.modules_collection[annotation.slice.canonical_path]
        defaults = defaults_of(function)
        del function.parameters[variadic.name]
        owners = [*reversed(options.mro()), options]
        members = {name: each for owner in owners for name, each in owner.attributes.items()}
        for name, member in members.items():
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
    found = parameters(made)
    return {name: default_text(parameter.default) for name, parameter in found.items()}


def default_text(default: Any) -> str:
    """A default as it is written."""
    if isinstance(default, type):
        return f"{default.__module__.partition('.')[0]}.{default.__name__}"
    return "inf" if default == float("inf") else repr(default)


def wrapped(raw: griffe.Function) -> griffe.Function:
    """What `env` of a game is: `raw_env` within the wrapper that PettingZoo's games have."""
    env = griffe.Function(
        "env",
        parameters=raw.parameters,
        returns="StandardWrapper",
        docstring=griffe.Docstring(
            f"`{raw.path}` within PettingZoo's usual wrapper, "
            "`hexenv.envs.standard_wrapper.StandardWrapper`: an illegal move loses the game. "
            "The parameters are the same.",
        ),
    )
    env.docstring.parent = env
    return env
