"""A backup: the value of a node is that of its best child, as in minimax (Coulom 2006)."""

from typing import NamedTuple

from agents.search.simulation import Simulation, part
from agents.search.tree import Tree


@part
class BestChild(NamedTuple):
    """`agents.search.backups.MaxBackup`, which counts children from a number of visits on."""

    least: int = 1

    def revise(self, tree: Tree, simulation: Simulation, exact: bool) -> None:
        for ply in range(simulation.depth[0] - 2, -1, -1):  # from the leaf's parent up
            node, best = simulation.path[ply], -1.0
            first = tree.first_child[node]
            for child in range(first, first + tree.child_count[node]):
                if tree.visits[child] >= self.least:
                    best = max(best, tree.value[child])
            if best >= 0.0:  # it is for who moves there: turn it for who chose the node
                same = simulation.players[ply] == simulation.players[ply + 1]
                tree.value[node] = best if same else 1.0 - best
