"""The simulations of RHMCTS: short, guided by the evaluation, and judged where they are cut."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.gomoku.board import WINS
from agents.knowledge.gomoku.candidates import ALL_BITS, applies, draw_cell, list_best
from agents.knowledge.gomoku.evaluation import SCALE, evaluate_board
from agents.knowledge.gomoku.kinds import find_kind
from agents.knowledge.gomoku.knowledge import new_scratch
from agents.search.simulation import Simulation, no_moves, no_update
from hexenv.compiled import compiled
from hexenv.games.base import Actions, State


@compiled
class GuidedPlayout(NamedTuple):
    """Some plies of good moves, then the board evaluation.

    A move makes five where it can and stops the other side's five (heuristics 1 and 2); else it is
    drawn from the best cells near the stones, in proportion to their points.
    """

    k: int = 1
    """Over how many simulations the result is the mean."""
    depth: int = 0
    """Plies before the cut."""
    candidates: int = 5
    """From how many cells a move is drawn."""
    reach: int = 1
    """How far they are from a stone."""
    defend: float = 0.5
    heuristics: int = ALL_BITS
    scale: float = SCALE
    judges: bool = True
    """Whether a simulation that is cut has the evaluation for its result, or counts as drawn."""
    scratch: Any = None
    """A `Scratch`."""

    update = no_update
    needs_moves = no_moves

    def with_memory(self, game: Any) -> "GuidedPlayout":
        return self._replace(scratch=new_scratch(game))

    def choose(
        self,
        game: Any,
        state: State,
        rng: np.random.Generator,
        actions: Actions,
        count: int,
        simulation: Simulation,
    ) -> int:
        """Which of the candidates, which are written into `actions`, to play."""
        player = game.to_play(state)
        for side in (player, 1 - player):
            if (
                applies(self.heuristics, 1 if side == player else 2)
                and state.counts[side, WINS] > 0
            ):
                cell = find_kind(game, state, side, WINS, 0)
                if game.allows(state, player, cell):
                    actions[0] = cell
                    return 0
        merits = self.scratch.merits
        count = list_best(game, state, self.candidates, self.reach, self.defend, 0, merits, actions)
        if count == 0:
            count = game.legal_actions(state, actions)
        return draw_cell(game, state, count, self.defend, rng, actions)

    def simulate(
        self,
        game: Any,
        state: State,
        rng: np.random.Generator,
        actions: Actions,
        simulation: Simulation,
    ) -> float:
        total = 0.0
        trial = self.scratch.trial[0]
        for _ in range(self.k):
            game.copy(state, trial)
            total += self.play_guided(game, trial, rng, actions, simulation)
        return total / self.k

    def play_guided(
        self,
        game: Any,
        state: State,
        rng: np.random.Generator,
        actions: NDArray[np.int32],
        simulation: Simulation,
    ) -> float:
        """One simulation; its result for player 0."""
        for _ in range(self.depth):
            if game.is_terminal(state):
                break
            pick = self.choose(game, state, rng, actions, 0, simulation)
            game.step(state, int(actions[pick]))
        if game.is_terminal(state):
            return float(game.outcome(state, 0))
        if not self.judges:
            return 0.0
        found = evaluate_board(game, state, self.scale)
        return found if game.to_play(state) == 0 else -found
