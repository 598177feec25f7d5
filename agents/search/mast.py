"""Playouts that prefer moves which have done well so far: MAST, and NST over sequences of moves."""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.playout import play_out
from agents.search.simulation import Simulation, all_moves
from hexenv.compiled import compiled, kernel

TABLE_BITS: Final = 18
"""Sequences share a table of 2 ** TABLE_BITS entries; two that collide share one entry."""


@kernel
def record_mean(means: NDArray[np.float64], entry: int, reward: float) -> None:
    """Count a reward in an entry ``(count, mean)``."""
    means[entry, 0] += 1.0
    means[entry, 1] += (reward - means[entry, 1]) / means[entry, 0]


@compiled
class Mast(NamedTuple):
    """Move-average sampling (Finnsson and Bjornsson 2008), epsilon-greedy or by Boltzmann.

    With probability `epsilon` a random move; otherwise the one with the best mean reward of the
    simulations in which the player made it (Tak, Winands and Bjornsson 2012 found this the better
    form). With `temperature`, 0.01 or more: moves in proportion to exp(mean / temperature).
    """

    epsilon: float = 0.4
    temperature: float = 0.0
    means: NDArray[np.float64] = np.zeros((1, 2))
    """``(2 * num_cells(), 2)``: for each player and move its simulations and their mean reward; of
    a move never made 1, so that all are tried."""
    weights: NDArray[np.float64] = np.zeros(1)
    """``(num_actions(),)``: scratch space."""

    simulate = play_out
    needs_moves = all_moves

    def with_memory(self, game: Any) -> "Mast":
        means = np.ones((2 * game.num_cells(), 2)) * (0.0, 1.0)
        return self._replace(means=means, weights=np.zeros(game.num_actions()))

    def choose(
        self,
        game: Any,
        state: Any,
        rng: np.random.Generator,
        actions: NDArray[np.int32],
        count: int,
        simulation: Simulation,
    ) -> int:
        draw = rng.random()
        if self.temperature == 0.0 and draw < self.epsilon:
            return int(draw / self.epsilon * count)
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
        return best

    def update(self, tree: Any, simulation: Simulation) -> None:
        for ply in range(simulation.length[0]):
            player = int(simulation.players[ply])
            result = simulation.result[0] if player == 0 else -simulation.result[0]
            entry = player * (len(self.means) // 2) + int(simulation.cells[ply])
            record_mean(self.means, entry, 0.5 + 0.5 * result)


@kernel
def sequence_entry(cells: NDArray[np.int32], ply: int, last: int, player: int, length: int) -> int:
    """The table entry of `player` playing `last` after the moves before a ply, `length` in all."""
    key = last * 2 + player + 1
    for back in range(1, length):
        key = key * 1_000_003 + int(cells[ply - back]) + 1
    key ^= key >> 17
    key = (key * 0x9E3779B1) & 0xFFFFFFFF
    return (length - 1 << TABLE_BITS) + (key >> (32 - TABLE_BITS))


@compiled
class NST(NamedTuple):
    """N-gram selection: MAST over moves with the moves before them (Tak, Winands, Bjornsson 2012).

    A move's worth is the average of the mean rewards of the sequences of 1 to `n` moves that it
    ends, counting those that occurred at least `least` times; single moves always count.
    """

    n: int = 3
    epsilon: float = 0.2
    least: int = 7
    means: NDArray[np.float64] = np.zeros((1, 2))
    """``(n * 2 ** TABLE_BITS, 2)``: for each sequence its simulations and their mean reward."""

    simulate = play_out
    needs_moves = all_moves

    def with_memory(self, game: Any) -> "NST":
        if not 1 <= self.n <= 3:
            raise ValueError(f"expected sequences of n from 1 to 3 moves, got {self.n}")
        means = np.zeros((self.n << TABLE_BITS, 2))
        means[: 1 << TABLE_BITS, 1] = 1.0
        return self._replace(means=means)

    def choose(
        self,
        game: Any,
        state: Any,
        rng: np.random.Generator,
        actions: NDArray[np.int32],
        count: int,
        simulation: Simulation,
    ) -> int:
        draw = rng.random()
        if draw < self.epsilon:
            return int(draw / self.epsilon * count)
        player = int(game.to_play(state))
        best, best_mean = 0, -1.0
        for pick in range(count):
            cell = int(game.cell_of(state, int(actions[pick])))
            mean = self.worth(simulation, player, cell)
            if mean > best_mean:
                best, best_mean = pick, mean
        return best

    def worth(self, simulation: Simulation, player: int, cell: int) -> float:
        """The average over the sequences that a move would end."""
        ply = simulation.length[0]
        total, lengths = 0.0, 0
        for length in range(1, min(self.n, ply + 1) + 1):
            entry = sequence_entry(simulation.cells, ply, cell, player, length)
            if length == 1 or self.means[entry, 0] >= self.least:
                total += self.means[entry, 1]
                lengths += 1
        return total / lengths

    def update(self, tree: Any, simulation: Simulation) -> None:
        for ply in range(simulation.length[0]):
            player = int(simulation.players[ply])
            result = simulation.result[0] if player == 0 else -simulation.result[0]
            cell = int(simulation.cells[ply])
            for length in range(1, min(self.n, ply + 1) + 1):
                entry = sequence_entry(simulation.cells, ply, cell, player, length)
                record_mean(self.means, entry, 0.5 + 0.5 * result)
