"""What is known of a game besides its rules: the one way by which it reaches the agents.

Searches and solvers name no game. What they can use of a game, its `GameKnowledge` gives; which
class that is for a game, `agents.registry.KNOWLEDGE` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agents.registry import KNOWLEDGE, attribute_at

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from agents.planning.environment import View
    from agents.search.evaluator import Evaluator
    from agents.search.variant import Variant


class WinFinder(Protocol):
    """Looks for forced wins in the positions of one game, and remembers where there were none."""

    @property
    def game(self) -> Any:
        """The game, as searches see it."""
        ...

    def solve(
        self, state: Any, depth: int = 0, nodes: int = 1_000_000, seconds: float | None = None
    ) -> list[int] | None:
        """A winning line of the player to move, so many threats deep; None if none was found."""
        ...


@dataclass(frozen=True)
class SureWin:
    """A win that is seen without playing on.

    Attributes:
        player: Who wins.
        cells: The empty cells that the win needs.
        line: The actions of both sides, where they are forced.
    """

    player: int
    cells: tuple[int, ...]
    line: tuple[int, ...] = ()


class GameKnowledge:
    """What is known of one game; this base class knows nothing.

    A search asks for a view first (`search_view`): it may be of another game, with the same
    actions, whose positions hold what the knowledge is computed from. All the rest of a search
    (leaves, candidates, evaluation, wins) is about that game.
    """

    # ---- openings, in which players and colours differ -------------------------------------------

    def is_opening(self, view: View, names: str | None = None) -> bool:
        """Whether the game is in an opening phase with rules of its own.

        `names` are those of the knowledge that a search uses, see `add_knowledge`.
        """
        return False

    def play_opening(
        self,
        view: View,
        think: Callable[[View], tuple[int, float]],
        rng: np.random.Generator,
    ) -> int:
        """The action to play in the opening.

        `think` searches another position; it returns an action, and its value, -1 to 1, for the
        player to move there.
        """
        raise NotImplementedError

    def after_opening(self, view: View) -> View:
        """The position as it is searched: in the opening, the one that `play_opening` looks at."""
        return view

    # ---- searches --------------------------------------------------------------------------------

    def search_view(self, view: View) -> View:
        """The position as searches with this knowledge see it; refused if nothing is known."""
        raise ValueError(
            f"expected a game of {games_with('search_view')}, to look for patterns, got {view.game}"
        )

    def extend_variant(self, variant: Variant, threats: bool, implicit_minimax: float) -> Variant:
        """A variant of tree search with this knowledge added.

        With `threats` every new leaf is looked at for a forced win; `implicit_minimax` is the share
        of a child's mean, 0 to 1, that is replaced by the minimax value of the evaluation.
        """
        return variant

    def add_knowledge(self, variant: Variant, game: Any, names: str, visits: int) -> Variant:
        """A variant of tree search that uses of the game what names say, with a plus between them.

        What takes long to find out is looked for at nodes that have been visited `visits` times. A
        name that is not known, of the game or at all, is a `ValueError`.
        """
        raise ValueError(
            f"expected a game of {games_with('add_knowledge')}, for knowledge, got {game}"
        )

    def win_finder(self, view: View) -> WinFinder:
        """What looks for forced wins before a search of this `search_view`."""
        raise NotImplementedError

    def plain_evaluator(self, evaluator: Evaluator) -> Evaluator:
        """An evaluator of this knowledge's positions, from one of plain positions."""
        return evaluator

    # ---- exact play ------------------------------------------------------------------------------

    def exact_solver(self, game: Any, compiles: bool, book: Any, entries: int) -> Any:
        """The game's own exact solver, an `agents.solvers.questions.ExactSolver`; None without one.

        A board that is too large, and the book of another one, are a `ValueError`. `entries` are
        those of its table of positions.
        """
        return None

    def sure_win(self, view: View) -> SureWin | None:
        """A win of one side that is seen in a position in play; None proves nothing."""
        return None

    def tactics(self, game: Any) -> Any:
        """Finds wins in one move: an `agents.solvers.exhaustive.Tactics`; None without it."""
        return None


def knowledge_of(game: Any) -> GameKnowledge:
    """What is known of a game; of a foreign environment and of an unknown game nothing."""
    path = KNOWLEDGE.get(getattr(game, "name", ""))
    return GameKnowledge() if path is None else attribute_at(path)()


def games_with(method: str) -> str:
    """The names of the games whose knowledge has a method of its own, for messages."""
    base = getattr(GameKnowledge, method)
    return ", ".join(
        name for name, path in KNOWLEDGE.items() if getattr(attribute_at(path), method) is not base
    )
