"""Monte-Carlo tree search, written once (Coulom 2006; Kocsis and Szepesvari 2006).

A simulation copies the root position and

1. *descends*: in every node it goes to the child that the selection rule scores highest, until it
   reaches one that has not been visited before;
2. *expands*: a leaf that is reached for the second time gets its children;
3. *plays out*: the playout policy plays from the leaf to the end;
4. *backs up*: every node on the path counts the reward of the player who chose it.

`search` runs interpreted, over our games and over the adapter of any other environment, and it is
what numba compiles. A variant of the search is another set of small values (`Variant`).
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.playout import Playout
from agents.search.reward import Reward
from agents.search.selection import Selection
from agents.search.tree import ROOT, Tree, add_node, expand, record_visit
from hexenv.compiled import CompiledFunction, compiled, inlined_kernel, kernel


@compiled
class Variant(NamedTuple):
    """A variant of the search: how it selects, how it plays out, what an end is worth."""

    selection: Selection
    playout: Playout
    reward: Reward


@inlined_kernel
def select_child(tree: Tree, node: int, selection: Any) -> int:
    """The first child that has never been visited, else the one with the highest score."""
    first = tree.first_child[node]
    count = tree.child_count[node]
    visited = tree.visits[node] - 1  # all but the simulation that first reached the node
    if visited < count:
        return first + visited
    prepared = selection.prepare(tree, node)
    best = first
    best_score = -np.inf
    for child in range(first, first + count):
        score = selection.score(tree, child, prepared)
        if score > best_score:
            best_score = score
            best = child
    return best


@inlined_kernel
def descend(
    game: Any,
    state: Any,
    tree: Tree,
    selection: Any,
    rng: np.random.Generator,
    buffer: NDArray[np.int32],
    path: NDArray[np.int32],
    players: NDArray[np.int8],
) -> int:
    """Play `state` down to a leaf, and expand on the way.

    Args:
        game: The game.
        state: The root position, overwritten.
        tree: The tree.
        selection: The selection rule.
        rng: The stream of the search.
        buffer: ``(num_actions(),)`` of scratch space.
        path: Receives the nodes below the root, in order.
        players: Receives the player who chose each of them.

    Returns:
        The length of the path.
    """
    node = ROOT
    depth = 0
    while depth < path.size:
        if tree.child_count[node] == 0:
            is_new = tree.visits[node] == 0
            if is_new or not expand(game, state, tree, node, buffer, rng):
                break
        node = select_child(tree, node, selection)
        path[depth] = node
        players[depth] = game.to_play(state)
        depth += 1
        game.step(state, int(tree.action[node]))
    return depth


@inlined_kernel
def back_up(
    tree: Tree,
    path: NDArray[np.int32],
    players: NDArray[np.int8],
    depth: int,
    first_reward: float,
    second_reward: float,
) -> None:
    """Count a simulation in every node on its path, for the player who chose the node."""
    tree.visits[ROOT] += 1
    for i in range(depth):
        record_visit(tree, path[i], first_reward if players[i] == 0 else second_reward)


@kernel
def search(
    game: Any,
    root: Any,
    state: Any,
    tree: Tree,
    variant: Variant,
    simulations: int,
    rng: np.random.Generator,
) -> None:
    """Run simulations from a position. Calling again with the same tree goes on where it stopped.

    Args:
        game: The game, or the adapter of a foreign environment.
        root: The position to search; not changed.
        state: A state to work in.
        tree: The tree; an empty one gets its root and the root's children first.
        variant: The composition.
        simulations: How many.
        rng: The stream of random numbers, the only source of chance.
    """
    buffer = np.empty(game.num_actions(), np.int32)
    path = np.empty(game.max_plies(), np.int32)
    players = np.empty(game.max_plies(), np.int8)
    if tree.node_count[0] == 0:
        add_node(tree, -1, 1)
        expand(game, root, tree, ROOT, buffer, rng)
    for _ in range(simulations):
        game.copy(root, state)
        depth = descend(game, state, tree, variant.selection, rng, buffer, path, players)
        variant.playout.simulate(game, state, rng, buffer)
        first_reward = variant.reward.shape(game, state, 0)
        second_reward = variant.reward.shape(game, state, 1)
        back_up(tree, path, players, depth, first_reward, second_reward)


compiled_search: Final = CompiledFunction(search)
