"""The advisers of a tree search: what is known of the game, asked before the search."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agents.core.knowledge import GameKnowledge, WinFinder, knowledge_of
from agents.mcts.settings import Settings
from agents.planning.environment import View
from agents.search.evaluator import Evaluator
from agents.search.knowledge import NoKnowledge
from agents.search.proofs import SOLVERS
from agents.search.reward import MeanBackup
from agents.search.variant import Variant, with_memory

if TYPE_CHECKING:
    from agents.mcts.planner import Planner

THREAT_SHARE: Final = 0.2
"""The share of its time in which an agent looks for wins by threats before it searches."""
THREAT_DEPTH: Final = 12
THREAT_NODES: Final = 20_000


class Advisers:
    """An opening is played by its rules, then a forced win is looked for; else the search decides.

    They also say how the search sees a position, and what its variant knows.

    Args:
        settings: `threats`, `implicit_minimax`, `knowledge` and `knowledge_at`.
        given: What is known of the game, for a variant that needs it; None: what is registered for
            the game.
    """

    def __init__(self, settings: Settings, given: GameKnowledge | None) -> None:
        self.settings = settings
        self.sees_patterns = (
            settings.threats or settings.implicit_minimax > 0.0 or given is not None
        )
        """Whether the search sees positions with patterns."""
        self._given = given
        self._finder: WinFinder | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_finder": None}

    @property
    def are_asked(self) -> bool:
        """Whether anything is known besides the rules."""
        return self.sees_patterns or self.settings.knowledge is not None

    @property
    def selects_by_patterns(self) -> bool:
        """Whether the selection in the tree looks at patterns, which files of trees do not hold."""
        return self.settings.implicit_minimax > 0.0 or self._given is not None

    def of(self, game: Any) -> GameKnowledge:
        """What is known of a game."""
        return knowledge_of(game) if self._given is None else self._given

    # ---- before the search -----------------------------------------------------------------------

    def play_opening(
        self, view: View, think: Callable[[View], tuple[int, float]], rng: np.random.Generator
    ) -> int | None:
        """The action to play in an opening with rules of its own; None after it.

        `think` searches another position; see `GameKnowledge.play_opening`.
        """
        if not self.are_asked:
            return None
        known = self.of(view.game)
        if not known.is_opening(view, self.settings.knowledge):
            return None
        return known.play_opening(view, think, rng)

    def after_opening(self, view: View) -> View:
        """The position as it is searched in the opening."""
        return self.of(view.game).after_opening(view) if self.sees_patterns else view

    def win_finder(self, plain: View, view: View) -> WinFinder | None:
        """What looks for wins by threats, and remembers from move to move; None without it."""
        if not self.settings.threats:
            return None
        if self._finder is None or self._finder.game is not view.game:
            self._finder = self.of(plain.game).win_finder(view)
        return self._finder

    def winning_line(
        self, finder: WinFinder | None, view: View, seconds: float | None
    ) -> list[int] | None:
        """A forced win, looked for in a part of the seconds; None if none was found."""
        if finder is None:
            return None
        share = None if seconds is None else THREAT_SHARE * seconds
        return finder.solve(view.root, THREAT_DEPTH, THREAT_NODES, share)

    # ---- in the search ---------------------------------------------------------------------------

    def search_view(self, view: View) -> View:
        """The position as the search sees it."""
        return self.of(view.game).search_view(view) if self.sees_patterns else view

    def variant_for(self, variant: Variant, plain: View, view: View) -> Variant:
        """The variant with what it knows, and with memory for the game that the search sees."""
        settings = self.settings
        if plain.assumed is not None:
            variant = variant._replace(solver=SOLVERS["off"])
        if self.sees_patterns:
            known = self.of(plain.game)
            variant = known.extend_variant(variant, settings.threats, settings.implicit_minimax)
        if settings.knowledge is not None:
            known = knowledge_of(plain.game)
            names, visits = settings.knowledge, settings.knowledge_at
            variant = known.add_knowledge(variant, plain.game, names, visits)
        return with_memory(variant, view.game)

    def plain_evaluator(self, game: Any, evaluator: Evaluator) -> Evaluator:
        """An evaluator of the positions that the search sees, from one of plain positions."""
        return self.of(game).plain_evaluator(evaluator) if self.sees_patterns else evaluator


def check_knowledge_fits(agent: str, names: str, planner: "Planner") -> None:
    """Refuse knowledge in the tree where it is not asked, or nothing is proven by it."""
    variant = planner.variant
    for why, is_so in (
        ("another search than that of one tree", not planner.kind.asks_knowledge),
        ('solver "off"', not variant.solver.proves()),
        ("a variant that has its own", not isinstance(variant.knowledge, NoKnowledge)),
        ("another backup than that of means", not isinstance(variant.backup, MeanBackup)),
    ):
        if is_so:
            raise ValueError(f'expected no knowledge for {agent} with {why}, got "{names}"')
