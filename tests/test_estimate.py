"""What a run will take: how it is measured and extrapolated, and what the command prints."""

import json
import math

import pytest
from training_runs import call, tiny

from agents.apps.cli.train import duration
from agents.learning.configuration import make as configured

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("safetensors", reason="the extra train is not installed")

from agents.learning import estimate as measuring  # noqa: E402
from agents.learning.estimate import PartSeconds, Probe, estimate, seconds_of_iteration, sizes  # noqa: E402
from agents.learning.learner import Learner  # noqa: E402
from agents.learning.replay import load_games, save_games  # noqa: E402
from agents.learning.training import Run  # noqa: E402
from hexenv import connect4_v0, hex_v0, tictactoe_v0  # noqa: E402

pytestmark = pytest.mark.compiled(only=True)  # self-play


def paces(**options):
    """A run of 10 plies, 8 steps and 1 second of files in an iteration, alone 2 s and 1 s each."""
    configuration = configured(tiny(self_play={"plies": 10}, **options))
    return lambda together: seconds_of_iteration(configuration, PartSeconds(2, 1), together, 8, 1)


def test_two_that_do_not_slow_each_other_take_as_long_as_the_longer():
    assert paces(engine="processes")(PartSeconds(2, 1)) == pytest.approx(20)


def test_two_that_share_one_processor_take_as_long_as_both_together():
    """Each at half its pace while both go on: 9 s of learning and 20 of self-play are 29."""
    assert paces(engine="processes")(PartSeconds(4, 2)) == pytest.approx(29)
    assert paces(engine="local")(PartSeconds(2, 1)) == pytest.approx(29)


def test_learning_may_take_longer_than_self_play():
    configuration = configured(tiny(self_play={"plies": 2}, engine="processes"))
    found = seconds_of_iteration(configuration, PartSeconds(2, 1), PartSeconds(4, 2), 20, 0)
    assert found == pytest.approx(24)  # 4 and 20


def test_an_iteration_has_the_positions_and_steps_of_a_run(tmp_path):
    settings = tiny(replay={"fill": 1, "capacity": 100_000}, iterations=12)
    run = Run(tmp_path, settings)
    log = []
    run.run(log.append)
    positions, steps = sizes(run.configuration)
    assert {line["positions"] for line in log} == {positions}
    assert sum(line.get("steps", 0) for line in log[2:]) / 10 == pytest.approx(steps, rel=0.3)


@pytest.mark.parametrize("maker", [hex_v0, connect4_v0, tictactoe_v0])
def test_learning_is_measured_with_games_by_the_rules(tmp_path, maker):
    game = maker.raw_env().game
    games = measuring.random_game(game, measuring.np.random.default_rng(1))
    save_games(tmp_path / "games.npz", games, game, {})
    load_games(tmp_path / "games.npz", game)  # which checks them


def test_what_is_measured_is_extrapolated(monkeypatch, tmp_path):
    settings = tiny(iterations=50, replay={"fill": 100})
    monkeypatch.setattr(
        Probe, "measure", lambda probe, seconds: (PartSeconds(2, 1), PartSeconds(2, 1))
    )
    monkeypatch.setattr(Probe, "seconds_of_others", lambda probe: 3.0)
    found = estimate(tmp_path / "run", settings)
    assert (found.iterations, found.positions, found.steps) == (50, 64, 8)
    filling = 2 * (8 * 2 + 3)  # two iterations before there are 100 positions
    assert found.seconds == filling + 48 * (8 * 2 + 8 * 1 + 3)
    assert found.least < found.seconds < found.most
    assert not (tmp_path / "run").exists()
    run = Run(tmp_path / "run", settings)
    run._files.file("checkpoints", 40, "pt").write_bytes(b"")
    assert estimate(tmp_path / "run", {}).seconds == 10 * (8 * 2 + 8 * 1 + 3)  # what is left
    assert estimate(tmp_path / "run", {"iterations": 30}).seconds == 0
    with pytest.raises(ValueError, match="expected seed of 0, as in"):
        estimate(tmp_path / "run", {"seed": 5})


def test_the_memory_counts_a_full_buffer(tmp_path):
    found = [
        estimate(tmp_path / "run", tiny(replay={"capacity": capacity}), 0.0).memory
        for capacity in (1000, 101_000)
    ]
    a_position = 2 + 2 + 4 * 9 + 4 + 1 + 2  # action, ply, policy, value, outcome, uses
    assert found[1] - found[0] >= 100_000 * a_position
    assert found[0] > 10_000_000


def test_learning_and_self_play_are_measured(tmp_path, monkeypatch):
    steps = []
    step = Learner.step
    monkeypatch.setattr(Learner, "step", lambda *given: steps.append(1) or step(*given))
    found = estimate(tmp_path / "run", tiny(duel_games=4), 0.0)
    assert steps
    times = (*found.alone, *found.together, found.others, found.seconds, found.measured)
    assert all(0 < seconds < math.inf for seconds in times)


@pytest.mark.slow
def test_processes_are_measured_alone_and_together(tmp_path):
    found = estimate(tmp_path / "run", tiny(engine="processes", workers=2), 1.0)
    assert found.together.ply >= found.alone.ply > 0
    assert found.together.step >= found.alone.step > 0


def test_ray_is_not_measured(tmp_path):
    with pytest.raises(ValueError, match="expected engine processes or local to estimate, got ray"):
        estimate(tmp_path, tiny(engine="ray"))


# ---- the command ---------------------------------------------------------------------------------


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(tiny(iterations=3)))
    return path


def test_the_command_tells_hours_and_memory(tmp_path, config, monkeypatch):
    monkeypatch.setattr(
        Probe, "measure", lambda probe, seconds: (PartSeconds(2, 1), PartSeconds(2, 1))
    )
    monkeypatch.setattr(Probe, "seconds_of_others", lambda probe: 2.0)
    words = ("tictactoe", "--config", config, "--run", tmp_path / "run", "--estimate")
    printed = " ".join(call("train", *words).stdout.split())
    assert "tictactoe: 3 iterations of 64 positions and 8 steps of learning each" in printed
    assert "about 1.2 min (35 s to 2.3 min); at most" in printed
    assert "GB of memory" in printed
    found = json.loads(call("train", *words, "--json").stdout)
    assert found["iterations"] == 3
    assert found["alone"] == {"ply": 2, "step": 1}
    assert not (tmp_path / "run").exists()


def test_a_line_for_every_iteration_where_there_is_no_terminal(tmp_path, config):
    words = ("tictactoe", "--config", config, "--run", tmp_path / "run")
    lines = call("train", *words).stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["1/3", "2/3", "3/3"]
    assert all("positions/s" in line and line.endswith(" left") for line in lines)
    assert "policy" in lines[-1]


def test_a_terminal_has_its_bar_and_no_lines(tmp_path, config, monkeypatch):
    monkeypatch.setattr("agents.apps.cli.train.is_terminal", lambda *streams: True)
    words = ("tictactoe", "--config", config, "--run", tmp_path / "run")
    assert call("train", *words).stdout == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1.0 min"), (660, "11 min"), (5400, "1.5 h"), (90e3, "25 h")],
)
def test_times_are_told_in_their_unit(seconds, text):
    assert duration(seconds) == text
