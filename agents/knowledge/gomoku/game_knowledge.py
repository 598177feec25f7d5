"""What agents may use of Gomoku and TicTacToe besides their rules; see `agents.core.knowledge`."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from agents.core.knowledge import GameKnowledge, SureWin
from agents.knowledge.gomoku import opening_play
from agents.knowledge.gomoku.candidates import SCALE, FourThreats
from agents.knowledge.gomoku.minimax import ImplicitMinimax
from agents.knowledge.gomoku.threats import ThreatSolver
from agents.knowledge.gomoku.view import PlainEvaluator, pattern_view
from agents.planning.environment import View
from agents.search.evaluator import Evaluator
from agents.search.knowledge import NoKnowledge
from agents.search.variant import Variant
from agents.solvers.exhaustive import LineTactics
from hexenv.games.gomoku import Gomoku
from hexenv.games.gomoku.openings import is_opening
from hexenv.games.tictactoe import TicTacToe

THREATS: Final = 12
"""How many threats deep `GomokuKnowledge.sure_win` looks, and"""
THREAT_SECONDS: Final = 1.0
"""how long."""


class GomokuKnowledge(GameKnowledge):
    """Patterns on lines: wins by threats, candidates, an evaluation of boards.

    Args:
        view_of: Makes the position that is searched: one with patterns, or with learnt values.
    """

    def __init__(self, view_of: Callable[[View], View] = pattern_view) -> None:
        self.view_of = view_of

    def is_opening(self, view: View, names: str | None = None) -> bool:
        return is_opening(view.game, view.root)

    def play_opening(
        self, view: View, think: Callable[[View], tuple[int, float]], rng: np.random.Generator
    ) -> int:
        return opening_play.opening_action(view, think, rng)

    def after_opening(self, view: View) -> View:
        return opening_play.after_opening(view)

    def search_view(self, view: View) -> View:
        return self.view_of(view)

    def extend_variant(self, variant: Variant, threats: bool, implicit_minimax: float) -> Variant:
        """Wins by fours decide leaves, unless the variant has knowledge of its own."""
        if threats and isinstance(variant.knowledge, NoKnowledge):
            variant = variant._replace(knowledge=FourThreats())
        if implicit_minimax > 0.0:
            scale = getattr(variant.selection, "scale", SCALE)
            rule: Any = ImplicitMinimax(variant.selection, implicit_minimax, scale)
            variant = variant._replace(selection=rule)
        return variant

    def win_finder(self, view: View) -> ThreatSolver:
        return ThreatSolver(view.game, view.compiles)

    def plain_evaluator(self, evaluator: Evaluator) -> Evaluator:
        return PlainEvaluator(evaluator)

    def sure_win(self, view: View) -> SureWin | None:
        """A win of the player to move by threats."""
        if is_opening(view.game, view.root):
            return None
        looked = self.search_view(view)
        line = self.win_finder(looked).solve(looked.root, THREATS, seconds=THREAT_SECONDS)
        if line is None:
            return None
        return SureWin(int(view.game.to_play(view.root)), tuple(line), tuple(line))

    def tactics(self, game: Any) -> LineTactics | None:
        """A stone on the winning cell stops a win; not so in renju, and in caro others do too."""
        stops_wins = type(game) is TicTacToe or type(game) is Gomoku
        return LineTactics() if stops_wins else None
