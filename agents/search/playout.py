from typing import Any, NamedTuple
import numpy as np
from hexenv.compiled import compiled
from hexenv.games.base import play_randomly

@compiled
class Uniform(NamedTuple):
    fast: bool = True

    def simulate(self, game: Any, state: Any, rng: np.random.Generator, buffer: Any) -> None:
        if self.fast:
            game.random_playout(state, rng, buffer)
        else:
            play_randomly(game, state, rng, buffer)
