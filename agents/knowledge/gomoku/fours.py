"""Victory by continuous fours (VCF): every move makes a four, so every answer is forced.

A search has its room in a `FourSearch`, and remembers there where it has found no win.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.gomoku.board import WINS, PatternGame
from agents.knowledge.gomoku.kinds import find_kind, list_fours, makes_four
from hexenv.compiled import compiled, kernel
from hexenv.games.base import NO_ACTION, Actions, State

MOST_FOURS: Final = 100
"""How many fours of the attacker a line may have."""
FOUR_LINE: Final = 2 * MOST_FOURS + 1

UNKNOWN: Final = -1
"""What a search says whose budget has ended."""
NO_WIN: Final = 0
"""What it says when there is no win; else it says how long the line is."""


@compiled
class FourSearch(NamedTuple):
    """Room for a search by fours, and what it remembers; `new_four_search` makes one."""

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


def new_four_search(game: PatternGame, memory: int = 1 << 14) -> FourSearch:
    """Room for a search; it remembers so many failures, a power of two."""
    return FourSearch(
        np.zeros(MOST_FOURS + 1, game.state_dtype).view(np.recarray),
        np.empty((MOST_FOURS, game.num_actions()), np.int32),
        np.zeros(MOST_FOURS, np.int32),
        np.zeros(MOST_FOURS, np.bool_),
        np.full(FOUR_LINE, NO_ACTION, np.int32),
        np.zeros(memory, np.int64),
        np.zeros(1, np.int64),
    )


@kernel
def list_attacks(game: Any, state: State, side: int, out: Actions) -> int:
    """The fours that `side` may play for a win by fours: where the other wins next, only there."""
    other = 1 - side
    if state.counts[other, WINS] == 0:
        return list_fours(game, state, side, out)
    if state.counts[other, WINS] == 1:
        cell = find_kind(game, state, other, WINS, 0)
        if makes_four(game.kind(state, side, cell)) and game.allows(state, side, cell):
            out[0] = cell
            return 1
    return 0


@kernel
def search_fours(game: Any, root: State, search: FourSearch, budget: int) -> int:
    """Look for a win by continuous fours of the player to move.

    Args:
        game: A `PatternGame`.
        root: The position; the game goes on.
        search: Receives the line: attacks and answers, up to five in a row (or, in renju, up to a
            four that black may not answer).
        budget: How many fours to try.

    Returns:
        How many moves the line in `search.line` has; `NO_WIN` if there is no win by fours;
        `UNKNOWN` if the budget, or the room for longer lines, has ended the search.
    """
    side = game.to_play(root)
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
    search.left[depth] = list_attacks(game, state, game.to_play(state), search.attacks[depth])
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

    Returns:
        The length of the line if it wins; 0 if the game goes on, in the next position; -1 if the
        attack is over.
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
    five = find_kind(game, state, side, WINS, answer + 1)
    search.line[2 * depth] = cell
    search.line[2 * depth + 1] = answer
    if not game.allows(state, other, answer):
        return 2 * depth + 1
    if five != NO_ACTION:
        search.line[2 * depth + 2] = five
        return 2 * depth + 3
    game.step(state, answer)
    return 0 if not game.is_terminal(state) else -1
