"""Playing the openings of Gomoku (`hexenv.games.gomoku.openings`) with a search."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from agents.core.agent import Statistics
from agents.core.reading import read_text
from agents.planning.environment import View
from hexenv.games import base, gomoku, notation
from hexenv.games.base import EMPTY
from hexenv.games.gomoku import openings
from hexenv.games.gomoku.openings import PRO, Phase

FIRST_STONES: Final = Path(__file__).with_name("first_stones.txt")
"""Openings of three stones that the engine holds to be even on 15 x 15, freestyle; the file says by
which command they were drawn."""
SIZE: Final = 15
"""Rows and columns of the board that they are for."""
SMALLEST: Final = 9
"""The least rows and columns on which they fit."""
FIFTH_STONES: Final = 12
"""Of how many moves the value should be known, to choose one of about 0 as a fifth stone."""

EVEN: Final = 0.1
"""The largest value of an even position: then two more stones are placed."""


def first_stones(rows: int, columns: int) -> list[list[int]]:
    """The cells of the even openings on a board; below 9 x 9, three stones far from another."""
    if min(rows, columns) < SMALLEST:
        return [[0, columns // 2, rows * columns - 1]]
    centre = rows // 2 * columns + columns // 2
    return [
        [centre + down * columns + right for down, right in stones] for stones in _from_centre()
    ]


@functools.cache
def _from_centre() -> list[list[tuple[int, int]]]:
    """The stones of the balanced openings, as rows and columns from the centre."""
    rules = gomoku.new(board_size=SIZE)
    texts = (line.partition("#")[0] for line in read_text(FIRST_STONES).splitlines())
    openings = [notation.parse_moves(rules, text) for text in texts if text.strip()]
    return [
        [(cell // SIZE - SIZE // 2, cell % SIZE - SIZE // 2) for cell in cells]
        for cells in openings
    ]


def after_opening(view: View) -> View:
    """The position that is searched: during an opening, the one in colours, black as player 0."""
    if not openings.is_opening(view.game, view.root):
        return view
    return View(*openings.inner(view.game, view.root), view.compiles, ())


def opening_action(
    view: View, think: Callable[[View], tuple[int, float]], rng: np.random.Generator
) -> int:
    """See `GameKnowledge.play_opening`; `think` searches a position of the colours."""
    game, state = view.game, view.root
    phase = openings.phase_of(game, state)
    legal = base.legal_actions(game, state)
    if phase == Phase.PLACING and game.opening < PRO:
        return _place_balanced(game, state, legal, rng)
    action, value = think(after_opening(view))
    swap = game.rows * game.columns
    if swap in legal:
        answer = answer_to_stones(value, can_add=swap + 1 in legal)
        if answer != "stay":
            return swap if answer == "swap" else swap + 1
    return action if action in legal else _nearest_to_centre(game, legal)


def answer_to_stones(value: float, can_add: bool) -> Literal["add", "swap", "stay"]:
    """The answer to the stones of the opponent, by the value for the colour that one has.

    `can_add` is whether two more stones may be put down, and the choice handed back.
    """
    if can_add and abs(value) <= EVEN:
        return "add"
    return "swap" if value < 0 else "stay"


def last_stone_to_add(statistics: Statistics) -> int:
    """The fifth stone, black's, for which the value is nearest to 0, of those well searched."""
    is_searched = statistics.visits >= max(statistics.visits.max() // 10, 1)
    return int(np.argmin(np.where(is_searched, np.abs(statistics.values), np.inf)))


def _place_balanced(game: Any, state: Any, legal: list[int], rng: np.random.Generator) -> int:
    """The next stone of a balanced opening that has begun like this, else one near the centre."""
    owners = base.cell_owners(game, state).reshape(-1)
    stones = set(np.flatnonzero(owners != EMPTY).tolist())
    known = [
        cells
        for cells in first_stones(game.rows, game.columns)
        if set(cells[: len(stones)]) == stones and cells[len(stones)] in legal
    ]
    if known:
        return known[int(rng.random() * len(known))][len(stones)]
    return _nearest_to_centre(game, legal)


def _nearest_to_centre(game: Any, legal: list[int]) -> int:
    """The legal cell that is nearest to the centre."""
    rows, columns = game.rows, game.columns
    cells = (action for action in legal if action < rows * columns)
    return min(cells, key=functools.partial(base.from_middle, rows, columns))
