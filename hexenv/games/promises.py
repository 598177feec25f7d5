"""What a game of one's own has promised, looked at whenever a verb is called.

Searches reserve their arrays by `max_plies`, `num_actions` and `num_cells`, and machine code looks
at no index: a game that breaks such a promise would have them write beyond the end. So `game` puts
a guard in the place of each verb of `GUARDED`, which calls the verb and looks at the numbers that
searches reserve and index arrays by. One out of range is a `ValueError` before it is used, also in
machine code. What else a verb does is for `check_game`, and for the indexes of one's own methods
that machine code checks. The games of `hexenv` are checked by its tests, and have none of this.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

import numpy as np

from hexenv.compiled import inlined_kernel, kernel, refusal
from hexenv.compiled.callees import members_of
from hexenv.games import base
from hexenv.games.base import IN_PLAY, Actions, State

ADVICE: Final = "; hexenv.testing.check_game shows where"

refuse_action: Final = refusal(f"expected actions from 0 to num_actions() - 1, got another{ADVICE}")
refuse_count: Final = refusal(
    f"expected 1 to num_actions() legal actions before the end, got another number{ADVICE}"
)
refuse_length: Final = refusal(f"expected an end within max_plies(), got none{ADVICE}")
refuse_ply: Final = refusal(f"expected step to add 1 to state.ply, got another change{ADVICE}")
refuse_player: Final = refusal(f"expected to_play of 0 or 1, got another{ADVICE}")
refuse_cell: Final = refusal(f"expected cell_of from 0 to num_cells() - 1, got another{ADVICE}")
refuse_playout: Final = refusal(
    f"expected random_playout to set state.winner, got a game that goes on{ADVICE}"
)


@kernel
def check_ended(self: Any, state: State) -> None:
    """Refuse a number of legal actions that there can be at the end alone."""
    if not self.is_terminal(state):
        refuse_count(self)


def guarded_step(own: Any) -> Any:
    """`Game.step` that counts the plies."""

    def step(self: Any, state: State, action: int) -> None:
        ply, most = int(state.ply), self.max_plies()
        if action < 0 or action >= self.num_actions():
            refuse_action(self)
        if ply < 0 or ply >= most:
            refuse_length(self)
        own(self, state, action)
        if state.ply != ply + 1:
            refuse_ply(self)
        if ply + 1 >= most and not self.is_terminal(state):
            refuse_length(self)

    return step


def guarded_legal_actions(own: Any) -> Any:
    """`Game.legal_actions` that counts them, and looks at each."""

    def legal_actions(self: Any, state: State, out: Actions) -> int:
        count, most = own(self, state, out), self.num_actions()
        if count == 0:
            check_ended(self, state)
        elif count < 0 or count > most:
            refuse_count(self)
        else:
            is_beyond = False
            for pick in range(count):
                is_beyond |= out[pick] < 0 or out[pick] >= most
            if is_beyond:
                refuse_action(self)
        return count

    return legal_actions


def guarded_next_actions(own: Any) -> Any:
    """`Game.next_actions` that counts them; `step` and `cell_of` look at the one that is used."""

    def next_actions(self: Any, state: State, actions: Actions, count: int, played: int) -> int:
        count = own(self, state, actions, count, played)
        if count <= 0 or count > self.num_actions():
            check_ended(self, state)  # then it may be any number
        return count

    return next_actions


def guarded_to_play(own: Any) -> Any:
    """`Game.to_play` of one of two players."""

    def to_play(self: Any, state: State) -> int:
        player = own(self, state)
        if player != 0 and player != 1:
            refuse_player(self)
        return player

    return to_play


def guarded_cell_of(own: Any) -> Any:
    """`Game.cell_of` below `num_cells`."""

    def cell_of(self: Any, state: State, action: int) -> int:
        cell = own(self, state, action)
        if cell < 0 or cell >= self.num_cells():
            refuse_cell(self)
        return cell

    return cell_of


def guarded_random_playout(own: Any) -> Any:
    """`Game.random_playout` that has come to an end."""

    def random_playout(self: Any, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        own(self, state, rng, buffer)
        if state.winner == IN_PLAY:
            refuse_playout(self)

    return random_playout


GUARDED: Final[dict[str, Callable[[Any], Any]]] = {
    "step": guarded_step,
    "legal_actions": guarded_legal_actions,
    "next_actions": guarded_next_actions,
    "to_play": guarded_to_play,
    "cell_of": guarded_cell_of,
    "random_playout": guarded_random_playout,
}
SAFE: Final = frozenset({base.next_actions, base.to_play, base.play_randomly})
"""Forms that keep the promises where the other verbs do."""


def keep_promises(cls: type) -> None:
    """Put guards in the place of a class's verbs, once."""
    found = members_of(cls)
    for name, make in GUARDED.items():
        verb = found.get(name)
        if isinstance(verb, FunctionType) and verb is unguarded(verb) and verb not in SAFE:
            guard = inlined_kernel(make(kernel(verb)))  # one call more a ply would be felt
            guard.__doc__, guard.guards = verb.__doc__, verb
            setattr(cls, name, guard)


def unguarded(verb: Any) -> Any:
    """The verb behind a guard; any other value as it is."""
    return getattr(verb, "guards", verb)
