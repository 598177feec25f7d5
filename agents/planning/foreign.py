"""Environments of others as games: what they show, and the game around them.

An environment needs two agents who act in turn, a `Discrete` action space and an action mask in the
observation or in the infos. `agents.planning.requirements` says whether a search over its clones is
fair.
"""

import copy
import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agents.planning.clones import bytes_of, clone
from agents.planning.environment import (
    UnfitEnvironmentError,
    check_agents,
    class_name,
    legal_actions,
)

MAX_PLIES: Final = 10_000
"""After so many plies from its root a search takes a game for one that never ends."""
MOST_PLACES: Final = 2_000
"""How many positions, the ones that a search comes to first, it keeps environments of."""
MOST_BYTES: Final = 1 << 26
"""How much memory these environments take at most, by the size of the first."""
NO_ACTIONS: Final = np.zeros(0, np.int64)

PASSIVE: Final = {
    "pettingzoo.utils.wrappers.assert_out_of_bounds.AssertOutOfBoundsWrapper": {"env"},
    "pettingzoo.utils.wrappers.order_enforcing.OrderEnforcingWrapper": {
        *("env", "_has_reset", "_has_updated"),
    },
    "pettingzoo.utils.wrappers.terminate_illegal.TerminateIllegalWrapper": {
        *("env", "_illegal_value", "_prev_obs", "_prev_info", "_terminated"),
    },
}
"""Wrappers that only watch over the order of calls and over illegal actions: their attributes."""

MASKS: Final[dict[str, Callable[[Any], Any]]] = {
    "pettingzoo.classic.connect_four.connect_four.raw_env": lambda env: env._legal_moves(),
    "pettingzoo.classic.go.go.raw_env": lambda env: env.next_legal_moves,
    "pettingzoo.classic.tictactoe.tictactoe.raw_env": lambda env: env.board.legal_moves(),
}
"""What environments make their masks of; random playouts then need no observations."""


def without_guards(env: Any) -> Any:
    """An environment in play without outer wrappers that change nothing where all moves are legal.

    A search plays only legal actions, and asks in order. A wrapper with an attribute of a user's
    stays, and so does one over an environment that has its own `last`.
    """
    kind = cast("type[Any]", type(env))
    attributes = cast("dict[str, Any]", vars(env))
    if not attributes.keys() <= PASSIVE.get(class_name(kind), set()):
        return env
    has_own_last = cast("type[Any]", type(env.env)).last is not kind.last
    return env if has_own_last else without_guards(env.env)


def snapshot(env: Any) -> list[Any]:
    """What an environment shows: who is to move, whether it is over, and all observations."""
    shown: list[Any] = [env.agent_selection, dict(env.terminations), dict(env.rewards)]
    return shown + [env.observe(agent) for agent in env.agents]


def digest_of(shown: Any) -> bytes:
    """A hash of what is shown: equal for what looks the same."""
    digest = hashlib.blake2b(digest_size=8)
    for leaf in leaves(shown):
        digest.update(leaf)
    return digest.digest()


def leaves(shown: Any) -> Iterator[bytes]:
    """The bytes of all that a snapshot holds, in order."""
    if isinstance(shown, np.ndarray):
        array = cast("NDArray[Any]", shown)
        if not array.dtype.hasobject:
            yield array.tobytes()
            return
        shown = array.tolist()  # its bytes are addresses
    if isinstance(shown, dict):
        for key, value in cast("dict[Any, Any]", shown).items():
            yield repr(key).encode()
            yield from leaves(value)
    elif isinstance(shown, (list, tuple)):
        for value in cast("list[Any]", shown):
            yield from leaves(value)
    else:
        yield repr(shown).encode()


def same(one: Any, other: Any) -> bool:
    """Whether two snapshots hold the same."""
    if isinstance(one, dict):
        pairs = cast("dict[Any, Any]", one)
        return list(pairs) == list(other) and all(same(pairs[key], other[key]) for key in pairs)
    if isinstance(one, (list, tuple)):
        items = cast("list[Any]", one)
        return len(items) == len(other) and all(map(same, items, other))
    return bool(np.array_equal(one, other)) or list(leaves(one)) == list(leaves(other))  # NaN


# ---- the game ------------------------------------------------------------------------------------


class Place:
    """A position that a search remembers: an environment that stays as it is, and what it shows."""

    __slots__ = ("_action", "_env", "after", "legal", "mover", "rewards")

    def __init__(self, env: Any, action: int | None, rewards: tuple[float, float]) -> None:
        self._env = env
        self._action = action  # that is still to be played in the environment, once it is needed
        self.rewards = rewards
        self.legal: NDArray[Any] | None = None  # until they are asked for
        self.mover: int | None = None  # likewise
        self.after: dict[int, Place] = {}

    @property
    def env(self) -> Any:
        if self._action is not None:
            env = clone(self._env)
            env.step(self._action)
            self.keep(env)
        return self._env

    def keep(self, env: Any) -> None:
        """Take over an environment that has come here."""
        self._env, self._action = env, None

    def __reduce__(self) -> tuple[Any, ...]:  # alone: what is below it can be played again
        return Place, (self.env, None, self.rewards)


class ForeignState:
    """A position of a foreign environment: an environment of its own, a place, or both.

    Args:
        env: An environment, which steps of the state are played in.
    """

    def __init__(self, env: Any) -> None:
        self.own = env
        self.place: Place | None = None
        self.rewards = (0.0, 0.0)  # what each of the two agents has got since the root
        self.legal: NDArray[Any] | None = None  # until they are asked for; those of a place first
        self.plies = 0  # since the root

    @property
    def env(self) -> Any:
        """The environment, to be looked at."""
        return self.own if self.place is None or self.own is not None else self.place.env


class ForeignGame:
    """Any two-agent AEC environment with an action mask, as a game for the interpreted search.

    An agent with more reward at the end than the other has won. Rewards are those of the attribute
    `rewards`: a wrapper that only changes what `last` returns is not seen. The environment, after
    `reset`, is only looked at and cloned.

    Below a root (`root_state`) it remembers positions: the first action of a simulation that
    leaves them leads to a new one. A simulation then clones one environment, at the last position
    known, and plays from there.

    Raises:
        UnfitEnvironmentError: If it has not two agents who act in turn, or no `Discrete` actions
            from 0.
    """

    number_of_agents: int | None = 2
    knows_positions: bool = True  # whether a search can find out what has been played since

    def __init__(self, env: Any) -> None:
        check_agents(env)
        self.agents: list[Any] = list(env.possible_agents)
        if self.number_of_agents not in (None, len(self.agents)):
            raise UnfitEnvironmentError(
                f"expected an environment of two agents, got {len(self.agents)}: {self.agents}"
            )
        space = env.action_space(self.agents[0])
        if not hasattr(space, "n") or getattr(space, "start", None) != 0:
            raise UnfitEnvironmentError(f"expected a Discrete action space from 0, got {space}")
        self._num_actions = int(space.n)
        self._name = str(env)
        self.steps = 0  # of environments, so far
        self._room = 0
        self._mask_of: str | None = None  # one of `MASKS`, as long as it is right

    def __repr__(self) -> str:
        return f"the environment {self._name}"

    def num_actions(self) -> int:
        return self._num_actions

    def max_plies(self) -> int:
        return MAX_PLIES + 1  # a move is recorded before it is refused

    def root_state(self, env: Any) -> ForeignState:
        """The position of an environment that nobody will step, below which others are kept."""
        root = ForeignState(None)
        root.place = Place(env, None, root.rewards)
        self._room = min(MOST_PLACES, MOST_BYTES // bytes_of(env))
        name = class_name(cast("type[Any]", type(env)))
        self._mask_of = name if name in MASKS and "observe" not in vars(env) else None
        self.legal(root)
        return root

    def new_state(self, root: ForeignState) -> ForeignState:
        return copy.copy(root)

    def copy(self, source: ForeignState, into: ForeignState) -> None:
        for state in (source, into):
            if state.place is not None and state.own is not None:  # it need not be made again
                state.place.keep(state.own)
                state.own = None
        into.place = source.place
        into.own = clone(source.own) if source.place is None else None
        into.rewards = source.rewards
        into.legal = source.legal
        into.plies = source.plies

    def step(self, state: ForeignState, action: int) -> None:
        place = state.place
        state.plies += 1
        if state.plies > MAX_PLIES:
            expected = f"games that end, within {MAX_PLIES} plies from where an agent searches"
            raise UnfitEnvironmentError(f"expected {expected}; got one of {self} that goes on")
        if place is not None and state.own is None:
            known = place.after.get(action)
            if known is not None:
                state.place, state.rewards = known, known.rewards
                return
            state.own = clone(place.env)
        else:
            place = None
        state.place, state.legal = None, None
        state.own.step(action)
        self.steps += 1
        rewards, (first, second) = state.own.rewards, self.agents
        one, other = float(rewards.get(first, 0)), float(rewards.get(second, 0))
        state.rewards = (state.rewards[0] + one, state.rewards[1] + other)
        if place is not None and self._room:
            self._room -= 1
            state.place = place.after[action] = Place(place.env, action, state.rewards)

    def legal_actions(self, state: ForeignState, out: NDArray[np.int32]) -> int:
        actions = self.legal(state)
        out[: len(actions)] = actions
        return len(actions)

    def next_actions(
        self, state: ForeignState, actions: NDArray[np.int32], count: int, played: int
    ) -> int:
        return self.legal_actions(state, actions)

    def cell_of(self, state: ForeignState, action: int) -> int:
        return action

    def num_cells(self) -> int:
        return self._num_actions

    def is_terminal(self, state: ForeignState) -> bool:
        return len(self.legal(state)) == 0

    def legal(self, state: ForeignState) -> NDArray[Any]:
        """The legal actions, ascending."""
        place = state.place
        if place is None:
            if state.legal is None:
                state.legal = self._playout_actions(state.own)
            return state.legal
        if place.legal is None:
            place.legal = legal_actions(state.env)
            if len(place.legal) > 0 and not self._agrees(state.env, place.legal):
                self._mask_of = None
        return place.legal

    def _playout_actions(self, env: Any) -> NDArray[Any]:
        """The legal actions where nothing else is looked at, without an observation if possible."""
        if self._mask_of is None:
            return legal_actions(env)
        agent = env.agent_selection
        if not env.agents or env.terminations[agent] or env.truncations[agent]:
            return NO_ACTIONS
        return MASKS[self._mask_of](env)

    def _agrees(self, env: Any, legal: NDArray[Any]) -> bool:
        """Whether one of `MASKS` gives what is observed, as every position of the tree tells."""
        with suppress(Exception):  # of another version of the environment
            return self._mask_of is None or legal.tolist() == list(MASKS[self._mask_of](env))
        return False

    def to_play(self, state: ForeignState) -> int:
        place = state.place
        if place is None:
            return self.agents.index(state.own.agent_selection)
        if place.mover is None:
            place.mover = self.agents.index(state.env.agent_selection)
        return place.mover

    def position_hash(self, state: ForeignState) -> int:
        return int.from_bytes(digest_of(snapshot(state.env)), "little", signed=True)

    def outcome(self, state: ForeignState, player: int) -> int:
        return int(np.sign(state.rewards[player] - state.rewards[1 - player]))

    def random_playout(
        self, state: ForeignState, rng: np.random.Generator, buffer: NDArray[np.int32]
    ) -> None:
        """One draw a ply over the ascending actions, as `hexenv.games.base.play_randomly`."""
        while len(legal := self.legal(state)):
            self.step(state, int(legal[int(rng.random() * len(legal))]))


# ---- how fast it is ------------------------------------------------------------------------------

LONG: Final = 1.0
"""Seconds of a search after which its user is told what the environment allows."""
_told: Final[set[str]] = set()


def tell_rate(game: ForeignGame, env: Any, simulations: int, seconds: float) -> None:
    """Say on stderr, once for a class of environments, how fast a search was, if it took long.

    Args:
        game: The game that was searched.
        env: The environment at its root, to be looked at.
        simulations: How many the search ran.
        seconds: What it took.
    """
    name = class_name(cast("type[Any]", type(env.unwrapped)))
    if seconds < LONG or name in _told or simulations == 0:
        return
    _told.add(name)
    costs: list[list[float]] = []
    for _ in range(3):
        times = [time.perf_counter()]
        twin = clone(env)
        times.append(time.perf_counter())
        action = int(legal_actions(twin)[0])
        times.append(time.perf_counter())
        twin.step(action)
        times.append(time.perf_counter())
        costs.append([1000 * (end - start) for start, end in pairwise(times)])
    copying, looking, stepping = map(min, zip(*costs, strict=True))
    rate = simulations / seconds
    line = (
        f"hexenv: {env} allows {rate:,.{0 if rate >= 10 else 1}f} simulations a second: each has "
        f"{game.steps / simulations:.0f} steps of {stepping:.2g} ms; to observe takes "
        f"{looking:.2g} ms, to copy {copying:.2g} ms"
    )
    with suppress(OSError, ValueError):  # it may be closed
        print(line, file=sys.stderr, flush=True)
