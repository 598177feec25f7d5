"""The agent around a search with an evaluator; see `agents.mcts.puct` and `agents.mcts.gumbel`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import Statistics
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.mcts.worker import TreeWorker, WorkerRun
from agents.planning.environment import View
from agents.policies.policy import as_evaluator
from agents.search.evaluated import EvaluatedSearch, new_cache, side_by_side
from agents.search.evaluator import Evaluator, EvaluatorSource
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.tree import ROOT, Tree, children
from agents.search.variant import Variant
from hexenv.common.options import Within
from hexenv.compiled import announced

if TYPE_CHECKING:
    from agents.mcts.many_games import ManyGames

CACHE_SIZE: Final = 1 << 14
"""Positions whose evaluations are kept during a search."""


class EvaluatedSearchAgent(TreeSearchAgent):
    """A tree search that a learned policy leads: base of `PUCTAgent` and others.

    Args:
        policy: An evaluator, as every `agents.PolicyAgent` is one, or the name of such an agent
            (``"sb3:path=model.zip"``, ``"network:net=connect4"``). A function
            ``f(planes) -> (priors, values)`` of many positions is taken as
            `PolicyAgent.from_priors` says, a PyTorch module, which returns logits and values, as
            `PolicyAgent.from_torch` says. Where it has no values (`from_function`, RLlib's
            modules), every position counts as even.
        selection: The rule of the tree.
        batch: Leaves that are evaluated together. More are quicker, and know less of each other.

    Raises:
        ValueError: If the name is of no policy, or a parameter out of its range.
    """

    is_for_two = True

    def __init__(
        self,
        policy: EvaluatorSource,
        selection: Any,
        simulations: int | None,
        seconds: float | None,
        batch: Annotated[int, Within(1, 4096)],
        **options: Unpack[SearchOptions],
    ) -> None:
        if options.get("implicit_minimax"):
            raise ValueError("expected no implicit_minimax where a policy evaluates positions")
        self.evaluator: Any = as_evaluator(policy)
        self.batch = batch
        super().__init__(Variant(selection, Uniform(), WinLoss()), simulations, seconds, **options)

    @announced
    def act(self, env: Any) -> int:
        self.see_as(env)
        return super().act(env)

    def see_as(self, env: Any) -> None:
        """Let the evaluator see positions as in an environment; it may have been elsewhere."""
        if hasattr(self.evaluator, "see_as"):
            self.evaluator.see_as(env)

    def play_many(self, env: Any, count: int, threads: int | None = None) -> "ManyGames | None":
        from agents.mcts.many_evaluated import ManyEvaluatedSearches
        from agents.mcts.many_games import plays_alike

        return ManyEvaluatedSearches(self, env, count, threads) if plays_alike(self, env) else None

    @announced
    def prepare(self, env: Any) -> None:
        """Compile now what `act` needs in such an environment."""
        self.see_as(env)
        super().prepare(env)
        if hasattr(self.evaluator, "prepare"):
            self.evaluator.prepare(env)

    def statistics_of(
        self, trees: Sequence[Tree], line: list[int], view: View, simulations: int, seconds: float
    ) -> Statistics:
        found = super().statistics_of(trees, line, view, simulations, seconds)
        return replace(found, priors=root_priors(trees, view.game.num_actions()))

    def draw_noise(self, rng: np.random.Generator, num_actions: int) -> NDArray[np.float64] | None:
        """The noise of the root's children, ``(num_actions,)``; None without noise."""
        return None

    def worker_class(self) -> type[TreeWorker]:
        return EvaluatedWorker

    def cache_size(self) -> int:
        """How many evaluations are kept: none, if equal positions may look different."""
        sees_moves = getattr(self.evaluator, "sees_moves", None)
        return 0 if sees_moves is not None and sees_moves() else CACHE_SIZE


class EvaluatedWorker(TreeWorker):
    """See `TreeWorker`; the leaves of its tree are evaluated in batches."""

    takes_all_at_once = True

    def evaluator_of(self, agent: Any) -> Evaluator:
        """What evaluates the leaves: of an `EvaluatedSearchAgent`, its evaluator."""
        return agent.evaluator

    def new_run(self, view: View, agent: Any) -> WorkerRun:
        """The search of the tree; its root is evaluated first."""
        game, tree = view.game, cast("Tree", self.tree)
        roots: Any = [view.root]
        if view.actions is not None:
            roots = view.new_states(1)
            game.copy(view.root, roots[0])
        evaluator = agent.advisers.plain_evaluator(game, self.evaluator_of(agent))
        variant, states = cast("Variant", self.variant), view.new_states(agent.batch)
        cache = new_cache(game, 0 if view.actions is None else agent.cache_size())
        of_search = evaluator, self.rng, agent.batch, cache, view.compiles
        search = EvaluatedSearch(game, side_by_side(tree), states, variant, *of_search)
        if view.compiles:
            search.compile(roots)
        has_root = False

        def run(simulations: int) -> int:
            nonlocal has_root
            if not has_root:
                search.run(roots, 0)
                noise = agent.draw_noise(self.rng, game.num_actions())
                if noise is not None:
                    rule: Any = variant.selection
                    rule.add_root_noise(tree, noise)
                has_root = True
            return search.run(roots, simulations)

        return WorkerRun(run, self, view)


def root_priors(trees: Sequence[Tree], num_actions: int) -> NDArray[np.float64]:
    """The evaluator's priors of the root's actions, as `Statistics` has them."""
    priors = np.zeros(num_actions, np.float64)
    for tree in trees:
        below = children(tree, ROOT)
        priors[tree.action[below]] += tree.extras.prior[below] / len(trees)
    return priors
