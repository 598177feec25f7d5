"""A variant of the search in ten lines: another selection rule, compiled with all the rest.

Where Python finds this file, commands have it by its name:

    hexenv match connect4 own_selection.agent:simulations=500 uct
"""

import math
from typing import NamedTuple

from agents import UCT, TreeSearchAgent
from agents.arena import play_match, summarise
from agents.search.mcts import Variant
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.selection import all_first, no_extras, no_initialise
from agents.search.simulation import no_memory, no_moves, no_update
from agents.search.tree import Tree
from hexenv import connect4_v0
from hexenv.compiled import compiled


@compiled
class SqrtVisits(NamedTuple):
    """Exploration by sqrt(N) / (1 + n): AlphaZero's with equal priors (Silver et al. 2017)."""

    c: float = 0.2

    # What other rules need besides, this one does without.
    tries_all_first = all_first
    initialise = no_initialise
    update = no_update
    needs_moves = no_moves
    new_extras = no_extras
    with_memory = no_memory

    def prepare(self, tree: Tree, node: int) -> float:
        return self.c * math.sqrt(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        return tree.value[child] + prepared / (1 + tree.visits[child])


def agent(simulations: int = 500, seed: int | None = None) -> TreeSearchAgent:
    """The search with this rule."""
    variant = Variant(SqrtVisits(), Uniform(), WinLoss())
    return TreeSearchAgent(variant, simulations=simulations, seed=seed)


if __name__ == "__main__":
    agents = [agent(), UCT(simulations=500)]
    summary = summarise(list(play_match(connect4_v0.env(), agents, games=20)))
    print(f"against UCT: {summary.wins} won, {summary.draws} drawn, {summary.losses} lost")
