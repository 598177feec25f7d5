"""Environments of others as games: copies of them, what they show, and the game around them.

An environment needs two agents who act in turn, a `Discrete` action space and an action mask in the
observation or in the infos. `agents.search.requirements` says whether a search over its clones is
fair.
"""

import copy
import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agents.search.environment import (
    UnfitEnvironmentError,
    check_agents,
    layers_of,
    legal_actions,
)
from hexenv.games.base import play_randomly

MAX_PLIES: Final = 100_000
"""How deep a tree over an environment can get: such games have no known longest length."""
SHARED: Final = {"action_spaces", "observation_spaces", "metadata", "possible_agents"}
"""Attributes that describe an environment and never change: its clones share them."""


def clone(env: Any) -> Any:
    """An independent copy of an environment in the middle of a game, wrappers and all.

    Where its class has no `clone` of its own, the attributes are copied one by one: `copy.deepcopy`
    of PettingZoo's classic environments builds a new one and loses the game. What cannot be copied,
    such as a window, is shared; `check_clone` sees whether the copy is faithful all the same.
    """
    own_clone = own_clone_of(env)
    return _attribute_copy(env) if own_clone is None else own_clone(env)


def own_clone_of(env: Any) -> Callable[[Any], Any] | None:
    """The method `clone` of an environment's class, if it has one."""
    # A wrapper forwards attributes: only a `clone` of its own class copies the wrapper too.
    return getattr(cast("type[Any]", type(env)), "clone", None)


def independent_copy(env: Any) -> Any:
    """A copy that may be reset; None if there is no safe one.

    A class's own `clone` may share arrays that a step replaces but a reset overwrites.
    """
    methods = map(own_clone_of, layers_of(env))
    if all(method is None or method.__module__.startswith("hexenv.") for method in methods):
        return silent_clone(env)
    try:
        return silenced(_attribute_copy(env, in_full=True))
    except Exception:  # whatever a foreign object raises: it will not be copied
        return None


def _attribute_copy(env: Any, in_full: bool = False) -> Any:
    """A copy, attribute by attribute; `in_full` it shares nothing, and uses no method `clone`."""
    twin: Any = object.__new__(cast("type[Any]", type(env)))
    memo: dict[int, Any] = {id(env): twin}
    attributes = cast("dict[str, Any]", vars(env))
    if "env" in attributes:
        inner = attributes["env"]
        copied = _attribute_copy(inner, in_full) if in_full else clone(inner)
        memo |= zip(map(id, layers_of(inner)), layers_of(copied), strict=True)
    copy_of = copy.deepcopy if in_full else _copied
    for name, value in attributes.items():
        twin.__dict__[name] = value if name in SHARED else copy_of(value, memo)
    return twin


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    if isinstance(value, (int, float, str, bool, type(None))):
        return value
    try:
        if hasattr(value, "agent_iter") and id(value) not in memo:  # an environment within it
            memo[id(value)] = clone(value)
        return copy.deepcopy(value, memo)
    except Exception:  # whatever a foreign object raises: it will not be copied
        return value


def silent_clone(env: Any) -> Any:
    """A clone that draws nothing: a search must not open windows or wait for them."""
    return silenced(clone(env))


def silenced(env: Any) -> Any:
    """The environment, whose rendering is off from now on."""
    if hasattr(env.unwrapped, "render_mode"):
        env.unwrapped.render_mode = None
    return env


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


class ForeignState:
    """A position of a foreign environment: the environment itself."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.rewards = (0.0, 0.0)  # what each of the two agents has got since the root
        self.legal: NDArray[Any] | None = None  # until they are asked for


class ForeignGame:
    """Any two-agent AEC environment with an action mask, as a game for the interpreted search.

    An agent with more reward at the end than the other has won. Rewards are those of the attribute
    `rewards`: a wrapper that only changes what `last` returns is not seen. The environment, after
    `reset`, is only looked at and cloned.

    Raises:
        UnfitEnvironmentError: If it has not two agents who act in turn, or no `Discrete` actions
            from 0.
    """

    random_playout = play_randomly

    def __init__(self, env: Any) -> None:
        check_agents(env)
        self.agents: list[Any] = list(env.possible_agents)
        if len(self.agents) != 2:
            raise UnfitEnvironmentError(
                f"expected an environment of two agents, got {len(self.agents)}: {self.agents}"
            )
        space = env.action_space(self.agents[0])
        if not hasattr(space, "n") or getattr(space, "start", None) != 0:
            raise UnfitEnvironmentError(f"expected a Discrete action space from 0, got {space}")
        self._num_actions = int(space.n)
        self._name = str(env)

    def __repr__(self) -> str:
        return f"the environment {self._name}"

    def num_actions(self) -> int:
        return self._num_actions

    def max_plies(self) -> int:
        return MAX_PLIES

    def new_state(self, root: ForeignState) -> ForeignState:
        return copy.copy(root)

    def copy(self, source: ForeignState, into: ForeignState) -> None:
        into.env = clone(source.env)
        into.rewards = source.rewards
        into.legal = source.legal

    def step(self, state: ForeignState, action: int) -> None:
        state.env.step(action)
        state.legal = None
        gained = [float(state.env.rewards.get(agent, 0)) for agent in self.agents]
        state.rewards = (state.rewards[0] + gained[0], state.rewards[1] + gained[1])

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
        if state.legal is None:
            state.legal = legal_actions(state.env)
        return state.legal

    def to_play(self, state: ForeignState) -> int:
        return self.agents.index(state.env.agent_selection)

    def position_hash(self, state: ForeignState) -> int:
        return int.from_bytes(digest_of(snapshot(state.env)), "little", signed=True)

    def outcome(self, state: ForeignState, player: int) -> int:
        return int(np.sign(state.rewards[player] - state.rewards[1 - player]))
