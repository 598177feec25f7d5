"""RHMCTS: restricted heuristic Monte-Carlo tree search, for Gomoku and other m,n,k games."""

import math
from functools import partial
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.core.options import NonNegative
from agents.knowledge.gomoku.board import (
    OPENS_FOUR,
    PUBLISHED,
    WINS,
    load_points,
)
from agents.knowledge.gomoku.candidates import (
    ALL_BITS,
    ALL_HEURISTICS,
    SCALE,
    Candidates,
    cell_points,
    draw_cell,
    evaluate_board,
    list_best,
    list_urgent,
    urgency,
    value_for_first,
)
from agents.knowledge.gomoku.game_knowledge import GomokuKnowledge
from agents.knowledge.gomoku.view import pattern_view
from agents.mcts.settings import SearchOptions
from agents.mcts.tree_search import TreeSearchAgent
from agents.mcts.worker import TreeWorker
from agents.search.eager import compiled_search_eagerly
from agents.search.reward import WinLoss
from agents.search.selection import scored_first
from agents.search.simulation import Simulation, part
from agents.search.tree import Tree
from agents.search.variant import Variant
from hexenv.common.options import Within
from hexenv.compiled import kernel
from hexenv.games import base
from hexenv.games.base import Actions, State

MOST_DEPTH: Final = 400
LEAF_FOURS: Final = 100
"""Fours that a search for a win by fours tries at a leaf."""
FIVES: Final = 0b110
"""Heuristics 1 and 2, which make and stop five, as bits."""


# ---- the tree policy -----------------------------------------------------------------------------


class PriorExtras(NamedTuple):
    """What a rule with the evaluation as prior keeps for each node."""

    prior: NDArray[np.float64]
    """``(N,)``: the action's prior by the evaluation; the priors of siblings add up to 1."""
    evaluation: NDArray[np.float64]
    """``(N,)``: the evaluation of the position, 0 to 1, for the player to move there."""
    complete: NDArray[np.bool_]
    """``(N,)``: whether every action that does not lose at once is among the children; see
    `Knowledge.covers`."""


@kernel
def covers_all(game: Any, state: State, heuristics: int) -> bool:
    """Whether `list_urgent` leaves out nothing but moves that lose.

    (In renju this is not sure: a distant white stone may make black's open four a forbidden move.)
    """
    player = game.to_play(state)
    urgent = urgency(game, state, heuristics)
    if urgent == -WINS:
        return state.counts[player, WINS] == 0
    if urgent == -OPENS_FOUR and not game.bars(1 - player):
        return state.counts[player, WINS] + state.counts[1 - player, WINS] == 0
    return False


@part
class EvaluationPrior(NamedTuple):
    """The tree policy of `RHMCTS` (Zhang and Xie 2019, after Silver et al. 2017)."""

    c: float = 0.5
    defend: float = 0.5
    sharpness: float = 0.5
    scale: float = SCALE
    heuristics: int = ALL_BITS
    """The heuristics that leave only actions that do not lose at once, and add to the points."""

    tries_all_first = scored_first

    def new_extras(self, max_nodes: int) -> PriorExtras:
        return PriorExtras(
            np.empty(max_nodes, np.float64),
            np.empty(max_nodes, np.float64),
            np.zeros(max_nodes, np.bool_),
        )

    def weight(self, game: Any, state: State, cell: int) -> float:
        """What a cell's prior is proportional to."""
        points = cell_points(game, state, cell, self.defend, self.heuristics)
        return math.pow(points + 1.0, self.sharpness)

    def initialise(self, game: Any, state: State, tree: Tree, node: int) -> None:
        extras = tree.extras
        first = tree.first_child[node]
        last = first + tree.child_count[node]
        total = 0.0
        for child in range(first, last):
            extras.prior[child] = self.weight(game, state, int(tree.action[child]))
            extras.evaluation[child] = 0.0  # until it is expanded itself
            extras.complete[child] = False
            total += extras.prior[child]
        for child in range(first, last):
            extras.prior[child] /= total
        extras.evaluation[node] = 0.5 * (evaluate_board(game, state, self.scale) + 1.0)
        is_all = tree.child_count[node] == game.num_actions() - state.ply
        extras.complete[node] = is_all or covers_all(game, state, self.heuristics)

    def is_complete(self, tree: Tree, node: int) -> bool:
        return tree.extras.complete[node]

    def prepare(self, tree: Tree, node: int, rng: np.random.Generator) -> tuple[float, float]:
        return self.c * math.sqrt(tree.visits[node]), tree.extras.evaluation[node]

    def score(self, tree: Tree, child: int, prepared: tuple[float, float]) -> float:
        weight, unvisited = prepared
        visits = tree.visits[child]
        mean = tree.value[child] if visits > 0 else unvisited
        return mean + weight * (tree.extras.prior[child] / (1.0 + visits))


# ---- the simulations -----------------------------------------------------------------------------


@part
class GuidedPlayout(NamedTuple):
    """Some plies of good moves, then the board evaluation.

    A move makes five where it can and stops the other side's five (heuristics 1 and 2); else it is
    drawn from the best cells near the stones, in proportion to their points.
    """

    k: int = 1
    """The result is the mean of so many simulations."""
    depth: int = 0
    """Plies before the cut."""
    n: int = 5
    """A move is drawn from this many best cells."""
    reach: int = 1
    """Greatest distance of these cells from a stone."""
    defend: float = 0.5
    heuristics: int = ALL_BITS
    scale: float = SCALE
    trial: Any = None
    """``(2,)``: the position of a simulation, and one to try moves in."""

    merit = Candidates.merit

    def with_memory(self, game: Any) -> "GuidedPlayout":
        return self._replace(trial=base.new_states(game, 2))

    def next_move(self, game: Any, state: State, rng: Any, actions: Actions) -> int:
        """The first cell that makes or stops a five, else one that is drawn."""
        if list_urgent(game, state, self.heuristics & FIVES, self.trial[1:], actions) > 0:
            return int(actions[0])
        count = list_best(game, state, self, 0, actions)
        if count == 0:
            count = game.legal_actions(state, actions)
        return int(actions[draw_cell(game, state, self, count, rng, actions)])

    def simulate(
        self, game: Any, state: State, rng: Any, actions: Actions, simulation: Simulation
    ) -> float:
        total = 0.0
        trial = self.trial[0]
        for _ in range(self.k):
            game.copy(state, trial)
            for _ in range(self.depth):
                if game.is_terminal(trial):
                    break
                game.step(trial, self.next_move(game, trial, rng, actions))
            total += value_for_first(game, trial, self.scale)
        return total / self.k


# ---- the agent -----------------------------------------------------------------------------------


class RHMCTS(TreeSearchAgent):
    r"""Restricted heuristic Monte-Carlo tree search (Zhang and Xie 2019).

    A node is expanded with the urgent moves or, if there are none, with the best cells near the
    stones by the points of their patterns (`agents.knowledge.gomoku.candidates`). The tree policy
    is an upper confidence bound with these points as prior. A simulation goes on from a leaf for
    some plies, guided by the same evaluation, and is cut and evaluated by the board evaluation.

    The default is sound: what is urgent restricts the candidates to those that do not lose at once,
    and wins by threats are looked for before the search and at its leaves. The settings of the
    authors are under "The five systems" in the guide to searching.

    Formula:
        $$\bar x + c\, P \frac{\sqrt{N}}{1 + n}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $P$ is the prior: the cell's points
        for both sides, raised to `sharpness`, divided by the sum over all siblings. For a child
        without a visit, $\bar x$ is the evaluation of the parent.

    Sources:
        Zhang and Xie, "RHMCTS", a students' project at Fudan University, 2019:
        https://github.com/zhangyilang/RHMCTS.

    Args:
        simulations: Simulations a move; with `eager` up to `n` more.
        seconds: Seconds a move; with `eager` up to all children of a leaf more.
        n: How many candidates a node has where nothing is urgent.
        k: The result of a leaf is the mean of so many simulations.
        depth: After how many plies a simulation is cut and evaluated.
        neighbourhood: How far candidates are from a stone, in rows and columns.
        c: Weight of exploration, for rewards in [0, 1].
        heuristics: Which of the seven are used, as digits, such as 1235
            (`agents.knowledge.gomoku.candidates`).
        patterns: The points of the patterns: a JSON file, see
            `agents.knowledge.gomoku.board.load_points`; by default the published table.
        defend: Weight of the other side's points; one's own have weight 1.
        sharpness: The power of the points in the prior.
        scale: Difference of points from which a side is clearly better. With the greatest, 1e9, a
            simulation that is cut counts as drawn where no side wins at once.
        eager: Whether all children of a leaf are simulated at once.
        forced: Whether of the urgent moves only one is a candidate, drawn in proportion to its
            points.
        **options: See `TreeSearchAgent`; `threats` is True by default. Trees cannot be saved.

    Raises:
        OSError: If the file of patterns cannot be read.
        ValueError: If a parameter is out of its range, or the file is damaged.
    """

    name = "rhmcts"
    other_defaults: ClassVar[SearchOptions] = {"threats": True}

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        n: Annotated[int, Within(1, 400)] = 12,
        k: Annotated[int, Within(1, 1000)] = 1,
        depth: Annotated[int, Within(0, MOST_DEPTH)] = 0,
        neighbourhood: Annotated[int, Within(1, 19)] = 2,
        c: NonNegative = 0.5,
        heuristics: str = ALL_HEURISTICS,
        patterns: str | None = None,
        defend: Annotated[float, Within(0.0, 1e3)] = 0.5,
        sharpness: Annotated[float, Within(0.0, 4.0)] = 0.5,
        scale: Annotated[float, Within(1e-3)] = SCALE,
        eager: bool = False,
        forced: bool = False,
        **options: Unpack[SearchOptions],
    ) -> None:
        bits = _heuristic_bits(heuristics)
        threats = options.setdefault("threats", True)
        fours = LEAF_FOURS if threats else 0
        candidates = Candidates(n, neighbourhood, bits, defend, fours, forced)
        selection = EvaluationPrior(c, defend, sharpness, scale, bits)
        playout = GuidedPlayout(k, depth, defend=defend, heuristics=bits, scale=scale)
        self.eager = eager
        scores = PUBLISHED if patterns is None else load_points(patterns)
        variant = Variant(selection, playout, WinLoss(), knowledge=candidates)
        known = GomokuKnowledge(partial(pattern_view, scores=scores))
        super().__init__(variant, simulations, seconds, **options, game_knowledge=known)

    def worker_class(self) -> type[TreeWorker]:
        return EagerWorker if self.eager else super().worker_class()


class EagerWorker(TreeWorker):
    """See `TreeWorker`; all children of a new leaf get a simulation at once."""

    kernel = compiled_search_eagerly
    asks_knowledge = can_play_many = False


def _heuristic_bits(text: Any) -> int:
    """The heuristics whose digits a text has, as bits."""
    if not isinstance(text, str) or not set(text) <= set(ALL_HEURISTICS):
        raise ValueError(f"expected heuristics among {ALL_HEURISTICS}, got {text!r}")
    return sum(1 << int(digit) for digit in set(text))
