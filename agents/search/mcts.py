"""Monte-Carlo tree search, written once (Coulom 2006; Kocsis and Szepesvari 2006).

A simulation copies the root position and

1. *descends*: in every node it goes to the child that the selection rule scores highest, until it
   reaches one that has not been visited before, or whose outcome is proven;
2. *expands*: a leaf that is reached for the second time gets its children;
3. *plays out*: the playout policy plays from the leaf to the end;
4. *backs up*: every node on the path counts the reward of the player who chose it, and its value
   is the mean of them, or what the variant's backup makes of it. If the game is over, the parents
   that this proves are proven (Winands, Bjornsson and Saito 2008).

`search` runs interpreted, over the games of `hexenv` and the adapter of any other environment, and
numba compiles it. A variant of the search is a set of small values (`Variant`).
"""

import operator
from typing import Any, Final, NamedTuple, cast

import numpy as np

from agents.search.knowledge import Knowledge, NoKnowledge, examine, is_due, is_root_due
from agents.search.proofs import NoSolver, ProofRule, back_up_proof, proof_by_children, prove
from agents.search.reward import MeanBackup
from agents.search.selection import count_visits
from agents.search.simulation import Simulation, new_simulation
from agents.search.tree import (
    GROWTH,
    MORE_TO_COME,
    ROOT,
    UNPROVEN,
    Tree,
    add_node,
    expand,
    extra_arrays,
    grow,
    is_partial,
    new_tree,
    record_visit,
)
from hexenv.compiled import NOT_NEGATIVE, CompiledFunction, compiled, inlined_kernel, kernel
from hexenv.games.base import Game, State, score_of

NO_CHILD: Final = -1
"""No number of a node."""
BLOCK: Final = 8
"""So many children are first compared with the best before them, all at once."""


@compiled
class Variant(NamedTuple):
    """A variant of the search: its parts.

    Examples:
        >>> from agents import TreeSearchAgent
        >>> from agents.search.playout import Decisive
        >>> from agents.search.reward import WinLoss
        >>> from agents.search.selection import UCB1
        >>> from hexenv import tictactoe_v0
        >>> env = tictactoe_v0.env()
        >>> env.reset(options={"moves": "1 4 2 5"})
        >>> variant = Variant(UCB1(c=0.7), Decisive(), WinLoss())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    selection: Any
    """A `Selection`; `part` adds what its class leaves out, so types cannot tell."""
    playout: Any
    """A `Playout`."""
    reward: Any
    """A `Reward`."""
    solver: ProofRule = NoSolver()
    """How proven outcomes are used: one of `SOLVERS`."""
    max_depth: int = 2**31 - 1
    """The depth of the tree, at most."""
    knowledge: Knowledge = NoKnowledge()
    """What it knows of the game besides the rules."""
    backup: Any = MeanBackup()
    """A `Backup`: how the values of nodes follow from simulations."""


@inlined_kernel
def next_child(tree: Tree, node: int) -> int:
    """The child to visit next, where all are visited before any is scored, or `NO_CHILD`.

    They are visited in order, one at each visit of the node after its first. A node has more visits
    if the tree was full when it should have been expanded.
    """
    first = tree.first_child[node] & NOT_NEGATIVE
    count = tree.child_count[node]
    if tree.spread[first + count - 1] > 0.0:
        return NO_CHILD
    child = first + min(tree.visits[node] - 1, count - 1)
    while child > first and tree.visits[child - 1] == 0:
        child -= 1
    return child


@inlined_kernel
def select_child(tree: Tree, node: int, variant: Variant, rng: np.random.Generator) -> int:
    """The child that a simulation goes down to, of a node that has got all its children."""
    child = next_child(tree, node) if variant.selection.tries_all_first() else NO_CHILD
    if child != NO_CHILD:
        return child
    return best_child(tree, node, int(tree.child_count[node]), variant, rng)


@inlined_kernel
def is_left_out(tree: Tree, node: int, child: int, variant: Variant) -> bool:
    """Whether no simulation may go down to a child, by its proof or by its backup."""
    return variant.solver.skips(tree, child) or variant.backup.prunes(tree, node, child)


@inlined_kernel
def best_child(
    tree: Tree, node: int, count: int, variant: Variant, rng: np.random.Generator
) -> int:
    """The one with the highest score among the first children of a node."""
    is_quick = variant.selection.tries_all_first()  # with scores of little but the statistics
    prepared = variant.selection.prepare(tree, node, rng)
    first = tree.first_child[node] & NOT_NEGATIVE
    last = first + count
    best, best_score = first, -np.inf
    middle = first + count % BLOCK if is_quick else last
    for child in range(first, middle):
        score = variant.selection.score(tree, child, prepared)
        if score > best_score and not is_left_out(tree, node, child, variant):
            best_score = score
            best = child
    if is_quick:
        for start in range(middle, last, BLOCK):
            has_better = False
            for child in range(start, start + BLOCK):
                score = variant.selection.score(tree, child, prepared)
                has_better |= score > best_score and not is_left_out(tree, node, child, variant)
            if has_better:
                for child in range(start, start + BLOCK):
                    score = variant.selection.score(tree, child, prepared)
                    if score > best_score and not is_left_out(tree, node, child, variant):
                        best_score = score
                        best = child
    return best


@inlined_kernel
def initialise_children(game: Game, state: State, tree: Tree, node: int, variant: Variant) -> None:
    """Let the parts that keep something for nodes prepare the new children of one."""
    variant.selection.initialise(game, state, tree, node)
    variant.backup.initialise(game, state, tree, node)


@kernel
def add_children(
    game: Game,
    state: State,
    tree: Tree,
    node: int,
    variant: Variant,
    simulation: Simulation,
    rng: np.random.Generator,
) -> int:
    """Give a node that has some of its children more of them, and the root all.

    Returns:
        Its last child before: it can be visited now. `NO_CHILD` if the tree is full.
    """
    old = tree.child_count[node]
    size = game.num_actions() if node == ROOT else GROWTH * old
    if not grow(game, state, tree, node, variant.knowledge, simulation.actions, rng, size):
        return NO_CHILD
    # For the parts, the new children are all there are.
    first, count = tree.first_child[node], tree.child_count[node]
    tree.first_child[node], tree.child_count[node] = first + old, count - old
    initialise_children(game, state, tree, node, variant)
    tree.first_child[node], tree.child_count[node] = first, count
    return first + old - 1


@kernel
def look_into(
    game: Game,
    state: State,
    tree: Tree,
    node: int,
    variant: Variant,
    simulation: Simulation,
    rng: np.random.Generator,
) -> None:
    """Let the knowledge prove children of a node, the end of the path, and all that follows."""
    if tree.child_count[node] == 0:
        if not expand(game, state, tree, node, variant.knowledge, simulation.actions, rng):
            return
        initialise_children(game, state, tree, node, variant)
    while is_partial(tree, node):
        if add_children(game, state, tree, node, variant, simulation, rng) == NO_CHILD:
            return
    examine(variant.knowledge, game, state, tree, node)
    outcome = proof_by_children(tree, variant, node)
    if node == ROOT or outcome == UNPROVEN:
        return
    depth = int(simulation.depth[0])
    chooser, mover = int(simulation.players[depth - 1]), game.to_play(state)
    prove(tree, node, outcome, mover == chooser)
    back_up_proof(tree, variant, simulation)


@inlined_kernel
def is_looked_into(tree: Tree, node: int, variant: Variant, expands: bool) -> bool:
    """Whether the knowledge looks at a node now; see `descend`."""
    visits = count_visits(variant.selection, tree, node)
    is_ready = expands or tree.child_count[node] > 0  # before its evaluation it gets no children
    return is_ready and is_due(variant.knowledge, visits) and tree.proof[node] == UNPROVEN


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
    """Play `state` down to a leaf.

    Args:
        game: The game.
        state: The root position, overwritten.
        tree: The tree.
        variant: The composition.
        simulation: Receives the path.
        rng: The stream of the search.
        expands: Whether a leaf that has been visited before gets its children now. (A network's
            evaluation comes first: `agents.search.evaluated`.)

    Returns:
        The leaf.
    """
    node = ROOT
    depth = 0
    while depth < min(simulation.path.size, variant.max_depth):
        all_first = variant.selection.tries_all_first()
        if tree.child_count[node] == 0:
            is_new = tree.visits[node] == 0
            if not expands or is_new:
                break
            grows = all_first and node != ROOT
            buffer = simulation.actions
            if not expand(game, state, tree, node, variant.knowledge, buffer, rng, grows):
                break
            initialise_children(game, state, tree, node, variant)
        count = int(tree.child_count[node])
        child = next_child(tree, node) if all_first else NO_CHILD
        if child != NO_CHILD and tree.first_child[child] == MORE_TO_COME:
            child = add_children(game, state, tree, node, variant, simulation, rng)
            count -= 1  # the last one waits for the others, if the tree is full
        if child == NO_CHILD:
            child = best_child(tree, node, count, variant, rng)
        node = child & NOT_NEGATIVE
        action = int(tree.action[node])
        simulation.path[depth] = node
        simulation.players[depth] = game.to_play(state)
        if simulation.recorded:
            simulation.cells[depth] = game.cell_of(state, action)
        depth += 1
        game.step(state, action)
        if is_looked_into(tree, node, variant, expands):
            simulation.depth[0] = depth
            look_into(game, state, tree, node, variant, simulation, rng)
        if variant.solver.proves() and tree.proof[node] != UNPROVEN:
            break
    simulation.depth[0] = depth
    simulation.length[0] = depth
    return node


@inlined_kernel
def is_settled(
    game: Game, state: State, tree: Tree, leaf: int, variant: Variant, simulation: Simulation
) -> bool:
    """Whether the game is over at a leaf, or its outcome proven; then the result is recorded."""
    depth = simulation.depth[0]
    if variant.solver.proves() and tree.proof[leaf] != UNPROVEN and depth > 0:
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
def back_up(tree: Tree, variant: Variant, simulation: Simulation, exact: bool = False) -> None:
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
def count_simulation(
    tree: Tree, variant: Variant, simulation: Simulation, exact: bool = False
) -> None:
    """Count a simulation in the nodes on its path, and let the variant's parts learn from it."""
    back_up(tree, variant, simulation, exact)
    variant.selection.update(tree, simulation)
    variant.playout.update(tree, simulation)
    variant.reward.update(tree, simulation)


@inlined_kernel
def prove_root(tree: Tree, variant: Variant) -> None:
    """Prove the root, if its children decide it: it may have been a child before."""
    if variant.solver.proves() and tree.proof[ROOT] == UNPROVEN:
        outcome = proof_by_children(tree, variant, ROOT)
        if outcome != UNPROVEN:
            prove(tree, ROOT, outcome, False)


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
    if tree.node_count[0] > 0 and is_partial(tree, ROOT):
        game.copy(root, state)
        if add_children(game, state, tree, ROOT, variant, simulation, rng) == NO_CHILD:
            tree.node_count[0] = 0  # all is forgotten: the root's children do not fit in
    if tree.node_count[0] == 0:
        add_node(tree, -1, 1)  # visited, so that the first simulation expands it
    if is_root_due(variant.knowledge, game, root):
        game.copy(root, state)
        look_into(game, state, tree, ROOT, variant, simulation, rng)
    prove_root(tree, variant)
    for done in range(simulations):
        if variant.solver.proves() and tree.proof[ROOT] != UNPROVEN:
            return done
        game.copy(root, state)
        leaf = descend(game, state, tree, variant, simulation, rng, True)
        simulate_leaf(game, state, tree, leaf, variant, simulation, rng)
    return simulations


compiled_search: Final = CompiledFunction(search)


def simulation_for(variant: Variant, game: Game) -> Simulation:
    """The arrays of a simulation, with its moves where a part of the variant reads them."""
    parts = (variant.selection, variant.playout, variant.reward)
    return new_simulation(game, any(part.needs_moves() for part in parts))


def tree_for(variant: Variant, max_nodes: int) -> Tree:
    """An empty tree with what the parts of the variant keep for nodes.

    Raises:
        ValueError: If a part has arrays for fewer nodes.
    """
    kept = [part.new_extras(max_nodes) for part in (variant.selection, variant.backup)]
    for part, extras in zip((variant.selection, variant.backup), kept, strict=True):
        for name, array in extra_arrays("new_extras", extras).items():
            if len(array) < max_nodes:
                where = f"{type(part).__name__}.{name}"
                raise ValueError(f"expected {max_nodes} entries in {where}, got {len(array)}")
    return new_tree(max_nodes, *kept)


PARTS_WITH_MEMORY: Final = ("selection", "playout", "reward", "knowledge", "backup")


def with_memory(variant: Variant, game: Game) -> Variant:
    """The variant with empty memory of the size that the game needs.

    Where the game has scores, nothing is proven: a proof is of a win, a draw or a loss.
    """
    if hasattr(game, "fitted"):  # it is not for two players
        variant = cast("Any", game).fitted(variant)
    given = [getattr(variant, name) for name in PARTS_WITH_MEMORY]
    parts = [part.with_memory(game) for part in given]
    if hasattr(game, "final_score") and variant.solver.proves():
        variant = variant._replace(solver=NoSolver())
    if all(map(operator.is_, parts, given)):
        return variant
    return variant._replace(**dict(zip(PARTS_WITH_MEMORY, parts, strict=True)))
