"""Tables of results as pictures: what is measured, its interval, and the time that it took.

The pictures are SVG within the page, so that they have its colours, light or dark.
"""

import math
import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

COLORS = ("#2a86c7", "#e0701f", "#1f9e77")
"""Of the series, readable on light and on dark ground."""
ROW = 20
"""Height of a row of a dot plot, in pixels."""
LEFT, WIDTH, RIGHT = 290, 400, 30
"""Widths of the labels, the plot and the margin."""
CELL = re.compile(r"(-?[\d.]+)(?: %)? \((-?[\d.]+)(?:-| to )(-?[\d.]+)\)$")


class Measured(NamedTuple):
    """A figure and its interval of 95 %."""

    value: float
    low: float
    high: float


def measured(cell: str) -> Measured | None:
    """What a cell of a table has, such as ``0.610 (0.545-0.672)``."""
    found = CELL.match(cell)
    return None if found is None else Measured(*map(float, found.groups()))


def dot_plot(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as dots with intervals: a row for each of its rows, a colour for each column."""
    columns = [i for i in range(len(header)) if any(measured(row[i]) for row in rows)]
    first = columns[0]
    labels = [", ".join(cell.strip("`") for cell in label_cells(row[:first])) for row in rows]
    points = [[measured(row[column]) for column in columns] for row in rows]
    known = [point for row in points for point in row if point]
    low, high = bounds([point.low for point in known], [point.high for point in known])
    height = ROW * (len(rows) + 2 + len(columns))
    place = scale(low, high, LEFT, LEFT + WIDTH)
    top = ROW * len(columns) + 8
    parts = [
        legend([header[column] for column in columns]),
        axis(low, high, top, top + ROW * len(rows)),
    ]
    for number, (label, row) in enumerate(zip(labels, points, strict=True)):
        y = top + ROW * (number + 0.5)
        parts.append(text(LEFT - 8, y + 4, label, "end"))
        for which, point in enumerate(row):
            if point:
                parts.append(
                    dot(place, y + 5 * which - 2.5 * (len(columns) - 1), point, COLORS[which])
                )
    return svg(height, parts, f"{', '.join(header[column] for column in columns)}, by agent")


def time_plot(names: Sequence[str], scores: Sequence[Measured], seconds: Sequence[float]) -> str:
    """Scores with intervals over the time for a move, on a logarithmic axis; a name at each dot."""
    left, height = 60, 380
    times = [1000 * each for each in seconds]
    low, high = math.log10(min(times)) - 0.1, math.log10(max(times)) + 0.1
    across = scale(low, high, left, left + 380)
    up = scale(0, 1, height - 50, 20)
    parts: list[str] = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        parts += [
            line(left, up(tick), left + 380, up(tick), "grid"),
            text(left - 8, up(tick) + 4, f"{tick:g}", "end"),
        ]
    for tick in ticks_of_times(min(times), max(times)):
        x = across(math.log10(tick))
        parts += [line(x, 20, x, height - 50, "grid"), text(x, height - 32, f"{tick:g}", "middle")]
    parts.append(text(left + 190, height - 10, "milliseconds a move", "middle"))
    order = sorted(range(len(names)), key=lambda i: -scores[i].value)
    below = 10.0
    for i in order:
        x, y = across(math.log10(times[i])), up(scores[i].value)
        below = max(below + 13, min(y, height - 50 - 13 * (len(order) - 1 - order.index(i))))
        parts += [
            line(x, up(scores[i].low), x, up(scores[i].high), "interval", COLORS[0]),
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLORS[0]}"/>',
            line(x + 5, y, left + 396, below, "grid"),
            text(left + 400, below + 4, names[i], "start"),
        ]  # fmt: skip
    return svg(height, parts, "score by time for a move")


# ---- parts of a picture --------------------------------------------------------------------------


def label_cells(cells: Sequence[str]) -> list[str]:
    """The cells that say what a row is about: not counts of games or points."""
    return [cell for cell in cells if cell and not re.match(r"\d+(\.\d)? of |\d+ \(\d+\)", cell)]


def bounds(lows: Sequence[float], highs: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis that holds all intervals: of shares, of per cent, or of ratings."""
    low, high = min(lows), max(highs)
    if low >= 0 and high <= 1:
        return 0, 1
    if low >= 0 and high <= 100:
        return (0, 100) if low < 50 else (50, 100)
    step = tick_step(high - low)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def tick_step(span: float) -> float:
    """A round distance of the marks of an axis, of which there are some five."""
    power = 10.0 ** math.floor(math.log10(span / 5))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= span / 6)


def scale(low: float, high: float, start: float, end: float):
    """The pixels of a value on an axis."""
    return lambda value: start + (value - low) / (high - low) * (end - start)


def ticks_of_times(least: float, most: float) -> list[float]:
    """Times in milliseconds to write at an axis."""
    known = [digit * 10.0**power for power in range(-2, 5) for digit in (1, 2, 5)]
    return [tick for tick in known if least * 0.8 <= tick <= most * 1.25]


def axis(low: float, high: float, top: float, bottom: float) -> str:
    """Lines across the rows, with their values below."""
    place = scale(low, high, LEFT, LEFT + WIDTH)
    step = tick_step(high - low)
    ticks = [low + step * number for number in range(round((high - low) / step) + 1)]
    return "".join(
        line(place(tick), top, place(tick), bottom, "grid")
        + text(place(tick), bottom + 16, f"{tick:g}", "middle")
        for tick in ticks
    )


def legend(names: Sequence[str]) -> str:
    """The names of the series."""
    return "".join(
        f'<circle cx="{LEFT + 6}" cy="{ROW * i + 12}" r="4" fill="{COLORS[i]}"/>'
        + text(LEFT + 16, ROW * i + 16, f"{name.partition(' (')[0]}, interval of 95 %", "start")
        for i, name in enumerate(names)
    )


def dot(place, y: float, point: Measured, color: str) -> str:
    """A figure with its interval."""
    return (
        line(place(point.low), y, place(point.high), y, "interval", color)
        + f'<circle cx="{place(point.value):.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>'
    )


def line(x: float, y: float, to_x: float, to_y: float, name: str, color: str = "") -> str:
    """A line of a class of the style sheet."""
    stroke = f' stroke="{color}"' if color else ""
    return (
        f'<line class="{name}"{stroke} x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'
    )


def text(x: float, y: float, words: str, anchor: str) -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def svg(height: float, parts: Sequence[str], about: str) -> str:
    """The picture."""
    width = LEFT + WIDTH + RIGHT
    return (
        f'<div class="plot"><svg viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(about)}">{"".join(parts)}</svg></div>'
    )
