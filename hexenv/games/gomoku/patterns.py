"""Line patterns: what a stone makes of a line, by the names Gomoku players give it.

A stone on a cell and the cells within `connect` steps of it on one line are all that decides
whether it makes five, four or three there. So every such window is classified once, in a table, and
what a stone would make is looked up. The names are those of five in a row; in a game of another
length a "four" is one stone short of winning, a "three" two stones, and so on.

| Class | A stone there makes |
|---|---|
| `FIVE` | a win |
| `OVERLINE` | too many in a row, where the rule wants exactly five |
| `OPEN_FOUR` | four in a row, straight: they become five at either end, and no stone stops both |
| `DOUBLE_FOUR` | four with a gap, twice in one line: ``X.XXX.X`` becomes five in two ways |
| `FOUR` | a four that one stone of the other side stops |
| `OPEN_THREE` | three in a row that become an open four |
| `BROKEN_THREE` | three with a gap that become an open (or, but for renju, a double) four |
| `THREE` | a three that becomes a four of any kind |
| `OPEN_TWO`, `OPEN_ONE` | stones that become an open or broken three, an open two |
| `TWO`, `ONE` | stones that become a three, a two |
| `NOTHING` | less, as where there is no room for five |
"""

from functools import cache
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled

PATTERNS: Final = (
    "nothing", "one", "open_one", "two", "open_two", "three", "broken_three", "open_three",
    "four", "double_four", "open_four", "five", "overline",
)  # fmt: skip
"""Names of the classes by number."""
NOTHING, ONE, OPEN_ONE, TWO, OPEN_TWO, THREE, BROKEN_THREE, OPEN_THREE = range(8)
FOUR, DOUBLE_FOUR, OPEN_FOUR, FIVE, OVERLINE = range(8, 13)

FREE, EXACT, RENJU, CARO = range(4)
"""What counts: `connect` or more in a row; exactly `connect`; so, and only open fours make threes
(black in renju, who may not make two fours at once); `connect` without a stone of the other side at
both ends, or more."""
NO_BORDER, LEFT_BORDER, RIGHT_BORDER = range(3)
"""What `PatternTable.border_of` adds up."""


@compiled
class PatternTable(NamedTuple):
    """The class of every window of one length of line and one way of counting."""

    reach: int
    """How many cells either side of the stone a window has."""
    radius: int
    """How far away a stone can change a class: in freestyle one cell less than `reach`, as what
    is beyond a five does not matter there."""
    ternary: NDArray[np.int32]
    """``(2 ** (2 * reach + 1),)``: a window's bits as the digits of a ternary number, without the
    cell in the middle."""
    classes: NDArray[np.uint8]
    """``(1 or 4, 3 ** (2 * reach))``: the class by what `border_of` says in caro, and by digits: 0
    an empty cell, 1 an own stone, 2 neither."""

    def classify(self, own: int, blocked: int, border: int) -> int:
        """The class of a window with these own stones, where no more go on the `blocked` cells."""
        return int(self.classes[border, self.ternary[own] + 2 * self.ternary[blocked]])

    def border_of(self, blocked: int, outside: int) -> int:
        """On which sides of the stone the first blocked cell is `outside`, beyond the border.

        `LEFT_BORDER` is for the lower bits.
        """
        lower = (1 << self.reach) - 1
        left, right = blocked & lower, blocked & ~lower
        found = NO_BORDER
        if left != 0 and left == outside & lower:
            found += LEFT_BORDER
        if right != 0 and right == outside & ~lower:
            found += RIGHT_BORDER
        return found


@cache
def pattern_table(connect: int, counting: int) -> PatternTable:
    """The table for lines of `connect` stones, 3 to 6, counted as `FREE`, `EXACT` or so on."""
    windows = _Windows(connect)
    fives = [windows.fives(counting, border) for border in range(4 if counting == CARO else 1)]
    ways = [windows.count(five) for five in fives]
    classes = [
        _classes(windows, counting, five, windows.are_sure(ways, border))
        for border, five in enumerate(fives)
    ]
    radius = connect - 1 if counting == FREE else connect
    return PatternTable(connect, radius, _ternary(connect), np.stack(classes))


def _classes(
    windows: "_Windows", counting: int, five: NDArray[np.bool_], is_sure: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    """The classes by digits, from the windows with five and with fours that no stone stops."""
    straight = (windows.run == windows.reach - 1) & windows.at_ends(five)
    found = np.full(five.shape, NOTHING, np.uint8)
    found[windows.count(five) > 0] = FOUR
    found[is_sure] = DOUBLE_FOUR
    found[straight & is_sure] = OPEN_FOUR
    found[five] = FIVE
    if counting in (EXACT, RENJU):
        found[windows.run > windows.reach] = OVERLINE
    is_new = found == NOTHING
    strong = found == OPEN_FOUR if counting == RENJU else np.isin(found, (OPEN_FOUR, DOUBLE_FOUR))
    fours = np.isin(found, (FOUR, DOUBLE_FOUR, OPEN_FOUR))
    found[is_new & (windows.count(fours) > 0)] = THREE
    found[is_new & (windows.count(strong) > 0)] = BROKEN_THREE
    found[is_new & windows.at_an_end(found == OPEN_FOUR)] = OPEN_THREE
    for more, fewer in (((OPEN_THREE, BROKEN_THREE), OPEN_TWO), ((OPEN_TWO,), OPEN_ONE)):
        is_new = found == NOTHING
        closed = windows.count(found == fewer + 1) > 0
        found[is_new & closed] = fewer - 1
        found[is_new & (windows.count(np.isin(found, more)) > 0)] = fewer
    return found


class _Windows:
    """All windows around an own stone, as rows of digits."""

    def __init__(self, connect: int) -> None:
        self.reach = connect
        self.size = 3 ** (2 * connect)
        weights = [3**place for place in range(2 * connect)]
        self.weights = np.array([*weights[:connect], 0, *weights[connect:]], np.int64)
        self.digits = np.ones((self.size, 2 * connect + 1), np.int8)
        self.places = [*range(connect), *range(connect + 1, 2 * connect + 1)]
        for place in self.places:
            self.digits[:, place] = np.arange(self.size, dtype=np.int64) // self.weights[place] % 3
        own = (self.digits == 1).astype(np.int64)
        self.left = cast("NDArray[np.int64]", own[:, connect - 1 :: -1].cumprod(axis=1).sum(axis=1))
        self.right = cast("NDArray[np.int64]", own[:, connect + 1 :].cumprod(axis=1).sum(axis=1))
        self.run: NDArray[np.int64] = self.left + 1 + self.right
        """How many stones in a row the one in the middle is part of."""

    def fives(self, counting: int, border: int) -> NDArray[np.bool_]:
        """Where the run wins; `border` as in `PatternTable.border_of`."""
        if counting != CARO or border != NO_BORDER:
            return self.run == self.reach if counting in (EXACT, RENJU) else self.run >= self.reach
        rows = np.arange(self.size, dtype=np.int64)
        before = self.digits[rows, np.maximum(self.reach - self.left - 1, 0)]
        behind = self.digits[rows, np.minimum(self.reach + self.right + 1, 2 * self.reach)]
        is_blocked = (before == 2) & (behind == 2)
        return (self.run > self.reach) | ((self.run == self.reach) & ~is_blocked)

    def are_sure(self, ways: list[NDArray[np.int64]], border: int) -> NDArray[np.bool_]:
        """Where a five can be made, whatever one stone the other side adds.

        `ways` has by `border` in how many ways a five can be made.
        """
        found = ways[border] > 0
        for place in self.places:
            remaining = ways[border & (RIGHT_BORDER if place < self.reach else LEFT_BORDER)]
            is_stop = np.roll(remaining == 0, -2 * self.weights[place])
            found &= (self.digits[:, place] != 0) | ~is_stop
        return found

    def after(self, place: int, holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Where the place is empty, and something holds after an own stone there."""
        empty = self.digits[:, place] == 0
        return empty & holds[(np.arange(self.size) + self.weights[place]) % self.size]

    def count(self, holds: NDArray[np.bool_]) -> NDArray[np.int64]:
        """In how many ways one more own stone makes it hold."""
        return np.stack([self.after(place, holds) for place in self.places]).sum(axis=0)

    def at_ends(self, holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Where a stone at either end of the run makes it hold."""
        return self._at(-1, holds) & self._at(1, holds)

    def at_an_end(self, holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Where a stone at one end or the other makes it hold, and joins nothing further."""
        longer = holds & (self.run == self.reach - 1)
        grown = [self._at(side, longer) for side in (-1, 1)]
        return (self.run == self.reach - 2) & (grown[0] | grown[1])

    def _at(self, side: int, holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
        reached = -self.left - 1 if side < 0 else self.right + 1
        found = np.zeros(self.size, np.bool_)
        for place in self.places:
            found |= (reached == place - self.reach) & self.after(place, holds)
        return found


def _ternary(connect: int) -> NDArray[np.int32]:
    bits = np.arange(2 ** (2 * connect + 1), dtype=np.int32)
    outer = bits & (2**connect - 1) | bits >> (connect + 1) << connect
    digits = [(outer >> place & 1) * 3**place for place in range(2 * connect)]
    return np.stack(digits).sum(axis=0, dtype=np.int32)
