"""Environments of one player, or of three and more, as games for the search.

With two players the reward of one is the loss of the other, so that a search keeps one number for
both. Here each player has a *return*: the sum of the rewards from a ply on, discounted by a factor
a ply. The value of a node is the mean return of the player who chose it: everybody seeks the best
for themselves (max-n: Luckhardt and Irani 1986; in Monte-Carlo tree search: Sturtevant 2008).

Returns may have any size. A search scales them to [0, 1], between the lowest and the highest one
that it has seen (Schrittwieser et al. 2020, appendix B).

A node stands for the actions that lead to it. Where the environment leaves something to chance, its
value is a mean over what may happen (open loop: Perez Liebana et al. 2015).
"""

from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from agents.planning.clones import clone, silent_clone
from agents.planning.environment import View, is_over
from agents.planning.foreign import NO_ACTIONS, ForeignGame, ForeignState, without_guards
from agents.planning.one_agent import OneAgentEnv
from agents.planning.requirements import check_planning
from agents.search.reward import MeanBackup
from agents.search.simulation import Simulation, no_initialise, no_memory, no_pruning
from agents.search.tree import Tree
from agents.search.variant import Variant

LONGEST: Final = 1_000
"""Plies from the root at which a simulation ends, as if the game were over."""


class ReturnsState(ForeignState):
    """A position, and what each player has got at every ply since the root."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.gains: list[tuple[float, ...]] = []


class ReturnsGame(ForeignGame):
    """An AEC environment with any number of agents who act in turn, as a game.

    Args:
        env: The environment.
        discount: Of the rewards, a ply.
    """

    number_of_agents = None
    knows_positions = False

    def __init__(self, env: Any, discount: float) -> None:
        super().__init__(env)
        gains = np.zeros((LONGEST, len(self.agents)))
        bounds = np.array([np.inf, -np.inf])
        self.backup = ReturnBackup(discount, gains, np.zeros(1, np.int64), bounds)

    def fitted(self, variant: Variant) -> Variant:
        """The variant with this game's backup.

        Raises:
            ValueError: If a part of it is for two players.
        """
        parts = variant.selection, variant.playout, variant.reward
        own = [part for part in parts if cast("Any", type(part)).with_memory is not no_memory]
        if variant.selection.new_extras(1) != ():
            own.insert(0, variant.selection)
        if not isinstance(variant.backup, MeanBackup):
            raise ValueError(f"expected the backup of means in {self}, got {variant.backup}")
        if own:
            raise ValueError(
                f"expected uct or flat in {self}, which is not for two players, "
                f"got {type(own[0]).__name__}, which learns from simulations of two"
            )
        return variant._replace(backup=self.backup)

    def max_plies(self) -> int:
        return LONGEST

    def root_state(self, env: Any) -> ReturnsState:
        return ReturnsState(env)

    def copy(self, source: Any, into: Any) -> None:
        into.own, into.legal = clone(source.own), source.legal
        into.gains = source.gains.copy()

    def step(self, state: Any, action: int) -> None:
        state.legal, env = None, state.own
        env.step(action)
        self.steps += 1
        gains = self._rewards(env)
        while _is_out(env) and any(not _is_out(env, agent) for agent in env.agents):
            env.step(None)  # PettingZoo asks this of an agent that is out while others play on
            gains += self._rewards(env)
        state.gains.append(tuple(gains.tolist()))

    def _rewards(self, env: Any) -> NDArray[np.float64]:
        return np.array([float(env.rewards.get(agent, 0)) for agent in self.agents])

    def legal(self, state: Any) -> NDArray[Any]:
        return super().legal(state) if len(state.gains) < LONGEST else NO_ACTIONS

    def final_score(self, state: Any, player: int) -> float:
        """Hand the rewards of a simulation to the backup; there is no other score."""
        length = self.backup.length[0] = len(state.gains)
        self.backup.gains[:length] = np.reshape(state.gains, (length, len(self.agents)))
        return 0.0


def _is_out(env: Any, agent: Any = None) -> bool:
    """Whether an agent, or the one to move, has come to its end."""
    agent = env.agent_selection if agent is None else agent
    return agent in env.agents and (env.terminations[agent] or env.truncations[agent])


def returns_view(env: Any, assume: str | None, discount: float) -> View:
    """An environment of one agent, or of three and more, as a game to plan in.

    One agent may meet chance, but the environment must hide nothing: a search knows what a copy
    knows.
    """
    game = ReturnsGame(env, discount)
    assumed = None
    if isinstance(env, OneAgentEnv):
        env.check_clones()
    else:
        assumed = check_planning(env, assume)
    root = env if is_over(env) else silent_clone(without_guards(env))
    return View(game, game.root_state(root), compiles=False, actions=None, assumed=assumed)


class KeptReturns(NamedTuple):
    """What `ReturnBackup` keeps for each node."""

    mean: NDArray[np.float64]
    """``(N,)``: the mean return of the player who chose it, from its action on."""


class ReturnBackup(NamedTuple):
    """The value of a node is its mean return, scaled to [0, 1].

    Parts that learn from simulations are not for such games: what they have learnt would be on the
    scales of earlier simulations.
    """

    discount: float
    gains: NDArray[np.float64]
    """``(LONGEST, players)``: the rewards of the last simulation, ply by ply."""
    length: NDArray[np.int64]
    """``(1,)``: its plies, from the root."""
    bounds: NDArray[np.float64]
    """``(2,)``: the lowest and the highest return so far."""

    prunes = no_pruning
    initialise = no_initialise
    with_memory = no_memory

    def new_extras(self, max_nodes: int) -> KeptReturns:
        return KeptReturns(np.zeros(max_nodes))

    def revise(self, tree: Tree, simulation: Simulation, exact: bool) -> None:
        means, depth = tree.backed_up.mean, int(simulation.depth[0])
        returns = np.zeros(depth)
        to_go = np.zeros(self.gains.shape[1])
        for ply in range(int(self.length[0]) - 1, -1, -1):
            to_go = self.gains[ply] + self.discount * to_go
            if ply < depth:
                node, returns[ply] = simulation.path[ply], to_go[simulation.players[ply]]
                if tree.visits[node] == 1:
                    means[node] = 0.0  # the place may have been another node's
                means[node] += (returns[ply] - means[node]) / tree.visits[node]
        if depth == 0:
            return
        low, high = self.bounds
        self.bounds[:] = min(low, returns.min()), max(high, returns.max())
        nodes: Any = simulation.path[:depth]
        if (low, high) != tuple(self.bounds):  # all values are on another scale now
            nodes = np.flatnonzero(tree.visits[: tree.node_count[0]])
        tree.value[nodes] = self.scaled(means[nodes])

    def scaled(self, returns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns as values from 0 to 1."""
        low, high = self.bounds
        return (returns - low) / (high - low) if high > low else np.full(len(returns), 0.5)
