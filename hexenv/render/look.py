"""The look of boards: colours by theme, cell size, coordinates."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, cast, get_args

from hexenv.games.base import Style, whole_number

Color = tuple[int, int, int]

Theme = Literal["light", "dark", "colorblind"]
"""Colours of wood and stone, the same for dark rooms, and colours for colour-blind people."""

THEMES: Final[tuple[Theme, ...]] = get_args(Theme)

MIN_CELL_SIZE: Final = 8
MAX_CELL_SIZE: Final = 128
"""Larger pictures would need gigabytes of memory."""

BLACK: Final = (0, 0, 0)
WHITE: Final = (255, 255, 255)


def mix(color: Color, other: Color, share: float) -> Color:
    """A mixture of two colours; `share`, 0 to 1, is that of the other."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(color, other, strict=True))
    return red, green, blue


@dataclass(frozen=True)
class Palette:
    """The colours of one style in one theme."""

    page: Color
    """Around the board."""
    board: Color
    """Cells, wood or wall."""
    line: Color
    """Lines between cells."""
    label: Color
    """Coordinates in the margins."""
    stones: tuple[Color, Color]
    """Of player 0 and player 1, also for the sides of a hexagon board."""
    win: Color
    """Marks of winning stones."""
    edge: Color = BLACK
    """Mixed into the edges of stones."""
    high: Color = (106, 27, 154)
    """Discs of positive numbers, which are good for the player to move."""
    low: Color = (196, 70, 0)
    """Discs of negative numbers."""
    figure: Color = (38, 24, 44)
    """Text on faint discs; on strong ones it is white."""

    @cached_property
    def paints(self) -> dict[str, Color]:
        """All colours, mixed ones too, by the names that drawings use.

        ``edge-0`` is the edge of player 0's stone, ``inner-0`` the middle of a Connect4 disc,
        ``pale-0`` the frame around the last cross, ``mark-0`` marks and text on the stone.
        """
        names = ("page", "board", "line", "label", "win", "high", "low", "figure")
        paints: dict[str, Color] = {name: getattr(self, name) for name in names}
        paints["figure-on-disc"] = WHITE
        for player, stone in enumerate(self.stones):
            is_dark = sum(stone) < 384
            paints |= {
                f"stone-{player}": stone,
                f"edge-{player}": mix(stone, self.edge, 0.35),
                f"inner-{player}": mix(stone, WHITE, 0.15),
                f"pale-{player}": mix(stone, self.board, 0.6),
                f"mark-{player}": WHITE if is_dark else mix(stone, BLACK, 0.85),
            }
        return paints


# One stone of each pair is darker than the other, or they are blue and orange. The hues of
# `colorblind` are from Okabe and Ito (2008), https://jfly.uni-koeln.de/color/, with a darker blue
# and a lighter yellow, so that they also differ in black and white.
BLUE: Final = (0, 84, 148)
YELLOW: Final = (240, 196, 60)

PALETTES: Final[dict[Theme, dict[Style, Palette]]] = {
    "light": {
        "squares": Palette(
            page=(250, 248, 243),
            board=(250, 248, 243),
            line=(72, 84, 99),
            label=(122, 130, 140),
            stones=((0, 104, 168), (221, 103, 12)),
            win=(255, 229, 148),
        ),
        "points": Palette(
            page=(226, 181, 112),
            board=(226, 181, 112),
            line=(94, 67, 34),
            label=(94, 67, 34),
            stones=((28, 28, 31), (236, 234, 228)),
            win=(0, 158, 115),
        ),
        "holes": Palette(
            page=(242, 244, 248),
            board=(36, 84, 176),
            line=(24, 60, 134),
            label=(84, 96, 118),
            stones=((214, 49, 43), (250, 205, 44)),
            win=(255, 255, 255),
        ),
        "hexagons": Palette(
            page=(122, 138, 150),
            board=(233, 211, 170),
            line=(168, 140, 94),
            label=(244, 246, 248),
            stones=((30, 31, 35), (234, 233, 228)),
            win=(232, 112, 18),
        ),
    },
    "dark": {
        "squares": Palette(
            page=(28, 31, 36),
            board=(28, 31, 36),
            line=(112, 122, 136),
            label=(142, 150, 162),
            stones=((98, 178, 240), (245, 150, 64)),
            win=(82, 74, 40),
            high=(171, 92, 214),
            low=(214, 92, 20),
            figure=(236, 230, 240),
        ),
        "points": Palette(
            page=(84, 66, 44),
            board=(84, 66, 44),
            line=(164, 138, 100),
            label=(190, 168, 132),
            stones=((14, 14, 16), (226, 223, 215)),
            win=(60, 214, 160),
            edge=(150, 140, 124),
            high=(178, 110, 224),
            low=(222, 100, 30),
            figure=(240, 234, 244),
        ),
        "holes": Palette(
            page=(24, 27, 33),
            board=(38, 66, 122),
            line=(22, 42, 84),
            label=(142, 150, 166),
            stones=((226, 74, 66), (246, 206, 70)),
            win=(255, 255, 255),
            high=(171, 92, 214),
            low=(214, 92, 20),
            figure=(236, 230, 240),
        ),
        "hexagons": Palette(
            page=(50, 55, 62),
            board=(98, 104, 112),
            line=(66, 71, 78),
            label=(168, 176, 186),
            stones=((12, 12, 14), (228, 227, 222)),
            win=(255, 158, 56),
            edge=(128, 134, 142),
            high=(186, 120, 232),
            low=(236, 124, 44),
            figure=(244, 240, 248),
        ),
    },
    "colorblind": {
        "squares": Palette(
            page=(252, 252, 252),
            board=(252, 252, 252),
            line=(90, 90, 90),
            label=(100, 100, 100),
            stones=(BLUE, (230, 159, 0)),
            win=(214, 214, 214),
        ),
        "points": Palette(
            page=(232, 232, 228),
            board=(232, 232, 228),
            line=(120, 120, 116),
            label=(84, 84, 82),
            stones=(BLUE, YELLOW),
            win=(0, 0, 0),
        ),
        "holes": Palette(
            page=(248, 248, 248),
            board=(128, 132, 138),
            line=(96, 100, 106),
            label=(84, 84, 84),
            stones=(BLUE, YELLOW),
            win=(255, 255, 255),
        ),
        "hexagons": Palette(
            page=(150, 154, 158),
            board=(240, 240, 238),
            line=(164, 164, 160),
            label=(20, 20, 20),
            stones=(BLUE, YELLOW),
            win=(0, 0, 0),
        ),
    },
}


@dataclass(frozen=True)
class Look:
    """The options of pictures, for pixels and SVG.

    Args:
        theme: One of `THEMES`.
        cell_size: Distance of neighbours in a row, in pixels, from 8 to 128.
        coordinates: Whether columns and rows are labelled; cells below 12 pixels never are.

    Raises:
        ValueError: If the theme is unknown, or the size is out of range.
    """

    theme: Theme = "light"
    cell_size: int = 48
    coordinates: bool = True

    def __post_init__(self) -> None:
        if self.theme not in THEMES:
            raise ValueError(f"expected a theme of {', '.join(THEMES)}, got {self.theme!r}")
        size = whole_number("cell_size", self.cell_size)
        if not MIN_CELL_SIZE <= size <= MAX_CELL_SIZE:
            raise ValueError(
                f"expected a cell size from {MIN_CELL_SIZE} to {MAX_CELL_SIZE} pixels, got {size}"
            )


DEFAULT_LOOK: Final = Look()


def palette_of(theme: Theme, style: str) -> Palette:
    """The colours of a style of boards."""
    return PALETTES[theme][cast("Style", style)]
