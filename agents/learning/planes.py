"""The planes of many positions, for a network."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexenv.envs.observation import compiled_show_to_play, extra_codes, plane_names
from hexenv.games.base import Game


class PlaneWriter:
    """Writes the planes of positions of one game.

    `planes` are the names of those besides the game's own.
    """

    def __init__(self, game: Game, planes: tuple[str, ...]) -> None:
        self._names = plane_names(game, planes)
        self._extra = extra_codes(game, self._names)
        self._write_planes = compiled_show_to_play.fitting(game)

    def planes_of(self, game: Game, states: Any) -> NDArray[np.int8]:
        """The planes of positions, ``(n, rows, columns, K)``, as the players to move see them."""
        shape = (len(states), game.rows * game.columns, len(self._names))
        planes = np.zeros(shape, np.int8)
        self._write_planes(game, states, self._extra, planes)
        return planes.reshape(len(states), game.rows, game.columns, -1)
