"""Proof-number search for wins in freestyle Gomoku: all moves of the attacker threaten to win.

The attacker may play what makes an open two or more and threatens a win by continuous fours, be it
a three or a quiet move.
The defender's answers are then all moves after which that win no longer works; every other move
loses to it. So few moves are looked at, and yet a win that is found is a win. That none was found
says nothing. Numbers of positions that would have to be proven, or disproven, lead the search
depth-first (df-pn).

Sources:
    Allis, van den Herik and Huntjens, "Go-Moku and threat-space search", 1993. Nagai, "Df-pn
    algorithm for searching AND/OR trees and its applications", 2002.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.gomoku.board import MAKES_FOUR, WINS, PatternGame
from agents.knowledge.gomoku.threat_search import (
    FOUR_LINE,
    ThreatSearch,
    deepen_threats,
    new_threat_search,
    search_fours,
)
from hexenv.compiled import compiled, kernel, scratch_array
from hexenv.games.base import EMPTY, NO_ACTION, State
from hexenv.games.gomoku.patterns import OPEN_TWO

MOST_DEPTH: Final = 80
"""Plies of a line, before the fours or threats that end it."""
FOURS: Final = 300
"""How many fours are tried in a position, and"""
THREATS: Final = 3_000
"""how many positions of continuous threats,"""
THREATS_DEEP: Final = 6
"""so many threats deep."""
INFINITE: Final = 1 << 40
PROVEN, OPEN, FAILED = 1, 0, -1


@compiled
class ProofSearch(NamedTuple):
    """The arrays of a search; `new_proof_search` makes one."""

    states: Any
    """``(MOST_DEPTH + 1,)``: the positions of the line; the attacker moves in those of even
    number."""
    moves: NDArray[np.int32]
    """``(MOST_DEPTH + 1, cells)``."""
    hashes: NDArray[np.int64]
    """``(MOST_DEPTH + 1, cells)``: of the positions after them."""
    listed: NDArray[np.int64]
    """``(MOST_DEPTH + 1,)``: how many moves are listed."""
    limits: NDArray[np.int64]
    """``(MOST_DEPTH + 1, 2)``: from which numbers on another position is looked at."""
    line: NDArray[np.int32]
    """The length of the win that the last move threatens, and the win."""
    keys: NDArray[np.int64]
    """``(2 ** n,)``: the table's positions."""
    numbers: NDArray[np.int64]
    """``(2 ** n, 2)``: their proof and disproof numbers."""
    best: NDArray[np.int16]
    """``(2 ** n,)``: the move that wins, where the attacker moves."""
    threats: ThreatSearch
    spent: NDArray[np.int64]
    """``(1,)``: positions whose moves were listed."""


def new_proof_search(game: PatternGame, entries: int = 1 << 20) -> ProofSearch:
    """The arrays of a search with a table of `entries`, a power of two."""
    rows, cells = MOST_DEPTH + 1, game.num_actions()
    return ProofSearch(
        np.zeros(rows, game.state_dtype).view(np.recarray),
        np.zeros((rows, cells), np.int32),
        np.zeros((rows, cells), np.int64),
        np.zeros(rows, np.int64),
        np.zeros((rows, 2), np.int64),
        np.zeros(FOUR_LINE + 1, np.int32),
        np.zeros(entries, np.int64),
        np.ones((entries, 2), np.int64),
        np.full(entries, NO_ACTION, np.int16),
        new_threat_search(game, 1 << 16),
        np.zeros(1, np.int64),
    )


# ---- the table -----------------------------------------------------------------------------------


@kernel
def place_of(search: ProofSearch, key: int) -> int:
    """Where the table has a position, or has room for it: what is proven stays, where it can."""
    place = key & (search.keys.size - 1)
    is_other = search.keys[place] != key
    if is_other and (search.keys[place ^ 1] == key or search.numbers[place, 0] == 0):
        return place ^ 1
    return place


@kernel
def numbers_of(search: ProofSearch, key: int) -> tuple[int, int]:
    """The proof and disproof numbers of a position; 1 and 1 if nothing is known."""
    place = place_of(search, key)
    if search.keys[place] != key:
        return 1, 1
    return int(search.numbers[place, 0]), int(search.numbers[place, 1])


@kernel
def note(search: ProofSearch, key: int, proof: int, disproof: int, move: int) -> None:
    """Write down what is known of a position."""
    place = place_of(search, key)
    search.keys[place] = key
    search.numbers[place, 0] = proof
    search.numbers[place, 1] = disproof
    search.best[place] = move


# ---- moves ---------------------------------------------------------------------------------------


@kernel
def look_at_answers(game: Any, state: State, search: ProofSearch) -> int:
    """`look_at` of a position in which the defender is to move: his answers are ``moves[1]``."""
    game.copy(state, search.states[1])
    return look_at(game, search, 1)


@kernel
def look_at(game: Any, search: ProofSearch, depth: int) -> int:
    """Look at a position of the line: `PROVEN`, `FAILED`, or `OPEN` and its moves are listed."""
    state = search.states[depth]
    search.spent[0] += 1
    if game.is_terminal(state) or depth == MOST_DEPTH:
        return FAILED
    search.listed[depth] = 0
    if depth % 2 == 1:
        return look_at_defence(game, search, depth)
    key = game.position_hash(state)
    if search.keys[place_of(search, key)] != key:
        move = winning_move(game, search, state)
        if move != NO_ACTION:
            note(search, key, 0, INFINITE, move)
            return PROVEN
    list_attack(game, search, depth)
    return OPEN if search.listed[depth] > 0 else FAILED


@kernel
def winning_move(game: Any, search: ProofSearch, state: State) -> int:
    """The first move of a win by fours or threats of the player to move, else `NO_ACTION`."""
    if search_fours(game, state, search.threats.fours, FOURS, True) > 0:
        return int(search.threats.fours.line[0])
    if deepen_threats(game, state, search.threats, THREATS_DEEP, THREATS) > 0:
        return int(search.threats.lines[0, 0])
    return NO_ACTION


@kernel
def list_attack(game: Any, search: ProofSearch, depth: int) -> None:
    """List the cells where the attacker may build something, or only the one that stops a five."""
    state = search.states[depth]
    side = game.to_play(state)
    fives = state.counts[1 - side, WINS]
    for cell in range(game.num_actions()):
        if fives > 0:
            is_move = fives == 1 and game.kind(state, 1 - side, cell) == WINS
        else:
            is_move = False
            for direction in range(4):
                is_move |= game.pattern(state, side, cell, direction) >= OPEN_TWO
        if is_move:
            add_move(game, search, depth, cell)


@kernel
def add_move(game: Any, search: ProofSearch, depth: int, cell: int) -> None:
    """List a move, with the hash of the position after it."""
    place = search.listed[depth]
    search.moves[depth, place] = cell
    game.copy(search.states[depth], search.states[depth + 1])
    game.rules.step(search.states[depth + 1], cell)
    search.hashes[depth, place] = game.position_hash(search.states[depth + 1])
    search.listed[depth] += 1


@kernel
def look_at_defence(game: Any, search: ProofSearch, depth: int) -> int:
    """`look_at` where the defender is to move: his answers are listed."""
    state, trial, line = search.states[depth], search.threats.trial[0], search.line
    side = game.to_play(state)
    if state.counts[side, WINS] > 0 or not find_threat(game, search, state):
        return FAILED
    game.copy(state, trial)
    for i in range(2, line[0] + 1, 2):
        game.put(trial, side, int(line[i]))
    may_answer = scratch_array(game.num_actions(), np.bool_)  # whether a stone there may stop it
    for cell in range(game.num_actions()):  # fives of his own, with the stones that he is forced to
        may_answer[cell] = game.kind(trial, side, cell) >= MAKES_FOUR
    for i in range(1, line[0] + 1):
        may_answer[line[i]] = True
    for cell in range(game.num_actions()):
        if may_answer[cell] and not still_wins(game, search, state, cell):
            add_move(game, search, depth, cell)
    return OPEN if search.listed[depth] > 0 else PROVEN


@kernel
def find_threat(game: Any, search: ProofSearch, state: State) -> bool:
    """Whether who does not move would win by fours; the win is written into `line`."""
    trial = search.threats.trial[0]
    game.copy(state, trial)
    trial.ply += 1
    length = search_fours(game, trial, search.threats.fours, FOURS, True)
    search.line[0] = max(length, 0)
    for i in range(search.line[0]):
        search.line[i + 1] = search.threats.fours.line[i]
    return length > 0


@kernel
def still_wins(game: Any, search: ProofSearch, state: State, answer: int) -> bool:
    """Whether `line` wins after an answer of the player to move."""
    trial, line = search.threats.trial[0], search.line
    side = game.to_play(state)
    game.copy(state, trial)
    for i in range(line[0] + 1):
        cell = answer if i == 0 else int(line[i])
        if game.owner(trial, cell) != EMPTY:
            return False
        if i > 0 and i % 2 == 0 and game.kind(trial, 1 - side, cell) != WINS:
            return False  # the four was none
        game.step(trial, cell)
        if game.is_terminal(trial):
            return bool(trial.winner == 1 - side)
        if i % 2 == 1 and trial.counts[side, WINS] > 0:
            return False
    return False


# ---- the search ----------------------------------------------------------------------------------


@kernel
def prove(game: Any, root: State, search: ProofSearch, budget: int) -> int:
    """Look for a win of the player to move: `PROVEN`, `FAILED`, or `OPEN` if the budget has ended.

    `budget` is of positions whose moves are listed. The table keeps what was found, so that a call
    goes on where the last one ended. It is for one attacker.
    """
    if numbers_of(search, game.position_hash(root))[0] == 0:
        return PROVEN
    end = search.spent[0] + budget
    game.copy(root, search.states[0])
    search.limits[0] = INFINITE
    found = look_at(game, search, 0)
    if found != OPEN:
        return found
    depth = 0
    while True:
        move, proof, disproof = sum_up(game, search, depth)
        is_over = proof >= search.limits[depth, 0] or disproof >= search.limits[depth, 1]
        if depth == 0 and not is_over and search.spent[0] >= end:
            return OPEN
        if is_over or search.spent[0] >= end:
            key = game.position_hash(search.states[depth])
            chosen = int(search.moves[depth, move]) if proof == 0 else NO_ACTION
            note(search, key, proof, disproof, chosen)
            if depth == 0:
                return PROVEN if proof == 0 else FAILED
            depth -= 1
            continue
        game.copy(search.states[depth], search.states[depth + 1])
        game.step(search.states[depth + 1], int(search.moves[depth, move]))
        depth += 1
        found = look_at(game, search, depth)
        if found != OPEN:
            key = game.position_hash(search.states[depth])
            if found == FAILED:
                note(search, key, INFINITE, 0, NO_ACTION)
            elif depth % 2 == 1:
                note(search, key, 0, INFINITE, NO_ACTION)
            depth -= 1


@kernel
def sum_up(game: Any, search: ProofSearch, depth: int) -> tuple[int, int, int]:
    """The place of the most promising move; and the proof and disproof number of a position.

    What may be spent on the position after that move is written down as well.
    """
    is_attack = depth % 2 == 0
    best, least, second, total = 0, INFINITE + 1, INFINITE, 0
    beside = 0
    for i in range(search.listed[depth]):
        proof, disproof = numbers_of(search, search.hashes[depth, i])
        number, other = (proof, disproof) if is_attack else (disproof, proof)
        total = min(total + other, INFINITE)
        if number < least:
            best, second, least, beside = i, least, number, other
        elif number < second:
            second = number
    first, last = (0, 1) if is_attack else (1, 0)
    limit = min(search.limits[depth, first], second + second // 4 + 1)
    search.limits[depth + 1, first] = limit
    search.limits[depth + 1, last] = search.limits[depth, last] - total + beside
    return (best, least, total) if is_attack else (best, total, least)
