"""What patterns tell a search: candidate moves, the evaluation of positions, wins at leaves.

The candidates are those of RHMCTS (Zhang and Xie 2019). It has seven heuristics, each with a number
by which it can be switched off:

1. make five;
2. stop the other side's five;
3. make an open four;
4. stop the other side's open four;
5. two fours at once, made or stopped;
6. a four and a three at once;
7. two threes at once.

Where one of the first five applies, nothing else has to be looked at: `list_urgent` gives a move
that wins (1, 3, 5), or all moves that do not lose at once (2, 4, 5). Otherwise the best
cells near the stones are candidates (`list_best`), and the last two heuristics make cells better.
The authors play one move where a heuristic applies: `Candidates.forced` draws one of these.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from agents.knowledge.gomoku.board import (
    DOUBLE_THREE,
    FOUR_THREE,
    MAKES_FOUR,
    OPENS_FOUR,
    QUIET,
    TWO_FOURS,
    WINS,
    PatternGame,
    count_kinds,
    find_stop,
    list_kinds,
    list_stops,
)
from agents.knowledge.gomoku.threat_search import (
    list_defences,
    new_four_search,
    search_fours,
)
from agents.search.knowledge import all_covered, list_legal
from hexenv.compiled import compiled, kernel, scratch_array
from hexenv.games import base
from hexenv.games.base import NO_ACTION, Actions, State

ALL_HEURISTICS: Final = "1234567"
ALL_BITS: Final = 0b11111110
"""The same as bits: bit i is heuristic i."""


@kernel
def is_enabled(heuristics: int, number: int) -> bool:
    """Whether a heuristic is switched on: bit `number` says so."""
    return (heuristics >> number) & 1 == 1


@kernel
def doubles(heuristics: int, open_four: int) -> tuple[int, int]:
    """The least and the greatest kind that threatens two fives at once, among the heuristics.

    `open_four` is the heuristic about open fours: 3 for one's own, 4 for the other's.
    """
    least = TWO_FOURS if is_enabled(heuristics, 5) else WINS
    if is_enabled(heuristics, open_four):
        return min(least, OPENS_FOUR), OPENS_FOUR
    return least, TWO_FOURS


@kernel
def has_allowed(game: Any, state: State, side: int, least: int, most: int) -> bool:
    """Whether there is a cell where `side` makes one of these kinds, and is allowed to (renju)."""
    if count_kinds(state, side, least, most) == 0:
        return False
    if not game.bars(side):
        return True
    for cell in range(game.num_actions()):
        kind = game.kind(state, side, cell)
        if least <= kind <= most and game.allows(state, side, cell):
            return True
    return False


@kernel
def urgency(game: Any, state: State, heuristics: int) -> int:
    """What has to be done first: the kind to make or to stop, or `QUIET`.

    Negative: a kind of the other side that must be stopped.
    """
    player = game.to_play(state)
    other = 1 - player
    if is_enabled(heuristics, 1) and state.counts[player, WINS] > 0:
        return WINS
    if is_enabled(heuristics, 2) and state.counts[other, WINS] > 0:
        return -WINS
    least, most = doubles(heuristics, 3)
    if has_allowed(game, state, player, least, most):
        return OPENS_FOUR
    least, most = doubles(heuristics, 4)
    if has_allowed(game, state, other, least, most):
        return -OPENS_FOUR
    return QUIET


@kernel
def list_urgent(game: Any, state: State, heuristics: int, trial: Any, out: Actions) -> int:
    """If one of heuristics 1 to 5 applies: a winning move, or all that do not lose at once.

    How many; 0 where nothing is urgent, or all is lost. `trial`: see `list_defences`.
    """
    player = game.to_play(state)
    other = 1 - player
    urgent = urgency(game, state, heuristics)
    if urgent == WINS:
        return min(1, list_kinds(game, state, player, WINS, WINS, out))
    if urgent == -WINS:
        count = list_stops(game, state, other, out)
        if count > 0:
            return count
        count = list_kinds(game, state, other, WINS, WINS, out)
        return keep_allowed(game, state, player, count, out)
    if urgent == OPENS_FOUR:
        least, most = doubles(heuristics, 3)
        return min(1, list_kinds(game, state, player, least, most, out))
    if urgent == -OPENS_FOUR:
        least, most = doubles(heuristics, 4)
        return list_defences(game, state, other, least, most, trial, out)
    return 0


@kernel
def keep_allowed(game: Any, state: State, player: int, count: int, out: Actions) -> int:
    """Drop the cells that the rules forbid to a player; returns how many are left."""
    kept = 0
    for i in range(count):
        if game.allows(state, player, int(out[i])):
            out[kept] = out[i]
            kept += 1
    return kept


FORK_POINTS: Final = 10_000.0
"""What heuristics 6 and 7 add to a cell where two threats are made at once."""


@kernel
def cell_points(game: Any, state: State, cell: int, defend: float, heuristics: int) -> float:
    """The points of an empty cell for the player to move, and with a weight for the other side."""
    player = game.to_play(state)
    own = side_points(game, state, player, cell, heuristics)
    return own + defend * side_points(game, state, 1 - player, cell, heuristics)


@kernel
def side_points(game: Any, state: State, side: int, cell: int, heuristics: int) -> float:
    """The points of a stone of one side there."""
    points = float(game.point(state, side, cell))
    kind = game.kind(state, side, cell)
    if kind == FOUR_THREE and is_enabled(heuristics, 6):
        return points + FORK_POINTS
    if kind == DOUBLE_THREE and is_enabled(heuristics, 7):
        return points + FORK_POINTS
    return points


@kernel
def draw_cell(game: Any, state: State, limits: Any, count: int, rng: Any, cells: Actions) -> int:
    """Index of a cell drawn at random in proportion to its merit; `limits` as of `list_best`."""
    total = 0.0
    for i in range(count):
        total += limits.merit(game, state, int(cells[i]), 0)
    drawn = rng.random() * total
    for i in range(count):
        drawn -= limits.merit(game, state, int(cells[i]), 0)
        if drawn < 0.0:
            return i
    return count - 1


@kernel
def nearby_columns(game: Any, state: State, row: int, reach: int) -> int:
    """The empty cells of a row within `reach` steps of a stone in either direction, as bits."""
    found = 0
    rules = game.rules
    for near in range(max(0, row - reach), min(rules.rows, row + reach + 1)):
        taken = int(state.lines[0, near] | state.lines[1, near])
        for distance in range(reach + 1):
            found |= taken << distance | taken >> distance
    own_row = int(state.lines[0, row] | state.lines[1, row])
    return found & ~own_row & ((1 << rules.columns) - 1)


@kernel
def list_best(game: Any, state: State, limits: Any, heuristics: int, out: Actions) -> int:
    """The best `limits.n` cells within reach of the stones, the best first; returns how many.

    `limits` are like `Candidates`.
    """
    rules, points = game.rules, scratch_array(limits.n, np.float64)
    player = game.to_play(state)
    count = 0
    for row in range(rules.rows):
        columns = nearby_columns(game, state, row, limits.reach)
        for column in range(rules.columns):
            cell = row * rules.columns + column
            if not (columns >> column) & 1 or not game.allows(state, player, cell):
                continue
            found = limits.merit(game, state, cell, heuristics)
            if count < limits.n:
                count += 1
            elif found <= points[count - 1]:
                continue
            place = count - 1
            while place > 0 and points[place - 1] < found:
                points[place] = points[place - 1]
                out[place] = out[place - 1]
                place -= 1
            points[place] = found
            out[place] = cell
    return count


# ---- the evaluation of positions -----------------------------------------------------------------


SCALE: Final = 3000.0
"""Difference of points from which a side is clearly better."""


@kernel
def evaluate_board(game: Any, state: State, scale: float) -> float:
    """The board evaluation for the player to move, -1 to 1, in a game that goes on.

    1 and -1 only where it is sure: the player to move makes five, or has two ways to make it that
    cannot be stopped; or the other side has fives that no stone stops.
    """
    player = game.to_play(state)
    other = 1 - player
    if state.counts[player, WINS] > 0:
        return 1.0
    fives = state.counts[other, WINS]
    if fives > 1 and find_stop(game, state, other, 0) == NO_ACTION:
        return -1.0
    if fives == 0 and has_allowed(game, state, player, TWO_FOURS, OPENS_FOUR):
        return 1.0
    return 0.999 * math.tanh(game.balance(state, player) / scale)


@kernel
def value_for_first(game: Any, state: State, scale: float) -> float:
    """The value of a position for player 0, -1 to 1: its outcome, or the board evaluation."""
    if game.is_terminal(state):
        return float(game.outcome(state, 0))
    found = evaluate_board(game, state, scale)
    return found if game.to_play(state) == 0 else -found


# ---- knowledge of a tree search ------------------------------------------------------------------


@kernel
def wins_by_fours(self: Any, game: Any, state: State) -> bool:
    """`Knowledge.decides`: the player to move wins by fours; the winner is written down."""
    player = game.to_play(state)
    if self.budget == 0 or count_kinds(state, player, MAKES_FOUR, WINS) == 0:
        return False
    if search_fours(game, state, self.search, self.budget, True) <= 0:
        return False
    state.winner = player
    return True


@compiled
class FourThreats(NamedTuple):
    """A leaf from which the player to move wins by continuous fours is a win."""

    budget: int = 100
    """How many fours to try at a leaf."""
    search: Any = None
    """A `FourSearch`."""

    list_actions = list_legal
    covers = all_covered
    decides = wins_by_fours

    def with_memory(self, game: PatternGame) -> "FourThreats":
        return self._replace(search=new_four_search(game))


@kernel
def list_near(game: Any, state: State, limits: Any, out: Actions) -> int:
    """The candidates where nothing is urgent: the best cells near the stones, else the middle."""
    if game.is_terminal(state):
        return 0
    count = list_best(game, state, limits, limits.heuristics, out)
    for i in range(count // 2):  # the most promising last
        out[i], out[count - 1 - i] = out[count - 1 - i], out[i]
    if count == 0 and state.ply == 0:
        out[0] = game.rules.rows // 2 * game.rules.columns + game.rules.columns // 2
        return 1
    return count if count > 0 else game.legal_actions(state, out)


@compiled
class Candidates(NamedTuple):
    """What RHMCTS looks at: the urgent moves or, if there are none, the best cells near stones."""

    n: int = 12
    """How many of the best cells."""
    reach: int = 2
    """How far from a stone."""
    heuristics: int = ALL_BITS
    """Which heuristics are switched on: bit i for the i-th."""
    defend: float = 0.5
    """Weight of the other side's points on a cell; one's own have weight 1."""
    budget: int = 100
    """How many fours to try at a leaf for a win by them; 0: none."""
    forced: bool = False
    """Whether of the urgent moves one is drawn, in proportion to its points, and no other tried."""
    search: Any = None
    """A `FourSearch`."""
    trial: Any = None
    """``(1,)``: a position to try moves in."""

    decides = wins_by_fours

    def with_memory(self, game: Any) -> "Candidates":
        return self._replace(search=new_four_search(game), trial=base.new_states(game, 1))

    def merit(self, game: Any, state: State, cell: int, heuristics: int) -> float:
        """How good a cell is, for `list_best`, and for `draw_cell`, where it is not negative."""
        return cell_points(game, state, cell, self.defend, heuristics)

    def list_actions(self, game: Any, state: State, rng: np.random.Generator, out: Actions) -> int:
        if not game.is_terminal(state):
            count = list_urgent(game, state, self.heuristics, self.trial, out)
            if count > 0 and self.forced:
                out[0] = out[draw_cell(game, state, self, count, rng, out)]
                return 1
            if count > 0:
                return count
        return list_near(game, state, self, out)

    def covers(self, selection: Any, tree: Any, node: int) -> bool:
        return not self.forced and selection.is_complete(tree, node)
