"""Tables of Markdown, and what docstrings say of parameters."""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import griffe

Row = Sequence[str]


def table(header: Row, rows: Iterable[Row]) -> str:
    """A table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def classed(name: str, text: str) -> str:
    """A block of Markdown with a class of the style sheet."""
    return f'<div class="{name}" markdown>\n\n{text}\n\n</div>'


def sections(documented: Any) -> list[griffe.DocstringSection]:
    """The sections of the docstring of a class, a function or a module."""
    text = inspect.cleandoc(documented.__doc__ or "")
    return griffe.Docstring(text).parse("google", warnings=False)


def text_of(documented: Any) -> str:
    """What a docstring says before its sections."""
    return "\n\n".join(part.value for part in sections(documented) if part.kind.value == "text")


def described(documented: Any) -> dict[str, str]:
    """The parameters, or the attributes, that a docstring describes, each in one line."""
    found: dict[str, str] = {}
    for part in sections(documented):
        if part.kind.value in ("parameters", "attributes"):
            found |= {item.name: " ".join(item.description.split()) for item in part.value}
    return found


def parameter_table(
    parameters: dict[str, inspect.Parameter], description: Callable[[str], str]
) -> str:
    """The parameters with their defaults and their meanings."""
    if not parameters:
        return "None of its own."
    rows = [
        [f"`{name}`", default_text(parameter), cell_text(description(name))]
        for name, parameter in parameters.items()
    ]
    return classed("parameters", table(["Parameter", "Default", "Meaning"], rows))


def default_text(parameter: inspect.Parameter) -> str:
    """The default as Python writes it, or that there is none."""
    default = parameter.default
    if default is parameter.empty:
        return "required"
    return f"`{default.__name__ if isinstance(default, type) else repr(default)}`"


def cell_text(text: str) -> str:
    """A text that may stand in a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)
