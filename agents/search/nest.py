"""A nest of levels, each with a playout policy that it adapts to the lines of the level below.

See `agents.mcts.nrpa` for the ideas and their sources.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled, kernel

NO_LINE: Final = -math.inf
"""The score of a level that has no line yet."""
MODES: Final = ("payoff", "adversarial", "cooperative")
"""Who learns from a line, and the numbers of these modes in compiled code:"""
PAYOFF, ADVERSARIAL, COOPERATIVE = range(3)
POSITION_CODES: Final = 1 << 14
"""Weights for moves known by the positions they lead to; hashes share them."""
LEAST_EXPONENT: Final = -300.0
LEAST_WEIGHT: Final = 0.01
"""No move becomes impossible."""


@compiled
class Form(NamedTuple):
    """A form of the search, as its kernels need it; see `NRPA` for what the parameters mean."""

    levels: int
    iterations: int
    alpha: float
    line_decay: float
    is_softmax: bool
    learning_mode: int
    has_tree: bool
    exploration: float
    by_position: bool
    scores_for_root: bool
    learns_always: bool
    begins_anew: bool


@compiled
class Nest(NamedTuple):
    """What the levels know, the lowest first (L levels, C codes)."""

    weights: NDArray[np.float64]
    """``(L, 2, C)``: by level, player and code of the move."""
    odds: NDArray[np.float64]
    """``(L, 2, C)``: what a move's probability is proportional to, kept beside its weight."""
    changes: NDArray[np.float64]
    """``(2, C)``: what an adaptation will add; zero between adaptations."""
    lines: NDArray[np.int32]
    """``(L, max_plies())``: the actions of each level's line: its best, or in a contest its
    latest."""
    lengths: NDArray[np.int64]
    """``(L,)``: the length of the line; 0 where there is none yet."""
    results: NDArray[np.int64]
    """``(L,)``: the outcome of the line for player 0."""
    line_scores: NDArray[np.float64]
    """``(L,)``: how good the line is."""
    rounds: NDArray[np.int64]
    """``(L,)``: iterations done."""


def new_nest(form: Form, codes: int, plies: int) -> Nest:
    """A nest that has learnt nothing."""
    levels = form.levels
    return Nest(
        weights=np.full((levels, 2, codes), 0.0 if form.is_softmax else 1.0),
        odds=np.ones((levels, 2, codes)),
        changes=np.zeros((2, codes)),
        lines=np.empty((levels, plies), np.int32),
        lengths=np.zeros(levels, np.int64),
        results=np.zeros(levels, np.int64),
        line_scores=np.full(levels, NO_LINE),
        rounds=np.zeros(levels, np.int64),
    )


# ---- the policy ----------------------------------------------------------------------------------


@kernel
def code_of(game: Any, state: Any, ahead: Any, action: int, by_position: bool) -> int:
    """The number under which a move has its weights; `ahead` is a state to work in."""
    if not by_position:
        return game.cell_of(state, action)
    game.copy(state, ahead)
    game.step(ahead, action)
    return int(game.position_hash(ahead)) & (POSITION_CODES - 1)


@kernel
def weigh(
    game: Any,
    state: Any,
    ahead: Any,
    odds: NDArray[np.float64],
    by_position: bool,
    actions: NDArray[np.int32],
    count: int,
    codes: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> None:
    """The policy in one position: write the codes of the actions, and their probabilities."""
    player = game.to_play(state)
    total = 0.0
    for i in range(count):
        codes[i] = code_of(game, state, ahead, int(actions[i]), by_position)
        shares[i] = odds[player, codes[i]]
        total += shares[i]
    for i in range(count):
        shares[i] /= total


@kernel
def draw(shares: NDArray[np.float64], count: int, rng: np.random.Generator) -> int:
    """One of `count` at random, each with the probability that is its share."""
    rest = rng.random()
    for i in range(count - 1):
        rest -= shares[i]
        if rest < 0:
            return i
    return count - 1


# ---- the adaptation ------------------------------------------------------------------------------


@kernel
def rate_of(form: Form, result: int) -> float:
    """How far the weights of a player with this result move towards the moves of a line."""
    if form.learning_mode == PAYOFF:
        return form.alpha * result
    if form.learning_mode == ADVERSARIAL:
        return form.alpha if result > 0 else 0.0
    return form.alpha


@kernel
def adapt(game: Any, root: Any, state: Any, ahead: Any, nest: Nest, form: Form, level: int) -> None:
    """Move the weights of a level towards its line, or away from what has lost.

    A move that was played gains the rate. In the softmax form every move that could have been
    played there loses the rate times its probability, which makes it the gradient of the line's
    log-probability. These probabilities are those of the old weights throughout: the changes are
    collected while the line is played over again, and made at its end.
    """
    actions = np.empty(game.num_actions(), np.int32)
    codes = np.empty(game.num_actions(), np.int64)
    shares = np.empty(game.num_actions(), np.float64)
    result = nest.results[level]
    rates = (rate_of(form, result), rate_of(form, -result))
    game.copy(root, state)
    fade = 1.0
    for ply in range(nest.lengths[level]):
        action = int(nest.lines[level, ply])
        player: int = game.to_play(state)
        rate = fade * rates[player]
        changes = nest.changes[player]
        if rate != 0.0:
            changes[code_of(game, state, ahead, action, form.by_position)] += rate
        if rate != 0.0 and form.is_softmax:
            count = game.legal_actions(state, actions)
            odds = nest.odds[level]
            weigh(game, state, ahead, odds, form.by_position, actions, count, codes, shares)
            for i in range(count):
                changes[codes[i]] -= rate * shares[i]
        fade *= form.line_decay
        game.step(state, action)
    for player in range(2):
        if rates[player] != 0.0:
            make_changes(nest, form.is_softmax, level, player)


@kernel
def make_changes(nest: Nest, is_softmax: bool, level: int, player: int) -> None:
    """Add the changes to the weights of a player, and bring the odds up to date.

    The odds of a softmax are taken relative to the greatest weight, so that none overflows.
    """
    weights, odds = nest.weights[level, player], nest.odds[level, player]
    greatest = -np.inf
    for code in range(weights.size):
        weights[code] += nest.changes[player, code]
        nest.changes[player, code] = 0.0
        greatest = max(greatest, weights[code])
    for code in range(weights.size):
        if is_softmax:
            odds[code] = math.exp(max(weights[code] - greatest, LEAST_EXPONENT))
        else:
            weights[code] = max(weights[code], LEAST_WEIGHT)
            odds[code] = weights[code]


# ---- the levels ----------------------------------------------------------------------------------


@kernel
def score_of(game: Any, end: Any, form: Form, player: int) -> float:
    """How good a playout is, where the search is after the best one.

    In a contest no line is best for both, and each counts as good as the one before it: the
    latest, in which both have learnt most, is what a level hands up.
    """
    if form.learning_mode != COOPERATIVE:
        return 0.0
    return float(game.outcome(end, player if form.scores_for_root else game.to_play(end)))


@kernel
def hand_up(
    game: Any,
    root: Any,
    state: Any,
    ahead: Any,
    nest: Nest,
    form: Form,
    line: NDArray[np.int32],
    length: int,
    result: int,
    score: float,
) -> None:
    """Give a playout to the lowest level, and the line of each level that is through to the next.

    Then the levels that were through begin again, from the weights of the one above them.
    """
    level = 0
    while True:
        is_better = score > nest.line_scores[level]
        if is_better or (form.learns_always and score == nest.line_scores[level]):
            nest.line_scores[level] = score
            nest.results[level] = result
            nest.lengths[level] = length
            for ply in range(length):
                nest.lines[level, ply] = line[ply]
        if is_better or form.learns_always:
            adapt(game, root, state, ahead, nest, form, level)
        nest.rounds[level] += 1
        if nest.rounds[level] < form.iterations or level + 1 == form.levels:
            break
        line, length = nest.lines[level], nest.lengths[level]
        result, score = nest.results[level], nest.line_scores[level]
        level += 1
    for through in range(level):
        nest.weights[through] = nest.weights[level]
        nest.odds[through] = nest.odds[level]
        nest.line_scores[through] = NO_LINE
        nest.rounds[through] = 0


@kernel
def begin_anew(nest: Nest, form: Form) -> None:
    """Forget all that was learnt, for another nest after one that is through.

    What a nest learns last it hardly doubts any more; another one may learn something else. The
    counts in the tree stay, and with them the choice.
    """
    nest.weights[:] = 0.0 if form.is_softmax else 1.0
    nest.odds[:] = 1.0
    nest.line_scores[:] = NO_LINE
    nest.rounds[:] = 0
