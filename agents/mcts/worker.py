"""A worker of a tree search: a tree, and what searches it."""

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from agents.planning.environment import View
from agents.search.children import most_new_nodes, nodes_for
from agents.search.mcts import compiled_search
from agents.search.roots import principal_variation
from agents.search.simulation import Simulation
from agents.search.tree import (
    ROOT,
    UNPROVEN,
    Tree,
    child_by_action,
    copy_nodes,
    first_nodes,
    keep_subtree,
)
from agents.search.variant import Variant, simulation_for, tree_for
from hexenv.compiled import CompiledFunction, classes_of, uses_machine_code
from hexenv.compiled.callees import CLASSES, is_ours

if TYPE_CHECKING:
    from agents.mcts.tree_search import TreeSearchAgent


class CodeAndArrays(NamedTuple):
    """What a worker needs for a search of a game by a variant; kept from move to move."""

    of_view: tuple[Any, Variant, bool]
    """The game, the variant, and whether machine code is used."""
    run: Callable[..., int]
    state: Any
    simulation: Simulation


class WorkerRun(NamedTuple):
    """One search of one worker."""

    search: Callable[[int], int]  # runs up to a number of simulations; returns how many it ran
    worker: "TreeWorker"
    view: View


class TreeWorker:
    """A tree, what searches it, a stream of random numbers and a variant with its memory.

    Attributes:
        kernel: The search.
        asks_knowledge: Whether the search asks what the variant knows of the game.
        can_play_many: Whether `agents.mcts.many_games` runs the same search in many games.
        can_be_saved: Whether files keep its trees.
        takes_all_at_once: Whether its simulations are best run in one call, where no clock is
            looked at: leaves are evaluated in batches, and the end of a slice ends a batch.
    """

    kernel: CompiledFunction = compiled_search
    asks_knowledge: bool = True
    can_play_many: bool = True
    can_be_saved: bool = True
    takes_all_at_once: bool = False

    def __init__(self, seed: np.random.SeedSequence | int | None) -> None:
        self.rng = np.random.default_rng(seed)
        self.tree: Tree | None = None
        self.variant: Variant | None = None
        self.kept: CodeAndArrays | None = None

    def arrays(self) -> tuple[Any, ...]:
        """What the kernel searches in."""
        return (self.tree,)

    def take_memory(self, other: Any) -> None:
        """Use the arrays of another worker."""
        self.tree = other.tree

    def go_on(self, played: Sequence[int] | None, key: int) -> bool:
        """Make the position after some actions, with a hash, the root, if it has been searched."""
        if self.tree is None or played is None or self.variant is None:
            return False
        return go_down(self.tree, played)

    def clear(self) -> None:
        """Forget all that was searched; the arrays stay, to be used again."""
        if self.tree is not None:
            self.tree.node_count[0] = 0

    def nodes_needed(self, simulations: int | None, num_actions: int, most: int) -> int:
        """By how many nodes a search may grow the tree, of at most `most`."""
        if simulations is None:
            return most
        if cast("Variant", self.variant).selection.tries_all_first():
            kept = 0 if self.tree is None else int(self.tree.node_count[0])
            return most_new_nodes(simulations, num_actions, kept)
        return nodes_for(simulations, num_actions)

    def make_room(self, nodes: int, most: int) -> None:
        """Let the tree grow by a number of nodes, but not beyond `most`."""
        variant = cast("Variant", self.variant)
        used = 0 if self.tree is None else int(self.tree.node_count[0])
        size = min(most, used + nodes)
        kept: Any = variant.backup.new_extras(0)
        if used == 0 and self.tree is not None and type(self.tree.backed_up) is not type(kept):
            self.tree = None  # the last environment was for another number of players
        if self.tree is None or len(self.tree.action) < size:
            larger = tree_for(variant, size)
            if self.tree is not None:
                copy_nodes(self.tree, larger)
            self.tree = larger

    def take_tree(self, source: Tree, played: Sequence[int]) -> None:
        """Begin with a copy of a tree, after some actions, if it knows the position there."""
        size = int(source.node_count[0])
        self.tree = tree_for(cast("Variant", self.variant), size)
        copy_nodes(source, self.tree)
        if not go_down(self.tree, played):
            self.clear()

    # ---- a search ----------------------------------------------------------------------------

    def new_run(self, view: View, agent: "TreeSearchAgent") -> WorkerRun:
        """The search of the tree, from the position of a view; compiled if it can be."""
        game, variant = view.game, cast("Variant", self.variant)
        of_view = (game, variant, view.compiles and uses_machine_code())
        kept = self.kept
        if kept is None or not all(map(operator.is_, kept.of_view, of_view)):
            kept = self.kept = self._code_and_arrays(view, agent.route)
        before = (game, view.root, kept.state, *self.arrays(), variant, kept.simulation)
        run = kept.run

        def search(simulations: int) -> int:
            return run(*before, simulations, self.rng)

        return WorkerRun(search, self, view)

    def _code_and_arrays(self, view: View, route: str) -> CodeAndArrays:
        game, variant = view.game, cast("Variant", self.variant)
        state, simulation = view.new_state(), simulation_for(variant, game)
        run: Callable[..., int] = self.kernel.function
        kinds = classes_of([variant]) if view.compiles else frozenset[type]()
        if view.compiles and CLASSES.keys() >= kinds:
            if not all(map(is_ours, kinds)) and uses_machine_code():
                from agents.search.checks import try_parts  # most programs have ours alone

                try_parts(variant, game, view.root)
            before = (game, view.root, state, *self.arrays(), variant, simulation)
            decided_by = (game, view.root, variant)
            run = self.kernel.specialise(*before, 0, self.rng, decided_by=decided_by)
        elif route == "compiled":
            plain = ", ".join(sorted(kind.__name__ for kind in kinds - CLASSES.keys()))
            raise ValueError(f'route "compiled" needs @compiled parts, got {plain}')
        is_fast = view.compiles and uses_machine_code()
        return CodeAndArrays((game, variant, is_fast), run, state, simulation)

    @property
    def is_fast(self) -> bool:
        """Whether its search runs as machine code."""
        return self.kept is not None and self.kept.run is not self.kernel.function

    # ---- what it leaves --------------------------------------------------------------------------

    def line(self, first: int | None = None) -> list[int]:
        """The most visited actions from the root, or after a `first` action there."""
        return principal_variation(cast("Tree", self.tree), None, first)

    def __getstate__(self) -> dict[str, Any]:
        used = None  # after `reset`, the content of the tree is of no use
        if self.variant is not None and self.tree is not None:  # a copy needs no room to grow
            used = first_nodes(self.tree, max(int(self.tree.node_count[0]), 1))
        return {**self.__dict__, "tree": used, "kept": None}


def go_down(tree: Tree, actions: Sequence[int]) -> bool:
    """Make the node that some actions lead to the root, if the tree has it and has visited it."""
    node: int | None = ROOT
    for action in actions:
        node = child_by_action(tree, node, action)
        if node is None or tree.visits[node] == 0:
            return False
    if node == ROOT:
        return True
    keep_subtree(tree, node)
    tree.proof[ROOT] = UNPROVEN  # until the search has looked at its children
    return True
