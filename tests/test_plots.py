"""Plots: what is drawn is the data, files open, and what cannot be written is refused early."""

import itertools
import json
import math
import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from agents.apps.cli import main
from agents.arena import Tournament, run_tournament
from agents.arena.accuracy import Accuracy, interval, with_simulations, without_simulations
from agents.learning.topp import Rating
from agents.records import plots
from hexenv.common.extras import how_to_install

needs_matplotlib = pytest.mark.usefixtures("matplotlib")


@pytest.fixture(scope="module")
def matplotlib():
    return pytest.importorskip("matplotlib", reason="the extra plot is not installed")


@pytest.fixture(scope="module")
def table():
    agents = ["random", {"for $1": "greedy"}, "uct:simulations=30"]
    return run_tournament(Tournament("tictactoe", agents, pairs=3), workers=0)


def bars_of(axes, container=0):
    """The error bars of a panel as pairs of their ends, ``(bars, 2, 2)``."""
    _, _, (segments,) = axes.containers[container]
    return np.array(segments.get_segments())


def texts(found):
    return [text.get_text() for text in found]


# ---- tournaments ---------------------------------------------------------------------------------


@needs_matplotlib
def test_a_tournament_is_drawn_with_the_best_above(table):
    ratings, scores = plots.tournament_plot(table).axes
    (points, _, _) = ratings.containers[0]
    assert list(points.get_xdata()) == [agent.elo for agent in table.agents]
    intervals = [agent.interval for agent in table.agents]
    np.testing.assert_allclose(bars_of(ratings)[:, :, 0], intervals)
    assert texts(ratings.get_yticklabels()) == [agent.agent for agent in table.agents]
    assert not any(label.get_parse_math() for label in ratings.get_yticklabels())
    assert list(points.get_ydata()) == [0, 1, 2]
    low, high = ratings.get_ylim()
    assert high < 0 < 2 < low  # the best above, and none cut off
    assert scores.get_ylim() == (low, high)


@needs_matplotlib
def test_the_cross_table_has_the_scores(table):
    _, axes = plots.tournament_plot(table).axes
    order = [table.labels.index(agent.agent) for agent in table.agents]
    expected = {}
    for (row, one), (column, other) in itertools.permutations(enumerate(order), 2):
        expected[column, row] = f"{100 * table.cross_table[one][other] / 6:.0f}"
    assert {text.get_position(): text.get_text() for text in axes.texts} == expected
    assert texts(axes.get_xticklabels()) == ["ABC"[number] for number in order]
    shown = np.ma.filled(axes.images[0].get_array(), np.nan)
    np.testing.assert_allclose(shown + shown.T, np.ones((3, 3)) + np.diag([np.nan] * 3))


@needs_matplotlib
def test_two_agents_have_no_cross_table_and_one_without_a_game_is_left_out(table):
    two = replace(table, agents=(*table.agents[:2], replace(table.agents[2], interval=None)))
    (axes,) = plots.tournament_plot(two).axes
    assert texts(axes.get_yticklabels()) == [agent.agent for agent in table.agents[:2]]
    assert "biased" in plots.tournament_plot(replace(two, is_biased=True)).axes[0].get_xlabel()


@needs_matplotlib
def test_titles_say_the_game_and_its_options():
    tournament = Tournament("hex", ["random", "greedy"], pairs=1, options=["board_size=3"])
    figure = plots.tournament_plot(run_tournament(tournament, workers=0))
    assert figure.get_suptitle() == "hex (board_size=3): 2 games"


def test_long_labels_are_broken_and_nothing_is_lost():
    label = "gumbel:policy=network:net=/runs/hex/networks/000100.safetensors,simulations=1000,c=0.5"
    lines = plots.wrapped(label).split("\n")
    assert "".join(lines) == label
    assert len(lines) == 3
    assert max(map(len, lines)) <= plots.LABEL_WIDTH
    assert plots.wrapped("uct:simulations=100") == "uct:simulations=100"


# ---- over training -------------------------------------------------------------------------------


def rating(iteration, plays, elo, low, high):
    games = 0 if low is None and high is None else 2
    return Rating(iteration, plays, elo, low, high, None, 1, games, 1, 0, 1, 0.1)


RATINGS = [
    rating(0, "policy", 0.0, -20.0, 30.0),
    rating(10, "policy", 100.0, 60.0, 150.0),
    rating(20, "policy", 7.0, None, None),  # no game
    rating(0, "search", 80.0, 50.0, 90.0),
    rating(10, "search", 210.0, 180.0, 250.0),
]


@needs_matplotlib
def test_ratings_are_lines_with_bands():
    (axes,) = plots.rating_plot(RATINGS, "$a$ title").axes
    drawn = [list(zip(*line.get_data(), strict=True)) for line in axes.lines[:2]]
    assert drawn == [[(0, 0.0), (10, 100.0)], [(0, 80.0), (10, 210.0)]]
    for band, line in zip(axes.collections, (RATINGS[:2], RATINGS[3:]), strict=True):
        corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
        assert corners == {(r.iteration, end) for r in line for end in (r.low, r.high)}
    assert texts(axes.get_legend().get_texts()) == ["policy", "search"]
    assert axes.get_title() == "$a$ title"
    assert "95 %" in axes.get_ylabel()


def expect_arrows_inside(figure):
    """No arrow crosses the labels beside the axes."""
    figure.draw_without_rendering()
    axes = figure.axes[0]
    (arrow,) = (text.arrow_patch.get_window_extent() for text in axes.texts)
    frame = axes.get_window_extent()
    assert frame.x0 <= arrow.x0 <= arrow.x1 <= frame.x1
    assert frame.y0 <= arrow.y0 <= arrow.y1 <= frame.y1


@needs_matplotlib
def test_open_ends_of_intervals_are_arrows(table):
    figure = plots.rating_plot([RATINGS[0], replace(RATINGS[1], high=math.inf)], "t")
    (axes,) = figure.axes
    expect_arrows_inside(figure)
    (corners,) = (band.get_paths()[0].vertices for band in axes.collections)
    assert {tuple(corner) for corner in corners} == {(0, -20), (0, 30), (10, 60), (10, 100)}
    (arrow,) = axes.texts
    assert arrow.xy == (10, 100)
    assert arrow.xyann == (0, plots.ARROW)
    best, *others = table.agents
    sure = replace(best, interval=(best.elo - 5, math.inf))
    figure = plots.tournament_plot(replace(table, agents=(sure, *others)))
    expect_arrows_inside(figure)
    axes = figure.axes[0]
    assert (axes.texts[0].xy, axes.texts[0].xyann) == ((best.elo, 0), (plots.ARROW, 0))
    assert bars_of(axes)[0, :, 0].tolist() == [best.elo - 5, best.elo]


LOG = [
    {"iteration": 1, "positions_per_second": 10.0, "plies_per_game": 7.0},
    {"iteration": 2, "positions_per_second": 20.0, "policy_loss": 1.5, "value_loss": 0.5},
    {"iteration": 3, "positions_per_second": 25.0, "policy_loss": 1.2, "value_loss": 0.4, "elo": 9},
]


@needs_matplotlib
def test_a_log_is_drawn_in_panels():
    figure = plots.training_plot(LOG, "run")
    panels = {axes.get_ylabel().split("\n")[0]: axes for axes in figure.axes}
    names = ["loss", "Elo above the first network,", "plies a game", "positions a second"]
    assert list(panels) == names
    policy, value = panels["loss"].lines
    assert list(zip(*policy.get_data(), strict=True)) == [(2, 1.5), (3, 1.2)]
    assert list(zip(*value.get_data(), strict=True)) == [(2, 0.5), (3, 0.4)]
    assert texts(panels["loss"].get_legend().get_texts()) == ["policy", "value"]
    (speed,) = panels["positions a second"].lines
    assert list(speed.get_ydata()) == [10.0, 20.0, 25.0]
    assert panels["plies a game"].get_legend() is None


@needs_matplotlib
def test_no_data_is_refused():
    with pytest.raises(ValueError, match="to plot, got none"):
        plots.accuracy_plot([], "title")
    for log in ([], [{"iteration": 1, "other": 2.0}]):
        with pytest.raises(ValueError, match="to plot, got none"):
            plots.training_plot(log, "title")


def test_training_has_a_plot(matplotlib, tmp_path):
    pytest.importorskip("torch", reason="the extra train is not installed")
    pytest.importorskip("safetensors", reason="the extra train is not installed")
    from training_runs import tiny

    config, plot = tmp_path / "config.json", tmp_path / "log.svg"
    config.write_text(json.dumps(tiny(iterations=2)))
    words = ["train", "tictactoe", "--run", str(tmp_path / "run"), "--config", str(config)]
    for _ in range(2):  # the second time there is nothing left to train
        plot.unlink(missing_ok=True)
        result = CliRunner().invoke(main, [*words, "--plot", str(plot)])
        assert result.exit_code == 0, result.output
        assert "<!-- tictactoe: 2 iterations, 4 simulations a move -->" in plot.read_text()


# ---- accuracy ------------------------------------------------------------------------------------


def accuracy(agent, simulations, share, name="a set"):
    kept = np.random.default_rng(0).random((2, 50)) < share
    return Accuracy(agent, name, kept, kept, 1 - kept.astype(int), 0.0, simulations)


RESULTS = [
    accuracy("uct:simulations=100", 100, 0.5),
    accuracy("uct:simulations=30,c=2.0", 30, 0.4),
    accuracy("uct:simulations=10", 10, 0.3),
    accuracy("random", None, 0.2),
    accuracy("random", None, 0.2),  # named twice
    accuracy("uct:simulations=10", 10, 0.6, "another"),
]


@needs_matplotlib
def test_accuracy_is_drawn_over_the_simulations():
    first, other = plots.accuracy_plot(RESULTS, "hex").axes
    (uct, _, _), (with_c, _, _) = first.containers
    expected = RESULTS[2], RESULTS[0]
    assert list(uct.get_xdata()) == [10, 100]
    assert list(uct.get_ydata()) == [100 * each.kept.mean() for each in expected]
    ends = [[100 * end for end in interval(each.kept)] for each in expected]
    np.testing.assert_allclose(bars_of(first)[:, :, 1], ends)
    assert list(with_c.get_xdata()) == [30]
    level, _ = [line for line in first.lines if line.get_linestyle() == "--"]
    assert set(level.get_ydata()) == {100 * RESULTS[3].kept.mean()}
    assert first.get_xscale() == "log"
    assert texts(first.get_xticklabels()) == ["10", "30", "100"]
    assert first.get_title() == "a set: 50 positions, 2 seeds"
    assert len(other.containers) == 1
    (legend,) = first.figure.legends
    assert texts(legend.get_texts()) == ["uct", "uct:c=2.0", "random"]


@needs_matplotlib
def test_agents_that_count_no_simulations_have_no_axis_for_them():
    (axes,) = plots.accuracy_plot(RESULTS[3:4], "hex").axes
    assert not list(axes.get_xticks())
    assert axes.get_xlabel() == ""


def test_simulations_are_given_to_agents_that_have_none():
    assert with_simulations("uct", [10, 20]) == ["uct:simulations=10", "uct:simulations=20"]
    assert with_simulations("uct:c=2", [10]) == ["uct:c=2,simulations=10"]
    for own in ("random", "uct:simulations=5", "uct:c=1,seconds=0.1", "alphabeta:depth=2"):
        assert with_simulations(own, [10, 20]) == [own]
    with pytest.raises(ValueError, match="expected an agent of"):
        with_simulations("foo", [10])
    for text in ("uct", "uct:simulations=5"):
        assert without_simulations(text) == "uct"
    assert without_simulations("uct:c=1,simulations=5,fpu=0.1") == "uct:c=1,fpu=0.1"


ACCURACY = ["accuracy", "tictactoe", "uct", "random", "--limit=5", "--seeds=1", "--workers=0"]


def test_the_command_measures_several_budgets(matplotlib, tmp_path):
    path = tmp_path / "accuracy.svg"
    words = [*ACCURACY, "--simulations", "20,5", "--json", "--plot", str(path)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    measured = [("uct:simulations=5", 5), ("uct:simulations=20", 20), ("random", None)]
    assert [(row["agent"], row["simulations"]) for row in rows] == measured
    assert "<!-- tictactoe: accuracy in solved positions -->" in path.read_text()


@pytest.mark.parametrize("text", ["", "0", "a", "10,", "10,-5", "1.5"])
def test_simulations_are_whole_numbers(text):
    result = CliRunner().invoke(main, [*ACCURACY, "--simulations", text])
    assert result.exit_code == 2
    assert "expected simulations as whole numbers" in result.output


# ---- files ---------------------------------------------------------------------------------------


@needs_matplotlib
@pytest.mark.parametrize("name", ["a.png", "a.SVG", "a.pdf"])
def test_every_format_opens(tmp_path, table, name):
    path = tmp_path / name
    path.write_text("what was there")
    plots.write_plot(plots.tournament_plot(table), path)
    if name == "a.png":
        with Image.open(path) as image:
            assert image.format == "PNG"
            assert image.width > image.height > 200
            assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    elif name == "a.SVG":
        assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    else:
        found = path.read_bytes()
        assert found.startswith(b"%PDF-")
        assert found.rstrip().endswith(b"%%EOF")
    assert [file.name for file in tmp_path.iterdir()] == [name]


@needs_matplotlib
def test_a_plot_that_fails_leaves_what_was_there(tmp_path, table, monkeypatch):
    path = tmp_path / "a.png"
    path.write_text("what was there")
    figure = plots.tournament_plot(table)
    monkeypatch.setattr(figure, "savefig", lambda *arguments, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        plots.write_plot(figure, path)
    assert path.read_text() == "what was there"


COMMANDS = {
    "tournament": ["tournament", "tictactoe", "random", "greedy", "--results"],
    "accuracy": [*ACCURACY, "--table"],
}
"""Each with a file that comes of it, to be named next."""


def refused(command, tmp_path, plot):
    """What a command says of a plot, without having begun."""
    started = tmp_path / "started.csv"
    result = CliRunner().invoke(main, [*COMMANDS[command], str(started), "--plot", str(plot)])
    assert result.exit_code == 2, result.output
    assert not started.exists()
    return re.sub(r"[\s│]+", " ", result.output)


@needs_matplotlib
@pytest.mark.parametrize("command", COMMANDS)
def test_a_plot_that_cannot_be_written_is_refused_before_anything_is_played(command, tmp_path):
    for name in ("x.what", "x", "x.pgf", ".png"):
        words = refused(command, tmp_path, name)
        assert "one of .png, .svg, .pdf, got" in words
    words = refused(command, tmp_path, tmp_path / "none" / "x.png")
    assert "a folder that exists, got" in words
    (tmp_path / "folder.png").mkdir()
    words = refused(command, tmp_path, tmp_path / "folder.png")
    assert "a file that can be written, got" in words


@pytest.mark.parametrize("command", COMMANDS)
def test_without_matplotlib_it_says_what_to_install(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    words = refused(command, tmp_path, tmp_path / "x.png")
    assert f"expected matplotlib.figure ({how_to_install('plot')})" in words


@pytest.mark.parametrize("command", ["tournament", "topp", "accuracy", "train"])
def test_the_commands_have_the_same_words(command):
    found = CliRunner().invoke(main, [command, "--help"]).output
    words = " ".join(found.split())
    assert re.search(r"--plot PATH File for a plot of .*: \.png, \.svg or \.pdf; needs the", words)
