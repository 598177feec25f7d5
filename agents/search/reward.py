"""Rewards: what the end of a simulation is worth to each player."""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.search.simulation import Simulation, all_moves, no_memory, no_moves, no_update
from hexenv.compiled import compiled


class Reward(Protocol):
    """What a reward offers."""

    def shape(self, outcome: float, player: int, plies: int, length: int) -> float:
        """The worth, 0 to 1, of a simulation to the player who chose a node on its path.

        Args:
            outcome: For that player: 1 won, 0 drawn, -1 lost; an estimate lies between.
            player: The player.
            plies: From the node to the end of the simulation.
            length: From the root to the end of the simulation.
        """
        ...

    def update(self, tree: Any, simulation: Simulation) -> None:
        """Learn from a simulation."""
        ...

    def needs_moves(self) -> bool:
        """Whether the playouts must record their moves, and with them their length."""
        ...

    def with_memory(self, game: Any) -> Any:
        """The reward with the arrays it needs for a game, empty. Plain Python."""
        ...


@compiled
class WinLoss(NamedTuple):
    """1 for a win, 0 for a loss, and `draw` for a draw."""

    draw: float = 0.5

    update = no_update
    needs_moves = no_moves
    with_memory = no_memory

    def shape(self, outcome: float, player: int, plies: int, length: int) -> float:
        if outcome == 0.0:
            return self.draw
        return 0.5 + 0.5 * outcome


@compiled
class Discounted(NamedTuple):
    """Wins are worth less, and losses cost less, the later they come: 1/2 +- gamma ** plies / 2.

    Counted from the node, so that all that goes through it is compared alike. The sum of both
    players' rewards stays 1, which a discount of the winner's reward alone would not keep.
    """

    gamma: float = 0.98

    update = no_update
    needs_moves = all_moves
    with_memory = no_memory

    def shape(self, outcome: float, player: int, plies: int, length: int) -> float:
        return 0.5 + 0.5 * outcome * self.gamma ** float(plies)


NO_LENGTHS = np.zeros((2, 3))


@compiled
class RelativeBonus(NamedTuple):
    """A bonus for wins sooner than the winner's average (Pepels, Tak, Lanctot, Winands 2014).

    With d plies from the root to the end, or to a proven node, of which the winner's games have had
    the mean D and the standard deviation s so far: r + sign(r) * a * b((D - d) / s), where r is -1,
    0 or 1 and b(x) = -1 + 2 / (1 + exp(-k x)); scaled to [0, 1].
    """

    a: float = 0.25
    k: float = 1.4
    lengths: NDArray[np.float64] = NO_LENGTHS
    """``(2, 3)``, for each winner: games, mean length, sum of squared deviations from it."""

    needs_moves = all_moves

    def with_memory(self, game: Any) -> "RelativeBonus":
        return self._replace(lengths=np.zeros((2, 3)))

    def shape(self, outcome: float, player: int, plies: int, length: int) -> float:
        if outcome == 0.0:
            return 0.5
        winner = player if outcome > 0.0 else 1 - player
        games, mean, squares = self.lengths[winner]
        bonus = 0.0
        if games > 1.0 and squares > 0.0:
            sooner = (mean - length) / math.sqrt(squares / (games - 1.0))
            bonus = self.a * (2.0 / (1.0 + math.exp(-self.k * sooner)) - 1.0)
        return 0.5 + 0.5 * outcome * (1.0 + bonus) / (1.0 + self.a)

    def update(self, tree: Any, simulation: Simulation) -> None:
        outcome = simulation.result[0]
        if outcome != 0.0:
            lengths = self.lengths[0 if outcome > 0.0 else 1]
            lengths[0] += 1.0
            step = simulation.length[0] - lengths[1]
            lengths[1] += step / lengths[0]
            lengths[2] += step * (simulation.length[0] - lengths[1])
