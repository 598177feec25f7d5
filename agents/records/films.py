"""Films of recorded games in GIF, MP4 and SVG, and single positions as images or text."""

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from agents.core.files import replacing
from agents.records.record import GameRecord, Search
from hexenv.common.extras import how_to_install, library
from hexenv.envs.aec import BoardEnv
from hexenv.games import base
from hexenv.games.base import Game, State
from hexenv.render.ansi import render_text
from hexenv.render.look import DEFAULT_LOOK, Look
from hexenv.render.overlay import Overlay, numbers_in_game, overlay_of_shares, overlay_of_values
from hexenv.render.rgb import render_rgb
from hexenv.render.svg import animated_svg, render_svg

if TYPE_CHECKING:
    from agents.records.explaining import Explanation

OverlayName = Literal["none", "visits", "values", "priors"]
OVERLAYS: Final[tuple[OverlayName, ...]] = get_args(OverlayName)
"""What can be drawn over a position: numbers that the search for the next move has found."""

SECONDS: Final = 0.7
"""How long a position is shown."""
LAST_SECONDS: Final = 4.0
"""How long the last position is shown in films that repeat: GIF and SVG."""
PALETTE_FRAMES: Final = 8
"""Number of frames that the colours of a GIF are taken from."""

Frame = NDArray[np.uint8]


class Frames(Protocol):
    """Frames by number: a list, or a `Film`, which draws each frame when it is asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Frame: ...


@dataclass(frozen=True)
class Film:
    """All positions of a game, and how they are drawn: ``film[ply]`` is a frame.

    Examples:
        >>> from agents.records import GameRecord
        >>> film = film_of(GameRecord.of("tictactoe", (), (4, 0, 8)))
        >>> len(film), film[3].shape
        (4, (192, 192, 3))
    """

    game: Game
    states: list[State]
    """The start first; overlays and numbers are those of each."""
    overlays: list[Overlay | None]
    numbers: list[NDArray[np.int32] | None]
    """Of the moves, ``(cells,)``."""
    look: Look = DEFAULT_LOOK

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, ply: int, /) -> Frame:
        return render_rgb(self.game, self.states[ply], look=self.look, **self._shown(ply))

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))

    def svg(self, ply: int) -> str:
        return render_svg(self.game, self.states[ply], look=self.look, **self._shown(ply))

    def animation(self, seconds: float = SECONDS) -> str:
        """The whole game as an animated SVG document."""
        return animated_svg(
            self.game,
            self.states,
            look=self.look,
            overlays=self.overlays,
            numbers=self.numbers,
            seconds=[seconds] * (len(self) - 1) + [max(seconds, LAST_SECONDS)],
        )

    def text(self, ply: int) -> str:
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
    """The film of a recorded game; `numbered` stones have the numbers of their moves.

    `overlay` is one of `OVERLAYS`: a position shows what its player's search found for the next
    ply, whose number is in the overlay's title. `env`, a
    `BoardEnv`, plays a game again that is not of `hexenv`.

    Raises:
        ValueError: If the record has nothing for the overlay, or as `positions_of`.
    """
    game, states = positions_of(record, env)
    searches = [*(record.searches or [None] * len(record.actions)), None]
    overlays = [
        overlay_of_search(game, state, search, overlay, f", for ply {number}")
        for number, (state, search) in enumerate(zip(states, searches, strict=True), 1)
    ]
    if overlay != "none" and not any(overlays):
        raise ValueError(f"expected a record with {overlay} of searches to show, got none")
    numbers = numbers_in_game(game, states) if numbered else [None] * len(states)
    return Film(game, states, overlays, list(numbers), look)


def film_of_search(found: "Explanation", look: Look = DEFAULT_LOOK) -> Film:
    """The film of a search step by step.

    Of each simulation the position that it went down to, the end of its playout, if it has one, and
    the root with the shares of the visits so far.
    """
    game, root = found.game, found.root
    visits = np.zeros(game.num_actions())
    states: list[State] = []
    overlays: list[Overlay | None] = []
    for number, step in enumerate(found.steps, 1):
        leaf = base.clone(game, root)
        for action in step.actions:
            game.step(leaf, action)
        shown = [leaf] if step.end is None else [leaf, step.end]
        visits[list(step.actions[:1])] += 1
        states += [*shown, root]
        title = f"visits in per cent, after simulation {number}"
        overlays += [*[None] * len(shown), overlay_of_shares(game, root, visits, title=title)]
    return Film(game, states, overlays, [None] * len(states), look)


def positions_of(record: GameRecord, env: Any = None) -> tuple[Game, list[State]]:
    """The rules of a recorded game, and its positions, the start first.

    Raises:
        ValueError: If the game is not of `hexenv` and there is no environment for it.
    """
    if env is None:
        return record.rules(), record.states()
    if not isinstance(env.unwrapped, BoardEnv):
        raise ValueError(f"expected an environment of hexenv's to draw, got {env}")
    game = env.unwrapped.game
    return game, [base.clone(game, played.unwrapped.state) for played in record.replay(env)]


def overlay_of_search(
    game: Game, state: State, search: Search | None, name: str, where: str = ""
) -> Overlay | None:
    """The numbers of a search as an overlay of its position, or None if it has none.

    Its title ends with `where`.
    """
    found: Any = getattr(search, name) if search is not None and name != "none" else None
    if not found:
        return None
    numbers = np.full(game.num_actions(), np.nan if name == "values" else 0.0)
    numbers[list(found)] = list(found.values())
    if name == "values":
        proven, title = search.proven_actions if search else (), f"values in hundredths{where}"
        return overlay_of_values(game, state, numbers, proven=proven, title=title)
    if not numbers.any():
        return None
    return overlay_of_shares(game, state, numbers, title=f"{name} in per cent{where}")


# ---- files ---------------------------------------------------------------------------------------


def write_image(path: str | os.PathLike[str], frame: Frame) -> None:
    """Write a frame as an image, in the format that the file's name ends with."""
    with replacing(path) as temporary:
        Image.fromarray(frame).save(temporary)


def write_gif(path: str | os.PathLike[str], frames: Frames, seconds: float = SECONDS) -> None:
    """Write frames, at least one, as a GIF that repeats for ever and shows its last frame longer.

    The file is replaced only when all is written. The seconds are in steps of a hundredth.
    """
    last = len(frames) - 1  # which has the most colours
    sampled = [last, *range(0, last, max(1, last // (PALETTE_FRAMES - 1)))]
    pixels = np.concatenate([frames[number][::2, ::2] for number in sampled])
    palette = Image.fromarray(pixels).quantize(256)  # with one palette the film does not flicker
    images = (
        Image.fromarray(frames[number]).quantize(palette=palette, dither=Image.Dither.NONE)
        for number in range(len(frames))
    )
    durations = [round(1000 * shown) for shown in (*[seconds] * last, max(seconds, LAST_SECONDS))]
    options = {"save_all": True, "append_images": images, "duration": durations, "loop": 0}
    with replacing(path) as temporary:
        next(images).save(temporary, "GIF", **options)


def write_mp4(
    path: str | os.PathLike[str], frames: Iterable[Frame], seconds: float = SECONDS
) -> None:
    """Write frames, at least one, as a film in H.264, which every player can show.

    Their height and width are even. The file is replaced only when all is written.

    Raises:
        ImportError: If imageio-ffmpeg is not installed.
        OSError: If ffmpeg fails.
    """
    try:  # ffmpeg comes with imageio-ffmpeg
        ffmpeg = library("imageio_ffmpeg", "video").get_ffmpeg_exe()
    except RuntimeError as error:
        raise ImportError(f"MP4 needs imageio-ffmpeg: {how_to_install('video')}") from error
    frames = iter(frames)
    first = next(frames)
    size = f"{first.shape[1]}x{first.shape[0]}"
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-framerate", str(1 / seconds)]
    # Some players know only yuv420p. With faststart a film can be shown while it is loaded.
    made = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    with replacing(path) as temporary, tempfile.TemporaryFile() as log:
        command = [ffmpeg, "-v", "error", "-y", *given, "-i", "pipe:", *made, str(temporary)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log) as process:
            assert process.stdin is not None
            with suppress(BrokenPipeError), process.stdin as pipe:  # ffmpeg's log says why
                for frame in chain([first], frames):
                    pipe.write(frame.tobytes())
        if process.returncode != 0:
            log.seek(0)
            reason = log.read().decode(errors="replace").strip()
            raise OSError(errno.EIO, f"ffmpeg has failed: {reason or process.returncode}")
