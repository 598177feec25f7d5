"""The search over a graph: positions reached by several move orders are one node.

The children of a position are edges: neighbours in the arrays as in a tree, with visits of their
own, from which a selection rule computes its bonus: by the visits of the position they lead to, its
*target*, a rule would neglect what other move orders have explored. But the value of an edge is
that of its target, which all edges share that lead there; an average of its own simulations would
be out of date. It is computed from the target's edges after every simulation through it:

    Q(position) = (own playouts + sum over edges of n(edge) * Q(target)) / N(position)

(Childs, Brodeur and Kocsis 2008; Czech, Korus and Kersting 2021.)
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.children import expand, select_child
from agents.search.mcts import play
from agents.search.proofs import is_proven, prove
from agents.search.reward import MeanBackup
from agents.search.simulation import Simulation
from agents.search.tree import ROOT, UNPROVEN, Tree, add_node, record_visit
from agents.search.variant import Variant
from hexenv.compiled import CompiledFunction, compiled, kernel
from hexenv.games.base import score_of

NOWHERE: Final = -1
"""The target of an edge that no simulation has gone down, or for which there is no room."""


@compiled
class Graph(NamedTuple):
    """The arrays of a graph besides its `Tree`, whose nodes are edges and positions."""

    target: NDArray[np.int32]  # (N,): the position that an edge leads to, or `NOWHERE`
    mover: NDArray[np.int8]  # (N,): who is to move in a position
    own: NDArray[np.float64]  # (N, 2): rewards of simulations that ended in a position, by player
    mean: NDArray[np.float64]  # (N, 2): the mean reward of a position, by player
    keys: NDArray[np.int64]  # (slots,): hashes of positions, a power of two of them
    places: NDArray[np.int32]  # (slots,): the position with that hash, or `NOWHERE`
    place_count: NDArray[np.int32]  # (1,): slots in use


def check_variant(variant: Variant) -> None:
    """Refuse what cannot be searched as a graph."""
    wanted, part = "", None
    if variant.reward.needs_moves():
        wanted, part = "reward that counts no plies", variant.reward
    elif variant.selection.new_extras(1) != ():
        wanted, part = "selection rule that keeps nothing of its own", variant.selection
    elif type(variant.backup) is not MeanBackup:
        wanted, part = "backup of means", variant.backup
    if wanted:
        raise ValueError(f"expected a {wanted} with transpositions, got {type(part).__name__}")


def new_graph(max_nodes: int) -> Graph:
    """An empty graph."""
    slots = 1 << max(4, (max_nodes // 2).bit_length())
    return Graph(
        target=np.empty(max_nodes, np.int32),
        mover=np.empty(max_nodes, np.int8),
        own=np.empty((max_nodes, 2), np.float64),
        mean=np.empty((max_nodes, 2), np.float64),
        keys=np.empty(slots, np.int64),
        places=np.full(slots, NOWHERE, np.int32),
        place_count=np.zeros(1, np.int32),
    )


def clear(tree: Tree, graph: Graph) -> None:
    """Forget all positions."""
    tree.node_count[0] = 0
    graph.places[:] = NOWHERE
    graph.place_count[0] = 0


@kernel
def slot_of(graph: Graph, key: int) -> int:
    """The slot that holds a hash, or the free one where it belongs."""
    mask = len(graph.places) - 1
    slot = (key ^ (key >> 29)) & mask
    while graph.places[slot] != NOWHERE and graph.keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def position_of(game: Any, state: Any, tree: Tree, graph: Graph) -> int:
    """The node of a position, found or made; `NOWHERE` if there is no room."""
    key = game.position_hash(state)
    slot = slot_of(graph, key)
    if graph.places[slot] != NOWHERE:
        return int(graph.places[slot])
    node = int(tree.node_count[0])
    if node >= len(tree.action):
        return NOWHERE
    add_node(tree, -1, 0)
    graph.target[node] = NOWHERE
    graph.mover[node] = game.to_play(state)
    for player in range(2):
        graph.own[node, player] = 0.0
        graph.mean[node, player] = 0.0
    if graph.place_count[0] < len(graph.places) - len(graph.places) // 4:
        graph.keys[slot] = key
        graph.places[slot] = node
        graph.place_count[0] += 1
    return node


@kernel
def read_targets(tree: Tree, graph: Graph, position: int) -> int:
    """Bring a position's edges up to date; returns what they prove for the player to move."""
    player = graph.mover[position]
    count = tree.child_count[position]
    best = -1 if count > 0 else UNPROVEN
    for edge in range(tree.first_child[position], tree.first_child[position] + count):
        target = graph.target[edge]
        if target != NOWHERE and tree.visits[edge] > 0:
            tree.value[edge] = graph.mean[target, player]
            proof = tree.proof[target]  # of a position: for player 0
            if proof != UNPROVEN:
                tree.proof[edge] = proof if player == 0 else -proof
                tree.plies_left[edge] = tree.plies_left[target]
        if best != 1:
            edge_proof = int(tree.proof[edge])
            best = 1 if edge_proof == 1 else max(best, edge_proof)
    return best


@kernel
def refresh(tree: Tree, graph: Graph, position: int, solver: Any) -> None:
    """Compute a position's mean and proof from its edges."""
    proof = read_targets(tree, graph, position)
    if solver.proves() and proof != UNPROVEN and tree.proof[position] == UNPROVEN:
        prove(tree, position, proof, graph.mover[position] == 0)
    for player in range(2):
        total = graph.own[position, player]
        first = tree.first_child[position]
        for edge in range(first, first + tree.child_count[position]):
            target = graph.target[edge]
            value = tree.value[edge] if player == graph.mover[position] else 1.0 - tree.value[edge]
            if target != NOWHERE:
                value = graph.mean[target, player]
            total += tree.visits[edge] * value
        graph.mean[position, player] = total / tree.visits[position]


@kernel
def descend(
    game: Any,
    state: Any,
    tree: Tree,
    graph: Graph,
    variant: Any,
    simulation: Simulation,
    rng: np.random.Generator,
) -> int:
    """Play `state` down to a leaf, and expand on the way; returns the leaf's position."""
    position = ROOT
    depth = 0
    while depth < min(simulation.path.size, variant.max_depth):
        if is_proven(tree, position, variant):
            break
        if tree.child_count[position] == 0:
            is_new = tree.visits[position] == 0
            if is_new or not expand(game, state, tree, position, variant, simulation, rng):
                break
            first = tree.first_child[position]
            for edge in range(first, first + tree.child_count[position]):
                graph.target[edge] = NOWHERE
        read_targets(tree, graph, position)
        edge = select_child(tree, position, variant, rng)
        play(game, state, tree, edge, simulation, depth)
        depth += 1
        if graph.target[edge] == NOWHERE:
            graph.target[edge] = position_of(game, state, tree, graph)
        if graph.target[edge] == NOWHERE:
            position = NOWHERE
            break
        position = int(graph.target[edge])
    simulation.depth[0] = depth
    simulation.length[0] = depth
    return position


@kernel
def finish(
    game: Any,
    state: Any,
    tree: Tree,
    leaf: int,
    variant: Any,
    simulation: Simulation,
    rng: np.random.Generator,
) -> None:
    """Find the outcome of a simulation: it is over, or proven, or it is played out."""
    if game.is_terminal(state) or (
        (leaf == NOWHERE or tree.proof[leaf] == UNPROVEN) and variant.knowledge.decides(game, state)
    ):
        simulation.result[0] = score_of(game, state, 0)
        if variant.solver.proves() and leaf != NOWHERE:
            tree.proof[leaf] = game.outcome(state, 0)
            tree.plies_left[leaf] = 0
    elif leaf != NOWHERE and is_proven(tree, leaf, variant):
        simulation.result[0] = tree.proof[leaf]
    else:
        simulation.result[0] = variant.playout.simulate(
            game, state, rng, simulation.actions, simulation
        )


@kernel
def back_up(tree: Tree, graph: Graph, leaf: int, variant: Any, simulation: Simulation) -> None:
    """Count a simulation at its leaf, and bring all above it up to date, from below."""
    depth, length = simulation.depth[0], simulation.length[0]
    result = simulation.result[0]
    if leaf != NOWHERE:
        tree.visits[leaf] += 1
        for player in range(2):
            outcome = result if player == 0 else -result
            graph.own[leaf, player] += variant.reward.shape(outcome, player, length - depth, length)
        refresh(tree, graph, leaf, variant.solver)
    for ply in range(depth - 1, -1, -1):
        edge = simulation.path[ply]
        player = simulation.players[ply]
        outcome = result if player == 0 else -result
        reward = variant.reward.shape(outcome, player, length - ply - 1, length)
        simulation.rewards[ply] = reward
        record_visit(tree, edge, reward)
        position = int(graph.target[simulation.path[ply - 1]]) if ply > 0 else ROOT
        tree.visits[position] += 1
        refresh(tree, graph, position, variant.solver)


@kernel
def search_graph(
    game: Any,
    root: Any,
    state: Any,
    tree: Tree,
    graph: Graph,
    variant: Variant,
    simulation: Simulation,
    simulations: int,
    rng: np.random.Generator,
) -> int:
    """Run simulations from a position; see `agents.search.mcts.search`."""
    if tree.node_count[0] == 0:
        position_of(game, root, tree, graph)
        tree.visits[ROOT] = 1
    for done in range(simulations):
        if is_proven(tree, ROOT, variant):
            return done
        game.copy(root, state)
        leaf = descend(game, state, tree, graph, variant, simulation, rng)
        finish(game, state, tree, leaf, variant, simulation, rng)
        back_up(tree, graph, leaf, variant, simulation)
        variant.selection.update(tree, simulation)
        variant.playout.update(tree, simulation)
        variant.reward.update(tree, simulation)
    return simulations


compiled_search_graph: Final = CompiledFunction(search_graph)


def make_root(tree: Tree, graph: Graph, key: int) -> bool:
    """Make the position with a hash the root, if the graph has it and has visited it.

    The rest stays: other positions below the new root may lead there. What leads to the new root
    itself keeps its old node, to which no game that goes on can come back.
    """
    slot = slot_of(graph, key)
    node = int(graph.places[slot])
    if node == NOWHERE or tree.visits[node] == 0:
        return False
    graph.places[slot] = ROOT
    for array in (tree.first_child, tree.child_count, tree.visits, tree.proof, tree.plies_left):
        array[ROOT] = array[node]
    for array in (graph.mover, graph.own, graph.mean):
        array[ROOT] = array[node]
    return True
