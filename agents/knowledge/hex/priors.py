"""How good a move of Hex looks by the cells around it: priors for tree searches.

A move has the sum of four weights, and its prior is the softmax of these sums over all moves. (The
search multiplies e to the power of the weights, `Factors`, which is the same.) They are:

* the weight of its *ring*, the six cells around it;
* that of its *neighbourhood*, these and the six cells that a bridge leads to, if it is common;
* that of its place beside the opponent's last stone, up to two cells away, together with the ring;
* that of its distances from the sides, in the opening and later.

The weights were learnt from games of a search; `agents.knowledge.hex.learn_priors` has the command.
(Patterns of this kind, with weights learnt by minorisation-maximisation, which maximises the same
likelihood: Coulom, "Computing Elo ratings of move patterns in the game of Go", ICGA Journal 30,
2007; in Hex: Huang, Arneson, Hayward, Mueller and Pawlewicz, "MoHex 2.0: a pattern-based MCTS Hex
player", Computers and Games 2013.)

All is seen by the player to move, as black: for player 1 the board is mirrored, so that the own
sides are top and bottom. Beyond the own sides there are own stones, beyond the others those of the
opponent. Cells are digits of base 3, the first the lowest: 0 empty, 1 own, 2 the opponent's. A
pattern and its half turn are one: the lower number stands for both.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.core.formats import Format
from agents.knowledge.hex.h_search import AROUND, new_owners
from agents.knowledge.hex.patterns import RING
from agents.knowledge.hex.surroundings import follow, numbers_of
from agents.search.tree import Tree
from hexenv.compiled import compiled, kernel
from hexenv.games.base import State
from hexenv.games.hex import Hex

WEIGHTS: Final = Path(__file__).with_name("priors.npz")
FORMAT: Final = Format("hexenv weights of Hex")
BRIDGES: Final = ((1, 1), (2, -1), (1, -2), (-1, -1), (-2, 1), (-1, 2))
BEYOND: Final = tuple((2 * down, 2 * right) for down, right in AROUND)
NEAR: Final = (*AROUND, *BRIDGES, *BEYOND)
"""All cells up to two cells away; the neighbourhood is the first twelve. The half turn of each is
three further in its six."""
NEIGHBOURHOOD: Final = 12
FAR: Final = len(NEAR)
"""In place of a step, where the last stone is further away."""
DISTANCES: Final = 6
"""From a side: 0 to 5, or more."""
PLACES: Final = 2 * DISTANCES * DISTANCES
"""The half of the board with the acute corners or with the obtuse ones; the distance from the
nearer own side, and from the nearer other one."""
OPENING: Final = 8
"""Plies."""


@compiled
class Weights(NamedTuple):
    """What is learnt."""

    neighbourhoods: NDArray[np.float32]
    """``(3**12,)``: with the weight of the ring in it."""
    replies: NDArray[np.float32]
    """``(19 * 3**6,)``: the step from the last stone, ring."""
    distances: NDArray[np.float32]
    """``(2 * PLACES,)``: in the opening, and later."""


def turned(codes: NDArray[np.int64], digits: int) -> NDArray[np.int64]:
    """The half turns of patterns of 6 or 12 cells."""
    found = np.zeros_like(codes)
    for i in range(digits):
        found += codes // 3**i % 3 * 3 ** (i // 6 * 6 + (i + 3) % 6)
    return found


@cache
def same_neighbourhoods() -> NDArray[np.int64]:
    """``(3**12,)``: the number that stands for each neighbourhood and its half turn."""
    codes = np.arange(3**NEIGHBOURHOOD)
    return np.minimum(codes, turned(codes, NEIGHBOURHOOD))


@cache
def same_replies() -> NDArray[np.int64]:
    """``(19 * 3**6,)``: likewise for a step and a ring."""
    numbers = np.arange((FAR + 1) * 3**RING)
    steps, codes = np.divmod(numbers, 3**RING)
    steps = np.where(steps == FAR, FAR, steps // 6 * 6 + (steps + 3) % 6)
    return np.minimum(numbers, steps * 3**RING + turned(codes, RING))


def load_weights(path: str | os.PathLike[str]) -> Weights:
    """Read what `agents.knowledge.hex.learn_priors` has written.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is damaged, or of another version.
    """
    _, arrays = FORMAT.read_arrays(path)
    try:
        weights = arrays["rings"][np.arange(3**NEIGHBOURHOOD) % 3**RING]
        weights[arrays["codes"]] += arrays["weights"]
        return Weights(
            weights[same_neighbourhoods()], arrays["replies"][same_replies()], arrays["distances"]
        )
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(f"{path}: expected weights of patterns of Hex: {error}") from None


@compiled
class Factors(NamedTuple):
    """e to the power of the weights.

    The product of three of them is a move's prior, before it is divided by the sum over all moves.
    """

    neighbourhoods: NDArray[np.float32]
    """``(3**12,)``: of a neighbourhood, and of the reply with its ring to a stone far away."""
    replies: NDArray[np.float32]
    """``(19 * 3**6,)``: of a reply, divided by that to a stone far away."""
    distances: NDArray[np.float32]
    """``(2 * PLACES,)``."""


def factors_of(weights: Weights) -> Factors:
    """The factors that weights stand for."""
    replies = weights.replies.reshape(FAR + 1, 3**RING)
    rings = np.arange(3**NEIGHBOURHOOD) % 3**RING
    return Factors(
        np.exp(weights.neighbourhoods + replies[FAR, rings]),
        np.exp(replies - replies[FAR]).ravel(),
        np.exp(weights.distances),
    )


@cache
def learnt_factors() -> Factors:
    """Those of the weights in the package."""
    return factors_of(load_weights(WEIGHTS))


@compiled
class HexPriors(NamedTuple):
    """The `priors` of `agents.search.bias.ProgressiveBias`, for moves of Hex."""

    factors: Any = None
    """`Factors`; None: those in the package."""
    near: Any = None
    """``(2, size, 18)``: for each player to move the cells of `NEAR`, as they are seen; ``size``
    and ``size + 1`` beyond the sides of player 0 and player 1."""
    places: Any = None
    """``(2, size)``: for each player to move, the number of a cell in `Weights.distances`."""
    owners: Any = None
    """``(size + 2,)``: scratch space; the owners of the cells, and 0 and 1."""
    steps: Any = None
    """``(size + 2,)``: scratch space, `FAR` between uses: the steps from the last stone."""
    seen: Any = None
    """``(2, size + 2)``: for each player, the owners when the player was last to move."""
    numbers: Any = None
    """``(2, size)``: the numbers of the neighbourhoods then."""
    cached_numbers: Any = None
    """``(2, size)``: the number of which `cached_factors` has the factor; -1 at first."""
    cached_factors: Any = None
    """``(2, size)``: of `Factors.neighbourhoods`, which is large, so that reading it takes long."""

    def with_memory(self, game: Any) -> "HexPriors":
        size: int = game.rows * game.columns
        near, places = new_surroundings(game.rows, game.columns)
        owners = new_owners(size)
        numbers = [numbers_of(near[i], owners, i, NEIGHBOURHOOD) for i in (0, 1)]
        return self._replace(
            factors=learnt_factors() if self.factors is None else self.factors,
            near=near,
            places=places,
            owners=owners,
            steps=np.full(size + 2, FAR, np.int8),
            seen=np.stack([owners, owners]),
            numbers=np.stack(numbers),
            cached_numbers=np.full((2, size), -1, np.int32),
            cached_factors=np.zeros((2, size), np.float32),
        )

    def write(
        self, game: Hex, state: State, tree: Tree, node: int, out: NDArray[np.float64]
    ) -> None:
        look_around(self, game, state)
        player, size = int(game.to_play(state)), game.rows * game.columns
        first, count = tree.first_child[node], tree.child_count[node]
        stage = 0 if state.ply < OPENING else 1
        whole = 0.0
        for child in range(first, first + count):
            action = int(tree.action[child])
            out[child] = 1.0 if action == size else factor_of(self, action, player, stage)
            whole += out[child]
        for child in range(first, first + count):
            out[child] /= whole
        forget_last(self, game, state)


@kernel
def look_around(self: Any, game: Hex, state: State) -> None:
    """Read the board, number the neighbourhoods, and mark the steps from the last stone."""
    game.owners(state, self.owners)
    player = int(game.to_play(state))
    near, seen, numbers = self.near[player], self.seen[player], self.numbers[player]
    follow(near, self.owners, player, seen, numbers, NEIGHBOURHOOD)
    mark_steps(self, game, state, True)


@kernel
def forget_last(self: Any, game: Hex, state: State) -> None:
    """Empty `steps`."""
    mark_steps(self, game, state, False)


@kernel
def mark_steps(self: Any, game: Hex, state: State, is_on: bool) -> None:
    """Write the steps from the last stone at all cells near it, or `FAR`."""
    last, player = int(state.last_action), game.to_play(state)
    if 0 <= last < game.rows * game.columns:
        for i in range(len(self.near[0, 0])):
            self.steps[self.near[player, last, i]] = i if is_on else FAR


@kernel
def factor_of(self: Any, cell: int, player: int, stage: int) -> float:
    """The product of the factors of a move."""
    number, factors = int(self.numbers[player, cell]), self.factors
    if self.cached_numbers[player, cell] != number:
        self.cached_numbers[player, cell] = number
        self.cached_factors[player, cell] = factors.neighbourhoods[number]
    found = float(self.cached_factors[player, cell])
    found *= factors.distances[stage * PLACES + int(self.places[player, cell])]
    if self.steps[cell] != FAR:
        found *= factors.replies[int(self.steps[cell]) * 3**RING + number % 3**RING]
    return found


def new_surroundings(rows: int, columns: int) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """`HexPriors.near` and `HexPriors.places` of a board."""
    size = rows * columns
    near = np.zeros((2, size, len(NEAR)), np.int16)
    places = np.zeros((2, size), np.int16)
    for player in (0, 1):
        high, wide = (rows, columns) if player == 0 else (columns, rows)
        for row, column in np.ndindex(high, wide):
            cell = row * columns + column if player == 0 else column * columns + row
            for i, (down, right) in enumerate(NEAR):
                there = (row + down, column + right)
                inside = 0 <= there[0] < high and 0 <= there[1] < wide
                at = there if player == 0 else there[::-1]
                if inside:
                    near[player, cell, i] = at[0] * columns + at[1]
                else:
                    is_own = not 0 <= there[0] < high
                    near[player, cell, i] = size + (player if is_own else 1 - player)
            own = min(row, high - 1 - row, DISTANCES - 1)
            other = min(column, wide - 1 - column, DISTANCES - 1)
            is_obtuse = (2 * row - high + 1) * (2 * column - wide + 1) < 0
            places[player, cell] = (is_obtuse * DISTANCES + own) * DISTANCES + other
    return near, places
