"""Gumbel AlphaZero: a search that improves a policy with few simulations."""

import os
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.options import number_within, whole_number_within
from agents.mcts.evaluated_search import EvaluatedSearchAgent
from agents.policies.policy import PolicyAgent
from agents.search.foreign import View
from agents.search.gumbel import Gumbel
from agents.search.mcts import Variant
from agents.search.tree import Tree


class GumbelOptions(TypedDict, total=False):
    """What Gumbel's search takes of the parameters of `TreeSearchAgent`."""

    solver: str
    max_nodes: int
    threats: bool
    route: str
    seed: int | None
    assume: str | None


class GumbelAgent(EvaluatedSearchAgent):
    r"""Sequential halving at the root, improved policies below it (Danihelka et al. 2022).

    Formula:
        $$\text{at the root: } g + \ln\, P + \sigma(Q)$$

        $$\text{below it: } \pi' - \frac{n}{1 + \sum_b n_b} \qquad \pi' \propto P\, e^{\sigma(Q)}$$

        $$\sigma(Q) = \left(c_\mathit{visit} + \max_b\, n_b\right) c_\mathit{scale}\, Q$$

        $P$ is the policy's prior, $g$ its Gumbel noise (0 without `noise`), $n$ are visits, and $Q$
        is the mean reward, 0 to 1, or for a child without a visit a mix of the policy's value and
        of the means of its siblings. The $n_b$ are those of the child and its siblings. At the
        root, sequential halving gives the simulations to the children with the best score.

    Sources:
        Danihelka, Guez, Schrittwieser and Silver, "Policy improvement by planning with Gumbel",
        ICLR 2022.

    Args:
        policy: See `EvaluatedSearchAgent`.
        simulations: Simulations a move, which are planned ahead: there is no budget in seconds.
        considered: How many actions are considered at the root.
        c_visit: See `agents.search.gumbel`.
        c_scale: See `agents.search.gumbel`.
        noise: Scale of the Gumbel noise: 1 in self-play, 0 for the strongest play.
        batch: See `EvaluatedSearchAgent`.
        **options: See `TreeSearchAgent`, of whose parameters those of `GumbelOptions` make sense
            here; the others are refused.
    """

    name = "gumbel"

    def __init__(
        self,
        policy: PolicyAgent | str,
        simulations: int = 16,
        considered: int = 16,
        c_visit: float = 50.0,
        c_scale: float = 1.0,
        noise: float = 0.0,
        batch: int = 1,
        **options: Unpack[GumbelOptions],
    ) -> None:
        for name in options:
            if name not in GumbelOptions.__annotations__:
                raise ValueError(f"expected no {name} (Gumbel's search has none), got {options}")
        self.noise = number_within("noise", noise)
        rule = Gumbel(
            c_visit=number_within("c_visit", c_visit),
            c_scale=number_within("c_scale", c_scale),
            considered=whole_number_within("considered", considered, 1, 1024),
            simulations=whole_number_within("simulations", simulations, 1, 1_000_000),
        )
        super().__init__(policy, rule, simulations, None, batch, reuse=False, **options)

    def load(self, path: str | os.PathLike[str]) -> None:
        """There is nothing to load: every search starts anew.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"expected no tree (Gumbel's search starts anew), got {path}")

    def _draw_noise(self, rng: np.random.Generator, num_actions: int) -> NDArray[np.float64] | None:
        return self.noise * rng.gumbel(size=num_actions) if self.noise else None

    def _choose(self, view: View, trees: Sequence[Tree]) -> int:
        rule: Any = cast("Variant", self._searchers[0].variant).selection
        policy = np.zeros(view.game.num_actions(), np.float32)
        return int(trees[0].action[rule.judge_root(trees[0], policy)])
