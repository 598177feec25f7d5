"""Planning over environments: the adapter that makes any PettingZoo AEC environment a game.

The environment needs two agents who act in turn, a `Discrete` action space and an action mask in
the observation or in the infos. Nothing is imported from PettingZoo: only what an environment
offers is used.
"""

import copy
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.environment import (
    UnfitEnvironmentError,
    check_agents,
    clone,
    digest_of,
    is_over,
    is_transparent,
    legal_actions,
    names_of,
    silent_clone,
    snapshot,
)
from agents.search.requirements import check_assume, check_planning
from hexenv.compiled import is_compiled
from hexenv.games.base import new_state, play_randomly

ROUTES: Final = ("auto", "compiled", "interpreted", "environment")

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
    assumed: str | None = None
    """What the search takes as given although it is not so; then it proves nothing."""


def planner_view(env: Any, route: str = "auto", assume: str | None = None) -> View:
    """The game behind an environment, if it may be used, else the environment itself as a game.

    Args:
        env: A PettingZoo AEC environment in the middle of a game.
        route: ``"auto"``: the compiled game where the environment is one of ours and no wrapper
            around it can change moves or rewards, else the environment. ``"compiled"``,
            ``"interpreted"``: the game, as machine code or as Python. ``"environment"``: through
            the environment's own clone and step.
        assume: ``"perfect information"``: plan over an environment that hides something from a
            player, or leaves something to chance, as if its clones showed what everybody knows.
            The view is marked as `assumed` there. None: refuse such an environment.

    Raises:
        UnfitEnvironmentError: If the environment cannot be planned over (see `ForeignGame` and
            `agents.search.requirements.check_planning`).
        ValueError: If the route is unknown or not open to this environment, or it was not reset.
    """
    check_route(route, assume)
    check_agents(env)
    if route == "environment" or (route == "auto" and not is_transparent(env)):
        return _foreign(env, assume)
    if not is_transparent(env):
        raise ValueError(f'route "{route}" is for plain hexenv environments, got {names_of(env)}')
    raw = env.unwrapped
    compiles = is_compiled(raw.game)
    if route == "compiled" and not compiles:
        raise ValueError(f'route "compiled" needs a @compiled game, got {raw.game}')
    return View(raw.game, raw.state, compiles and route != "interpreted", tuple(raw.actions))


def check_route(route: str, assume: str | None = None) -> None:
    """Refuse an unknown route, and what cannot be assumed.

    Raises:
        ValueError: If `planner_view` knows no such route, or no such assumption.
    """
    if route not in ROUTES:
        raise ValueError(f"expected a route of {', '.join(ROUTES)}, got {route!r}")
    check_assume(assume)


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
        UnfitEnvironmentError: If it is of another kind, or has not two agents, or no `Discrete`
            actions from 0.
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
        return int.from_bytes(digest_of(snapshot(state.env)), "little", signed=True)

    def outcome(self, state: ForeignState, player: int) -> int:
        return int(np.sign(state.rewards[player] - state.rewards[1 - player]))


def new_state_of(view: View) -> Any:
    """A state to work in, for the game of a view."""
    return new_state(view.game) if not isinstance(view.root, ForeignState) else copy.copy(view.root)


def _foreign(env: Any, assume: str | None) -> View:
    game = ForeignGame(env)
    assumed = check_planning(env, assume)
    root = env if is_over(env) else silent_clone(env)
    return View(game, ForeignState(root), compiles=False, actions=None, assumed=assumed)
