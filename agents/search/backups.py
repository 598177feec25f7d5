"""Backups: how the values of nodes follow from simulations, where they are not their means.

A search counts a simulation in every node on its path, and a backup then puts the nodes' values
right, the last one first (`agents.search.reward.Backup`). The values of children are turned to the
view of the player who chose their parent, so a player may move several times in a row; the rewards
of both players add up to 1, as those of `WinLoss` do.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.children import is_partial
from agents.search.simulation import Simulation, part
from agents.search.tree import ROOT, Tree
from hexenv.compiled import inlined_kernel, kernel
from hexenv.games.base import Game, State


@inlined_kernel
def for_chooser(simulation: Simulation, ply: int, value: float) -> float:
    """A value, 0 to 1, for who moves at a node on the path, turned to that of who chose it."""
    return value if simulation.players[ply + 1] == simulation.players[ply] else 1.0 - value


@kernel
def best_below(tree: Tree, node: int) -> float:
    """The highest value of a node's children that have been visited; one has."""
    best = 0.0
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        if tree.visits[child] > 0:
            best = max(best, tree.value[child])
    return best


class KeptMeans(NamedTuple):
    """What `MixedBackup` keeps for each node."""

    mean: NDArray[np.float64]
    """``(N,)``: the mean reward of the simulations through it, 0 to 1, for who chose it."""


@inlined_kernel
def update_mean(tree: Tree, node: int, reward: float) -> float:
    """Count a reward in the mean that a backup keeps of a node; returns the mean."""
    means = tree.backed_up.mean
    means[node] += (reward - means[node]) / tree.visits[node]
    return means[node]


@part
class MaxBackup(NamedTuple):
    """The value of a node is that of its best child, for the player to move there.

    Of a node without children it is the mean. The greatest of few noisy means is too high: Coulom
    2006, section 3.2, compares this with means and with what lies between.

    Examples:
        >>> variant = UCT().variant._replace(backup=MaxBackup())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    unused: int = 0

    def revise(self, tree: Tree, simulation: Simulation, exact: bool) -> None:
        for ply in range(simulation.depth[0] - 2, -1, -1):
            node = simulation.path[ply]
            tree.value[node] = for_chooser(simulation, ply, best_below(tree, node))


@part
class MixedBackup(NamedTuple):
    """The value of a node is its mean, mixed with the value of its best child.

    Examples:
        >>> variant = UCT().variant._replace(backup=MixedBackup(share=0.2))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    share: float = 0.5
    """The share of the best child: 0 is `MeanBackup`, 1 is `MaxBackup`."""

    def with_memory(self, game: Game) -> "MixedBackup":
        """ValueError if `share` is not from 0 to 1."""
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"expected a share from 0 to 1, got {self.share}")
        return self

    def new_extras(self, max_nodes: int) -> KeptMeans:
        return KeptMeans(np.empty(max_nodes))

    def initialise(self, game: Game, state: State, tree: Tree, node: int) -> None:
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            tree.backed_up.mean[child] = 0.0

    def revise(self, tree: Tree, simulation: Simulation, exact: bool) -> None:
        for ply in range(simulation.depth[0] - 1, -1, -1):
            node = simulation.path[ply]
            value = update_mean(tree, node, simulation.rewards[ply])
            if ply < simulation.depth[0] - 1:
                best = for_chooser(simulation, ply, best_below(tree, node))
                value += self.share * (best - value)
            tree.value[node] = value


@part
class PowerMeanBackup(NamedTuple):
    """The value of a node is the power mean of its children's, weighted by their visits.

    (Dam, Klink, D'Eramo, Peters and Pajarinen 2020.) `power` 1 is the mean over the children, and
    the greater it is, the nearer to their maximum.

    Examples:
        >>> variant = UCT().variant._replace(backup=PowerMeanBackup(power=2.0))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    power: float = 4.0

    def with_memory(self, game: Game) -> "PowerMeanBackup":
        """ValueError if `power` is not above 0."""
        if not self.power > 0.0:
            raise ValueError(f"expected a power above 0, got {self.power}")
        return self

    def revise(self, tree: Tree, simulation: Simulation, exact: bool) -> None:
        for ply in range(simulation.depth[0] - 2, -1, -1):
            node = simulation.path[ply]
            total, count = 0.0, 0
            first = tree.first_child[node]
            for child in range(first, first + tree.child_count[node]):
                if tree.visits[child] > 0:
                    total += tree.visits[child] * math.pow(tree.value[child], self.power)
                    count += tree.visits[child]
            value = math.pow(total / count, 1.0 / self.power)
            tree.value[node] = for_chooser(simulation, ply, value)


# ---- bounds on scores ----------------------------------------------------------------------------


class KeptBounds(NamedTuple):
    """What `ScoreBoundedBackup` keeps for each node; all from 0 to 1."""

    mean: NDArray[np.float64]  # (N,): the mean reward, for the player who chose the node
    lower: NDArray[np.float64]  # (N,): what that player gets at least, with perfect play
    upper: NDArray[np.float64]  # (N,): what that player gets at most
    assured: NDArray[np.float64]  # (N,): what the player to move there gets at least


@part
class ScoreBoundedBackup(NamedTuple):
    """Bounds on the score of every node, from the ends of games (Cazenave and Saffidine 2010).

    The value of a node is its mean, but within the bounds; where they meet, it is exact. Children
    whose upper bound is below what another one assures are not visited again. (The paper leaves out
    those with an equal bound too; here the best of a position that is solved goes on being
    visited.) For rewards that depend on the outcome alone, as those of `WinLoss`, in games with
    scores as in others, and for nodes whose children are all the legal actions.

    Examples:
        >>> variant = UCT().variant._replace(backup=ScoreBoundedBackup())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    best: float = 1.0
    """The highest reward there is."""

    def new_extras(self, max_nodes: int) -> KeptBounds:
        mean, lower, upper, assured = np.empty((4, max_nodes))
        return KeptBounds(mean, lower, upper, assured)

    def initialise(self, game: Game, state: State, tree: Tree, node: int) -> None:
        kept = tree.backed_up
        kept.assured[node] = 1.0 - self.best
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            kept.mean[child] = 0.0
            kept.lower[child], kept.upper[child] = 1.0 - self.best, self.best
            kept.assured[child] = 1.0 - self.best

    def prunes(self, tree: Tree, node: int, child: int) -> bool:
        return tree.backed_up.upper[child] < tree.backed_up.assured[node]

    def revise(self, tree: Tree, simulation: Simulation, exact: bool) -> None:
        kept = tree.backed_up
        last = simulation.depth[0] - 1
        for ply in range(last, -1, -1):
            node, reward = simulation.path[ply], simulation.rewards[ply]
            if ply < last:
                lower, upper = self.bound(tree, node)
                kept.assured[node] = lower
                one = for_chooser(simulation, ply, lower)
                other = for_chooser(simulation, ply, upper)
                kept.lower[node], kept.upper[node] = min(one, other), max(one, other)
            elif exact:
                kept.lower[node] = kept.upper[node] = reward
            mean = update_mean(tree, node, reward)
            tree.value[node] = min(max(mean, kept.lower[node]), kept.upper[node])
        if last >= 0:
            kept.assured[ROOT] = self.bound(tree, ROOT)[0]

    def bound(self, tree: Tree, node: int) -> tuple[float, float]:
        """What the player to move at a node gets at least, and at most."""
        lower, upper = 1.0 - self.best, self.best if is_partial(tree, node) else 1.0 - self.best
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            lower = max(lower, tree.backed_up.lower[child])
            upper = max(upper, tree.backed_up.upper[child])
        return lower, upper
