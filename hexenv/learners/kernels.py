"""What compiled code does for learners: kernels over many boards."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction, inlined_kernel, kernel, scratch_array
from hexenv.envs.observation import write_planes
from hexenv.games.table import GameTable, Which
from hexenv.learners.lineup import Masks, Shares
from hexenv.learners.policies import Stream

Actions = NDArray[np.int64]
Players = NDArray[np.int8]
Seeds = NDArray[np.uint64]
Flags = NDArray[np.bool_]

FIRST, SECOND, RANDOM, BOTH = range(4)
"""The learner's side: the index of a `Side`, or `BOTH` if it plays for both players."""


NEVER: Final = -(2**20)
"""The plies that are noted for a board which was not shown since its episode began."""

MAX_STARTS: Final = 1000
"""How often a start is tried again if the opponent's first answer ends the game."""


@inlined_kernel
def answer_on(game: Any, state: Any, player: int, rng: Any, policy: Any) -> None:
    """Let a policy play until it is the turn of `player` or the game is over."""
    if policy.answers:
        while not game.is_terminal(state) and game.to_play(state) != player:
            game.step(state, policy.answer(game, state, rng))


@kernel
def start_boards(
    game: Any,
    initial: Any,
    states: Any,
    begun: NDArray[np.int32],
    players: Players,
    seeds: Seeds,
    which: Which,
    side: int,
    policy: Any,
) -> bool:
    """Draw a starting position and the learner's side of boards, and set them up.

    Whether the learner gets a turn on all of them, as far as the policy is concerned.
    """
    get_turns = True
    for i in range(which.size):
        board, state = which[i], states[which[i]]
        stream = Stream(seeds, board)
        for _ in range(MAX_STARTS):
            begun[board] = 0
            if initial.size > 1:
                begun[board] = int(stream.random() * initial.size)
            game.copy(initial[begun[board]], state)
            players[board] = game.to_play(state)
            if side in (FIRST, SECOND):
                players[board] = side
            elif side == RANDOM:
                players[board] = int(stream.random() * 2.0)
            answer_on(game, state, int(players[board]), stream, policy)
            if not game.is_terminal(state):
                break
        get_turns = get_turns and not game.is_terminal(state)
    return get_turns


@kernel
def choose_opponents(
    game: Any,
    chosen: NDArray[np.int32],
    seeds: Seeds,
    which: Which,
    first: int,
    count: int,
    shares: Shares,
) -> None:
    """Draw the opponents of boards, of `count` numbers from `first` on."""
    for i in range(which.size):
        draw = Stream(seeds, which[i]).random()
        number = int(draw * count)
        if shares.size > 0:
            number = 0
            while draw >= shares[number]:  # the last is 1
                number += 1
        chosen[which[i]] = first + number


@inlined_kernel
def score_on(
    game: Any, state: Any, player: Any, board: int, rewards: NDArray[np.float64], over: Flags
) -> None:
    """Write the learner's reward, and that the game is over, if it is."""
    if game.is_terminal(state):
        rewards[board] = game.outcome(state, player)
        over[board] = True


@kernel
def step_boards(
    game: Any,
    table: GameTable,
    players: Players,
    side: int,
    actions: Actions,
    masks: Masks,
    idle: Flags,
    illegal: Flags,
    seeds: Seeds,
    policy: Any,
    rewards: NDArray[np.float64],
    over: Flags,
) -> int:
    """Play the learner's legal actions, and the policy's answers, on boards that are not idle.

    Each board is also scored, while its state is at hand: 0 and False where its game goes on. How
    many actions were illegal.
    """
    found = 0
    states, keeps_actions = table.states, table.actions.shape[1] > 0
    for board in range(states.size):
        rewards[board] = 0.0
        over[board] = illegal[board] = False
        if idle[board]:
            continue
        action, state = actions[board], states[board]
        if action < 0 or action >= masks.shape[1] or masks[board, action] == 0:
            illegal[board] = True
            found += 1
            continue
        if side == BOTH:
            players[board] = game.to_play(state)
        game.step(state, int(action))
        if keeps_actions:
            table.actions[board, table.lengths[board]] = action
            table.lengths[board] += 1
        answer_on(game, state, int(players[board]), Stream(seeds, board), policy)
        score_on(game, state, players[board], board, rewards, over)
    return found


@kernel
def answer_boards(
    game: Any, states: Any, players: Players, seeds: Seeds, which: Which, policy: Any
) -> None:
    """Let a policy play on boards until it is the learner's turn or the game is over."""
    for i in range(which.size):
        board = which[i]
        answer_on(game, states[board], int(players[board]), Stream(seeds, board), policy)


@kernel
def find_waiting(game: Any, states: Any, players: Players, idle: Flags, waiting: Flags) -> None:
    """Mark the boards, among those that are not idle, on which it is the opponent's turn."""
    for board in range(states.size):
        state = states[board]
        turn = not game.is_terminal(state) and game.to_play(state) != players[board]
        waiting[board] = turn and not idle[board]


@kernel
def score_boards(
    game: Any, states: Any, players: Players, idle: Flags, rewards: NDArray[np.float64], over: Flags
) -> None:
    """Write the learner's rewards and which games are over, for boards that are not idle."""
    for board in range(states.size):
        if not idle[board]:
            score_on(game, states[board], players[board], board, rewards, over)


@kernel
def show_boards(
    game: Any,
    states: Any,
    viewers: Players,
    to_play: bool,
    which: Which,
    out: Any,
    masks: Masks,
    extra: NDArray[np.int8],
) -> None:
    """Write planes, ``(boards, cells, planes)``, and masks, all 1 where a game is over."""
    owners = scratch_array(out.shape[1], np.int8)
    for i in range(which.size):
        state = states[which[i]]
        viewer = game.to_play(state) if to_play else int(viewers[which[i]])
        show_on(game, state, viewer, owners, extra, out[i], masks[i])


@inlined_kernel
def show_on(
    game: Any, state: Any, viewer: int, owners: Any, extra: Any, out: Any, mask: Any
) -> None:
    """Write what is seen of one board; `owners` is scratch space."""
    game.owners(state, owners)
    write_planes(game, state, viewer, owners, extra, out)
    if game.is_terminal(state):
        mask[:] = 1
    else:
        game.legal_mask(state, owners, mask)


@kernel
def show_changes(
    game: Any,
    states: Any,
    viewers: Players,
    actions: Actions,
    earlier: Actions,
    shown: NDArray[np.int64],
    kept: Any,
    rows: Any,
    out: Any,
    masks: Masks,
    extra: NDArray[np.int8],
) -> None:
    """Bring masks and kept planes up to date, by what has changed since they were shown.

    All is written anew where that is not known. A learner on both sides has two views; `out`,
    ``(boards, cells * planes)``, then gets that of the player to move. `actions` are the learner's
    last ones, or `NO_ACTION`, and `earlier` those before. `shown`, ``(2, boards)``, has the plies
    of what is in `kept`, ``(views, boards, cells, planes)``; `rows` is the same memory as
    ``(views, boards, cells * planes)``.
    """
    owners = scratch_array(kept.shape[2], np.int8)
    for board in range(states.size):
        state = states[board]
        viewer, view, own = int(viewers[board]), 0, int(actions[board])
        if kept.shape[0] == 2:
            viewer = view = game.to_play(state)
            own = int(earlier[board])
        plies = int(state.ply) - shown[view, board]
        if plies != 0:
            shown[view, board] = state.ply
            earlier[board] = actions[board]
            other = int(state.last_action)
            are_cells = min(own, other) >= 0 and max(own, other) < kept.shape[2]
            goes_on = plies == 2 and not game.is_terminal(state)
            if goes_on and are_cells and extra.size == 0 and game.adds_stones(state):
                kept[view, board, own, 0] = kept[view, board, other, 1] = 1
                masks[board, own] = masks[board, other] = 0
            else:
                seen, mask = kept[view, board], masks[board]
                show_on(game, state, viewer, owners, extra, seen, mask)
        if kept.shape[0] == 2:
            for i in range(out.shape[1]):
                out[board, i] = rows[view, board, i]


@cache
def compiled_for_boards(function: Callable[..., Any]) -> CompiledFunction:
    """A kernel over boards as machine code; the same for all boards."""
    return CompiledFunction(function, "the boards")
