"""UCT with quality-based rewards: the length of a game counts too."""

import math
from typing import Annotated, Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.options import NonNegative, Share
from agents.mcts.playouts import variant_of
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.selection import UCB1
from agents.search.simulation import Simulation, all_moves, part
from agents.search.tree import Tree
from hexenv.common.options import OneOf, Within
from hexenv.games.base import Game

NO_LENGTHS = np.zeros((2, 3))

QUALITIES: Final = ("bonus", "discount")
"""The rewards by name."""


@part
class RelativeBonus(NamedTuple):
    """A bonus for wins sooner than the winner's average, as in `QualityMCTS`, scaled to [0, 1].

    The length of a simulation that ends at a proven node is counted to that node.

    Examples:
        >>> variant = UCT().variant._replace(reward=RelativeBonus(a=0.5))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    a: float = 0.25
    k: float = 1.4
    lengths: NDArray[np.float64] = NO_LENGTHS
    """``(2, 3)``, for each winner: games, mean length, sum of squared deviations from it."""

    needs_moves = all_moves

    def with_memory(self, game: Game) -> "RelativeBonus":
        return self._replace(lengths=np.zeros((2, 3)))

    def shape(self, outcome: float, player: int, plies: int, length: int) -> float:
        if outcome == 0.0:
            return 0.5
        winner = player if outcome > 0.0 else 1 - player
        games, mean, squares = self.lengths[winner]
        bonus = 0.0
        if games > 1.0 and squares > 0.0:
            sooner = (mean - length) / math.sqrt(squares / (games - 1.0))
            bonus = self.a * (2.0 / (1.0 + math.exp(-self.k * sooner)) - 1.0)
        return 0.5 + 0.5 * outcome * (1.0 + bonus) / (1.0 + self.a)

    def update(self, tree: Tree, simulation: Simulation) -> None:
        outcome = simulation.result[0]
        if outcome != 0.0:
            lengths = self.lengths[0 if outcome > 0.0 else 1]
            lengths[0] += 1.0
            step = simulation.length[0] - lengths[1]
            lengths[1] += step / lengths[0]
            lengths[2] += step * (simulation.length[0] - lengths[1])


@part
class Discounted(NamedTuple):
    """The later a win, the less it counts, and a loss too: 1/2 +- gamma ** plies / 2.

    Plies are counted from the node, so that a node compares its children fairly. The rewards of
    both players add up to 1; if only the winner's reward were discounted, they would not.

    Examples:
        >>> variant = UCT().variant._replace(reward=Discounted(gamma=0.9))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    gamma: float = 0.98

    needs_moves = all_moves

    def shape(self, outcome: float, player: int, plies: int, length: int) -> float:
        return 0.5 + 0.5 * outcome * self.gamma ** float(plies)


class QualityMCTS(TreeSearchAgent):
    r"""Wins sooner than usual count more (Pepels, Tak, Lanctot and Winands 2014).

    Formula:
        $$r + \operatorname{sgn}(r)\, a \left(\frac{2}{1 + e^{-k \lambda}} - 1\right)$$

        $$\lambda = \frac{D - d}{s}$$

        The reward of a simulation, scaled to 0 to 1: $r$ is -1, 0 or 1, $d$ the plies from the root
        to its end, $D$ and $s$ the mean and the standard deviation of $d$ in the winner's games so
        far. With ``quality="discount"`` it is $\frac{1}{2} + \frac{r}{2} \gamma^d$, $d$ counted
        from the node. The tree is that of `UCT`.

    Sources:
        Pepels, Tak, Lanctot and Winands, "Quality-based rewards for Monte-Carlo tree search
        simulations", ECAI 2014.

    Args:
        c: Weight of exploration.
        quality: ``"bonus"``: by the winner's average length; ``"discount"``: by the plies to the
            end.
        a: Greatest bonus.
        k: How steeply the bonus grows.
        gamma: The discount of a ply.
        playout: A policy of `agents.mcts.playouts`.
    """

    name = "quality"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: NonNegative = 1.0,
        quality: Annotated[str, OneOf(QUALITIES)] = "bonus",
        a: Share = 0.25,
        k: Annotated[float, Within(0, 20)] = 1.4,
        gamma: Share = 0.98,
        playout: str = "fast",
        **options: Unpack[SearchOptions],
    ) -> None:
        reward = RelativeBonus(a, k) if quality == "bonus" else Discounted(gamma)
        variant = variant_of(UCB1(c), playout, reward)
        super().__init__(variant, simulations, seconds, **options)
