"""The replay buffer, and its games in files.

A position is kept as the actions that led to it, which is compact, exact, and independent of the
network: its planes are made when it is drawn.
"""

import os
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.core.formats import Format, about_game
from agents.learning.data.positions import shown_of
from hexenv.compiled import CompiledFunction, kernel, scratch_array
from hexenv.envs.observation import extra_codes, plane_names, write_planes
from hexenv.games import base
from hexenv.games.base import Game

FORMAT: Final = Format("hexenv-games")


class Games(NamedTuple):
    """Finished games: G of them, of P plies in all, one after the other."""

    lengths: NDArray[np.int32]
    """``(G,)``: plies."""
    outcomes: NDArray[np.int8]
    """``(G,)``: 1, 0 or -1 for player 0."""
    actions: NDArray[np.int16]
    """``(P,)``."""
    policies: NDArray[np.float32]
    """``(P, num_actions)``: of the search; zeros where there was none (in a random opening): such
    positions are not learnt from."""
    values: NDArray[np.float32]
    """``(P,)``: of the search, for the player to move, -1 to 1."""

    @staticmethod
    def none(num_actions: int) -> "Games":
        """No games."""
        return Games(
            np.zeros(0, np.int32),
            np.zeros(0, np.int8),
            np.zeros(0, np.int16),
            np.zeros((0, num_actions), np.float32),
            np.zeros(0, np.float32),
        )

    @staticmethod
    def joined(parts: Sequence["Games"]) -> "Games":
        return Games(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def save_games(path: str | os.PathLike[str], games: Games, game: Game, about: Any) -> None:
    """Write games to an ``npz`` file."""
    arrays = games._asdict()
    FORMAT.write_arrays(path, arrays, compressed=False, **about_game(game), origin=about)


def load_games(path: str | os.PathLike[str], game: Game) -> Games:
    """Read games, and check every move against the rules.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is damaged, of another game, or breaks the rules.
    """
    _, arrays = FORMAT.read_arrays(path, **about_game(game))
    try:
        games = Games(**arrays)
    except TypeError as error:
        raise ValueError(f"{path}: expected games: {error}") from None
    if not fits_together(games, game.num_actions()):
        raise ValueError(f"expected arrays that fit together in {path}")
    if not (np.isfinite(games.policies).all() and (np.abs(games.values) <= 1.0).all()):
        raise ValueError(f"expected policies that are numbers and values from -1 to 1 in {path}")
    try:
        shown = shown_of(game, games.lengths.astype(np.int64), games.actions)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    starts = np.cumsum(games.lengths) - games.lengths
    outcomes = shown.outcomes[starts] * (1 - 2 * shown.players[starts])  # of player 0
    if (wrong := np.flatnonzero(outcomes != games.outcomes)).size:
        raise ValueError(
            f"{path}: expected outcomes by the rules in all games, got another in game {wrong[0]}"
        )
    return games


def fits_together(games: Games, num_actions: int) -> bool:
    """Whether arrays have the types and shapes of `Games`."""
    count, plies = games.lengths.size, games.actions.size
    shapes = [(count,), (count,), (plies,), (plies, num_actions), (plies,)]
    types = [known.dtype for known in Games.none(num_actions)]
    is_whole = [(array.shape, array.dtype) for array in games] == [*zip(shapes, types, strict=True)]
    return is_whole and bool((games.lengths >= 1).all() and games.lengths.sum() == plies)


def earlier_equals(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each number, how many before it are equal to it."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    found = np.empty_like(numbers)
    found[order] = np.arange(len(numbers)) - np.searchsorted(ordered, ordered)
    return found


# ---- the buffer ----------------------------------------------------------------------------------


class Batch(NamedTuple):
    """B positions to learn from."""

    planes: NDArray[np.int8]
    """``(B, rows, columns, K)``, as the player to move sees them."""
    policies: NDArray[np.float32]
    """``(B, num_actions)``: of the search."""
    outcomes: NDArray[np.float32]
    """``(B,)``: 1, 0 or -1 for the player to move."""
    values: NDArray[np.float32]
    """``(B,)``: of the search, for the player to move."""
    players: NDArray[np.int8]
    """``(B,)``: the players to move."""


@kernel
def replay(
    game: Any,
    state: Any,
    actions: NDArray[np.int16],
    plies: NDArray[np.int16],
    positions: NDArray[np.int64],
    extra: NDArray[np.int8],
    planes: NDArray[np.int8],
    players: NDArray[np.int8],
) -> None:
    """Play up to positions of the buffer, and write the planes that the players to move see."""
    owners = scratch_array(game.rows * game.columns, np.int8)
    for i in range(positions.size):
        play_to(game, state[0], actions, plies, positions[i])
        players[i] = game.to_play(state[0])
        game.owners(state[0], owners)
        write_planes(game, state[0], players[i], owners, extra, planes[i])


@kernel
def play_to(
    game: Any, state: Any, actions: NDArray[np.int16], plies: NDArray[np.int16], position: int
) -> None:
    """Play from the start of its game up to a position."""
    capacity = actions.size
    game.initial(state)
    for number in range(position - plies[position % capacity], position):
        game.step(state, int(actions[number % capacity]))


compiled_replay: Final = CompiledFunction(replay, "the replay of games")


class ReplayBuffer:
    """The newest positions, in memory of a fixed size.

    Positions have numbers, from 0 for the first that was ever added; position n is at index
    ``n % capacity`` of the arrays. The newest are drawn ``exp(recency)`` times as often as the
    oldest, and each at most `most_reuse` times. Batches have `planes` besides the game's own.
    """

    def __init__(
        self,
        game: Game,
        capacity: int,
        planes: tuple[str, ...] = (),
        recency: float = 0.0,
        most_reuse: int = 65535,
    ) -> None:
        self.game = game
        self.capacity = capacity
        self.recency = recency
        self.most_reuse = most_reuse
        self.total = 0
        """How many positions were ever added."""
        self.actions = np.zeros(capacity, np.int16)
        self.plies = np.zeros(capacity, np.int16)
        self.policies = np.zeros((capacity, game.num_actions()), np.float32)
        self.values = np.zeros(capacity, np.float32)
        self.outcomes = np.zeros(capacity, np.int8)
        """Of the games, for player 0."""
        self.uses = np.zeros(capacity, np.uint16)
        """How often each was drawn; the greatest number where there was no search."""
        self._names = plane_names(game, planes)
        self._extra = extra_codes(game, self._names)
        self._state = base.new_states(game, 1)
        self._replay = compiled_replay.fitting(game)

    def __len__(self) -> int:
        return min(self.total, self.capacity)

    def add(self, games: Games) -> None:
        """Add games; they replace the oldest positions."""
        plies = len(games.actions)
        fitting = slice(max(0, plies - self.capacity), plies)
        numbers = np.arange(plies)[fitting]
        places = (self.total + numbers) % self.capacity
        starts = np.repeat(np.cumsum(games.lengths) - games.lengths, games.lengths)
        self.actions[places] = games.actions[fitting]
        self.plies[places] = numbers - starts[fitting]
        self.policies[places] = games.policies[fitting]
        self.values[places] = games.values[fitting]
        self.outcomes[places] = np.repeat(games.outcomes, games.lengths)[fitting]
        is_searched = games.policies[fitting].any(axis=1)
        self.uses[places] = np.where(is_searched, 0, np.iinfo(np.uint16).max)
        self.total += plies

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The numbers of positions to learn from.

        Returns:
            ``(count,)``; fewer if too few are left that may be drawn.
        """
        oldest = self.total - len(self)
        kept = np.zeros(0, np.int64)
        for _ in range(50 if self.total else 0):
            fraction = rng.random(count)
            if self.recency > 0.0:
                fraction = np.log1p(fraction * np.expm1(self.recency)) / self.recency
            numbers = oldest + (fraction * len(self)).astype(np.int64)
            numbers = np.minimum(numbers, self.total - 1)  # a fraction may be rounded to 1
            places = numbers % self.capacity
            is_whole = numbers - self.plies[places] >= oldest  # its game's start is still there
            uses = self.uses[places] + earlier_equals(numbers)
            numbers = numbers[is_whole & (uses < self.most_reuse)][: count - len(kept)]
            np.add.at(self.uses, numbers % self.capacity, 1)
            kept = np.concatenate([kept, numbers])
            if len(kept) == count:
                break
        return kept

    def sample(self, count: int, rng: np.random.Generator) -> Batch:
        """A batch of positions that `draw` has drawn."""
        return self.batch(self.draw(count, rng))

    def batch(self, numbers: NDArray[np.int64]) -> Batch:
        """Positions by their numbers."""
        game, count = self.game, len(numbers)
        places = numbers % self.capacity
        planes = np.zeros((count, game.rows * game.columns, len(self._names)), np.int8)
        players = np.zeros(count, np.int8)
        kept = self.actions, self.plies, numbers
        self._replay(game, self._state, *kept, self._extra, planes, players)
        own = np.where(players == 0, self.outcomes[places], -self.outcomes[places])
        planes = planes.reshape(count, game.rows, game.columns, len(self._names))
        judged = self.policies[places], own.astype(np.float32), self.values[places]
        return Batch(planes, *judged, players)

    def state(self, number: int) -> base.State:
        """A position by its number, as a state of the game.

        Raises:
            IndexError: If it, or the beginning of its game, is no longer kept.
        """
        start = number - int(self.plies[number % self.capacity])
        if not self.total - len(self) <= start <= number < self.total:
            raise IndexError(f"expected a whole game's position, got {number} of {self.total}")
        state = base.new_state(self.game)
        play_to(self.game, state, self.actions, self.plies, number)
        return state
