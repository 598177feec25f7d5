"""Rewards: how the end of a simulation counts for each player."""

from typing import NamedTuple, Protocol

from agents.search.simulation import Part, no_memory, no_moves, no_update
from hexenv.compiled import compiled
from hexenv.importing import import_on_demand


class Reward(Part, Protocol):
    """What a reward offers besides."""

    def shape(self, outcome: float, player: int, plies: int, length: int) -> float:
        """The reward, 0 to 1, of a simulation for the player who chose a node on its path.

        Args:
            outcome: For that player: 1 won, 0 drawn, -1 lost; an estimate lies between.
            player: The player.
            plies: From the node to the end of the simulation.
            length: From the root to the end of the simulation.
        """
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


# Rewards that were here and are now beside their agent.
__getattr__ = import_on_demand(
    __name__, {name: f"agents.mcts.quality:{name}" for name in ("Discounted", "RelativeBonus")}
)
