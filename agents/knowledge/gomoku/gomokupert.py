"""Tree search with what the Gomoku engine knows: learnt priors, and its search at the leaves."""

import math
from typing import Annotated, Any, Final, NamedTuple, Unpack

import numpy as np

from agents.core.options import NonNegative
from agents.knowledge.gomoku.candidates import (
    ALL_BITS,
    list_near,
    list_urgent,
    wins_by_fours,
)
from agents.knowledge.gomoku.engine_memory import Rules, new_engine, shown_value
from agents.knowledge.gomoku.engine_search import value_of
from agents.knowledge.gomoku.game_knowledge import GomokuKnowledge
from agents.knowledge.gomoku.rhmcts import LEAF_FOURS, EvaluationPrior
from agents.knowledge.gomoku.threat_search import new_four_search, new_scratch
from agents.knowledge.gomoku.valued import PROMISE_SCALE, SCALE, valued_view
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.planning.environment import View
from agents.search.reward import WinLoss
from agents.search.selection import scored_first
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
class LearntPrior(NamedTuple):
    """The rule of `EvaluationPrior`, with the softmax of the learnt promises as prior.

    An unvisited child counts as the parent's learnt value.
    """

    c: float = 0.5
    sharpness: float = 1.0
    """What promises are multiplied by."""
    scale: float = 2.0 * SCALE
    """Of the values, for `evaluate_board`."""
    heuristics: int = ALL_BITS
    """As those of the candidates."""

    tries_all_first = scored_first
    new_extras = EvaluationPrior.new_extras
    initialise = EvaluationPrior.initialise
    is_complete = EvaluationPrior.is_complete
    prepare = EvaluationPrior.prepare
    score = EvaluationPrior.score

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
        self,
        game: Any,
        state: State,
        rng: np.random.Generator,
        actions: Actions,
        simulation: Simulation,
    ) -> float:
        found = shown_value(value_of(game, self.engine, state, self.depth, MOST_AT_LEAF))
        return found if game.to_play(state) == 0 else -found


@compiled
class PromisingCells(NamedTuple):
    """The urgent moves or, if there are none, the cells near stones that promise most."""

    n: int = 20
    """How many."""
    reach: int = 2
    """How far from a stone."""
    budget: int = LEAF_FOURS
    """How many fours to try at a leaf for a win by them; 0: none."""
    heuristics: int = ALL_BITS
    search: Any = None
    """A `FourSearch`."""
    scratch: Any = None
    """A `Scratch`."""

    decides = wins_by_fours

    def with_memory(self, game: Any) -> "PromisingCells":
        return self._replace(search=new_four_search(game), scratch=new_scratch(game))

    def merit(self, game: Any, state: State, cell: int, heuristics: int) -> float:
        return float(game.promise(state, game.to_play(state), cell))

    def list_actions(self, game: Any, state: State, rng: np.random.Generator, out: Actions) -> int:
        if not game.is_terminal(state):
            count = list_urgent(game, state, self.heuristics, self.scratch, out)
            if count > 0:
                return count
        return list_near(game, state, self, out)

    def covers(self, selection: Any, tree: Any, node: int) -> bool:
        return selection.is_complete(tree, node)


class LearntKnowledge(GomokuKnowledge):
    """What is known of Gomoku, with positions that have learnt values."""

    def search_view(self, view: View) -> View:
        return valued_view(view)


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
            LearntPrior(c, sharpness),
            EngineLeaf(depth),
            WinLoss(),
            knowledge=PromisingCells(n, budget=LEAF_FOURS if threats else 0),
        )
        super().__init__(variant, simulations, seconds, **options, game_knowledge=LearntKnowledge())
