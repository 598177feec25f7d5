"""A window on the screen that shows frames: the only module that imports pygame, when used."""

import os
from collections import deque
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.common.extras import how_to_install

MAX_EVENTS: Final = 256
"""Events that a window keeps until `Window.events` returns them; the oldest are dropped."""


class Click(NamedTuple):
    """A click with the left mouse button: pixels from the left and top of the frame."""

    x: int
    y: int


class Moved(NamedTuple):
    """The mouse moved to a pixel; both coordinates are -1 if it left the window."""

    x: int
    y: int


class Key(NamedTuple):
    """A pressed key: the character that it types, or its name, as in ``"escape"``."""

    name: str


Event = Click | Moved | Key

IN_MEMORY: Final = ("offscreen", "dummy")
"""SDL's drivers that draw into memory and need no screen."""


class Window:
    """A window for the frames of one environment.

    It opens with the first frame and has the frame's size. After the user has closed it, frames are
    ignored, so that the game continues without its window.

    pygame has one window per process, which all `Window` objects share.

    Args:
        title: The title of the window.
        fps: The maximum of frames per second, for which `show` waits; 0 is no limit.

    Raises:
        ImportError: If pygame is not installed.
    """

    def __init__(self, title: str, fps: float) -> None:
        self._pygame = _import_pygame()
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._clock = self._pygame.time.Clock()
        self._is_open = True
        self.title = title
        self.fps = fps

    @property
    def is_open(self) -> bool:
        """Whether frames are shown: the window was not closed."""
        return self._is_open

    @property
    def is_seen(self) -> bool:
        """Whether an open window is on a screen.

        Without a screen SDL draws into memory; if the user asked for that, it counts as a screen.
        """
        display = self._pygame.display
        if not display.get_init() or display.get_driver() not in IN_MEMORY:
            return True
        return display.get_driver() == os.environ.get("SDL_VIDEODRIVER")

    def show(self, frame: NDArray[np.uint8]) -> None:
        """Show a frame, ``(height, width, 3) uint8``, and wait as `fps` demands."""
        if not self._is_open:
            return
        pygame = self._pygame
        size = frame.shape[1::-1]
        screen = pygame.display.get_surface()
        if screen is None or screen.get_size() != size:
            screen = self._open(size)
        pygame.display.set_caption(self.title)
        screen.blit(pygame.image.frombuffer(frame.tobytes(), size, "RGB"), (0, 0))
        pygame.display.flip()
        # The system considers a window hung if its events are not fetched.
        self._fetch()
        if self._is_open:
            self._clock.tick(self.fps)

    def events(self) -> list[Event]:
        """The events since the last call, in order; none before the first frame."""
        if self._is_open and self._pygame.display.get_init():
            self._fetch()
        found = list(self._events)
        self._events.clear()
        return found

    def _open(self, size: tuple[int, ...]) -> Any:
        try:
            self._pygame.display.init()
            return self._pygame.display.set_mode(size)
        except self._pygame.error as error:
            raise OSError(f"expected a screen to open a window on, got none: {error}") from error

    def _fetch(self) -> None:
        pygame = self._pygame
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self.close()
                return
            if event.type == pygame.MOUSEBUTTONDOWN and event.button == pygame.BUTTON_LEFT:
                self._events.append(Click(*event.pos))
            elif event.type == pygame.MOUSEMOTION:
                self._events.append(Moved(*event.pos))
            elif event.type == pygame.WINDOWLEAVE:
                self._events.append(Moved(-1, -1))
            elif event.type == pygame.KEYDOWN:
                typed = event.unicode if event.unicode.isprintable() else ""
                self._events.append(Key(typed or pygame.key.name(event.key)))

    def close(self) -> None:
        """Close the window for ever; further calls do nothing."""
        if self._is_open:
            self._is_open = False
            self._pygame.display.quit()


def _import_pygame() -> ModuleType:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # no message on standard output
    try:
        import pygame
    except ImportError as error:
        raise ImportError(f'render_mode "human" needs pygame: {how_to_install("human")}') from error
    return pygame
