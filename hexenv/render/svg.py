"""Positions as SVG: standalone pictures, and boards for pages whose scripts place the stones.

The drawing is that of the RGB frames, in the same pixels. An element ``<svg class="hexenv hexagons
light">`` holds, in this order:

* ``<style>`` with the colours as custom properties of ``.hexenv.hexagons.light``; a page that has
  `theme_css` of other themes too changes the theme by exchanging the last class;
* ``<defs>`` with a group for each thing on a cell, drawn around 0, 0: ``cell``, ``stone-0``,
  ``stone-1``, ``last-0``, ``numbered-0`` (the last stone, if it has a number), ``win-0`` ...;
* ``<g class="cells">`` with ``<use href="#cell" data-cell="0" x="..." y="..."/>`` for every cell;
* ``<g class="stones">``, ``win``, ``last``, ``numbers`` and ``overlay``, with one element for each
  thing shown. All but the cells let clicks through.

The names in ``<defs>`` are the same in all pictures: show several on one page as images.
"""

from base64 import b64encode
from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape

from numpy.typing import ArrayLike

from hexenv.games import base
from hexenv.games.base import EMPTY, NO_ACTION, Game, State
from hexenv.render.ansi import status_text
from hexenv.render.board import Board, Corners, Point, board_of, centers_of, labels_of
from hexenv.render.drawing import (
    DISC_RADIUS,
    LABEL_SIZE,
    PATH,
    Text,
    disc_figure,
    disc_layers,
    draw_cell,
    draw_ground,
    draw_last_mark,
    draw_stone,
    draw_win_mark,
    figure_size,
    number_size,
    number_texts,
)
from hexenv.render.look import DEFAULT_LOOK, Look, Theme, palette_of
from hexenv.render.overlay import Disc, Overlay, numbers_of

LAYERS: Final = ("stones", "win", "last", "numbers", "overlay")
"""The groups of what is on the board, from below."""
FILL: Final = "hexenv-fill-"
"""The class of what is filled with a paint begins so. No rule may name an element around it: what
`<use>` shows does not know where it is used."""
LINE: Final = "hexenv-line-"


def render_svg(
    game: Game,
    state: State,
    *,
    look: Look = DEFAULT_LOOK,
    overlay: Overlay | None = None,
    numbers: ArrayLike | None = None,
) -> str:
    """A position as an SVG document.

    Args:
        game: The game.
        state: The position.
        look: Colours, size and coordinates.
        overlay: Numbers to show on the cells.
        numbers: ``(cells,)``: the numbers of the moves, from 1, to write on the stones; see
            `hexenv.render.overlay.move_numbers`.

    Returns:
        The element ``<svg>``; see the module for what is in it.
    """
    board = board_of(game, look)
    title = f"{game.name}: {status_text(game, state)}"
    layers = layers_of(game, state, board, overlay=overlay, numbers=numbers)
    return svg_document(board, title, layers)


def board_svg(game: Game, look: Look = DEFAULT_LOOK) -> str:
    """The empty board, with all that is needed to place stones and marks on it."""
    return svg_document(board_of(game, look), game.name, {})


def svg_image(svg: str) -> str:
    """A document as an HTML image, which shares no names with what is around it."""
    encoded = b64encode(svg.encode()).decode()
    title = svg.partition("<title>")[2].partition("</title>")[0]
    return f'<img alt="{title}" src="data:image/svg+xml;base64,{encoded}">'


def theme_css(style: str, theme: Theme) -> str:
    """The rule that sets the colours of a style of boards in one theme."""
    colors = palette_of(theme, style).paints
    values = "".join(f"--{name}:{_hex(color)};" for name, color in colors.items())
    return f".hexenv.{style}.{theme}{{{values}}}"


def svg_document(board: Board, title: str, layers: dict[str, str]) -> str:
    """A board with the elements of each of `LAYERS`."""
    width, height = board.frame_size
    ground = SvgPen()
    draw_ground(ground, board)
    cells = "".join(_use("cell", cell, board) for cell in range(board.rows * board.columns))
    labels = (Text(point, label, "label") for point, label in labels_of(board))
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
        f'<g class="labels" pointer-events="none">{_texts(labels, LABEL_SIZE * board.size)}</g>\n'
        f"{groups}\n</svg>\n"
    )


def layers_of(
    game: Game,
    state: State,
    board: Board,
    *,
    overlay: Overlay | None = None,
    numbers: ArrayLike | None = None,
) -> dict[str, str]:
    """The elements of a position by layer."""
    owners: list[int] = base.cell_owners(game, state).ravel().tolist()
    stones = [
        _use(f"stone-{owner}", cell, board) for cell, owner in enumerate(owners) if owner != EMPTY
    ]
    won = game.winning_cells(state)
    if board.style == "hexagons":
        win = _path(board, won)
    else:
        win = "".join(_use(f"win-{owners[cell]}", cell, board) for cell in won)
    found = {"stones": "".join(stones), "win": win}
    numbered = numbers_of(game, numbers)
    last = game.last_cell(state)
    if last != NO_ACTION and owners[last] != EMPTY:
        name = "numbered" if numbered[last] > 0 else "last"
        found["last"] = _use(f"{name}-{owners[last]}", last, board)
    texts = number_texts(board, owners, numbered)
    found["numbers"] = _texts(texts, number_size(board))
    if overlay is not None:
        found["overlay"] = _overlay(board, overlay.discs(game), overlay.title)
    return found


def _overlay(board: Board, discs: list[Disc], title: str) -> str:
    circles = "".join(
        f'<circle class="{FILL}{paint}" data-cell="{disc.cell}" '
        f"{_circle(centers_of(board)[disc.cell], DISC_RADIUS * board.size)} "
        f'fill-opacity="{_n(opacity)}"/>'
        for disc in discs
        for paint, opacity in disc_layers(board, disc)
    )
    texts = (disc_figure(board, disc) for disc in discs if disc.label)
    return f"<title>{escape(title)}</title>{circles}{_texts(texts, figure_size(board))}"


# ---- elements ------------------------------------------------------------------------------------


class SvgPen:
    """A pen that writes SVG elements; `str` gives what has been drawn."""

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


def _use(name: str, cell: int, board: Board) -> str:
    """A thing of ``<defs>`` on a cell."""
    x, y = centers_of(board)[cell]
    return f'<use href="#{name}" data-cell="{cell}" x="{_n(x)}" y="{_n(y)}"/>'


def _texts(texts: Iterable[Text], height: float) -> str:
    """Text of one height in pixels; 0 is not readable and left out."""
    elements = "".join(
        f'<text class="{FILL}{paint}" x="{_n(x)}" y="{_n(y)}">{escape(text)}</text>'
        for (x, y), text, paint in texts
    )
    return f'<g font-size="{_n(height)}">{elements}</g>' if elements and height else ""


def _path(board: Board, cells: Iterable[int]) -> str:
    """The line through the cells of a winning path."""
    centers = [centers_of(board)[cell] for cell in cells]
    if not centers:
        return ""
    return "".join(
        f'<polyline class="{LINE}{paint}" points="{_points(centers)}" fill="none" '
        f'stroke-width="{_n(width * board.size)}"/>'
        for paint, width in PATH
    )


def _n(number: float) -> str:
    """A number in few characters."""
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


# ---- what all pictures of a board share ----------------------------------------------------------

# The light and the shadow that `hexenv.render.canvas.Canvas` paints in circles.
GRADIENTS: Final = (
    '<radialGradient id="shine" fx="0.325" fy="0.325"><stop stop-color="#fff" stop-opacity="0.3"/>'
    '<stop offset="1" stop-color="#fff" stop-opacity="0"/></radialGradient>'
    '<radialGradient id="shadow"><stop offset="0.88" stop-opacity="0.4"/>'
    '<stop offset="1" stop-opacity="0"/></radialGradient>'
)


def _defs(board: Board) -> str:
    """What is placed on cells, each around 0, 0."""
    center = 0.0, 0.0
    half = board.size / 2
    cell = SvgPen()
    draw_cell(cell, board, center)
    hit = f'<rect fill="none" pointer-events="all" {_rectangle((-half, -half, half, half), 0)}/>'
    parts = {"cell": str(cell) or hit}
    for player in (0, 1):
        stone, last, numbered, win = (SvgPen() for _ in range(4))
        draw_stone(stone, board, player, center)
        draw_last_mark(last, board, player, center, numbered=False)
        draw_last_mark(numbered, board, player, center, numbered=True)
        draw_win_mark(win, board, player, center)
        parts |= {
            f"stone-{player}": str(stone),
            f"last-{player}": str(last),
            f"numbered-{player}": str(numbered),
            f"win-{player}": str(win),
        }
    groups = "\n".join(f'<g id="{name}">{elements}</g>' for name, elements in parts.items())
    return f"<defs>{GRADIENTS}\n{groups}</defs>"


def _css(board: Board) -> str:
    """The colours, and what they are used for.

    Each is given as it is first, for programs that know no custom properties.
    """
    rules = [theme_css(board.style, board.theme)]
    for name, color in board.paints.items():
        value, variable = _hex(color), f"var(--{name})"
        rules.append(f".{FILL}{name}{{fill:{value};fill:{variable}}}")
        rules.append(f".{LINE}{name}{{stroke:{value};stroke:{variable}}}")
    return "\n".join(rules)


def _hex(color: tuple[int, int, int]) -> str:
    return f"#{bytes(color).hex()}"
