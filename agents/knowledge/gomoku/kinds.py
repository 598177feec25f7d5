"""Which cells make what, of a position of `agents.knowledge.gomoku.board.PatternGame`."""

from typing import Any

from agents.knowledge.gomoku.board import MAKES_FOUR, OPENS_FOUR
from hexenv.compiled import kernel
from hexenv.games.base import NO_ACTION, Actions, State


@kernel
def find_kind(game: Any, state: State, side: int, kind: int, start: int) -> int:
    """The first cell from `start` on where a stone of `side` makes this; `NO_ACTION`: none."""
    for cell in range(start, game.num_actions()):
        if game.kind(state, side, cell) == kind:
            return cell
    return NO_ACTION


@kernel
def makes_four(kind: int) -> bool:
    """Whether a stone of this kind has to be answered at once."""
    return MAKES_FOUR <= kind <= OPENS_FOUR


@kernel
def list_fours(game: Any, state: State, side: int, out: Actions) -> int:
    """The cells where a stone of `side` makes a four, the most promising last; how many."""
    return list_kinds(game, state, side, MAKES_FOUR, OPENS_FOUR, out)


@kernel
def list_kinds(game: Any, state: State, side: int, least: int, most: int, out: Actions) -> int:
    """The cells where a stone of `side` makes one of these kinds, the greatest last; how many."""
    found = 0
    for kind in range(least, most + 1):
        if state.counts[side, kind] > 0:
            for cell in range(game.num_actions()):
                if game.kind(state, side, cell) == kind and game.allows(state, side, cell):
                    out[found] = cell
                    found += 1
    return found


@kernel
def count_kinds(state: State, side: int, least: int, most: int) -> int:
    """On how many cells a stone of `side` makes one of these kinds."""
    found = 0
    for kind in range(least, most + 1):
        found += state.counts[side, kind]
    return found
