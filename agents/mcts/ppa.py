"""Playout policy adaptation: playouts imitate the winners of the playouts before them.

The playout policy ``"ppa"`` of the agents over a tree; `agents.mcts.nrpa` adapts without one.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.playout import take
from agents.search.simulation import Simulation, all_moves, part
from agents.search.tree import Tree
from hexenv.games.base import Actions, Game, State


@part
class PolicyAdaptation(NamedTuple):
    """PPA (Cazenave 2015): moves in proportion to exp(w), adapted to the winner's after each.

    For each of the winner's moves in the playout, w of the move grows by `alpha`, and w of every
    legal move shrinks by `alpha` times its probability in the playout (Rosin 2011). The winner is
    known only at the end, so the steps of both players are collected until then.

    Examples:
        >>> variant = UCT().variant._replace(playout=PolicyAdaptation(alpha=0.5))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    alpha: float = 0.1  # the paper has 1; a search of a thousand playouts needs smaller steps
    weights: NDArray[np.float64] = np.zeros((2, 1))
    """``(2, num_cells())``: exp(w) for each player and move."""
    steps: NDArray[np.float64] = np.zeros((2, 1))
    """``(2, num_cells())``: what w will change by, over alpha, if the player wins."""
    sums: NDArray[np.float64] = np.zeros(1)  # (num_actions(),): scratch space

    needs_moves = all_moves

    def with_memory(self, game: Game) -> "PolicyAdaptation":
        weights = np.ones((2, game.num_cells()))
        sums = np.zeros(game.num_actions())
        return self._replace(weights=weights, steps=np.zeros_like(weights), sums=sums)

    def choose(
        self,
        game: Game,
        state: State,
        rng: np.random.Generator,
        actions: Actions,
        count: int,
        simulation: Simulation,
    ) -> int:
        player = game.to_play(state)
        weights, steps = self.weights[player], self.steps[player]
        total = 0.0
        for pick in range(count):
            total += weights[game.cell_of(state, int(actions[pick]))]
            self.sums[pick] = total
        draw = rng.random() * total
        chosen = 0
        while chosen < count - 1 and self.sums[chosen] <= draw:
            chosen += 1
        for pick in range(count):
            cell = game.cell_of(state, int(actions[pick]))
            steps[cell] -= weights[cell] / total
        steps[game.cell_of(state, int(actions[chosen]))] += 1.0
        return take(actions, chosen, simulation)

    def update(self, tree: Tree, simulation: Simulation) -> None:
        result = simulation.result[0]
        for player in range(2):
            won = (result > 0.0) if player == 0 else (result < 0.0)
            for cell in range(self.weights.shape[1]):
                if won:
                    grown = self.weights[player, cell] * math.exp(
                        self.alpha * self.steps[player, cell]
                    )
                    # Bounded, so that sums stay finite and every move stays possible.
                    self.weights[player, cell] = min(max(grown, 1e-30), 1e30)
                self.steps[player, cell] = 0.0
