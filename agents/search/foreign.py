"""Planning over environments: the adapter that makes any PettingZoo AEC environment a game.

The environment needs two agents who act in turn, a `Discrete` action space and an action mask in
the observation or in the infos. Nothing is imported from PettingZoo: only what an environment
offers is used.
"""

import copy
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agents.search.cloning import clone, digest_of, silent_clone, snapshot
from agents.search.environment import (
    UnfitEnvironmentError,
    View,
    check_agents,
    is_over,
    legal_actions,
)
from agents.search.requirements import check_planning
from hexenv.games.base import play_randomly

MAX_PLIES: Final = 100_000
"""How deep a tree over an environment can get: such games have no known longest length."""


def foreign_view(env: Any, assume: str | None) -> View:
    """An environment as a game; see `agents.search.environment.planner_view`.

    Raises:
        UnfitEnvironmentError: If it cannot be planned over.
    """
    game = ForeignGame(env)
    assumed = check_planning(env, assume)
    root = env if is_over(env) else silent_clone(env)
    return View(game, ForeignState(root), compiles=False, actions=None, assumed=assumed)


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

    def new_state(self, root: ForeignState) -> ForeignState:
        return copy.copy(root)

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
