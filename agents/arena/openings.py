"""The openings of pairs of games, random or of a list: the seed and the pair determine them."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.planning.environment import UnfitEnvironmentError, View
from agents.planning.view import planner_view
from hexenv.games import notation
from hexenv.games.base import from_middle

OF_OPENINGS, OF_ENVIRONMENTS, OF_AGENTS = range(3)
"""Uses of random numbers in a tournament: the second number of their seeds."""

DRAWS_FOR_NEW: Final = 50
"""After so many usable draws without a new opening, the known ones are used again."""
DRAWS_FOR_ANY: Final = 1000
"""Openings drawn to find one that can be used."""


def opening_view(env: Any, plies: int) -> View | None:
    """What `RandomOpenings` of so many plies need of an environment after `reset`.

    Raises:
        UnfitEnvironmentError: If it cannot be planned in, which openings of 0 plies do not need.
    """
    try:
        return planner_view(env) if plies else None
    except UnfitEnvironmentError as error:
        raise UnfitEnvironmentError(
            f"random openings need planning too (opening_plies 0 plays without them): {error}"
        ) from None


class Openings(Protocol):
    """The openings of a pairing."""

    def __getitem__(self, pair: int) -> tuple[int, ...]:
        """The actions that a pair of its games begins with."""
        ...


class RandomOpenings:
    """Openings of random legal actions.

    If possible, each leads to a different position. After an opening the game is not over,
    and the player to move cannot win at once. When no new one is found, the known ones are used
    again in turn.

    Args:
        view: From `opening_view`.
        plies: Of an opening.
        seed: Of all openings.
        pairing: The number of the pairing.
        middle: At most how far from the middle of the board stones are, in rows and columns.

    Raises:
        ValueError: If there is no opening of so many plies.
    """

    def __init__(
        self,
        view: View | None,
        plies: int,
        seed: int,
        pairing: int = 0,
        middle: int | None = None,
    ) -> None:
        self._view, self._plies, self._seed, self._pairing = view, plies, seed, pairing
        self._middle = middle
        self._found: list[tuple[int, ...]] = [] if plies else [()]
        self._positions: set[int] = set()
        self._all_found = plies == 0 or view is None
        self[0]  # raises if there is none

    def __getitem__(self, pair: int) -> tuple[int, ...]:
        while len(self._found) <= pair and not self._all_found:
            opening = self._new_opening(len(self._found))
            if opening is None:
                self._all_found = True
            else:
                self._found.append(opening)
        return self._found[pair % len(self._found)]

    def _new_opening(self, pair: int) -> tuple[int, ...] | None:
        """A new opening; None if none is found."""
        rng = np.random.default_rng([self._seed, OF_OPENINGS, self._pairing, pair])
        assert self._view is not None
        game, state = self._view.game, self._view.new_state()
        usable = 0
        for _ in range(DRAWS_FOR_ANY if self._plies < game.max_plies() else 0):
            opening = random_opening(self._view, self._plies, rng, self._middle)
            if opening is None:
                continue
            game.copy(self._view.root, state)
            for action in opening:
                game.step(state, action)
            position = int(game.position_hash(state))
            if position not in self._positions:
                self._positions.add(position)
                return opening
            usable += 1
            if usable >= DRAWS_FOR_NEW:
                break
        if not self._found:
            where = "" if self._middle is None else f" within {self._middle} of the middle"
            raise ValueError(
                f"expected an opening of {self._plies} plies{where} after which the game goes on "
                "and the next player cannot win at once, found none"
            )
        return None


def new_openings(env: Any, plies: int, seed: int) -> Openings:
    """Random openings of the only pairing, in an environment after `reset`.

    Raises:
        ValueError: As `opening_view` and `RandomOpenings`.
    """
    return RandomOpenings(opening_view(env, plies), plies, seed)


def random_opening(
    view: View, plies: int, rng: np.random.Generator, middle: int | None = None
) -> tuple[int, ...] | None:
    """Random legal actions; None if they end the game or let the next player win at once.

    `middle`: see `RandomOpenings`.
    """
    game = view.game
    state, after = view.new_state(), view.new_state()
    game.copy(view.root, state)
    actions = np.empty(game.num_actions(), np.int32)
    opening: list[int] = []
    for _ in range(plies):
        if game.is_terminal(state):
            return None
        count = game.legal_actions(state, actions)
        if middle is not None:
            near = [
                action
                for action in actions[:count].tolist()
                if from_middle(game.rows, game.columns, game.cell_of(state, action)) <= middle
            ]
            if not near:
                return None
            count = len(near)
            actions[:count] = near
        action = int(actions[int(rng.random() * count)])
        game.step(state, action)
        opening.append(action)
    if game.is_terminal(state):
        return None
    player = game.to_play(state)
    for action in actions[: game.legal_actions(state, actions)].tolist():
        if hasattr(game, "wins_at"):
            if game.wins_at(state, player, action):
                return None
            continue
        game.copy(state, after)
        game.step(after, action)
        if game.is_terminal(after) and game.outcome(after, player) > 0:
            return None
    return tuple(opening)


# ---- lists ---------------------------------------------------------------------------------------


class ListedOpenings:
    """Openings of a list, in a random order.

    When all have been played they come again, in another order and as images by the game's
    symmetries.

    Args:
        openings: Actions of each; one at least.
        symmetries: Of the game, ``(symmetries, actions)``.
        seed: Of order and images.
        pairing: The number of the pairing.
    """

    def __init__(
        self,
        openings: Sequence[tuple[int, ...]],
        symmetries: NDArray[np.int32],
        seed: int,
        pairing: int = 0,
    ) -> None:
        self._openings, self._symmetries = openings, symmetries
        self._seed, self._pairing = seed, pairing
        self._round, self._order, self._images = -1, list[int](), list[int]()

    def __getitem__(self, pair: int) -> tuple[int, ...]:
        count = len(self._openings)
        number, place = divmod(pair, count)
        if number != self._round:
            rng = np.random.default_rng([self._seed, OF_OPENINGS, self._pairing, number])
            self._order = rng.permutation(count).tolist()
            drawn = rng.integers(len(self._symmetries), size=count)
            self._images = (drawn if number else 0 * drawn).tolist()  # the first is the identity
            self._round = number
        image = self._symmetries[self._images[place]]
        return tuple(int(image[action]) for action in self._openings[self._order[place]])


def parse_openings(env: Any, openings: Sequence[str]) -> list[tuple[int, ...]]:
    """The actions of openings in the notation of an environment's game.

    Raises:
        ValueError: If there are no rules to read them by, a move is wrong, or one ends the game.
    """
    game: Any = getattr(env.unwrapped, "game", None)
    if not hasattr(game, "parse_action"):
        raise ValueError(f"expected openings of a game by the rules of hexenv, got {env}")
    found: list[tuple[int, ...]] = []
    for number, text in enumerate(openings, 1):
        try:
            actions = notation.parse_moves(game, text)
            state = notation.play(game, actions)
        except ValueError as error:
            raise ValueError(f"opening {number}, {text!r}: {error}") from None
        if game.is_terminal(state):
            raise ValueError(f"opening {number}: expected one that does not end the game, {text!r}")
        found.append(tuple(actions))
    return found
