"""What an environment shows while it is played, as its render mode says."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hexenv.games.base import Game, State
from hexenv.render.look import Look
from hexenv.render.picture import render_picture
from hexenv.render.window import Window


class Display:
    """Pictures of one game after the other, in a window, as frames, or when asked for.

    Args:
        game: The game.
        look: How pictures are drawn.
        title: Of a window.
        fps: Of a window.
    """

    def __init__(self, game: Game, look: Look, title: str, fps: int) -> None:
        self._game = game
        self._look = look
        self._title, self._fps = title, fps
        self._window: Window | None = None
        self._frames: list[NDArray[np.uint8]] = []  # of "rgb_array_list", since the last `render`

    def begin(self) -> None:
        """A game begins: forget the frames of the one before."""
        self._frames = []

    def update(self, state: State, mode: str | None) -> None:
        """Show or keep a new position, where the mode says so."""
        if mode == "human":
            self.render(state, mode)
        elif mode == "rgb_array_list":
            self._frames.append(self.picture(state, "rgb_array"))

    def render(self, state: State, mode: str | None) -> Any:
        """A picture, the frames that were kept, or None; see `hexenv.envs.aec.BoardEnv.render`."""
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
        """A position as `hexenv.render.picture.render_picture` draws it."""
        return render_picture(self._game, state, mode, self._look)

    def copy(self) -> "Display":
        """A display of its own, with the frames so far; a window stays with the original."""
        twin = Display(self._game, self._look, self._title, self._fps)
        twin._frames = self._frames.copy()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None
