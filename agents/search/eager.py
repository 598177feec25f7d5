"""The search of RHMCTS: all children of a new leaf get a simulation at once."""

from typing import Final

import numpy as np

from agents.search.children import expand
from agents.search.mcts import count_simulation, descend, is_settled, simulate_leaf
from agents.search.proofs import is_proven, prove_root
from agents.search.simulation import Simulation
from agents.search.tree import ROOT, Tree, add_node
from agents.search.variant import Variant
from hexenv.compiled import CompiledFunction, kernel
from hexenv.games.base import Game, State


@kernel
def search_eagerly(
    game: Game,
    root: State,
    state: State,
    tree: Tree,
    variant: Variant,
    simulation: Simulation,
    simulations: int,
    rng: np.random.Generator,
) -> int:
    """`agents.search.mcts.search` with a simulation for every child of a new leaf.

    It may run a few more than asked for. No part of the variant may read the moves of playouts.
    """
    if tree.node_count[0] == 0:
        add_node(tree, -1, 1)
    prove_root(tree, variant)
    done = 0
    while done < simulations:
        if is_proven(tree, ROOT, variant):
            return done
        game.copy(root, state)
        leaf = descend(game, state, tree, variant, simulation, rng, False)
        depth = simulation.depth[0]
        is_bare_root = leaf == ROOT and tree.child_count[ROOT] == 0
        if not is_bare_root and is_settled(game, state, tree, leaf, variant, simulation):
            count_simulation(tree, variant, simulation, True)
            done += 1
        elif expand(game, state, tree, leaf, variant, simulation, rng):
            first = tree.first_child[leaf]
            for child in range(first, first + tree.child_count[leaf]):
                replay_path(game, root, state, tree, simulation, depth, child)
                simulate_leaf(game, state, tree, child, variant, simulation, rng)
                done += 1
        else:  # there is no room for children
            simulate_leaf(game, state, tree, leaf, variant, simulation, rng)
            done += 1
    return done


@kernel
def replay_path(
    game: Game,
    root: State,
    state: State,
    tree: Tree,
    simulation: Simulation,
    depth: int,
    child: int,
) -> None:
    """Play to a child of the leaf at the end of the path, and add it to the path."""
    game.copy(root, state)
    for ply in range(depth):
        game.step(state, int(tree.action[simulation.path[ply]]))
    simulation.path[depth] = child
    simulation.players[depth] = game.to_play(state)
    simulation.depth[0] = depth + 1
    simulation.length[0] = depth + 1
    game.step(state, int(tree.action[child]))


compiled_search_eagerly: Final = CompiledFunction(search_eagerly)
