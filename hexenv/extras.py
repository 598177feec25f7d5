"""Libraries that only an extra installs, and the one text that says how to install it."""

from importlib import import_module
from typing import Any


def how_to_install(extra: str) -> str:
    """What a user runs. No release is published, so extras are installed from a checkout."""
    return f'pip install -e ".[{extra}]" in a checkout of hexenv'


def library(module: str, extra: str) -> Any:
    """A module of a library that an extra installs.

    Raises:
        ImportError: Saying what to install, if it is missing.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"expected {module} ({how_to_install(extra)}): {error}") from error
