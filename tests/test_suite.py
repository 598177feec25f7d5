"""Of the suite itself: which tests run as machine code, in which part, and what was skipped."""

from pathlib import Path

import numpy as np
import pytest
from conftest import HAS_COMPILER
from quick_records import OF_NUMPY

pytest_plugins = ["pytester"]
CONFIGURATION = """
[pytest]
addopts = -p no:cacheprovider -m 'not slow'
markers =
    slow
    compiled
"""
TESTS = """
import os
import pytest
from hexenv.compiled import CompiledFunction

def one(): return 1
compiled_one = CompiledFunction(one)
at_import = compiled_one.specialise() is one

@pytest.fixture(scope="module")
def of_the_module(): return compiled_one.specialise() is one

def test_plain(of_the_module):
    assert at_import and of_the_module and compiled_one.specialise() is one
    assert os.environ["NUMBA_DISABLE_JIT"] == "1"

@pytest.mark.compiled(only=True)
def test_compiled():
    assert compiled_one.specialise() is not one
    assert "NUMBA_DISABLE_JIT" not in os.environ

@pytest.mark.skip
def test_skipped(): pass

@pytest.mark.slow
@pytest.mark.parametrize("number", range(40))
def test_slow(number): pass
"""


@pytest.fixture
def suite(pytester):
    pytester.makeini(CONFIGURATION)
    tests = Path(__file__).parent
    pytester.makeconftest((tests / "conftest.py").read_text())
    pytester.makepyfile(quick_records=(tests / "quick_records.py").read_text())
    pytester.makepyfile(test_one=TESTS)
    pytester.makepyfile(test_two="import pytest\npytest.skip('all of it', allow_module_level=True)")
    return pytester


def test_a_test_is_plain_python_unless_it_is_marked(suite, monkeypatch):
    if HAS_COMPILER:
        monkeypatch.delenv("NUMBA_DISABLE_JIT")
    result = suite.runpytest_subprocess()
    compiled = int(HAS_COMPILER)
    result.assert_outcomes(passed=1 + compiled, skipped=3 - compiled, deselected=40)


def names_of(result):
    return {line for line in result.outlines if "::" in line}


def test_the_parts_are_disjoint_and_complete(suite):
    def collected(*options):
        return names_of(suite.runpytest_inprocess("--collect-only", "-q", "-m", "slow", *options))

    whole, parts = collected(), [collected("--part", f"{number}/3") for number in (1, 2, 3)]
    assert len(whole) == sum(map(len, parts)) == 40
    assert set().union(*parts) == whole
    assert all(parts)


PRODUCT = """
import pytest

@pytest.mark.parametrize("game", ["hex", "gomoku", "connect4"])
@pytest.mark.parametrize(("agent", "count"), [("uct", 1), ("rave", 1), ("uct", 2), ("mast", 2)])
def test_product(game, agent, count): pass
"""


def test_every_row_of_a_product_is_shown_and_the_rest_is_slow(suite):
    suite.makepyfile(test_three=PRODUCT)
    path = suite.path / "test_three.py"
    quick = names_of(suite.runpytest_inprocess("--collect-only", "-q", path))
    slow = names_of(suite.runpytest_inprocess("--collect-only", "-q", "-m", "slow", path))
    assert (len(quick), len(slow), len(quick | slow)) == (3 + 4 - 1, 6, 12)
    assert all(any(game in name for name in quick) for game in ("hex", "gomoku", "connect4"))
    assert all(any(row in name for name in quick) for row in ("uct-1", "rave-1", "uct-2", "mast-2"))


@pytest.mark.parametrize("part", ["0/3", "4/3", "3", "a/b"])
def test_a_part_that_is_none_is_refused(suite, part):
    result = suite.runpytest_inprocess("--part", part)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*such as 3/7*"])


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_what_is_skipped_is_written_down(suite, workers):
    plain = ("-m", "not slow and not compiled")  # to compile takes seconds
    run = suite.runpytest_subprocess if workers else suite.runpytest_inprocess
    run("--skipped-to", "skipped.txt", *plain, *workers)
    skipped = (suite.path / "skipped.txt").read_text().split()
    assert "test_one.py::test_skipped" in skipped
    assert "test_two.py" in skipped
    assert "test_one.py::test_plain" not in skipped


# ---- quick records -------------------------------------------------------------------------------

INNER = np.dtype([("x", np.int8), ("y", np.float32, 2)])
RECORD = np.dtype(
    [
        ("cells", np.int8, (3, 5)), ("ply", np.int16), ("sub", INNER), ("subs", INNER, 2),
        ("any", object), ("size", np.int8), ("text", "U3"),
    ]
)  # fmt: skip
NAMES = (*RECORD.names, "no_such_field", "__wrapped__", "shape", "dtype")
VALUES = {
    "cells": (4, np.arange(15).reshape(3, 5), [1, 2]),
    "ply": (7, 70_000, 3.7, np.int64(9), "x"),
    "sub": ((1, [2, 3]), np.zeros(1, INNER)[0]),
    "any": ([1],),
    "size": (5,),
    "text": ("abcdef",),
    "no_such_field": (1,),
    "dtype": (1,),
    "flat": (2,),
}


def said(function, *arguments):
    """What a call returned or raised."""
    try:
        found = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    return type(found), getattr(found, "dtype", None), repr(found)


@pytest.mark.parametrize("kind", ["record", "array"])
def test_quick_records_say_what_those_of_numpy_say(kind):
    array = np.zeros(2, RECORD).view(np.recarray)
    of = array[1] if kind == "record" else array
    for name in NAMES:
        found = said(getattr, of, name)
        assert found == said(OF_NUMPY[kind], of, name)
    assert "__getattribute__" not in vars(type(of))  # so these were the quick ones


def test_quick_records_hold_what_those_of_numpy_hold():
    quick, slow = (np.zeros(2, RECORD).view(np.recarray) for _ in range(2))
    for name, values in VALUES.items():
        for value in values:
            found = said(setattr, quick[1], name, value)
            assert found == said(OF_NUMPY["set"], slow[1], name, value)
            assert quick.tolist().__repr__() == slow.tolist().__repr__()
    quick[1].cells[1, 2], quick[1].sub.x = 8, 9  # both are the record's own memory
    assert (quick["cells"][1, 1, 2], quick["sub"]["x"][1]) == (8, 9)
