"""Playout policies: how a simulation goes on from a leaf to the end of the game."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled
from hexenv.games.base import play_randomly


class Playout(Protocol):
    """What a playout policy offers."""

    def simulate(
        self, game: Any, state: Any, rng: np.random.Generator, buffer: NDArray[np.int32]
    ) -> None:
        """Play `state` to the end; afterwards the game's `outcome` is asked for both players.

        Args:
            game: The game, or the adapter of a foreign environment.
            state: The position, overwritten.
            rng: The stream of the search.
            buffer: ``(>= num_actions(),)`` of scratch space.
        """
        ...


@compiled
class Uniform(NamedTuple):
    """Uniformly random moves.

    The fast form leaves it to the game, which may know how to fill a board at once; the generic one
    draws once a ply over the ascending legal actions, so that every game and every environment
    gives the same stream of numbers the same meaning.
    """

    fast: bool = True

    def simulate(
        self, game: Any, state: Any, rng: np.random.Generator, buffer: NDArray[np.int32]
    ) -> None:
        if self.fast:
            game.random_playout(state, rng, buffer)
        else:
            play_randomly(game, state, rng, buffer)
