"""Monte-Carlo tree search, written once (Coulom 2006; Kocsis and Szepesvari 2006).

A simulation copies the root position and

1. *descends*: in every node it goes to the child that the selection rule scores highest, until it
   reaches one that has not been visited before, or whose outcome is proven. A node that is reached
   for the second time is *expanded*: it gets its children;
2. *evaluates* the leaf: the game is over, or its outcome is proven, or the playout policy plays on
   to the end;
3. *backs up*: every node on the path counts the reward of the player who chose it, and its value
   is the mean of them, or what the variant's backup makes of it. If the game is over, the parents
   that this proves are proven (Winands, Bjornsson and Saito 2008).

`search` runs interpreted, over the games of `hexenv` and the adapter of any other environment, and
numba compiles it. A variant of the search is a set of small values (`agents.search.variant`). How
children are stored and compared is in `agents.search.children`.
"""

from typing import Final

import numpy as np

from agents.search.children import choose_child, expand, has_all_children, is_partial
from agents.search.knowledge import is_root_due, look_if_due, look_into
from agents.search.proofs import back_up_proof, is_proven, prove_root
from agents.search.simulation import Simulation
from agents.search.tree import ROOT, Tree, add_node, record_visit
from agents.search.variant import Variant
from hexenv.compiled import NOT_NEGATIVE, CompiledFunction, inlined_kernel, kernel
from hexenv.games.base import Game, State, score_of


@kernel
def search(
    game: Game,
    root: State,
    state: State,
    tree: Tree,
    variant: Variant,
    simulation: Simulation,
    simulations: int,
    rng: np.random.Generator,
) -> int:
    """Run simulations from a position. Another call with the same tree continues the search.

    Args:
        game: The game, or the adapter of a foreign environment.
        root: The position to search; not changed.
        state: A state to work in.
        tree: The tree; an empty one gets its root and the root's children first.
        variant: The composition, with memory for the game (`with_memory`).
        simulation: Its arrays are worked in; from `simulation_for`.
        simulations: How many to run.
        rng: The stream of random numbers, the only source of chance.

    Returns:
        How many were run; a proven root ends the search.
    """
    prepare_root(game, root, state, tree, variant, simulation, rng)
    for done in range(simulations):
        if is_proven(tree, ROOT, variant):
            return done
        game.copy(root, state)
        leaf = descend(game, state, tree, variant, simulation, rng, True)
        simulate_leaf(game, state, tree, leaf, variant, simulation, rng)
    return simulations


@inlined_kernel
def descend(
    game: Game,
    state: State,
    tree: Tree,
    variant: Variant,
    simulation: Simulation,
    rng: np.random.Generator,
    expands: bool,
) -> int:
    """Play `state` from the root down to a leaf, and write the path; returns the leaf.

    `expands`: whether a leaf that has been visited before gets its children now. (A network's
    evaluation comes first: `agents.search.evaluated`.)
    """
    node, depth = ROOT, 0
    while depth < min(simulation.path.size, variant.max_depth):
        if tree.child_count[node] == 0:
            if not expands or tree.visits[node] == 0:
                break
            grows = node != ROOT and variant.selection.tries_all_first()
            if not expand(game, state, tree, node, variant, simulation, rng, grows):
                break
        node = choose_child(game, state, tree, node, variant, simulation, rng)
        play(game, state, tree, node, simulation, depth)
        depth += 1
        simulation.depth[0] = simulation.length[0] = depth
        look_if_due(game, state, tree, node, variant, simulation, rng, expands)
        if is_proven(tree, node, variant):
            break
    simulation.depth[0] = simulation.length[0] = depth
    return node


@inlined_kernel
def play(
    game: Game, state: State, tree: Tree, node: int, simulation: Simulation, depth: int
) -> None:
    """Play the action that leads to a node, and add the node to the path."""
    action = int(tree.action[node])
    simulation.path[depth] = node
    simulation.players[depth] = game.to_play(state)
    if simulation.recorded:
        simulation.cells[depth] = game.cell_of(state, action)
    game.step(state, action)


@inlined_kernel
def simulate_leaf(
    game: Game,
    state: State,
    tree: Tree,
    leaf: int,
    variant: Variant,
    simulation: Simulation,
    rng: np.random.Generator,
) -> None:
    """Find the result of a simulation that has reached a leaf, and count it."""
    exact = is_settled(game, state, tree, leaf, variant, simulation)
    if not exact:
        simulation.result[0] = variant.playout.simulate(
            game, state, rng, simulation.actions, simulation
        )
    count_simulation(tree, variant, simulation, exact)


@inlined_kernel
def is_settled(
    game: Game, state: State, tree: Tree, leaf: int, variant: Variant, simulation: Simulation
) -> bool:
    """Whether the game is over at a leaf, or its outcome proven; then the result is recorded."""
    depth = simulation.depth[0]
    if depth > 0 and is_proven(tree, leaf, variant):
        proof = tree.proof[leaf]
        simulation.result[0] = proof if simulation.players[depth - 1] == 0 else -proof
        return True
    if game.is_terminal(state) or variant.knowledge.decides(game, state):
        simulation.result[0] = score_of(game, state, 0)
        if variant.solver.proves() and depth > 0:
            tree.proof[leaf] = game.outcome(state, int(simulation.players[depth - 1]))
            tree.plies_left[leaf] = 0
            back_up_proof(tree, variant, simulation)
        return True
    return False


@inlined_kernel
def back_up(tree: Tree, variant: Variant, simulation: Simulation, exact: bool) -> None:
    """Count a simulation in every node on its path, for the player who chose the node.

    `exact`: whether its result is that of the end of the game, not of a playout.
    """
    tree.visits[ROOT] += 1
    outcome = simulation.result[0]
    length = simulation.length[0]
    for i in range(simulation.depth[0]):
        player = simulation.players[i]
        own_outcome = outcome if player == 0 else -outcome
        reward = variant.reward.shape(own_outcome, player, length - i - 1, length)
        simulation.rewards[i] = reward
        record_visit(tree, simulation.path[i] & NOT_NEGATIVE, reward)
    variant.backup.revise(tree, simulation, exact)


@inlined_kernel
def count_simulation(tree: Tree, variant: Variant, simulation: Simulation, exact: bool) -> None:
    """Back a simulation up, and let the variant's parts learn from it."""
    back_up(tree, variant, simulation, exact)
    variant.selection.update(tree, simulation)
    variant.playout.update(tree, simulation)
    variant.reward.update(tree, simulation)


@inlined_kernel
def prepare_root(
    game: Game,
    root: State,
    state: State,
    tree: Tree,
    variant: Variant,
    simulation: Simulation,
    rng: np.random.Generator,
) -> None:
    """Give an empty tree its root; complete one that was another node before."""
    if tree.node_count[0] > 0 and is_partial(tree, ROOT):
        game.copy(root, state)
        if not has_all_children(game, state, tree, ROOT, variant, simulation, rng):
            tree.node_count[0] = 0  # all is forgotten: the root's children do not fit in
    if tree.node_count[0] == 0:
        add_node(tree, -1, 1)  # visited, so that the first simulation expands it
    if is_root_due(variant.knowledge, game, root):
        game.copy(root, state)
        look_into(game, state, tree, ROOT, variant, simulation, rng)
    prove_root(tree, variant)


compiled_search: Final = CompiledFunction(search)
