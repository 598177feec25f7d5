"""A variant of the search: the parts that it is composed of, and the arrays that they need."""

import operator
from typing import Any, Final, NamedTuple, cast

from agents.search.knowledge import Knowledge, NoKnowledge
from agents.search.proofs import NoSolver, ProofRule
from agents.search.reward import MeanBackup
from agents.search.simulation import Simulation, new_simulation
from agents.search.tree import Tree, extra_arrays, new_tree
from hexenv.compiled import compiled
from hexenv.games.base import Game


@compiled
class Variant(NamedTuple):
    """A variant of the search: its parts.

    Examples:
        >>> from agents.search.playout import Decisive
        >>> from agents.search.reward import WinLoss
        >>> from agents.search.selection import UCB1
        >>> variant = Variant(UCB1(c=0.7), Decisive(), WinLoss())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    selection: Any
    """A `Selection`; `part` adds what its class leaves out, so types cannot tell."""
    playout: Any
    """A `Playout`."""
    reward: Any
    """A `Reward`."""
    solver: ProofRule = NoSolver()
    """How proven outcomes are used: one of `SOLVERS`."""
    max_depth: int = 2**31 - 1
    """The depth of the tree, at most."""
    knowledge: Knowledge = NoKnowledge()
    """What it knows of the game besides the rules."""
    backup: Any = MeanBackup()
    """A `Backup`: how the values of nodes follow from simulations."""


def simulation_for(variant: Variant, game: Game) -> Simulation:
    """The arrays of a simulation, with its moves where a part of the variant reads them."""
    parts = (variant.selection, variant.playout, variant.reward)
    return new_simulation(game, any(part.needs_moves() for part in parts))


def tree_for(variant: Variant, max_nodes: int) -> Tree:
    """An empty tree with what the parts of the variant keep for nodes.

    Raises:
        ValueError: If a part has arrays for fewer nodes.
    """
    kept = [part.new_extras(max_nodes) for part in (variant.selection, variant.backup)]
    for part, extras in zip((variant.selection, variant.backup), kept, strict=True):
        for name, array in extra_arrays("new_extras", extras).items():
            if len(array) < max_nodes:
                where = f"{type(part).__name__}.{name}"
                raise ValueError(f"expected {max_nodes} entries in {where}, got {len(array)}")
    return new_tree(max_nodes, *kept)


PARTS_WITH_MEMORY: Final = ("selection", "playout", "reward", "knowledge", "backup")


def with_memory(variant: Variant, game: Game) -> Variant:
    """The variant with empty memory of the size that the game needs.

    Where the game has scores, nothing is proven: a proof is of a win, a draw or a loss.
    """
    if hasattr(game, "fitted"):  # it is not for two players
        variant = cast("Any", game).fitted(variant)
    given = [getattr(variant, name) for name in PARTS_WITH_MEMORY]
    parts = [part.with_memory(game) for part in given]
    if hasattr(game, "final_score") and variant.solver.proves():
        variant = variant._replace(solver=NoSolver())
    if all(map(operator.is_, parts, given)):
        return variant
    return variant._replace(**dict(zip(PARTS_WITH_MEMORY, parts, strict=True)))
