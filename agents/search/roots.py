"""What searches say of a position: its best action, and the outcome that they have proven.

The rules are kernels over sequences, an entry for each action: of arrays in machine code, for a
search in many games; of lists in plain Python, for one game, where machine code would take longer
to compile than it saves.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.proofs import MOST_PLIES, proof_rank
from agents.search.selection import wilson_interval
from agents.search.tree import ROOT, UNPROVEN, Tree, child_by_action, children
from hexenv.compiled import kernel, scratch_array
from hexenv.games.base import NO_ACTION

FINAL_MOVES: Final = ("visits", "value", "lcb")
BY_VISITS, BY_VALUE, BY_LCB = range(3)
"""How the best action is found: an index of `FINAL_MOVES`."""


@kernel
def best_place(actions: Any, visits: Any, values: Any, ranks: Any, final_move: int) -> int:
    """The place of the best action; -1 if there is none.

    Ties go to the value, then to the lower action. Of proven wins it is the shortest, of proven
    losses the longest (`proof_rank`); of those of the same length the same rule chooses.
    """
    best, best_rank, best_merit, best_value = -1, 0, 0.0, 0.0
    for place in range(len(actions)):
        rank, count = ranks[place], visits[place]
        if best >= 0 and rank < best_rank:
            continue
        value = values[place] if count > 0 else 0.0
        if final_move == BY_VISITS:
            merit = float(count)
        elif count == 0:
            merit = -1.0
        elif final_move == BY_VALUE:
            merit = value
        else:
            merit = wilson_interval(min(max(value, 0.0), 1.0), count)[0]
        if best >= 0 and rank == best_rank:
            if merit < best_merit or (merit == best_merit and value < best_value):
                continue
            if merit == best_merit and value == best_value and actions[place] > actions[best]:
                continue
        best, best_rank, best_merit, best_value = place, rank, merit, value
    return best


@kernel
def proven_outcome(proofs: Any) -> int:
    """The outcome for the player to move, or `UNPROVEN`: a win, or the best if all are proven."""
    best = -1 if len(proofs) > 0 else UNPROVEN
    for proof in proofs:
        if proof == 1:
            return 1
        best = max(best, int(proof))
    return best


# ---- of one tree ---------------------------------------------------------------------------------


@kernel
def best_action(tree: Tree, final_move: int) -> int:
    """The best action at the root, or `NO_ACTION`; see `best_place`."""
    first, count = tree.first_child[ROOT], tree.child_count[ROOT]
    last = first + count
    ranks = scratch_array(count, np.int32)
    for i in range(count):
        ranks[i] = proof_rank(tree, first + i)
    actions, visits, values = tree.action[first:last], tree.visits[first:last], tree.value
    best = best_place(actions, visits, values[first:last], ranks, final_move)
    return int(actions[best]) if best >= 0 else NO_ACTION


@kernel
def root_value(tree: Tree, chosen: int) -> float:
    """The value of the root for the player to move, -1 to 1: its outcome, or that of an action."""
    first = tree.first_child[ROOT]
    last = first + tree.child_count[ROOT]
    outcome = proven_outcome(tree.proof[first:last])
    if outcome != UNPROVEN:
        return float(outcome)
    for child in range(first, last):
        if tree.action[child] == chosen and tree.proof[child] != UNPROVEN:
            return float(tree.proof[child])
        if tree.action[child] == chosen and tree.visits[child] > 0:
            return 2.0 * tree.value[child] - 1.0
    return 0.0


# ---- of several trees over one position ----------------------------------------------------------


class RootActions(NamedTuple):
    """A position's actions, in ascending order, and the sums over all trees."""

    actions: NDArray[np.int32]
    visits: NDArray[np.int64]
    value: NDArray[np.float64]
    """Mean reward, 0 to 1, for the player to move; 0 where there was no visit."""
    proof: NDArray[np.int8]
    rank: NDArray[np.int32]
    """See `agents.search.proofs.proof_rank`."""

    def best(self, final_move: str) -> int:
        """The best action by one of `FINAL_MOVES`; see `best_place`."""
        actions, visits, values, _, ranks = (array.tolist() for array in self)
        return actions[best_place(actions, visits, values, ranks, FINAL_MOVES.index(final_move))]

    def outcome(self) -> int | None:
        """The proven outcome for the player to move, if there is one."""
        outcome = proven_outcome(self.proof.tolist())
        return None if outcome == UNPROVEN else outcome


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


# ---- what a tree says ----------------------------------------------------------------------------


def principal_variation(
    tree: Tree, target: NDArray[np.int32] | None = None, first: int | None = None
) -> list[int]:
    """The line of the most visited actions from the root; of a graph by where its edges lead.

    With a `first` action it is the line after that.
    """
    line: list[int] = []
    node = ROOT
    while node >= 0 and tree.child_count[node] > 0:
        action = root_actions([tree], node).best("visits") if first is None or line else first
        child = child_by_action(tree, node, action)
        if child is None or tree.visits[child] == 0:
            break
        line.append(action)
        node = child if target is None else int(target[child])
    return line


def is_decided(tree: Tree, simulations: int) -> bool:
    """Whether the most visited action stays the same through a number of further simulations.

    Proven losses are not played, as long as there is something else.
    """
    below = children(tree, ROOT)
    visits = np.sort(tree.visits[below][tree.proof[below] != -1])
    return len(visits) < 2 or bool(visits[-1] - visits[-2] > simulations)
