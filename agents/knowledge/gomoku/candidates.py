"""Which moves of Gomoku are worth a look, in order of urgency (RHMCTS: Zhang and Xie 2019).

The seven heuristics of RHMCTS, each with a number by which it can be switched off:

1. make five;
2. stop the other side's five;
3. make an open four;
4. stop the other side's open four;
5. two fours at once, made or stopped;
6. a four and a three at once;
7. two threes at once.

Where one of the first five applies, nothing else has to be looked at: `list_urgent` gives a move
that wins (1, 3, 5), or all that may not lose (2, 4, 5). Otherwise the best cells near the stones
are candidates (`list_best`), and the last two make cells better. (The text plays one move for each
heuristic: `list_forced`. But its fourth is unsound, as one's own fours come first, and so are the
sixth and seventh.)
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.gomoku.board import (
    DOUBLE_THREE,
    FOUR_THREE,
    OPENS_FOUR,
    QUIET,
    TWO_FOURS,
    WINS,
)
from agents.knowledge.gomoku.kinds import count_kinds, list_kinds
from agents.knowledge.gomoku.threat_search import list_defences
from hexenv.compiled import kernel
from hexenv.games.base import Actions, State

ALL_HEURISTICS: Final = "1234567"
ALL_BITS: Final = 0b11111110
"""The same, as a bit each."""


@kernel
def applies(heuristics: int, number: int) -> bool:
    """Whether a heuristic is switched on: bit `number` says so."""
    return (heuristics >> number) & 1 == 1


@kernel
def doubles(heuristics: int, open_four: int) -> tuple[int, int]:
    """The least and the greatest kind of two fives at once that anybody looks at.

    Args:
        heuristics: Which are switched on.
        open_four: The number of the one about open fours: 3 for one's own, 4 for the other's.
    """
    least = TWO_FOURS if applies(heuristics, 5) else WINS
    if applies(heuristics, open_four):
        return min(least, OPENS_FOUR), OPENS_FOUR
    return least, TWO_FOURS


@kernel
def has_allowed(game: Any, state: State, side: int, least: int, most: int) -> bool:
    """Whether there is a cell where `side` makes one of these kinds, and may (renju)."""
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

    A kind of the other side's, which has to be stopped, is negative.
    """
    player = game.to_play(state)
    other = 1 - player
    if applies(heuristics, 1) and state.counts[player, WINS] > 0:
        return WINS
    if applies(heuristics, 2) and state.counts[other, WINS] > 0:
        return -WINS
    least, most = doubles(heuristics, 3)
    if has_allowed(game, state, player, least, most):
        return OPENS_FOUR
    least, most = doubles(heuristics, 4)
    if has_allowed(game, state, other, least, most):
        return -OPENS_FOUR
    return QUIET


@kernel
def list_urgent(
    game: Any,
    state: State,
    heuristics: int,
    trial: State,
    stops: NDArray[np.int32],
    out: Actions,
) -> int:
    """The moves that heuristics 1 to 5 leave, where one of them applies.

    Where there is a win, one that wins; else all others lose.

    Args:
        game: A `PatternGame`.
        state: The position; the game goes on.
        heuristics: Which are switched on, a bit each.
        trial: See `list_defences`.
        stops: See `list_defences`.
        out: Receives the cells.

    Returns:
        How many; 0 where nothing is urgent, or all is lost.
    """
    player = game.to_play(state)
    other = 1 - player
    urgent = urgency(game, state, heuristics)
    if urgent == WINS:
        return min(1, list_kinds(game, state, player, WINS, WINS, out))
    if urgent == -WINS:
        count = list_kinds(game, state, other, WINS, WINS, out)
        return keep_allowed(game, state, player, count, out)
    if urgent == OPENS_FOUR:
        least, most = doubles(heuristics, 3)
        return min(1, list_kinds(game, state, player, least, most, out))
    if urgent == -OPENS_FOUR:
        least, most = doubles(heuristics, 4)
        return list_defences(game, state, other, least, most, trial, stops, out)
    return 0


@kernel
def keep_allowed(game: Any, state: State, player: int, count: int, out: Actions) -> int:
    """Drop the cells that the rules do not let a player have; returns how many are left."""
    kept = 0
    for i in range(count):
        if game.allows(state, player, int(out[i])):
            out[kept] = out[i]
            kept += 1
    return kept


@kernel
def list_blocks(
    game: Any, state: State, attacker: int, trial: State, stops: NDArray[np.int32], out: Actions
) -> int:
    """Where open fours would be made, and where the fives after them would be; how many.

    Args:
        game: A `PatternGame`.
        state: The position; the other side is to move.
        attacker: Who would make them.
        trial: A position to try them in.
        stops: ``(cells,)`` of scratch space.
        out: Receives the cells that are free to the other side.
    """
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
def list_forced(
    game: Any,
    state: State,
    heuristics: int,
    defend: float,
    trial: State,
    stops: NDArray[np.int32],
    rng: Any,
    out: Actions,
) -> int:
    """The one move that the first heuristic to apply plays, as the text has it.

    One's own move comes before stopping the other side's. Of several cells the best is played, but
    against an open four one of `list_blocks` is drawn, with probabilities in proportion to their
    points.

    Returns:
        1, or 0 where no heuristic applies.
    """
    player = game.to_play(state)
    kinds = (WINS, OPENS_FOUR, TWO_FOURS, FOUR_THREE, DOUBLE_THREE)
    own_number = (1, 3, 5, 6, 7)
    other_number = (2, 4, 5, 6, 7)
    for i in range(5):
        for side in (player, 1 - player):
            number = own_number[i] if side == player else other_number[i]
            if not applies(heuristics, number) or state.counts[side, kinds[i]] == 0:
                continue
            if number == 4:
                count = list_blocks(game, state, side, trial, stops, out)
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


FORK_POINTS: Final = 10_000.0
"""What heuristics 6 and 7 add to a cell where two threats are made at once."""


@kernel
def merit(game: Any, state: State, cell: int, defend: float, heuristics: int) -> float:
    """What a cell is worth to the player to move: the points of a stone there, and the other's.

    Args:
        game: A `PatternGame`.
        state: The position.
        cell: An empty cell.
        defend: What the other side's points count, against one's own.
        heuristics: Which are switched on; the sixth and the seventh add to the points.
    """
    player = game.to_play(state)
    own = side_merit(game, state, player, cell, heuristics)
    return own + defend * side_merit(game, state, 1 - player, cell, heuristics)


@kernel
def side_merit(game: Any, state: State, side: int, cell: int, heuristics: int) -> float:
    """What a stone of one side would be worth there."""
    points = float(game.point(state, side, cell))
    kind = game.kind(state, side, cell)
    if kind == FOUR_THREE and applies(heuristics, 6):
        return points + FORK_POINTS
    if kind == DOUBLE_THREE and applies(heuristics, 7):
        return points + FORK_POINTS
    return points


@kernel
def best_of_cells(game: Any, state: State, count: int, defend: float, cells: Actions) -> int:
    """Where among some cells the one with the most points is."""
    best = 0
    for i in range(1, count):
        better = merit(game, state, int(cells[i]), defend, 0)
        if better > merit(game, state, int(cells[best]), defend, 0):
            best = i
    return best


@kernel
def draw_cell(game: Any, state: State, count: int, defend: float, rng: Any, cells: Actions) -> int:
    """Where among some cells one is that is drawn in proportion to its points."""
    total = 0.0
    for i in range(count):
        total += merit(game, state, int(cells[i]), defend, 0)
    drawn = rng.random() * total
    for i in range(count):
        drawn -= merit(game, state, int(cells[i]), defend, 0)
        if drawn < 0.0:
            return i
    return count - 1


@kernel
def nearby_columns(game: Any, state: State, row: int, reach: int) -> int:
    """The empty cells of a row within so many steps of a stone in either direction, as bits."""
    found = 0
    rules = game.rules
    for near in range(max(0, row - reach), min(rules.rows, row + reach + 1)):
        taken = int(state.lines[0, near] | state.lines[1, near])
        for distance in range(reach + 1):
            found |= taken << distance | taken >> distance
    own_row = int(state.lines[0, row] | state.lines[1, row])
    return found & ~own_row & ((1 << rules.columns) - 1)


@kernel
def list_best(
    game: Any,
    state: State,
    most: int,
    reach: int,
    defend: float,
    heuristics: int,
    merits: NDArray[np.float64],
    out: Actions,
) -> int:
    """The best cells within reach of the stones, the best first.

    Args:
        game: A `PatternGame`.
        state: The position.
        most: How many.
        reach: How far from a stone, in rows and columns. On an empty board the middle is meant.
        defend: See `merit`.
        heuristics: See `merit`.
        merits: ``(cells,)``: receives what they are worth, in the same order.
        out: Receives them.

    Returns:
        How many.
    """
    rules = game.rules
    player = game.to_play(state)
    count = 0
    for row in range(rules.rows):
        columns = nearby_columns(game, state, row, reach)
        for column in range(rules.columns):
            cell = row * rules.columns + column
            if not (columns >> column) & 1 or not game.allows(state, player, cell):
                continue
            found = merit(game, state, cell, defend, heuristics)
            if count < most:
                count += 1
            elif found <= merits[count - 1]:
                continue
            place = count - 1
            while place > 0 and merits[place - 1] < found:
                merits[place] = merits[place - 1]
                out[place] = out[place - 1]
                place -= 1
            merits[place] = found
            out[place] = cell
    return count
