"""Proven outcomes in the tree (MCTS-Solver: Winands, Bjornsson and Saito 2008), and their use.

Each use is a class, not a number, so that a search without proofs is compiled without them.
"""

from typing import Any, Final, NamedTuple, Protocol

from agents.search.simulation import Simulation
from agents.search.tree import ROOT, UNPROVEN, Tree
from hexenv.compiled import compiled, kernel


class Solver(Protocol):
    """What is done with proven outcomes."""

    def proves(self) -> bool:
        """Whether outcomes are proven; a simulation then ends at a proven node."""
        ...

    def skips(self, tree: Any, child: int) -> bool:
        """Whether no simulation is to go down to `child`."""
        ...


@kernel
def all_proofs(self: Any) -> bool:
    """Outcomes are proven."""
    return True


@kernel
def no_child(self: Any, tree: Any, child: int) -> bool:
    """No child is left out."""
    return False


@compiled
class NoSolver(NamedTuple):
    """Nothing is proven."""

    level: int = 0

    skips = no_child

    def proves(self) -> bool:
        return False


@compiled
class SoftSolver(NamedTuple):
    """A simulation that reaches a proven node ends there with its outcome."""

    level: int = 1

    proves = all_proofs
    skips = no_child


@compiled
class HardSolver(NamedTuple):
    """The soft solver, and proven losses are not selected."""

    level: int = 2

    proves = all_proofs

    def skips(self, tree: Any, child: int) -> bool:
        return tree.proof[child] == -1


SOLVERS: Final[dict[str, Solver]] = {
    "off": NoSolver(),
    "soft": SoftSolver(),
    "hard": HardSolver(),
}
"""The solvers by name."""


@kernel
def back_up_proof(tree: Tree, variant: Any, simulation: Simulation) -> None:
    """Prove the nodes on the path that the proof of the last one decides."""
    for ply in range(simulation.depth[0] - 1, -1, -1):
        node = ROOT if ply == 0 else simulation.path[ply - 1]
        outcome = proof_by_children(tree, variant, node)
        if outcome == UNPROVEN:
            return
        mover = simulation.players[ply]
        chooser = 1 - mover if ply == 0 else simulation.players[ply - 1]
        tree.proof[node] = outcome if mover == chooser else -outcome


@kernel
def proof_by_children(tree: Tree, variant: Any, node: int) -> int:
    """The outcome of a node for the player to move there, or `UNPROVEN`.

    One winning child is enough; otherwise the best of the children counts, if all are proven, and
    there is nothing else to play.
    """
    covered = variant.knowledge.covers(variant.selection, tree, node)
    best = -1 if covered and tree.child_count[node] > 0 else UNPROVEN
    for child in range(tree.first_child[node], tree.first_child[node] + tree.child_count[node]):
        proof = int(tree.proof[child])
        if proof == 1:
            return 1
        best = max(best, proof)
    return best
