"""A pen that draws pixels, with Pillow alone: larger than needed, then reduced to smooth edges."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from PIL import Image, ImageDraw

from hexenv.render.board import Corners, Point, around
from hexenv.render.look import BLACK, Color

SCALE: Final = 4
"""How many times larger than needed everything is drawn."""


class Canvas:
    """An image drawn `SCALE` times larger; coordinates and lengths are those of the result.

    Args:
        width: Pixels.
        height: Pixels.
        paints: Colours by name.
        ground: The paint of the ground.
        opacity: Of the ground, 0 to 255.
    """

    def __init__(
        self, width: int, height: int, paints: Mapping[str, Color], ground: str, opacity: int = 255
    ) -> None:
        self.width = width
        self.height = height
        self.paints = paints
        self.image = Image.new("RGBA", (width * SCALE, height * SCALE), (*paints[ground], opacity))
        self.draw = ImageDraw.Draw(self.image)

    @property
    def center(self) -> Point:
        """The middle of the image."""
        return self.width / 2, self.height / 2

    def polygon(self, points: list[Point], paint: str, outline: str = "", width: float = 0) -> None:
        self.draw.polygon([(x * SCALE, y * SCALE) for x, y in points], self.paints[paint])
        if outline:
            for start, end in pairwise([*points, points[0]]):
                self.line(start, end, width, outline)

    def box(self, corners: Corners, radius: float, paint: str) -> None:
        self.draw.rounded_rectangle(_within(corners), radius * SCALE, self.paints[paint])

    def frame(self, corners: Corners, radius: float, width: float, paint: str) -> None:
        thickness, color = _thickness(width), self.paints[paint]
        box = _within(corners)
        self.draw.rounded_rectangle(box, radius * SCALE, outline=color, width=thickness)

    def circle(self, center: Point, radius: float, paint: str) -> None:
        self._circle(center, radius, self.paints[paint])

    def ring(self, center: Point, radius: float, width: float, paint: str) -> None:
        box = _within(around(center, radius))
        self.draw.ellipse(box, outline=self.paints[paint], width=_thickness(width))

    def line(self, start: Point, end: Point, width: float, paint: str) -> None:
        points = [(x * SCALE, y * SCALE) for x, y in (start, end)]
        self.draw.line(points, self.paints[paint], round(width * SCALE))
        for point in (start, end):
            self.circle(point, width / 2, paint)

    def shine(self, center: Point, radius: float) -> None:
        x, y = center
        base = self.image.getpixel((round(x * SCALE), round(y * SCALE)))
        assert isinstance(base, tuple)
        steps = 32
        for step in range(steps):
            share = step / steps
            offset = 0.35 * radius * share
            red, green, blue = (min(255, part + round(70 * share)) for part in base[:3])
            place = x - offset, y - offset
            self._circle(place, radius * (1 - share), (red, green, blue))

    def shadow(self, center: Point, radius: float) -> None:
        steps = 12
        for step in range(1, steps + 1):
            self._circle(center, radius * (1 - 0.12 * step / steps), BLACK, 100 * step // steps)

    def _circle(self, center: Point, radius: float, color: Color, opacity: int = 255) -> None:
        self.draw.ellipse(_within(around(center, radius)), (*color, opacity))

    def reduced(self) -> Image.Image:
        """The image in its own size, RGBA."""
        return self.image.reduce(SCALE)


def _within(corners: Corners) -> Corners:
    """Where to draw a shape: Pillow counts the last pixel in, and wants one at least."""
    left, top, right, bottom = (place * SCALE for place in corners)
    return left, top, max(left, right - 1), max(top, bottom - 1)


def _thickness(width: float) -> int:
    return max(SCALE, round(width * SCALE))
