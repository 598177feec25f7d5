"""The render modes of environments. (What draws is imported when something is drawn.)"""

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Final

from hexenv.extras import how_to_install

PICTURE_MODES: Final = ("ansi", "rgb_array", "svg")


def check_render_mode(render_mode: str | None, known: Iterable[str]) -> None:
    """Refuse a render mode that is not among the known ones, or cannot be had.

    Raises:
        ValueError: If it is not known.
        ImportError: If it needs a library that is not installed.
    """
    if render_mode is not None and render_mode not in known:
        raise ValueError(
            f"expected a render_mode of {', '.join(known)} or None, got {render_mode!r}"
        )
    if render_mode == "human" and find_spec("pygame") is None:
        raise ImportError(f'render_mode "human" needs pygame: {how_to_install("human")}')
