"""Planning over environments: the adapter that makes any PettingZoo AEC environment a game.

The environment needs two agents who act in turn, a `Discrete` action space and an action mask in
the observation or in the infos. Nothing is imported from PettingZoo: only what an environment
offers is used.
"""

import copy
import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import is_compiled
from hexenv.games.base import new_state, play_randomly

TRANSPARENT: Final = {
    "hexenv.aec.BoardEnv",
    "hexenv.standard_wrapper.StandardWrapper",
    "pettingzoo.utils.wrappers.assert_out_of_bounds.AssertOutOfBoundsWrapper",
    "pettingzoo.utils.wrappers.capture_stdout.CaptureStdoutWrapper",
    "pettingzoo.utils.wrappers.order_enforcing.OrderEnforcingWrapper",
    "pettingzoo.utils.wrappers.terminate_illegal.TerminateIllegalWrapper",
}
"""Classes that change neither the legal moves nor the rewards of what they wrap."""

ROUTES: Final = ("auto", "compiled", "interpreted", "environment")

SHARED: Final = {"action_spaces", "observation_spaces", "metadata", "possible_agents"}
"""Attributes that describe an environment and never change: its clones share them."""

MAX_PLIES: Final = 100_000
"""How deep a tree over an environment can get: such games have no known longest length."""


class View(NamedTuple):
    """How a planner sees an environment."""

    game: Any
    root: Any
    """The position."""
    compiles: bool
    """Whether game and position may be used by machine code."""
    actions: tuple[int, ...] | None
    """All actions since the environment was reset; None where it does not tell."""


def planner_view(env: Any, route: str = "auto") -> View:
    """The game behind an environment, if it may be used, else the environment itself as a game.

    Args:
        env: A PettingZoo AEC environment in the middle of a game.
        route: ``"auto"``: the compiled game where the environment is one of ours and no wrapper
            around it can change moves or rewards, else the environment. ``"compiled"``,
            ``"interpreted"``: the game, as machine code or as Python. ``"environment"``: through
            the environment's own clone and step.

    Raises:
        ValueError: If the route is unknown or not open to this environment, or the environment
            cannot be planned over (see `ForeignGame`).
    """
    check_route(route)
    if route == "environment" or (route == "auto" and not _is_transparent(env)):
        return View(*_foreign(env), compiles=False, actions=None)
    if not _is_transparent(env):
        raise ValueError(f'route "{route}" is for plain hexenv environments, got {_names(env)}')
    raw = env.unwrapped
    compiles = is_compiled(raw.game)
    if route == "compiled" and not compiles:
        raise ValueError(f'route "compiled" needs a @compiled game, got {raw.game}')
    return View(raw.game, raw.state, compiles and route != "interpreted", tuple(raw.actions))


def check_route(route: str) -> None:
    """Refuse an unknown route.

    Raises:
        ValueError: If `planner_view` knows no such route.
    """
    if route not in ROUTES:
        raise ValueError(f"expected a route of {', '.join(ROUTES)}, got {route!r}")


def _layers(env: Any) -> list[Any]:
    """The environment and what it wraps, from the outside in."""
    layers = [env]
    while "env" in vars(layers[-1]):
        layers.append(layers[-1].env)
    return layers


def _is_transparent(env: Any) -> bool:
    names = [f"{type(layer).__module__}.{type(layer).__qualname__}" for layer in _layers(env)]
    return names[-1] == "hexenv.aec.BoardEnv" and TRANSPARENT.issuperset(names)


def _names(env: Any) -> str:
    return " over ".join(type(layer).__name__ for layer in _layers(env))


# ---- cloning -------------------------------------------------------------------------------------


def clone(env: Any) -> Any:
    """An independent copy of an environment in the middle of a game, wrappers and all.

    An environment's own `clone` is used where its class has one. Otherwise the attributes are
    copied one by one: `copy.deepcopy` of PettingZoo's classic environments builds a new one and
    loses the game. What cannot be copied, such as a window, is shared; `ForeignGame` checks that
    the result is a faithful copy all the same.
    """
    # A wrapper hands attributes on, so only the class tells whether `clone` copies the wrapper too.
    env_class = cast("type[Any]", type(env))
    own_clone: Callable[[Any], Any] | None = getattr(env_class, "clone", None)
    if own_clone is not None:
        return own_clone(env)
    twin: Any = object.__new__(env_class)
    memo: dict[int, Any] = {id(env): twin}
    attributes = cast("dict[str, Any]", vars(env))
    if "env" in attributes:
        inner = attributes["env"]
        layers = zip(_layers(inner), _layers(clone(inner)), strict=True)
        memo.update({id(layer): copied for layer, copied in layers})
    for name, value in attributes.items():
        twin.__dict__[name] = value if name in SHARED else _copied(value, memo)
    return twin


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    if isinstance(value, (int, float, str, bool, type(None))):
        return value
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # whatever a foreign object raises: it will not be copied
        return value


# ---- the adapter ---------------------------------------------------------------------------------


class ForeignState:
    """A position of a foreign environment: the environment itself.

    Attributes:
        env: The environment.
        rewards: What each of the two agents has got since the root.
        legal: The legal actions, once somebody has asked for them.
    """

    def __init__(self, env: Any, rewards: tuple[float, float] = (0.0, 0.0)) -> None:
        self.env = env
        self.rewards = rewards
        self.legal: NDArray[Any] | None = None


class ForeignGame:
    """Any two-agent AEC environment with an action mask, as a game for the interpreted search.

    An agent with more reward at the end than the other has won. Rewards are those of the attribute
    `rewards`: a wrapper that only changes what `last` returns is not seen.

    Args:
        env: An environment after `reset`. It is only looked at and cloned.

    Raises:
        ValueError: If it has not two agents, or no `Discrete` actions from 0, or no mask.
    """

    random_playout = play_randomly

    def __init__(self, env: Any) -> None:
        self.agents: list[Any] = list(env.possible_agents)
        if len(self.agents) != 2:
            raise ValueError(
                f"expected an environment of two agents, got {len(self.agents)}: {self.agents}"
            )
        space = env.action_space(self.agents[0])
        if not hasattr(space, "n") or getattr(space, "start", None) != 0:
            raise ValueError(f"expected a Discrete action space from 0, got {space}")
        self._num_actions = int(space.n)
        self._name = str(env)

    def __repr__(self) -> str:
        return f"the environment {self._name}"

    def num_actions(self) -> int:
        return self._num_actions

    def max_plies(self) -> int:
        return MAX_PLIES

    def copy(self, source: ForeignState, into: ForeignState) -> None:
        into.env = clone(source.env)
        into.rewards = source.rewards
        into.legal = source.legal

    def step(self, state: ForeignState, action: int) -> None:
        state.env.step(action)
        state.legal = None
        gained = state.env.rewards
        first, second = state.rewards
        state.rewards = (
            first + float(gained.get(self.agents[0], 0)),
            second + float(gained.get(self.agents[1], 0)),
        )

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
        """A hash of what the environment shows; see `Game.position_hash`."""
        digest = hashlib.blake2b(digest_size=8)
        for shown in _leaves(_snapshot(state.env)):
            digest.update(shown)
        return int.from_bytes(digest.digest(), "little", signed=True)

    def outcome(self, state: ForeignState, player: int) -> int:
        return int(np.sign(state.rewards[player] - state.rewards[1 - player]))


def is_over(env: Any) -> bool:
    """Whether there is nothing left to choose: the game has ended, or no action is legal."""
    return len(legal_actions(env)) == 0


def legal_actions(env: Any) -> NDArray[Any]:
    """The legal actions of the agent to move, ascending; none when its game is over.

    Raises:
        ValueError: If there is no action mask.
    """
    agent = env.agent_selection if env.agents else None
    if agent is None or env.terminations[agent] or env.truncations[agent]:
        return np.zeros(0, np.int64)
    return np.flatnonzero(action_mask(env))


def action_mask(env: Any) -> NDArray[Any]:
    """``(num_actions,)`` mask of the agent to move, from its observation or its info.

    Where both have one, only what both allow is legal: a wrapper may restrict either.

    Raises:
        ValueError: If there is none.
    """
    observation, _, _, _, info = env.last()
    shown = cast("dict[str, Any]", observation) if isinstance(observation, dict) else {}
    masks = [np.asarray(of["action_mask"]) for of in (shown, info) if "action_mask" in of]
    if len(masks) == 2:
        return np.logical_and(*masks)
    if masks:
        return masks[0]
    raise ValueError(f"expected an action_mask in the observation or the info of {_names(env)}")


def new_state_of(view: View) -> Any:
    """A state to work in, for the game of a view."""
    return new_state(view.game) if not isinstance(view.root, ForeignState) else copy.copy(view.root)


def _foreign(env: Any) -> tuple[ForeignGame, ForeignState]:
    game = ForeignGame(env)
    if is_over(env):
        return game, ForeignState(env)
    _check_clone(env)
    return game, ForeignState(_silent_clone(env))


def _silent_clone(env: Any) -> Any:
    """A clone that draws nothing: nobody wants to see, or wait for, what is only thought."""
    twin = clone(env)
    if hasattr(twin.unwrapped, "render_mode"):
        twin.unwrapped.render_mode = None
    return twin


def _check_clone(env: Any) -> None:
    """Play one action on a clone, twice: the same must follow, and nothing in the original.

    Raises:
        ValueError: If the environment's clones are not faithful, with what to do about it.
    """
    before = _snapshot(env)
    action = int(legal_actions(env)[0])
    try:
        twins = _silent_clone(env), _silent_clone(env)
        copied = all(_same(_snapshot(twin), before) for twin in twins)
        for twin in twins:
            twin.step(action)
        after = [_snapshot(twin) for twin in twins]
    except Exception as error:
        raise ValueError(f"{_cannot_clone(env)}: a clone raised {error!r}") from error
    if not copied:
        raise ValueError(f"{_cannot_clone(env)}: a clone does not show the same position")
    if not _same(*after):
        raise ValueError(f"{_cannot_clone(env)}: one action leads two clones to two positions")
    if not _same(_snapshot(env), before):
        raise ValueError(f"{_cannot_clone(env)}: a step of a clone changed the original")


def _cannot_clone(env: Any) -> str:
    return (
        f"expected an environment that can be cloned, got {_names(env)} "
        "(give its class a method clone() that returns an independent copy)"
    )


def _snapshot(env: Any) -> list[Any]:
    """What an environment shows: who is to move, whether it is over, and all observations."""
    shown: list[Any] = [env.agent_selection, dict(env.terminations), dict(env.rewards)]
    return shown + [env.observe(agent) for agent in env.agents]


def _leaves(shown: Any) -> Iterator[bytes]:
    """The bytes of all that a snapshot holds, in order."""
    if isinstance(shown, dict):
        for key, value in cast("dict[Any, Any]", shown).items():
            yield repr(key).encode()
            yield from _leaves(value)
    elif isinstance(shown, list):
        for value in cast("list[Any]", shown):
            yield from _leaves(value)
    elif isinstance(shown, np.ndarray):
        yield cast("NDArray[Any]", shown).tobytes()
    else:
        yield repr(shown).encode()


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        pairs = cast("dict[Any, Any]", one)
        return list(pairs) == list(other) and all(_same(pairs[key], other[key]) for key in pairs)
    if isinstance(one, list):
        items = cast("list[Any]", one)
        return len(items) == len(other) and all(map(_same, items, other))
    return bool(np.array_equal(one, other))
