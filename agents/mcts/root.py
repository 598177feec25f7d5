"""What the trees of a search say of the root's actions, and which of these to play."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import Statistics, marked
from agents.search import graph
from agents.search.foreign import View
from agents.search.puct import EvaluatedExtras
from agents.search.tree import ROOT, UNPROVEN, Tree, children

FINAL_MOVES: Final = ("visits", "value", "lcb")


def is_decided(tree: Tree, simulations: int) -> bool:
    """Whether the most visited action stays so, whatever so many simulations bring.

    Proven losses are not played, as long as there is something else.
    """
    below = children(tree, ROOT)
    visits = np.sort(tree.visits[below][tree.proof[below] != -1])
    return len(visits) < 2 or bool(visits[-1] - visits[-2] > simulations)


# ---- what the trees say --------------------------------------------------------------------------


class RootActions(NamedTuple):
    """What the trees of a search say together of the root's actions, in ascending order."""

    actions: NDArray[np.int32]
    visits: NDArray[np.int64]
    value: NDArray[np.float64]
    """Mean reward, 0 to 1, for the player to move; 0 where there was no visit."""
    proof: NDArray[np.int8]


def root_actions(trees: Sequence[Tree]) -> RootActions:
    """Add up the roots of trees over the same position."""
    every = [children(tree, ROOT) for tree in trees]
    orders = [np.argsort(tree.action[below]) for tree, below in zip(trees, every, strict=True)]

    def stacked(name: str) -> NDArray[Any]:
        found = zip(trees, every, orders, strict=True)
        return np.stack([getattr(tree, name)[below][order] for tree, below, order in found])

    visits = stacked("visits").astype(np.int64)
    total = visits.sum(axis=0)
    value = (stacked("value") * visits).sum(axis=0) / np.maximum(total, 1)
    if len(trees) == 1:
        value = np.where(total > 0, stacked("value")[0], 0)
    proofs = stacked("proof")
    known = np.where(proofs == UNPROVEN, -2, proofs).max(axis=0)
    proof = np.where(known == -2, UNPROVEN, known).astype(np.int8)
    return RootActions(stacked("action")[0], total, value, proof)


def root_statistics(
    trees: Sequence[Tree], line: list[int], view: View, simulations: int, seconds: float
) -> Statistics:
    """What the trees say of the root's actions, beside the best line from there."""
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
    priors = root_priors(trees, num_actions)
    found = Statistics(visits, values, line, simulations, seconds, proven, priors)
    return marked(found, view.assumed)


def root_priors(trees: Sequence[Tree], num_actions: int) -> NDArray[np.float64] | None:
    """The evaluator's priors of the root's actions, as `Statistics` has them."""
    if not isinstance(trees[0].extras, EvaluatedExtras):
        return None
    priors = np.zeros(num_actions, np.float64)
    for tree in trees:
        below = children(tree, ROOT)
        priors[tree.action[below]] += tree.extras.prior[below] / len(trees)
    return priors


def line_statistics(line: list[int], num_actions: int, seconds: float) -> Statistics:
    """What there is to say where a line that wins was found without a search of trees."""
    visits, values = np.zeros(num_actions, np.int64), np.zeros(num_actions)
    visits[line[0]], values[line[0]] = 1, 1.0
    return Statistics(visits, values, line, 0, seconds, proven=1)


def principal_variation(tree: Tree, target: NDArray[np.int32] | None = None) -> list[int]:
    """The line of the most visited actions from the root.

    Args:
        tree: The tree.
        target: Of a graph: where each edge leads, `agents.search.graph.Graph.target`.
    """
    line: list[int] = []
    node = ROOT
    while tree.child_count[node] > 0:
        below = children(tree, node)
        found = RootActions(
            tree.action[below],
            tree.visits[below].astype(np.int64),
            tree.value[below],
            tree.proof[below],
        )
        node = below.start + best_of(found, "visits")
        if tree.visits[node] == 0:
            break
        line.append(int(tree.action[node]))
        if target is not None:
            node = int(target[node])
            if node == graph.NOWHERE:
                break
    return line


def choose(trees: Sequence[Tree], final_move: str) -> int:
    """The root action to play."""
    root = root_actions(trees)
    return int(root.actions[best_of(root, final_move)])


def best_of(root: RootActions, final_move: str) -> int:
    """The best action by one of `FINAL_MOVES`; ties go to the value, then to the lower action.

    Among proven losses only, the same rule chooses: by visits, the one that was hardest to refute.
    """
    if final_move == "value":
        merit = np.where(root.visits > 0, root.value, -1.0)
    elif final_move == "lcb":
        lower = wilson_interval(np.clip(root.value, 0, 1), np.maximum(root.visits, 1))[0]
        merit = np.where(root.visits > 0, lower, -1.0)
    else:
        merit = root.visits
    proven = np.where(np.abs(root.proof) == 1, root.proof, 0)
    if (root.proof != UNPROVEN).all():
        proven = root.proof  # a draw is the best there is
    return int(np.lexsort((-root.actions, root.value, merit, proven))[-1])


def wilson_interval(mean: Any, count: Any, z: float = 1.96) -> tuple[Any, Any]:
    """Confidence interval of a mean of numbers in [0, 1] (Wilson 1927); 95 % by default.

    Args:
        mean: The mean, a number or an array.
        count: Of how many.
        z: Quantile of the normal distribution.

    Returns:
        Lower and upper end.
    """
    centre = mean + z * z / (2 * count)
    half = z * np.sqrt(mean * (1 - mean) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return np.maximum((centre - half) / scale, 0.0), np.minimum((centre + half) / scale, 1.0)
