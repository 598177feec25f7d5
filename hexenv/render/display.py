"""Pictures as the render modes name them, and the display of an environment while it is played."""

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Final

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hexenv.common.extras import how_to_install
from hexenv.common.messages import not_one_of
from hexenv.games.base import Game, State
from hexenv.render.look import DEFAULT_LOOK, Look
from hexenv.render.window import Window

PICTURE_MODES: Final = ("ansi", "rgb_array", "svg")


def render_picture(game: Game, state: State, mode: str, look: Look = DEFAULT_LOOK) -> Any:
    """A position as text, as an ``(H, W, 3) uint8`` array, or as an SVG document.

    `mode` is one of `PICTURE_MODES`.
    """
    # Most games are never drawn: only a picture imports Pillow and the drawing code, which takes as
    # long as NumPy.
    match mode:
        case "ansi":
            from hexenv.render.ansi import render_text

            return render_text(game, state)
        case "svg":
            from hexenv.render.svg import render_svg

            return render_svg(game, state, look=look)
        case _:
            from hexenv.render.rgb import render_rgb

            return render_rgb(game, state, look=look)


def board_image(game: Game, state: State, look: Look = DEFAULT_LOOK) -> str:
    """A position as an HTML image: several documents in one page would share their names."""
    from hexenv.render.svg import svg_image  # most programs draw nothing

    return svg_image(render_picture(game, state, "svg", look))


class Display:
    """Shows the positions of an environment in a window, as frames, or on request.

    `title` and `fps` are those of a window.
    """

    def __init__(self, game: Game, look: Look, title: str, fps: int) -> None:
        self._game, self._look, self._title, self._fps = game, look, title, fps
        self._window: Window | None = None
        self._frames: list[NDArray[np.uint8]] = []  # of "rgb_array_list", since the last `render`

    def begin(self) -> None:
        self._frames = []

    def update(self, state: State, mode: str | None) -> None:
        """Show a new position in the window, or keep its frame, if the mode says so."""
        if mode == "human":
            self.render(state, mode)
        elif mode == "rgb_array_list":
            self._frames.append(self.picture(state, "rgb_array"))

    def render(self, state: State, mode: str | None) -> Any:
        """What `hexenv.envs.aec.BoardEnv.render` returns."""
        match mode:
            case None:
                gymnasium.logger.warn("render was called without a render_mode: nothing is shown")
                return None
            case "rgb_array_list":
                frames, self._frames = self._frames, []
                return frames
            case "human":
                if self._window is None:
                    self._window = Window(self._title, self._fps)
                self._window.show(self.picture(state, "rgb_array"))
                return None
            case _:
                return self.picture(state, mode)

    def picture(self, state: State, mode: str) -> Any:
        """A position as `render_picture` draws it."""
        return render_picture(self._game, state, mode, self._look)

    def html(self, state: State) -> str:
        return board_image(self._game, state, self._look)

    def copy(self) -> "Display":
        """An independent display with the frames so far; a window stays with the original."""
        twin = Display(self._game, self._look, self._title, self._fps)
        twin._frames = self._frames.copy()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}

    def close(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None


class RenderModes(list[str]):
    """Render modes in metadata, a list in which only a text can be looked for.

    `gymnasium.make` takes any mode that is not in the list for a text, before the environment is
    made and could say what is wrong.
    """

    def __contains__(self, mode: object) -> bool:
        if mode is None:
            return False
        if not isinstance(mode, str):
            raise ValueError(_unknown_mode(mode, self))
        return super().__contains__(mode)


def _unknown_mode(mode: object, known: Iterable[str]) -> str:
    return not_one_of("a render_mode", [*known, "None"], mode)


def check_render_mode(render_mode: str | None, known: Iterable[str]) -> None:
    """Check a render mode that a user gives.

    Raises:
        ValueError: If it is unknown.
        ImportError: If it needs a library that is not installed.
    """
    if render_mode is not None and render_mode not in known:
        raise ValueError(_unknown_mode(render_mode, known))
    if render_mode == "human" and find_spec("pygame") is None:
        raise ImportError(f'render_mode "human" needs pygame: {how_to_install("human")}')
