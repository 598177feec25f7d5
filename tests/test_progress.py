"""Ratings beside fixed anchors while a policy trains, and learning curves of several seeds."""

import itertools
import json
import math
import sys
import types

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from agents import GreedyAgent, PolicyAgent, RandomAgent
from agents.apps.cli import main
from agents.arena.ratings import PairScores, rate, rate_beside
from agents.core.tables import latex_table, markdown_table
from agents.learning.progress import Anchors, RatingLog, WandbWriter, rate_policy, read_ratings
from agents.learning.progress.curves import (
    learning_curve,
    read_curve,
    read_run,
    rows_of,
    text_rows,
)

ANCHORS = Anchors("tictactoe", {"random": 0.0, "greedy": 300.0})


# ---- ratings beside anchors ----------------------------------------------------------------------


@pytest.mark.parametrize("points", [[2, 1, 1, 0.5, 2], [0, 1], [2, 2, 2], [1, 1, 1, 1], [0, 0]])
@pytest.mark.parametrize("anchor", [0.0, 750.0])
def test_beside_one_anchor_it_is_the_rating_of_two_agents(points, anchor):
    pairs = PairScores((0, 1), np.array(points, float), np.full(len(points), 2.0), 2 * len(points))
    both = rate([pairs], 2)
    elo, (low, high) = rate_beside([pairs], [anchor])
    assert elo == pytest.approx(anchor + both.elo[0] - both.elo[1])
    assert (low - anchor, high - anchor) == pytest.approx([2 * end for end in both.intervals[0]])


def played(rng, elo, anchors, pairs):
    """Simulated games of an agent with this rating."""
    scores = 1 / (1 + 10 ** ((np.array(anchors) - elo) / 400))
    points = (rng.random((len(anchors), pairs, 2)) < scores[:, None, None]).sum(-1)
    games = np.full(pairs, 2.0)
    return [PairScores((0, n + 1), row * 1.0, games, 2 * pairs) for n, row in enumerate(points)]


def test_the_interval_contains_the_true_rating():
    rng, anchors = np.random.default_rng(0), [0.0, 450.0, 700.0, 1100.0]
    covered = []
    for elo, _ in itertools.product([50.0, 600.0, 1000.0], range(100)):
        found, (low, high) = rate_beside(played(rng, elo, anchors, 8), anchors)
        assert low < found < high
        covered.append(low <= elo <= high)
    assert 0.92 <= np.mean(covered) <= 0.98


def test_open_ends_and_anchors_without_games():
    none = PairScores((0, 1), np.zeros(0), np.zeros(0), 0)
    lost = PairScores((0, 2), np.zeros(3), np.full(3, 2.0), 6)
    won = PairScores((0, 2), np.full(3, 2.0), np.full(3, 2.0), 6)
    elo, (low, high) = rate_beside([none, lost], [0.0, 100.0])
    assert low == -math.inf
    assert elo < min(high, 100.0)
    elo, (low, high) = rate_beside([none, won], [0.0, 100.0])
    assert high == math.inf
    assert elo > max(low, 100.0)
    with pytest.raises(ValueError, match="expected a game to rate, got none"):
        rate_beside([none], [0.0])


def test_anchors_are_measured_once(tmp_path):
    found = Anchors.of_folder(tmp_path, "tictactoe", agents=("random", "greedy"), pairs=4)
    assert found.elo["random"] == 0.0
    assert found.elo["greedy"] > 100.0
    again = Anchors.of_folder(tmp_path, "tictactoe", agents=("other", "names"))
    assert again == found
    assert Anchors.measured("tictactoe", ("random", "greedy"), pairs=4) == found
    with pytest.raises(ValueError, match=r"anchors.json: expected anchors of hex board_size=3, go"):
        Anchors.of_folder(tmp_path, "hex", ("board_size=3",))
    with pytest.raises(ValueError, match="expected the anchors random, g"):
        RatingLog(tmp_path, "tictactoe", anchors=["random"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "expected format 'hexenv-anchors'"),
        ({"elo": {}}, "expected an anchor, got none"),
        ({"elo": {"random": "strong"}}, "elo"),
        ({"more": 1}, "more"),
    ],
)
def test_a_damaged_file_of_anchors_is_refused(change, message, tmp_path):
    path = tmp_path / "anchors.json"
    ANCHORS.save(path)
    assert Anchors.load(path) == ANCHORS
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=message) as raised:
        Anchors.load(path)
    assert str(path) in str(raised.value)


def test_a_policy_is_rated_with_both_sides_and_its_mask():
    def first_legal(_planes, mask):
        return int(np.argmax(mask))

    rating, run = rate_policy(PolicyAgent.from_function(first_legal), ANCHORS, pairs=4, step=7)
    assert rating.step == 7
    assert rating.illegal_moves == 0
    assert list(rating.opponents) == ["random", "greedy"]
    assert rating.games == 16
    assert {game.first for game in run.results.values()} == {0, 1}
    assert rating.opponents["greedy"].score < rating.opponents["random"].score
    for one in rating.opponents.values():
        assert one.low <= one.score <= one.high
        assert one.score == (one.wins + one.draws / 2) / 8
    assert rate_policy(GreedyAgent(), ANCHORS, pairs=4)[0].elo > rating.elo


def test_a_policy_that_fails_is_no_rating():
    def broken(_env):
        raise RuntimeError("no weights")

    with pytest.raises(ValueError, match="the policy: RuntimeError: no weights"):
        rate_policy(broken, ANCHORS, pairs=1)


# ---- the log -------------------------------------------------------------------------------------


class Kept:
    """A writer that keeps what it gets."""

    def __init__(self):
        self.rows, self.is_closed = [], False

    def add(self, step, scalars, film=None):
        self.rows.append((step, scalars, film))

    def close(self):
        self.is_closed = True


def test_ratings_are_logged_and_go_on(tmp_path):
    kept = Kept()
    log = RatingLog(tmp_path, "tictactoe", anchors=ANCHORS, pairs=2, writers=[kept])
    for step in (0, 100, 200):
        log.rate(RandomAgent(), step)
    log.close()
    assert kept.is_closed
    assert [step for step, _, _ in kept.rows] == [0, 100, 200]
    scalars = kept.rows[0][1]
    assert {"rating/elo", "score/random", "score/greedy"} <= set(scalars)
    with Image.open(kept.rows[0][2]) as film:
        assert film.n_frames >= 6
    again = RatingLog(tmp_path, "tictactoe", anchors=tmp_path / "anchors.json", pairs=2, writers=[])
    assert again.ratings == log.ratings
    assert log.ratings[0].elo == log.ratings[1].elo  # of one seed: the same games
    again.rate(GreedyAgent(), 100)
    assert [one.step for one in read_ratings(tmp_path)] == [0, 100]
    assert again.ratings[1].elo > again.ratings[0].elo
    assert read_run(tmp_path) == ([0, 100], [one.elo for one in again.ratings])


def test_a_rating_in_the_background_is_the_same(tmp_path):
    logs = [
        RatingLog(tmp_path / n, "tictactoe", anchors=ANCHORS, pairs=2, writers=[], background=b)
        for n, b in (("0", False), ("1", True))
    ]
    for log in logs:
        log.rate(RandomAgent(), 0)
        log.poll()
        log.rate(GreedyAgent(), 50)
        log.close()
    assert logs[0].ratings == logs[1].ratings
    films = [sorted(path.name for path in (tmp_path / n / "films").iterdir()) for n in "01"]
    assert films == [["000000000.gif", "000000050.gif"]] * 2


def test_the_end_is_rated_once(tmp_path):
    settings = {"anchors": ANCHORS, "pairs": 1, "writers": [], "film": False, "background": True}
    log = RatingLog(tmp_path, "tictactoe", **settings)
    log.finish(RandomAgent(), 0)
    log.rate(RandomAgent(), 50)
    for policy, step in ((GreedyAgent(), 50), (RandomAgent(), 60)):
        log.finish(policy, step)
        assert log.ratings[-1].step == step
    log.close()
    assert [one.step for one in log.ratings] == [0, 50, 60]
    assert len({one.elo for one in log.ratings}) == 1  # never by the other policy


def test_a_damaged_log_names_its_line(tmp_path):
    log = RatingLog(tmp_path, "tictactoe", anchors=ANCHORS, pairs=1, writers=[], film=False)
    log.rate(RandomAgent(), 0)
    log.rate(RandomAgent(), 1)
    path = tmp_path / "ratings.jsonl"
    path.write_text(path.read_text().replace('"step": 1', '"step": -1'))
    with pytest.raises(ValueError, match=r"ratings.jsonl:2: .*step"):
        RatingLog(tmp_path, "tictactoe", anchors=ANCHORS)
    with pytest.raises(ValueError, match="expected pairs of at least 1, got 0"):
        RatingLog(tmp_path, "tictactoe", anchors=ANCHORS, pairs=0)


def test_tensorboard_shows_ratings_and_a_film(tmp_path):
    pytest.importorskip("tensorboard", reason="the extra train is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = RatingLog(tmp_path, "tictactoe", anchors=ANCHORS, pairs=1)
    for step in (0, 64):
        log.rate(RandomAgent(), step)
    log.close()
    found = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [one.step for one in found.Scalars("rating/elo")] == [0, 64]
    assert found.Scalars("rating/elo")[0].value == pytest.approx(log.ratings[0].elo, rel=1e-4)
    assert len(found.Scalars("score/greedy")) == 2
    film = found.Images("game")[1]
    assert film.encoded_image_string[:6] in (b"GIF87a", b"GIF89a")
    assert (film.step, film.width > 0) == (64, True)


class WandbRun:
    def __init__(self):
        self.metrics, self.rows = [], []

    def define_metric(self, name, step_metric):
        self.metrics.append((name, step_metric))

    def log(self, row):
        self.rows.append(row)


def test_a_run_of_weights_and_biases_gets_the_same(tmp_path, monkeypatch):
    """With a module of the test's own in its place."""
    wandb = types.ModuleType("wandb")
    wandb.run, wandb.Video = None, lambda path, format: (path, format)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    with pytest.raises(ValueError, match="expected a run of Weights & Biases, got none"):
        WandbWriter()
    wandb.run = WandbRun()
    log = RatingLog(tmp_path, "tictactoe", anchors=ANCHORS, pairs=1, writers=[WandbWriter()])
    log.rate(RandomAgent(), 10)
    log.close()
    (row,) = wandb.run.rows
    assert row["rating_step"] == 10
    assert row["rating/elo"] == log.ratings[0].elo
    assert row["game"] == (str(tmp_path / "films" / "000000010.gif"), "gif")
    assert ("rating/*", "rating_step") in wandb.run.metrics


# ---- several seeds -------------------------------------------------------------------------------


def test_a_curve_is_on_the_steps_that_all_have_reached():
    runs = [([0, 10, 20], [0.0, 10.0, 30.0]), ([0, 20, 40], [2.0, 4.0, 9.0]), ([5, 20], [6.0, 6.0])]
    curve = learning_curve("mine", [runs])
    assert curve.steps == (5.0, 10.0, 20.0)
    assert curve.values == pytest.approx([(5 + 2.5 + 6) / 3, (10 + 3 + 6) / 3, 40 / 3])
    assert curve.low[-1] == pytest.approx(4.0, abs=1.0)
    assert all(low <= value <= high for low, value, high in zip(*numbers(curve), strict=True))
    alone = learning_curve("one", [runs[:1]])
    assert alone.low == alone.values == alone.high
    with pytest.raises(ValueError, match="mine: expected steps that all runs have reached"):
        learning_curve("mine", [[([0], [1.0]), ([5], [1.0])]])
    with pytest.raises(ValueError, match="mine: expected runs with a value each, got none"):
        learning_curve("mine", [[]])


def numbers(curve):
    return curve.low, curve.values, curve.high


def write_seeds(folder, rises):
    """Runs of ``hexenv train`` whose Elo rises so much in an iteration."""
    for seed, rise in enumerate(rises):
        path = folder / f"seed-{seed}"
        path.mkdir(parents=True)
        rows = [{"iteration": n, "elo": n * rise} for n in (1, 2, 3)]
        (path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_command_writes_curves(tmp_path):
    write_seeds(tmp_path / "a_b", [10, 20, 60])
    write_seeds(tmp_path / "plain", [1, 2])
    files = {end: tmp_path / f"curves.{end}" for end in ("csv", "md", "tex")}
    given = [str(tmp_path / "a_b"), f"plain={tmp_path / 'plain'}"]
    tables = itertools.chain.from_iterable(("--table", str(path)) for path in files.values())
    found = CliRunner().invoke(main, ["curves", *given, *tables, "--json"])
    assert found.exit_code == 0, found.output
    league, plain = json.loads(found.stdout)
    assert (league["label"], league["runs"], plain["runs"]) == ("a_b", 3, 2)
    assert league["values"] == [30.0, 60.0, 90.0]
    assert files["csv"].read_text().splitlines()[1].startswith("a_b,3,1.0,30.0,10.0,60.0")
    assert "| 3 | 90 (30 to 180) | 4 (3 to 6) |" in files["md"].read_text()
    assert r"step & a\_b (3 seeds) & plain (2 seeds) \\" in files["tex"].read_text()
    both = CliRunner().invoke(main, ["curves", f"all={tmp_path / 'a_b'},{tmp_path / 'plain'}"])
    assert both.exit_code == 0, both.output
    for wrong in (["curves", str(tmp_path)], ["curves", given[0], "--key", "loss"]):
        refused = CliRunner().invoke(main, wrong)
        assert refused.exit_code == 2
        assert "expected ratings.jsonl, or a log.jsonl with" in refused.output
    refused = CliRunner().invoke(main, ["curves", given[0], "--table", str(tmp_path / "x.xls")])
    assert "expected a table to end with one of .csv, .md, .tex" in refused.output


def test_curves_are_plotted(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    from agents.records.plots import curves_plot

    write_seeds(tmp_path / "mine", [10, 20, 60])
    curve = read_curve("mine", [tmp_path / "mine"])
    figure = curves_plot([curve], "title", levels={"random": 0.0, "greedy": 100.0})
    (axes,) = figure.axes
    assert {"random", "greedy"} <= {text.get_text() for text in axes.texts}
    (line,) = [line for line in axes.lines if len(line.get_xdata()) == 3]
    assert list(line.get_ydata()) == list(curve.values)
    with pytest.raises(ValueError, match="expected curves to plot, got none"):
        curves_plot([], "title")


def test_the_axis_of_a_plot_counts_what_the_runs_do(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    plots = []
    monkeypatch.setattr("agents.apps.cli.curves.write_plot", lambda plot, path: plots.append(plot))
    write_seeds(tmp_path / "logged", [10])
    for name, elo in (("rated", 300.0), ("another", 200.0)):
        anchors = Anchors("tictactoe", {"random": 0.0, "greedy": elo})
        settings = {"anchors": anchors, "pairs": 1, "writers": [], "film": False}
        log = RatingLog(tmp_path / name, "tictactoe", **settings)
        log.rate(RandomAgent(), 2)
        log.close()
    for runs, label in (
        (["logged"], "iteration"),
        (["rated"], "steps of the learner"),
        (["rated", "another"], "steps of the learner"),
        (["rated", "logged"], "step"),
    ):
        given = [str(tmp_path / run) for run in runs]
        found = CliRunner().invoke(main, ["curves", *given, "--plot", str(tmp_path / "plot.png")])
        assert found.exit_code == 0, found.output
        (axes,) = plots.pop().axes
        assert axes.get_xlabel() == label


def test_tables_escape_what_their_format_means():
    curve = learning_curve("50%|a_b", [[([0], [1.0])]])
    header, *rows = text_rows([curve])
    assert r"50%\|a_b" in markdown_table(header, rows)
    assert r"50\%|a\_b" in latex_table(header, rows)
    assert rows_of([curve])[0]["curve"] == "50%|a_b"


TINY = (
    "iterations=2 engine=local workers=1 duel_games=2 save_interval=1 network.channels=2 "
    "network.blocks=0 search.simulations=2 self_play.games=2 self_play.plies=8 replay.fill=8 "
    "learner.batch=4"
)


def test_alphahex_learns_with_several_seeds(tmp_path):
    pytest.importorskip("safetensors", reason="the extra train is not installed")
    folder = tmp_path / "runs"
    settings = itertools.chain.from_iterable(("--set", one) for one in TINY.split())
    arguments = ["train", "tictactoe", "--run", str(folder), "--seeds", "2", "--json", *settings]
    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == 0, found.output
    *_, curves = map(json.loads, found.stdout.splitlines())
    assert (curves[0]["runs"], curves[0]["steps"]) == (2, [1.0, 2.0])
    seeds = [json.loads((folder / f"seed-{n}" / "config.json").read_text())["seed"] for n in (0, 1)]
    assert seeds == [0, 1]
    logs = [(folder / f"seed-{n}" / "log.jsonl").read_text() for n in (0, 1)]
    assert logs[0] != logs[1]
    again = CliRunner().invoke(main, arguments)  # all is done
    assert json.loads(again.stdout) == curves
    assert [(folder / f"seed-{n}" / "log.jsonl").read_text() for n in (0, 1)] == logs
    one = CliRunner().invoke(main, [*arguments, "--seeds", "1", "--describe"])
    assert one.exit_code == 0, one.output
