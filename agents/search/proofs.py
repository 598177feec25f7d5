"""Proven outcomes in the tree (MCTS-Solver: Winands, Bjornsson and Saito 2008).

Each way to use them is a class, not a number: a search without proofs is compiled without them.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from agents.search.tree import ROOT, UNPROVEN, Tree
from hexenv.compiled import compiled, inlined_kernel, kernel

if TYPE_CHECKING:
    from agents.search.simulation import Simulation


class ProofRule(Protocol):
    """What is done with proven outcomes."""

    def proves(self) -> bool:
        """Whether outcomes are proven; a simulation then ends at a proven node."""
        ...

    def skips(self, tree: Tree, child: int) -> bool:
        """Whether no simulation may go down to `child`."""
        ...


@kernel
def all_proofs(self: Any) -> bool:
    """`ProofRule.proves` of a solver."""
    return True


@kernel
def no_child(self: Any, tree: Tree, child: int) -> bool:
    """`ProofRule.skips` of one that lets simulations go to all children."""
    return False


@compiled
class NoSolver(NamedTuple):
    """Nothing is proven.

    Examples:
        >>> variant = UCT().variant._replace(solver=NoSolver())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    level: int = 0

    skips = no_child

    def proves(self) -> bool:
        return False


@compiled
class SoftSolver(NamedTuple):
    """A simulation that reaches a proven node ends there with its outcome.

    Examples:
        >>> variant = UCT().variant._replace(solver=SoftSolver())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    level: int = 1

    proves = all_proofs
    skips = no_child


@compiled
class HardSolver(NamedTuple):
    """The soft solver, and proven losses are not selected.

    Examples:
        >>> variant = UCT().variant._replace(solver=HardSolver())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    level: int = 2

    proves = all_proofs

    def skips(self, tree: Tree, child: int) -> bool:
        return tree.proof[child] == -1


MOST_PLIES: Final = 2**15 - 1
"""More than `Tree.plies_left` is."""

SOLVERS: Final[dict[str, ProofRule]] = {
    "off": NoSolver(),
    "soft": SoftSolver(),
    "hard": HardSolver(),
}
"""The solvers by name."""


@inlined_kernel
def is_proven(tree: Tree, node: int, variant: Any) -> bool:
    """Whether the outcome of a node is proven, and used."""
    return variant.solver.proves() and tree.proof[node] != UNPROVEN


@kernel
def back_up_proof(tree: Tree, variant: Any, simulation: "Simulation") -> None:
    """Prove the nodes on the path that follow from the proof of the last one."""
    for ply in range(simulation.depth[0] - 1, -1, -1):
        node = ROOT if ply == 0 else simulation.path[ply - 1]
        outcome = proof_by_children(tree, variant, node)
        if outcome == UNPROVEN:
            return
        mover = simulation.players[ply]
        chooser = 1 - mover if ply == 0 else simulation.players[ply - 1]
        prove(tree, node, outcome, mover == chooser)


@kernel
def proof_by_children(tree: Tree, variant: Any, node: int) -> int:
    """The outcome of a node for the player to move there, or `UNPROVEN`.

    One winning child is enough. Otherwise the best child counts, if all are proven and no other
    action is left.
    """
    first, count = tree.first_child[node], tree.child_count[node]
    return best_proof(tree, variant, node, first, count)


@inlined_kernel
def best_proof(tree: Tree, variant: Any, node: int, first: int, count: int) -> int:
    """`proof_by_children` of a node with so many children from `first` on."""
    covered = variant.knowledge.covers(variant.selection, tree, node)
    best = -1 if covered and count > 0 else UNPROVEN
    for child in range(first, first + count):
        proof = int(tree.proof[child])
        if proof == 1:
            return 1
        best = max(best, proof)
    return best


@kernel
def prove(tree: Tree, node: int, outcome: int, is_chooser: bool) -> None:
    """Note the outcome of a node for the player to move there, who may be who chose it."""
    tree.plies_left[node] = plies_by_children(tree, node, outcome)
    tree.proof[node] = outcome if is_chooser else -outcome


@inlined_kernel
def prove_root(tree: Tree, variant: Any) -> None:
    """Prove the root, if its children decide it: it may have been a child before."""
    if variant.solver.proves() and tree.proof[ROOT] == UNPROVEN:
        outcome = proof_by_children(tree, variant, ROOT)
        if outcome != UNPROVEN:
            prove(tree, ROOT, outcome, False)


@kernel
def plies_by_children(tree: Tree, node: int, outcome: int) -> int:
    """The plies to the end from a node with a proven outcome for the player to move there.

    A winner takes the shortest win, and a loser the longest loss.
    """
    plies, sign = 0, -1 if outcome > 0 else 1
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        if tree.proof[child] == outcome:
            left = 1 + int(tree.plies_left[child])
            if plies == 0 or sign * (left - plies) > 0:
                plies = left
    return plies


@inlined_kernel
def proof_rank(tree: Tree, child: int) -> int:
    """The greater, the better is a child by its proof, of all children of a node.

    Above 0 for a win, the sooner the greater; below 0 for a loss, the later the greater; else 0.
    """
    proof = int(tree.proof[child])
    if abs(proof) != 1:
        return 0
    return proof * (MOST_PLIES - int(tree.plies_left[child]))
