"""How a test runs: as plain Python, unless it is marked `compiled`; and two options for CI.

Tests with hypothesis draw the same examples in every run. Records of NumPy have quick attributes:
`quick_records.py` says why.
"""

import gc
import os
import zlib
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from quick_records import make_records_quick

from hexenv.compiled import interpreted, uses_machine_code

# The same examples in every run; HYPOTHESIS_PROFILE=default draws new ones. No explanations of
# failures: they need a trace of each line, in which Python 3.11 may hang where a test has threads.
settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=25,
    phases=[phase for phase in Phase if phase is not Phase.explain],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

make_records_quick()
HAS_COMPILER = uses_machine_code()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", help="run the K-th of N parts of what is selected, such as 3/7")
    parser.addoption("--skipped-to", metavar="FILE", help="write down which tests were skipped")


def part_of(item: pytest.Item, parts: int) -> int:
    """The part, from 1, that a test belongs to, by its name.

    If it runs as machine code, by the name of its file: tests of a file share what they compile.
    """
    name = item.path.name if item.get_closest_marker("compiled") else item.nodeid
    return zlib.crc32(name.encode()) % parts + 1


def mark_products(items: list[pytest.Item]) -> None:
    """Mark as slow what repeats rows of parameters that other cases of a test have shown.

    Of a test over three games and four agents, six cases show each of them once.
    """
    shown: dict[str, set[tuple[str | int, ...]]] = {}
    for item in items:
        tables = [mark.args[0] for mark in item.iter_markers("parametrize")]
        if len(tables) > 1 and not item.get_closest_marker("slow"):
            values = item.callspec.params
            names = [table.split(",") if isinstance(table, str) else table for table in tables]
            rows = {(*own, *(id(values[name.strip()]) for name in own)) for own in names}
            seen = shown.setdefault(item.nodeid.partition("[")[0], set())
            if rows <= seen:
                item.add_marker(pytest.mark.slow)
            seen |= rows


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_products(items)
    part = config.getoption("--part")
    if part is not None:
        number, _, parts = part.partition("/")
        if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
            raise pytest.UsageError(f"expected a part such as 3/7, got {part!r}")
        chosen = [item for item in items if part_of(item, int(parts)) == int(number)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen


# ---- what was skipped ----------------------------------------------------------------------------

SKIPPED = pytest.StashKey[dict[str, None]]()


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--skipped-to") and not hasattr(config, "workerinput"):
        config.stash[SKIPPED] = {}
        config.pluginmanager.register(_SkippedTests(config.stash[SKIPPED]))


class _SkippedTests:
    """Collects the names of skipped tests, and of files that were skipped as a whole."""

    def __init__(self, names: dict[str, None]) -> None:
        self.names = names

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self.names[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.names[report.nodeid] = None


def pytest_sessionfinish(session: pytest.Session) -> None:
    if SKIPPED in session.config.stash:
        names = session.config.stash[SKIPPED]
        text = "".join(f"{name}\n" for name in names)
        Path(session.config.getoption("--skipped-to")).write_text(text)


# ---- compiled or not -----------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()  # nothing of what is made here is garbage
    try:
        with interpreted():  # what a module plays while it is imported
            return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("compiled") and HAS_COMPILER:
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
        pytest.skip("it needs machine code: NUMBA_DISABLE_JIT is set, or there is no numba")
