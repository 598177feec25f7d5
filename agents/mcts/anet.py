"""UCT with a network's moves in its rollouts: the first form of AlphaHex."""

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.background import Watch
from agents.core.options import NonNegative, Share
from agents.mcts.evaluated_search import EvaluatedSearchAgent, EvaluatedWorker
from agents.mcts.rollouts import RolloutEvaluator
from agents.mcts.settings import SearchOptions
from agents.mcts.worker import TreeWorker, WorkerRun
from agents.search.evaluated import (
    mean_reward,
    new_evaluated_extras,
    read_visit_shares,
    take_evaluation,
    visits_and_pending,
    with_evaluation,
)
from agents.search.evaluator import EvaluatorSource
from agents.search.selection import scored_first, sqrt_log
from agents.search.simulation import part
from agents.search.tree import Tree


@part
class EvaluatedUCB1(NamedTuple):
    """`agents.search.selection.UCB1` for searches with an evaluator, whose priors it ignores."""

    c: float = 1.0
    evaluation: NDArray[np.float64] = np.zeros(1)
    """``(num_actions() + 1,)``: the priors and the value of the leaf that is being expanded."""

    tries_all_first = scored_first
    new_extras = new_evaluated_extras
    initialise = take_evaluation
    count_visits = visits_and_pending
    with_memory = with_evaluation
    read_policy = read_visit_shares

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> float:
        return self.c * sqrt_log(tree.visits[node] + tree.extras.pending[node])

    def score(self, tree: Tree, child: int, prepared: float) -> float:
        visits = tree.visits[child] + tree.extras.pending[child]
        if visits == 0:
            return np.inf
        return mean_reward(tree, child, 0.0) + prepared / math.sqrt(visits)

    def add_root_noise(self, tree: Tree, noise: NDArray[np.float64]) -> None:
        """Nothing is done with noise."""


class ANETRolloutMCTS(EvaluatedSearchAgent):
    r"""UCB1 in the tree; below it a policy plays both sides to the end, now and then at random.

    Formula:
        $$\bar x + c \sqrt{\frac{\ln\, N}{n}} \qquad r = (1 - \mu)\, z + \mu\, v$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. The result $r$ of a simulation, -1 to 1, is
        the outcome $z$ of the rollout, mixed by $\mu$, which is `mix`, with the policy's own value
        $v$.

    Args:
        policy: As of `EvaluatedSearchAgent`; it needs no values.
        c: Weight of exploration, for rewards in [0, 1].
        epsilon: Probability of a random move in a rollout, else the policy's most likely one.
        epsilon_decay: Factor on `epsilon` after every move of a game.
        mix: Share of the policy's own value in the reward of a rollout.
        batch: Rollouts that are played together. Where the seconds end before a rollout does, the
            policy's own value takes the place of its outcome.
    """

    name = "anet"

    def __init__(
        self,
        policy: EvaluatorSource,
        simulations: int | None = None,
        seconds: float | None = None,
        c: NonNegative = 1.0,
        epsilon: Share = 0.2,
        epsilon_decay: Share = 1.0,
        mix: Share = 0.0,
        batch: int = 8,
        **options: Unpack[SearchOptions],
    ) -> None:
        self.epsilon, self.epsilon_decay, self.mix = epsilon, epsilon_decay, mix
        self.moves = 0
        self._deadline = math.inf  # of the present search, and the last look at the clock in it
        self._looked = 0.0
        super().__init__(policy, EvaluatedUCB1(c), simulations, seconds, batch, **options)

    def reset(self, seed: int | None = None) -> None:
        super().reset(seed)
        self.moves = 0

    def act(self, env: Any) -> int:
        action = super().act(env)
        self.moves += 1
        return action

    def worker_class(self) -> type[TreeWorker]:
        return RolloutWorker

    def is_over(self) -> bool:
        """Whether another move of the rollouts, which takes as long as the last, would be late.

        A search that is stopped is over at once.
        """
        now = time.perf_counter()
        took, self._looked = now - self._looked, now
        is_stopped = isinstance(self.on_slice, Watch) and self.on_slice.is_stopped()
        return is_stopped or now + took > self._deadline

    def _search(self, runs: Sequence[WorkerRun], started: float) -> int:
        """See `TreeSearchAgent`; a batch of rollouts may take longer than all the time there is."""
        self._deadline = math.inf if self.seconds is None else started + self.seconds
        self._looked = time.perf_counter()
        return super()._search(runs, started)

    def cache_size(self) -> int:
        return 0  # every rollout is another


class RolloutWorker(EvaluatedWorker):
    """See `EvaluatedWorker`; leaves are played out by the policy."""

    can_play_many = False  # rollouts draw from the stream of the search

    def evaluator_of(self, agent: Any) -> RolloutEvaluator:
        epsilon = agent.epsilon * agent.epsilon_decay**agent.moves
        return RolloutEvaluator(agent.evaluator, epsilon, self.rng, agent.mix, agent.is_over)
