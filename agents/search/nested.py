"""The search of NRPA: playouts by a small tree, then by the lowest level of a nest."""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.nest import Form, Nest, begin_anew, draw, hand_up, score_of, weigh
from hexenv.compiled import CompiledFunction, compiled, kernel

ROOT: Final = 0
NO_ROW: Final = 0
"""In `Rows.below`, where nothing is below: nothing leads to the root."""
EVEN_SHARE: Final = 0.5
"""Share of the prior that all legal moves of a node have alike: what the policy has learnt to avoid
still has to be tried, as one refutation may be among it."""


@compiled
class Rows(NamedTuple):
    """The tree: a row of all actions for every position in it (R rows); row 0 is the root's."""

    below: NDArray[np.int32]
    """``(R, num_actions())``: the row of the position after the action, or `NO_ROW`."""
    plays: NDArray[np.int32]
    """``(R, num_actions())``: playouts that went on from the row with the action."""
    gains: NDArray[np.float64]
    """``(R, num_actions())``: their rewards, 0 to 1, for the player who chose it, summed up."""
    row_count: NDArray[np.int64]
    """``(1,)``: rows in use."""


def new_rows(rows: int, num_actions: int) -> Rows:
    """A tree of nothing but its root. Memory is touched only as rows come into use."""
    return Rows(
        below=np.zeros((rows, num_actions), np.int32),
        plays=np.zeros((rows, num_actions), np.int32),
        gains=np.zeros((rows, num_actions), np.float64),
        row_count=np.ones(1, np.int64),
    )


@kernel
def select(
    tree: Rows,
    row: int,
    actions: NDArray[np.int32],
    shares: NDArray[np.float64],
    count: int,
    exploration: float,
) -> int:
    """Which action the tree goes on with: PUCT, with the policy of the moment as the prior.

    Every action starts with one imagined draw, so that none has to be tried before its turn.
    """
    total = 1
    for i in range(count):
        total += tree.plays[row, actions[i]]
    bonus = exploration * math.sqrt(total)
    best = 0
    best_score = -np.inf
    for i in range(count):
        prior = (1 - EVEN_SHARE) * shares[i] + EVEN_SHARE / count
        plays = 1 + tree.plays[row, actions[i]]
        score = (tree.gains[row, actions[i]] + 0.5 + bonus * prior) / plays
        if score > best_score:
            best_score = score
            best = i
    return best


@kernel
def play(
    game: Any,
    root: Any,
    state: Any,
    ahead: Any,
    nest: Nest,
    tree: Rows,
    form: Form,
    line: NDArray[np.int32],
    players: NDArray[np.int8],
    rng: np.random.Generator,
) -> int:
    """One playout: by the tree as far as it goes, by the weights of the lowest level from there.

    Args:
        game: The game.
        root: Where it starts; not changed.
        state: Receives the end of the game.
        ahead: A state to work in.
        nest: The levels.
        tree: The tree.
        form: The form of the search.
        line: Receives the actions.
        players: Receives who played each of them.
        rng: The stream of random numbers.

    Returns:
        The number of actions.
    """
    actions = np.empty(game.num_actions(), np.int32)
    codes = np.empty(game.num_actions(), np.int64)
    shares = np.empty(game.num_actions(), np.float64)
    game.copy(root, state)
    is_in_tree = form.has_tree
    row = ROOT
    ply = 0
    while not game.is_terminal(state):
        count = game.legal_actions(state, actions)
        weigh(game, state, ahead, nest.odds[0], form.by_position, actions, count, codes, shares)
        if is_in_tree:
            pick = select(tree, row, actions, shares, count, form.exploration)
            row = tree.below[row, actions[pick]]
            is_in_tree = row != NO_ROW
        else:
            pick = draw(shares, count, rng)
        line[ply] = actions[pick]
        players[ply] = game.to_play(state)
        ply += 1
        game.step(state, int(actions[pick]))
    return ply


@kernel
def back_up(
    tree: Rows, line: NDArray[np.int32], players: NDArray[np.int8], length: int, result: int
) -> None:
    """Count a playout in every row it came through; what is reached again gets a row of its own."""
    row = ROOT
    for i in range(length):
        action = line[i]
        tree.plays[row, action] += 1
        tree.gains[row, action] += (1 + (result if players[i] == 0 else -result)) / 2
        below = tree.below[row, action]
        if below == NO_ROW:
            has_room = tree.row_count[0] < len(tree.below)
            if has_room and tree.plays[row, action] > 1 and i + 1 < length:
                tree.below[row, action] = tree.row_count[0]
                tree.row_count[0] += 1
            break
        row = below


@kernel
def adapt_policies(
    game: Any,
    root: Any,
    state: Any,
    ahead: Any,
    nest: Nest,
    tree: Rows,
    form: Form,
    simulations: int,
    rng: np.random.Generator,
) -> None:
    """Run playouts from a position. Calling again with the same nest goes on where it stopped.

    Args:
        game: The game, or the adapter of a foreign environment.
        root: The position to search; not changed.
        state: A state to work in.
        ahead: Another.
        nest: The levels.
        tree: The tree; its first row counts the first moves, also where no tree is wanted.
        form: The form of the search.
        simulations: How many.
        rng: The stream of random numbers, the only source of chance.
    """
    line = np.empty(game.max_plies(), np.int32)
    players = np.empty(game.max_plies(), np.int8)
    player = game.to_play(root)
    for _ in range(simulations):
        if form.begins_anew and nest.rounds[form.levels - 1] >= form.iterations:
            begin_anew(nest, form)
        length = play(game, root, state, ahead, nest, tree, form, line, players, rng)
        result = game.outcome(state, 0)
        score = score_of(game, state, form, player)
        back_up(tree, line, players, length, result)
        hand_up(game, root, state, ahead, nest, form, line, length, result, score)


compiled_adapt_policies: Final = CompiledFunction(adapt_policies)
