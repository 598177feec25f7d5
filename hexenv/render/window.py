"""A window on the screen that shows frames. Only this module touches pygame, and only when used."""

import os
from types import ModuleType

import numpy as np
from numpy.typing import NDArray


class Window:
    """A window for the frames of one environment.

    It opens with the first frame and takes the frame's size. When the user closes it, it stays
    closed: what is shown afterwards is ignored, so that a game goes on without its window.

    pygame has one window for each process; several `Window` objects at once take turns in it.

    Args:
        title: What stands above the window.
        fps: The most frames shown in a second; `show` waits to keep to it. 0 is without limit.

    Raises:
        ImportError: If pygame is not installed.
    """

    def __init__(self, title: str, fps: float) -> None:
        self._pygame = _import_pygame()
        self._clock = self._pygame.time.Clock()
        self._is_open = True
        self.title = title
        self.fps = fps

    @property
    def is_open(self) -> bool:
        """Whether frames are still shown: nobody has closed the window."""
        return self._is_open

    def show(self, frame: NDArray[np.uint8]) -> None:
        """Show a frame, and wait until the next one may follow.

        Args:
            frame: ``(height, width, 3) uint8``.
        """
        if not self._is_open:
            return
        pygame = self._pygame
        size = frame.shape[1::-1]
        screen = pygame.display.get_surface()
        if screen is None or screen.get_size() != size:
            pygame.display.init()
            screen = pygame.display.set_mode(size)
        pygame.display.set_caption(self.title)
        screen.blit(pygame.image.frombuffer(frame.tobytes(), size, "RGB"), (0, 0))
        pygame.display.flip()
        # Without fetching its events the system takes a window for one that hangs.
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.close()
            return
        self._clock.tick(self.fps)

    def close(self) -> None:
        """Close the window for good. Once more does no harm."""
        if self._is_open:
            self._is_open = False
            self._pygame.display.quit()


def _import_pygame() -> ModuleType:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it greets on standard output
    try:
        import pygame
    except ImportError as error:
        raise ImportError(
            'render_mode "human" needs pygame: pip install "hexenv[human]"'
        ) from error
    return pygame
