"""What a position of Gomoku is worth, by its patterns."""

import math
from typing import Any, Final, NamedTuple

from agents.knowledge.gomoku.board import OPENS_FOUR, TWO_FOURS, WINS
from agents.knowledge.gomoku.candidates import has_allowed
from hexenv.compiled import compiled, kernel
from hexenv.games.base import State

SCALE: Final = 3000.0
"""The balance of points at which a side is clearly better."""


@kernel
def evaluate_board(game: Any, state: State, scale: float) -> float:
    """The board evaluation for the player to move, -1 to 1, in a game that goes on.

    1 and -1 only where it is sure: the player to move makes five, or has two ways to make it that
    nobody can stop; or the other side has two fives.
    """
    player = game.to_play(state)
    other = 1 - player
    if state.counts[player, WINS] > 0:
        return 1.0
    fives = state.counts[other, WINS]
    if fives > 1:
        return -1.0
    if fives == 0 and has_allowed(game, state, player, TWO_FOURS, OPENS_FOUR):
        return 1.0
    return 0.999 * math.tanh(game.balance(state, player) / scale)


@compiled
class PatternEvaluation(NamedTuple):
    """The board evaluation for `agents.solvers.alphabeta.AlphaBeta`, over the game with patterns."""

    scale: float = SCALE

    def evaluate(self, game: Any, state: State, player: int) -> float:
        found = evaluate_board(game, state, self.scale)
        return found if game.to_play(state) == player else -found
