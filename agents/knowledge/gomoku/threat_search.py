"""Searches for wins by threats: by continuous fours (VCF), and by threes as well (VCT).

In a win by fours every move makes a four, so every answer is forced. (In caro a four may have
several answers. It is not tried then, and "no win" means that there is none without such fours.)
Threes leave the defender the cells that stop the open four (`list_defences`), and fours. The search
by threats deepens iteratively, and ends every line with a search by fours. A search has its room in
a `FourSearch` or a `ThreatSearch`, and remembers there in which positions it has found no win.
Source: Allis, van den Herik and Huntjens, "Go-Moku and threat-space search", 1993.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.gomoku.board import (
    MAKES_THREE,
    OPENS_FOUR,
    TWO_FOURS,
    WINS,
    PatternGame,
    are_near,
    count_kinds,
    find_kind,
    has_other_stops,
    list_fours,
    list_kinds,
    list_stops,
    makes_four,
)
from hexenv.compiled import compiled, kernel, scratch_array
from hexenv.games.base import EMPTY, NO_ACTION, Actions, State
from hexenv.games.gomoku.patterns import NOTHING

MOST_FOURS: Final = 100
"""How many fours of the attacker a line may have."""
FOUR_LINE: Final = 2 * MOST_FOURS + 1

UNKNOWN: Final = -1
"""What a search says whose budget has ended."""
NO_WIN: Final = 0
"""What it says when there is no win; else it says how long the line is."""


@compiled
class FourSearch(NamedTuple):
    """The arrays of a search by fours, and what it remembers; `new_four_search` makes one."""

    positions: Any
    """``(MOST_FOURS + 1,)``: before each four of the line, and after the last."""
    attacks: NDArray[np.int32]
    """``(MOST_FOURS, cells)``: what the attacker can try there, the next one last."""
    left: NDArray[np.int32]
    """``(MOST_FOURS,)``: how many of them he has not tried."""
    cut: NDArray[np.bool_]
    """``(MOST_FOURS,)``: whether something below was left out."""
    line: NDArray[np.int32]
    """``(FOUR_LINE,)``: the moves of both sides, from the root."""
    failures: NDArray[np.int64]
    """``(2 ** n,)``: hashes of positions without a win by fours; 0 for an empty place."""
    spent: NDArray[np.int64]
    """``(1,)``: how many positions were searched, in all searches so far."""
    paused: NDArray[np.int64]
    """``(1,)``: the depth at which the last search stopped because its budget had ended; -1 if it
    came to its end."""
    least_beside: int = NOTHING
    """Single fours are tried only if they build something beside: if their second best class is at
    least this one. With `NOTHING` all are; only then `NO_WIN` is sure."""


def new_four_search(
    game: PatternGame, memory: int = 1 << 14, least_beside: int = NOTHING
) -> FourSearch:
    """The arrays of a search; `memory` failures are remembered, a power of two."""
    return FourSearch(
        np.zeros(MOST_FOURS + 1, game.state_dtype).view(np.recarray),
        np.empty((MOST_FOURS, game.num_actions()), np.int32),
        np.zeros(MOST_FOURS, np.int32),
        np.zeros(MOST_FOURS, np.bool_),
        np.full(FOUR_LINE, NO_ACTION, np.int32),
        np.zeros(memory, np.int64),
        np.zeros(1, np.int64),
        np.full(1, -1, np.int64),
        least_beside,
    )


@kernel
def keep_building(game: Any, state: State, side: int, least: int, count: int, out: Actions) -> int:
    """Drop the single fours with less than two classes of at least this one; how many are left."""
    if least == NOTHING:
        return count
    kept = 0
    for i in range(count):
        found = 0
        for direction in range(4):
            found += int(game.pattern(state, side, int(out[i]), direction) >= least)
        if found > 1 or game.kind(state, side, int(out[i])) >= TWO_FOURS:
            out[kept] = out[i]
            kept += 1
    return kept


@kernel
def list_attacks(game: Any, state: State, side: int, least_beside: int, out: Actions) -> int:
    """The fours that `side` may play for a win by fours, the next one last.

    Where the other side wins next, only those that stop it.

    `least_beside`: see `FourSearch`.
    """
    other = 1 - side
    if state.counts[other, WINS] == 0:
        count = list_fours(game, state, side, out)
        return keep_building(game, state, side, least_beside, count, out)
    found, count = 0, list_stops(game, state, other, out)
    for i in range(count):
        if makes_four(game.kind(state, side, int(out[i]))):
            out[found] = out[i]
            found += 1
    return found


@kernel
def search_fours(game: Any, root: State, search: FourSearch, budget: int, begins: bool) -> int:
    """Look for a win by continuous fours of the player to move, in a game that goes on.

    If not `begins`, go on with the last search, which its budget has ended (`FourSearch.paused`).

    Returns:
        How many moves the line in `search.line` has, attacks and answers, up to five in a row (or,
        in renju, up to a four that black may not answer); `NO_WIN` if there is none; `UNKNOWN` if
        the budget of fours, or the room for longer lines, has ended the search.
    """
    side = game.to_play(root)
    depth = int(search.paused[0])
    search.paused[0] = -1
    if begins:
        if root.counts[side, WINS] > 0:
            search.line[0] = find_kind(game, root, side, WINS, 0)
            return 1
        if not open_position(game, root, search, 0):
            return NO_WIN
        game.copy(root, search.positions[0])
        depth = 0
    while depth >= 0:
        if search.left[depth] == 0:
            close_position(game, search, depth)
            depth -= 1
            continue
        if budget == 0:
            search.paused[0] = depth
            return UNKNOWN
        budget -= 1
        length = try_four(game, search, depth, side)
        if length > 0:
            return length
        if length == 0:
            if depth + 1 == MOST_FOURS:
                search.cut[depth] = True
            elif open_position(game, search.positions[depth + 1], search, depth + 1):
                depth += 1
    return UNKNOWN if search.cut[0] else NO_WIN


@kernel
def open_position(game: Any, state: State, search: FourSearch, depth: int) -> bool:
    """List the attacks of a position; whether there are any, and it has not failed before."""
    key = game.position_hash(state)
    if search.failures[key & (search.failures.size - 1)] == key:
        return False
    search.cut[depth] = False
    side, attacks = game.to_play(state), search.attacks[depth]
    search.left[depth] = list_attacks(game, state, side, search.least_beside, attacks)
    return search.left[depth] > 0


@kernel
def close_position(game: Any, search: FourSearch, depth: int) -> None:
    """Remember that no attack wins; unless something was left out, which its parent must know."""
    if not search.cut[depth]:
        key = game.position_hash(search.positions[depth])
        search.failures[key & (search.failures.size - 1)] = key
    elif depth > 0:
        search.cut[depth - 1] = True


@kernel
def try_four(game: Any, search: FourSearch, depth: int, side: int) -> int:
    """Play the next four in a position, and the answer to it.

    The length of the line if it wins; 0 if the game goes on; -1 if the attack is over.
    """
    other = 1 - side
    search.spent[0] += 1
    search.left[depth] -= 1
    cell = int(search.attacks[depth, search.left[depth]])
    state = search.positions[depth + 1]
    game.copy(search.positions[depth], state)
    game.step(state, cell)
    if game.is_terminal(state):  # in renju, where black has no legal answer at all, a draw
        return -1
    if state.counts[other, WINS] > 0 or state.counts[side, WINS] == 0:
        return -1
    answer = find_kind(game, state, side, WINS, 0)
    if has_other_stops(game, state, side, answer):
        return -1
    search.line[2 * depth] = cell
    search.line[2 * depth + 1] = answer
    if not game.allows(state, other, answer):
        return 2 * depth + 1
    game.step(state, answer)
    if state.counts[side, WINS] > 0:
        search.line[2 * depth + 2] = find_kind(game, state, side, WINS, 0)
        return 2 * depth + 3
    return 0 if not game.is_terminal(state) else -1


# ---- wins by threats -----------------------------------------------------------------------------


MOST_THREATS: Final = 30
"""How many of his moves the search by all threats may go deep, before the fours that end it."""
LINE_ROOM: Final = 2 * (MOST_FOURS + MOST_THREATS + 1)


@compiled
class ThreatSearch(NamedTuple):
    """The arrays of a search by threats, and what it remembers; `new_threat_search` makes one.

    Positions take turns: the attacker is to move in those of even number, the defender in the
    others.
    """

    fours: FourSearch
    stack: Any
    """``(2 * MOST_THREATS + 2,)`` positions, from the root."""
    trial: Any
    """``(1,)``: a position to try moves in."""
    moves: NDArray[np.int32]
    """``(2 * MOST_THREATS + 2, cells)``: what can be played, the next one last."""
    waiting: NDArray[np.int32]
    """How many of them were not tried."""
    spoiled: NDArray[np.bool_]
    """Whether a search by fours below has run out of its budget."""
    lines: NDArray[np.int32]
    """``(2 * MOST_THREATS + 2, LINE_ROOM)``: the winning line from each position."""
    lengths: NDArray[np.int32]
    """``(2 * MOST_THREATS + 2,)``: their lengths."""
    failed: NDArray[np.int64]
    """``(2 ** n,)``: hashes of positions in which the attacker has found no win."""
    failed_depth: NDArray[np.int32]
    """``(2 ** n,)``: how many of his moves deep he has looked there."""
    paused: NDArray[np.int64]
    """``(2,)``: the depth at which the last search stopped because its budget had ended, -1 if it
    came to its end; and whether it had left nothing out so far."""


def new_threat_search(game: PatternGame, memory: int = 1 << 16) -> ThreatSearch:
    """The arrays of a search; `memory` failures of either kind are remembered, a power of two."""
    rows, cells = 2 * MOST_THREATS + 2, game.num_actions()
    return ThreatSearch(
        new_four_search(game, memory),
        np.zeros(rows, game.state_dtype).view(np.recarray),
        np.zeros(1, game.state_dtype).view(np.recarray),
        np.empty((rows, cells), np.int32),
        np.zeros(rows, np.int32),
        np.zeros(rows, np.bool_),
        np.empty((rows, LINE_ROOM), np.int32),
        np.zeros(rows, np.int32),
        np.zeros(memory, np.int64),
        np.zeros(memory, np.int32),
        np.full(2, -1, np.int64),
    )


@kernel
def list_defences(
    game: Any, state: State, attacker: int, least: int, most: int, trial: Any, out: Actions
) -> int:
    """What the defender can play against threats of two fives: all else loses.

    It has to stop every such threat: on its cell, or where one of the two fives would be; with
    three fives only the cell itself will do; in caro, wherever a stone has the effect that the
    threat no longer makes two fives. Or it is a four of his own. The kinds of threats are from
    `least`, `TWO_FOURS` or `OPENS_FOUR`, to `most`; neither player can make five now. `trial` is
    ``(1,)``, a position to try moves in.

    Returns:
        How many; -1 if there is no threat after all, as black may not play it (renju).
    """
    after, stops = trial[0], scratch_array(game.num_actions(), np.int32)
    stops[:] = 0
    threats = 0
    for cell in range(game.num_actions()):
        kind = game.kind(state, attacker, cell)
        if least <= kind <= most and game.allows(state, attacker, cell):
            threats += 1
            stops[cell] += 1
            if game.rules.has_blocked_fives():
                count_stops(game, state, attacker, cell, after, stops)
                continue
            game.copy(state, after)
            game.put(after, attacker, cell)
            if after.counts[attacker, WINS] == 2:
                one = find_kind(game, after, attacker, WINS, 0)
                stops[one] += 1
                stops[find_kind(game, after, attacker, WINS, one + 1)] += 1
    if threats == 0:
        return -1
    defender = 1 - attacker
    count = list_fours(game, state, defender, out)
    for cell in range(game.num_actions()):
        is_listed = makes_four(game.kind(state, defender, cell))
        if stops[cell] == threats and not is_listed and game.allows(state, defender, cell):
            out[count] = cell
            count += 1
    return count


@kernel
def count_stops(
    game: Any, state: State, attacker: int, threat: int, after: State, stops: NDArray[np.int32]
) -> None:
    """Count in `stops` the other cells on which a stone stops a threat (caro)."""
    for cell in range(game.num_actions()):
        if cell != threat and game.owner(state, cell) == EMPTY and are_near(game, threat, cell):
            game.copy(state, after)
            game.put(after, 1 - attacker, cell)
            stops[cell] += not TWO_FOURS <= game.kind(after, attacker, threat) <= OPENS_FOUR


@kernel
def list_threats(game: Any, state: State, side: int, out: Actions) -> int:
    """The moves of `side` that threaten something, the most promising last; how many.

    Where the other side wins next, only the cells that stop it: an older threat may still stand.
    """
    other = 1 - side
    if state.counts[other, WINS] > 0:
        return list_stops(game, state, other, out)
    return list_kinds(game, state, side, MAKES_THREE, OPENS_FOUR, out)


OPEN: Final = -2
"""The verdict on a position whose moves have to be tried."""


@kernel
def enter(game: Any, search: ThreatSearch, depth: int, limit: int, budget: int) -> int:
    """Look at a new position of the stack; list its moves if they have to be tried.

    `OPEN`; `NO_WIN`; `UNKNOWN` for none within the limit; or, a win, the length of its line.
    """
    state = search.stack[depth]
    side = game.to_play(search.stack[0])
    search.lengths[depth] = 0
    search.spoiled[depth] = False
    if game.is_terminal(state):
        return NO_WIN
    if depth % 2 == 1:
        return enter_defence(game, search, depth, side)
    found = search_fours(game, state, search.fours, budget, True)
    if found > 0:
        for i in range(found):
            search.lines[depth, i] = search.fours.line[i]
        search.lengths[depth] = found
        return found
    search.spoiled[depth] = found == UNKNOWN
    key = game.position_hash(state)
    place = key & (search.failed.size - 1)
    if search.failed[place] == key and search.failed_depth[place] >= limit - depth // 2:
        return UNKNOWN
    search.waiting[depth] = list_threats(game, state, side, search.moves[depth])
    if search.waiting[depth] == 0:
        return NO_WIN if found == NO_WIN else UNKNOWN
    return OPEN if depth < 2 * limit else UNKNOWN


@kernel
def enter_defence(game: Any, search: ThreatSearch, depth: int, side: int) -> int:
    """`enter` where the defender is to move."""
    state = search.stack[depth]
    fives = state.counts[side, WINS]
    if (
        state.counts[1 - side, WINS] > 0
        or fives + count_kinds(state, side, TWO_FOURS, OPENS_FOUR) == 0
    ):
        return NO_WIN
    moves = search.moves[depth]
    if fives > 0:
        search.waiting[depth] = list_stops(game, state, side, moves)
        if search.waiting[depth] > 0:
            return OPEN
        if fives > 1:
            trial, five = search.trial[0], find_kind(game, state, side, WINS, 0)
            game.copy(state, trial)
            game.put(trial, 1 - side, five)
            search.lines[depth, 0] = five
            search.lines[depth, 1] = find_kind(game, trial, side, WINS, 0)
            search.lengths[depth] = 2
        return 2
    count = list_defences(game, state, side, TWO_FOURS, OPENS_FOUR, search.trial, moves)
    search.waiting[depth] = count
    if count == 0:
        return 2  # a win, and no answer to go into the line
    return OPEN if count > 0 else NO_WIN


@kernel
def search_threats(
    game: Any,
    root: State,
    search: ThreatSearch,
    limit: int,
    budget: int,
    fours: int,
    begins: bool,
) -> int:
    """Look for a win by continuous threats of the player to move, in a game that goes on.

    `limit` is how many moves of the attacker to look deep, before the fours that end a line,
    `budget` how many positions to look at, and `fours` how many of them in one search by fours. If
    not `begins`, go on with the last search, which its budget has ended (`ThreatSearch.paused`).

    Returns:
        How many moves the line in ``search.lines[0]`` has: the answers in it hold out longest. It
        may end before the last moves, where there is no answer. Else see `search_fours`.
    """
    end = search.fours.spent[0] + budget
    depth, verdict, is_known = int(search.paused[0]), OPEN, search.paused[1] > 0
    search.paused[0] = -1
    if begins:
        game.copy(root, search.stack[0])
        depth = 0
        verdict = enter(game, search, 0, limit, fours)
        is_known = verdict != UNKNOWN
    while True:
        if verdict == OPEN and search.waiting[depth] > 0:
            if search.fours.spent[0] >= end:
                search.paused[0], search.paused[1] = depth, int(is_known)
                return UNKNOWN
            search.fours.spent[0] += 1
            search.waiting[depth] -= 1
            game.copy(search.stack[depth], search.stack[depth + 1])
            game.step(search.stack[depth + 1], int(search.moves[depth, search.waiting[depth]]))
            depth += 1
            verdict = enter(game, search, depth, limit, fours)
            is_known = is_known and verdict != UNKNOWN
            continue
        is_won = depth % 2 == 1 if verdict == OPEN else verdict > 0
        if not is_won and depth % 2 == 0 and not search.spoiled[depth]:
            remember_failure(game, search, depth, limit)
        if depth == 0:
            if is_won:
                return int(search.lengths[0])
            return NO_WIN if is_known else UNKNOWN
        depth -= 1
        if not is_won and search.spoiled[depth + 1]:
            search.spoiled[depth] = True
        verdict = OPEN
        if is_won == (depth % 2 == 0):  # it decides: a win for the attacker, or none against this
            verdict = 1 if is_won else UNKNOWN
        if is_won:
            take_line(search, depth)


@kernel
def deepen_threats(game: Any, state: State, search: ThreatSearch, most: int, budget: int) -> int:
    """`search_threats` one threat deep, then two, and so on, to `most` or until all is known."""
    end = search.fours.spent[0] + budget
    found = UNKNOWN
    for limit in range(1, most + 1):
        left = end - search.fours.spent[0]
        found = search_threats(game, state, search, limit, left, max(budget // 10, 1), True)
        if found >= NO_WIN or search.fours.spent[0] >= end:
            break
    return found


@kernel
def remember_failure(game: Any, search: ThreatSearch, depth: int, limit: int) -> None:
    """Note how deep the attacker has looked for a win in vain."""
    key = game.position_hash(search.stack[depth])
    place = key & (search.failed.size - 1)
    search.failed[place] = key
    search.failed_depth[place] = limit - depth // 2


@kernel
def take_line(search: ThreatSearch, depth: int) -> None:
    """Make the move tried last, with the line behind it, the line of a position.

    The attacker takes the first that wins, the defender the longest.
    """
    length = search.lengths[depth + 1]
    if depth % 2 == 1 and length + 1 <= search.lengths[depth]:
        return
    search.lines[depth, 0] = search.moves[depth, search.waiting[depth]]
    for i in range(length):
        search.lines[depth, i + 1] = search.lines[depth + 1, i]
    search.lengths[depth] = length + 1
