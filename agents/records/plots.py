"""Plots of ratings over training, of training runs, accuracy and tournaments.

There is one function for each plot. It needs the extra ``plot`` (`ImportError` without it) and
returns a figure of matplotlib, which a notebook shows and `write_plot` writes to a file. It opens
no window and changes no global state of matplotlib.

Examples:
    >>> from agents.arena import Tournament, run_tournament
    >>> from agents.records.plots import tournament_plot, write_plot
    >>> table = run_tournament(Tournament("tictactoe", ["greedy", "random"], pairs=5), workers=0)
    >>> write_plot(tournament_plot(table), "table.png")
"""

import io
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from agents.arena.accuracy import Accuracy, interval, without_simulations
from agents.arena.aggregates import performance_profile
from agents.arena.standings import AgentStanding, Standings, short_names
from agents.core.files import expect_writable, replacing
from agents.learning.progress.curves import Curve
from agents.learning.topp import Rating
from hexenv.common.extras import library

if TYPE_CHECKING:
    from agents.arena.bench import BoardResult

FORMATS: Final = (".png", ".svg", ".pdf")
"""Suffixes of the files that can be written."""
DPI: Final = 150
"""Dots per inch of a PNG."""
COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, which colour-blind people can tell apart, without their light yellow."""
MARKERS: Final = "osD^vPX"
"""A shape for each colour."""
GREY: Final = "#767676"
"""The colour of reference lines."""
MAX_CROSS_TABLE: Final = 12
"""Number of agents up to which the cross table is readable."""
ARROW: Final = 28
"""Length in points of the arrow at the open end of an interval."""
ARROW_MARGIN: Final = 0.15
"""Space for such an arrow, as a share of the axis."""
SCORES_OF_PAIRS: Final = (0.0, 0.25, 0.5, 0.75)
"""Of two games, but for the greatest, which no pair exceeds."""
LABEL_WIDTH: Final = 44
"""Characters in a line of a label."""

Interval = tuple[float, float]


# ---- files ---------------------------------------------------------------------------------------


def check_plot(path: str | os.PathLike[str]) -> None:
    """Check the file for a plot, before any game is played for it.

    Raises:
        ImportError: If there is no matplotlib.
        ValueError: If the suffix is not in `FORMATS`, or the file cannot be written.
    """
    if Path(path).suffix.lower() not in FORMATS:
        raise ValueError(f"expected plot to end with one of {', '.join(FORMATS)}, got {path}")
    expect_writable("plot", path)
    library("matplotlib.figure", "plot")


def write_plot(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, which is checked by `check_plot` and replaced if it exists."""
    check_plot(path)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=DPI, format=Path(path).suffix[1:].lower())


def svg_text(figure: Any) -> str:
    """A figure as SVG for a page of HTML."""
    written = io.StringIO()
    figure.savefig(written, format="svg")
    return written.getvalue()[written.getvalue().index("<svg") :]


# ---- the plots -----------------------------------------------------------------------------------


def rating_plot(ratings: Iterable[Rating], title: str) -> Any:
    """Ratings of a run's networks over its iterations, a line for each way of playing.

    They are from `agents.learning.topp.ratings`; those without a game are left out.
    """
    figure = new_figure(8, 5)
    axes = figure.subplots()
    lines: dict[str, list[Rating]] = {}
    for rating in ratings:
        if rating.games:
            lines.setdefault(rating.plays, []).append(rating)
    for number, line in enumerate(lines.values()):
        iterations = [rating.iteration for rating in line]
        elo = [rating.elo for rating in line]
        bounds = [cast("Interval", (rating.low, rating.high)) for rating in line]
        low, high = zip(*closed(elo, bounds), strict=True)
        color = look(number)["color"]
        axes.fill_between(iterations, low, high, color=color, alpha=0.15, linewidth=0)
        axes.plot(iterations, elo, **look(number))
        for iteration, value, bound in zip(iterations, elo, bounds, strict=True):
            add_open_ends(axes, (iteration, value), bound, color, is_vertical=True)
    axes.axhline(0, color=GREY, linewidth=0.8, zorder=1)
    set_labels(axes, title, "iteration", "Elo above the first policy\n(band: 95 % interval)")
    whole_numbers(axes.xaxis)
    add_legend(axes, axes.lines[: len(lines)], list(lines), title="plays by")
    return figure


PANELS: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("loss", {"policy_loss": "policy", "value_loss": "value"}),
    ("Elo above the first network,\nby duels of those saved", {"elo": ""}),
    (
        "share",
        {
            "first_player_score": "first player's score",
            "search_agreement": "search agrees",
            "gate_score": "score at gate",
        },
    ),
    ("entropy of the search's\npolicy / nats", {"search_entropy": ""}),
    ("plies a game", {"plies_per_game": ""}),
    ("positions a second", {"positions_per_second": ""}),
)
"""The panels of `training_plot`: label of the axis, and the keys of the lines with their labels."""


def training_plot(log: Sequence[Mapping[str, Any]], title: str) -> Any:
    """The measurements of a training run, from its ``log.jsonl``, over its iterations, in `PANELS`.

    A panel without data is left out.

    Raises:
        ValueError: If there is no data.
    """
    found = [
        (name, {key: label for key, label in keys.items() if any(key in row for row in log)})
        for name, keys in PANELS
    ]
    panels = [(name, keys) for name, keys in found if keys]
    if not panels:
        raise ValueError("expected figures of an iteration to plot, got none")
    rows = math.ceil(len(panels) / 2)
    figure = new_figure(10, 0.6 + 2.6 * rows)
    figure.suptitle(title, parse_math=False)
    for place, (name, keys) in enumerate(panels):
        first = figure.axes[0] if place else None
        axes = figure.add_subplot(rows, 2, place + 1, sharex=first)
        for number, key in enumerate(keys):
            points = [(row["iteration"], row[key]) for row in log if key in row]
            apart = math.ceil(len(points) / 20)
            axes.plot(*zip(*points, strict=True), **look(number), markevery=apart)
        set_labels(axes, "", "iteration", name)
        whole_numbers(axes.xaxis)
        if len(keys) > 1:
            above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0}
            add_legend(
                axes, axes.lines, list(keys.values()), ncols=len(keys), frameon=False, **above
            )
    return figure


def curves_plot(
    curves: Sequence[Curve],
    title: str,
    steps: str = "step",
    values: str = "Elo",
    levels: Mapping[str, float] | None = None,
) -> Any:
    """Learning curves of several seeds; `levels` are horizontal lines with their names.

    Raises:
        ValueError: If there is no curve.
    """
    if not curves:
        raise ValueError("expected curves to plot, got none")
    figure = new_figure(8, 5)
    axes = figure.subplots()
    for name, level in (levels or {}).items():
        axes.axhline(level, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        place = {"xycoords": ("axes fraction", "data"), "va": "bottom", "ha": "right"}
        axes.annotate(name, (1, level), color=GREY, fontsize=8, parse_math=False, **place)
    for number, one in enumerate(curves):
        axes.fill_between(
            one.steps, one.low, one.high, color=look(number)["color"], alpha=0.15, linewidth=0
        )
    lines = [axes.plot(one.steps, one.values, **look(n))[0] for n, one in enumerate(curves)]
    about = f"{values}\n(interquartile mean; band: 95 % interval)"
    set_labels(axes, title, steps, about)
    add_legend(axes, lines, [f"{one.label}, {one.runs} seeds" for one in curves])
    return figure


def accuracy_plot(results: Sequence[Accuracy], title: str) -> Any:
    """How often agents keep the value, over their simulations a move, with a panel for each set.

    The results are from `agents.arena.accuracy.measure`, with the names of their sets. Agents with
    several numbers of simulations are lines; those without are horizontal lines.

    Raises:
        ValueError: If there are no results.
    """
    if not results:
        raise ValueError("expected results to plot, got none")
    sets = list(dict.fromkeys(result.name for result in results))
    names = list(dict.fromkeys(without_simulations(result.agent) for result in results))
    lines = math.ceil(len(names) / 2)
    figure = new_figure(max(7.0, 1.5 + 3.8 * len(sets)), 4.6 + 0.25 * lines)
    figure.suptitle(title, parse_math=False)
    panels: list[Any] = list(figure.subplots(1, len(sets), sharey=True, squeeze=False)[0])
    handles: dict[str, Any] = {}
    for axes, name in zip(panels, sets, strict=True):
        members = [result for result in results if result.name == name]
        seeds, positions = members[0].kept.shape
        set_labels(axes, f"{name}: {positions} positions, {seeds} seeds", "", "")
        for number, agent in enumerate(names):
            line = [each for each in members if without_simulations(each.agent) == agent]
            if line:
                line.sort(key=lambda each: each.simulations or 0)
                handles[agent] = _add_accuracy(axes, line, look(number))
        _set_simulations(axes, {each.simulations for each in members if each.simulations})
    panels[0].set_ylabel("moves that keep the value / %\n(bars, bands: 95 % interval)")
    add_legend(figure, handles.values(), list(handles), loc="outside lower center", ncols=2)
    return figure


def _add_accuracy(axes: Any, line: list[Accuracy], drawn: dict[str, Any]) -> Any:
    """Draw an agent: points by simulations, or a horizontal line; returns it for the legend."""
    handle = None
    for level in [each for each in line if each.simulations is None]:
        low, high = interval(level.kept)
        axes.axhspan(100 * low, 100 * high, color=drawn["color"], alpha=0.12, linewidth=0)
        share = 100 * float(level.kept.mean())
        handle = axes.axhline(share, color=drawn["color"], linestyle="--", linewidth=1.6)
    points = [each for each in line if each.simulations is not None]
    if points:
        shares = [100 * float(each.kept.mean()) for each in points]
        intervals = [interval(each.kept) for each in points]
        bars = error_bars(shares, [(100 * low, 100 * high) for low, high in intervals])
        simulations = [each.simulations for each in points]
        handle = axes.errorbar(simulations, shares, yerr=bars, capsize=3, **drawn)
    return handle


def _set_simulations(axes: Any, simulations: set[int]) -> None:
    """Make the axis of the simulations logarithmic, with a tick at each measured number."""
    if not simulations:
        axes.set_xticks([])
        return
    ticks = sorted(simulations)
    axes.set_xscale("log")
    axes.set_xlim(ticks[0] / 1.3, ticks[-1] * 1.3)
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks], rotation=45 if len(ticks) > 5 else 0)
    axes.minorticks_off()
    axes.set_xlabel("simulations a move")


def tournament_plot(standings: Standings) -> Any:
    """The ratings of a tournament, the best above, and a cross table of the scores.

    There is no cross table for two agents or for more than `MAX_CROSS_TABLE`. Agents without a game
    are left out.
    """
    agents = [agent for agent in standings.agents if agent.interval is not None]
    with_table = 2 < len(agents) <= MAX_CROSS_TABLE
    labels = [wrapped(agent.agent) for agent in agents]
    rows = [line for label in labels for line in label.split("\n")]
    width = 5.5 + 0.08 * max(map(len, rows), default=0) + with_table * (1 + 0.5 * len(agents))
    figure = new_figure(width, 1.5 + max(0.42 * len(agents), 0.2 * len(rows)))
    title = game_text(standings.tournament["game"], standings.tournament["options"])
    figure.suptitle(f"{title}: {standings.played} games", parse_math=False)
    if with_table:
        axes, right = figure.subplots(1, 2, width_ratios=[4, 0.5 + 0.5 * len(agents)])
        _add_cross_table(right, standings, agents)
    else:
        axes = figure.subplots()
    _add_ratings(axes, agents, labels)
    biased = ", biased by the early stop" if standings.is_biased else ""
    set_labels(axes, "", f"Elo, 0: the mean of all\n(bars: 95 % interval{biased})", "")
    return figure


def bench_plot(results: "Mapping[str, Sequence[BoardResult]]") -> Any:
    """The ratings of agents on the boards of the bench, and the profile of their scores.

    A profile is the share of all pairs of games in which an agent scored more than a number; see
    `agents.arena.aggregates`.
    """
    boards = list(dict.fromkeys(one.board for each in results.values() for one in each))
    figure = new_figure(11.0, 2.0 + 0.2 * len(boards) * (1 + len(results)))
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    for number, (agent, each) in enumerate(results.items()):
        style, shift = look(number), 0.6 * ((number + 0.5) / len(results) - 0.5)
        elo = [one.rating.elo for one in each]
        bounds = [one.rating.interval for one in each]
        rows = [boards.index(one.board) + shift for one in each]
        bars = error_bars(elo, closed(elo, bounds))
        left.errorbar(elo, rows, xerr=bars, capsize=2, **{**style, "linestyle": ""}, label=agent)
        for row, value, bound in zip(rows, elo, bounds, strict=True):
            add_open_ends(left, (value, row), bound, style["color"])
        strata = [pairs for one in each for pairs in one.pair_scores]
        right.plot(SCORES_OF_PAIRS, performance_profile(strata, SCORES_OF_PAIRS), **style)
    right.set_xticks(SCORES_OF_PAIRS)
    right.set_ylim(0.0, 1.02)
    left.set_yticks(range(len(boards)), boards)
    left.set_ylim(len(boards) - 0.4, -0.6)  # the first above
    set_labels(left, "", "Elo, 1000: uct:simulations=100 (bars: 95 % interval)", "")
    set_labels(right, "", "score of a pair of games", "share of pairs with more")
    add_legend(figure, *left.get_legend_handles_labels(), loc="outside lower center")
    return figure


def _add_ratings(axes: Any, agents: Sequence[AgentStanding], labels: Sequence[str]) -> None:
    elo = [agent.elo for agent in agents]
    bounds = [agent.interval or (agent.elo, agent.elo) for agent in agents]
    style = {**look(0), "linestyle": ""}
    bars = error_bars(elo, closed(elo, bounds))
    axes.errorbar(elo, range(len(agents)), xerr=bars, capsize=4, **style)
    for row, (value, bound) in enumerate(zip(elo, bounds, strict=True)):
        add_open_ends(axes, (value, row), bound, style["color"])
    axes.set_yticks(range(len(agents)), labels, parse_math=False)
    axes.set_ylim(len(agents) - 0.4, -0.6)  # the first above
    axes.axvline(0, color=GREY, linewidth=0.8, zorder=1)


def _add_cross_table(axes: Any, standings: Standings, agents: Sequence[AgentStanding]) -> None:
    """Draw the scores in per cent of the agent at the left against the one above."""
    short = short_names(standings)
    order = [standings.labels.index(agent.agent) for agent in agents]
    scores = [[score_between(standings, one, other) for other in order] for one in order]
    axes.imshow(scores, cmap="PuOr", vmin=-0.5, vmax=1.5, aspect="auto")
    for row, line in enumerate(scores):
        for column, score in enumerate(line):
            if not math.isnan(score):
                axes.text(column, row, f"{100 * score:.0f}", ha="center", va="center", fontsize=9)
    letters = [short[agent.agent] for agent in agents]
    axes.set_xticks(range(len(agents)), letters)
    axes.set_yticks(range(len(agents)), letters)
    axes.set_ylim(len(agents) - 0.4, -0.6)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("score of the agent at the left\nagainst the one above / %")


def score_between(standings: Standings, one: int, other: int) -> float:
    """The points per game of one agent against another; NaN without a game."""
    own, theirs = standings.cross_table[one][other], standings.cross_table[other][one]
    if not own and not theirs:
        return math.nan
    return (own or 0.0) / ((own or 0.0) + (theirs or 0.0))


# ---- shared by the plots -------------------------------------------------------------------------


def new_figure(width: float, height: float) -> Any:
    """An empty figure; width and height are in inches."""
    figures = library("matplotlib.figure", "plot")
    return figures.Figure(figsize=(width, height), layout="constrained")


def look(number: int) -> dict[str, Any]:
    """The style of a line by its number: colour, marker and, if all are used, dashes."""
    place, again = number % len(COLORS), number // len(COLORS)
    return {
        "color": COLORS[place],
        "marker": MARKERS[place],
        "linestyle": ("-", "--", ":", "-.")[again % 4],
        "markersize": 5,
        "linewidth": 1.6,
    }


def set_labels(axes: Any, title: str, below: str, beside: str) -> None:
    """Title and labels of a panel, a light grid, and no frame at its top and right."""
    axes.set_title(title, parse_math=False)
    axes.set_xlabel(below, parse_math=False)
    axes.set_ylabel(beside, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)


def whole_numbers(axis: Any) -> None:
    """Put ticks only at whole numbers."""
    axis.get_major_locator().set_params(integer=True)


def add_legend(parent: Any, handles: Any, labels: Sequence[str], **options: Any) -> None:
    """A legend that shows labels literally: no formulas, and no label is hidden."""
    legend = parent.legend(handles, [str(number) for number in range(len(labels))], **options)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(wrapped(label))
        text.set_parse_math(False)


def closed(values: Sequence[float], intervals: Iterable[Interval]) -> list[Interval]:
    """Intervals with their infinite ends replaced by their values."""
    return [
        (value if math.isinf(low) else low, value if math.isinf(high) else high)
        for value, (low, high) in zip(values, intervals, strict=True)
    ]


def add_open_ends(
    axes: Any, point: Interval, interval: Interval, color: Any, is_vertical: bool = False
) -> None:
    """Draw an arrow at a point for each infinite end of its interval."""
    for sign, end in zip((-ARROW, ARROW), interval, strict=True):
        if math.isinf(end):
            axes.margins(**{"y" if is_vertical else "x": ARROW_MARGIN})
            there = (0, sign) if is_vertical else (sign, 0)
            arrow = {"arrowstyle": "<-", "color": color}
            axes.annotate("", point, there, textcoords="offset points", arrowprops=arrow)


def error_bars(values: Sequence[float], intervals: Iterable[Interval]) -> list[list[float]]:
    """Intervals as matplotlib wants them: lengths below and above the values."""
    pairs = list(zip(values, intervals, strict=True))
    return [
        [value - low for value, (low, _) in pairs],
        [high - value for value, (_, high) in pairs],
    ]


def wrapped(label: str) -> str:
    """A label in lines of `LABEL_WIDTH`, broken after commas, colons and slashes."""
    lines = [""]
    for part in re.split(r"(?<=[,:/ ])", label):
        if lines[-1] and len(lines[-1]) + len(part) > LABEL_WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def game_text(game: str, options: Sequence[str]) -> str:
    """A game with its options, for a title."""
    return f"{game} ({', '.join(options)})" if options else game
