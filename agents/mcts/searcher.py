"""One worker of a tree search: its tree, and how that goes on from one move to the next."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from agents.mcts.root import principal_variation
from agents.mcts.saved import SavedTrees, check_rules
from agents.search import graph
from agents.search.foreign import View, new_state_of
from agents.search.graph import Graph
from agents.search.mcts import Variant
from agents.search.tree import (
    ROOT,
    UNPROVEN,
    Tree,
    child_by_action,
    children,
    copy_nodes,
    keep_subtree,
    new_tree,
)
from hexenv.compiled import CompiledFunction
from hexenv.games import base


class Searcher:
    """A tree, a stream of random numbers and the memory of a variant: one worker of an agent."""

    def __init__(self, seed: np.random.SeedSequence | int | None) -> None:
        self.rng = np.random.default_rng(seed)
        self.tree: Tree | None = None
        self.graph: Graph | None = None
        self.variant: Variant | None = None

    def go_on(self, played: Sequence[int] | None, key: int) -> bool:
        """Make the position after some actions the root, if it has been searched.

        Args:
            played: The actions from the root to the position; None if there is no way.
            key: The position's hash.
        """
        if self.tree is None or played is None or self.variant is None:
            return False
        if self.graph is not None:
            return graph.make_root(self.tree, self.graph, key)
        return go_down(self.tree, played)

    def clear(self) -> None:
        """Forget all that was searched; the arrays stay, to be used again."""
        if self.tree is not None:
            self.tree.node_count[0] = 0
        if self.tree is not None and self.graph is not None:
            graph.clear(self.tree, self.graph)

    def make_room(self, nodes: int, most: int) -> None:
        """See that the tree can grow by so many nodes, but not beyond `most`."""
        variant = cast("Variant", self.variant)
        used = 0 if self.tree is None else int(self.tree.node_count[0])
        size = min(most, used + nodes)
        if self.tree is None or len(self.tree.action) < size:
            larger = new_tree(size, variant.selection.new_extras(size))
            if self.tree is not None:
                copy_nodes(self.tree, larger)
            self.tree = larger

    def make_graph(self, nodes: int, most: int) -> None:
        """See that there is a graph with room for so many nodes; else start with an empty one.

        Where `most` allows no more, half of it has to be free.
        """
        used = 0 if self.tree is None else int(self.tree.node_count[0])
        if self.graph is None or len(self.graph.target) - used < min(nodes, most // 2):
            self.tree, size = None, min(most, 4 * nodes)
            self.make_room(size, most)
            self.graph = graph.new_graph(size)

    def line(self) -> list[int]:
        """The most visited actions from the root, after a search."""
        target = None if self.graph is None else self.graph.target
        return principal_variation(cast("Tree", self.tree), target)

    def __getstate__(self) -> dict[str, Any]:
        tree = self.tree
        if self.variant is None:  # after `reset`, what is in the tree is of no use
            return {**self.__dict__, "tree": None, "graph": None}
        if tree is not None and self.graph is None:  # a copy needs no room to grow
            count = max(int(tree.node_count[0]), 1)
            extras = self.variant.selection.new_extras(count)
            copy_nodes(tree, trimmed := new_tree(count, extras))
            tree = trimmed
        return {**self.__dict__, "tree": tree}


class Position(NamedTuple):
    """Where the trees of an agent have their root."""

    game: Any
    root: Any
    actions: tuple[int, ...]
    """That led there from the start; over a foreign environment only the one then chosen."""


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


class Run(NamedTuple):
    """The search of one tree."""

    search: Callable[[int], int]
    """Runs so many simulations; returns how many it ran."""
    tree: Tree
    view: View


class MachineCode:
    """The compiled search of an agent. Looking all types up takes longer than a short search."""

    def __init__(self) -> None:
        self._known: dict[tuple[type, ...], Callable[..., int]] = {}

    def of(self, kernel: CompiledFunction, arguments: tuple[Any, ...]) -> Callable[..., int]:
        """What a kernel is compiled to for some arguments, of which the first is the game."""
        game = cast("tuple[Any, ...]", arguments[0])
        kinds = (type(game), *map(type, game))  # the rest depends on these alone, if they are plain
        if kinds not in self._known:
            code = kernel.specialise(*arguments)
            if not {bool, int, float, str}.issuperset(kinds[1:]):
                return code
            self._known[kinds] = code
        return self._known[kinds]


def played_since(view: View, last: Position | None, tree: Tree | None) -> tuple[int, ...] | None:
    """The actions from a position to that of the view; None if there is no way.

    Args:
        view: The position now.
        last: The position before, if there was one.
        tree: Over that, to guess by where an environment does not tell; None not to guess.
    """
    if last is None or type(last.game) is not type(view.game):
        return None
    if view.actions is None:
        return None if tree is None else _guess_played(view, last, tree)
    if last.game != view.game or view.actions[: len(last.actions)] != last.actions:
        return None
    played = view.actions[len(last.actions) :]
    state = base.clone(view.game, last.root)
    for action in played:
        view.game.step(state, action)
    same = view.game.position_hash(state) == view.game.position_hash(view.root)
    return played if same and state.ply == view.root.ply else None


def _guess_played(view: View, last: Position, tree: Tree) -> tuple[int, ...] | None:
    """The same over an environment that does not tell: what was chosen, and a reply to it.

    It is found by trying, the most visited replies first, whichever leads to what is shown.
    """
    chosen = last.actions[-1]
    node = child_by_action(tree, ROOT, chosen)
    if node is None:
        return None
    below = children(tree, node)
    order = np.argsort(-tree.visits[below])
    replies = tree.action[below][order][tree.visits[below][order] > 0]
    key = view.game.position_hash(view.root)
    state = new_state_of(view)
    for played in ((), (chosen,), *((chosen, int(reply)) for reply in replies)):
        view.game.copy(last.root, state)
        for action in played:
            view.game.step(state, action)
        if view.game.position_hash(state) == key:
            return played
    return None


class LoadedTrees:
    """Saved trees to begin with, in the positions that they know.

    Args:
        saved: What was loaded.
        selection: The selection rule of the search.
    """

    def __init__(self, saved: SavedTrees, selection: Any) -> None:
        self._saved = saved
        self._selection = selection
        self._at: Position | None = None

    def plant(self, searcher: Searcher, number: int, view: View) -> None:
        """Give a searcher, which is cleared, its tree, where that knows the position.

        Raises:
            ValueError: If the trees are of another game, or break its rules.
        """
        if view.actions is None:
            return
        saved = self._saved
        if self._at is None or self._at.game != view.game:
            root = check_rules(saved, view.game, self._selection, view.compiles)
            self._at = Position(view.game, root, saved.actions)
        played = played_since(view, self._at, None)
        if played is not None:
            variant = cast("Variant", searcher.variant)
            source = saved.trees[number]
            size = int(source.node_count[0])
            searcher.tree = new_tree(size, variant.selection.new_extras(size))
            copy_nodes(source, searcher.tree)
            if not go_down(searcher.tree, played):
                searcher.clear()
