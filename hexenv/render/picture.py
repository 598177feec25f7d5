"""A position in the form that a render mode names."""

from typing import Any

from hexenv.games.base import Game, State
from hexenv.render.ansi import render_text
from hexenv.render.look import DEFAULT_LOOK, Look
from hexenv.render.rgb import render_rgb
from hexenv.render.svg import render_svg


def render_picture(game: Game, state: State, mode: str, look: Look = DEFAULT_LOOK) -> Any:
    """A position as text, as an ``(H, W, 3) uint8`` array, or as an SVG document.

    Args:
        game: The game.
        state: The position.
        mode: One of `hexenv.render.modes.PICTURE_MODES`.
        look: Of arrays and documents.
    """
    match mode:
        case "ansi":
            return render_text(game, state)
        case "svg":
            return render_svg(game, state, look=look)
        case _:
            return render_rgb(game, state, look=look)
