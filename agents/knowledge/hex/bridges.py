"""Saving bridges: the reply to an intrusion, the cheapest knowledge about Hex there is."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.playout import Uniform, memory_behind, play_out
from agents.search.replies import pick_of_cell
from agents.search.simulation import Simulation
from hexenv.compiled import compiled
from hexenv.games.base import EMPTY
from hexenv.games.hex import AROUND, WIDTH


@compiled
class SaveBridge(NamedTuple):
    """Where the opponent intrudes into a bridge, complete it (Arneson, Hayward, Henderson 2010).

    Two stones of one player with two empty cells between them that both touch are joined for sure:
    if one of the cells is taken, the other is left. Around the opponent's last stone the pattern is
    own, empty, own; the board's edge counts as own. Of several the first from a random direction is
    saved. For Hex.
    """

    otherwise: Any = Uniform()

    simulate = play_out

    def needs_moves(self) -> bool:
        return self.otherwise.needs_moves()

    def with_memory(self, game: Any) -> "SaveBridge":
        if getattr(game, "name", None) != "hex":
            raise ValueError(f"bridges are a pattern of hex, got {game}")
        return self._replace(otherwise=memory_behind(self.otherwise, game))

    def choose(
        self,
        game: Any,
        state: Any,
        rng: np.random.Generator,
        actions: NDArray[np.int32],
        count: int,
        simulation: Simulation,
    ) -> int:
        action = int(state.last_action)
        if 0 <= action < game.rows * game.columns:
            player = game.to_play(state)
            owners = state.owners
            last = game.place_of(action)
            turn = int(rng.random() * 6)
            for _ in range(6):
                turn = turn + 1 if turn < 5 else 0
                place = last + AROUND[turn]
                if (
                    owners[place] == EMPTY
                    and owners[last + AROUND[turn - 1]] == player
                    and owners[last + AROUND[turn + 1 if turn < 5 else 0]] == player
                ):
                    cell = (place // WIDTH - 1) * game.columns + place % WIDTH - 1
                    return pick_of_cell(game, state, actions, count, cell)
        return self.otherwise.choose(game, state, rng, actions, count, simulation)

    def update(self, tree: Any, simulation: Simulation) -> None:
        self.otherwise.update(tree, simulation)
