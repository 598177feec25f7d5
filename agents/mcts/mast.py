"""MAST: playouts prefer moves with a good mean so far; NST: sequences of moves with one."""

import math
from typing import Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.options import NonNegative, Share
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.playout import take
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.simulation import Simulation, all_moves, part
from agents.search.tree import Tree
from agents.search.variant import Variant
from hexenv.compiled import kernel
from hexenv.games.base import Actions, Game, State

TABLE_BITS: Final = 18
"""The sequences of one length share 2 ** TABLE_BITS entries; two that collide share one."""


@kernel
def record_mean(means: NDArray[np.float64], entry: int, reward: float) -> None:
    """Count a reward in an entry ``(count, mean)``."""
    means[entry, 0] += 1.0
    means[entry, 1] += (reward - means[entry, 1]) / means[entry, 0]


@part
class Mast(NamedTuple):
    """The playout policy of `MAST`.

    Examples:
        >>> variant = UCT().variant._replace(playout=Mast(epsilon=0.2))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    epsilon: float = 0.4
    temperature: float = 0.0
    means: NDArray[np.float64] = np.zeros((1, 2))
    """``(2 * num_cells(), 2)``: for each player and move its simulations and their mean reward; of
    a move never made 1, so that all are tried."""
    weights: NDArray[np.float64] = np.zeros(1)  # (num_actions(),): scratch space

    needs_moves = all_moves

    def with_memory(self, game: Game) -> "Mast":
        means = np.ones((2 * game.num_cells(), 2)) * (0.0, 1.0)
        return self._replace(means=means, weights=np.zeros(game.num_actions()))

    def choose(
        self,
        game: Game,
        state: State,
        rng: np.random.Generator,
        actions: Actions,
        count: int,
        simulation: Simulation,
    ) -> int:
        draw = rng.random()
        if self.temperature == 0.0 and draw < self.epsilon:
            return take(actions, int(draw / self.epsilon * count), simulation)
        start = int(game.to_play(state)) * (len(self.means) // 2)
        best, total = 0, 0.0
        for pick in range(count):
            mean = self.means[start + game.cell_of(state, int(actions[pick])), 1]
            self.weights[pick] = mean
            if self.temperature > 0.0:
                total += math.exp(mean / self.temperature)
                self.weights[pick] = total
            elif mean > self.weights[best]:
                best = pick
        if self.temperature > 0.0:
            while best < count - 1 and self.weights[best] <= draw * total:
                best += 1
        return take(actions, best, simulation)

    def update(self, tree: Tree, simulation: Simulation) -> None:
        for ply in range(simulation.length[0]):
            player = int(simulation.players[ply])
            result = simulation.result[0] if player == 0 else -simulation.result[0]
            entry = player * (len(self.means) // 2) + int(simulation.cells[ply])
            record_mean(self.means, entry, 0.5 + 0.5 * result)


class MAST(TreeSearchAgent):
    r"""Playouts prefer the moves with the best mean so far (Finnsson and Bjornsson 2008).

    Formula:
        $$\bar x + c \sqrt{\frac{\ln\, N}{n}}$$

        $$\text{in playouts, with probability } 1 - \epsilon\text{: } \arg\max_m\, q(m)$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $q(m)$ is the mean reward of all simulations
        in which the player made the move $m$, and 1 before the first. With `temperature` T moves
        are drawn in proportion to $e^{q(m)/T}$.

    Sources:
        Finnsson and Björnsson, "Simulation-based approach to general game playing", AAAI 2008.

        Tak, Winands and Björnsson, "N-grams and the last-good-reply policy applied in general game
        playing", IEEE TCIAIG 4(2), 2012: with probability `epsilon`.

    Args:
        c: Weight of exploration in the tree.
        epsilon: Share of random moves in the playouts.
        temperature: From 0.01: moves in proportion to exp(mean / temperature), in the place of
            `epsilon`; 0: not.
    """

    name = "mast"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: NonNegative = 1.0,
        epsilon: Share = 0.4,
        temperature: NonNegative = 0.0,
        **options: Unpack[SearchOptions],
    ) -> None:
        if 0.0 < temperature < 0.01:  # exp(1 / temperature) has to stay finite
            raise ValueError(f"expected temperature as 0, or from 0.01, got {temperature}")
        variant = Variant(UCB1(c), Mast(epsilon, temperature), WinLoss())
        super().__init__(variant, simulations, seconds, **options)


# ---- NST, the playout policy "nst" of other agents -----------------------------------------------


@kernel
def sequence_entry(cells: NDArray[np.int32], ply: int, last: int, player: int, length: int) -> int:
    """The table entry of `player` playing `last` after the moves before a ply, `length` in all."""
    key = last * 2 + player + 1
    for back in range(1, length):
        key = key * 1_000_003 + int(cells[ply - back]) + 1
    key ^= key >> 17
    key = (key * 0x9E3779B1) & 0xFFFFFFFF
    return (length - 1 << TABLE_BITS) + (key >> (32 - TABLE_BITS))


@part
class NST(NamedTuple):
    """N-gram selection: MAST over moves with the moves before them (Tak, Winands, Bjornsson 2012).

    A move scores the average of the mean rewards of the sequences of 1 to `n` moves that it ends.
    A sequence of several moves counts once it has occurred `least` times.

    Examples:
        >>> variant = UCT().variant._replace(playout=NST(n=2))
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    n: int = 3
    epsilon: float = 0.2
    least: int = 7
    means: NDArray[np.float64] = np.zeros((1, 2))
    """``(n * 2 ** TABLE_BITS, 2)``: for each sequence its simulations and their mean reward."""

    needs_moves = all_moves

    def with_memory(self, game: Game) -> "NST":
        if not 1 <= self.n <= 3:
            raise ValueError(f"expected sequences of n from 1 to 3 moves, got {self.n}")
        means = np.zeros((self.n << TABLE_BITS, 2))
        means[: 1 << TABLE_BITS, 1] = 1.0
        return self._replace(means=means)

    def choose(
        self,
        game: Game,
        state: State,
        rng: np.random.Generator,
        actions: Actions,
        count: int,
        simulation: Simulation,
    ) -> int:
        draw = rng.random()
        if draw < self.epsilon:
            return take(actions, int(draw / self.epsilon * count), simulation)
        player = int(game.to_play(state))
        best, best_mean = 0, -1.0
        for pick in range(count):
            cell = int(game.cell_of(state, int(actions[pick])))
            mean = self.mean_of(simulation, player, cell)
            if mean > best_mean:
                best, best_mean = pick, mean
        return take(actions, best, simulation)

    def mean_of(self, simulation: Simulation, player: int, cell: int) -> float:
        """The average over the sequences that a move would end."""
        ply = simulation.length[0]
        total, lengths = 0.0, 0
        for length in range(1, min(self.n, ply + 1) + 1):
            entry = sequence_entry(simulation.cells, ply, cell, player, length)
            if length == 1 or self.means[entry, 0] >= self.least:
                total += self.means[entry, 1]
                lengths += 1
        return total / lengths

    def update(self, tree: Tree, simulation: Simulation) -> None:
        for ply in range(simulation.length[0]):
            player = int(simulation.players[ply])
            result = simulation.result[0] if player == 0 else -simulation.result[0]
            cell = int(simulation.cells[ply])
            for length in range(1, min(self.n, ply + 1) + 1):
                entry = sequence_entry(simulation.cells, ply, cell, player, length)
                record_mean(self.means, entry, 0.5 + 0.5 * result)
