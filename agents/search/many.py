"""Many searches in one call: of each position the tree so far, the search, and the best action.

The results are those of an agent for each position (`agents.mcts.tree_search`).
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.mcts import search
from agents.search.roots import best_action, root_value
from agents.search.tree import MORE_TO_COME, ROOT, UNPROVEN, Tree, copy_node
from hexenv.compiled import CompiledFunction, kernel
from hexenv.compiled.packing import unpacked
from hexenv.games.base import Game
from hexenv.games.table import GameTable, Which, copy_game

NOT_READY: Final = -2
"""In place of an action: the tree has no room, or the variant needs fresh memory."""


# ---- one tree ------------------------------------------------------------------------------------


@kernel
def keep_nodes_below(
    tree: Tree, numbers: tuple[NDArray[np.int32], ...], node: int, places: NDArray[np.int32]
) -> None:
    """Make a node the root, as `agents.search.tree.keep_subtree` does.

    `numbers` are the tree's `number_arrays`, and `places` is scratch space for all nodes.
    """
    count = tree.node_count[0]
    places[:count] = -1
    places[node] = last = at = node
    while at >= 0:  # a queue of what is kept: each leads to the next
        first = tree.first_child[at]
        for child in range(first, first + tree.child_count[at]):
            places[last] = child
            places[child] = last = child
        at = places[at] if at != last else -1
    copy_node(tree, node, ROOT)
    kept = 1
    for old in range(1, count):
        if places[old] >= 0 and old != node:
            copy_node(tree, old, kept)
            places[old] = kept
            kept += 1
    places[node] = ROOT
    for array in numbers:
        for new in range(kept):
            if array[new] != MORE_TO_COME:
                is_kept = 0 <= array[new] < count and places[array[new]] >= 0
                array[new] = places[array[new]] if is_kept else ROOT
    tree.node_count[0] = kept
    tree.proof[ROOT] = UNPROVEN  # until the search has looked at its children


@kernel
def visited_node(tree: Tree, actions: NDArray[np.int32], start: int, stop: int) -> int:
    """The node that ``actions[start:stop]`` lead to; -1 if it is not there, or without a visit."""
    node = ROOT
    for i in range(start, stop):
        first = tree.first_child[node]
        found = -1
        for child in range(first, first + tree.child_count[node]):
            if tree.action[child] == actions[i]:
                found = child
        if found == -1 or tree.visits[found] == 0:
            return -1
        node = found
    return node


# ---- many positions ------------------------------------------------------------------------------


class Positions(NamedTuple):
    """The positions to search, those searched last, and what was made of each."""

    table: GameTable  # of N games, with the positions to search
    searched: GameTable  # the games as they were when last searched
    states: Any  # (N,): to work in
    which: Which  # (n,): the numbers of the games to search
    ready: NDArray[np.bool_]  # (N,): whether tree and memory are ready to search the position


@kernel
def is_continued(game: Game, positions: Positions, number: int) -> bool:
    """Whether a position comes after the one searched last; that one is played on in `states`."""
    table, last, state = positions.table, positions.searched, positions.states[number]
    start, stop = last.lengths[number], table.lengths[number]
    if start < 0 or stop < start:
        return False
    for i in range(start):
        if table.actions[number, i] != last.actions[number, i]:
            return False
    game.copy(last.states[number], state)
    for i in range(start, stop):
        game.step(state, int(table.actions[number, i]))
    root = table.states[number]
    same = game.position_hash(state) == game.position_hash(root)
    return same and state.ply == root.ply


class TreeUse(NamedTuple):
    """How trees are used again."""

    places: NDArray[np.int32]  # scratch space for the nodes of a tree
    room: int  # by how many nodes a search may grow its tree
    reuse: bool  # whether to go on with a tree where it knows the position
    needs_memory: bool  # whether the variant has memory, which a new tree needs afresh


@kernel
def make_ready(
    game: Game,
    positions: Positions,
    number: int,
    tree: Tree,
    numbers: tuple[NDArray[np.int32], ...],
    use: TreeUse,
) -> bool:
    """Go on with a tree if it knows its new position, and note that; whether it can be searched."""
    if positions.ready[number]:
        return True
    table, node = positions.table, -1
    if use.reuse and tree.node_count[0] > 0 and is_continued(game, positions, number):
        start = positions.searched.lengths[number]
        node = visited_node(tree, table.actions[number], start, table.lengths[number])
    if node > ROOT:
        keep_nodes_below(tree, numbers, node, use.places)
    elif node < ROOT:
        tree.node_count[0] = 0
    copy_game(game, table, number, positions.searched)
    is_fresh = node < ROOT and use.needs_memory
    return not is_fresh and tree.node_count[0] + use.room <= tree.action.size


@kernel
def make_many_ready(game: Game, positions: Positions, trees: Any, use: TreeUse) -> None:
    """`make_ready` of many positions; `trees` has a tree and its `number_arrays` for each."""
    for i in range(positions.which.size):
        number = positions.which[i]
        tree, numbers = unpacked(trees, number)
        positions.ready[number] = make_ready(game, positions, number, tree, numbers, use)


@kernel
def act_in_many(
    game: Game,
    positions: Positions,
    trees: Any,
    searches: Any,
    streams: Any,
    use: TreeUse,
    simulations: int,
    final_move: int,
    chosen: NDArray[np.int64],
) -> None:
    """Search positions of a game, and choose an action in each.

    Args:
        game: The game.
        positions: The positions; their trees are not ready after this.
        trees: A row for each position: its tree and `number_arrays`.
        searches: Its variant and simulation.
        streams: Its stream of random numbers.
        use: See `TreeUse`.
        simulations: How many to run for each position.
        final_move: How the best action is found: an index of `agents.search.roots.FINAL_MOVES`.
        chosen: ``(n,)``: receives the actions, or `NOT_READY`.
    """
    for i in range(positions.which.size):
        number = positions.which[i]
        tree, numbers = unpacked(trees, number)
        if not make_ready(game, positions, number, tree, numbers, use):
            chosen[i] = NOT_READY
            continue
        positions.ready[number] = False
        variant, simulation = unpacked(searches, number)
        root, state = positions.table.states[number], positions.states[number]
        stream = unpacked(streams, number)[0]
        search(game, root, state, tree, variant, simulation, simulations, stream)
        chosen[i] = best_action(tree, final_move)


@kernel
def read_roots(
    which: NDArray[np.int64],
    trees: Any,
    chosen: NDArray[np.int64],
    visits: NDArray[np.int32],
    values: NDArray[np.float32],
) -> None:
    """Read what searches have found at their roots, as `agents.core.agent.Statistics` has it.

    Args:
        which: ``(n,)``: the numbers of the trees.
        trees: A row for each position: its tree and `number_arrays`.
        chosen: ``(n,)``: an action of each root.
        visits: ``(n, num_actions())``: receives the visits of its actions.
        values: ``(n,)``: receives `root_value` of the actions.
    """
    for i in range(which.size):
        tree, _ = unpacked(trees, which[i])
        visits[i] = 0
        first = tree.first_child[ROOT]
        for child in range(first, first + tree.child_count[ROOT]):
            visits[i, tree.action[child]] = tree.visits[child]
        values[i] = root_value(tree, int(chosen[i]))


compiled_act_in_many: Final = CompiledFunction(act_in_many)
compiled_read_roots: Final = CompiledFunction(read_roots)
compiled_make_many_ready: Final = CompiledFunction(make_many_ready)
