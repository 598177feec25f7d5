"""What a search knows of a game besides its rules: which actions matter, which ends are clear."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled, kernel, optional_method


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
