"""The heuristics and parameters of RHMCTS as its authors describe them (Zhang and Xie 2019).

``RHMCTS(faithful=True)`` uses them. They are kept to compare with: the text plays one move for each
heuristic, but its fourth is unsound, as the player's own fours come first, and so are the sixth and
the seventh. `agents.knowledge.gomoku.candidates` has the sound form.
"""

from typing import Any, NamedTuple

import numpy as np

from agents.knowledge.gomoku.board import (
    DOUBLE_THREE,
    FOUR_THREE,
    OPENS_FOUR,
    TWO_FOURS,
    WINS,
    list_kinds,
)
from agents.knowledge.gomoku.candidates import (
    ALL_BITS,
    cell_points,
    draw_cell,
    is_enabled,
    keep_allowed,
    list_near,
    wins_by_fours,
    with_scratch,
)
from agents.knowledge.gomoku.threat_search import Scratch
from hexenv.compiled import compiled, kernel
from hexenv.games.base import Actions, State


@compiled
class FaithfulCandidates(NamedTuple):
    """What the text looks at: the one move of the first heuristic to apply, else the best cells."""

    n: int = 5
    """How many of the best cells."""
    reach: int = 2
    """How far from a stone."""
    heuristics: int = ALL_BITS
    """Which heuristics are switched on: bit i for the i-th."""
    defend: float = 1.0
    """The weight of the other side's points on a cell."""
    budget: int = 0
    """How many fours to try at a leaf for a win by them; 0: none."""
    search: Any = None
    """A `FourSearch`."""
    scratch: Any = None
    """A `Scratch`."""

    decides = wins_by_fours
    with_memory = with_scratch

    def list_actions(self, game: Any, state: State, rng: np.random.Generator, out: Actions) -> int:
        if not game.is_terminal(state) and list_forced(game, state, self, rng, out) > 0:
            return 1
        return list_near(game, state, self, 0, out)

    def covers(self, selection: Any, tree: Any, node: int) -> bool:
        return False


@kernel
def list_forced(game: Any, state: State, candidates: Any, rng: Any, out: Actions) -> int:
    """The one move that the first heuristic to apply plays: 1, or 0 where none applies.

    One's own move comes before stopping the other side's. Of several cells the best is played, but
    against an open four one of `list_blocks` is drawn, with probabilities in proportion to their
    points.
    """
    player, defend = game.to_play(state), candidates.defend
    kinds = (WINS, OPENS_FOUR, TWO_FOURS, FOUR_THREE, DOUBLE_THREE)
    own_number = (1, 3, 5, 6, 7)
    other_number = (2, 4, 5, 6, 7)
    for i in range(5):
        for side in (player, 1 - player):
            number = own_number[i] if side == player else other_number[i]
            if not is_enabled(candidates.heuristics, number) or state.counts[side, kinds[i]] == 0:
                continue
            if number == 4:
                count = list_blocks(game, state, side, candidates.scratch, out)
            else:
                count = list_kinds(game, state, side, kinds[i], kinds[i], out)
                if side != player:
                    count = keep_allowed(game, state, player, count, out)
            if count > 0:
                if number == 4:
                    pick = draw_cell(game, state, count, defend, rng, out)
                else:
                    pick = best_of_cells(game, state, count, defend, out)
                out[0] = out[pick]
                return 1
    return 0


@kernel
def list_blocks(game: Any, state: State, attacker: int, scratch: Scratch, out: Actions) -> int:
    """Where the attacker would make open fours, and fives after them, and the other may play."""
    trial, stops = scratch.trial[0], scratch.stops
    stops[:] = 0
    count = list_kinds(game, state, attacker, OPENS_FOUR, OPENS_FOUR, out)
    for i in range(count):
        game.copy(state, trial)
        game.put(trial, attacker, int(out[i]))
        stops[out[i]] = 1
        for cell in range(game.num_actions()):
            if game.kind(trial, attacker, cell) == WINS:
                stops[cell] = 1
    count = 0
    for cell in range(game.num_actions()):
        if stops[cell] == 1 and game.allows(state, 1 - attacker, cell):
            out[count] = cell
            count += 1
    return count


@kernel
def best_of_cells(game: Any, state: State, count: int, defend: float, cells: Actions) -> int:
    """Where among some cells the one with the most points is."""
    best = 0
    for i in range(1, count):
        better = cell_points(game, state, int(cells[i]), defend, 0)
        if better > cell_points(game, state, int(cells[best]), defend, 0):
            best = i
    return best
