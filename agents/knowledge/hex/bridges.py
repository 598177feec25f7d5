"""Saving bridges: the playout policy for Hex that answers an intrusion into a bridge."""

from typing import Any, NamedTuple

import numpy as np

from agents.search.playout import Uniform, action_on, memory_behind, play_out
from agents.search.simulation import Simulation
from agents.search.tree import Tree
from hexenv.compiled import compiled
from hexenv.games.base import EMPTY, Actions, State
from hexenv.games.hex import AROUND, WIDTH, Hex


@compiled
class SaveBridge(NamedTuple):
    """Where the opponent intrudes into a bridge, complete it (Arneson, Hayward, Henderson 2010).

    Two stones of one player with two empty cells between them are safely connected: if the
    opponent takes one of the cells, the player takes the other. Around the opponent's last stone
    the pattern is own, empty, own; the board's edge counts as own. Of several bridges, the first
    from a random direction is completed.

    Examples:
        >>> from agents import UCT, TreeSearchAgent
        >>> from hexenv import hex_v0
        >>> env = hex_v0.env(board_size=3)
        >>> env.reset()
        >>> variant = UCT().variant._replace(playout=SaveBridge())
        >>> TreeSearchAgent(variant, simulations=100, seed=1).act(env)  # the centre
        4
    """

    otherwise: Any = Uniform()

    simulate = play_out

    def needs_moves(self) -> bool:
        return self.otherwise.needs_moves()

    def with_memory(self, game: Hex) -> "SaveBridge":
        if getattr(game, "name", None) != "hex":
            raise ValueError(f"the playout bridges is for hex, got {game}")
        return self._replace(otherwise=memory_behind(self.otherwise, game))

    def choose(
        self,
        game: Hex,
        state: State,
        rng: np.random.Generator,
        actions: Actions,
        count: int,
        simulation: Simulation,
    ) -> int:
        action = int(state.last_action)
        if 0 <= action < game.rows * game.columns:
            player = game.to_play(state)
            owners = state.owners
            last = game.place_of(action)
            own, empty = 0, 0  # a bit for each direction: without branches, which would cost more
            for turn in range(6):
                owner = owners[last + AROUND[turn]]
                own |= int(owner == player) << turn
                empty |= int(owner == EMPTY) << turn
            first = int(rng.random() * 6)
            intruded = empty & (own << 1 | own >> 5) & (own >> 1 | own << 5)
            if intruded:
                turn = first + 1 if first < 5 else 0
                while not intruded >> turn & 1:
                    turn = turn + 1 if turn < 5 else 0
                place = last + AROUND[turn]
                cell = (place // WIDTH - 1) * game.columns + place % WIDTH - 1
                return action_on(game, state, actions, count, cell, simulation)
        return self.otherwise.choose(game, state, rng, actions, count, simulation)

    def update(self, tree: Tree, simulation: Simulation) -> None:
        self.otherwise.update(tree, simulation)
