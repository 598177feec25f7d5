"""A variant of the search in ten lines: another selection rule, compiled with all the rest."""

import math
from typing import NamedTuple, Unpack

import numpy as np

from agents import UCT
from agents.arena import play_match, summarise
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.simulation import part
from agents.search.tree import Tree
from agents.search.variant import Variant
from hexenv import connect4_v0


@part
class SqrtVisits(NamedTuple):
    """Exploration by sqrt(N) / (1 + n): AlphaZero's with equal priors (Silver et al. 2017)."""

    c: float = 0.2

    # What other rules need besides, this one does without.

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> float:
        return self.c * math.sqrt(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        return tree.value[child] + prepared / (1 + tree.visits[child])


class SqrtAgent(TreeSearchAgent):
    """The agent: `own_selection.SqrtAgent:simulations=500,c=0.3` on the command line."""

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 0.2,
        **options: Unpack[SearchOptions],
    ) -> None:
        variant = Variant(SqrtVisits(c), Uniform(), WinLoss())
        super().__init__(variant, simulations, seconds, **options)


if __name__ == "__main__":
    players = [SqrtAgent(simulations=500), UCT(simulations=500)]
    summary = summarise(list(play_match(connect4_v0.env(), players, games=20)))
    print(f"against UCT: {summary.wins} won, {summary.draws} drawn, {summary.losses} lost")
