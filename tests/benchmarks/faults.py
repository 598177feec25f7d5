"""How many small faults the tests find: drawn at random, put in one at a time.

    python tests/benchmarks/faults.py draw            # 150 faults into results/faults.json
    python tests/benchmarks/faults.py run --workers 2 # goes on where it was interrupted
    python tests/benchmarks/faults.py report

A fault is a comparison that is turned, a whole number that is one too large, or a branch that is
never taken, in games, environments, learners, search, mcts, core, arena or records. For each the
tests that run as plain Python are run until the first fails, those first that name the module
most often, for at most `--limit` processor seconds. A fault that is not found may change nothing.
A fault is kept with the text of its line, so that it is found again where code has moved; one
whose line is there no more is left out of the count.
"""

import argparse
import ast
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "benchmarks" / "results" / "faults.json"
ROOMS = (
    "hexenv/games", "hexenv/envs", "hexenv/learners", "agents/search", "agents/mcts",
    "agents/core", "agents/arena", "agents/records",
)  # fmt: skip
TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OPERATORS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
BROKEN = "fail without a fault"
HANGS = 1_000
LEFT_OUT = (
    "accessibility", "browser", "ci", "documentation", "house", "layout", "progress_sb3", "rl",
    "site", "suite",
)  # fmt: skip
"""Tests that need what a plain installation has not, or look at the text of the project alone."""


# ---- drawing -------------------------------------------------------------------------------------


def faults_of(path: Path) -> Iterator[dict[str, Any]]:
    """All faults that a file can have, each with its new line."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
            left, right = node.left, node.comparators[0]
            if left.end_lineno == right.lineno and left.end_col_offset is not None:
                start, end = left.end_col_offset, right.col_offset
                old = OPERATORS[type(node.ops[0])]
                between = lines[left.end_lineno - 1][start:end]
                new = between.replace(old, TURNED[old], 1)
                yield fault(path, lines, left.end_lineno, start, end, new, "comparison")
        elif isinstance(node, ast.Constant) and type(node.value) is int and node.end_col_offset:
            new, end = str(node.value + 1), node.end_col_offset
            yield fault(path, lines, node.lineno, node.col_offset, end, new, "constant")
        elif isinstance(node, ast.If) and node.test.end_lineno == node.test.lineno:
            start, end = node.test.col_offset, node.test.end_col_offset or 0
            new = f"False and ({lines[node.lineno - 1][start:end]})"
            yield fault(path, lines, node.lineno, start, end, new, "branch")


def fault(
    path: Path, lines: list[str], number: int, start: int, end: int, new: str, kind: str
) -> dict[str, Any]:
    """A fault as the file of faults has it."""
    line = lines[number - 1]
    return {
        "file": str(path.relative_to(ROOT)),
        "line": number,
        "old": line,
        "new": line[:start] + new + line[end:],
        "kind": kind,
    }


def draw(count: int, seed: int) -> None:
    """Write `count` faults, as many of each room and kind as chance has it."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    every = [each for path in paths for each in faults_of(path) if each["old"].isascii()]
    drawn = random.Random(seed).sample(every, count)
    FILE.write_text(json.dumps(drawn, indent=1) + "\n", encoding="utf-8")
    print(f"{count} of {len(every)} faults:", dict(Counter(each["kind"] for each in drawn)))


# ---- running -------------------------------------------------------------------------------------


def place_of(one: dict[str, Any], tree: Path) -> tuple[Path, int] | None:
    """Where the line of a fault is today: in its file, or wherever it stands once."""
    path = tree / one["file"]
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    near = [i for i, line in enumerate(lines) if line == one["old"]]
    if near:
        return path, min(near, key=lambda i: abs(i + 1 - one["line"]))
    found = [
        (other, i)
        for package in ("hexenv", "agents")
        for other in (tree / package).rglob("*.py")
        for i, line in enumerate(other.read_text(encoding="utf-8").splitlines())
        if line == one["old"]
    ]
    return found[0] if len(found) == 1 else None


def tests_for(path: Path, tree: Path) -> list[str]:
    """The files of tests, those first that name a module most often."""
    module = str(path.relative_to(tree).with_suffix("")).replace("/", ".")
    name = module.removesuffix(".__init__").rpartition(".")[2]
    counts = {
        str(test.relative_to(tree)): 100 * text.count(module) + len(re.findall(rf"\b{name}", text))
        for test in sorted((tree / "tests").glob("test_*.py"))
        if test.stem.removeprefix("test_") not in LEFT_OUT
        and (text := test.read_text(encoding="utf-8"))
    }
    return sorted(counts, key=lambda test: -counts[test])


def failed_of(tree: Path, tests: list[str], limit: int, options: list[str]) -> list[str] | int:
    """The tests that fail, or how pytest ended where it told of none."""
    common = ["-q", "-p", "no:cacheprovider", "-m", "not slow and not compiled"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *common, *options, *tests],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)),
    )
    try:
        said, _ = process.communicate(timeout=3 * limit)
    except subprocess.TimeoutExpired:  # it waits for something
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return HANGS
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
    return failed or process.returncode


def run_one(one: dict[str, Any], tree: Path, limit: int, broken: list[str]) -> str:
    """Put a fault into a copy of the project, and test it; returns what came of it."""
    place = place_of(one, tree)
    if place is None:
        return "gone"
    path, number = place
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    lines[number] = one["new"] + "\n"
    path.write_text("".join(lines), encoding="utf-8")
    left_out = [f"--deselect={test}" for test in broken]
    try:
        found = failed_of(tree, tests_for(path, tree), limit, ["-x", *left_out])
    finally:
        path.write_text(text, encoding="utf-8")
    if isinstance(found, list):
        return f"found by {found[0]}"
    names = {0: "missed", HANGS: "hangs", -signal.SIGXCPU: "late", -signal.SIGKILL: "late"}
    return names.get(found, f"found: pytest ended with {found}")


def run(workers: int, limit: int, results: Path) -> None:
    """Test all faults that have no result yet."""
    faults = json.loads(FILE.read_text(encoding="utf-8"))
    known = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    waiting = [number for number in range(len(faults)) if str(number) not in known]
    with tempfile.TemporaryDirectory() as scratch:
        trees = [Path(scratch) / str(number) for number in range(workers)]
        for tree in trees:
            tree.mkdir()
            for part in ("hexenv", "agents", "tests", "examples", "docs"):
                shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("*.pyc"))
            for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "CITATION.cff"):
                shutil.copy(ROOT / name, tree / name)

        if BROKEN not in known:  # without a fault, in this environment
            tests = tests_for(trees[0] / "hexenv" / "__init__.py", trees[0])
            failed = failed_of(trees[0], tests, 10 * limit, ["-n", str(workers)])
            if isinstance(failed, int) and failed != 0:
                raise SystemExit(f"pytest ended with {failed} without a fault")
            known[BROKEN] = failed or []

        def work(tree: Path) -> None:
            while waiting:
                number = waiting.pop(0)
                known[str(number)] = run_one(faults[number], tree, limit, known[BROKEN])
                print(number, faults[number]["file"], known[str(number)], flush=True)
                results.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, trees))
    report(results)


def report(results: Path) -> None:
    """Print how many faults were found."""
    known = json.loads(results.read_text(encoding="utf-8"))
    known.pop(BROKEN)
    kinds = Counter(result.partition(" by ")[0].partition(":")[0] for result in known.values())
    tested = len(known) - kinds["gone"]
    found = kinds["found"] + kinds["hangs"]
    print(f"found {found} of {tested}:", dict(kinds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["draw", "run", "report"])
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=int, default=600, help="processor seconds for a fault")
    parser.add_argument("--results", type=Path, default=FILE.with_name("faults_found.json"))
    given = parser.parse_args()
    if given.command == "draw":
        draw(given.count, given.seed)
    elif given.command == "run":
        run(given.workers, given.limit, given.results)
    else:
        report(given.results)


if __name__ == "__main__":
    main()
