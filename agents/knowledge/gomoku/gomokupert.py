"""Tree search with what the Gomoku engine knows: learnt priors, and its search at the leaves."""

import math
from typing import Annotated, Any, Final, NamedTuple, Unpack

from agents.core.options import NonNegative
from agents.knowledge.gomoku.candidates import Candidates
from agents.knowledge.gomoku.engine_memory import Rules, new_engine, shown_value
from agents.knowledge.gomoku.engine_search import value_of
from agents.knowledge.gomoku.game_knowledge import GomokuKnowledge
from agents.knowledge.gomoku.rhmcts import LEAF_FOURS, EvaluationPrior
from agents.knowledge.gomoku.valued import PROMISE_SCALE, SCALE, valued_view
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.reward import WinLoss
from agents.search.simulation import Simulation, part
from agents.search.variant import Variant
from hexenv.common.options import Within
from hexenv.compiled import compiled
from hexenv.games.base import Actions, State

MOST_AT_LEAF: Final = 2000
"""Positions of the engine's search at one leaf."""
LEAF_TABLE: Final = 1 << 17
"""Entries of its table."""


@part
class LearntPrior(EvaluationPrior):
    """`EvaluationPrior` with the softmax of the learnt promises, times `sharpness`, as prior.

    `scale` is of the learnt values, and `defend` is not used.
    """

    __slots__ = ()

    def weight(self, game: Any, state: State, cell: int) -> float:
        promise = game.promise(state, game.to_play(state), cell)
        return math.exp(promise * self.sharpness / PROMISE_SCALE)


@part
class EngineLeaf(NamedTuple):
    """The result of a leaf is its value by a search of the engine to a small depth."""

    depth: int = 1
    engine: Any = None
    """An `Engine`."""

    def with_memory(self, game: Any) -> "EngineLeaf":
        return self._replace(engine=new_engine(game, LEAF_TABLE, Rules()))

    def simulate(
        self, game: Any, state: State, rng: Any, actions: Actions, simulation: Simulation
    ) -> float:
        found = shown_value(value_of(game, self.engine, state, self.depth, MOST_AT_LEAF))
        return found if game.to_play(state) == 0 else -found


@compiled
class PromisingCells(Candidates):
    """`Candidates` where the best cells near stones are those that promise most.

    No cell can be drawn, as `forced` does: promises may be negative. `defend` is not used.
    """

    __slots__ = ()

    def merit(self, game: Any, state: State, cell: int, heuristics: int) -> float:
        return float(game.promise(state, game.to_play(state), cell))


class Gomokupert(TreeSearchAgent):
    r"""Tree search with priors that were learnt, and small alpha-beta searches at its leaves.

    A node is expanded with the urgent moves or, if there are none, with the cells near the stones
    that promise most. The tree policy is the one of `RHMCTS`, with these promises as priors. A leaf
    is worth what a search like that of `GomokuEngine` finds there. Promises and the engine's values
    were learnt (`agents.knowledge.gomoku.valued`).

    Sources:
        Silver et al., "Mastering the game of Go without human knowledge", Nature 550, 2017: priors.

        Baier and Winands, "MCTS-minimax hybrids", IEEE Transactions on Computational Intelligence
        and AI in Games 7, 2015: small minimax searches within the tree search.

    Args:
        simulations: Simulations a move.
        seconds: Seconds a move.
        n: How many candidates a node has where nothing is urgent.
        depth: Plies of the search at a leaf, of at most 2,000 positions; lines of threats are
            searched further.
        c: Weight of exploration, for rewards in [0, 1].
        sharpness: What the promises are multiplied by before the softmax.
        **options: See `TreeSearchAgent`; with `threats` wins by fours are looked for at leaves by
            themselves, too. Trees cannot be saved.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name = "gomokupert"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        n: Annotated[int, Within(1, 400)] = 20,
        depth: Annotated[int, Within(0, 4)] = 1,
        c: NonNegative = 0.5,
        sharpness: Annotated[float, Within(0.0, 4.0)] = 1.0,
        **options: Unpack[SearchOptions],
    ) -> None:
        threats = options.get("threats", False)
        variant = Variant(
            LearntPrior(c=c, sharpness=sharpness, scale=2.0 * SCALE),
            EngineLeaf(depth),
            WinLoss(),
            knowledge=PromisingCells(n, budget=LEAF_FOURS if threats else 0),
        )
        known = GomokuKnowledge(valued_view)
        super().__init__(variant, simulations, seconds, **options, game_knowledge=known)
