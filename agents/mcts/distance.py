"""The search of the Connect4 tutorial: a score by the distance to the end of the game.

A win at the next ply scores 1000, a later one 1 / plies, a loss the negative; a draw counts as a
loss for either side. Scores are kept as rewards in [0, 1]: 1/2 + score / 2000.
"""

from typing import Annotated, NamedTuple, Unpack

import numpy as np

from agents.core.options import NonNegative
from agents.mcts.playouts import variant_of
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.selection import sqrt_log
from agents.search.simulation import all_moves, part
from agents.search.tree import ROOT, Tree
from hexenv.common.options import Within


@part
class DistanceScore(NamedTuple):
    """The score, between -`decisive` and `decisive`, scaled to [0, 1].

    A proven node counts as an end of the game.

    Examples:
        >>> variant = UCT().variant._replace(reward=DistanceScore(power=2.0))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    decisive: float = 1000.0
    power: float = 1.0
    draw: float = -1.0

    needs_moves = all_moves

    def shape(self, outcome: float, player: int, plies: int, length: int) -> float:
        score = self.decisive if plies <= 1 else 1.0 / float(plies) ** self.power
        sign = self.draw if outcome == 0.0 else outcome
        return 0.5 + 0.5 * sign * score / self.decisive


@part
class DistanceUCB(NamedTuple):
    """mean score + c sqrt(ln N / n).

    Examples:
        >>> variant = UCT().variant._replace(selection=DistanceUCB(), reward=DistanceScore())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    c: float = 1.4142135623730951
    decisive: float = 1000.0

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> float:
        return self.c * sqrt_log(tree.visits[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        mean = (2.0 * tree.value[child] - 1.0) * self.decisive
        return mean + prepared * tree.spread[child]


@part
class LiteralUCB(NamedTuple):
    """mean score / n + c sqrt(ln N) / n, N the visits of the root: the tutorial's formula.

    It divides the mean by the visits a second time, and its bonus shrinks faster than the mean gets
    certain.
    """

    c: float = 1.4142135623730951
    decisive: float = 1000.0

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> float:
        return self.c * sqrt_log(tree.visits[ROOT])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        mean = (2.0 * tree.value[child] - 1.0) * self.decisive
        return (mean + prepared) / tree.visits[child]


class DistanceMCTS(TreeSearchAgent):
    r"""Wins and losses at the next ply count 1000, later ones 1 / plies, draws as losses.

    Formula:
        $$\bar s + c \sqrt{\frac{\ln\, N}{n}} \qquad s = \pm \frac{1}{d^{\,p}}$$

        $\bar s$ is the mean score of a child, $n$ and $N$ are the visits of the child and of its
        parent. The score of a simulation is that of a win or a loss $d$ plies away, $p$ is `power`;
        at the next ply it is `decisive`.

    Args:
        c: Weight of exploration.
        decisive: Score of a win at the next ply.
        power: A later win scores 1 / plies ** power.
        draw: Score of a draw, as a share of a win at the same distance: -1: as a loss, for both
            sides; 0: fair.
        literal: Whether the formula is the tutorial's to the letter,
            `agents.mcts.distance.LiteralUCB`.
        playout: A policy of `agents.mcts.playouts`.
    """

    name = "distance"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: NonNegative = 2**0.5,
        decisive: Annotated[float, Within(1)] = 1000.0,
        power: Annotated[float, Within(0, 100)] = 1.0,
        draw: Annotated[float, Within(-1, 1)] = -1.0,
        literal: bool = False,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        selection = (LiteralUCB if literal else DistanceUCB)(c, decisive)
        variant = variant_of(selection, playout, DistanceScore(decisive, power, draw))
        super().__init__(variant, simulations, seconds, **options)
