"""The option ``parallel="tree"``: the workers of a tree search share one tree."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from agents.mcts.tree_search import TreeWorker
from agents.search.shared import (
    SharedNodes,
    compiled_search_shared,
    renewed,
    shared_nodes,
    tree_of_thread,
)
from agents.search.tree import Tree


class LeadingWorker(TreeWorker):
    """See `TreeWorker`: the first of those that share a tree; the tree is its own."""

    kernel = compiled_search_shared

    def __init__(self, seed: np.random.SeedSequence | int | None) -> None:
        super().__init__(seed)
        self.shared: SharedNodes | None = None
        self.has_gone_on = False

    @classmethod
    def several(cls, seeds: Sequence[Any]) -> list[TreeWorker]:
        leader = cls(seeds[0])
        return [leader, *(HelpingWorker(seed, leader) for seed in seeds[1:])]

    def arrays(self) -> tuple[Any, ...]:
        return tree_of_thread(cast("Tree", self.tree)), self.shared

    def go_on(self, played: Sequence[int] | None, key: int) -> bool:
        self.has_gone_on = super().go_on(played, key)
        return self.has_gone_on

    def make_room(self, nodes: int, most: int) -> None:
        super().make_room(nodes, most)
        tree = cast("Tree", self.tree)
        if self.shared is None or len(self.shared.version) < len(tree.action):
            self.shared = shared_nodes(tree)
        else:
            self.shared = renewed(self.shared, tree)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "shared": None}


class HelpingWorker(TreeWorker):
    """See `TreeWorker`: another of them. What becomes of the tree, the leader decides."""

    kernel = compiled_search_shared
    owns_tree = False

    def __init__(self, seed: np.random.SeedSequence | int | None, leader: LeadingWorker) -> None:
        super().__init__(seed)
        self.leader = leader

    def arrays(self) -> tuple[Any, ...]:
        return self.leader.arrays()

    def go_on(self, played: Sequence[int] | None, key: int) -> bool:
        return self.leader.has_gone_on and self.variant is not None

    def make_room(self, nodes: int, most: int) -> None:
        pass
