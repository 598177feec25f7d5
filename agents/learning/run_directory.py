"""The directory of a training run: what it is configured for, who may train it, what is in it.

    config.json               what it does
    log.jsonl                 a line of figures for each iteration
    checkpoints/000042.pt     all that is needed to go on after iteration 42; the newest two
    networks/000040.safetensors   the networks that are kept, to play with
    games/000042.npz          the games that ended in iteration 42, as long as the buffer has them
    tensorboard/              the figures, for TensorBoard
    lock                      held by the process that trains

An iteration is in the run once its checkpoint is there; what is newer is written anew.
"""

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

from agents.core.files import is_partial, write_text
from agents.core.reading import read_object
from agents.learning.configuration import Configuration, as_dict, make, merged

CHANGEABLE: Final = (
    "iterations",
    "checkpoint_interval",
    "save_interval",
    "engine",
    "workers",
    "keep_games",
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
    """The files of a run.

    Args:
        path: Of the directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def make_folders(self) -> None:
        """Make the directory and its folders, where they are not there."""
        for name in FOLDERS:
            (self.path / name).mkdir(parents=True, exist_ok=True)

    def note(self, configuration: Configuration) -> None:
        """Write down what the run does."""
        text = json.dumps(as_dict(configuration), indent=1) + "\n"
        write_text(self.path / "config.json", text)

    def file(self, folder: str, iteration: int, suffix: str) -> Path:
        """The path of an iteration's file."""
        return self.path / folder / f"{iteration:06}.{suffix}"

    def checkpoints(self) -> list[Path]:
        """The checkpoints, the newest last."""
        found = (self.path / "checkpoints").glob("*.pt")
        return sorted(
            (path for path in found if path.stem.isdecimal()), key=lambda path: int(path.stem)
        )

    def configured(self, settings: Mapping[str, Any]) -> Configuration:
        """The run's configuration: that of the directory, or a new one.

        Raises:
            ValueError: If the settings are wrong, or not those of the run, or a file is damaged.
        """
        path = self.path / "config.json"
        if not self.checkpoints():
            if (self.path / "log.jsonl").exists():
                raise ValueError(
                    f"expected a checkpoint in {self.path / 'checkpoints'}, as there is a "
                    "log.jsonl (a new run needs a directory of its own)"
                )
            return make(settings)
        try:
            known = make(read_object(path))
        except ValueError as error:
            raise ValueError(f"expected the configuration of a run in {path}: {error}") from None
        wanted = make(merged(as_dict(known), settings))
        for key, said, says in differences(known, wanted):
            raise ValueError(
                f"expected {key} of {said}, as in {self.path}, got {says} (a new run needs a "
                "directory of its own)"
            )
        return wanted

    @contextmanager
    def alone(self, iteration: int) -> Generator[None]:
        """See that no other process trains the run; the system lets go when this one dies.

        What is of iterations that are not in the run is removed.

        Args:
            iteration: The newest that this process knows of.

        Raises:
            ValueError: If one does, or has.
        """
        with open(self.path / "lock", "w", encoding="utf-8") as lock:
            if fcntl is not None:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise ValueError(
                        f"expected a run that nobody trains, got {self.path}: another process does"
                    ) from None
            newest = int(self.checkpoints()[-1].stem)
            if newest > iteration:
                raise ValueError(
                    f"expected {self.path} after iteration {iteration}, got {newest}: another "
                    "process has trained it since"
                )
            self._forget(iteration)
            yield

    def _forget(self, iteration: int) -> None:
        """Remove what is newer than an iteration, and files half written."""
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


class Journal:
    """The figures of a run: in its log, and for TensorBoard, if that is installed.

    Args:
        path: Of the run's directory.
        iteration: After which it goes on; what TensorBoard has of later ones is dropped.
    """

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
        """Let go of TensorBoard's file."""
        if self._writer is not None:
            self._writer.close()


def summary_writer(directory: Path, iteration: int) -> Any:
    """TensorBoard's writer, if that is installed; what it has after an iteration is dropped."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    # Files are read in the order of their names, which have the second and then the process.
    while any(directory.glob(f"events.out.tfevents.{int(time.time())}.*")):
        time.sleep(0.05)
    return SummaryWriter(str(directory), purge_step=iteration + 1)


def differences(known: Configuration, other: Configuration) -> Generator[tuple[str, str, str]]:
    """What a run cannot go on with: keys, what they are, and what they would become."""
    before, after = flat(as_dict(known)), flat(as_dict(other))
    for key, value in after.items():
        said, says = json.dumps(before[key]), json.dumps(value)
        if said != says and key not in CHANGEABLE:
            yield key, said, says


def flat(values: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The values of nested sections by their full names."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{where}{key}"
        if isinstance(value, dict) and key != "options":
            found |= flat(cast("dict[str, Any]", value), f"{name}.")
        else:
            found[name] = value
    return found
