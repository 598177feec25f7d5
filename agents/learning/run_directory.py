"""The directory of a training run.

    config.json               its configuration
    log.jsonl                 a line of figures for each iteration
    checkpoints/000042.pt     all that is needed to go on after iteration 42; the newest two
    networks/000040.safetensors   the networks that are kept, to play with
    games/000042.npz          the games that ended in iteration 42, while the buffer has them
    tensorboard/              the figures, for TensorBoard
    lock                      held by the process that trains

An iteration belongs to the run once its checkpoint is there; newer files are written anew.
"""

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agents.core.files import is_partial, locked, write_text
from agents.core.reading import read_object
from agents.core.structured import expect_unchanged
from agents.learning.configuration import Configuration, as_dict, described, make, merged
from agents.learning.replay import Games, ReplayBuffer, load_games, save_games

CHANGEABLE: Final = (
    "iterations",
    "checkpoint_interval",
    "save_interval",
    "engine",
    "workers",
    "keep_games",
    "data",
    "self_play.device",
    "self_play.gpus",
    "learner.rate",
    "learner.final_rate",
    "learner.clip",
    "learner.device",
    "learner.compile",
    "learner.half",
    "learner.threads",
)
"""What may be changed when a run goes on."""
FOLDERS: Final = ("checkpoints", "networks", "games")
"""Those with a file for each of some iterations."""


class RunDirectory:
    """The files of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make_folders(self) -> None:
        """Make the directory and its folders, where they are not there."""
        for name in FOLDERS:
            (self.path / name).mkdir(parents=True, exist_ok=True)

    def file(self, folder: str, iteration: int, suffix: str) -> Path:
        """The path of an iteration's file."""
        return self.path / folder / f"{iteration:06}.{suffix}"

    def checkpoints(self) -> list[Path]:
        """The checkpoints, the newest last."""
        found = (path for path in self.path.glob("checkpoints/*.pt") if path.stem.isdecimal())
        return sorted(found, key=lambda path: int(path.stem))

    def configured(self) -> dict[str, Any]:
        """The plain values of the run's configuration; none where a new run can begin."""
        path = self.path / "config.json"
        if not self.checkpoints():
            if (self.path / "log.jsonl").exists():
                raise ValueError(
                    f"expected a checkpoint in {self.path / 'checkpoints'}, as there is a "
                    "log.jsonl (a new run needs a directory of its own)"
                )
            return {}
        try:
            return as_dict(make(read_object(path)))
        except ValueError as error:
            raise ValueError(f"expected the configuration of a run in {path}: {error}") from None

    def configuration(self, settings: Mapping[str, Any]) -> Configuration:
        """The run's configuration with these settings.

        Raises:
            ValueError: If the settings are wrong, or differ from those of the run in what is not
                `CHANGEABLE`.
        """
        before = self.configured()
        found = make(merged(before, settings))
        for difference in differences(make(before), found) if before else ():
            expect_unchanged(*difference, self.path)
        return found

    @contextmanager
    def locked(self, iteration: int) -> Generator[None]:
        """Keep other processes from training the run; the lock ends with this process.

        Files of iterations after this one, the newest that the process knows, are removed.

        Raises:
            ValueError: If another process trains the run, or has trained it since.
        """
        with locked(self.path, "a run that no other process trains"):
            newest = int(self.checkpoints()[-1].stem)
            if newest > iteration:
                raise ValueError(
                    f"expected {self.path} after iteration {iteration}, got {newest}: another "
                    "process has trained it since"
                )
            self._forget(iteration)
            yield

    def _forget(self, iteration: int) -> None:
        """Remove files of later iterations, and those that were not written to their ends."""
        for folder in FOLDERS:
            for file in (self.path / folder).iterdir():
                if file.stem.isdecimal() and int(file.stem) > iteration:
                    file.unlink()
        for file in self.path.rglob(".*"):
            if is_partial(file):
                file.unlink()
        log = self.path / "log.jsonl"
        if log.exists():
            lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
            write_text(log, "".join(lines[:iteration]))


class GameFiles:
    """The games of a run, for as long as its replay buffer has them: a file for each iteration.

    Attributes:
        shards: The iterations that have a file, and how many positions there were before each.
    """

    def __init__(self, directory: RunDirectory, buffer: ReplayBuffer) -> None:
        self._directory = directory
        self._buffer = buffer
        self.shards: list[tuple[int, int]] = []

    def add(self, number: int, games: Games) -> None:
        """Add an iteration's games to the buffer, and write them to their file."""
        about = {"iteration": number, "first": self._buffer.total}
        save_games(self._directory.file("games", number, "npz"), games, self._buffer.game, about)
        self.shards.append((number, self._buffer.total))
        self._buffer.add(games)

    def drop(self, oldest: int, keep: bool) -> None:
        """Forget the files that the buffer no longer needs, as it was after iteration `oldest`.

        They stay where they are if `keep` says so.
        """
        later = [first for number, first in self.shards if number > oldest]
        total = later[0] if later else self._buffer.total  # positions after that iteration
        needed = self._needed(total, self._buffer.total)
        while self.shards and self.shards[0] not in needed:
            number, _ = self.shards.pop(0)
            if not keep:
                self._directory.file("games", number, "npz").unlink(missing_ok=True)

    def _needed(self, total: int, end: int) -> list[tuple[int, int]]:
        """The shards of the positions that the buffer has after `total` positions, or later."""
        ends = [*(first for _, first in self.shards[1:]), end]
        oldest = total - self._buffer.capacity
        return [shard for shard, last in zip(self.shards, ends, strict=False) if last > oldest]

    def refill(self, total: int) -> None:
        """Fill the buffer from the files, up to `total` positions."""
        buffer, shards = self._buffer, self._needed(total, total)
        buffer.total = shards[0][1] if shards else 0
        ends = [*(first for _, first in shards[1:]), total]
        for (number, first), end in zip(shards, ends, strict=False):
            path = self._directory.file("games", number, "npz")
            buffer.add(load_games(path, buffer.game))
            if buffer.total != end:
                count = buffer.total - first
                raise ValueError(f"expected {end - first} positions in {path}, got {count}")


class Journal:
    """The figures of a run: in its log, and for TensorBoard, if that is installed."""

    def __init__(self, path: Path, iteration: int) -> None:
        self._log = path / "log.jsonl"
        self._writer = summary_writer(path / "tensorboard", iteration)

    def add(self, figures: Mapping[str, Any]) -> None:
        """Add the figures of an iteration."""
        with open(self._log, "a", encoding="utf-8") as log:
            log.write(json.dumps(figures) + "\n")
        if self._writer is not None:
            for key, value in figures.items():
                if key != "iteration":
                    self._writer.add_scalar(key, value, figures["iteration"])
            self._writer.flush()

    def close(self) -> None:
        """Close TensorBoard's file."""
        if self._writer is not None:
            self._writer.close()


def summary_writer(directory: Path, iteration: int) -> Any:
    """TensorBoard's writer, if it is installed; figures after an iteration are dropped."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    # Files are read in the order of their names, which have the second and then the process.
    while any(directory.glob(f"events.out.tfevents.{int(time.time())}.*")):
        time.sleep(0.05)
    return SummaryWriter(str(directory), purge_step=iteration + 1)


def differences(known: Configuration, other: Configuration) -> Generator[tuple[str, str, str]]:
    """Settings that a run cannot change: their keys, values and new values."""
    for (key, before, _), (_, after, _) in zip(described(known), described(other), strict=True):
        if before != after and key not in CHANGEABLE:
            yield key, before, after
