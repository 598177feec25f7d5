"""Compiled opponents and their random streams.

A policy is a small value whose method `answer` chooses an action in a position.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled, kernel, scratch_array
from hexenv.games.base import NO_ACTION, Game, State, new_states, random_action

BITS_LEFT_OUT: Final = np.uint64(11)
SHIFTS: Final = (np.uint64(13), np.uint64(7), np.uint64(17))
UNIT: Final = 2.0**-53


@compiled
class Stream(NamedTuple):
    """One of many random streams in an array: xorshift64 (Marsaglia 2003).

    NumPy's generators cannot be elements of an array. Every board of a batch has its own stream, so
    that it plays the same games alone and beside others.
    """

    seeds: NDArray[np.uint64]
    """``(N,)``, not 0: the states of all streams."""
    number: int
    """The index of this stream."""

    def random(self) -> float:
        """A draw from [0, 1) with 53 random bits."""
        bits = self.seeds[self.number]
        bits ^= bits << SHIFTS[0]
        bits ^= bits >> SHIFTS[1]
        bits ^= bits << SHIFTS[2]
        self.seeds[self.number] = bits
        return float(bits >> BITS_LEFT_OUT) * UNIT


def new_seed(rng: np.random.Generator) -> np.uint64:
    """The first state of a stream, drawn from a generator."""
    return np.uint64(rng.integers(1, 2**64 - 1, dtype=np.uint64))


@compiled
class Nobody(NamedTuple):
    """In the place of a policy, where compiled code is not to answer."""

    no_field: int = 0  # as compiled tuples need one
    answers = False

    def answer(self, game: Any, state: State, rng: Any) -> int:
        return NO_ACTION


@compiled
class RandomPolicy(NamedTuple):
    """Plays a uniformly random legal action."""

    answers = True
    actions: NDArray[np.int32]
    """``(num_actions(),)``: scratch space."""

    def answer(self, game: Any, state: State, rng: Any) -> int:
        return random_action(game, state, rng, self.actions)


@compiled
class GreedyPolicy(NamedTuple):
    """Plays `greedy_action`."""

    answers = True
    scratch: Any
    """``(2,)`` states."""

    def answer(self, game: Any, state: State, rng: Any) -> int:
        return greedy_action(game, state, self.scratch[0], self.scratch[1], rng)


def new_policy(name: str, game: Game) -> Any:
    """The policy of a name of `POLICIES`, with its scratch space."""
    if name == "random":
        return RandomPolicy(np.zeros(game.num_actions(), np.int32))
    return GreedyPolicy(new_states(game, 2))


POLICIES: Final = ("random", "greedy")


@kernel
def greedy_action(game: Any, root: Any, state: Any, reply: Any, rng: Any) -> int:
    """A winning action, else a random one that does not lose at once or to a reply, else any.

    `root` is not changed; `state` and `reply` are scratch space.
    """
    player = game.to_play(root)
    actions = scratch_array(game.num_actions(), np.int32)
    replies = scratch_array(game.num_actions(), np.int32)
    count = game.legal_actions(root, actions)
    for i in range(count):
        game.copy(root, state)
        game.step(state, int(actions[i]))
        if game.is_terminal(state) and game.outcome(state, player) > 0:
            return int(actions[i])
    first = int(actions[int(rng.random() * count)])
    while count > 0:
        pick = int(rng.random() * count)
        action = int(actions[pick])
        game.copy(root, state)
        game.step(state, action)
        is_safe = not (game.is_terminal(state) and game.outcome(state, player) < 0)
        for j in range(game.legal_actions(state, replies)):
            game.copy(state, reply)
            game.step(reply, int(replies[j]))
            if game.is_terminal(reply) and game.outcome(reply, player) < 0:
                is_safe = False
                break
        if is_safe:
            return action
        count -= 1
        actions[pick] = actions[count]
    return first
