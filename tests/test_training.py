"""Training runs: the same weights from any engine and after any end, and what they learn."""

import errno
import functools
import json
import os
import random
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from environments import Trap, hearing_interrupts, make, random_action
from hex_oracles import after as position_after
from hex_oracles import as_bits, brute_force
from processes import is_alive, processes_below, wait_for
from training_runs import Killer, begin, call, differences, end_of, impatient, log_of, tiny, train

from agents.apps.cli import INTERRUPTED
from agents.arena import play_match, run_tournament
from agents.registry import make_agent
from hexenv import tictactoe_v0
from hexenv.compiled import interpreted
from hexenv.games import base

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("safetensors", reason="the extra train is not installed")

from agents.learning import run_directory, self_play, training  # noqa: E402
from agents.learning.configuration import as_dict  # noqa: E402
from agents.learning.configuration import make as configured  # noqa: E402
from agents.learning.duel import duel, elo  # noqa: E402
from agents.learning.evaluator import NetworkEvaluator  # noqa: E402
from agents.learning.files import CHECKPOINT, load_checkpoint, load_network, save_network  # noqa: E402
from agents.learning.learner import Learner  # noqa: E402
from agents.learning.networks import new_network  # noqa: E402
from agents.learning.replay import Batch, load_games  # noqa: E402
from agents.learning.saved import game_of  # noqa: E402
from agents.learning.self_play import SelfPlay, Task, Unfinished, rule_of  # noqa: E402
from agents.learning.topp import new_topp, ratings  # noqa: E402
from agents.learning.training import Run, StoppedError  # noqa: E402

pytestmark = pytest.mark.compiled  # whole runs of training

GAME = tictactoe_v0.raw_env().game


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """What comes of a run that nothing breaks, by its settings; each is trained once."""

    @functools.cache
    def trained(text):
        directory = tmp_path_factory.mktemp("unbroken")
        train(directory, tiny(**json.loads(text)))
        return end_of(directory)

    return lambda **changes: trained(json.dumps(changes, sort_keys=True))


def names(directory, folder):
    return sorted(path.name for path in (Path(directory) / folder).iterdir())


def leftovers(directory):
    return [str(path) for path in Path(directory).rglob(".*")]


def stopped_after(directory, settings, iterations):
    """A run that was stopped after some iterations, as by Ctrl-C."""
    run = Run(directory, settings)

    def report(figures):
        if figures["iteration"] == iterations:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(StoppedError):
        run.run(report)
    assert run.iteration == iterations


def goes_on_to(end, directory, settings):
    train(directory, settings)
    assert differences(end, end_of(directory)) == []


def stopped_or_not(directory, settings, iterations):
    """A run to the end, which comes to the same if it is stopped on its way."""
    stopped_after(directory / "broken", settings, iterations)
    run = train(directory / "whole", settings)
    goes_on_to(end_of(directory / "whole"), directory / "broken", settings)
    return run


# ---- the same weights ----------------------------------------------------------------------------


def test_the_same_run_twice_has_the_same_weights(unbroken, tmp_path):
    run = train(tmp_path, tiny())
    assert differences(unbroken(), end_of(tmp_path)) == []
    assert run.iteration == 5
    assert run.learner.steps > 20
    first, last = (run.evaluator_of(load(tmp_path, n)) for n in ("000000", "000005"))
    states = base.new_states(GAME, 1)
    assert not np.allclose(first.evaluate(GAME, states)[0], last.evaluate(GAME, states)[0])


def load(directory, name):
    network = load_network(Path(directory) / "networks" / f"{name}.safetensors").network
    return {k: v for k, v in network.state_dict().items() if not k.endswith("batches_tracked")}


def test_another_seed_has_other_weights(unbroken):
    assert differences(unbroken()["networks"], unbroken(seed=1)["networks"]) != []


def test_what_a_run_leaves(tmp_path):
    train(tmp_path, tiny())
    assert names(tmp_path, "networks") == [
        f"00000{n}.safetensors" for n in (0, 2, 4, 5)
    ]  # every second, and the last
    assert names(tmp_path, "checkpoints") == ["000004.pt", "000005.pt"]
    assert json.loads((tmp_path / "config.json").read_text()) == as_dict(configured(tiny()))
    assert [line["iteration"] for line in log_of(tmp_path)] == [1, 2, 3, 4, 5]
    assert leftovers(tmp_path) == []
    saved = load_network(tmp_path / "networks" / "000004.safetensors")
    assert saved.about["iteration"] == 4
    assert saved.about["positions"] == log_of(tmp_path)[3]["total_positions"]
    assert configured(saved.about["configuration"]) == configured(tiny())


def test_the_log_counts_what_was_played(tmp_path):
    train(tmp_path, tiny(keep_games=True, duel_games=4))
    total = 0
    for number, line in enumerate(log_of(tmp_path), 1):
        games = load_games(tmp_path / "games" / f"{number:06}.npz", GAME)
        assert line["games"] == len(games.lengths) > 0
        assert line["plies_per_game"] == len(games.actions) / len(games.lengths)
        assert line["first_player_score"] == pytest.approx((games.outcomes.mean() + 1) / 2)
        total += len(games.actions)
        assert line["total_positions"] == total
        assert line["positions"] == 64
        assert 0 <= line["search_agreement"] <= 1
        assert 0 < line["search_entropy"] < np.log(9)
        assert line["steps"] > 0
        assert line["policy_loss"] > 0
        assert ("elo" in line) == (number in (2, 4, 5))


# ---- games that are kept -------------------------------------------------------------------------


def test_games_are_removed_when_the_buffer_has_let_them_go(tmp_path):
    run = train(tmp_path, tiny(iterations=8))
    kept = [int(name.partition(".")[0]) for name in names(tmp_path, "games")]
    plies = [line["games"] * line["plies_per_game"] for line in log_of(tmp_path)]
    ends = np.cumsum(np.rint(plies).astype(int))
    oldest = ends[6] - 150  # that the checkpoint before the last needs
    assert kept == [number for number in range(1, 9) if ends[number - 1] > oldest]
    assert len(kept) < 6
    assert run.buffer.total == ends[-1] > 300


@pytest.mark.parametrize("keep_games", [False, True])
def test_a_run_goes_on_though_its_buffer_has_let_games_go(tmp_path, unbroken, keep_games):
    settings = tiny(iterations=8, keep_games=keep_games)
    stopped_after(tmp_path, settings, 6)
    stopped_after(tmp_path, settings, 7)
    before = names(tmp_path, "games")
    assert len(before) == 7 if keep_games else len(before) < 6
    goes_on_to(unbroken(iterations=8, keep_games=keep_games), tmp_path, settings)
    if not keep_games:
        assert len(names(tmp_path, "games")) < 6


# ---- killed --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def killer():
    process = Killer()
    yield process
    process.close()


@pytest.mark.parametrize(
    ("place", "counts"),
    [
        ("a ply of self-play", (1, 11, 20)),
        ("a step of training", (1, 12, 9)),
        ("the middle of a checkpoint", (1, 2, 3)),
        ("before a file is replaced", (1, 3, 4, 5, 6, 7, 8)),
        ("after a file is replaced", (2, 3, 4, 5, 6, 7)),
    ],
)
def test_a_run_killed_again_and_again_ends_like_an_unbroken_one(
    tmp_path, unbroken, killer, place, counts
):
    for count in counts:
        assert killer.train(tmp_path, tiny(), place, count) == -signal.SIGKILL
    goes_on_to(unbroken(), tmp_path, tiny())
    assert leftovers(tmp_path) == []


def test_a_run_killed_at_random_moments_ends_like_an_unbroken_one(tmp_path, unbroken, killer):
    settings, rng, seconds, kills = tiny(iterations=12), random.Random(), 0.3, 0
    while True:
        status = killer.train(tmp_path, settings, seconds=seconds * rng.uniform(0.5, 1.5))
        if status == 0:
            break
        assert status == -signal.SIGKILL
        kills += 1
        seconds *= 1.3
    assert kills > 0
    assert differences(unbroken(iterations=12), end_of(tmp_path)) == []
    assert [line["iteration"] for line in log_of(tmp_path)] == list(range(1, 13))


@pytest.mark.parametrize("interval", [2, 100])
def test_a_run_with_few_checkpoints_goes_on_from_the_last(tmp_path, unbroken, killer, interval):
    """Its log and its files of later iterations are written anew."""
    settings = tiny(checkpoint_interval=interval)
    assert killer.train(tmp_path, settings, "a step of training", 22) == -signal.SIGKILL
    done = len(log_of(tmp_path))
    assert done in (3, 4)
    assert len(names(tmp_path, "games")) > done or interval == 2
    run = Run(tmp_path, settings)
    assert run.iteration == done // interval * interval
    assert len(log_of(tmp_path)) == run.iteration
    run.run()
    found, expected = end_of(tmp_path), unbroken()
    assert differences(expected, found) == []


# ---- workers -------------------------------------------------------------------------------------


def command_of(process):
    return Path(f"/proc/{process}/cmdline").read_bytes()


needs_proc = pytest.mark.skipif(
    not os.path.exists("/proc/self/stat"), reason="looks into /proc for processes"
)


@needs_proc
def test_processes_play_the_same_games_though_one_is_killed(tmp_path, unbroken):
    killed = []

    def report(figures):
        if figures["iteration"] == 2:
            workers = [p for p in processes_below(os.getpid()) if b"spawn_main" in command_of(p)]
            killed.append(min(workers))
            os.kill(killed[0], signal.SIGKILL)

    Run(tmp_path, tiny(engine="processes", workers=2)).run(report)
    assert differences(unbroken(workers=2), end_of(tmp_path)) == []
    wait_for(lambda: not any(b"spawn_main" in command_of(p) for p in processes_below(os.getpid())))
    assert not is_alive(killed[0])


@needs_proc
def test_the_processes_of_a_killed_run_end_with_it(tmp_path, unbroken):
    settings = tiny(engine="processes", workers=2)
    process = begin(train, tmp_path, settings)
    wait_for(lambda: (tmp_path / "log.jsonl").exists())
    workers = processes_below(process.pid)
    assert len(workers) >= 2
    process.kill()
    process.join()
    wait_for(lambda: not any(map(is_alive, workers)), 20)
    goes_on_to(unbroken(workers=2), tmp_path, tiny(engine="local", workers=2))


@pytest.fixture(scope="module")
def ray():
    """A Ray of two processors."""
    ray = pytest.importorskip("ray", reason="the extra distributed is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


WITH_RAY = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


@WITH_RAY
def test_ray_plays_the_same_games_though_an_actor_is_killed(tmp_path, unbroken, ray, monkeypatch):
    pools = []

    def watched(configuration):
        pools.append(new_pool(configuration))
        return pools[-1]

    def report(figures):
        if figures["iteration"] == 2:
            ray.kill(pools[0].actors()[0])

    new_pool = training.new_pool
    monkeypatch.setattr(training, "new_pool", watched)
    Run(tmp_path, tiny(engine="ray", workers=2)).run(report)
    assert ray.is_initialized()
    assert differences(unbroken(workers=2), end_of(tmp_path)) == []


@WITH_RAY
def test_ctrl_c_saves_while_actors_play(tmp_path, unbroken, ray, monkeypatch):
    settings = tiny(engine="ray", checkpoint_interval=100)
    with monkeypatch.context() as patched, hearing_interrupts():
        patched.setattr(self_play, "new_worker", functools.partial(impatient, os.getpid()))
        with pytest.raises(StoppedError):
            train(tmp_path, settings)
    assert names(tmp_path, "checkpoints") == ["000000.pt", "000003.pt"]
    goes_on_to(unbroken(), tmp_path, tiny(engine="local"))


@pytest.mark.parametrize(
    ("workers", "gpus", "there", "message"),
    [
        (2, 0, {"CPU": 2.0}, None),
        (3, 0, {"CPU": 2.0}, "workers up to 2.*got 3"),
        (25, 0.28, {"CPU": 32.0, "GPU": 9.0}, None),
        (3, 0.6, {"CPU": 3.0, "GPU": 2.0}, "2 GPUs .* 3 workers"),
        (1, 1, {"CPU": 1.0}, "0 GPUs .* 1 workers"),
    ],
)
def test_actors_for_which_ray_has_no_room_are_refused(workers, gpus, there, message):
    from agents.learning.self_play import check_claims

    configuration = configured(tiny(workers=workers, self_play={"gpus": gpus}))
    if message is None:
        check_claims(configuration, there)
        return
    with pytest.raises(ValueError, match=message):
        check_claims(configuration, there)


@pytest.mark.skipif(torch.cuda.is_available(), reason="CUDA is here")
def test_what_a_process_cannot_do_is_said():
    pool = self_play.new_pool(configured(tiny(engine="processes", self_play={"device": "cuda"})))
    pool.submit(["task"])
    with pytest.raises(ValueError, match=r"self_play\.device"):
        pool.collect()
    pool.close()
    with pytest.raises(ValueError, match=r"learner\.device"):
        learner_of(device="cuda")


# ---- Ctrl-C --------------------------------------------------------------------------------------


def interrupting(method, at, times=1):
    """A method that is interrupted when it is called for the so manieth time."""
    left = [at]

    def called(*arguments):
        left[0] -= 1
        if left[0] == 0:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
        return method(*arguments)

    return called


@pytest.mark.parametrize(("owner", "name", "at"), [(SelfPlay, "do", 3), (Learner, "step", 10)])
def test_ctrl_c_saves(tmp_path, unbroken, monkeypatch, owner, name, at):
    """At once while games are played; while it learns, after the iteration."""
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, interrupting(getattr(owner, name), at))
        run = Run(tmp_path, tiny(checkpoint_interval=100))
        with pytest.raises(StoppedError):
            run.run()
    assert run.iteration == 2
    assert len(log_of(tmp_path)) == 2
    assert names(tmp_path, "checkpoints")[-1] == "000002.pt"
    goes_on_to(unbroken(), tmp_path, tiny())


def test_ctrl_c_twice_ends_at_once_and_spoils_nothing(tmp_path, unbroken, monkeypatch):
    before = signal.getsignal(signal.SIGINT)  # a shell has its jobs in the background ignore it
    with monkeypatch.context() as patched:
        patched.setattr(Learner, "step", interrupting(Learner.step, 10, times=2))
        with pytest.raises(KeyboardInterrupt) as found:
            train(tmp_path, tiny())
    assert not isinstance(found.value, StoppedError)
    assert names(tmp_path, "checkpoints")[-1] == "000001.pt"
    assert signal.getsignal(signal.SIGINT) is before
    goes_on_to(unbroken(), tmp_path, {})  # without being told again


def test_a_run_that_was_stopped_can_be_called_again(tmp_path, unbroken, monkeypatch):
    run = Run(tmp_path, tiny())
    with monkeypatch.context() as patched:
        patched.setattr(SelfPlay, "do", interrupting(SelfPlay.do, 3))
        with pytest.raises(StoppedError):
            run.run()
    run.run()
    assert differences(unbroken(), end_of(tmp_path)) == []


def arguments_of(settings):
    """The settings of a run as words for the command."""
    found = []
    for key, value in settings.items():
        if isinstance(value, dict):
            found += [f"{key}.{inner}={json.dumps(v)}" for inner, v in value.items()]
        elif key != "game":
            found.append(f"{key}={json.dumps(value)}")
    return [word for pair in found for word in ("--set", pair)]


def test_ctrl_c_at_the_command_saves_and_exits_with_130(tmp_path):
    """The whole group of processes is interrupted, as by a terminal."""
    settings = tiny(engine="processes", iterations=100_000)
    command = ["train", "tictactoe", "--run", str(tmp_path / "run"), *arguments_of(settings)]
    with hearing_interrupts():
        process = subprocess.Popen(
            [sys.executable, "-m", "agents.apps.cli", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    wait_for(lambda: (tmp_path / "run" / "log.jsonl").exists())
    os.killpg(process.pid, signal.SIGINT)
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == INTERRUPTED, errors
    done = len(log_of(tmp_path / "run"))
    assert f"saved after iteration {done} of 100000" in errors
    assert "Traceback" not in printed + errors
    run = Run(tmp_path / "run", tiny(iterations=done + 2))
    assert run.iteration == done
    assert run.buffer.total == log_of(tmp_path / "run")[-1]["total_positions"]


# ---- the command ---------------------------------------------------------------------------------

command = functools.partial(call, "train")


def test_the_command_trains_and_goes_on(tmp_path):
    words = arguments_of(tiny())
    first = command("tictactoe", "--run", tmp_path, *words, "--set", "iterations=2", "--json")
    assert [json.loads(line)["iteration"] for line in first.stdout.splitlines()] == [1, 2]
    again = command("tictactoe", "--run", tmp_path, "--json")
    assert again.stdout == ""
    more = command("tictactoe", "--run", tmp_path, "--set", "iterations=3")
    assert f"{tmp_path}: goes on after iteration 2, to 3" in more.stderr
    assert json.loads((tmp_path / "config.json").read_text())["iterations"] == 3
    assert [line["iteration"] for line in log_of(tmp_path)] == [1, 2, 3]


def test_a_mistake_is_one_line(tmp_path):
    train(tmp_path, tiny(iterations=1))
    said = command("tictactoe", "--run", tmp_path, "--set", "seed=3", status=2).output
    assert f"expected seed of 0, as in {tmp_path}, got 3" in " ".join(said.split())
    (tmp_path / "checkpoints" / "000001.pt").write_bytes(b"")
    said = command("tictactoe", "--run", tmp_path, status=2).output
    assert "cannot go on from" in " ".join(said.split())
    said = call(
        "train", "hex", "--run", tmp_path / "new", "--set", "options.size=3", status=2
    ).output
    assert "size" in said
    assert not (tmp_path / "new").exists()


# ---- files that are damaged, and disks that are full ---------------------------------------------


def test_a_full_disk_at_a_checkpoint_leaves_the_one_before(tmp_path, unbroken, monkeypatch):
    resource = pytest.importorskip("resource", reason="no limits of a file's size here")
    limits, save = resource.getrlimit(resource.RLIMIT_FSIZE), training.save_checkpoint

    def on_a_small_disk(path, contents):
        small = 5000 if contents["iteration"] == 3 else limits[0]
        resource.setrlimit(resource.RLIMIT_FSIZE, (small, limits[1]))
        try:
            save(path, contents)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    with monkeypatch.context() as patched:
        patched.setattr(training, "save_checkpoint", on_a_small_disk)
        with pytest.raises(OSError, match=r"000003\.pt") as found:
            train(tmp_path, tiny())
    assert str(tmp_path) in f"{found.value.filename} {found.value}"
    assert names(tmp_path, "checkpoints") == ["000001.pt", "000002.pt"]
    assert load_checkpoint(tmp_path / "checkpoints" / "000002.pt")["iteration"] == 2
    goes_on_to(unbroken(), tmp_path, tiny())


@pytest.mark.parametrize("what", ["games", "a network", "the log"])
def test_a_full_disk_elsewhere_spoils_nothing(tmp_path, unbroken, monkeypatch, what):
    calls = []

    def full(function, last):
        def called(*arguments, **keywords):
            calls.append(1)
            if len(calls) == last:
                raise OSError(errno.ENOSPC, "No space left on device")
            return function(*arguments, **keywords)

        return called

    with monkeypatch.context() as patched:
        if what == "games":
            patched.setattr(np, "savez", full(np.savez, 3))
        elif what == "a network":
            patched.setattr(training, "save_network", full(save_network, 3))
        else:
            patched.setattr(run_directory, "open", full(open, 3), raising=False)
        with pytest.raises(OSError, match="No space left on device"):
            train(tmp_path, tiny())
    goes_on_to(unbroken(), tmp_path, tiny())


def test_a_damaged_checkpoint_is_refused_and_the_run_goes_on_without_it(tmp_path, unbroken):
    stopped_after(tmp_path, tiny(), 4)
    path = tmp_path / "checkpoints" / "000004.pt"
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda info: info.file_size)
        place = whole.index(archive.read(largest)) + largest.file_size // 2
    flipped = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    message = r"cannot go on from .*000004\.pt: .*goes on from the checkpoint before it"
    for damaged in (b"", whole[: len(whole) // 2], whole[:-10], b"text", flipped):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=message):
            Run(tmp_path, tiny())
    path.unlink()
    run = Run(tmp_path, tiny())
    assert run.iteration == 3
    assert len(log_of(tmp_path)) == 3
    run.run()
    assert differences(unbroken(), end_of(tmp_path)) == []


def test_a_checkpoint_of_other_contents_is_refused_and_runs_no_code(tmp_path):
    train(tmp_path, tiny(iterations=1))
    path = tmp_path / "checkpoints" / "000001.pt"
    whole = CHECKPOINT.head(**load_checkpoint(path))
    lacking = ("format", "version", "learner", "streams", "uses")
    wrong = [{name: whole[name] for name in whole if name != key} for key in lacking]
    torch.save(whole, path)
    Run(tmp_path, tiny())  # in this form it is read
    strange = (Trap(tmp_path / "trace"), bytearray(3), {1, 2}, complex(1))
    for contents in [*wrong, *({**whole, "more": value} for value in strange)]:
        torch.save(contents, path)
        with pytest.raises(ValueError, match=r"cannot go on from .*000001\.pt"):
            Run(tmp_path, tiny())
    assert not (tmp_path / "trace").exists()


def test_damaged_games_are_named(tmp_path, unbroken):
    stopped_after(tmp_path, tiny(), 3)
    path = tmp_path / "games" / "000003.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"expected hexenv-games .*000003\.npz"):
        Run(tmp_path, tiny())
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"000003\.npz"):
        Run(tmp_path, tiny())
    other = (tmp_path / "games" / "000002.npz").read_bytes()
    path.write_bytes(other)
    with pytest.raises(ValueError, match=r"expected \d+ positions in .*000003\.npz, got \d+"):
        Run(tmp_path, tiny())
    path.write_bytes(whole)
    goes_on_to(unbroken(), tmp_path, tiny())


def test_a_damaged_configuration_is_named(tmp_path):
    train(tmp_path, tiny(iterations=1))
    path = tmp_path / "config.json"
    for text in ("{", "[]", '{"seed": "x"}', '{"sead": 1}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"expected the configuration of a run in .*config\."):
            Run(tmp_path, tiny())
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        Run(tmp_path, tiny())


def test_a_log_without_checkpoints_is_not_overwritten(tmp_path):
    train(tmp_path, tiny(iterations=2))
    before = (tmp_path / "log.jsonl").read_text()
    for path in (tmp_path / "checkpoints").iterdir():
        path.unlink()
    with pytest.raises(ValueError, match=r"expected a checkpoint in .*, as there is a log"):
        Run(tmp_path, tiny(iterations=2))
    assert (tmp_path / "log.jsonl").read_text() == before
    assert len(names(tmp_path, "networks")) == 2


def test_files_of_others_are_left_alone(tmp_path):
    stopped_after(tmp_path, tiny(), 1)
    others = ["networks/000040-best.safetensors", "networks/.keep", "games/notes.txt", ".hidden"]
    for name in others:
        (tmp_path / name).write_text("mine")
    for name in (
        "games/.000009.partial.npz",
        ".log.partial.jsonl",
        "games/.000009.partial-0123abcd.npz",
    ):
        (tmp_path / name).write_text("half written")
    (tmp_path / "networks" / "000040.safetensors").write_text("of no iteration in the run")
    Run(tmp_path, tiny())
    assert [name for name in others if not (tmp_path / name).exists()] == []
    assert sorted(leftovers(tmp_path)) == sorted(
        [str(tmp_path / "networks/.keep"), str(tmp_path / ".hidden")]
    )
    assert not (tmp_path / "networks" / "000040.safetensors").exists()


# ---- what may be changed -------------------------------------------------------------------------


def test_a_run_goes_on_as_it_was(tmp_path):
    train(tmp_path, tiny(iterations=1))
    before = end_of(tmp_path)
    for changes, key, value in [
        ({"game": "gomoku"}, "game", '"gomoku"'),
        ({"options": {"board_size": 4}}, "options", "board_size"),
        ({"seed": 1}, "seed", "1"),
        ({"network": {"channels": 5}}, "network.channels", "5"),
        ({"network": {"planes": ["side"]}}, "network.planes", '"side"'),
        ({"learner": {"rat": 1.0}}, "a key", "learner.rat"),
    ]:
        with pytest.raises(ValueError, match=f"{key}.*{value}"):
            Run(tmp_path, changes)
    assert differences(before, end_of(tmp_path)) == []


def test_a_longer_run_is_not_forgotten(tmp_path):
    train(tmp_path, tiny(iterations=1))
    stopped_after(tmp_path, {"iterations": 4, "save_interval": 1}, 2)
    assert train(tmp_path, {}).iteration == 4
    assert len(names(tmp_path, "networks")) == 5
    assert train(tmp_path, {}).iteration == 4


def test_a_shape_of_a_board_may_be_a_tuple(tmp_path):
    settings = tiny(game="hex", options={"board_size": (2, 3)}, iterations=1)
    settings = {**settings, "network": {**settings["network"], "canonical": False}}
    train(tmp_path, settings)
    assert Run(tmp_path, settings).iteration == 1
    settings["options"] = {"board_size": [2, 3]}
    assert Run(tmp_path, settings).game.columns == 3


@pytest.mark.parametrize("workers", [1, 4])
def test_a_run_goes_on_with_more_or_fewer_workers(tmp_path, workers):
    stopped_after(tmp_path, tiny(workers=2), 2)
    run = train(tmp_path, {"workers": workers})
    assert run.iteration == 5
    assert [line["positions"] for line in log_of(tmp_path)] == [128] * 2 + [64 * workers] * 3
    assert len({json.dumps(stream) for stream in run._streams}) == workers


# ---- where it starts from ------------------------------------------------------------------------


def test_a_run_starts_from_a_network(tmp_path):
    options = configured(tiny()).network
    network = new_network(GAME, options, seed=99)
    path = tmp_path / "start.safetensors"
    save_network(path, network, options, ("tictactoe", {}), {})
    run = Run(tmp_path / "run", tiny(start=str(path), iterations=2))
    for name, tensor in load(tmp_path / "run", "000000").items():
        assert torch.equal(tensor, network.state_dict()[name]), name
    run.run()
    path.unlink()  # which is needed no more
    assert train(tmp_path / "run", {"iterations": 3}).iteration == 3


def test_a_run_does_not_start_from_another_network(tmp_path):
    for name, game, arguments, changes in [
        ("other game", "gomoku", {"board_size": 3, "connect": 3}, {}),
        ("other size", "tictactoe", {}, {"channels": 5}),
    ]:
        path, made = tmp_path / name, configured(tiny(network=changes)).network
        save_network(path, new_network(game_of(game, arguments), made), made, (game, arguments), {})
        with pytest.raises(ValueError, match=f"cannot start from .*{name}: expected "):
            Run(tmp_path / "run", tiny(start=str(path)))
    with pytest.raises(FileNotFoundError, match="expected a network's file, or one of"):
        Run(tmp_path / "run", tiny(start="nowhere"))
    assert not (tmp_path / "run").exists()


# ---- who plays -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("score", "passes"), [(0.54, False), (0.55, True)])
def test_only_a_network_that_passes_the_gate_plays(tmp_path, monkeypatch, score, passes):
    monkeypatch.setattr(training, "duel", lambda *arguments: (score, 2))
    run = train(tmp_path, tiny(gate=0.55, duel_games=2))
    begun, ended = load(tmp_path, "000000"), load(tmp_path, "000005")
    is_new = [not torch.equal(begun[name], ended[name]) for name in begun]
    assert all(is_new) if passes else not any(is_new)
    assert all(line["gate_score"] == score for line in log_of(tmp_path))
    learnt = run.learner.playing_weights()
    assert not torch.equal(learnt["stem.weight"], begun["stem.weight"])
    assert torch.equal(learnt["stem.weight"], ended["stem.weight"]) == passes


@pytest.mark.parametrize(
    ("method", "kind"), [("gumbel", "anet"), ("puct", "residual"), ("rollouts", "anet")]
)
def test_every_method_and_every_kind_of_network_trains(tmp_path, method, kind):
    layers = [{"type": "dense", "units": 8, "activation": "tanh"}]
    network = {"kind": kind, "layers": layers, "value": method != "rollouts"}
    settings = tiny(search={"method": method}, network=network, iterations=3)
    run = stopped_or_not(tmp_path, settings, 2)
    assert run.learner.steps > 8
    for path in sorted((tmp_path / "whole" / "games").iterdir()):
        policies = load_games(path, GAME).policies
        sums = policies.sum(axis=1)
        assert np.allclose(sums[sums > 0], 1, atol=1e-5)


@pytest.mark.parametrize(
    ("game", "options", "planes"),
    [
        ("hex", {"board_size": 3, "swap": True}, ["last_move"]),
        ("connect4", {"rows": 4, "columns": 4, "connect": 3}, ["side"]),
        ("gomoku", {"board_size": 4, "connect": 3}, ["last_move"]),
    ],
)
def test_every_game_trains(tmp_path, game, options, planes):
    settings = tiny(game=game, options=options, network={"planes": planes}, iterations=2)
    settings["replay"]["fill"] = 1
    run = stopped_or_not(tmp_path, settings, 1)
    assert run.learner.steps > 0
    assert run.buffer.sample(4, run.rng).planes.shape[-1] == len(run.game.planes()) + 1


def test_a_small_buffer_ends_no_run(tmp_path):
    """Smaller than an iteration, or with few positions that may be drawn."""
    run = train(tmp_path / "small", tiny(replay={"capacity": 40, "fill": 16}, iterations=3))
    assert len(run.buffer) == 40
    assert run.learner.steps > 0
    assert Run(tmp_path / "small", {}).buffer.total == run.buffer.total
    run = train(tmp_path, tiny(replay={"most_reuse": 1, "reuse": 5.0}))
    assert run.iteration == 5
    assert set(run.buffer.uses.tolist()) == {1, 65535}
    assert 0 < run.learner.steps < run.buffer.total * 5.0 / 16 / 2


def test_figures_are_written_for_tensorboard(tmp_path, killer):
    reading = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="tensorboard of the extra train is not installed",
    )
    stopped_after(tmp_path, tiny(), 2)
    assert killer.train(tmp_path, tiny(), "after a file is replaced", 8) == -signal.SIGKILL
    train(tmp_path, tiny())
    found = reading.EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    expected = {line["iteration"]: line["total_positions"] for line in log_of(tmp_path)}
    assert {e.step: e.value for e in found.Scalars("total_positions")} == expected
    assert len(found.Scalars("policy_loss")) == 5


# ---- the learner ---------------------------------------------------------------------------------


def learner_of(**options):
    settings = tiny(learner={"warmup": 0, "average": 0.0, **options})
    return Learner(configured(settings), GAME)


def some_batch(count=32, seed=0):
    """Positions without a stone but one, to which there is one right answer each."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 9, count)
    planes = np.zeros((count, 9, 2), np.int8)
    planes[np.arange(count), cells, 0] = 1
    policies = np.eye(9, dtype=np.float32)[8 - cells]
    outcomes = np.where(cells % 2 == 0, 1, -1).astype(np.float32)
    return Batch(
        planes.reshape(-1, 3, 3, 2), policies, outcomes, outcomes, np.zeros(count, np.int8)
    )


@pytest.mark.parametrize(
    ("optimiser", "rate", "loss"),
    [
        ("adamw", 0.02, "cross_entropy"),
        ("adamw", 0.02, "squared_error"),
        ("adam", 0.02, "cross_entropy"),
        ("sgd", 0.05, "cross_entropy"),
        ("rmsprop", 0.003, "squared_error"),
        ("adagrad", 0.05, "cross_entropy"),
    ],
)
def test_every_optimiser_and_every_loss_is_lowered(optimiser, rate, loss):
    learner = learner_of(optimiser=optimiser, rate=rate, policy_loss=loss)
    rng = np.random.default_rng(1)
    found = [learner.step(some_batch(), 0.0, rng) for _ in range(60)]
    for key in ("policy_loss", "value_loss"):
        assert found[-1][key] < 0.7 * found[0][key], key
        assert found[-1][key] >= 0
    assert found[-1]["learnt_agreement"] > found[0]["learnt_agreement"]


def test_a_loss_of_nothing_is_what_the_target_itself_would_have():
    learner = learner_of()
    target = torch.from_numpy(np.random.default_rng(1).dirichlet(np.ones(9), 5)).float()
    assert learner._policy_loss(target.log(), target).item() == pytest.approx(0, abs=1e-6)
    learner.options = learner_of(policy_loss="squared_error").options
    assert learner._policy_loss(target.log(), target).item() == pytest.approx(0, abs=1e-6)
    uniform = torch.zeros(5, 9)
    expected = (target - 1 / 9).square().sum(1).mean().item()
    assert learner._policy_loss(uniform, target).item() == pytest.approx(expected)


def test_the_value_learns_a_mixture_of_outcome_and_search():
    batch = some_batch()._replace(values=np.full(32, 0.5, np.float32))
    for mix in (0.0, 0.25, 1.0):
        learner = learner_of(value_mix=mix, rate=0.0, symmetries=False)
        found = learner.step(batch, 0.0, np.random.default_rng(1))
        learner.network.train()
        _, values = learner.network(torch.from_numpy(batch.planes).float())
        wanted = (1 - mix) * batch.outcomes + mix * batch.values
        expected = np.square(values.detach().numpy() - wanted).mean()
        assert found["value_loss"] == pytest.approx(expected, rel=1e-5)


def test_a_gradient_is_clipped():
    moved = []
    for clip in (0.01, 1000.0):
        learner = learner_of(
            optimiser="sgd", momentum=0.0, rate=1.0, weight_decay=0.0, clip=clip, value_weight=100.0
        )
        before = [p.detach().clone() for p in learner.network.parameters()]
        learner.step(some_batch(), 0.0, np.random.default_rng(1))
        after = learner.network.parameters()
        changes = [(a - b).square().sum() for a, b in zip(after, before, strict=True)]
        moved.append(torch.stack(changes).sum().sqrt().item())
    assert moved[0] == pytest.approx(0.01, rel=1e-3)
    assert moved[1] > 0.1


def test_the_rate_rises_and_falls_along_a_cosine():
    learner = learner_of(rate=1.0, warmup=4, final_rate=0.1, optimiser="sgd", momentum=0.0)
    rng, rates = np.random.default_rng(1), []
    for progress in (0, 0, 0, 0, 0.5, 1.0):
        learner.step(some_batch(), progress, rng)
        rates.append(learner.optimiser.param_groups[0]["lr"])
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0, 0.55, 0.1])


@pytest.mark.parametrize("most", [0.0, 0.9])
def test_the_average_follows_the_weights(most):
    learner, rng = learner_of(average=most), np.random.default_rng(1)
    average = {name: w.clone() for name, w in learner.weights().items()}
    for number in range(1, 100):
        learner.step(some_batch(), 0.0, rng)
        decay = min(most, number / (number + 10))
        for name, w in learner.weights().items():
            average[name] = decay * average[name] + (1 - decay) * w
    for name, w in learner.playing_weights().items():
        assert torch.allclose(w, average[name], rtol=0, atol=1e-5), name
        assert torch.equal(w, learner.weights()[name]) == (most == 0.0)


@pytest.mark.parametrize(
    "board", ["hex-3-swap", "hex-2x4", "connect4-4x5", "tictactoe", "gomoku-4", "gomoku-7x9"]
)
def test_positions_and_policies_are_turned_alike(board):
    """Against games of which every move was turned."""
    planes, rng = ["side", "last_move"], np.random.default_rng(4)
    env = make(board, planes=tuple(planes))
    rules = env.unwrapped.game
    learner = Learner(configured(tiny(network={"planes": planes, "canonical": False})), rules)
    symmetries = rules.symmetries()
    twins = [make(board, planes=tuple(planes)) for _ in symmetries]
    for each in (env, *twins):
        each.reset()
    seen_images = set()
    while not any(env.terminations.values()):
        action = random_action(env, rng)
        images = [each.observe(each.agent_selection)["observation"] for each in twins]
        shown = np.repeat(env.observe(env.agent_selection)["observation"][None], 64, axis=0)
        policy = np.repeat(np.eye(rules.num_actions(), dtype=np.float32)[action][None], 64, axis=0)
        turned, moved = learner._in_random_symmetries(shown, policy, rng)
        for row in range(64):
            fits = [
                number
                for number, image in enumerate(images)
                if np.array_equal(turned[row], image)
                and moved[row].argmax() == symmetries[number, action]
            ]
            assert fits
            if len(fits) == 1:
                seen_images.add(fits[0])
            assert moved[row].sum() == 1
        for number, each in enumerate(twins):
            each.step(int(symmetries[number, action]))
        env.step(action)
    assert seen_images == set(range(len(symmetries)))


# ---- network against network ---------------------------------------------------------------------


def evaluator_of(seed):
    options = configured(tiny()).network
    return NetworkEvaluator(new_network(GAME, options, seed).eval(), GAME, ())


class Perfect:
    """Knows TicTacToe."""

    def __init__(self):
        self.known = {}

    def value(self, state):
        """For the player to move."""
        if GAME.is_terminal(state):
            return GAME.outcome(state, GAME.to_play(state))
        key = GAME.position_hash(state)
        if key not in self.known:
            self.known[key] = max(-self.value(after) for _, after in self.moves(state))
        return self.known[key]

    def moves(self, state):
        for action in base.legal_actions(GAME, state):
            after = base.clone(GAME, state)
            GAME.step(after, action)
            yield action, after

    def evaluate(self, game, states):
        priors = np.zeros((len(states), 9), np.float32)
        for row, state in enumerate(states):
            for action, after in self.moves(state):
                priors[row, action] = 2 - self.value(after)
        return priors, np.zeros(len(states), np.float32)


def test_two_players_that_are_the_same_are_equal():
    for seed in range(4):
        score, distinct = duel(GAME, (evaluator_of(1), evaluator_of(1)), 50, 2, seed)
        assert score == 0.5
        assert distinct < 50  # the 25 openings are drawn of 72


def test_a_strong_player_wins_a_duel_on_either_side():
    strong, weak = Perfect(), evaluator_of(1)
    score, _ = duel(GAME, (strong, weak), 60, 2, seed=1)
    assert score > 0.75
    assert duel(GAME, (weak, strong), 60, 2, seed=1)[0] == pytest.approx(1 - score)


def test_an_odd_game_and_a_long_opening_are_left_out():
    assert duel(GAME, (Perfect(), evaluator_of(1)), 1, 2, seed=1) == (0.0, 0)
    assert 0 < duel(GAME, (Perfect(), Perfect()), 21, 100, seed=1)[0] < 1


def test_elo_is_the_difference_that_a_score_means():
    assert elo(0.5, 100) == 0
    assert elo(0.75, 100) == pytest.approx(190.85, abs=0.01)
    assert elo(0.25, 100) == -elo(0.75, 100)
    assert elo(1.0, 100) == elo(0.995, 100)
    assert elo(0.0, 10) == pytest.approx(-elo(1.0, 10))
    assert -600 < elo(0.0, 10) < -500


# ---- what it learns ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_short_run_learns_to_draw_the_solver(tmp_path):
    settings = {
        "game": "tictactoe",
        "iterations": 12,
        "engine": "local",
        "workers": 1,
        "save_interval": 12,
        "learner": {"batch": 128},
        "replay": {"fill": 512, "reuse": 4.0},
    }
    run = train(tmp_path, settings)
    assert log_of(tmp_path)[-1]["policy_loss"] < 0.5 * log_of(tmp_path)[0]["policy_loss"]
    first, last = (run.evaluator_of(load(tmp_path, name)) for name in ("000000", "000012"))
    assert duel(GAME, (last, first), 200, 2, seed=5)[0] > 0.7
    net = tmp_path / "networks" / "000012.safetensors"
    players = [make_agent(f"alphazero:net={net},simulations=50"), make_agent("solver")]
    results = list(play_match(tictactoe_v0.env(), players, 100, seed=3))
    assert [result.outcome for result in results] == [0] * 100
    topp = new_topp(tmp_path, pairs=40)
    before, after = ratings(topp, run_tournament(topp.tournament, workers=0))
    assert after.low > before.high


def test_a_checkpoint_of_another_board_is_refused_with_the_reason(tmp_path):
    train(tmp_path / "one", tiny(game="hex", options={"board_size": 3}, iterations=1))
    train(tmp_path / "two", tiny(game="hex", options={"board_size": 4}, iterations=1))
    there = tmp_path / "two" / "checkpoints" / "000001.pt"
    there.write_bytes((tmp_path / "one" / "checkpoints" / "000001.pt").read_bytes())
    with pytest.raises(ValueError, match=r"another run: expected options of .*4}, got .*3}"):
        Run(tmp_path / "two", tiny(game="hex", options={"board_size": 4}, iterations=1))


def test_weights_that_are_no_numbers_end_a_run_before_they_are_saved(tmp_path):
    run = train(tmp_path, tiny(iterations=2))
    with torch.no_grad():
        next(run.learner.network.parameters())[0] = float("nan")
    run.configuration = configured({**as_dict(run.configuration), "iterations": 4})
    with pytest.raises(ValueError, match="finite weights"):
        run.run()
    again = Run(tmp_path, tiny(iterations=4, learner={"rate": 1e-4}))
    assert again.iteration == 2
    again.run()


def test_alphazeros_noise_leaves_most_of_the_priors():
    rule = rule_of(configured({"game": "hex", "search": {"method": "puct"}}))
    assert rule.noise_share == 0.25


@pytest.mark.parametrize("method", ["gumbel", pytest.param("puct", marks=pytest.mark.slow)])
def test_self_play_learns_what_is_proven(method):
    options = {"method": method, "simulations": 6, "knowledge": "inferior+connections"}
    settings = tiny(
        game="hex",
        options={"board_size": 4},
        network={"channels": 4, "blocks": 0},
        search={**options, "knowledge_at": 1},
        self_play={"games": 2, "plies": 14, "opening_plies": 6},
    )
    worker = SelfPlay(configured(settings))
    game, winner = worker.game, brute_force(4, 4)
    rng = np.random.default_rng(3)
    task = Task(Unfinished.none(game, 2), rng.bit_generator.state, 0.0)
    with interpreted():
        games = worker.do(task).games
    ply, won = 0, 0
    for length, outcome in zip(games.lengths, games.outcomes, strict=True):
        moves = games.actions[ply : ply + length]
        for number in range(length):
            policy, value = games.policies[ply + number], games.values[ply + number]
            if not policy.any() or value != 1.0:
                continue
            won += 1
            mover = number % 2
            assert outcome == (1 if mover == 0 else -1)
            for action in np.flatnonzero(policy):  # all that is learnt wins
                state = position_after(game, [*moves[:number], action])
                assert state.winner == mover or winner(*as_bits(game, state), 1 - mover) == mover
        ply += length
    assert won > 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"knowledge": "bridges"}, "expected knowledge of inferior, .*'bridges'"),
        ({"knowledge": "priors"}, "an evaluator gives the priors"),
        ({"knowledge": "inferior", "method": "rave"}, "no knowledge with method rave"),
    ],
)
def test_wrong_knowledge_is_refused_before_a_run_begins(changes, message, tmp_path):
    settings = tiny(game="hex", options={"board_size": 4}, search=changes)
    with pytest.raises(ValueError, match=message):
        Run(tmp_path / "run", settings)
    with pytest.raises(ValueError, match="expected a game of hex"):
        Run(tmp_path / "run", tiny(search={"knowledge": "inferior"}))


def test_a_run_is_trained_by_one_process_at_a_time(tmp_path):
    train(tmp_path, tiny(iterations=1))
    first = Run(tmp_path, tiny(iterations=3))
    second = Run(tmp_path, tiny(iterations=3))
    refused = []

    def meanwhile(figures):
        with pytest.raises(ValueError, match="no other process") as error:
            second.run()
        refused.append(error)

    first.run(meanwhile)
    assert len(refused) == 2
    with pytest.raises(ValueError, match="after iteration 1, got 3: another process has trained"):
        second.run()
    assert len(log_of(tmp_path)) == 3
