"""Imports on demand: names of a package that are imported when used, and old names of modules."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class MovedModules(MetaPathFinder, Loader):
    """Finds the modules of a table at their new places.

    Args:
        table: New names by old ones. A module is the same object under both.
    """

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A specification for a name of the table, None for any other."""
        return ModuleSpec(fullname, self) if fullname in self._table else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module at its new place."""
        module = importlib.import_module(self._table[spec.name])
        spec.loader_state = module.__spec__  # which the import system is about to replace
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is executed again; the module stays what it was."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def keep_old_names(table: Mapping[str, str]) -> None:
    """Let the old names of a table be imported."""
    sys.meta_path.append(MovedModules(table))


def attribute_at(path: str) -> Any:
    """What ``module:name`` names; of ``module:`` the module itself."""
    module, _, name = path.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


def import_on_demand(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for a package: its names are imported when they are asked for.

    Args:
        package: The name of the package.
        where: What each of its public names stands for, as ``module:name``.
    """

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return attribute_at(where[name])

    return get
