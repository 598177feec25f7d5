r"""Learns the weights of `agents.knowledge.hex.priors` from data of `hexenv data`.

    A=rave:playout=bridges,simulations=1000,solver=hard,knowledge=priors
    hexenv data hex --agent $A --option board_size=11 --games 800 --to g11 --workers 0 --seed 111
    hexenv data hex --agent $A --option board_size=9 --games 800 --to g9 --workers 0 --seed 109
    python -m agents.knowledge.hex.learn_priors g11 g9

The priors of the search that played these games were learnt in the same way from a first round,
without ``knowledge=priors``: 700 games on 11 x 11 with the seed 11 and 1,000 on 9 x 9 with the seed
9. The second round's won 53 of 100 games against those of both rounds: there is no third one.

The weights are those of a softmax over the moves of each position. What is maximised is the
likelihood of the moves' shares of the simulations, sharpened (`SHARPNESS`), less a penalty on the
squares of the weights (`PENALTIES`), by Adam (Kingma and Ba 2015) over all positions at once. Every
tenth game is held out: the likelihood of its moves is printed. Neighbourhoods that fewer moves have
than `FEWEST` get the weight of their ring.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.hex.priors import (
    FORMAT,
    NEIGHBOURHOOD,
    OPENING,
    PLACES,
    RING,
    WEIGHTS,
    Factors,
    HexPriors,
    forget_last,
    look_around,
    same_neighbourhoods,
    same_replies,
    turned,
)
from agents.learning.data import Data
from agents.learning.data.positions import Positions, lengths_of
from hexenv.compiled import CompiledFunction
from hexenv.games import base

SHARPNESS: Final = 4
"""Power of the shares: a search goes on trying moves that it will not play. Without, the search
with these priors lost 47 of 120 games on 9x9 to one with a power of 4, at 1,000 simulations."""
FEWEST: Final = 30
PENALTIES: Final = (1e-6, 1e-5, 1e-5, 1e-6)
"""For rings, neighbourhoods, replies and distances."""
RATE: Final = 0.1
"""Of Adam, at first; it falls to nothing."""
STEPS: Final = 300
UNUSED: Final = Factors(*(np.ones(1, np.float32) for _ in range(3)))
"""The features of moves need no factors: there may be no file of weights yet."""
HELD_OUT: Final = 10
"""Every so many games one is not learnt from."""


class Moves(NamedTuple):
    """The legal moves of all positions, one after the other."""

    features: NDArray[np.int64]
    """``(M, 3)``: neighbourhood, reply and distances: the places in `Weights`."""
    shares: NDArray[np.float64]
    """``(M,)``: of the simulations."""
    position: NDArray[np.int64]
    """``(M,)``: which position it is of."""
    game: NDArray[np.int64]
    """``(M,)``: the number of its game."""


def list_moves(
    game: Any,
    state: Any,
    actions: NDArray[np.int16],
    lengths: NDArray[np.int64],
    visits: NDArray[np.int32],
    priors: Any,
    legal: NDArray[np.int32],
    out: NDArray[np.int64],
) -> int:
    """Write position, action and features of all moves of positions that were searched; how many.

    `out` is ``(moves, 5)``.
    """
    ply, row = 0, 0
    for length in lengths:
        game.initial(state[0])
        for _ in range(length):
            if visits[ply].sum() > 0:
                player, stage = game.to_play(state[0]), 0 if state[0].ply < OPENING else 1
                look_around(priors, game, state[0])
                for i in range(game.legal_actions(state[0], legal)):
                    cell = int(legal[i])
                    number = int(priors.numbers[player, cell])
                    out[row, 0], out[row, 1], out[row, 2] = ply, cell, number
                    out[row, 3] = int(priors.steps[cell]) * 3**RING + number % 3**RING
                    out[row, 4] = stage * PLACES + int(priors.places[player, cell])
                    row += 1
                forget_last(priors, game, state[0])
            game.step(state[0], int(actions[ply]))
            ply += 1
    return row


compiled_list_moves: Final = CompiledFunction(list_moves, "the moves of positions")


def moves_of(positions: Positions, game: Any, priors: HexPriors) -> Moves:
    """The moves of the positions that were searched."""
    out = np.zeros((int(positions.action_masks.sum()), 5), np.int64)
    legal = np.zeros(game.num_actions(), np.int32)
    state, lengths = base.new_states(game, 1), lengths_of(positions.plies)
    list_all = compiled_list_moves
    count = list_all(game, state, positions.actions, lengths, positions.visits, priors, legal, out)
    ply, cell, number, reply, place = out[:count].T
    features = np.stack([same_neighbourhoods()[number], same_replies()[reply], place], axis=1)
    shares = positions.policies[ply, cell].astype(np.float64) ** SHARPNESS
    shares /= np.bincount(ply, shares)[ply]
    return Moves(features, shares, ply, positions.games[ply])


def joined(parts: Iterable[Moves]) -> Moves:
    """All moves, with positions and games numbered on."""
    found: list[Moves] = []
    for part in parts:
        before = (int(found[-1].position[-1]) + 1, int(found[-1].game[-1]) + 1) if found else (0, 0)
        _, position = np.unique(part.position, return_inverse=True)
        found.append(
            part._replace(position=position + before[0], game=part.game - part.game[0] + before[1])
        )
    columns: list[Any] = [np.concatenate(column) for column in zip(*found, strict=True)]
    return Moves(*columns)


class Model:
    """Four tables of weights."""

    def __init__(self, moves: Moves) -> None:
        neighbourhood, reply, place = moves.features.T
        codes, counts = np.unique(neighbourhood, return_counts=True)
        self.codes = codes[counts >= FEWEST]
        row_of = np.full(3**NEIGHBOURHOOD, len(self.codes))  # the last row stays 0
        row_of[self.codes] = np.arange(len(self.codes))
        rings = np.minimum(*(turn(neighbourhood % 3**RING) for turn in (np.asarray, turned_ring)))
        self.features = (rings, row_of[neighbourhood], reply, place)
        sizes = (3**RING, len(self.codes) + 1, len(same_replies()), 2 * PLACES)
        self.tables = [np.zeros(size) for size in sizes]
        self.moments = [np.zeros((2, size)) for size in sizes]

    def probabilities(self, moves: Moves) -> NDArray[np.float64]:
        """The softmax over the moves of each position."""
        sums = sum(table[which] for table, which in zip(self.tables, self.features, strict=True))
        powers = np.exp(np.minimum(sums, 50.0))
        return powers / np.bincount(moves.position, powers)[moves.position]

    def step(self, moves: Moves, learnt: NDArray[np.bool_], number: int) -> float:
        """One step of Adam; returns the likelihood of a held-out position, in nats."""
        found = self.probabilities(moves)
        slopes = np.where(learnt, found - moves.shares, 0.0)
        count = moves.position[-1] + 1
        for i, (table, which) in enumerate(zip(self.tables, self.features, strict=True)):
            slope = np.bincount(which, slopes, len(table)) / count + PENALTIES[i] * table
            first, second = self.moments[i]
            first += 0.1 * (slope - first)
            second += 0.01 * (slope**2 - second)
            rate = RATE * (1 - number / STEPS)
            scaled = first / (1 - 0.9 ** (number + 1))
            table -= rate * scaled / (np.sqrt(second / (1 - 0.99 ** (number + 1))) + 1e-12)
        self.tables[1][-1] = 0.0
        held_out = np.unique(moves.position[~learnt])
        return float((moves.shares * np.log(found))[~learnt].sum() / max(len(held_out), 1))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights, for `load_weights`."""
        rings, weights, replies, distances = (table.astype(np.float32) for table in self.tables)
        codes = np.arange(3**RING)
        arrays = {
            "rings": rings[np.minimum(codes, turned_ring(codes))],
            "codes": self.codes.astype(np.int32),
            "weights": weights[:-1],
            "replies": replies,
            "distances": distances,
        }
        FORMAT.write_arrays(path, arrays)


def turned_ring(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The half turns of rings."""
    return turned(codes, RING)


def best_found(model: Model, moves: Moves, learnt: NDArray[np.bool_]) -> float:
    """In how many held-out positions the most probable move is the most searched one."""
    found = model.probabilities(moves)
    order = np.lexsort((found, moves.position))
    last = np.append(np.diff(moves.position[order]) > 0, True)
    chosen = order[last]
    most = np.zeros(moves.position[-1] + 1)
    np.maximum.at(most, moves.position, moves.shares)
    hits = moves.shares[chosen] >= most[moves.position[chosen]]
    return float(hits[~learnt[chosen]].mean())


def learn(folders: Sequence[str | os.PathLike[str]], path: str | os.PathLike[str]) -> None:
    """Learn from the data in some folders, and write the weights."""
    priors = HexPriors(UNUSED)
    parts: list[Moves] = []
    for folder in folders:
        data = Data(folder)
        memory = priors.with_memory(data.game)
        parts += [moves_of(shard, data.game, memory) for shard in data.shards()]
    moves = joined(parts)
    learnt = moves.game % HELD_OUT != 0
    model = Model(moves)
    print(f"{moves.position[-1] + 1} positions, {len(learnt)} moves, {len(model.codes)} patterns")
    for number in range(STEPS):
        likelihood = model.step(moves, learnt, number)
        if number % 20 == 0 or number == STEPS - 1:
            print(f"{number}: held out {likelihood:.4f} nats", flush=True)
    print(f"best move found: {best_found(model, moves, learnt):.3f}")
    model.save(path)


if __name__ == "__main__":
    learn(sys.argv[1:], WEIGHTS)
