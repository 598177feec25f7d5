"""Positions and games as SVG: pictures, animations, and boards for pages with scripts.

The drawing is that of the RGB frames, in the same pixels. An element ``<svg class="hexenv hexagons
light">`` holds, in this order:

* ``<style>`` with the colours as custom properties of ``.hexenv.hexagons.light``; a page that also
  has the `theme_css` of other themes changes the theme by replacing the last class;
* ``<defs>`` with a group for each sprite, drawn around 0, 0: ``cell``, ``stone-0``, ``stone-1``,
  ``last-0``, ``numbered-0`` (the last stone, if it has a number), ``win-0`` ...;
* ``<g class="cells">`` with ``<use href="#cell" data-cell="0" x="..." y="..."/>`` for every cell;
* ``<g class="stones">``, ``win``, ``last``, ``numbers`` and ``overlay``, with one element for each
  thing shown. Only the cells receive clicks.

The names in ``<defs>`` are the same in all pictures: show several pictures on one page as images.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final
from xml.sax.saxutils import escape

from numpy.typing import ArrayLike

from hexenv.games import base
from hexenv.games.base import EMPTY, Game, State
from hexenv.render.ansi import status_text
from hexenv.render.drawing import (
    DISC_RADIUS,
    LABEL_SIZE,
    PATH,
    SPRITES,
    Sprite,
    Text,
    arrow_layer,
    arrow_shape,
    disc_layers,
    draw_cell,
    draw_ground,
    draw_sprite,
    figure_size,
    label_texts,
    number_size,
    overlay_texts,
    scene_of,
)
from hexenv.render.geometry import BoardGeometry, Corners, Point, centers_of, geometry_of
from hexenv.render.look import DEFAULT_LOOK, Look, Theme, paints_of
from hexenv.render.overlay import Arrow, Disc, Overlay

LAYERS: Final = ("stones", "win", "last", "numbers", "overlay")
"""The groups of things on the board, from the lowest to the highest."""
FILL: Final = "hexenv-fill-"
"""Prefix of the class of an element that is filled with a paint. Rules must not depend on parent
elements: an element shown by `<use>` does not have those of its place."""
LINE: Final = "hexenv-line-"
"""Prefix of the class of an element whose outline has a paint."""


def render_svg(
    game: Game,
    state: State,
    *,
    look: Look = DEFAULT_LOOK,
    overlay: Overlay | None = None,
    numbers: ArrayLike | None = None,
) -> str:
    """A position as the document that the module describes; `numbers` are those of `render_rgb`."""
    board = geometry_of(game, look)
    title = f"{game.name}: {status_text(game, state)}"
    return _document(board, title, _layers(game, state, board, overlay, numbers))


def board_svg(game: Game, look: Look = DEFAULT_LOOK) -> str:
    """The empty board, with the sprites for a script that places stones and marks on it."""
    return _document(geometry_of(game, look), game.name, {})


def svg_image(svg: str) -> str:
    """A document as an HTML image, whose names cannot collide with those of the page."""
    encoded = b64encode(svg.encode()).decode()
    title = svg.partition("<title>")[2].partition("</title>")[0]
    return f'<img alt="{title}" src="data:image/svg+xml;base64,{encoded}">'


def theme_css(style: str, theme: Theme) -> str:
    """The rule that sets the colours of one style of boards in one theme."""
    colors = paints_of(theme, style)
    values = "".join(f"--{name}:{_hex(color)};" for name, color in colors.items())
    return f".hexenv.{style}.{theme}{{{values}}}"


def _document(board: BoardGeometry, title: str, layers: dict[str, str]) -> str:
    """A board with the elements of each of `LAYERS`."""
    width, height = board.frame_size
    ground = SvgPen()
    draw_ground(ground, board)
    cells = "".join(_use("cell", cell, board) for cell in range(board.rows * board.columns))
    labels = _texts(label_texts(board), LABEL_SIZE * board.size)
    groups = "\n".join(
        f'<g class="{name}" pointer-events="none">{layers.get(name, "")}</g>' for name in LAYERS
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hexenv {board.style} {board.theme}" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        'font-family="sans-serif" text-anchor="middle" dominant-baseline="central" '
        'stroke-linecap="round" stroke-linejoin="round" '
        f'data-rows="{board.rows}" data-columns="{board.columns}" data-size="{board.size}">\n'
        f"<title>{escape(title)}</title>\n<style>{_css(board)}</style>\n{_defs(board)}\n"
        f'<rect class="{FILL}page" width="{width}" height="{height}"/>\n'
        f'<g class="board">{ground}</g>\n<g class="cells">{cells}</g>\n'
        f'<g class="labels" pointer-events="none">{labels}</g>\n'
        f"{groups}\n</svg>\n"
    )


def _layers(
    game: Game,
    state: State,
    board: BoardGeometry,
    overlay: Overlay | None,
    numbers: ArrayLike | None,
) -> dict[str, str]:
    """The elements of a position by layer."""
    scene = scene_of(game, state, board, overlay, numbers)
    layers = {
        "stones": _place(scene.stones, board),
        "win": _path(board, scene.path) + _place(scene.win, board),
        "last": _place(scene.last, board),
        "numbers": _texts(scene.numbers, number_size(board)),
    }
    if overlay is not None:
        layers["overlay"] = _overlay(board, scene.discs, scene.arrows, overlay.title)
    return layers


def _overlay(board: BoardGeometry, discs: list[Disc], arrows: list[Arrow], title: str) -> str:
    circles = "".join(
        f'<circle class="{FILL}{paint}" data-cell="{disc.cell}" '
        f"{_circle(centers_of(board)[disc.cell], DISC_RADIUS * board.size)} "
        f'fill-opacity="{_n(opacity)}"/>'
        for disc in discs
        for paint, opacity in disc_layers(board, disc)
    )
    drawn = "".join(_arrow(board, arrow) for arrow in arrows)
    texts = overlay_texts(board, discs, arrows)
    written = _texts(texts, figure_size(board))
    return f"<title>{escape(title)}</title>{circles}{drawn}{written}"


def _arrow(board: BoardGeometry, arrow: Arrow) -> str:
    """An arrow from a cell to another, one element, so that its parts do not shine through."""
    centers, (paint, opacity) = centers_of(board), arrow_layer(arrow)
    shape = arrow_shape(centers[arrow.start], centers[arrow.end], board.size)
    return (
        f'<g class="{FILL}{paint}" data-from="{arrow.start}" data-to="{arrow.end}" '
        f'opacity="{_n(opacity)}"><polygon points="{_points(shape.points)}"/>'
        f"<circle {_circle(shape.label, shape.radius)}/></g>"
    )


# ---- animations ----------------------------------------------------------------------------------


def animated_svg(
    game: Game,
    states: Sequence[State],
    *,
    seconds: Sequence[float],
    look: Look = DEFAULT_LOOK,
    overlays: Sequence[Overlay | None] | None = None,
    numbers: Sequence[ArrayLike | None] | None = None,
) -> str:
    """A game as an SVG document that plays in a loop, without a script.

    There is at least one state; `seconds` is the time that each is shown, `overlays` and `numbers`
    are those of each. A group of `LAYERS` has an element per time that it is visible. Programs
    without animation show the last position.
    """
    board = geometry_of(game, look)
    ends = list(accumulate(seconds))
    layers: dict[str, list[str]] = {layer: [] for layer in LAYERS}
    for stone, begin, end in _stone_times(game, states):
        layers["stones"].append(_place([stone], board, *_visible(ends, begin, end)))
    for ply, state in enumerate(states):
        overlay = overlays[ply] if overlays else None
        found = _layers(game, state, board, overlay, numbers[ply] if numbers else None)
        attributes, animation = _visible(ends, ply, ply + 1)
        for layer, elements in found.items():
            if elements and layer != "stones":  # which are shown for as long as they are there
                layers[layer].append(f"<g{attributes}>{animation}{elements}</g>")
    title = f"{game.name}: {len(states) - 1} plies, {status_text(game, states[-1])}"
    return _document(board, title, {layer: "".join(parts) for layer, parts in layers.items()})


def _stone_times(game: Game, states: Sequence[State]) -> Iterator[tuple[Sprite, int, int]]:
    """Every stone with the first position that has it and the first one that no longer has it."""
    first: dict[tuple[int, int], int] = {}
    for ply, state in enumerate(states):
        owners: list[int] = base.cell_owners(game, state).ravel().tolist()
        stones = {(cell, owner) for cell, owner in enumerate(owners) if owner != EMPTY}
        for cell, owner in first.keys() - stones:
            yield Sprite("stone", owner, cell), first.pop((cell, owner)), ply
        for stone in stones - first.keys():
            first[stone] = ply
    for (cell, owner), ply in first.items():
        yield Sprite("stone", owner, cell), ply, len(states)


def _visible(ends: list[float], begin: int, end: int) -> tuple[str, str]:
    """The attribute and the child of an element visible from position `begin` to `end`.

    `ends` has the end of each position, in seconds.
    """
    times, values = [0.0], ["visible" if begin == 0 else "hidden"]
    for ply, value in ((begin, "visible"), (end, "hidden")):
        if 0 < ply < len(ends):
            times.append(ends[ply - 1] / ends[-1])
            values.append(value)
    if len(values) == 1:
        return "", ""
    key_times = ";".join(f"{time:.5f}".rstrip("0").rstrip(".") for time in times)
    return (
        f' visibility="{values[-1]}"',
        f'<animate attributeName="visibility" values="{";".join(values)}" '
        f'keyTimes="{key_times}" calcMode="discrete" dur="{ends[-1]:g}s" '
        'repeatCount="indefinite"/>',
    )


# ---- elements ------------------------------------------------------------------------------------


class SvgPen:
    """A `Pen` that writes SVG elements; `str` returns them."""

    def __init__(self) -> None:
        self._elements: list[str] = []

    def __str__(self) -> str:
        return "".join(self._elements)

    def polygon(self, points: list[Point], paint: str, outline: str = "", width: float = 0) -> None:
        classes = f"{FILL}{paint} {LINE}{outline}" if outline else f"{FILL}{paint}"
        stroke = f' stroke-width="{_n(width)}"' if outline else ""
        self._add(f'<polygon class="{classes}" points="{_points(points)}"{stroke}/>')

    def box(self, corners: Corners, radius: float, paint: str) -> None:
        self._add(f'<rect class="{FILL}{paint}" {_rectangle(corners, radius)}/>')

    def frame(self, corners: Corners, radius: float, width: float, paint: str) -> None:
        left, top, right, bottom = corners
        half = width / 2  # a stroke lies on both sides of its line
        inner = left + half, top + half, right - half, bottom - half
        self._add(
            f'<rect class="{LINE}{paint}" {_rectangle(inner, radius - half)} '
            f'fill="none" stroke-width="{_n(width)}"/>'
        )

    def circle(self, center: Point, radius: float, paint: str) -> None:
        self._add(f'<circle class="{FILL}{paint}" {_circle(center, radius)}/>')

    def ring(self, center: Point, radius: float, width: float, paint: str) -> None:
        self._add(
            f'<circle class="{LINE}{paint}" {_circle(center, radius - width / 2)} '
            f'fill="none" stroke-width="{_n(width)}"/>'
        )

    def line(self, start: Point, end: Point, width: float, paint: str) -> None:
        (x1, y1), (x2, y2) = start, end
        self._add(
            f'<line class="{LINE}{paint}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" '
            f'stroke-width="{_n(width)}"/>'
        )

    def shine(self, center: Point, radius: float) -> None:
        self._add(f'<circle fill="url(#shine)" {_circle(center, radius)}/>')

    def shadow(self, center: Point, radius: float) -> None:
        self._add(f'<circle fill="url(#shadow)" {_circle(center, radius)}/>')

    def _add(self, element: str) -> None:
        self._elements.append(element)


def _place(
    sprites: Iterable[Sprite], board: BoardGeometry, attributes: str = "", child: str = ""
) -> str:
    """The elements of sprites; `attributes` begin with a space."""
    return "".join(
        _use(f"{name}-{player}", cell, board, attributes, child) for name, player, cell in sprites
    )


def _use(name: str, cell: int, board: BoardGeometry, attributes: str = "", child: str = "") -> str:
    """A group of ``<defs>`` on a cell."""
    x, y = centers_of(board)[cell]
    use = f'<use href="#{name}" data-cell="{cell}" x="{_n(x)}" y="{_n(y)}"{attributes}'
    return f"{use}>{child}</use>" if child else f"{use}/>"


def _texts(texts: Iterable[Text], height: float) -> str:
    """Texts of one height in pixels; nothing if it is 0."""
    elements = "".join(
        f'<text class="{FILL}{paint}" x="{_n(x)}" y="{_n(y)}">{escape(text)}</text>'
        for (x, y), text, paint in texts
    )
    return f'<g font-size="{_n(height)}">{elements}</g>' if elements and height else ""


def _path(board: BoardGeometry, cells: Iterable[int]) -> str:
    """A line through the cells of a winning path."""
    centers = [centers_of(board)[cell] for cell in cells]
    if not centers:
        return ""
    return "".join(
        f'<polyline class="{LINE}{paint}" points="{_points(centers)}" fill="none" '
        f'stroke-width="{_n(width * board.size)}"/>'
        for paint, width in PATH
    )


def _n(number: float) -> str:
    """A number with at most two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _circle(center: Point, radius: float) -> str:
    return f'cx="{_n(center[0])}" cy="{_n(center[1])}" r="{_n(radius)}"'


def _rectangle(corners: Corners, radius: float) -> str:
    left, top, right, bottom = corners
    return (
        f'x="{_n(left)}" y="{_n(top)}" width="{_n(right - left)}" height="{_n(bottom - top)}" '
        f'rx="{_n(radius)}"'
    )


# ---- definitions and colours ---------------------------------------------------------------------

# The light and the shadow that `hexenv.render.rgb.Canvas` paints in circles.
GRADIENTS: Final = (
    '<radialGradient id="shine" fx="0.325" fy="0.325"><stop stop-color="#fff" stop-opacity="0.3"/>'
    '<stop offset="1" stop-color="#fff" stop-opacity="0"/></radialGradient>'
    '<radialGradient id="shadow"><stop offset="0.88" stop-opacity="0.4"/>'
    '<stop offset="1" stop-opacity="0"/></radialGradient>'
)


def _defs(board: BoardGeometry) -> str:
    """The groups that are placed on cells, each around 0, 0."""
    center, half = (0.0, 0.0), board.size / 2
    pen = SvgPen()
    draw_cell(pen, board, center)
    target = f'<rect fill="none" pointer-events="all" {_rectangle((-half, -half, half, half), 0)}/>'
    groups = {"cell": str(pen) or target}
    for player in (0, 1):
        for name in SPRITES:
            pen = SvgPen()
            draw_sprite(pen, board, name, player, center)
            groups[f"{name}-{player}"] = str(pen)
    elements = "\n".join(f'<g id="{name}">{group}</g>' for name, group in groups.items())
    return f"<defs>{GRADIENTS}\n{elements}</defs>"


def _css(board: BoardGeometry) -> str:
    """The rules of all colours, with plain values for programs without custom properties."""
    rules = [theme_css(board.style, board.theme)]
    for name, color in board.paints.items():
        value, variable = _hex(color), f"var(--{name})"
        rules.append(f".{FILL}{name}{{fill:{value};fill:{variable}}}")
        rules.append(f".{LINE}{name}{{stroke:{value};stroke:{variable}}}")
    return "\n".join(rules)


def _hex(color: tuple[int, int, int]) -> str:
    return f"#{bytes(color).hex()}"
