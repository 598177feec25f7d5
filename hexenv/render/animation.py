"""Games as one SVG document that moves, without a script: it plays where images do."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from numpy.typing import ArrayLike

from hexenv.games import base
from hexenv.games.base import EMPTY, Game, State
from hexenv.render.ansi import status_text
from hexenv.render.board import board_of
from hexenv.render.look import DEFAULT_LOOK, Look
from hexenv.render.overlay import Overlay
from hexenv.render.svg import LAYERS, layers_of, place, svg_document

CHANGING: Final = tuple(layer for layer in LAYERS if layer != "stones")
"""What is drawn anew for every position; a stone stays for as long as it is there."""


def animated_svg(
    game: Game,
    states: Sequence[State],
    *,
    seconds: Sequence[float],
    look: Look = DEFAULT_LOOK,
    overlays: Sequence[Overlay | None] | None = None,
    numbers: Sequence[ArrayLike | None] | None = None,
) -> str:
    """A game as an SVG document that starts anew for ever; where nothing moves it shows the end.

    Args:
        game: The game.
        states: Its positions, at least one.
        seconds: How long each is shown.
        look: Colours, size and coordinates.
        overlays: What is laid over each position.
        numbers: See `hexenv.render.svg.render_svg`, for each position.

    Returns:
        The element ``<svg>``; each `LAYERS` group has an element for what is shown for a while.
    """
    board = board_of(game, look)
    clock = _Clock(list(accumulate(seconds)))
    layers: dict[str, list[str]] = {layer: [] for layer in LAYERS}
    for (cell, player), begin, end in _stays(game, states):
        layers["stones"].append(place(f"stone-{player}", cell, board, *clock.show(begin, end)))
    for ply, state in enumerate(states):
        found = layers_of(
            game,
            state,
            board,
            overlay=overlays[ply] if overlays else None,
            numbers=numbers[ply] if numbers else None,
        )
        attributes, animation = clock.show(ply, ply + 1)
        for layer in CHANGING:
            if elements := found.get(layer):
                layers[layer].append(f"<g{attributes}>{animation}{elements}</g>")
    title = f"{game.name}: {len(states) - 1} plies, {status_text(game, states[-1])}"
    return svg_document(board, title, {layer: "".join(parts) for layer, parts in layers.items()})


def _stays(game: Game, states: Sequence[State]) -> Iterator[tuple[tuple[int, int], int, int]]:
    """The stones: cell and player, in which position each comes, and in which it is gone."""
    came: dict[tuple[int, int], int] = {}
    for ply, state in enumerate(states):
        owners: list[int] = base.cell_owners(game, state).ravel().tolist()
        stones = {(cell, owner) for cell, owner in enumerate(owners) if owner != EMPTY}
        for stone in came.keys() - stones:
            yield stone, came.pop(stone), ply
        for stone in stones - came.keys():
            came[stone] = ply
    for stone, ply in came.items():
        yield stone, ply, len(states)


class _Clock:
    """When positions are shown.

    Args:
        ends: When each is over, in seconds.
    """

    def __init__(self, ends: list[float]) -> None:
        self.ends = ends

    def show(self, begin: int, end: int) -> tuple[str, str]:
        """What shows an element from one position until another: its attribute, and its child."""
        times, values = [0.0], ["visible" if begin == 0 else "hidden"]
        if begin > 0:
            times.append(self.ends[begin - 1] / self.ends[-1])
            values.append("visible")
        if end < len(self.ends):
            times.append(self.ends[end - 1] / self.ends[-1])
            values.append("hidden")
        if len(values) == 1:
            return "", ""
        key_times = ";".join(f"{time:.5f}".rstrip("0").rstrip(".") for time in times)
        return (
            f' visibility="{values[-1]}"',
            f'<animate attributeName="visibility" values="{";".join(values)}" '
            f'keyTimes="{key_times}" calcMode="discrete" dur="{self.ends[-1]:g}s" '
            'repeatCount="indefinite"/>',
        )
