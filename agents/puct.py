"""PUCT: a search that a learned policy leads."""

from typing import Any, Unpack

from agents.naming import make_agent
from agents.options import number_within
from agents.policy import PolicyAgent
from agents.search.mcts import Variant
from agents.search.puct import PUCT, Assessed
from agents.search.reward import WinLoss
from agents.tree_search import SearchOptions, TreeSearchAgent
from hexenv.aec import BoardEnv


class PUCTSearch(TreeSearchAgent):
    """Monte-Carlo tree search with a policy's priors and values (Silver et al. 2018).

    The values take the place of playouts. The policy is asked for one position at a time, and the
    search around it is interpreted: its time is the policy's.

    Args:
        policy: A `PolicyAgent`, or the name of one (``"sb3:path=model.zip"``). Where it has no
            values (functions, RLlib's modules), every position counts as even.
        simulations: Simulations a move.
        seconds: Seconds a move.
        c: Weight of exploration, for rewards in [0, 1].
        **options: See `TreeSearchAgent`.
    """

    name = "puct"

    def __init__(
        self,
        policy: PolicyAgent | str,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 0.625,
        **options: Unpack[SearchOptions],
    ) -> None:
        leader = make_agent(policy) if isinstance(policy, str) else policy
        if not isinstance(leader, PolicyAgent):
            raise ValueError(f"expected the name of a policy, such as sb3, got {policy!r}")
        self._leader = leader
        assessment = leader.assessment()
        variant = Variant(PUCT(assessment, number_within("c", c)), Assessed(assessment), WinLoss())
        super().__init__(variant, simulations, seconds, **options)

    def act(self, env: Any) -> int:
        """See `TreeSearchAgent.act`; the policy sees what the environment shows."""
        if isinstance(env.unwrapped, BoardEnv):
            self._leader.see_as(env.unwrapped)
        return super().act(env)
