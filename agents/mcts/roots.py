"""What trees say of their root: the visits and values of its actions, and the best of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import Statistics, with_assumption
from agents.search.roots import root_actions
from agents.search.tree import ROOT, UNPROVEN, Tree, child_by_action, children

if TYPE_CHECKING:
    from agents.planning.environment import View


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
    proven = root.outcome()
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
        action = root_actions([tree], node).best("visits")
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
