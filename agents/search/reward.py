"""Rewards: how the end of a simulation counts for each player; backups: what nodes make of them.

A backup other than that of means is in `agents.search.backups`.
"""

from typing import Any, NamedTuple, Protocol

from agents.search.simulation import Part, Simulation, part
from agents.search.tree import Tree
from hexenv.games.base import Game, State


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


@part
class WinLoss(NamedTuple):
    """1 for a win, 0 for a loss, and `draw` for a draw.

    Examples:
        >>> variant = UCT().variant._replace(reward=WinLoss(draw=0.4))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    draw: float = 0.5

    def shape(self, outcome: float, player: int, plies: int, length: int) -> float:
        if outcome == 0.0:
            return self.draw
        return 0.5 + 0.5 * outcome


# ---- backups -------------------------------------------------------------------------------------


class Backup(Protocol):
    """What a backup offers: how the values of nodes follow from simulations.

    A search counts every simulation in the nodes on its path: visits, and the mean reward as
    `Tree.value`. After that a backup may put other values there, which selection, `final_move` and
    `Statistics.values` then see.
    """

    def revise(self, tree: Tree, simulation: Simulation, exact: bool) -> None:
        """Put the values of the nodes on the path right, the last one first.

        Args:
            tree: The tree; the nodes on the path have counted the simulation.
            simulation: The path, who chose its nodes, and their rewards.
            exact: Whether the rewards are those of the end of the game, not of a playout.
        """
        ...

    def prunes(self, tree: Tree, node: int, child: int) -> bool:
        """Whether `child` is out of the question, so that no simulation needs to go there."""
        ...

    def initialise(self, game: Game, state: State, tree: Tree, node: int) -> None:
        """Prepare the new children of `node`; see `agents.search.selection.Selection`."""
        ...

    def new_extras(self, max_nodes: int) -> Any:
        """Arrays ``(max_nodes,)`` for `Tree.backed_up`, as a NamedTuple. Plain Python."""
        ...

    def with_memory(self, game: Game) -> Any:
        """The backup with the arrays it needs for a game. Plain Python."""
        ...


@part
class MeanBackup(NamedTuple):
    """The value of a node is the mean reward of the simulations through it.

    Examples:
        >>> variant = UCT().variant._replace(backup=MeanBackup())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    unused: int = 0

    def revise(self, tree: Tree, simulation: Simulation, exact: bool) -> None:
        """The means are there."""
