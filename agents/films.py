"""Games as pictures: films in GIF, MP4 and SVG, single positions, and text."""

import importlib
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from agents.files import replacing
from agents.records.record import GameRecord, Search
from hexenv.aec import BoardEnv
from hexenv.games import base
from hexenv.games.base import Game, State
from hexenv.render.animation import animated_svg
from hexenv.render.ansi import render_text
from hexenv.render.look import DEFAULT_LOOK, Look
from hexenv.render.overlay import Overlay, move_numbers, overlay_of_shares, overlay_of_values
from hexenv.render.rgb import render_rgb
from hexenv.render.svg import render_svg

OverlayName = Literal["none", "visits", "values", "priors"]
OVERLAYS: Final[tuple[OverlayName, ...]] = get_args(OverlayName)
"""What can be laid over the positions of a record: what the search for the next move has found."""

SECONDS: Final = 0.7
"""How long a position is shown."""
LAST_SECONDS: Final = 4.0
"""How long the end of a game is shown where films begin anew: in GIF and SVG."""
SAMPLED: Final = 8
"""Frames that the colours of a GIF are taken from."""

Frame = NDArray[np.uint8]


@dataclass(frozen=True)
class Film:
    """All positions of a game, and how they are shown.

    Args:
        game: The game.
        states: Its positions, the start first.
        overlays: What is laid over each.
        numbers: Of the moves, on each: ``(cells,)``, or None.
        look: Colours, size and coordinates.
    """

    game: Game
    states: list[State]
    overlays: list[Overlay | None]
    numbers: list[NDArray[np.int32] | None]
    look: Look = DEFAULT_LOOK

    def __len__(self) -> int:
        return len(self.states)

    def frame(self, ply: int) -> Frame:
        """The position after so many plies, ``(height, width, 3)``."""
        return render_rgb(self.game, self.states[ply], look=self.look, **self._shown(ply))

    def frames(self) -> Iterator[Frame]:
        """All positions."""
        return map(self.frame, range(len(self)))

    def svg(self, ply: int) -> str:
        """The position after so many plies as a document."""
        return render_svg(self.game, self.states[ply], look=self.look, **self._shown(ply))

    def animation(self, seconds: float = SECONDS) -> str:
        """The whole game as a document that moves."""
        return animated_svg(
            self.game,
            self.states,
            look=self.look,
            overlays=self.overlays,
            numbers=self.numbers,
            seconds=[seconds] * (len(self) - 1) + [max(seconds, LAST_SECONDS)],
        )

    def text(self, ply: int) -> str:
        """The position after so many plies as lines of text, with a line end after each."""
        return render_text(self.game, self.states[ply], **self._shown(ply)) + "\n"

    def _shown(self, ply: int) -> dict[str, Any]:
        return {"overlay": self.overlays[ply], "numbers": self.numbers[ply]}


def film_of(
    record: GameRecord,
    *,
    env: Any = None,
    look: Look = DEFAULT_LOOK,
    overlay: OverlayName = "none",
    numbered: bool = False,
) -> Film:
    """The film of a recorded game.

    Args:
        record: The game.
        env: Where a game that is not of `hexenv` is played again: a `BoardEnv` of its rules.
        look: Colours, size and coordinates.
        overlay: One of `OVERLAYS`; a position shows what its player's search found.
        numbered: Whether stones have the numbers of their moves.

    Raises:
        ValueError: If the game is not of `hexenv` and there is no environment for it, or the record
            has nothing for the overlay.
    """
    if env is None:
        game, states = record.rules(), record.states()
    else:
        if not isinstance(env.unwrapped, BoardEnv):
            raise ValueError(f"expected an environment of hexenv's to draw, got {env}")
        game = env.unwrapped.game
        states = [base.clone(game, played.unwrapped.state) for played in record.replay(env)]
    searches = [*(record.searches or [None] * len(record.actions)), None]  # none at the end
    overlays = [
        _overlay(game, state, search, overlay)
        for state, search in zip(states, searches, strict=True)
    ]
    if overlay != "none" and not any(overlays):
        raise ValueError(f"expected a record with {overlay} of searches to show, got none")
    numbers: list[NDArray[np.int32] | None] = [None] * len(states)
    if numbered:
        plies = range(len(states))
        numbers = [move_numbers(game, record.actions[:ply], states[0]) for ply in plies]
    return Film(game, states, overlays, numbers, look)


def _overlay(game: Game, state: State, search: Search | None, name: str) -> Overlay | None:
    """What a search found, over the position where it began."""
    found: Any = getattr(search, name) if search is not None and name != "none" else None
    if not found:
        return None
    numbers = np.full(game.num_actions(), np.nan if name == "values" else 0.0)
    numbers[list(found)] = list(found.values())
    if name == "values":
        return overlay_of_values(game, state, numbers, title="values in hundredths")
    if not numbers.any():
        return None
    return overlay_of_shares(game, state, numbers, title=f"{name} in per cent")


# ---- files ---------------------------------------------------------------------------------------


def write_image(path: str | os.PathLike[str], frame: Frame) -> None:
    """Write a frame as an image, in the format that the file's name ends with.

    Raises:
        ValueError: If there is no such format.
        OSError: If it cannot be written; what was there is as it was.
    """
    with replacing(path) as temporary:
        Image.fromarray(frame).save(temporary)


def write_gif(
    path: str | os.PathLike[str], frames: Iterable[Frame], seconds: float = SECONDS
) -> None:
    """Write frames as a GIF that starts anew for ever and holds its last frame longer.

    Args:
        path: Where to; written under a temporary name until it is whole.
        frames: ``(height, width, 3)`` each, at least one.
        seconds: How long each is shown; GIF counts hundredths.

    Raises:
        OSError: If it cannot be written; what was there is as it was.
    """
    images = [Image.fromarray(frame) for frame in frames]
    palette = _palette(images)
    images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    durations = [round(1000 * seconds)] * len(images)
    durations[-1] = round(1000 * max(seconds, LAST_SECONDS))
    with replacing(path) as temporary:
        images[0].save(
            temporary,
            "GIF",
            save_all=True,
            append_images=images[1:],
            duration=durations,
            loop=0,
        )


def _palette(images: list[Image.Image]) -> Image.Image:
    """An image with the colours for all of these: with one palette nothing flickers."""
    step = max(1, (len(images) - 1) // (SAMPLED - 1))
    sampled = [images[-1], *islice(images, 0, None, step)]  # the last has the most colours
    pixels = np.concatenate([np.asarray(image)[::2, ::2] for image in sampled])
    return Image.fromarray(pixels).quantize(256)


def write_mp4(
    path: str | os.PathLike[str], frames: Iterable[Frame], seconds: float = SECONDS
) -> None:
    """Write frames as a film in H.264 that every player can show.

    Args:
        path: Where to; written under a temporary name until it is whole.
        frames: ``(height, width, 3)`` each, of even sides, at least one.
        seconds: How long each is shown.

    Raises:
        ImportError: If imageio-ffmpeg is not installed.
        OSError: If it cannot be written; what was there is as it was.
    """
    try:
        writer: Any = importlib.import_module("imageio_ffmpeg")
        writer.get_ffmpeg_exe()
    except (ImportError, RuntimeError) as error:
        raise ImportError('MP4 needs imageio-ffmpeg: pip install "hexenv[video]"') from error
    frames = iter(frames)
    first = next(frames)
    options = {
        "fps": 1 / seconds,
        "codec": "libx264",
        "pix_fmt_out": "yuv420p",  # all that some players know
        "macro_block_size": 2,  # larger ones would change the size
        "ffmpeg_log_level": "error",
        "output_params": ["-movflags", "+faststart"],  # it can be shown while it is loaded
    }
    with replacing(path) as temporary:
        temporary.touch(exist_ok=False)  # a place that cannot be written to is told by its name
        with closing(writer.write_frames(str(temporary), first.shape[1::-1], **options)) as film:
            film.send(None)
            for frame in chain([first], frames):
                film.send(frame)
