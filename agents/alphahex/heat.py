"""A policy as a heat map over the picture of a position."""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from hexenv.games import base
from hexenv.games.base import EMPTY, Game, State
from hexenv.render.rgb import MIN_LABELLED_SIZE, WHITE, Canvas, cell_centers, render_rgb

HEAT: Final = (142, 36, 170)
"""The colour of likely actions: no board and no stone has it."""
DARK: Final = (48, 12, 58)
"""Of figures on cells with little of it."""
HOTTEST: Final = 225
"""Its opacity on the likeliest action, of 255."""
RADIUS: Final = 0.4
"""Of a disc, in cells: it fits squares, hexagons and holes."""
LEAST_SHARE: Final = 0.005
"""The smallest share with a figure, as less would be 0 %."""


def heat_map(
    game: Game, state: State, policy: ArrayLike, *, cell_size: int = 48, labelled: bool = True
) -> NDArray[np.uint8]:
    """A position with a disc on every cell that may be played, the darker the likelier.

    The swap of Hex fills no cell and is shown on the stone that it takes.

    Args:
        game: The game.
        state: The position; at the end of a game no action is legal and there are no discs.
        policy: ``(num_actions,)`` from 0: probabilities of the actions, or the visits of a search.
            Those of illegal actions do not count.
        cell_size: As in `hexenv.render.rgb.render_rgb`, at least 8.
        labelled: Whether to write the shares on the cells, in per cent.

    Returns:
        ``(height, width, 3) uint8``, of the size that `render_rgb` gives.

    Raises:
        ValueError: If the policy has another shape or a negative number, or the cells are too
            small.
    """
    shares = legal_shares(game, state, policy)
    image = Image.fromarray(render_rgb(game, state, cell_size=cell_size))
    centers = cell_centers(game, cell_size)
    discs = Canvas(*image.size, HEAT, opacity=0)
    figures: list[tuple[tuple[float, float], float, int]] = []
    for action in np.flatnonzero(shares).tolist():
        x, y = centers[shown_at(game, state, action)].tolist()
        opacity = round(HOTTEST * shares[action] / shares.max())
        discs.circle((x, y), RADIUS * cell_size, HEAT, opacity)
        figures.append(((x, y), float(shares[action]), opacity))
    layer = discs.reduced()
    image.paste(layer, (0, 0), layer)
    if labelled and cell_size >= MIN_LABELLED_SIZE:
        draw, font = ImageDraw.Draw(image), ImageFont.load_default(max(8, round(0.3 * cell_size)))
        for center, share, opacity in figures:
            if share >= LEAST_SHARE:
                color = WHITE if opacity > HOTTEST / 2 else DARK
                draw.text(center, f"{100 * share:.0f}", color, font, anchor="mm")
    return np.array(image)


def legal_shares(game: Game, state: State, policy: ArrayLike) -> NDArray[np.float64]:
    """A policy over the legal actions: ``(num_actions,)`` with a sum of 1, or 0 at a game's end.

    Raises:
        ValueError: If it has another shape, a number below 0, or nothing for the legal actions.
    """
    given: NDArray[Any] = np.asarray(policy, np.float64)
    if given.shape != (game.num_actions(),):
        raise ValueError(f"expected a policy of shape ({game.num_actions()},), got {given.shape}")
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise ValueError(f"expected a policy of numbers from 0, got {given.tolist()}")
    legal = base.legal_mask_of(game, state) != 0
    found = np.where(legal, given, 0.0)
    if legal.any() and not found.any():
        raise ValueError("expected a policy with something for a legal action, got none")
    return found / found.sum() if found.any() else found


def shown_at(game: Game, state: State, action: int) -> int:
    """The cell on which a legal action is shown; a swap on the only stone there is."""
    cell = int(game.cell_of(state, action))
    if cell < game.rows * game.columns:
        return cell
    return int(np.flatnonzero(base.cell_owners(game, state) != EMPTY)[0])
