"""Playouts of Hex that answer the opponent's last stone by learnt patterns."""

from typing import Any, Final, NamedTuple

import numpy as np

from agents.knowledge.hex.priors import AROUND, FAR, RING, learnt_weights, new_surroundings
from agents.search.playout import Uniform, action_on, memory_behind, play_out
from agents.search.simulation import Simulation
from agents.search.tree import Tree
from hexenv.compiled import compiled
from hexenv.games.base import EMPTY, Actions, State
from hexenv.games.hex import WIDTH, Hex

ELSEWHERE: Final = 1.0


@compiled
class PatternReplies(NamedTuple):
    """Answer the last stone near it, with the probability that patterns give the answers there.

    A reply has the weight of its ring and its place beside the last stone
    (`agents.knowledge.hex.priors`), all other moves together `elsewhere` for each empty cell.
    """

    otherwise: Any = Uniform()
    elsewhere: float = ELSEWHERE
    chances: Any = None
    """``(18, 3**6)``: for each step from the last stone and ring."""
    near: Any = None
    """See `HexPriors`."""
    steps: Any = None
    """``(2, 6)``: for each player, the ring as steps in the board's memory."""
    sums: Any = None
    """``(18,)``: scratch space."""

    simulate = play_out

    def needs_moves(self) -> bool:
        return self.otherwise.needs_moves()

    def with_memory(self, game: Hex) -> "PatternReplies":
        if getattr(game, "name", None) != "hex":
            raise ValueError(f"the playout replies is for hex, got {game}")
        weights = learnt_weights()
        rings = weights.neighbourhoods[: 3**RING]  # all else empty
        chances = np.exp(weights.replies.reshape(FAR + 1, -1)[:FAR] + rings)
        steps = np.array(
            [
                [down * WIDTH + right for down, right in AROUND],
                [right * WIDTH + down for down, right in AROUND],
            ]
        )
        return self._replace(
            otherwise=memory_behind(self.otherwise, game),
            chances=chances,
            near=new_surroundings(game.rows, game.columns)[0],
            steps=steps,
            sums=np.zeros(FAR),
        )

    def choose(
        self,
        game: Hex,
        state: State,
        rng: np.random.Generator,
        actions: Actions,
        count: int,
        simulation: Simulation,
    ) -> int:
        last, size = int(state.last_action), game.rows * game.columns
        if 0 <= last < size:
            player, owners = game.to_play(state), state.owners
            total = 0.0
            for i in range(FAR):
                cell = int(self.near[player, last, i])
                if cell < size:
                    place = game.place_of(cell)
                    if owners[place] == EMPTY:
                        number, weight = 0, 1
                        for turn in range(RING):
                            owner = int(owners[place + self.steps[player, turn]])
                            number += (0 if owner == EMPTY else 1 + (owner ^ player)) * weight
                            weight *= 3
                        total += self.chances[i, number]
                self.sums[i] = total
            draw = rng.random() * (total + self.elsewhere * count)
            if draw < total:
                i = 0
                while self.sums[i] <= draw:
                    i += 1
                cell = int(self.near[player, last, i])
                return action_on(game, state, actions, count, cell, simulation)
        return self.otherwise.choose(game, state, rng, actions, count, simulation)

    def update(self, tree: Tree, simulation: Simulation) -> None:
        self.otherwise.update(tree, simulation)
