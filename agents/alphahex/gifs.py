"""Games as animated pictures."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from agents.files import replacing
from agents.naming import make_environment

STEP_MILLISECONDS: Final = 700
LAST_MILLISECONDS: Final = 4000
"""How long the end of a game is shown."""


def frames_of(game: str, options: Iterable[str], actions: Iterable[int]) -> list[NDArray[np.uint8]]:
    """Every position of a game, from the start on, as its environment draws it.

    Args:
        game: As in `agents.naming.make_environment`.
        options: Texts ``key=value`` for it.
        actions: Legal ones, from the start.
    """
    env = make_environment(game, options, render_mode="rgb_array")
    try:
        env.reset()
        frames: list[Any] = [env.render()]
        for action in actions:
            env.step(action)
            frames.append(env.render())
    finally:
        env.close()
    return frames


def write_gif(path: str | os.PathLike[str], frames: Sequence[NDArray[np.uint8]]) -> None:
    """Write frames as a GIF that starts anew for ever and holds its last frame longer.

    Args:
        path: Where to; written under a temporary name until it is whole.
        frames: ``(height, width, 3)`` each, at least one.

    Raises:
        OSError: If it cannot be written; what was there is as it was.
    """
    # All frames have the colours of the last one, which has the most: nothing flickers.
    last = Image.fromarray(frames[-1]).quantize(256)
    images = [
        Image.fromarray(frame).quantize(palette=last, dither=Image.Dither.NONE) for frame in frames
    ]
    durations = [STEP_MILLISECONDS] * (len(images) - 1) + [LAST_MILLISECONDS]
    with replacing(path) as temporary:
        images[0].save(
            temporary,
            "GIF",
            save_all=True,
            append_images=images[1:],
            duration=durations,
            loop=0,
        )
