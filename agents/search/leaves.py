"""Simulations in two halves, between which the leaves of many trees wait for their evaluation.

1. `descend_trees` goes down to leaves, as `agents.search.mcts` does, until every tree has so many
   that wait for their evaluation. What ends at a proven or terminal position, or at one that the
   cache knows, is backed up at once.
2. `back_up_trees` gives the leaves their children, with priors, and backs the values up.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.mcts import back_up, descend, is_settled, prove_root
from agents.search.puct import EvaluatedExtras, new_evaluated_extras
from agents.search.simulation import Simulation
from agents.search.tree import ROOT, UNPROVEN, Tree, add_node, expand, new_tree
from hexenv.compiled import CompiledFunction, compiled, inlined_kernel, kernel

PER_NODE: Final = ("first_child", "child_count", "action", "visits", "value", "spread", "proof")
"""The arrays of a tree with an entry for each node."""


@compiled
class Flights(NamedTuple):
    """The simulations under way, of all trees: W at most."""

    tree: NDArray[np.int32]
    """``(W,)``: the tree of each that waits for an evaluation."""
    leaf: NDArray[np.int32]
    """``(W,)``: the node that it waits at."""
    path: NDArray[np.int32]
    """``(W, max_plies())``: see `Simulation`."""
    players: NDArray[np.int8]
    """``(W, max_plies())``."""
    rewards: NDArray[np.float64]
    """``(W, max_plies())``."""
    depth: NDArray[np.int32]
    """``(W,)``."""
    result: NDArray[np.float64]
    """``(W,)``."""
    remaining: NDArray[np.int32]
    """``(T,)``: simulations that each tree has still to begin."""


@compiled
class Cache(NamedTuple):
    """What the evaluator has said of positions, by their hash; a newer one takes the place."""

    keys: NDArray[np.int64]
    """``(M,)``, M a power of two; 0 for an empty place."""
    answers: NDArray[np.float32]
    """``(M, num_actions() + 1)``: the priors and the value."""
    hits: NDArray[np.int64]
    """``(1,)``: how many leaves were found."""


def new_flights(game: Any, trees: int, width: int) -> Flights:
    """Room for `width` simulations of each tree."""
    count, plies = trees * width, game.max_plies()
    return Flights(
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        np.empty((count, plies), np.int32),
        np.empty((count, plies), np.int8),
        np.empty((count, plies), np.float64),
        np.zeros(count, np.int32),
        np.zeros(count, np.float64),
        np.zeros(trees, np.int32),
    )


def new_cache(game: Any, size: int) -> Cache:
    """An empty cache; a size of 0 keeps nothing."""
    places = 1 << (size - 1).bit_length() if size > 0 else 0
    answers = np.zeros((places, game.num_actions() + 1), np.float32)
    return Cache(np.zeros(places, np.int64), answers, np.zeros(1, np.int64))


def new_trees(count: int, max_nodes: int) -> Tree:
    """Empty trees side by side: every array has one row, ``(N,)``, for each."""
    shape = (count, max_nodes)
    extras: Any = new_evaluated_extras(None, count * max_nodes)
    flat = new_tree(count * max_nodes, EvaluatedExtras(*(array.reshape(shape) for array in extras)))
    rows = {name: getattr(flat, name).reshape(shape) for name in PER_NODE}
    return flat._replace(**rows, node_count=np.zeros((count, 1), np.int32))


def side_by_side(tree: Tree) -> Tree:
    """One tree as a row of its own; the same memory."""
    extras = EvaluatedExtras(*(array[None] for array in tree.extras))
    rows = {name: getattr(tree, name)[None] for name in (*PER_NODE, "node_count")}
    return tree._replace(**rows, extras=extras)


@inlined_kernel
def tree_of(trees: Tree, row: int) -> Tree:
    """One of the trees; the same memory."""
    extras = trees.extras
    return Tree(
        trees.first_child[row],
        trees.child_count[row],
        trees.action[row],
        trees.visits[row],
        trees.value[row],
        trees.spread[row],
        trees.proof[row],
        trees.node_count[row],
        EvaluatedExtras(
            extras.prior[row], extras.worth[row], extras.pending[row], extras.noise[row]
        ),
    )


@inlined_kernel
def simulation_of(flights: Flights, row: int) -> Simulation:
    """One of the simulations; the same memory."""
    return Simulation(
        False,
        flights.path[row],
        flights.players[row],
        flights.path[row],  # moves are not recorded
        flights.rewards[row],
        flights.depth[row : row + 1],
        flights.depth[row : row + 1],
        flights.result[row : row + 1],
    )


@inlined_kernel
def recall(game: Any, state: Any, cache: Cache, given: NDArray[np.float64]) -> bool:
    """Write down what the cache knows of a position; whether it knows it."""
    if cache.keys.size == 0:
        return False
    key = game.position_hash(state)
    place = key & (cache.keys.size - 1)
    if key == 0 or cache.keys[place] != key:
        return False
    cache.hits[0] += 1
    for i in range(given.size):
        given[i] = cache.answers[place, i]
    return True


@inlined_kernel
def remember(game: Any, state: Any, cache: Cache, given: NDArray[np.float64]) -> None:
    """Keep what was said of a position."""
    if cache.keys.size > 0:
        key = game.position_hash(state)
        place = key & (cache.keys.size - 1)
        cache.keys[place] = key
        for i in range(given.size):
            cache.answers[place, i] = given[i]


@inlined_kernel
def count_pending(tree: Tree, simulation: Simulation, change: int) -> None:
    """Count a simulation that waits, or has waited, in every node on its path."""
    tree.extras.pending[ROOT] += change
    for i in range(simulation.depth[0]):
        tree.extras.pending[simulation.path[i]] += change


@inlined_kernel
def accept(
    game: Any,
    state: Any,
    tree: Tree,
    leaf: int,
    variant: Any,
    buffer: NDArray[np.int32],
    rng: np.random.Generator,
    simulation: Simulation,
) -> None:
    """Expand an evaluated leaf, and back its value up; the root's is no simulation."""
    given = variant.selection.assessor.given
    if tree.child_count[leaf] == 0 and expand(
        game, state, tree, leaf, variant.knowledge, buffer, rng
    ):
        variant.selection.initialise(game, state, tree, leaf)
    if simulation.depth[0] > 0:
        value = given[given.size - 1]
        simulation.result[0] = value if game.to_play(state) == 0 else -value
        back_up(tree, variant, simulation)


@inlined_kernel
def prepare_root(tree: Tree, variant: Any) -> None:
    """Give an empty tree its root; prove that of another, if its children decide it."""
    if tree.node_count[0] == 0:
        add_node(tree, -1, 1)
        tree.extras.pending[ROOT] = 0
    prove_root(tree, variant)


@kernel
def descend_trees(
    game: Any,
    roots: Any,
    states: Any,
    trees: Tree,
    variant: Any,
    flights: Flights,
    cache: Cache,
    width: int,
    rng: np.random.Generator,
) -> int:
    """Run simulations of every tree until `width` of them wait, or none is left to begin.

    Args:
        game: The game, or the adapter of a foreign environment.
        roots: ``(T,)``: the positions searched.
        states: ``(T * width,)``: the first get the positions that wait for their evaluation.
        trees: T trees, side by side.
        variant: The composition, whose selection has `Given` for an assessor.
        flights: Receives the simulations that wait.
        cache: Of evaluations.
        width: Of each tree.
        rng: The stream of the search.

    Returns:
        How many wait.
    """
    buffer = np.empty(game.num_actions(), np.int32)
    given = variant.selection.assessor.given
    waiting = 0
    for number in range(flights.remaining.size):
        tree = tree_of(trees, number)
        prepare_root(tree, variant)
        begun = 0
        while begun < width and (flights.remaining[number] > 0 or tree.child_count[ROOT] == 0):
            if variant.solver.proves() and tree.proof[ROOT] != UNPROVEN:
                break
            state = states[waiting]
            simulation = simulation_of(flights, waiting)
            game.copy(roots[number], state)
            leaf = descend(game, state, tree, variant, rng, buffer, simulation, False)
            if leaf != ROOT and is_settled(game, state, tree, leaf, variant, simulation):
                flights.remaining[number] -= 1
                back_up(tree, variant, simulation)
                continue
            if tree.extras.pending[leaf] > 0 and tree.child_count[leaf] == 0:
                break  # somebody waits here already: nothing new would be learnt
            flights.remaining[number] -= int(leaf != ROOT)
            if recall(game, state, cache, given):
                accept(game, state, tree, leaf, variant, buffer, rng, simulation)
                continue
            count_pending(tree, simulation, 1)
            flights.tree[waiting] = number
            flights.leaf[waiting] = leaf
            waiting += 1
            begun += 1
    return waiting


@kernel
def back_up_trees(
    game: Any,
    states: Any,
    trees: Tree,
    variant: Any,
    flights: Flights,
    cache: Cache,
    priors: NDArray[np.float32],
    values: NDArray[np.float32],
    rng: np.random.Generator,
) -> None:
    """Take in the evaluations of the positions that `descend_trees` has left in `states`."""
    buffer = np.empty(game.num_actions(), np.int32)
    given = variant.selection.assessor.given
    last = given.size - 1
    for i in range(values.size):
        tree = tree_of(trees, flights.tree[i])
        simulation = simulation_of(flights, i)
        state = states[i]
        for action in range(last):
            given[action] = priors[i, action]
        given[last] = values[i]
        remember(game, state, cache, given)
        count_pending(tree, simulation, -1)
        accept(game, state, tree, flights.leaf[i], variant, buffer, rng, simulation)


@kernel
def stir_trees(game: Any, trees: Tree, variant: Any, noise: NDArray[np.float64]) -> None:
    """Give every root its noise, ``(T, num_actions())``."""
    for number in range(noise.shape[0]):
        variant.selection.stir(tree_of(trees, number), noise[number])


@kernel
def judge_trees(
    game: Any,
    trees: Tree,
    variant: Any,
    policies: NDArray[np.float32],
    values: NDArray[np.float32],
    best: NDArray[np.int32],
) -> None:
    """Read what the searches have found.

    Args:
        game: The game.
        trees: T trees, side by side, whose roots have children.
        variant: The composition.
        policies: ``(T, num_actions())``: receives the policies to learn from.
        values: ``(T,)``: receives the mean values of the roots, -1 to 1, for the player to move.
        best: ``(T,)``: receives the best actions.
    """
    for number in range(best.size):
        tree = tree_of(trees, number)
        policies[number] = 0.0
        best[number] = tree.action[variant.selection.judge_root(tree, policies[number])]
        first = tree.first_child[ROOT]
        total, count = tree.extras.worth[ROOT], 1
        for child in range(first, first + tree.child_count[ROOT]):
            total += tree.value[child] * tree.visits[child]
            count += tree.visits[child]
        values[number] = 2.0 * total / count - 1.0


compiled_descend_trees: Final = CompiledFunction(descend_trees)
compiled_back_up_trees: Final = CompiledFunction(back_up_trees)
compiled_stir_trees: Final = CompiledFunction(stir_trees)
compiled_judge_trees: Final = CompiledFunction(judge_trees)
