"""Many games of one kind side by side: their positions, and the moves that led to them.

Learners and their opponents, self-play, the making of data and searches in many games share this
table, and the kernels that begin its games and play in them.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction, kernel, scratch_array
from hexenv.games.base import Game, new_states

Which = NDArray[np.int64]
"""Numbers of games."""
GOES_ON: Final = 2
"""In place of an outcome: the game is not over."""


class GameTable(NamedTuple):
    """N games."""

    states: Any
    """``(N,)`` positions."""
    actions: NDArray[np.int32]
    """``(N, max_plies())``: the actions of each game so far; ``(N, 0)`` where nobody needs them."""
    lengths: NDArray[np.int32]
    """``(N,)``: how many they are; below 0 where they are not known."""


def new_table(game: Game, count: int) -> GameTable:
    """Games at their start."""
    actions = np.zeros((count, game.max_plies()), np.int32)
    return GameTable(new_states(game, count), actions, np.zeros(count, np.int32))


# ---- kernels -------------------------------------------------------------------------------------


@kernel
def begin_game(
    game: Any, table: GameTable, number: int, plies: int, rng: np.random.Generator
) -> None:
    """Start one of the games with random moves; with none, if it would end by them."""
    state, actions = table.states[number], table.actions[number]
    buffer = scratch_array(game.num_actions(), np.int32)
    game.initial(state)
    table.lengths[number] = plies
    for ply in range(plies):
        count = game.legal_actions(state, buffer)
        actions[ply] = buffer[int(rng.random() * count)]
        game.step(state, int(actions[ply]))
        if game.is_terminal(state):
            game.initial(state)
            table.lengths[number] = 0
            return


@kernel
def replay_game(game: Any, table: GameTable, number: int) -> None:
    """Set one of the positions to where the actions lead."""
    state = table.states[number]
    game.initial(state)
    for ply in range(table.lengths[number]):
        game.step(state, int(table.actions[number, ply]))


@kernel
def copy_game(game: Any, table: GameTable, number: int, into: GameTable) -> None:
    """Copy one of the games to its place in another table."""
    game.copy(table.states[number], into.states[number])
    for ply in range(table.lengths[number]):
        into.actions[number, ply] = table.actions[number, ply]
    into.lengths[number] = table.lengths[number]


@kernel
def play_in_games(
    game: Any, table: GameTable, which: Which, actions: NDArray[Any], outcomes: NDArray[np.int8]
) -> None:
    """Play a legal action in each of some games.

    Args:
        game: The game.
        table: The games.
        which: ``(n,)``: the numbers of the games.
        actions: ``(n,)``: legal actions there.
        outcomes: ``(n,)``: receives 1, 0 or -1 for player 0, or `GOES_ON`.
    """
    keeps_actions = table.actions.shape[1] > 0
    for i in range(which.size):
        number = which[i]
        state = table.states[number]
        game.step(state, int(actions[i]))
        if keeps_actions:
            table.actions[number, table.lengths[number]] = actions[i]
            table.lengths[number] += 1
        is_over = game.is_terminal(state)
        outcomes[i] = game.outcome(state, 0) if is_over else GOES_ON


@kernel
def write_movers(game: Any, states: Any, movers: NDArray[np.int8]) -> None:
    """Write who is to move in each position, ``(N,)``."""
    for number in range(movers.size):
        movers[number] = game.to_play(states[number])


compiled_begin_game: Final = CompiledFunction(begin_game, "the games")
compiled_replay_game: Final = CompiledFunction(replay_game, "the games")
compiled_play_in_games: Final = CompiledFunction(play_in_games, "the games")
compiled_write_movers: Final = CompiledFunction(write_movers, "the games")
