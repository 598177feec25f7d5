"""What the Gomoku engine's search keeps: a node for every ply, a table of positions, and so on."""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.gomoku.threat_search import FourSearch, new_four_search
from agents.knowledge.gomoku.valued import SCALE
from hexenv.compiled import compiled, kernel
from hexenv.games import base
from hexenv.games.base import NO_ACTION
from hexenv.games.gomoku.patterns import OPEN_TWO

WIN: Final = 30_000
"""The value of a win on the board."""
LEAST_WIN: Final = 29_000
"""The least value of a proven win."""
PRESUMED: Final = 20_000
"""The most that a win is worth when some of the other side's moves were left out."""
LARGEST: Final = 10_000
"""The largest value of the evaluation."""
INFINITE: Final = 32_000
UNDECIDED: Final = -(2**20)
"""In the place of a value: the node's moves have to be tried."""

MOST_PLIES: Final = 60
"""How far from the root the search looks."""
NEW, REDUCED, NARROW, FULL = range(4)
"""How the node's last child is searched: none yet; less deep; with the narrowest window; with
the whole window."""

NODE: Final = np.dtype(
    [
        ("alpha", np.int32),
        ("beta", np.int32),
        ("depth", np.int32),
        ("best", np.int32),
        ("first_alpha", np.int32),
        ("static", np.int32),
        ("best_move", np.int32),
        ("move", np.int32),
        ("count", np.int32),
        ("tried", np.int32),
        ("stage", np.int8),
        ("complete", np.bool_),
        ("quiet", np.bool_),
    ],
    align=True,
)

EXACT, AT_LEAST, AT_MOST = range(3)
NO_KEY: Final = -1
NUM_CONTROLS: Final = 4
PLY, POSITIONS, HITS, BASE = range(NUM_CONTROLS)
"""Where the search is, how many positions it has looked at, how many the table decided, and the ply
whose value it finds: 0, or 1 at the leaf of a tree search. Only at ply 0 all fours are tried, moves
may be barred, and known positions are searched once more."""


@compiled
class Rules(NamedTuple):
    """Which rules of pruning and ordering a search uses; each can be left out, for ablations."""

    table: bool = True
    """Known positions are not searched again, and their best move comes first."""
    fours: bool = True
    """A win by continuous fours ends a line."""
    answers: bool = True
    """At the end of a line a threat is still answered."""
    reductions: bool = True
    """Late moves are searched less deep first."""
    margins: bool = True
    """Near the end of a line, positions far outside of the window are cut off."""
    counts: bool = True
    """There the last moves are left out."""


@compiled
class Engine(NamedTuple):
    """The arrays of a search; `new_engine` makes one."""

    rules: Rules
    states: Any
    """``(MOST_PLIES + 2,)``: the positions, the root's first."""
    nodes: Any
    """``(MOST_PLIES + 2,)`` of `NODE`."""
    moves: NDArray[np.int32]
    """``(MOST_PLIES + 2, cells)``."""
    promise: NDArray[np.int32]
    """``(MOST_PLIES + 2, cells)``: the greatest is tried first."""
    reduction: NDArray[np.int32]
    """``(64, 64)``: by depth and how many moves were tried before."""
    keys: NDArray[np.int64]
    """``(2 ** n,)``: the table's positions."""
    entries: NDArray[np.int64]
    """``(2 ** n,)``: value, depth, bound and move of each."""
    fours: FourSearch
    all_fours: FourSearch
    """For the root."""
    trial: Any
    """``(1,)``: a position to try moves in."""
    root_values: NDArray[np.int32]
    """``(cells,)``: of each root move of this search, a bound or its value; -`INFINITE`: none."""
    barred: NDArray[np.bool_]
    """``(cells,)``: root moves that are not looked at."""
    control: NDArray[np.int64]
    """``(NUM_CONTROLS,)``."""


def new_engine(game: Any, size: int, rules: Rules) -> Engine:
    """The arrays of a search with a table of `size` entries, a power of two."""
    plies, cells = MOST_PLIES + 2, game.num_actions()
    depths, numbers = np.ogrid[1:65, 1:65]
    reduction = np.floor(0.6 + np.log(depths) * np.log(numbers) / 2.0).astype(np.int32)
    return Engine(
        rules,
        np.zeros(plies, game.state_dtype).view(np.recarray),
        np.zeros(plies, NODE).view(np.recarray),
        np.zeros((plies, cells), np.int32),
        np.zeros((plies, cells), np.int32),
        reduction,
        np.full(size, NO_KEY, np.int64),
        np.zeros(size, np.int64),
        new_four_search(game, 1 << 16, OPEN_TWO),
        new_four_search(game, 1 << 14),
        base.new_states(game, 1),
        np.full(cells, -INFINITE, np.int32),
        np.zeros(cells, np.bool_),
        np.zeros(NUM_CONTROLS, np.int64),
    )


@kernel
def shown_value(value: int) -> float:
    """A value from -1 (lost) to 1 (won): the odds to win, and the outcome where it is proven."""
    if abs(value) >= LEAST_WIN:
        return math.copysign(1.0, value)
    return 0.999 * math.tanh(value / (2.0 * SCALE))


# ---- the table -----------------------------------------------------------------------------------


@kernel
def find_entry(engine: Engine, key: int) -> int:
    """Where the table has a position; -1: nowhere."""
    place = key & (engine.keys.size - 1)
    for i in range(2):
        if engine.keys[place ^ i] == key:
            return place ^ i
    return -1


@kernel
def move_of(entry: int) -> int:
    """The best move of an entry, or `NO_ACTION`."""
    return int(entry & 1023) - 1


@kernel
def look_up(game: Any, engine: Engine, ply: int) -> tuple[int, int]:
    """What the table knows of a position: a value or `UNDECIDED`, and the best move."""
    node = engine.nodes[ply]
    place = find_entry(engine, game.position_hash(engine.states[ply]))
    if place < 0:
        return UNDECIDED, NO_ACTION
    entry = engine.entries[place]
    move = move_of(entry)
    bound = (entry >> 10) & 3
    depth = ((entry >> 12) & 255) - 64
    value = int(entry >> 20) - 2**16
    is_proven = abs(value) >= LEAST_WIN
    if value >= PRESUMED - 1000:
        value -= ply
    elif value <= 1000 - PRESUMED:
        value += ply
    decides = (
        bound == EXACT
        or (bound == AT_LEAST and value >= node.beta)
        or (bound == AT_MOST and value <= node.alpha)
    )
    if decides and (depth >= node.depth or is_proven):
        engine.control[HITS] += ply > 0  # the root is searched all the same
        return value, move
    return UNDECIDED, move


@kernel
def store(
    game: Any, engine: Engine, ply: int, value: int, depth: int, bound: int, move: int
) -> None:
    """Put a position into the table, in the place of the one that was searched less deep."""
    key = game.position_hash(engine.states[ply])
    place = key & (engine.keys.size - 1)
    first, second = engine.keys[place], engine.keys[place ^ 1]
    if first != key and (second == key or ((engine.entries[place] >> 12) & 255) > depth + 64):
        place ^= 1
    if value >= PRESUMED - 1000:
        value += ply
    elif value <= 1000 - PRESUMED:
        value -= ply
    engine.keys[place] = key
    engine.entries[place] = (
        (move + 1) | bound << 10 | min(max(depth + 64, 0), 255) << 12 | (value + 2**16) << 20
    )
