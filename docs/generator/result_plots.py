"""Tables of results as pictures: what is measured, its interval, and the time that it took.

The pictures are SVG within the page, so that they have its colours, light or dark.
"""

import math
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

COLORS = ("#2a86c7", "#e0701f", "#1f9e77", "#b565b8")
"""Of the series, readable on light and on dark ground."""
ROW = 20
"""Height of a row of a dot plot with up to three series, in pixels."""
APART = 6
"""Distance of the series within a row, in pixels."""
INTERVAL = ", interval of 95 %"
"""What a legend says of each series."""
LEFT, WIDTH, RIGHT = 90, 360, 30
"""Widths of the labels at most, the plot and the margin: together as wide as a phone can show."""
CELL = re.compile(r"([-+]?[\d.]+)(?: %)? \(([-+]?[\d.]+)(?:-| to )([-+]?[\d.]+)\)$")


Place = Callable[[float], float]
"""The pixels of a value on an axis."""


class Measured(NamedTuple):
    """A figure and its interval of 95 %."""

    value: float
    low: float
    high: float


def measured(cell: str) -> Measured | None:
    """What a cell of a table has, such as ``0.610 (0.545-0.672)``."""
    found = CELL.match(cell)
    return None if found is None else Measured(*map(float, found.groups()))


def is_measured(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table has figures with intervals to draw, in two rows or more."""
    return sum(any(map(measured, row)) for row in rows) > 1


def is_share(point: Measured) -> bool:
    """Whether a figure with its interval lies between 0 and 1."""
    return point.low >= 0 and point.high <= 1


def dot_plots(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as dots with intervals: shares, which lie between 0 and 1, apart from the rest."""
    series = [
        (column, [point for row in rows if (point := measured(row[column]))])
        for column in range(len(header))
    ]
    shares = [column for column, points in series if points and all(map(is_share, points))]
    others = [column for column, points in series if points and column not in shares]
    most = len(COLORS)
    groups = [each[at : at + most] for each in (shares, others) for at in range(0, len(each), most)]
    first = min(column for column, points in series if points)
    labels = [", ".join(label_cells(header, row[:first])) for row in rows]
    return [dot_plot(header, labels, rows, columns) for columns in groups]


def dot_plot(
    header: Sequence[str], labels: list[str], rows: Sequence[Sequence[str]], columns: list[int]
) -> str:
    """Columns of a table as dots with intervals: a row for each of its rows, a colour for each."""
    names = [header[column].replace("`", "") for column in columns]
    points = [[measured(row[column]) for column in columns] for row in rows]
    known = [point for row in points for point in row if point]
    low, high = bounds([point.low for point in known], [point.high for point in known])
    left = label_width([*labels, header[0]])
    above = ROW if left > LEFT else 0  # long labels have a line of their own above the dots
    left = ROW if above else left
    place = scale(low, high, left, left + WIDTH)
    row_height = max(ROW, APART * (len(columns) + 1)) + above
    top = ROW * len(columns) + 8 + above
    bottom = top + row_height * len(rows)
    parts = [
        legend(names, left, above),
        text(0, ROW - 4, header[0], "start", "about"),
        axis(place, low, high, top, bottom),
    ]
    for number, (label, row) in enumerate(zip(labels, points, strict=True)):
        y = top + row_height * (number + 0.5)
        if above:
            parts.append(text(0, y - row_height / 2 + 16, label, "start"))
        else:
            parts.append(text(left - 8, y + 4, label, "end"))
        if number and len(columns) > 2:  # so that it is seen what belongs together
            between = y - row_height / 2
            parts.append(line(left, between, left + WIDTH, between, "grid"))
        for which, point in enumerate(row):
            if point:
                aside = APART * (which - (len(columns) - 1) / 2) + above / 2
                parts.append(dot(place, y + aside, point, COLORS[which]))
    about = in_words(names, labels, points)
    return svg(left + WIDTH + RIGHT, bottom + 2 * ROW - 8, parts, about)


def in_words(
    names: Sequence[str], labels: Sequence[str], points: Sequence[Sequence[Measured | None]]
) -> str:
    """What a dot plot shows, for who does not see it: of each column the most and the least."""
    parts: list[str] = []
    for column, name in enumerate(names):
        known = [
            (row[column], label) for row, label in zip(points, labels, strict=True) if row[column]
        ]
        most, least = max(known), min(known)
        parts.append(f"{name}: most {point_text(*most)}, least {point_text(*least)}")
    return f"Dots with intervals of 95 %. {'; '.join(parts)}. All figures are in the table below."


def point_text(point: Measured | None, label: str) -> str:
    """A figure in words."""
    assert point is not None
    return f"{label} with {point.value:g} ({point.low:g} to {point.high:g})"


def time_plot(names: Sequence[str], scores: Sequence[Measured], seconds: Sequence[float]) -> str:
    """Figures with intervals by the time for a move, on a logarithmic axis; a name at each dot."""
    left, height = 60, 380
    times = [1000 * each for each in seconds]
    low, high = math.log10(min(times)) - 0.1, math.log10(max(times)) + 0.1
    across = scale(low, high, left, left + 380)
    least, most = bounds([each.low for each in scores], [each.high for each in scores])
    up = scale(least, most, height - 50, 20)
    parts: list[str] = []
    step = 0.25 if most == 1 else tick_step(most - least)
    for tick in (least + step * number for number in range(round((most - least) / step) + 1)):
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
    return svg(left + 392 + label_width(names), height, parts, "score by time for a move")


# ---- parts of a picture --------------------------------------------------------------------------


def label_cells(header: Sequence[str], cells: Sequence[str]) -> list[str]:
    """The cells that say what a row is about: the first, and others that are no figures."""
    plain = [re.sub(r"\[(.+?)\]\(.*?\)", r"\1", cell).replace("`", "") for cell in cells]
    others = zip(header[1:], plain[1:], strict=False)
    return plain[:1] + [
        f"{name} {cell}" if cell in ("on", "off") or name == "against" else cell
        for name, cell in others
        if re.match(r"\D", cell)
    ]


def label_width(labels: Sequence[str]) -> int:
    """The width of the labels of a plot, about, in pixels."""
    return 24 + 6 * max(map(len, labels))


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


def scale(low: float, high: float, start: float, end: float) -> Place:
    """The pixels of a value on an axis."""
    return lambda value: start + (value - low) / (high - low) * (end - start)


def ticks_of_times(least: float, most: float) -> list[float]:
    """Times in milliseconds to write at an axis."""
    known = [digit * 10.0**power for power in range(-2, 5) for digit in (1, 2, 5)]
    return [tick for tick in known if least * 0.8 <= tick <= most * 1.25]


def axis(place: Place, low: float, high: float, top: float, bottom: float) -> str:
    """Lines across the rows, with their values below."""
    step = tick_step(high - low)
    ticks = [low + step * number for number in range(round((high - low) / step) + 1)]
    return "".join(
        line(place(tick), top, place(tick), bottom, "grid")
        + text(place(tick), bottom + 16, f"{tick:g}", "middle")
        for tick in ticks
    )


def legend(names: Sequence[str], left: float, top: float) -> str:
    """The names of the series."""
    return "".join(
        f'<circle cx="{left + 6}" cy="{top + ROW * i + 12}" r="4" fill="{COLORS[i]}"/>'
        + text(left + 16, top + ROW * i + 16, name.removesuffix(" (95 %)") + INTERVAL, "start")
        for i, name in enumerate(names)
    )


def dot(place: Place, y: float, point: Measured, color: str) -> str:
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


def text(x: float, y: float, words: str, anchor: str, name: str = "") -> str:
    """Words at a place, of a class of the style sheet if one is named."""
    kind = f' class="{name}"' if name else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f"<text{kind} {place}>{escape(words)}</text>"


def svg(width: float, height: float, parts: Sequence[str], about: str) -> str:
    """The picture, which shrinks a little where there is less room."""
    size = f"max-width: {1.1 * width:.0f}px; min-width: {0.75 * width:.0f}px"
    return (
        f'<div class="plot"><svg viewBox="0 0 {width} {height}" style="{size}" role="img" '
        f'aria-label="{escape(about)}">{"".join(parts)}</svg></div>'
    )
