"""What patterns are worth: Gomoku whose positions have a value, learnt from games.

A small network says it. A table has a vector for what a stone of one side would make on a cell in
the four directions. The vectors of all empty cells are added up, for either side by itself; a state
keeps the sums, as a move changes few cells. All but the last number of a sum are cut to 0 to `MOST`
and go, with those of the other side, through a hidden layer; the last goes past it. So the value
knows how much there is of everything, and what it is worth together. All numbers are whole, so that
it is the same on every machine, and several of them stand in one word, to be added at once.

A second table gives the order in which moves are tried. What a move promises is the sum of two of
its numbers, for what either side's stone would make on the cell; the softmax of the promises of all
moves is the probability that the search chooses each.

`python -m agents.knowledge.gomoku.learn_values` has learnt all this from games of the engine
against itself, for freestyle, standard and renju, and in renju for either colour.

Sources:
    Nasu, "Efficiently updatable neural-network-based evaluation functions for computer shogi",
    2018. Jin, Duan and Hang, "Rapfi: distilling efficient neural network for the game of Gomoku",
    arXiv 2503.13178, 2025: vectors of whole lines.
"""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.core.formats import Format
from agents.knowledge.gomoku import board
from agents.knowledge.gomoku.board import NUM_KINDS, PatternGame
from agents.knowledge.gomoku.view import line_game
from agents.planning.environment import View
from hexenv.compiled import compiled, kernel
from hexenv.games import base
from hexenv.games.base import State
from hexenv.games.gomoku import Gomoku, rule_name
from hexenv.games.gomoku.patterns import PATTERNS
from hexenv.games.gomoku.stone_lines import MAX_SIZE, NUM_LINES

FILE: Final = Path(__file__).with_name("values.npz")
FORMAT: Final = Format("hexenv values of Gomoku")
LEARNT_FROM: Final = {"caro": "freestyle"}
"""Whose values a rule takes from which nothing was learnt."""
MOVES, WAITS = range(2)
"""The index of what the player to move has, and of what the other one has."""
UNIT: Final = 1024
"""What stands for 1 in the tables of values."""
WIDTH: Final = 15
"""How many numbers a vector has: three in a word, see `ValuedGame`."""
HIDDEN: Final = 8
"""How many numbers the hidden layer has: two in a word, of which `ValuedGame.balance` has four."""
MOST: Final = 4
"""What a sum is cut to before the hidden layer, as it is to 0."""
SUM_BITS: Final = 21
"""Bits of a number of a sum."""
LARGEST_IN_VECTOR: Final = 2 * UNIT
"""So that sums over all cells of the largest board have no more bits."""
SUM_HALVES: Final = sum(1 << (SUM_BITS * (i + 1) - 1) for i in range(3))
HIDDEN_BITS: Final = 31
"""Bits of a number of the hidden layer."""
HIDDEN_HALVES: Final = sum(1 << (HIDDEN_BITS * (i + 1) - 1) for i in range(2))
"""For `number_in`, as `SUM_HALVES`."""
SCALE: Final = 200.0
"""Units of values by which the logarithm of the odds to win grows by 1."""
PROMISE_SCALE: Final = 100.0
"""Units of promises in a nat."""


@compiled
class Values(NamedTuple):
    """The tables of a rule, for player 0 and for player 1; C is how many codes differ, 1820."""

    numbers: NDArray[np.uint16]
    """``(65536,)``: the number of a code in the other tables; see `code_numbers`."""
    vectors: NDArray[np.int64]
    """``(2, C, WIDTH // 3)``: of what this player's stones would make, three numbers in a word."""
    promises: NDArray[np.int16]
    """``(2, 2, C)``: for this player to move, of what `MOVES` and `WAITS` would make."""
    offsets: NDArray[np.int32]
    """``(2, WIDTH)``: added to the sums of this player."""
    first: NDArray[np.int64]
    """``(2, 2, WIDTH - 1, HIDDEN // 2)``: with this player to move, the weights of the sums of
    `MOVES` and `WAITS` in the hidden layer, two in a word."""
    first_offsets: NDArray[np.int32]
    """``(2, HIDDEN)``: likewise what is added to them."""
    second: NDArray[np.int32]
    """``(2, HIDDEN + 3)``: the weights of the hidden layer, of the last numbers of `MOVES` and
    `WAITS`, and what is added."""


@compiled
class ValuedGame(PatternGame):
    """A game with patterns whose states keep the sums; `scores` are `Values`, not for `point`."""

    __slots__ = ()

    state_dtype = base.state_dtype(
        ("hash", np.int64),
        ("lines", np.uint32, (2, NUM_LINES)),
        ("codes", np.uint16, (3, MAX_SIZE * MAX_SIZE)),
        ("counts", np.int16, (2, NUM_KINDS)),
        ("totals", np.int64, (2, WIDTH // 3)),
    )

    def note_stone(self, state: State, side: int, before: int, after: int) -> None:
        pass

    def note_empty(self, state: State, side: int, before: int, after: int) -> None:
        numbers, vectors = self.scores.numbers, self.scores.vectors[side]
        old, new = numbers[before], numbers[after]
        for i in range(WIDTH // 3):
            state.totals[side, i] += vectors[new, i] - vectors[old, i]

    def promise(self, state: State, player: int, cell: int) -> int:
        """The promise of an empty cell for the player to move, in units of 1 / `PROMISE_SCALE`."""
        numbers, promises = self.scores.numbers, self.scores.promises[player]
        own = int(promises[MOVES, numbers[state.codes[player, cell]]])
        return own + int(promises[WAITS, numbers[state.codes[1 - player, cell]]])

    def sum_of(self, state: State, side: int, i: int) -> int:
        """A number of the sum of a side's vectors."""
        found = number_in(int(state.totals[side, i // 3]), i % 3, SUM_BITS, SUM_HALVES)
        return found + int(self.scores.offsets[side, i])

    def balance(self, state: State, side: int) -> int:
        """The value for `side`, who is to move, in units of 1 / `SCALE`."""
        first, offsets = self.scores.first[side], self.scores.first_offsets[side]
        second = self.scores.second[side]
        a = b = c = d = 0
        for i in range(WIDTH - 1):
            for role in range(2):
                found = self.sum_of(state, side if role == MOVES else 1 - side, i)
                cut = min(max(found, 0), MOST * UNIT)
                a += cut * int(first[role, i, 0])
                b += cut * int(first[role, i, 1])
                c += cut * int(first[role, i, 2])
                d += cut * int(first[role, i, 3])
        last = self.sum_of(state, side, WIDTH - 1), self.sum_of(state, 1 - side, WIDTH - 1)
        total = int(second[HIDDEN]) * last[MOVES] + int(second[HIDDEN + 1]) * last[WAITS]
        total += UNIT * int(second[HIDDEN + 2])
        for j in range(HIDDEN):
            word = a if j < 2 else b if j < 4 else c if j < 6 else d
            found = number_in(word, j & 1, HIDDEN_BITS, HIDDEN_HALVES) + UNIT * int(offsets[j])
            total += max(found, 0) // UNIT * int(second[j])
        return total * int(SCALE) // (UNIT * UNIT)


def packed(numbers: NDArray[Any], bits: int) -> NDArray[np.int64]:
    """``(..., W)``: numbers, ``(..., W, N)``, as words with N numbers of so many bits in each."""
    shifts = bits * np.arange(numbers.shape[-1], dtype=np.int64)
    return (numbers.astype(np.int64) << shifts).sum(axis=-1)


@kernel
def number_in(word: int, place: int, bits: int, halves: int) -> int:
    """A number of so many bits, with its sign, in a word that is a sum of packed ones.

    `halves` has half of what a number can be in every place, so that none is negative with it.
    """
    found = (word + halves) >> (bits * place) & ((1 << bits) - 1)
    return found - (1 << (bits - 1))


@functools.cache
def code_numbers() -> NDArray[np.uint16]:
    """``(65536,)``: the number of a code, the same for its classes in any order; 0: nothing."""
    classes = np.arange(1 << 16)[:, None] >> (0, 4, 8, 12) & 15
    in_order = np.sort(np.minimum(classes, len(PATTERNS) - 1), axis=1)  # the others are of no cell
    sets = in_order @ 16 ** np.arange(3, -1, -1)
    return np.unique(sets, return_inverse=True)[1].astype(np.uint16)


@functools.cache
def values_of(rule: str) -> Values:
    """What was learnt of a rule."""
    _, arrays = FORMAT.read_arrays(FILE)
    if f"{rule}_vectors" not in arrays:
        rule = LEARNT_FROM[rule]
    return as_values({name: arrays[f"{rule}_{name}"] for name in Values._fields[1:]})


def as_values(arrays: Mapping[str, NDArray[Any]]) -> Values:
    """The tables from those of a file, whose first index is 0 alone where players are alike."""
    both: dict[str, NDArray[Any]] = {
        name: np.repeat(array, 2 // len(array), axis=0) for name, array in arrays.items()
    }
    both["vectors"] = packed(both["vectors"].reshape(2, -1, WIDTH // 3, 3), SUM_BITS)
    first = both["first"].reshape(2, 2, WIDTH - 1, HIDDEN // 2, 2)
    both["first"] = packed(first, HIDDEN_BITS)
    return Values(code_numbers(), **both)


@functools.lru_cache(maxsize=8)
def valued_game(rules: Gomoku) -> ValuedGame:
    """The game of some rules, with the learnt values."""
    return game_with(board.new(rules), values_of(rule_name(rules.rule)))


def game_with(plain: PatternGame, values: Values) -> ValuedGame:
    """The game with patterns as one with values."""
    start = np.zeros(1, ValuedGame.state_dtype).view(np.recarray)
    game = ValuedGame(*plain._replace(scores=values, start=start))
    game.rules.initial(start[0])
    game.classify_all(start[0])
    return game


def valued_view(view: View) -> View:
    """The same position as one of the game with values."""
    rules, position = line_game(view.game, view.root)
    game = valued_game(rules)
    return view._replace(game=game, root=board.state_of(game, position, view.compiles))
