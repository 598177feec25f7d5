"""What patterns tell a search: wins by fours at its leaves, and the candidates of its nodes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.gomoku.board import MAKES_FOUR, WINS, PatternGame
from agents.knowledge.gomoku.candidates import ALL_BITS, list_best, list_forced, list_urgent
from agents.knowledge.gomoku.fours import new_four_search, search_fours
from agents.knowledge.gomoku.kinds import count_kinds
from agents.search.knowledge import all_covered, list_legal
from hexenv.compiled import compiled, kernel
from hexenv.games.base import Actions, State


@kernel
def wins_by_fours(game: Any, state: State, search: Any, budget: int) -> bool:
    """Whether the player to move has a win by fours that is found; the state then says so."""
    player = game.to_play(state)
    if budget == 0 or count_kinds(state, player, MAKES_FOUR, WINS) == 0:
        return False
    if search_fours(game, state, search, budget) <= 0:
        return False
    state.winner = player
    return True


@compiled
class FourThreats(NamedTuple):
    """A leaf from which the player to move wins by continuous fours is a win (`agents.knowledge.gomoku.threats`)."""

    budget: int = 100
    """How many fours to try at a leaf."""
    search: Any = None
    """A `FourSearch`."""

    list_actions = list_legal
    covers = all_covered

    def decides(self, game: Any, state: State) -> bool:
        return wins_by_fours(game, state, self.search, self.budget)

    def with_memory(self, game: PatternGame) -> "FourThreats":
        return self._replace(search=new_four_search(game))


@compiled
class Scratch(NamedTuple):
    """Space that candidates are found in."""

    trial: Any
    """``(1,)``: a position."""
    stops: NDArray[np.int32]
    """``(cells,)``."""
    merits: NDArray[np.float64]
    """``(cells,)``."""


def new_scratch(game: PatternGame) -> Scratch:
    """Space for a game."""
    trial = np.zeros(1, game.state_dtype).view(np.recarray)
    return Scratch(trial, np.zeros(game.num_actions(), np.int32), np.zeros(game.num_actions()))


@kernel
def list_near(
    game: Any,
    state: State,
    n: int,
    reach: int,
    defend: float,
    heuristics: int,
    scratch: Any,
    out: Actions,
) -> int:
    """The candidates where nothing is urgent: the best cells near the stones, else the middle."""
    if game.is_terminal(state):
        return 0
    count = list_best(game, state, n, reach, defend, heuristics, scratch.merits, out)
    for i in range(count // 2):  # the most promising last
        out[i], out[count - 1 - i] = out[count - 1 - i], out[i]
    if count == 0 and state.ply == 0:
        out[0] = game.rules.rows // 2 * game.rules.columns + game.rules.columns // 2
        return 1
    return count if count > 0 else game.legal_actions(state, out)


@compiled
class Candidates(NamedTuple):
    """What RHMCTS looks at: what is urgent, else the best cells near the stones.

    In the text's form what is urgent is the one move that the first heuristic plays.
    """

    n: int = 12
    """How many of the best cells."""
    reach: int = 2
    """How far from a stone."""
    heuristics: int = ALL_BITS
    """Which heuristics are switched on: bit i for the i-th."""
    defend: float = 0.5
    """What the other side's points on a cell count, against one's own."""
    budget: int = 100
    """How many fours to try at a leaf for a win by them; 0: none."""
    is_sound: bool = True
    """False for the form of the text."""
    search: Any = None
    """A `FourSearch`."""
    scratch: Any = None
    """A `Scratch`."""

    def list_actions(self, game: Any, state: State, rng: np.random.Generator, out: Actions) -> int:
        heuristics, defend, scratch = self.heuristics, self.defend, self.scratch
        if not game.is_terminal(state):
            trial, stops = scratch.trial[0], scratch.stops
            if self.is_sound:
                count = list_urgent(game, state, heuristics, trial, stops, out)
            else:
                count = list_forced(game, state, heuristics, defend, trial, stops, rng, out)
            if count > 0:
                return count
        forks = heuristics if self.is_sound else 0
        return list_near(game, state, self.n, self.reach, defend, forks, scratch, out)

    def covers(self, selection: Any, tree: Any, node: int) -> bool:
        return self.is_sound and selection.is_whole(tree, node)

    def decides(self, game: Any, state: State) -> bool:
        return wins_by_fours(game, state, self.search, self.budget)

    def with_memory(self, game: PatternGame) -> "Candidates":
        return self._replace(search=new_four_search(game), scratch=new_scratch(game))
