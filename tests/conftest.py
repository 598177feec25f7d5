"""How a test runs: as plain Python, unless it is marked `compiled`; and which slow ones run."""

import os
import zlib
from collections.abc import Generator

import numba
import pytest

from hexenv.compiled import interpreted

HAS_COMPILER = not numba.config.DISABLE_JIT


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", type=part, help="K/N: of the slow tests only the K-th of N parts")


def part(text: str) -> tuple[int, int]:
    """Two numbers of a text such as ``3/7``."""
    number, _, parts = text.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise ValueError(f"expected a part such as 3/7, got {text!r}")
    return int(number), int(parts)


def part_of(test: str, parts: int) -> int:
    """The part that a test belongs to, by its name alone: from 1."""
    return zlib.crc32(test.encode()) % parts + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--part"):
        number, parts = config.getoption("--part")
        left_out = [
            item
            for item in items
            if item.get_closest_marker("slow") and part_of(item.nodeid, parts) != number
        ]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    with interpreted():  # what a module plays while it is imported
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("compiled"):
        return (yield)
    before = os.environ.get("NUMBA_DISABLE_JIT")
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # for the processes that it starts
    try:
        with interpreted():
            return (yield)
    finally:
        if before is None:
            del os.environ["NUMBA_DISABLE_JIT"]
        else:
            os.environ["NUMBA_DISABLE_JIT"] = before


def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("compiled")
    if marker and marker.kwargs.get("only") and not HAS_COMPILER:
        pytest.skip("it needs machine code, and NUMBA_DISABLE_JIT is set")
