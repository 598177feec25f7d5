"""How a planner that looks at patterns sees an environment."""

import functools
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.gomoku import board
from agents.knowledge.gomoku.board import PUBLISHED, PatternGame
from agents.planning.environment import View
from agents.search.evaluator import Evaluator, name_of
from hexenv.games import base, notation
from hexenv.games.base import State
from hexenv.games.gomoku import Gomoku
from hexenv.games.gomoku.openings import OpenedGomoku, inner, is_opening
from hexenv.games.tictactoe import TicTacToe


def pattern_view(view: View, scores: NDArray[np.int64] = PUBLISHED) -> View:
    """The same position as one of the game with patterns; see `line_game`."""
    rules, position = line_game(view.game, view.root)
    game = _pattern_game(rules, scores.tobytes())
    state = board.state_of(game, position, view.compiles)
    return view._replace(game=game, root=state)


def line_game(game: Any, state: Any) -> tuple[Gomoku, State]:
    """A position as one of an m,n,k game; actions are the same.

    Raises:
        ValueError: If it is of no such game.
    """
    if isinstance(game, Gomoku):
        return game, state
    if isinstance(game, OpenedGomoku):
        if is_opening(game, state):
            raise ValueError("expected a game whose opening is over, to look for patterns")
        return inner(game, state)
    if isinstance(game, TicTacToe):
        rules = Gomoku(3, 3, 3)
        owners = base.cell_owners(cast("base.Game", game), state)
        return rules, notation.from_cells(rules, owners, int(game.to_play(state)))
    raise ValueError(f"expected Gomoku or TicTacToe, to look for patterns, got {game}")


class PlainEvaluator:
    """An evaluator of positions with patterns, by an evaluator of plain ones."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.title = name_of(evaluator)

    def evaluate(self, game: PatternGame, states: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        positions = np.zeros(len(states), game.rules.state_dtype).view(np.recarray)
        for field in game.rules.state_dtype.names or ():
            positions[field] = states[field]
        return self.evaluator.evaluate(game.rules, positions)


@functools.lru_cache(maxsize=16)
def _pattern_game(rules: Gomoku, scores: bytes) -> PatternGame:
    """The one game with patterns of some rules and scores: compiled code is found by it."""
    return board.new(rules, np.frombuffer(scores, np.int64))
