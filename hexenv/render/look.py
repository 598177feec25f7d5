"""The look of boards: colours by theme, cell size, coordinates."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Final, Literal, cast, get_args

from hexenv.common.options import Within, check_fields

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


def luminance(color: Color) -> float:
    """How light a colour is, 0 to 1: the relative luminance of the WCAG.

    Two colours have the contrast ``(lighter + 0.05) / (darker + 0.05)``, 1 to 21.
    """
    parts = (part / 255 for part in color)
    linear = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


# One stone of each pair is darker than the other, or they are blue and orange. The hues of
# `colorblind` are from Okabe and Ito (2008), https://jfly.uni-koeln.de/color/, with a darker blue
# and a lighter yellow, so that they also differ in black and white.
COLORS: Final = """
theme      style    page   board  line   label  win    high   low    figure stone0 stone1 edge
light      squares  faf8f3 faf8f3 485463 656e7a ffe594 6a1b9a c44600 26182c 0068a8 dd670c 000000
light      points   e2b570 e2b570 5e4322 5e4322 009e73 6a1b9a c44600 26182c 1c1c1f eceae4 000000
light      holes    f2f4f8 2454b0 183c86 546076 ffffff 6a1b9a c44600 26182c d6312b facd2c 000000
light      hexagons 667682 e9d3aa a88c5e ffffff e87012 6a1b9a c44600 26182c 1e1f23 eae9e4 000000
dark       squares  1c1f24 1c1f24 707a88 8e96a2 524a28 ab5cd6 d65c14 ece6f0 62b2f0 f59640 000000
dark       points   80643f 80643f 3a2b18 f8f2e4 3cf0b0 4a0d7a 701800 ffffff 0e0e10 f2efe8 d0c4ac
dark       holes    181b21 26427a 162a54 8e96a6 ffffff ab5cd6 d65c14 ece6f0 e24a42 f6ce46 000000
dark       hexagons 4c525a 7e848c 565c64 eef1f4 ffb454 4a0d7a 701800 ffffff 0c0c0e f4f3ef c6ccd4
colorblind squares  fcfcfc fcfcfc 5a5a5a 646464 d6d6d6 6a1b9a c44600 26182c 005494 e69f00 000000
colorblind points   e8e8e4 e8e8e4 787874 545452 000000 6a1b9a c44600 26182c 005494 f0c43c 000000
colorblind holes    f8f8f8 80848a 60646a 545454 ffffff 6a1b9a c44600 26182c 005494 f0c43c 000000
colorblind hexagons 969a9e f0f0ee a4a4a0 141414 000000 6a1b9a c44600 26182c 005494 f0c43c 000000
"""
"""The colours of boards, as on web pages.

``page`` is around the board, ``board`` is cells, wood or wall, ``line`` between cells, ``label``
for coordinates, ``win`` for marks of winning stones. Discs of positive numbers, which are good for
the player to move, are ``high``, others ``low``; ``figure`` is text on faint discs. The stones are
also the sides of a hexagon board, and ``edge`` is mixed into their edges.
"""


@lru_cache
def paints_of(theme: Theme, style: str) -> dict[str, Color]:
    """The colours of a style of boards, mixed ones too, by the names that drawings use.

    Besides the columns of `COLORS`: ``edge-0`` is the edge of player 0's stone, ``inner-0`` the
    middle of a Connect4 disc, ``pale-0`` the frame around the last cross, ``mark-0`` marks and text
    on the stone, ``figure-on-disc`` text on strong discs.
    """
    names, *rows = (str(line).split() for line in COLORS.strip().splitlines())
    (row,) = (row for row in rows if row[:2] == [theme, style])
    red_green_blue = (tuple(bytes.fromhex(code)) for code in row[2:])
    paints: dict[str, Color] = dict(
        zip(names[2:], cast("Iterable[Color]", red_green_blue), strict=True)
    )
    edge, stones = paints.pop("edge"), (paints.pop("stone0"), paints.pop("stone1"))
    paints["figure-on-disc"] = WHITE
    for player, stone in enumerate(stones):
        is_dark = sum(stone) < 384
        paints |= {
            f"stone-{player}": stone,
            f"edge-{player}": mix(stone, edge, 0.35),
            f"inner-{player}": mix(stone, WHITE, 0.15),
            f"pale-{player}": mix(stone, paints["board"], 0.6),
            f"mark-{player}": WHITE if is_dark else mix(stone, BLACK, 0.85),
        }
    return paints


@dataclass(frozen=True)
class Look:
    """The options of pictures, for pixels and SVG.

    Examples:
        >>> from hexenv.render.rgb import render_rgb
        >>> render_rgb(env.unwrapped.game, env.unwrapped.state, look=Look(cell_size=16)).ndim
        3

    Args:
        theme: One of `THEMES`.
        cell_size: Distance of neighbours in a row, in pixels, from 8 to 128.
        coordinates: Whether columns and rows are labelled; cells below 12 pixels never are.

    Raises:
        ValueError: If the theme is unknown, or the size is out of range.
    """

    theme: Theme = "light"
    cell_size: Annotated[int, Within(MIN_CELL_SIZE, MAX_CELL_SIZE)] = 48
    coordinates: bool = True

    def __post_init__(self) -> None:
        check_fields(self)


DEFAULT_LOOK: Final = Look()
