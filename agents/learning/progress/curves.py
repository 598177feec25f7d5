"""Learning curves of several seeds: interquartile means with stratified bootstrap intervals.

As Agarwal et al. 2021 (Deep reinforcement learning at the edge of the statistical precipice,
NeurIPS) recommend: a few seeds tell little by their mean, and nothing without an interval.

Examples:
    >>> from agents.learning.progress.curves import learning_curve
    >>> runs = [([0, 100], [0.0, 1.0]), ([0, 100], [0.0, 2.0])]  # steps and values of two seeds
    >>> learning_curve("mine", [runs]).values
    (0.0, 1.5)
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.aggregates import bootstrap_interval, interquartile_mean
from agents.core.reading import read_objects
from agents.learning.progress.ratings import RATINGS, read_ratings

Run = tuple[Sequence[float], Sequence[float]]
"""The steps of a run, ascending, and the values there."""

# ---- curves --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """The learning curve of several runs.

    Attributes:
        label: What the runs are called.
        runs: How many.
        steps: Ascending.
        values: The interquartile mean of the runs at each step.
        low: The lower ends of the 95 % intervals of `values`; those of a single run are its values.
        high: The upper ends.
    """

    label: str
    runs: int
    steps: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def learning_curve(label: str, tasks: Sequence[Sequence[Run]], seed: int = 0) -> Curve:
    """The curve of the runs of a task, or of several, over the steps that all of them have reached.

    Where a run has no value at a step of another one, it is on the line between its own.

    Raises:
        ValueError: If there is no run, one without values, or no step that all have reached.
    """
    runs = [run for task in tasks for run in task]
    if not runs or not all(len(steps) for steps, _ in runs):
        raise ValueError(f"{label}: expected runs with a value each, got none")
    first = max(steps[0] for steps, _ in runs)
    last = min(steps[-1] for steps, _ in runs)
    grid = sorted({step for steps, _ in runs for step in steps if first <= step <= last})
    if not grid:
        raise ValueError(f"{label}: expected steps that all runs have reached, got none")
    strata = [np.array([np.interp(grid, *run) for run in task]) for task in tasks]
    low, high = bootstrap_interval(strata, seed=seed)
    values = interquartile_mean(np.concatenate(strata), axis=0)
    numbers = (tuple(map(float, each)) for each in (grid, values, low, high))
    return Curve(label, len(runs), *numbers)


# ---- files ---------------------------------------------------------------------------------------


def read_run(folder: str | os.PathLike[str], key: str = "elo") -> Run:
    """The values of a run: of its ratings, or of the log of ``hexenv train``, over its iterations.

    Raises:
        OSError: If a file cannot be read.
        ValueError: If there is none with values, or it is damaged.
    """
    path = Path(folder)
    log = path / "log.jsonl"
    if is_rated(path):
        if key != "elo":
            raise ValueError(f"expected elo of ratings, got {key!r}")
        ratings = read_ratings(path)
        return [one.step for one in ratings], [one.elo for one in ratings]
    rows = read_objects(log) if log.exists() else []
    found = [(one["iteration"], one[key]) for one in rows if "iteration" in one and key in one]
    if not found or not all(isinstance(one, (int, float)) for row in found for one in row):
        raise ValueError(f"expected {RATINGS}, or a log.jsonl with {key}, in {folder}")
    return [float(step) for step, _ in found], [float(value) for _, value in found]


def is_rated(run: Path) -> bool:
    """Whether a run has ratings, by the learner's steps, and not only a log by iterations."""
    return (run / RATINGS).exists()


def seed_folders(folder: str | os.PathLike[str]) -> list[Path]:
    """The folders ``seed-0``, ``seed-1``, ... in one, or itself if there are none."""
    found = (path for path in Path(folder).glob("seed-*") if re.fullmatch(r"seed-\d+", path.name))
    return sorted(found, key=lambda path: int(path.name[5:])) or [Path(folder)]


def read_curve(label: str, folders: Sequence[str | os.PathLike[str]], key: str = "elo") -> Curve:
    """The curve of the seeds in a folder; several folders are different tasks, such as games."""
    tasks = [[read_run(run, key) for run in seed_folders(folder)] for folder in folders]
    return learning_curve(label, tasks)


# ---- tables --------------------------------------------------------------------------------------


def rows_of(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """A row for each step of each curve."""
    return [
        {"curve": one.label, "runs": one.runs, "step": step, "iqm": value, "low": low, "high": high}
        for one in curves
        for step, value, low, high in zip(one.steps, one.values, one.low, one.high, strict=True)
    ]


def text_rows(curves: Sequence[Curve]) -> list[list[str]]:
    """A header and a row for each step, a column for each curve: ``512 (480 to 540)``."""
    steps = sorted({step for one in curves for step in one.steps})
    spans = [max(map(abs, one.values), default=0.0) for one in curves]
    digits = 0 if max(spans, default=0.0) >= 10 else 3
    cells = [
        {
            step: f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
            for step, value, low, high in zip(one.steps, one.values, one.low, one.high, strict=True)
        }
        for one in curves
    ]
    header = ["step", *(f"{one.label} ({one.runs} seeds)" for one in curves)]
    return [header, *([f"{step:,.0f}", *(own.get(step, "") for own in cells)] for step in steps)]
