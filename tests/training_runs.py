"""Tiny training runs for the tests: what came of them, and runs that kill themselves."""

import json
import multiprocessing
import os
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from click.testing import CliRunner

TINY = {
    "game": "tictactoe",
    "iterations": 5,
    "engine": "local",
    "workers": 1,
    "duel_games": 0,
    "save_interval": 2,
    "network": {"channels": 4, "blocks": 0, "head_channels": 2, "value_units": 4},
    "search": {"simulations": 4, "considered": 4, "cache": 64},
    "self_play": {"games": 8, "plies": 8, "opening_plies": 1},
    "replay": {"capacity": 150, "fill": 16},
    "learner": {"batch": 16, "warmup": 2},
}
"""A run of a second."""
SPEEDS = ("seconds", "seconds_waited", "games_per_second", "simulations_per_second")


def tiny(**changes):
    """Settings for a run; sections are changed key by key."""
    from agents.learning.configuration import merged

    return merged(TINY, changes)


def train(directory, settings):
    """Train, or go on, to the end."""
    from agents.learning.training import Run

    run = Run(directory, settings)
    run.run()
    return run


def call(command, *arguments, status=0):
    """Call a command of `hexenv`, and check how it ends."""
    from agents.apps.cli import main

    result = CliRunner().invoke(main, [command, *map(str, arguments)])
    assert result.exit_code == status, result.output
    return result


def log_of(directory):
    """The lines of a run's log, without times."""
    lines = (Path(directory) / "log.jsonl").read_text(encoding="utf-8").splitlines()
    hidden = (*SPEEDS, "positions_per_second")
    return [{k: v for k, v in json.loads(line).items() if k not in hidden} for line in lines]


def end_of(directory, trusted=()):
    """All that a run has come to: its last checkpoint, its networks and its log."""
    from agents.learning.files import load_checkpoint, load_network

    directory = Path(directory)
    contents = load_checkpoint(max((directory / "checkpoints").glob("*.pt")))
    configuration = json.loads(contents.pop("configuration"))
    for key in ("engine", "checkpoint_interval", "workers"):
        del configuration[key]
    networks = {
        path.name: dict(load_network(path, trusted=trusted).network.state_dict())
        for path in sorted((directory / "networks").iterdir())
    }
    contents |= {"configuration": configuration, "networks": networks, "log": log_of(directory)}
    return contents


def differences(first, second, where="run"):
    """Where two values of `end_of` are not the same to the last bit."""
    if type(first) is not type(second):
        return [f"{where}: {type(first).__name__} and {type(second).__name__}"]
    if isinstance(first, dict):
        if list(first) != list(second):
            return [f"{where}: {list(first)} and {list(second)}"]
        return [d for key in first for d in differences(first[key], second[key], f"{where}.{key}")]
    if isinstance(first, (list, tuple)):
        if len(first) != len(second):
            return [f"{where}: {len(first)} and {len(second)} items"]
        pairs = enumerate(zip(first, second, strict=True))
        return [d for number, pair in pairs for d in differences(*pair, f"{where}[{number}]")]
    if hasattr(first, "numpy"):
        is_same = first.numpy().tobytes() == second.numpy().tobytes()
        return [] if is_same else [f"{where}: other numbers"]
    return [] if first == second else [f"{where}: {first} and {second}"]


# ---- processes that are killed -------------------------------------------------------------------


def begin(function, *arguments):
    """Call a function of this module in a process of its own, from which it can be killed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["agents.learning.training"])
    process = context.Process(target=function, args=arguments)
    process.start()
    return process


class Killer:
    """A process with everything loaded, copies of which train and are killed."""

    def __init__(self):
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = begin(serve, theirs)
        theirs.close()

    def train(self, directory, settings, place=None, count=0, seconds=None):
        """Train in a process that is killed; see `train_and_die`.

        Returns:
            Its exit status; negative: the number of the signal that ended it.
        """
        self._pipe.send((directory, settings, place, count, seconds))
        return self._pipe.recv()

    def close(self):
        self._pipe.close()
        self._process.join()
        self._process.close()


def serve(pipe):
    """Train in copies of this process, as `Killer.train` says."""
    with tempfile.TemporaryDirectory() as directory:
        train(directory, tiny(iterations=1))
    with suppress(EOFError):
        while True:
            *arguments, seconds = pipe.recv()
            copy = os.fork()
            if copy == 0:
                train_and_die(*arguments)
                os._exit(0)
            if seconds is not None:
                time.sleep(seconds)
                os.kill(copy, signal.SIGKILL)
            _, status = os.waitpid(copy, 0)
            pipe.send(os.waitstatus_to_exitcode(status))


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def train_and_die(directory, settings, place, count):
    """Train, and be killed when a place in the code is reached for the `count`-th time."""
    import torch

    from agents.learning import learner, self_play

    left = [count]

    def dying(function, before=None):
        def called(*arguments, **keywords):
            left[0] -= 1
            if left[0] == 0 and before is not None:
                before(*arguments, **keywords)
                die()
            found = function(*arguments, **keywords)
            if left[0] == 0:
                die()
            return found

        return called

    def half(contents, path):
        whole(contents, path)
        os.truncate(path, os.path.getsize(path) // 2)

    whole = torch.save
    if place == "a ply of self-play":
        self_play.Lockstep.play_ply = dying(self_play.Lockstep.play_ply)
    elif place == "a step of training":
        learner.Learner.step = dying(learner.Learner.step)
    elif place == "the middle of a checkpoint":
        torch.save = dying(torch.save, half)
    elif place == "before a file is replaced":
        os.replace = dying(os.replace, lambda *paths: None)
    elif place == "after a file is replaced":
        os.replace = dying(os.replace)
    train(directory, settings)


def impatient(learner, configuration, kind):
    """A worker that interrupts the learner while it plays its fourth task."""

    class Interrupting(kind):
        def do(self, task, start_clock):
            self.done = getattr(self, "done", 0) + 1
            if self.done == 4:
                os.kill(learner, signal.SIGINT)
                time.sleep(5)
            return super().do(task, start_clock)

    return Interrupting(configuration)
