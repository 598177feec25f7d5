"""Imports on demand: names of a package that are imported when they are used."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from hexenv.common.messages import suggestion


def attribute_at(path: str) -> Any:
    """What ``module:name`` names; of ``module:`` the module itself."""
    module, _, name = path.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


def import_on_demand(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for a package, whose names stand for ``module:name``, imported late."""

    def get(name: str) -> Any:
        if name not in where:
            meant = suggestion(name, where)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{meant}")
        return attribute_at(where[name])

    return get
