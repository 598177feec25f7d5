"""Libraries of extras, imported with a message that says how to install them."""

from importlib import import_module
from typing import Any


def how_to_install(extra: str) -> str:
    """The command that installs an extra from a checkout; no release is published."""
    return f'pip install -e ".[{extra}]" in a checkout of hexenv'


def library(module: str, extra: str) -> Any:
    """A module of a library that an extra installs; the ImportError without it says how to."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"expected {module} ({how_to_install(extra)}): {error}") from error
