"""A game of scores: coins in a row, of which the players take one from either end in turn.

Who takes a coin of 3 moves again. A game for `grow_tree` alone: it has what a search needs.
"""

from typing import NamedTuple

from hexenv.compiled import compiled
from hexenv.games import base
from hexenv.games.base import DRAW, Actions, State


@compiled
class Coins(NamedTuple):
    """Action 0 takes the left coin, action 1 the right one. Coin i is worth 1 + 5 i mod 7."""

    length: int = 8

    name = "coins"
    state_dtype = base.state_dtype(("left", "i2"), ("right", "i2"), ("lead", "i2"), ("mover", "i2"))
    copy, is_terminal, outcome = base.copy, base.is_terminal, base.outcome
    cell_of, num_cells, next_actions = base.cell_of, base.num_cells, base.next_actions
    random_playout = base.play_randomly

    def num_actions(self) -> int:
        return 2

    def max_plies(self) -> int:
        return self.length

    def initial(self, state: State) -> None:
        base.begin(state)
        state.left, state.right, state.lead, state.mover = 0, self.length - 1, 0, 0

    def to_play(self, state: State) -> int:
        return int(state.mover)

    def legal_actions(self, state: State, out: Actions) -> int:
        out[0], out[1] = 0, 1
        return min(2, state.right - state.left + 1)  # the last coin is the left one

    def step(self, state: State, action: int) -> None:
        coin = 1 + 5 * (state.left if action == 0 else state.right) % 7
        state.lead += coin if state.mover == 0 else -coin
        state.left, state.right = state.left + (action == 0), state.right - (action == 1)
        state.mover = state.mover if coin == 3 else 1 - state.mover
        state.ply, state.last_action = state.ply + 1, action
        if state.left > state.right:
            state.winner = DRAW if state.lead == 0 else int(state.lead < 0)

    def final_score(self, state: State, player: int) -> float:
        """The lead over the other player, as a share of the most that there can be."""
        lead = state.lead / (7.0 * self.length)
        return lead if player == 0 else -lead
