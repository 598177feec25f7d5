"""Where figures and films of training go: TensorBoard, Weights & Biases, or a writer of one's own.

A writer is an object with `Writer`'s two methods. `TensorBoardWriter` needs TensorBoard (which
comes with the extras `sb3` and `train`) and no PyTorch; `WandbWriter` needs ``wandb``, which no
extra installs.
"""

import importlib
import importlib.util
import io
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from PIL import Image

from hexenv.common.extras import library


class Writer(Protocol):
    """Keeps figures."""

    def add(self, step: int, scalars: Mapping[str, float], film: Path | None = None) -> None:
        """Keep the figures of a step by their names, and the film of a game, a GIF."""

    def close(self) -> None:
        """Write what is left."""


class TensorBoardWriter:
    """Writes for TensorBoard: figures as scalars, films as images that move.

    Examples:
        >>> writer = TensorBoardWriter("tensorboard")
        >>> writer.add(1000, {"rating": 250.0})
        >>> writer.close()

    Args:
        folder: Of its files; TensorBoard is started with ``--logdir`` of it, or of one above it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        writers = library("tensorboard.summary.writer.event_file_writer", "sb3")
        self._summaries = library("tensorboard.compat.proto.summary_pb2", "sb3")
        self._events = library("tensorboard.compat.proto.event_pb2", "sb3")
        self._writer = writers.EventFileWriter(str(folder))

    def add(self, step: int, scalars: Mapping[str, float], film: Path | None = None) -> None:
        value = self._summaries.Summary.Value
        values = [value(tag=name, simple_value=number) for name, number in scalars.items()]
        if film is not None:
            frames = film.read_bytes()
            with Image.open(io.BytesIO(frames)) as opened:
                width, height = opened.size
            image = self._summaries.Summary.Image(
                height=height, width=width, colorspace=3, encoded_image_string=frames
            )
            values.append(value(tag="game", image=image))
        summary = self._summaries.Summary(value=values)
        event = self._events.Event(wall_time=time.time(), step=step, summary=summary)
        self._writer.add_event(event)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class WandbWriter:
    """Writes to a run of Weights & Biases.

    Figures are shown over ``rating_step``, as those of a rating in the background arrive later
    than those of training.

    Args:
        run: What ``wandb.init`` has returned; None: the run that it has begun last.
    """

    def __init__(self, run: Any = None) -> None:
        try:
            self._wandb: Any = importlib.import_module("wandb")
        except ImportError as error:
            raise ImportError("this needs wandb: pip install wandb") from error
        self._run = self._wandb.run if run is None else run
        if self._run is None:
            raise ValueError("expected a run of Weights & Biases, got none: call wandb.init first")
        for names in ("rating/*", "score/*", "game"):
            self._run.define_metric(names, step_metric="rating_step")

    def add(self, step: int, scalars: Mapping[str, float], film: Path | None = None) -> None:
        shown = {} if film is None else {"game": self._wandb.Video(str(film), format="gif")}
        self._run.log({"rating_step": step, **scalars, **shown})

    def close(self) -> None:
        """Leave the run to the one who has begun it."""


def usual_writers(folder: str | os.PathLike[str]) -> list[Writer]:
    """TensorBoard's, if it is installed, and one for a run of Weights & Biases that has begun."""
    found: list[Writer] = []
    if importlib.util.find_spec("tensorboard") is not None:
        found.append(TensorBoardWriter(folder))
    if getattr(sys.modules.get("wandb"), "run", None) is not None:
        found.append(WandbWriter())
    return found
