"""The tree policy of RHMCTS: an upper confidence bound with the evaluation as prior."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.knowledge.gomoku.board import OPENS_FOUR, WINS
from agents.knowledge.gomoku.candidates import ALL_BITS, merit, urgency
from agents.knowledge.gomoku.evaluation import SCALE, evaluate_board
from agents.search.selection import scored_first, sqrt_log
from agents.search.simulation import no_memory, no_moves, no_update
from agents.search.tree import Tree
from hexenv.compiled import compiled, kernel
from hexenv.games.base import State


class PriorExtras(NamedTuple):
    """What a rule with the evaluation as prior keeps for each node."""

    prior: NDArray[np.float64]
    """``(N,)``: how good the evaluation finds the action; siblings add up to 1."""
    rank: NDArray[np.int32]
    """``(N,)``: how many of its siblings are better by it."""
    worth: NDArray[np.float64]
    """``(N,)``: the evaluation of the position, 0 to 1, for the player to move there."""
    whole: NDArray[np.bool_]
    """``(N,)``: whether all that matters is among the children: see `Knowledge.covers`."""


def new_prior_extras(self: Any, max_nodes: int) -> PriorExtras:
    """`Selection.new_extras` of rules with the evaluation as prior."""
    return PriorExtras(
        np.empty(max_nodes, np.float64),
        np.empty(max_nodes, np.int32),
        np.empty(max_nodes, np.float64),
        np.zeros(max_nodes, np.bool_),
    )


@kernel
def take_evaluation(self: Any, game: Any, state: State, tree: Tree, node: int) -> None:
    """`Selection.initialise` of these rules."""
    extras = tree.extras
    first = tree.first_child[node]
    last = first + tree.child_count[node]
    total = 0.0
    for child in range(first, last):
        points = merit(game, state, int(tree.action[child]), self.defend, self.forks)
        extras.prior[child] = math.pow(points + 1.0, self.sharpness)
        extras.worth[child] = 0.0  # until it is expanded itself
        extras.whole[child] = False
        total += extras.prior[child]
    for child in range(first, last):
        extras.rank[child] = 0
        for sibling in range(first, last):
            better = extras.prior[sibling] - extras.prior[child]
            extras.rank[child] += int(better > 0.0 or (better == 0.0 and sibling < child))
    for child in range(first, last):
        extras.prior[child] /= total
    extras.worth[node] = 0.5 * (evaluate_board(game, state, self.scale) + 1.0)
    is_all = tree.child_count[node] == game.num_actions() - state.ply
    extras.whole[node] = is_all or (self.is_sound and covers_all(game, state, self.heuristics))


@kernel
def covers_all(game: Any, state: State, heuristics: int) -> bool:
    """Whether `list_urgent` leaves out nothing but moves that lose.

    (A white stone far away may make black's open four a forbidden move: in renju nobody knows.)
    """
    player = game.to_play(state)
    urgent = urgency(game, state, heuristics)
    if urgent == -WINS:
        return state.counts[player, WINS] == 0
    if urgent == -OPENS_FOUR and not game.bars(1 - player):
        return state.counts[player, WINS] + state.counts[1 - player, WINS] == 0
    return False


@compiled
class EvaluationPrior(NamedTuple):
    """Q + c P sqrt(N) / (1 + n), or with a progressive bias Q + c sqrt(ln N / n) + b P / (1 + n).

    N and n are the visits of the node and the child, Q the child's mean reward in [0, 1], and P its
    prior: its points, of both sides, to the power of `sharpness`, as a share of its siblings'. An
    unvisited child has the evaluation of the position before it, less `fpu`. The first form is that
    of RHMCTS (Zhang and Xie 2019, after Silver et al. 2017), the second that of Chaslot et al.
    (2008, section 4.1). With `widening` only the best ``widening * N ** growth`` children are
    looked at (progressive widening: Coulom 2007; Chaslot et al. 2008, section 4.2).
    """

    c: float = 0.5
    bias: float = 0.0
    """The weight b; 0 for the first form."""
    fpu: float = 0.0
    widening: float = 0.0
    growth: float = 0.5
    defend: float = 0.5
    sharpness: float = 0.5
    scale: float = SCALE
    heuristics: int = ALL_BITS
    """Which heuristics the candidates are found by."""
    forks: int = ALL_BITS
    """Which of them add to the points."""
    is_sound: bool = True
    """Whether what is urgent is all that matters."""

    update = no_update
    needs_moves = no_moves
    with_memory = no_memory
    tries_all_first = scored_first
    new_extras = new_prior_extras
    initialise = take_evaluation

    def is_whole(self, tree: Tree, node: int) -> bool:
        """See `PriorExtras.whole`."""
        return tree.extras.whole[node]

    def prepare(self, tree: Tree, node: int) -> tuple[float, float, int]:
        visits = tree.visits[node]
        weight = self.c * (math.sqrt(visits) if self.bias == 0.0 else sqrt_log(visits))
        allowed = int(tree.child_count[node])
        if self.widening > 0.0:
            allowed = max(1, int(self.widening * math.pow(visits, self.growth)))
        return weight, tree.extras.worth[node] - self.fpu, allowed

    def score(self, tree: Tree, child: int, prepared: tuple[float, float, int]) -> float:
        weight, unvisited, allowed = prepared
        if tree.extras.rank[child] >= allowed:
            return -np.inf
        visits = tree.visits[child]
        mean = tree.value[child] if visits > 0 else unvisited
        share = tree.extras.prior[child] / (1.0 + visits)
        if self.bias == 0.0:
            return mean + weight * share
        return mean + weight * (tree.spread[child] if visits > 0 else 1.0) + self.bias * share
