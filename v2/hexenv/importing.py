"""Imports on demand: names of a package that are imported when used, and old names of modules."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from hexenv.messages import suggestion


class MovedModules(MetaPathFinder, Loader):
    """Finds modules at their new places, given by old names; one object under both."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if self._new_name(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new_name = self._new_name(spec.name)
        assert new_name is not None
        module = importlib.import_module(new_name)
        spec.loader_state = module.__spec__  # which the import system is about to replace
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state

    def _new_name(self, old: str) -> str | None:
        package, _, name = old.rpartition(".")
        if package in self._table:  # all modules of a package move with it
            return f"{self._table[package]}.{name}"
        return self._table.get(old)


def keep_old_names(table: Mapping[str, str]) -> None:
    """Let the old names of a table be imported."""
    # First, as Python finds the files of a package that has moved under its old name too.
    sys.meta_path.insert(0, MovedModules(table))


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
