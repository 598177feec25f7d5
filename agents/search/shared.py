"""The search of one tree by several threads at once (Chaslot, Winands and van den Herik 2008).

It is `agents.search.mcts.search` with three differences.

* *Virtual loss*: a simulation counts as a lost visit of every node it goes down to, and its reward
  is added when it is known. So the others prefer other nodes meanwhile.
* No locks (Enzenberger and Mueller 2009): visits are counted atomically, but values, and what a
  selection rule keeps in the tree, are not: where two threads write the same number at once, one
  of the two rewards may be lost.
* The children of a node change under the protection of a number, its *version*: 0 before it has
  children, odd while a thread gives it children or more of them, and another even number whenever
  it has done so. What is read between two looks at the same even version belongs together. Who
  meets an odd one does not wait, but takes the node for a leaf.

So a node gets its children once, no node number is given out twice, and who sees a node sees what
was written for it. Where children move to a larger block, their old nodes stay as they are for the
threads that are among them; a visit counted there in the meantime is lost, and so is a proof, but
it is found again: a simulation that ends in a proven node proves all that follows from it.

A thread has its own state, `Simulation`, random stream, and memory of the variant's parts
(`with_memory`: tables of MAST, good replies); it has the tree's arrays, a rule's extras among them,
together with the others.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.mcts import BLOCK, NO_CHILD, Variant, prove_root
from agents.search.proofs import best_proof, prove
from agents.search.simulation import Simulation
from agents.search.tree import (
    FEW_ACTIONS,
    FIRST_CHILDREN,
    GROWTH,
    MORE_TO_COME,
    ROOT,
    UNPROVEN,
    Tree,
    add_node,
    draw_children,
    is_partial,
    move_node,
)
from hexenv.compiled import CompiledFunction, compiled, inlined_kernel, kernel
from hexenv.compiled_atomics import (
    add_atomically,
    compare_and_swap,
    load_in_order,
    store_in_order,
)
from hexenv.games.base import Game, State, score_of

MOST_MOVES: Final = 4
"""How often the children of a node move at most, with up to 1,024 actions (`GROWTH`)."""


@compiled
class SharedNodes(NamedTuple):
    """What threads that share a tree have besides it, in common."""

    version: NDArray[np.int32]
    """``(N,)``: see above."""
    nodes_taken: NDArray[np.int32]
    """``(1,)``: nodes in use, by all. (A thread's own `Tree.node_count` is scratch space.)"""
    has_virtual_loss: bool = True
    """Whether visits are counted on the way down; without, one thread gives the plain search."""


def shared_nodes(tree: Tree, has_virtual_loss: bool = True) -> SharedNodes:
    """What threads need to share a tree that nobody is searching. Plain Python."""
    version = np.empty(len(tree.action), np.int32)
    return renewed(SharedNodes(version, tree.node_count, has_virtual_loss), tree)


def renewed(shared: SharedNodes, tree: Tree) -> SharedNodes:
    """The same, after the tree has changed. Plain Python."""
    count = int(tree.node_count[0])
    shared.version[:count] = 2 * (tree.child_count[:count] > 0)
    return shared._replace(nodes_taken=tree.node_count)


def tree_of_thread(tree: Tree) -> Tree:
    """The tree as one of the threads has it. Plain Python."""
    return tree._replace(node_count=np.zeros(1, np.int32))


# ---- nodes ---------------------------------------------------------------------------------------


@inlined_kernel
def take_nodes(tree: Tree, shared: SharedNodes, size: int) -> bool:
    """Take new nodes, which this thread can then add; False if there are not so many."""
    while True:
        first = load_in_order(shared.nodes_taken, 0)
        if first + size > tree.action.size:
            return False
        if compare_and_swap(shared.nodes_taken, 0, first, first + size):
            tree.node_count[0] = first
            for node in range(first, first + size):
                shared.version[node] = 0
            return True


@kernel
def expand_shared(
    game: Game,
    state: State,
    tree: Tree,
    shared: SharedNodes,
    node: int,
    variant: Variant,
    simulation: Simulation,
    rng: np.random.Generator,
    grows: bool,
) -> bool:
    """`agents.search.tree.expand`, and the rule's part; False also if another thread is at it."""
    if not compare_and_swap(shared.version, node, 0, 1):
        return False
    buffer = simulation.actions
    count = variant.knowledge.list_actions(game, state, rng, buffer)
    size = FIRST_CHILDREN if grows and count > FEW_ACTIONS else count
    done = count > 0 and take_nodes(tree, shared, size)
    if done:
        first = tree.node_count[0]
        draw_children(tree, buffer, 0, size, count, rng)
        tree.first_child[node], tree.child_count[node] = first, size
        variant.selection.initialise(game, state, tree, node)
    store_in_order(shared.version, node, 2 if done else 0)
    return done


@kernel
def grow_shared(
    game: Game,
    state: State,
    tree: Tree,
    shared: SharedNodes,
    node: int,
    version: int,
    variant: Variant,
    simulation: Simulation,
    rng: np.random.Generator,
) -> int:
    """`agents.search.mcts.add_children` of a node that still has a version.

    Returns:
        Its last child before, or `NO_CHILD`: the tree is full, or others have changed the node.
    """
    if not compare_and_swap(shared.version, node, version, version + 1):
        return NO_CHILD
    buffer = simulation.actions
    first, old = tree.first_child[node], tree.child_count[node]
    size = game.num_actions() if node == ROOT else GROWTH * old
    count = variant.knowledge.list_actions(game, state, rng, buffer)
    known = put_known_first(tree, first, old, buffer, count)
    more = min(size - old, count - known)
    if not take_nodes(tree, shared, old + more):
        store_in_order(shared.version, node, version)
        return NO_CHILD
    place = tree.node_count[0]
    for child in range(first, first + old):
        move_shared(tree, shared, child)
    draw_children(tree, buffer, known, known + more, count, rng)
    # For the rule, the new children are all there are.
    tree.first_child[node], tree.child_count[node] = place + old, more
    variant.selection.initialise(game, state, tree, node)
    tree.first_child[node], tree.child_count[node] = place, old + more
    store_in_order(shared.version, node, version + 2)
    return place + old - 1


@inlined_kernel
def move_shared(tree: Tree, shared: SharedNodes, node: int) -> None:
    """`move_node` of a node that other threads may be giving children: then it waits for them.

    They wait only for nodes below it, so nobody waits for ever.
    """
    place = tree.node_count[0]
    while True:
        version = load_in_order(shared.version, node)
        if version % 2 == 0:
            tree.node_count[0] = place
            move_node(tree, node)
            if load_in_order(shared.version, node) == version:
                shared.version[place] = version
                return


@inlined_kernel
def begin_visit(tree: Tree, shared: SharedNodes, node: int) -> int:
    """Count a simulation in a node as a loss, for the time being; returns the visits before."""
    if not shared.has_virtual_loss:
        return int(tree.visits[node])
    before = int(add_atomically(tree.visits, node, 1))
    share = 1.0 / (before + 1)
    tree.value[node] -= tree.value[node] * share
    tree.spread[node] = math.sqrt(share)
    return before


@inlined_kernel
def end_visit(tree: Tree, shared: SharedNodes, node: int, reward: float) -> None:
    """Add the reward of a simulation in a node on its path."""
    if shared.has_virtual_loss:
        if reward > 0.0:  # above 1 the mean could be after a race alone
            tree.value[node] = min(tree.value[node] + reward / tree.visits[node], 1.0)
    else:
        share = 1.0 / (add_atomically(tree.visits, node, 1) + 1)
        tree.value[node] += (reward - tree.value[node]) * share
        tree.spread[node] = math.sqrt(share)


# ---- children ------------------------------------------------------------------------------------

# These say again what `agents.search.mcts` and `grow` do, of children that were read under one
# version. When the plain search called such functions too, its code became 2 % slower in Hex.


@inlined_kernel
def next_of(tree: Tree, node: int, first: int, count: int) -> int:
    """`agents.search.mcts.next_child` of a node with `count` children from `first` on."""
    if tree.spread[first + count - 1] > 0.0:
        return NO_CHILD
    child = first + min(tree.visits[node] - 1, count - 1)
    while child > first and tree.visits[child - 1] == 0:
        child -= 1
    return child


@inlined_kernel
def best_of(
    tree: Tree, node: int, first: int, count: int, variant: Variant, rng: np.random.Generator
) -> int:
    """`agents.search.mcts.best_child` among `count` children of a node from `first` on."""
    is_quick = variant.selection.tries_all_first()
    prepared = variant.selection.prepare(tree, node, rng)
    last = first + count
    best, best_score = first, -np.inf
    middle = first + count % BLOCK if is_quick else last
    for child in range(first, middle):
        score = variant.selection.score(tree, child, prepared)
        if score > best_score and not variant.solver.skips(tree, child):
            best_score = score
            best = child
    if is_quick:
        for start in range(middle, last, BLOCK):
            has_better = False
            for child in range(start, start + BLOCK):
                score = variant.selection.score(tree, child, prepared)
                has_better |= score > best_score and not variant.solver.skips(tree, child)
            if has_better:
                for child in range(start, start + BLOCK):
                    score = variant.selection.score(tree, child, prepared)
                    if score > best_score and not variant.solver.skips(tree, child):
                        best_score = score
                        best = child
    return best


@inlined_kernel
def put_known_first(tree: Tree, first: int, old: int, buffer: NDArray[np.int32], count: int) -> int:
    """Bring the actions that have children to the front of the buffer; returns how many."""
    known = 0
    for child in range(first, first + old):
        for i in range(known, count):
            if buffer[i] == tree.action[child]:
                buffer[i] = buffer[known]
                buffer[known] = tree.action[child]
                known += 1
                break
    return known


# ---- proofs --------------------------------------------------------------------------------------


@kernel
def back_up_shared_proof(
    tree: Tree, shared: SharedNodes, variant: Variant, simulation: Simulation
) -> None:
    """`agents.search.proofs.back_up_proof`, by children that belong together."""
    for ply in range(simulation.depth[0] - 1, -1, -1):
        node = ROOT if ply == 0 else simulation.path[ply - 1]
        version = load_in_order(shared.version, node)
        first, count = tree.first_child[node], tree.child_count[node]
        if version % 2 == 1 or load_in_order(shared.version, node) != version:
            return
        outcome = best_proof(tree, variant, node, first, count)
        if outcome == UNPROVEN or load_in_order(shared.version, node) != version:
            return
        mover = simulation.players[ply]
        chooser = 1 - mover if ply == 0 else simulation.players[ply - 1]
        prove(tree, node, outcome, mover == chooser)


@inlined_kernel
def is_settled_shared(
    game: Game,
    state: State,
    tree: Tree,
    shared: SharedNodes,
    leaf: int,
    variant: Variant,
    simulation: Simulation,
) -> bool:
    """`agents.search.mcts.is_settled`; what follows from a proven leaf is proven once more."""
    depth = simulation.depth[0]
    if variant.solver.proves() and tree.proof[leaf] != UNPROVEN and depth > 0:
        proof = tree.proof[leaf]
        simulation.result[0] = proof if simulation.players[depth - 1] == 0 else -proof
        back_up_shared_proof(tree, shared, variant, simulation)
        return True
    if game.is_terminal(state) or variant.knowledge.decides(game, state):
        simulation.result[0] = score_of(game, state, 0)
        if variant.solver.proves() and depth > 0:
            tree.plies_left[leaf] = 0
            tree.proof[leaf] = game.outcome(state, int(simulation.players[depth - 1]))
            back_up_shared_proof(tree, shared, variant, simulation)
        return True
    return False


# ---- a simulation --------------------------------------------------------------------------------


@inlined_kernel
def descend_shared(
    game: Game,
    state: State,
    tree: Tree,
    shared: SharedNodes,
    variant: Variant,
    simulation: Simulation,
    rng: np.random.Generator,
) -> int:
    """`agents.search.mcts.descend`, which counts the visits that it begins."""
    all_first = variant.selection.tries_all_first()
    node = ROOT
    visits = 1  # of the node, before this one
    depth = 0
    while depth < min(simulation.path.size, variant.max_depth):
        if visits == 0:
            break
        version = load_in_order(shared.version, node)
        if version == 0:
            grows = all_first and node != ROOT
            if expand_shared(game, state, tree, shared, node, variant, simulation, rng, grows):
                version = 2
        if version == 0 or version % 2 == 1:
            break
        first, count = tree.first_child[node], int(tree.child_count[node])
        if load_in_order(shared.version, node) != version:
            break
        child = next_of(tree, node, first, count) if all_first else NO_CHILD
        if child != NO_CHILD and tree.first_child[child] == MORE_TO_COME:
            child = grow_shared(game, state, tree, shared, node, version, variant, simulation, rng)
            count -= 1  # the last one waits for the others
        if child == NO_CHILD:
            child = best_of(tree, node, first, count, variant, rng)
        node = child
        action = int(tree.action[node])
        visits = begin_visit(tree, shared, node)
        simulation.path[depth] = node
        simulation.players[depth] = game.to_play(state)
        if simulation.recorded:
            simulation.cells[depth] = game.cell_of(state, action)
        depth += 1
        game.step(state, action)
        if variant.solver.proves() and tree.proof[node] != UNPROVEN:
            break
    simulation.depth[0] = depth
    simulation.length[0] = depth
    return node


@kernel
def follow_moves(tree: Tree, shared: SharedNodes, simulation: Simulation) -> None:
    """Find the nodes on the path again that have moved meanwhile."""
    node = ROOT
    for ply in range(simulation.depth[0]):
        version = load_in_order(shared.version, node)
        first, count = tree.first_child[node], tree.child_count[node]
        if version % 2 == 1 or load_in_order(shared.version, node) != version:
            return
        old = simulation.path[ply]
        if old < first or old >= first + count:
            for child in range(first, first + count):
                if tree.action[child] == tree.action[old]:
                    simulation.path[ply] = child
        node = simulation.path[ply]


@inlined_kernel
def back_up_shared(
    tree: Tree, shared: SharedNodes, variant: Variant, simulation: Simulation
) -> None:
    """`agents.search.mcts.back_up`."""
    add_atomically(tree.visits, ROOT, 1)
    outcome = simulation.result[0]
    length = simulation.length[0]
    for i in range(simulation.depth[0]):
        player = simulation.players[i]
        own_outcome = outcome if player == 0 else -outcome
        reward = variant.reward.shape(own_outcome, player, length - i - 1, length)
        simulation.rewards[i] = reward
        end_visit(tree, shared, simulation.path[i], reward)


@kernel
def begin_sharing(
    game: Game,
    root: State,
    state: State,
    tree: Tree,
    shared: SharedNodes,
    variant: Variant,
    simulation: Simulation,
    rng: np.random.Generator,
) -> None:
    """Give the root all its children, before several threads search."""
    game.copy(root, state)
    if shared.nodes_taken[0] > 0 and is_partial(tree, ROOT):
        version = shared.version[ROOT]
        grow_shared(game, state, tree, shared, ROOT, version, variant, simulation, rng)
        if is_partial(tree, ROOT):
            shared.nodes_taken[0] = 0  # all is forgotten: the root's children do not fit in
    if shared.nodes_taken[0] == 0:
        take_nodes(tree, shared, 1)
        add_node(tree, -1, 1)
    if shared.version[ROOT] == 0:
        expand_shared(game, state, tree, shared, ROOT, variant, simulation, rng, False)
    prove_root(tree, variant)


@kernel
def search_shared(
    game: Game,
    root: State,
    state: State,
    tree: Tree,
    shared: SharedNodes,
    variant: Variant,
    simulation: Simulation,
    simulations: int,
    rng: np.random.Generator,
) -> int:
    """Run simulations from a position in a tree that other threads search at the same time.

    One call, with any number of simulations, has to end before the others begin.

    Args:
        game: The game, or the adapter of a foreign environment.
        root: The position to search; not changed.
        state: A state to work in; this thread's own.
        tree: The tree as `tree_of_thread` gives it to this thread.
        shared: What all threads have besides; see `shared_nodes`.
        variant: The composition, with memory for the game; this thread's own.
        simulation: Its arrays are worked in; this thread's own.
        simulations: How many to run.
        rng: The stream of random numbers; this thread's own.

    Returns:
        How many this thread has run; a proven root ends the search.
    """
    if shared.nodes_taken[0] == 0 or shared.version[ROOT] == 0 or is_partial(tree, ROOT):
        begin_sharing(game, root, state, tree, shared, variant, simulation, rng)
    for done in range(simulations):
        if variant.solver.proves() and tree.proof[ROOT] != UNPROVEN:
            return done
        game.copy(root, state)
        leaf = descend_shared(game, state, tree, shared, variant, simulation, rng)
        if not is_settled_shared(game, state, tree, shared, leaf, variant, simulation):
            simulation.result[0] = variant.playout.simulate(
                game, state, rng, simulation.actions, simulation
            )
        if variant.selection.tries_all_first() and game.num_actions() > FEW_ACTIONS:
            follow_moves(tree, shared, simulation)
        back_up_shared(tree, shared, variant, simulation)
        variant.selection.update(tree, simulation)
        variant.playout.update(tree, simulation)
        variant.reward.update(tree, simulation)
    return simulations


compiled_search_shared: Final = CompiledFunction(search_shared)
