"""Move counts: how many sequences of a number of plies there are, the usual test of rules."""

from typing import Annotated, Any

import numpy as np

from hexenv.common.options import NO_BOUND, AtLeastOne, Within, checks_options
from hexenv.compiled import CompiledFunction
from hexenv.games import base
from hexenv.games.base import Game, State


@checks_options
def perft(game: Game, depth: Annotated[int, Within(0, NO_BOUND)]) -> int:
    """How many sequences of exactly `depth` legal actions, 0 or more, lead from the start.

    Games that are over before do not count. (The name is the one chess programs give it.)
    """
    base.expect_game(game)
    return _count_paths(game, base.new_state(game), depth)


@checks_options
def perft_by_move(game: Game, depth: AtLeastOne) -> dict[str, int]:
    """The count of `perft` split by the first move: where two programs differ, go down there."""
    base.expect_game(game)
    found: dict[str, int] = {}
    for action in base.legal_actions(game, base.new_state(game)):
        state = base.new_state(game)
        game.step(state, action)
        found[game.action_text(action)] = _count_paths(game, state, depth - 1)
    return found


def _count_paths(game: Game, state: State, depth: int) -> int:
    if depth == 0:
        return 1
    states = base.new_states(game, depth)
    game.copy(state, states[0])
    legal = np.empty((depth, game.num_actions()), np.int32)
    waiting = np.empty(depth, np.int64)
    run = _compiled_count.fitting(game)
    return int(run(game, states, legal, waiting))


def count_paths(game: Any, states: Any, legal: Any, waiting: Any) -> int:
    """Kernel: the paths of as many plies as there are states, from the first of these on.

    The recursion over positions is a stack of states, for compiled code; `waiting` says how many of
    the `legal` actions of each are still to be tried, backwards.
    """
    deepest = len(states) - 1
    paths = 0
    level = 0
    waiting[0] = game.legal_actions(states[0], legal[0])
    while level >= 0:
        if level == deepest:
            paths += waiting[level]  # every legal action ends a path
            level -= 1
        elif waiting[level] == 0:
            level -= 1
        else:
            waiting[level] -= 1
            action = int(legal[level, waiting[level]])
            game.copy(states[level], states[level + 1])
            level += 1
            game.step(states[level], action)
            waiting[level] = game.legal_actions(states[level], legal[level])
    return paths


_compiled_count = CompiledFunction(count_paths, "perft")
