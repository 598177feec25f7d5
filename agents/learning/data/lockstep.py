"""Many games that get their next moves together: what self-play and the making of data share."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction, kernel, scratch_array

GOES_ON: Final = 2
"""In place of an outcome: the game is not over."""


@kernel
def begin_game(
    game: Any,
    states: Any,
    number: int,
    plies: int,
    rng: np.random.Generator,
    actions: NDArray[Any],
) -> int:
    """Start one of the games with random moves, and write these to `actions`.

    Returns:
        How many were played: none, if the game would have ended by them.
    """
    state = states[number]
    buffer = scratch_array(game.num_actions(), np.int32)
    game.initial(state)
    for ply in range(plies):
        count = game.legal_actions(state, buffer)
        actions[ply] = buffer[int(rng.random() * count)]
        game.step(state, int(actions[ply]))
        if game.is_terminal(state):
            game.initial(state)
            return 0
    return plies


@kernel
def play_actions(
    game: Any,
    states: Any,
    which: NDArray[np.int64],
    actions: NDArray[Any],
    outcomes: NDArray[np.int8],
) -> None:
    """Play an action in each of some games.

    Args:
        game: The game.
        states: ``(N,)``: the positions.
        which: ``(n,)``: the numbers of the games.
        actions: ``(n,)``: legal actions there.
        outcomes: ``(n,)``: receives 1, 0 or -1 for player 0, or `GOES_ON`.
    """
    for i in range(which.size):
        state = states[which[i]]
        game.step(state, int(actions[i]))
        is_over = game.is_terminal(state)
        outcomes[i] = game.outcome(state, 0) if is_over else GOES_ON


@kernel
def write_movers(game: Any, states: Any, movers: NDArray[np.int8]) -> None:
    """Write who is to move in each position, ``(N,)``."""
    for number in range(movers.size):
        movers[number] = game.to_play(states[number])


compiled_begin_game: Final = CompiledFunction(begin_game, "self-play")
compiled_play_actions: Final = CompiledFunction(play_actions, "self-play")
compiled_write_movers: Final = CompiledFunction(write_movers, "self-play")
