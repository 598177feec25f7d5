"""Alpha-beta for Gomoku with what strong engines add: a table, reductions, fours.

The search is a principal variation search: the first move of a position gets the whole window, the
others only have to be shown to be worse. It is no recursion, so that it can stop at any position
for a look at the clock and go on later. Every ply has a `NODE`; `search` opens nodes, chooses their
children and closes them.

Values are whole numbers for the player to move. `WIN` less the plies to it is a proven win: the
other side's answers were all looked at. Where some were left out, a loss is only presumed, and its
value is cut to `PRESUMED`. Below that are values of the evaluation.

Sources:
    Marsland, "A review of game-tree pruning", ICCA Journal 9, 1986: principal variation search.
"""

from typing import Any, Final

from agents.knowledge.gomoku.board import (
    MAKES_FOUR,
    MAKES_THREE,
    OPENS_FOUR,
    TWO_FOURS,
    WINS,
    count_kinds,
    find_kind,
    find_stop,
    list_stops,
)
from agents.knowledge.gomoku.candidates import has_allowed, nearby_columns
from agents.knowledge.gomoku.engine_memory import (
    AT_LEAST,
    AT_MOST,
    BASE,
    EXACT,
    FULL,
    INFINITE,
    LARGEST,
    MOST_PLIES,
    NARROW,
    NEW,
    PLY,
    POSITIONS,
    PRESUMED,
    REDUCED,
    UNDECIDED,
    WIN,
    Engine,
    look_up,
    store,
)
from agents.knowledge.gomoku.threat_search import list_defences, search_fours
from hexenv.compiled import kernel
from hexenv.games.base import NO_ACTION, Actions, State

MOST_FOURS_TRIED: Final = 200
"""Fours of one search for a win by them;"""
MOST_AT_ROOT: Final = 5_000
"""and at the root, where all fours are tried, whatever they build beside."""
ABOVE: Final = 120
BELOW: Final = 250
"""How far outside of the window, for each ply of depth, the evaluation of a position near the end
of a line has to be for it not to be searched."""
FIRST_MOVES: Final = 6
MORE_MOVES: Final = 6
"""How many moves are tried near the end of a line, and how many more for each ply of depth."""

FIRST: Final = 2**30
"""The promise of the table's move."""
UNLIKELY: Final = 400
"""A move that promises so much less than the best is reduced by one ply more; 100 are a nat."""


@kernel
def begin(engine: Engine, depth: int, alpha: int, beta: int) -> None:
    """Make the root ready for a search to this depth."""
    engine.control[PLY] = engine.control[BASE] = 0
    engine.root_values[:] = -INFINITE
    set_node(engine, 0, depth, alpha, beta)


@kernel
def set_node(engine: Engine, ply: int, depth: int, alpha: int, beta: int) -> None:
    """Make a node ready to be opened; its position is in place."""
    node = engine.nodes[ply]
    node.stage = NEW
    node.depth = depth
    node.alpha = alpha
    node.beta = beta


@kernel
def search(game: Any, engine: Engine, budget: int) -> bool:
    """Go on until ``nodes[control[BASE]]`` has its value, `best`, or for `budget` positions.

    Whether it has its value.
    """
    ply = int(engine.control[PLY])
    end = engine.control[POSITIONS] + budget
    while True:
        value = UNDECIDED
        if engine.nodes[ply].stage == NEW:
            value = open_node(game, engine, ply)
        if value == UNDECIDED and choose_child(game, engine, ply):
            ply += 1
            if engine.control[POSITIONS] >= end:
                engine.control[PLY] = ply
                return False
            continue
        if value == UNDECIDED:
            value = close_node(game, engine, ply)
        if ply == engine.control[BASE]:
            engine.nodes[ply].best = value
            return True
        ply -= 1
        close_child(game, engine, ply, -value)


@kernel
def value_of(game: Any, engine: Engine, state: State, depth: int, most: int) -> int:
    """The value of a position for its player to move, by a search to a depth.

    If that takes more than `most` positions, it is what the evaluation says, without a search. The
    table stays for the next call.
    """
    game.copy(state, engine.states[1])
    engine.control[PLY] = engine.control[BASE] = 1
    set_node(engine, 1, depth, -INFINITE, INFINITE)
    if search(game, engine, most):
        return int(engine.nodes[1].best)
    return limited(game.balance(state, game.to_play(state)))


# ---- opening a node ------------------------------------------------------------------------------


@kernel
def open_node(game: Any, engine: Engine, ply: int) -> int:
    """Look at a new position: its value, or `UNDECIDED` and its moves are listed."""
    node, state = engine.nodes[ply], engine.states[ply]
    engine.control[POSITIONS] += 1
    node.best = -INFINITE
    node.best_move = NO_ACTION
    node.tried = 0
    node.count = 0
    node.complete = True
    node.quiet = False
    node.first_alpha = node.alpha
    node.stage = FULL
    if game.is_terminal(state):
        return (WIN - ply) * int(game.outcome(state, game.to_play(state)))
    if ply > 0:
        player = game.to_play(state)
        value = sure_value(game, state, player, ply)
        if value != UNDECIDED:
            return value
        node.alpha = max(node.alpha, ply - WIN)
        node.beta = min(node.beta, WIN - ply - 3)
        if node.alpha >= node.beta:
            return int(node.alpha)
        if ply >= MOST_PLIES:
            return limited(game.balance(state, player))
    return open_in_play(game, engine, ply)


@kernel
def open_in_play(game: Any, engine: Engine, ply: int) -> int:
    """`open_node` of a position that is neither over nor decided at a glance."""
    node, state = engine.nodes[ply], engine.states[ply]
    player = game.to_play(state)
    other = 1 - player
    forced = list_forced(game, state, player, engine.moves[ply])
    if forced > 0:
        node.depth = node.depth + 1 if forced == 1 else max(node.depth, 1)
    first = NO_ACTION
    if engine.rules.table:
        value, first = look_up(game, engine, ply)
        if value != UNDECIDED and ply > 0:
            return value
    if forced > 0:
        node.count = forced
        set_promise(game, engine, ply, first)
        return UNDECIDED
    node.static = limited(game.balance(state, player))
    is_threatened = has_allowed(game, state, other, TWO_FOURS, OPENS_FOUR)
    if node.depth <= 0 and ply > 0 and not is_threatened and node.static >= node.beta:
        return int(node.static)
    value = wins_by_fours(game, engine, ply)
    if value != UNDECIDED:
        return value
    if is_threatened:
        is_late = node.depth <= 0 and ply > 0
        if is_late and (node.static <= node.alpha or not engine.rules.answers):
            return int(node.static)
        list_answers(game, engine, ply, first)
        if node.count > 0 or ply > 0:
            return UNDECIDED
    if ply > 0:
        value = prune(engine, ply)
        if value != UNDECIDED:
            return value
    list_candidates(game, engine, ply, first)
    return UNDECIDED


@kernel
def list_forced(game: Any, state: State, player: int, out: Actions) -> int:
    """The only moves, one that makes five or those that stop all fives of the other side."""
    if state.counts[player, WINS] > 0:
        out[0] = find_kind(game, state, player, WINS, 0)
        return 1
    count = list_stops(game, state, 1 - player, out)
    if count > 0 or state.counts[1 - player, WINS] == 0:
        return count
    out[0] = find_kind(game, state, 1 - player, WINS, 0)  # all is lost
    return int(game.allows(state, player, int(out[0])))


@kernel
def limited(value: int) -> int:
    """A value of the evaluation, which claims no win."""
    return min(max(value, -LARGEST), LARGEST)


@kernel
def sure_value(game: Any, state: State, player: int, ply: int) -> int:
    """The value of a position that fives and fours at once decide; else `UNDECIDED`."""
    other = 1 - player
    if state.counts[player, WINS] > 0:
        return WIN - ply - 1
    if state.counts[other, WINS] > 0:
        is_lost = find_stop(game, state, other, 0) == NO_ACTION
        return ply + 2 - WIN if is_lost else UNDECIDED
    if has_allowed(game, state, player, TWO_FOURS, OPENS_FOUR):
        return WIN - ply - 3
    return UNDECIDED


@kernel
def wins_by_fours(game: Any, engine: Engine, ply: int) -> int:
    """The value of a win by continuous fours; `UNDECIDED` if none was found."""
    node, state = engine.nodes[ply], engine.states[ply]
    player = game.to_play(state)
    if not engine.rules.fours or count_kinds(state, player, MAKES_FOUR, OPENS_FOUR) == 0:
        return UNDECIDED
    fours, budget = engine.fours, MOST_FOURS_TRIED
    if ply == 0:
        if node.depth > 1:
            return UNDECIDED  # the first search has looked
        fours, budget = engine.all_fours, MOST_AT_ROOT
    before = fours.spent[0]
    length = search_fours(game, state, fours, budget, True)
    engine.control[POSITIONS] += fours.spent[0] - before
    if length <= 0:
        return UNDECIDED
    if game.bars(1 - player):
        length += 2  # the line may end with a four that black may not stop
    value, move = WIN - ply - length, int(fours.line[0])
    if ply == 0 and engine.barred[move]:
        return UNDECIDED
    store(game, engine, ply, value, 0, EXACT, move)
    if ply == 0:
        node.best_move = move
        engine.root_values[move] = value
    return value


@kernel
def prune(engine: Engine, ply: int) -> int:
    """The value of a quiet position that needs no search; else `UNDECIDED`."""
    node = engine.nodes[ply]
    node.quiet = True
    if node.depth <= 0:
        return int(node.static)
    if node.beta - node.alpha > 1 or not engine.rules.margins:
        return UNDECIDED
    is_above = node.static - ABOVE * node.depth >= node.beta > -PRESUMED
    if node.depth <= 3 and is_above:
        return int(node.static)
    if node.depth <= 2 and node.static + BELOW * node.depth <= node.alpha:
        return int(node.static)
    return UNDECIDED


# ---- moves ---------------------------------------------------------------------------------------


@kernel
def list_answers(game: Any, engine: Engine, ply: int, first: int) -> None:
    """List all moves that do not lose at once to an open four or two fours."""
    node, state = engine.nodes[ply], engine.states[ply]
    player = game.to_play(state)
    moves = engine.moves[ply]
    count = list_defences(game, state, 1 - player, TWO_FOURS, OPENS_FOUR, engine.trial, moves)
    node.count = max(count, 0)
    node.complete = not game.bars(1 - player)
    node.depth = max(node.depth, 1)
    set_promise(game, engine, ply, first)


@kernel
def list_candidates(game: Any, engine: Engine, ply: int, first: int) -> None:
    """List the cells near stones."""
    node, state = engine.nodes[ply], engine.states[ply]
    rules, moves = game.rules, engine.moves[ply]
    player = game.to_play(state)
    count = 0
    node.complete = False
    for row in range(rules.rows):
        columns = nearby_columns(game, state, row, 2)
        cell = row * rules.columns
        while columns:
            if columns & 1 and game.allows(state, player, cell):
                moves[count] = cell
                count += 1
            columns >>= 1
            cell += 1
    if count == 0:
        centre = rules.rows // 2 * rules.columns + rules.columns // 2
        if state.ply == 0:
            moves[0] = centre
            count = 1
        else:
            count = game.legal_actions(state, moves)
    node.count = count
    set_promise(game, engine, ply, first)
    if ply == 0:
        node.complete = count == game.legal_actions(state, engine.moves[ply + 1])


@kernel
def set_promise(game: Any, engine: Engine, ply: int, first: int) -> None:
    """Say of each move how soon it should be tried."""
    node, state = engine.nodes[ply], engine.states[ply]
    player = game.to_play(state)
    for i in range(node.count):
        cell = int(engine.moves[ply, i])
        engine.promise[ply, i] = FIRST if cell == first else game.promise(state, player, cell)


@kernel
def next_move(engine: Engine, ply: int) -> int:
    """The most promising move that was not tried, which comes next in the list; `NO_ACTION`."""
    node, moves, promise = engine.nodes[ply], engine.moves[ply], engine.promise[ply]
    best = int(node.tried)
    if best >= node.count:
        return NO_ACTION
    for i in range(best + 1, node.count):
        if promise[i] > promise[best]:
            best = i
    place = int(node.tried)
    moves[place], moves[best] = moves[best], moves[place]
    promise[place], promise[best] = promise[best], promise[place]
    node.tried += 1
    return int(moves[place])


# ---- children ------------------------------------------------------------------------------------


@kernel
def choose_child(game: Any, engine: Engine, ply: int) -> bool:
    """Make the next child ready, at the next ply; False if there is none."""
    node, state = engine.nodes[ply], engine.states[ply]
    child = engine.states[ply + 1]
    depth = int(node.depth) - 1
    if node.stage == REDUCED:  # it was too good for a reduced depth
        node.stage = NARROW
        set_node(engine, ply + 1, depth, -node.alpha - 1, -node.alpha)
        return True
    if node.stage == NARROW:  # it was too good for a narrow window
        node.stage = FULL
        set_node(engine, ply + 1, depth, -node.beta, -node.alpha)
        return True
    if leaves_out_the_rest(engine, ply):
        return False
    cell = next_move(engine, ply)
    while ply == 0 and cell != NO_ACTION and engine.barred[cell]:
        cell = next_move(engine, ply)
    if cell == NO_ACTION:
        return False
    node.move = cell
    game.copy(state, child)
    game.step(child, cell)
    if node.best == -INFINITE:  # the first one
        set_node(engine, ply + 1, depth, -node.beta, -node.alpha)
        return True
    less = plies_less(game, engine, ply, cell)
    node.stage = REDUCED if less > 0 else NARROW
    set_node(engine, ply + 1, depth - less, -node.alpha - 1, -node.alpha)
    return True


@kernel
def leaves_out_the_rest(engine: Engine, ply: int) -> bool:
    """Whether enough moves of a quiet position near the end of a line were tried."""
    node = engine.nodes[ply]
    if not engine.rules.counts or not node.quiet or ply == 0 or node.best <= -LARGEST:
        return False
    return bool(node.tried >= FIRST_MOVES + MORE_MOVES * node.depth)


@kernel
def plies_less(game: Any, engine: Engine, ply: int, cell: int) -> int:
    """By how many plies a late move is reduced."""
    node, state = engine.nodes[ply], engine.states[ply]
    if not engine.rules.reductions or not node.quiet or node.depth < 2:
        return 0
    less = int(engine.reduction[min(node.depth, 63), min(node.tried - 1, 63)])
    player = game.to_play(state)
    if max(game.kind(state, player, cell), game.kind(state, 1 - player, cell)) >= MAKES_THREE:
        less -= 1
    if engine.promise[ply, node.tried - 1] < best_promise(engine, ply) - UNLIKELY:
        less += 1
    return max(min(less, int(node.depth) - 2), 0)


@kernel
def best_promise(engine: Engine, ply: int) -> int:
    """The greatest promise of a node's moves, without that of the table's move."""
    promise = engine.promise[ply]
    return int(promise[0] if promise[0] < FIRST else promise[1])


@kernel
def close_child(game: Any, engine: Engine, ply: int, value: int) -> None:
    """Take the value of the last child."""
    node = engine.nodes[ply]
    if value > node.alpha and (
        node.stage == REDUCED or (node.stage == NARROW and value < node.beta)
    ):
        return  # once more
    node.stage = FULL
    if ply == 0:
        engine.root_values[node.move] = value
    if value > node.best:
        node.best = value
        node.best_move = node.move
    if value > node.alpha:
        node.alpha = value
        if value >= node.beta:
            node.count = node.tried


@kernel
def close_node(game: Any, engine: Engine, ply: int) -> int:
    """The value of a node whose moves were tried, which goes into the table."""
    node = engine.nodes[ply]
    value = int(node.best)
    if node.tried == 0 and value == -INFINITE:  # every move loses at once
        value = ply + 4 - WIN if node.complete else -PRESUMED
    if value < -PRESUMED and not node.complete:
        value = ply - PRESUMED
    is_partial = ply == 0 and engine.barred.any()
    if not is_partial:
        bound, move = EXACT, int(node.best_move)
        if value >= node.beta:
            bound = AT_LEAST
        elif value <= node.first_alpha:
            bound = AT_MOST
            if ply == 0:  # bounds do not tell which is best: keep the one tried first
                move = int(engine.moves[0, 0])
        store(game, engine, ply, value, int(node.depth), bound, move)
    return value
