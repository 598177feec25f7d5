"""PUCT: a search that a learned policy leads."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import Statistics
from agents.core.options import NonNegative, Share
from agents.core.temperature import draw_action
from agents.mcts.evaluated_search import EvaluatedSearchAgent
from agents.mcts.settings import SearchOptions
from agents.planning.environment import View
from agents.search.evaluated import (
    mean_reward,
    new_evaluated_extras,
    read_visit_shares,
    take_evaluation,
    visits_and_pending,
    with_evaluation,
)
from agents.search.evaluator import EvaluatorSource
from agents.search.roots import root_actions
from agents.search.selection import scored_first
from agents.search.simulation import part
from agents.search.tree import ROOT, Tree
from hexenv.common.options import Within


@part
class PUCT(NamedTuple):
    """Q + P (c + ln((N + base + 1) / base)) sqrt(N) / (1 + n) (Rosin 2011; Silver et al. 2018).

    N and n are the visits of the node and the child, P the child's prior, Q its mean reward in
    [0, 1]. (Published constants are for values in [-1, 1]: halve them.) An unvisited child has the
    evaluator's value of its parent, less `fpu` (first-play urgency). A pending simulation counts
    as a lost visit (virtual loss: Chaslot et al. 2008).
    """

    c: float = 0.625
    base: float = 19652.0
    fpu: float = 0.0
    noise_share: float = 0.0  # the share of Dirichlet noise in the root's priors
    evaluation: NDArray[np.float64] = np.zeros(1)
    """``(num_actions() + 1,)``: the priors and the value of the leaf that is being expanded."""

    tries_all_first = scored_first
    new_extras = new_evaluated_extras
    initialise = take_evaluation
    count_visits = visits_and_pending
    with_memory = with_evaluation
    read_policy = read_visit_shares

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> tuple[float, float]:
        visits = tree.visits[node] + tree.extras.pending[node]
        weight = (self.c + math.log((visits + self.base + 1.0) / self.base)) * math.sqrt(visits)
        return weight, tree.extras.raw_value[node] - self.fpu

    def score(self, tree: Tree, child: int, prepared: tuple[float, float]) -> float:
        weight, urgency = prepared
        visits = tree.visits[child] + tree.extras.pending[child]
        exploration = weight * tree.extras.prior[child] / (1.0 + visits)
        return mean_reward(tree, child, urgency) + exploration

    def add_root_noise(self, tree: Tree, noise: NDArray[np.float64]) -> None:
        """Mix noise into the root's priors, in place of any before (Silver et al. 2017).

        The noise, ``(num_actions(),)``, is drawn from a gamma distribution: that of the legal
        actions, scaled to add up to 1, is a draw of the Dirichlet distribution.
        """
        first = tree.first_child[ROOT]
        last = first + tree.child_count[ROOT]
        total = 0.0
        for child in range(first, last):
            total += noise[tree.action[child]]
        if total > 0.0 and self.noise_share > 0.0:
            for child in range(first, last):
                drawn = noise[tree.action[child]] / total
                prior = tree.extras.prior[child] - tree.extras.root_noise[child]
                tree.extras.root_noise[child] = self.noise_share * (drawn - prior)
                tree.extras.prior[child] = prior + tree.extras.root_noise[child]


class PUCTOptions(SearchOptions, total=False):
    """The parameters of `PUCTAgent` besides its policy, its budget and its constants."""

    batch: int
    noise: float
    noise_total: float
    temperature: float
    temperature_plies: int


class PUCTAgent(EvaluatedSearchAgent):
    r"""Monte-Carlo tree search with a policy's priors and values: AlphaZero (Silver et al. 2018).

    The values take the place of playouts.

    Formula:
        $$\bar x + P \left(c + \ln\, \frac{N + 19653}{19652}\right) \frac{\sqrt{N}}{1 + n}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $P$ is the policy's prior of the child. A
        child without a visit has for $\bar x$ the policy's value of the parent less `fpu`.

    Sources:
        Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go
        through self-play", Science 362, 2018.

        Rosin, "Multi-armed bandits with episode context", Annals of Mathematics and Artificial
        Intelligence 61, 2011.

    Args:
        c: Weight of exploration, for rewards in [0, 1].
        fpu: First-play urgency: by how much an action without a visit counts less than the
            policy's value of the position, for rewards in [0, 1].
        noise: The share of Dirichlet noise in the root's priors: 0.25 in self-play.
        noise_total: The sum of the Dirichlet distribution's parameters; all actions, legal or not,
            have the same one.
        temperature: 0: the best action by `final_move`; else actions are drawn with probabilities
            in proportion to ``visits ** (1 / temperature)``.
        temperature_plies: How many plies from the start of the game that is so. (A foreign
            environment does not tell its plies: there it is so in all of them.)
    """

    name = "puct"

    def __init__(
        self,
        policy: EvaluatorSource,
        simulations: int | None = None,
        seconds: float | None = None,
        c: NonNegative = 0.625,
        fpu: Annotated[float, Within(-1.0, 1.0)] = 0.0,
        batch: int = 1,
        noise: Share = 0.0,
        noise_total: Annotated[float, Within(1e-3, 1e6)] = 10.0,
        temperature: NonNegative = 0.0,
        temperature_plies: Annotated[int, Within(0, 2**31)] = 1_000_000,
        **options: Unpack[SearchOptions],
    ) -> None:
        self.noise, self.noise_total = noise, noise_total
        self.temperature, self.temperature_plies = temperature, temperature_plies
        rule = PUCT(c, fpu=fpu, noise_share=noise)
        super().__init__(policy, rule, simulations, seconds, batch, **options)

    def draw_noise(self, rng: np.random.Generator, num_actions: int) -> NDArray[np.float64] | None:
        if self.noise == 0.0:
            return None
        return rng.gamma(self.noise_total / num_actions, size=num_actions)

    def choose_action(
        self,
        view: View,
        trees: Sequence[Tree],
        rng: np.random.Generator,
        find_statistics: Callable[[], Statistics],
    ) -> int:
        is_early = view.actions is None or view.root.ply < self.temperature_plies
        if self.temperature > 0.0 and is_early:
            visits = find_statistics().visits.copy()
            root = root_actions(trees)
            visits[root.actions[root.proof == -1]] = 0
            if visits.any() and not (root.proof == 1).any():
                return draw_action(visits, self.temperature, rng)
        return super().choose_action(view, trees, rng, find_statistics)
