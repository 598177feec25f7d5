"""What trees say of their root: the visits and values of its actions, and the best of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import Statistics, with_assumption
from agents.search.proofs import MOST_PLIES
from agents.search.selection import wilson_interval
from agents.search.tree import ROOT, UNPROVEN, Tree, child_by_action, children

if TYPE_CHECKING:
    from agents.planning.environment import View


class RootActions(NamedTuple):
    """A position's actions, in ascending order, and the sums over all trees."""

    actions: NDArray[np.int32]
    visits: NDArray[np.int64]
    value: NDArray[np.float64]
    """Mean reward, 0 to 1, for the player to move; 0 where there was no visit."""
    proof: NDArray[np.int8]
    rank: NDArray[np.int32]
    """See `agents.search.proofs.proof_rank`."""


def root_actions(trees: Sequence[Tree], node: int = ROOT) -> RootActions:
    """Add up the roots of trees over the same position, or take one node of one tree."""
    several = [_actions_of(tree, node) for tree in trees]
    if len(several) == 1:
        return several[0]
    actions = several[0].actions
    visits, values, proofs, ranks = (
        np.stack(each) for each in list(zip(*several, strict=True))[1:]
    )
    total = visits.sum(axis=0)
    value = (values * visits).sum(axis=0) / np.maximum(total, 1)
    known = np.where(proofs == UNPROVEN, -2, proofs).max(axis=0)
    proof = np.where(known == -2, UNPROVEN, known).astype(np.int8)
    wins, losses = ranks.max(axis=0), ranks.min(axis=0)
    return RootActions(actions, total, value, proof, np.where(wins > 0, wins, losses))


def _actions_of(tree: Tree, node: int) -> RootActions:
    below = children(tree, node)
    order = np.argsort(tree.action[below]) + below.start
    visits = tree.visits[order]
    value = np.where(visits > 0, tree.value[order], 0.0)
    proof = tree.proof[order]
    rank = np.zeros(len(order), np.int32)
    if (has_winner := np.abs(proof) == 1).any():
        rank[has_winner] = (proof * (MOST_PLIES - tree.plies_left[order]))[has_winner]
    return RootActions(tree.action[order], visits.astype(np.int64), value, proof, rank)


def root_statistics(
    trees: Sequence[Tree], line: list[int], view: "View", simulations: int, seconds: float
) -> Statistics:
    """The trees' statistics of the root's actions, with the best line from there."""
    root = root_actions(trees)
    num_actions = view.game.num_actions()
    visits = np.zeros(num_actions, np.int64)
    values = np.zeros(num_actions, np.float64)
    visits[root.actions] = root.visits
    values[root.actions] = np.where(root.visits > 0, 2 * root.value - 1, 0)
    known = root.proof != UNPROVEN
    values[root.actions[known]] = root.proof[known]
    proven = None
    if (root.proof == 1).any() or (root.proof != UNPROVEN).all():
        proven = int(np.where(root.proof == UNPROVEN, -1, root.proof).max())
    exact: list[int] = root.actions[known].tolist()
    found = Statistics(visits, values, line, simulations, seconds, proven, proven_actions=exact)
    return with_assumption(found, view.assumed)


def statistics_of_win(line: list[int], num_actions: int, seconds: float) -> Statistics:
    """Those of a line that wins, found without a search."""
    visits, values = np.zeros(num_actions, np.int64), np.zeros(num_actions)
    visits[line[0]] = values[line[0]] = 1
    return Statistics(visits, values, line, 0, seconds, proven=1, proven_actions=line[:1])


def principal_variation(tree: Tree, target: NDArray[np.int32] | None = None) -> list[int]:
    """The line of the most visited actions from the root; of a graph by where its edges lead."""
    line: list[int] = []
    node = ROOT
    while node >= 0 and tree.child_count[node] > 0:
        action = choose([tree], "visits", node)
        node = cast("int", child_by_action(tree, node, action))
        if tree.visits[node] == 0:
            break
        line.append(action)
        node = node if target is None else int(target[node])
    return line


def is_decided(tree: Tree, simulations: int) -> bool:
    """Whether the most visited action stays the same through a number of further simulations.

    Proven losses are not played, as long as there is something else.
    """
    below = children(tree, ROOT)
    visits = np.sort(tree.visits[below][tree.proof[below] != -1])
    return len(visits) < 2 or bool(visits[-1] - visits[-2] > simulations)


def choose(trees: Sequence[Tree], final_move: str, node: int = ROOT) -> int:
    """The best action by one of `FINAL_MOVES`; ties go to the value, then to the lower action.

    Of proven wins it is the shortest, of proven losses the longest; of those of the same length the
    same rule chooses.
    """
    root = root_actions(trees, node)
    if final_move == "value":
        merit = np.where(root.visits > 0, root.value, -1.0)
    elif final_move == "lcb":
        lower = wilson_interval(np.clip(root.value, 0, 1), np.maximum(root.visits, 1))[0]
        merit = np.where(root.visits > 0, lower, -1.0)
    else:
        merit = root.visits
    best = np.arange(len(root.actions))
    for key in (root.rank, merit, root.value):
        of_best = key[best]
        best = best[of_best == of_best.max()]
    return int(root.actions[best[0]])
