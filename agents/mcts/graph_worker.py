"""The option `transpositions`: a worker of a tree search whose trees are graphs."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from agents.mcts.worker import TreeWorker
from agents.search import graph
from agents.search.children import nodes_for
from agents.search.graph import Graph
from agents.search.roots import principal_variation
from agents.search.tree import Tree
from agents.search.variant import Variant


class GraphWorker(TreeWorker):
    """See `TreeWorker`; positions are found by their hashes."""

    kernel = graph.compiled_search_graph
    asks_knowledge = can_play_many = can_be_saved = False

    def __init__(self, seed: np.random.SeedSequence | int | None) -> None:
        super().__init__(seed)
        self.graph: Graph | None = None

    def arrays(self) -> tuple[Any, ...]:
        return self.tree, self.graph

    def take_memory(self, other: Any) -> None:
        self.tree, self.graph = other.tree, other.graph

    def go_on(self, played: Sequence[int] | None, key: int) -> bool:
        if self.tree is None or self.graph is None or played is None or self.variant is None:
            return False
        return graph.make_root(self.tree, self.graph, key)

    def clear(self) -> None:
        if self.tree is not None and self.graph is not None:
            graph.clear(self.tree, self.graph)

    def nodes_needed(self, simulations: int | None, num_actions: int, most: int) -> int:
        return most if simulations is None else nodes_for(simulations, num_actions + 1)

    def make_room(self, nodes: int, most: int) -> None:
        """See that a number of nodes fit in; else start with an empty graph.

        Where `most` allows no more, half of it has to be free.
        """
        used = 0 if self.tree is None else int(self.tree.node_count[0])
        if self.graph is None or len(self.graph.target) - used < min(nodes, most // 2):
            self.tree, size = None, min(most, 4 * nodes)
            super().make_room(size, most)
            self.graph = graph.new_graph(size)

    def line(self, first: int | None = None) -> list[int]:
        return principal_variation(cast("Tree", self.tree), cast("Graph", self.graph).target, first)

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "kept": None}
        if self.variant is None:  # after `reset`, the content of the arrays is of no use
            state["tree"] = state["graph"] = None
        return state


def graph_worker_for(variant: Variant) -> type[GraphWorker]:
    """The class of what searches graphs; ValueError for a variant that cannot be searched so."""
    graph.check_variant(variant)
    return GraphWorker
