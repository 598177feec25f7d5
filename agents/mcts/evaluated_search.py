"""The agent around a search with an evaluator; see `agents.mcts.puct` and `agents.mcts.gumbel`."""

from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.options import whole_number_within
from agents.knowledge.gomoku.view import PlainView
from agents.mcts.searcher import Run, Searcher
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.policies.policy import PolicyAgent
from agents.registry import make_agent
from agents.search.evaluated import EvaluatedSearch, Evaluator, given_by
from agents.search.foreign import ForeignState, View, new_state_of
from agents.search.leaves import new_cache, side_by_side
from agents.search.mcts import Variant
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.tree import Tree
from hexenv.envs.aec import BoardEnv
from hexenv.games import base

CACHED: int = 1 << 14
"""Positions whose evaluations are kept during a search."""


class EvaluatedSearchAgent(TreeSearchAgent):
    """A tree search that a learned policy leads: base of `PUCTAgent` and others.

    Args:
        policy: A `PolicyAgent`, or the name of one (``"sb3:path=model.zip"``,
            ``"network:net=connect4"``). Where it has no values (functions, RLlib's modules), every
            position counts as even.
        selection: The rule of the tree.
        simulations: Simulations a move.
        seconds: Seconds a move.
        batch: Leaves that are evaluated together. More are quicker, and know less of each other.
        **options: See `TreeSearchAgent`.

    Raises:
        ValueError: If the name is of no policy, or a parameter out of its range.
    """

    def __init__(
        self,
        policy: PolicyAgent | str,
        selection: Any,
        simulations: int | None,
        seconds: float | None,
        batch: int,
        **options: Unpack[SearchOptions],
    ) -> None:
        if options.get("implicit_minimax"):
            raise ValueError("expected no implicit_minimax where a policy evaluates positions")
        leader = make_agent(policy) if isinstance(policy, str) else policy
        if not isinstance(leader, PolicyAgent):
            raise ValueError(f"expected the name of a policy, such as sb3, got {policy!r}")
        self._leader = leader
        self.batch = whole_number_within("batch", batch, 1, 4096)
        super().__init__(Variant(selection, Uniform(), WinLoss()), simulations, seconds, **options)

    def act(self, env: Any) -> int:
        """See `TreeSearchAgent.act`; the policy sees what the environment shows."""
        if isinstance(env.unwrapped, BoardEnv):
            self._leader.see_as(env.unwrapped)
        return super().act(env)

    def _draw_noise(self, rng: np.random.Generator, num_actions: int) -> NDArray[np.float64] | None:
        """What the root's children get before a search, if anything."""
        return None

    def _evaluator(self, searcher: Searcher) -> Evaluator:
        """What judges the leaves."""
        return self._leader

    def _cached(self) -> int:
        """How many evaluations are kept: none, if equal positions may look different."""
        return 0 if self._leader.sees_moves() else CACHED

    def _run(self, view: View, searcher: Searcher) -> Run:
        """The search of one tree; its root is evaluated first."""
        game, tree = view.game, cast("Tree", searcher.tree)
        is_foreign = isinstance(view.root, ForeignState)
        if is_foreign:
            roots: Any = [view.root]
            states: Any = [new_state_of(view) for _ in range(self.batch)]
        else:
            roots, states = base.new_states(game, 1), base.new_states(game, self.batch)
            game.copy(view.root, roots[0])
        judge = self._evaluator(searcher)
        search = EvaluatedSearch(
            game,
            side_by_side(tree),
            states,
            given_by(cast("Variant", searcher.variant), game),
            PlainView(judge) if self._sees_patterns else judge,
            searcher.rng,
            self.batch,
            new_cache(game, 0 if is_foreign else self._cached()),
            view.compiles,
        )
        rule: Any = search.variant.selection
        if view.compiles:
            search.compile(roots)
        begun = False

        def run_some(simulations: int) -> int:
            nonlocal begun
            if not begun:
                search.run(roots, 0)
                noise = self._draw_noise(searcher.rng, game.num_actions())
                if noise is not None:
                    rule.stir(tree, noise)
                begun = True
            return search.run(roots, simulations)

        return Run(run_some, tree, view)

    def _spend_budget(
        self, run: Run, started: float, simulations: int | None, seconds: float | None
    ) -> int:
        """See `TreeSearchAgent`; where a slice ends, fewer leaves are evaluated together."""
        is_watched = self.on_slice is not None and self.batch == 1
        if simulations is not None and seconds is None and not (self.early_stop or is_watched):
            return run.search(simulations)
        return super()._spend_budget(run, started, simulations, seconds)
