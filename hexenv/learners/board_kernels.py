"""The compiled half of `hexenv.learners.boards`: kernels that go through many boards of one game."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction, kernel
from hexenv.envs.observation import write_planes
from hexenv.policies import Stream

Which = NDArray[np.int64]
"""Numbers of boards."""

FIRST, SECOND, RANDOM, BOTH = range(4)
"""The learner's side by number of `hexenv.learners.learner.SIDES`; `BOTH` where it plays for whoever is to
move."""


@kernel
def start_boards(
    game: Any,
    initial: Any,
    states: Any,
    begun: NDArray[np.int32],
    players: NDArray[np.int8],
    chosen: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    which: Which,
    side: int,
    opponents: int,
    first_opponent: int,
) -> None:
    """Put boards in a starting position, and draw it, the learner's side and the opponent."""
    for i in range(which.size):
        board = which[i]
        begun[board] = 0
        if initial.size > 1:
            begun[board] = int(Stream(seeds, board).random() * initial.size)
        game.copy(initial[begun[board]], states[board])
        players[board] = game.to_play(states[board])
        if side in (FIRST, SECOND):
            players[board] = side
        elif side == RANDOM:
            players[board] = int(Stream(seeds, board).random() * 2.0)
        chosen[board] = first_opponent
        if opponents > 1:
            chosen[board] += int(Stream(seeds, board).random() * opponents)


@kernel
def play_boards(
    game: Any,
    states: Any,
    players: NDArray[np.int8],
    side: int,
    actions: NDArray[np.int64],
    masks: NDArray[np.int8],
    idle: NDArray[np.bool_],
    illegal: NDArray[np.bool_],
) -> int:
    """Play the learner's actions, but for the illegal ones, on all boards that are not idle.

    Returns:
        How many actions were illegal.
    """
    found = 0
    for board in range(states.size):
        illegal[board] = False
        if idle[board]:
            continue
        action = actions[board]
        if action < 0 or action >= masks.shape[1] or masks[board, action] == 0:
            illegal[board] = True
            found += 1
            continue
        if side == BOTH:
            players[board] = game.to_play(states[board])
        game.step(states[board], int(action))
    return found


@kernel
def play_given(game: Any, states: Any, which: Which, actions: NDArray[np.int64]) -> None:
    """Play a legal action on each of some boards."""
    for i in range(which.size):
        game.step(states[which[i]], int(actions[i]))


@kernel
def answer_boards(
    game: Any,
    states: Any,
    players: NDArray[np.int8],
    seeds: NDArray[np.uint64],
    which: Which,
    policy: Any,
) -> None:
    """Let a policy play on some boards until it is the learner's turn or the game is over."""
    for i in range(which.size):
        board = which[i]
        state = states[board]
        while not game.is_terminal(state) and game.to_play(state) != players[board]:
            action = policy.answer(game, state, Stream(seeds, board))
            game.step(state, action)


@kernel
def find_waiting(
    game: Any,
    states: Any,
    players: NDArray[np.int8],
    idle: NDArray[np.bool_],
    waiting: NDArray[np.bool_],
) -> None:
    """Mark the boards on which it is the opponent's turn; idle ones wait for nobody."""
    for board in range(states.size):
        state = states[board]
        turn = not game.is_terminal(state) and game.to_play(state) != players[board]
        waiting[board] = turn and not idle[board]


@kernel
def find_players(game: Any, states: Any, players: NDArray[np.int8]) -> None:
    """Write who is to move."""
    for board in range(states.size):
        players[board] = game.to_play(states[board])


@kernel
def judge_boards(
    game: Any,
    states: Any,
    players: NDArray[np.int8],
    idle: NDArray[np.bool_],
    rewards: NDArray[np.float64],
    over: NDArray[np.bool_],
) -> None:
    """Write the learner's rewards, and which games are over; idle boards get 0 and False."""
    for board in range(states.size):
        rewards[board] = 0.0
        over[board] = False
        if not idle[board] and game.is_terminal(states[board]):
            rewards[board] = game.outcome(states[board], players[board])
            over[board] = True


@kernel
def show_boards(
    game: Any,
    states: Any,
    viewers: NDArray[np.int8],
    to_play: bool,
    which: Which,
    out: Any,
    masks: NDArray[np.int8],
    extra: NDArray[np.int8],
) -> None:
    """Write what is seen on some boards: planes, and masks that are all 1 where a game is over.

    `out` is ``(boards, cells, planes)``.
    """
    owners = np.empty(out.shape[1], np.int8)
    for i in range(which.size):
        state = states[which[i]]
        viewer = game.to_play(state) if to_play else int(viewers[which[i]])
        game.owners(state, owners)
        write_planes(game, state, viewer, owners, extra, out[i])
        if game.is_terminal(state):
            masks[i, :] = 1
        else:
            game.legal_mask(state, owners, masks[i])


COMPILED: Final = {
    function: CompiledFunction(function)
    for function in (
        start_boards,
        play_boards,
        play_given,
        answer_boards,
        find_waiting,
        find_players,
        judge_boards,
        show_boards,
    )
}
