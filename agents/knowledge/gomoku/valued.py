"""What patterns are worth: Gomoku whose positions have a value, learnt from games.

A position's value is the sum, over all empty cells, of what a stone there would make: one weight
for each class of pattern in one direction, and one for each pair of classes that cross in the cell.
There are weights for the player to move and for the one who waits, for every rule, and in renju for
either colour. `python -m agents.knowledge.gomoku.learn_values` has learnt them from games of the
engine against itself. A table has the sums of all codes of a cell, so a position's value is kept up
to date by a look at the table for every code that changes.
"""

import functools
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agents.core.reading import read_object
from agents.knowledge.gomoku import board
from agents.knowledge.gomoku.board import (
    DOUBLE_THREE,
    FOUR_THREE,
    KINDS_OF,
    NUM_KINDS,
    PatternGame,
)
from agents.knowledge.gomoku.view import line_game
from agents.planning.environment import View
from hexenv.compiled import compiled
from hexenv.games import base
from hexenv.games.base import State
from hexenv.games.gomoku import Gomoku, rule_name
from hexenv.games.gomoku.patterns import PATTERNS
from hexenv.games.gomoku.stone_lines import MAX_SIZE, NUM_LINES

FILE: Final = Path(__file__).with_name("values.json")
MOVES, WAITS, TRIES = range(3)
"""The second index of a table of scores: values for the side to move and for the one who waits, and
what a stone on a cell promises."""
SCALE: Final = 200.0
"""Units of values by which the logarithm of the odds to win grows by 1."""
LARGEST_SUM: Final = 8_000
"""Of one cell."""

NUM_CLASSES: Final = len(PATTERNS)
PAIRS: Final = [(a, b) for a in range(NUM_CLASSES) for b in range(a, NUM_CLASSES)]
NUM_WEIGHTS: Final = NUM_CLASSES + len(PAIRS)


@compiled
class ValuedGame(PatternGame):
    """A game with patterns whose states know the values of their empty cells.

    `scores` is ``(2, 3, 65536) int16``: by side and by `MOVES`, `WAITS` or `TRIES`, of every code.
    """

    __slots__ = ()

    state_dtype = base.state_dtype(
        ("hash", np.int64),
        ("lines", np.uint32, (2, NUM_LINES)),
        ("codes", np.uint16, (3, MAX_SIZE * MAX_SIZE)),
        ("counts", np.int16, (2, NUM_KINDS)),
        ("totals", np.int32, (2, 2)),
    )

    def note_stone(self, state: State, side: int, before: int, after: int) -> None:
        pass

    def note_empty(self, state: State, side: int, before: int, after: int) -> None:
        for role in range(2):
            change = self.scores[side, role, after] - self.scores[side, role, before]
            state.totals[side, role] += change

    def point(self, state: State, side: int, cell: int) -> int:
        return int(self.scores[side, TRIES, state.codes[side, cell]])

    def balance(self, state: State, side: int) -> int:
        """The value for `side`, who is to move, in units of 1 / `SCALE`."""
        return int(state.totals[side, MOVES] - state.totals[1 - side, WAITS])


def classes_of_codes() -> NDArray[np.int64]:
    """``(65536, 4)``: the class in each direction."""
    return np.arange(1 << 16)[:, None] >> (0, 4, 8, 12) & 15


@functools.cache
def weight_counts() -> NDArray[np.uint8]:
    """``(65536, NUM_WEIGHTS)``: how often each weight is in the sum of a code."""
    classes = np.minimum(classes_of_codes(), NUM_CLASSES - 1)  # the others are of no cell
    number = np.zeros((NUM_CLASSES, NUM_CLASSES), np.int64)
    for i, (a, b) in enumerate(PAIRS):
        number[a, b] = number[b, a] = NUM_CLASSES + i
    counts = np.zeros((1 << 16, NUM_WEIGHTS), np.uint8)
    codes = np.arange(1 << 16)
    for i in range(4):
        counts[codes, classes[:, i]] += 1
        for j in range(i + 1, 4):
            counts[codes, number[classes[:, i], classes[:, j]]] += 1
    counts[:, [0, NUM_CLASSES]] = 0  # nothing, and nothing twice, are worth nothing
    return counts


def table_of(weights: NDArray[np.float64]) -> NDArray[np.int16]:
    """``(2, 2, 65536)``: the values of codes from weights, ``(2, 2, NUM_WEIGHTS)``."""
    sums = np.rint(weights @ weight_counts().T.astype(np.float64))
    return np.clip(sums, -LARGEST_SUM, LARGEST_SUM).astype(np.int16)


@functools.cache
def scores_of(rule: str) -> NDArray[np.int16]:
    """The scores of a rule: the values from the file, and what codes promise."""
    values = table_of(np.array(read_object(FILE)[rule], np.float64))
    return np.concatenate([values, np.tile(promises(), (2, 1, 1))], axis=1)


@functools.lru_cache(maxsize=8)
def valued_game(rules: Gomoku) -> ValuedGame:
    """The game of some rules, with the learnt values."""
    start = np.zeros(1, ValuedGame.state_dtype).view(np.recarray)
    plain = board.new(rules)  # refuses caro
    game = ValuedGame(*plain._replace(scores=scores_of(rule_name(rules.rule)), start=start))
    rules.initial(start[0])
    game.classify_all(start[0])
    return game


def valued_view(view: View) -> View:
    """The same position as one of the game with values."""
    rules, position = line_game(view.game, view.root)
    game = valued_game(rules)
    return view._replace(game=game, root=board.state_of(game, position, view.compiles))


PROMISES: Final = (0, 2, 6, 8, 20, 24, 50, 60, 62, 100, 400, 800, 0)
"""What each class promises, to try moves in a good order; and two threats at once:"""
FORKS: Final = ((FOUR_THREE, 300), (DOUBLE_THREE, 150))


def promises() -> NDArray[np.int16]:
    """``(65536,)``: what a stone on a cell with a code promises."""
    points: Any = np.array(PROMISES, np.int16)[np.minimum(classes_of_codes(), NUM_CLASSES - 1)]
    found = points.sum(axis=1, dtype=np.int16)
    for kind, more in FORKS:
        found += more * (KINDS_OF[0][1] == kind)
    return found.astype(np.int16)
