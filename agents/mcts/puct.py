"""PUCT: a search that a learned policy leads."""

from collections.abc import Sequence
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import Statistics
from agents.core.options import number_within, whole_number_within
from agents.mcts.evaluated_search import EvaluatedSearchAgent
from agents.mcts.tree_search import SearchOptions
from agents.policies.policy import PolicyAgent
from agents.search.foreign import View
from agents.search.puct import PUCT
from agents.search.tree import Tree


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
        policy: See `EvaluatedSearchAgent`.
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration, for rewards in [0, 1].
        fpu: First-play urgency: by how much an action without a visit counts less than the
            policy's value of the position, for rewards in [0, 1].
        batch: See `EvaluatedSearchAgent`. Simulations that wait count as lost meanwhile.
        noise: How much of the root's priors is Dirichlet noise: 0.25 in self-play.
        noise_total: The sum of the Dirichlet distribution's parameters, of which every action,
            legal or not, has the same.
        temperature: 0: the best action by `final_move`; else actions are drawn with probabilities
            in proportion to ``visits ** (1 / temperature)``.
        temperature_plies: Only in the game's first so many plies. (A foreign environment does not
            tell them: there in all.)
        **options: See `TreeSearchAgent`.
    """

    name = "puct"

    def __init__(
        self,
        policy: PolicyAgent | str,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 0.625,
        fpu: float = 0.0,
        batch: int = 1,
        noise: float = 0.0,
        noise_total: float = 10.0,
        temperature: float = 0.0,
        temperature_plies: int = 1_000_000,
        **options: Unpack[SearchOptions],
    ) -> None:
        self.noise = number_within("noise", noise, 0.0, 1.0)
        self.noise_total = number_within("noise_total", noise_total, 1e-3, 1e6)
        self.temperature = number_within("temperature", temperature)
        self.temperature_plies = whole_number_within(
            "temperature_plies", temperature_plies, 0, 2**31
        )
        rule = PUCT(
            c=number_within("c", c),
            fpu=number_within("fpu", fpu, -1.0, 1.0),
            noise_share=self.noise,
        )
        super().__init__(policy, rule, simulations, seconds, batch, **options)

    def _draw_noise(self, rng: np.random.Generator, num_actions: int) -> NDArray[np.float64] | None:
        return rng.gamma(self.noise_total / num_actions, size=num_actions) if self.noise else None

    def _choose(self, view: View, trees: Sequence[Tree]) -> int:
        statistics = cast("Statistics", self.statistics)
        visits = statistics.visits
        is_early = view.actions is None or view.root.ply < self.temperature_plies
        if self.temperature == 0.0 or not is_early or not visits.any() or statistics.proven:
            return super()._choose(view, trees)
        return draw_action(visits, self.temperature, self._searchers[0].rng)


def draw_action(visits: NDArray[np.int64], temperature: float, rng: np.random.Generator) -> int:
    """An action with probability in proportion to ``visits ** (1 / temperature)``."""
    return int(draw_actions(visits[None], temperature, np.array([rng.random()]))[0])


def draw_actions(
    weights: NDArray[Any], temperature: float, draws: NDArray[np.float64]
) -> NDArray[np.int32]:
    """An action for each row, with probability in proportion to ``weight ** (1 / temperature)``.

    Args:
        weights: ``(N, num_actions)``, with something above 0 in every row.
        temperature: Above 0.
        draws: ``(N,)``, from [0, 1).
    """
    with np.errstate(divide="ignore", over="ignore"):  # to -inf
        logits = (
            np.log(weights / weights.max(axis=1, keepdims=True), dtype=np.float64) / temperature
        )
    shares: NDArray[np.float64] = np.cumsum(np.exp(logits), axis=1)
    return (shares <= draws[:, None] * shares[:, -1:]).sum(axis=1).astype(np.int32)
