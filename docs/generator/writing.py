"""How pages and tables are written, and what docstrings say of parameters."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import griffe

from agents.core.tables import markdown_table

Pages = dict[str, str | bytes]
"""What is made, by path: pages of Markdown, and the pictures on them."""
Row = Sequence[str]


def page(title: str, *parts: str) -> str:
    """A page: its title and its parts, without the empty ones."""
    return "\n\n".join(filter(None, [f"# {title}", *parts])) + "\n"


def section(title: str, *texts: str) -> str:
    """A part of a page with a heading; empty if it has nothing to say."""
    return "\n\n".join([f"## {title}", *texts]) if any(texts) else ""


def table(header: Row, rows: Iterable[Row], kind: str = "") -> str:
    """A table, in a block with a class of the style sheet if one is named."""
    text = markdown_table(header, rows).rstrip()
    return f'<div class="{kind}" markdown>\n\n{text}\n\n</div>' if kind else text


def parameter_table(
    parameters: Mapping[str, inspect.Parameter], description: Callable[[str], str]
) -> str:
    """The parameters with their defaults and their meanings."""
    rows = [
        [f"`{name}`", default_cell(parameter), description(name)]
        for name, parameter in parameters.items()
    ]
    header = ["Parameter", "Default", "Meaning"]
    return table(header, rows, "parameters") if rows else "None of its own."


def default_cell(parameter: inspect.Parameter) -> str:
    """The default of a parameter, or that there is none."""
    required = parameter.default is parameter.empty
    return "required" if required else f"`{default_text(parameter.default)}`"


def default_text(default: Any) -> str:
    """A default as it is written."""
    if isinstance(default, type):
        return f"{default.__module__.partition('.')[0]}.{default.__name__}"
    return repr(default)


def sections(documented: Any) -> list[griffe.DocstringSection]:
    """The sections of the docstring of a class, a function or a module."""
    text = inspect.cleandoc(documented.__doc__ or "")
    return griffe.Docstring(text).parse("google", warnings=False)


def text_of(documented: Any) -> str:
    """What a docstring says before its sections."""
    return "\n\n".join(part.value for part in sections(documented) if part.kind.value == "text")


def described(documented: Any) -> dict[str, str]:
    """The parameters, or the attributes, that a docstring describes, each in one line."""
    return {
        item.name: " ".join(item.description.split())
        for part in sections(documented)
        if part.kind.value in ("parameters", "attributes")
        for item in part.value
    }
