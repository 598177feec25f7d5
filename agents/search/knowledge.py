"""What a search knows of a game besides its rules: which actions matter, which ends are clear."""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.search.children import expand, has_all_children
from agents.search.proofs import back_up_proof, proof_by_children, prove
from agents.search.tree import ROOT, UNPROVEN, Tree
from hexenv.compiled import compiled, inlined_kernel, kernel, optional_method
from hexenv.games.base import Game, State

if TYPE_CHECKING:
    from agents.search.simulation import Simulation


class Knowledge(Protocol):
    """What a search may ask before it looks for itself.

    Knowledge that costs more than a simulation looks at few nodes only: it has, besides,
    ``is_due(visits)``, whether a node that a simulation reaches after so many others is looked at
    now (with an evaluator: not before it has children), and ``is_root_due(game, state)``, whether
    the root is, at the start of a search (with an evaluator: it always is); and
    ``examine(game, state, tree, node)``, which proves children of the node: `Tree.proof`.
    """

    def list_actions(
        self, game: Any, state: Any, rng: np.random.Generator, out: NDArray[np.int32]
    ) -> int:
        """Write the actions that a node is expanded with, the most promising last.

        Returns:
            How many; none at the end of the game.
        """
        ...

    def covers(self, selection: Any, tree: Any, node: int) -> bool:
        """Whether all that matters is among the node's children: if they lose, so does the node."""
        ...

    def decides(self, game: Any, state: Any) -> bool:
        """Whether the outcome of a position in play is known; then it is written into the state."""
        ...

    def with_memory(self, game: Any) -> Any:
        """The knowledge with the arrays it needs for a game, empty. Plain Python."""
        ...


@kernel
def list_legal(
    self: Any, game: Any, state: Any, rng: np.random.Generator, out: NDArray[np.int32]
) -> int:
    """`Knowledge.list_actions` with all that is legal."""
    return game.legal_actions(state, out)


@kernel
def all_covered(self: Any, selection: Any, tree: Any, node: int) -> bool:
    """`Knowledge.covers` where nodes are expanded with all actions that matter."""
    return True


@kernel
def never_due(self: Any, visits: int) -> bool:
    """`is_due` of knowledge that looks at no nodes."""
    return False


@kernel
def root_never_due(self: Any, game: Any, state: Any) -> bool:
    """`is_root_due` of such knowledge."""
    return False


@kernel
def examine_nothing(self: Any, game: Any, state: Any, tree: Any, node: int) -> None:
    """`examine` of such knowledge."""


is_due = optional_method("is_due", never_due)
is_root_due = optional_method("is_root_due", root_never_due)
examine = optional_method("examine", examine_nothing)


def looks_at_nodes(knowledge: Knowledge) -> bool:
    """Whether knowledge looks at any nodes. Plain Python."""
    return hasattr(knowledge, "examine")


@compiled
class NoKnowledge(NamedTuple):
    """Nothing but the rules."""

    unused: int = 0

    list_actions = list_legal
    covers = all_covered

    def decides(self, game: Any, state: Any) -> bool:
        return False

    def with_memory(self, game: Any) -> "NoKnowledge":
        return self


# ---- in the search -------------------------------------------------------------------------------


@kernel
def visits_of(self: Any, tree: Tree, node: int) -> int:
    """`count_visits` of a rule whose simulations end before others begin."""
    return int(tree.visits[node])


count_visits = optional_method("count_visits", visits_of)
"""The simulations through a node, with those that have not ended."""


@kernel
def look_into(
    game: Game,
    state: State,
    tree: Tree,
    node: int,
    variant: Any,
    simulation: "Simulation",
    rng: np.random.Generator,
) -> None:
    """Let the knowledge prove children of a node, the end of the path, and all that follows."""
    if tree.child_count[node] == 0:
        if not expand(game, state, tree, node, variant, simulation, rng):
            return
    elif not has_all_children(game, state, tree, node, variant, simulation, rng):
        return
    examine(variant.knowledge, game, state, tree, node)
    outcome = proof_by_children(tree, variant, node)
    if node == ROOT or outcome == UNPROVEN:
        return
    depth = int(simulation.depth[0])
    chooser, mover = int(simulation.players[depth - 1]), game.to_play(state)
    prove(tree, node, outcome, mover == chooser)
    back_up_proof(tree, variant, simulation)


@inlined_kernel
def look_if_due(
    game: Game,
    state: State,
    tree: Tree,
    node: int,
    variant: Any,
    simulation: "Simulation",
    rng: np.random.Generator,
    expands: bool,
) -> None:
    """`look_into` a node, the end of the path, if the knowledge looks at it now; see `descend`."""
    visits = count_visits(variant.selection, tree, node)
    is_ready = expands or tree.child_count[node] > 0  # before its evaluation it gets no children
    if is_ready and is_due(variant.knowledge, visits) and tree.proof[node] == UNPROVEN:
        look_into(game, state, tree, node, variant, simulation, rng)
