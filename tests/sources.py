"""The modules of the two packages, each read and parsed once."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("hexenv", "agents")
    for path in sorted((ROOT / package).rglob("*.py"))
}
"""The files of the modules by name."""


@cache
def text_of(module: str) -> str:
    return SOURCES[module].read_text(encoding="utf-8")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(text_of(module))


@cache
def imports_of(module: str) -> frozenset[str]:
    """What a module imports, at its top or in a function: modules, and `a.b` for a name b of a.

    For modules of ours that is exact: ``from hexenv.games import base`` is of the module base.
    """
    path = SOURCES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return frozenset(_imports(ast.walk(tree_of(module)), package))


@cache
def imports_at_the_top_of(module: str) -> frozenset[str]:
    """What every import of a module imports too."""
    path = SOURCES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return frozenset(_imports(tree_of(module).body, package))


def _imports(nodes: Iterator[ast.AST] | list[ast.stmt], package: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield name if name in SOURCES or base not in SOURCES else base


def is_below(module: str, packages: str) -> bool:
    """Whether a module is one of some packages, separated by spaces, or lies in one of them."""
    return any(module == name or module.startswith(f"{name}.") for name in packages.split())


def importers_of(packages: str) -> set[str]:
    """The modules that import one of some packages, or anything below them."""
    return {module for module in SOURCES if any(is_below(i, packages) for i in imports_of(module))}
