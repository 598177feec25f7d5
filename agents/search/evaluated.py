"""Search with an evaluator, such as a network, in place of playouts (Silver et al. 2017).

A network cannot be called from compiled code. So a simulation has two compiled halves, and many
leaves, of many trees or of one, are evaluated between them in one batch: `descend_trees` goes down
to leaves, `back_up_trees` gives them children, with priors, and backs the values up.

A rule for this search (`agents.mcts.puct.PUCT`) is a selection rule with these members besides:
`evaluation`, the priors and the value of the leaf that is being expanded;
`add_root_noise(tree, noise)`; `read_policy(tree, policy)`, which writes the policy that the search
has found and returns the best child; and `count_visits`, which is `visits_and_pending`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.children import expand
from agents.search.evaluator import Evaluator, evaluations
from agents.search.knowledge import look_into, looks_at_nodes
from agents.search.mcts import back_up, descend, is_settled
from agents.search.proofs import is_proven, proof_by_children, proof_rank, prove_root
from agents.search.simulation import Simulation
from agents.search.tree import ROOT, UNPROVEN, Tree, add_node, new_tree
from agents.search.variant import Variant
from hexenv.compiled import CompiledFunction, compiled, inlined_kernel, kernel
from hexenv.compiled.packing import stream_rows, unpacked

PER_NODE: Final = (
    "first_child", "child_count", "action", "visits", "value", "spread", "proof", "plies_left",
)  # fmt: skip
"""The arrays of a tree with an entry for each node."""


# ---- what rules with an evaluator share ----------------------------------------------------------


class EvaluatedExtras(NamedTuple):
    """What a rule with an evaluator keeps for each node."""

    prior: NDArray[np.float64]  # the evaluator's probability of the action; siblings add up to 1
    raw_value: NDArray[np.float64]  # its value of the position, 0 to 1, for the player to move
    pending: NDArray[np.int32]  # simulations that passed the node and wait for their evaluation
    root_noise: NDArray[np.float64]
    """Of the root's children: what the noise has added to the prior, or (`Gumbel`) to its log."""


def new_evaluated_extras(self: Any, max_nodes: int) -> EvaluatedExtras:
    """`Selection.new_extras` of rules with an evaluator."""
    prior, raw_value, root_noise = np.empty((3, max_nodes))
    return EvaluatedExtras(prior, raw_value, np.empty(max_nodes, np.int32), root_noise)


def with_evaluation(self: Any, game: Any) -> Any:
    """`Selection.with_memory` of rules with an evaluator."""
    return self._replace(evaluation=np.zeros(game.num_actions() + 1))


@kernel
def take_evaluation(self: Any, game: Any, state: Any, tree: Tree, node: int) -> None:
    """`Selection.initialise` of rules with an evaluator."""
    extras = tree.extras
    evaluation = self.evaluation
    extras.raw_value[node] = 0.5 * (evaluation[evaluation.size - 1] + 1.0)
    extras.pending[node] = 0
    first = tree.first_child[node]
    last = first + tree.child_count[node]
    total = 0.0
    for child in range(first, last):
        total += evaluation[tree.action[child]]
    for child in range(first, last):
        even = 1.0 / (last - first)
        prior = evaluation[tree.action[child]] / total if total > 0.0 else even
        extras.prior[child] = prior
        extras.raw_value[child] = 0.0  # until it is evaluated itself
        extras.pending[child] = 0
        extras.root_noise[child] = 0.0


@kernel
def visits_and_pending(self: Any, tree: Tree, node: int) -> int:
    """`count_visits` of rules with an evaluator."""
    return int(tree.visits[node] + tree.extras.pending[node])


def is_evaluated(selection: Any) -> bool:
    """Whether a rule is one with an evaluator. Plain Python."""
    return hasattr(selection, "evaluation")


@inlined_kernel
def mean_reward(tree: Tree, child: int, unvisited: float) -> float:
    """The mean reward of a child, or `unvisited`; a pending simulation counts as lost."""
    visits = tree.visits[child] + tree.extras.pending[child]
    return tree.value[child] * tree.visits[child] / visits if visits > 0 else unvisited


@kernel
def proven_sign(tree: Tree, child: int) -> int:
    """1 for a proven win, -1 for a proven loss, else 0."""
    proof = int(tree.proof[child])
    return 0 if proof == UNPROVEN else proof


@kernel
def best_proven_sign(tree: Tree) -> int:
    """1 if a child of the root is a proven win, -1 if all are proven losses, else 0."""
    first = tree.first_child[ROOT]
    best = -1
    for child in range(first, first + tree.child_count[ROOT]):
        best = max(best, proven_sign(tree, child))
    return best


@kernel
def most_visited(tree: Tree) -> int:
    """The root's child with the most visits; ties go to the higher value.

    Proven wins come before all others, proven losses after them; see `proof_rank`.
    """
    first = tree.first_child[ROOT]
    best = first
    for child in range(first + 1, first + tree.child_count[ROOT]):
        more = proof_rank(tree, child) - proof_rank(tree, best)
        if more == 0:
            more = tree.visits[child] - tree.visits[best]
        if more > 0 or (more == 0 and tree.value[child] > tree.value[best]):
            best = child
    return best


@kernel
def read_visit_shares(self: Any, tree: Tree, policy: NDArray[np.float32]) -> int:
    """`read_policy` by the share of the visits: fills the zeros ``(num_actions(),)``.

    Where there are proven wins, nothing else has a share; proven losses have none, unless there is
    nothing else. Without visits the priors count.
    """
    first = tree.first_child[ROOT]
    last = first + tree.child_count[ROOT]
    sign = best_proven_sign(tree)
    visits, prior, count = 0, 0.0, 0
    for child in range(first, last):
        if proven_sign(tree, child) == sign:
            visits += tree.visits[child]
            prior += tree.extras.prior[child]
            count += 1
    for child in range(first, last):
        if proven_sign(tree, child) == sign:
            share = tree.extras.prior[child] / prior if prior > 0.0 else 1.0 / count
            share = tree.visits[child] / visits if visits > 0 else share
            policy[tree.action[child]] = share
    return most_visited(tree)


# ---- trees side by side, pending simulations, the cache ------------------------------------------


@compiled
class PendingSimulations(NamedTuple):
    """The simulations of all trees that wait for an evaluation: W at most; see `Simulation`."""

    tree: NDArray[np.int32]  # (W,): the tree of each
    leaf: NDArray[np.int32]  # (W,): its leaf
    path: NDArray[np.int32]  # (W, max_plies())
    players: NDArray[np.int8]  # (W, max_plies())
    rewards: NDArray[np.float64]  # (W, max_plies())
    actions: NDArray[np.int32]  # (num_actions(),): scratch space of all
    depth: NDArray[np.int32]  # (W,)
    result: NDArray[np.float64]  # (W,)
    remaining: NDArray[np.int32]  # (T,): simulations that each tree has still to begin; -1: rests


@compiled
class EvaluationCache(NamedTuple):
    """Evaluations of positions by hash. A newer one replaces the older one at its place."""

    keys: NDArray[np.int64]  # (M,), M a power of two; 0 for an empty place
    answers: NDArray[np.float32]  # (M, num_actions() + 1): the priors and the value
    hits: NDArray[np.int64]  # (1,): how many leaves were found


def new_pending(game: Any, trees: int, width: int) -> PendingSimulations:
    """Room for `width` simulations of each tree."""
    shape = count, _ = trees * width, game.max_plies()
    paths = np.empty(shape, np.int32), np.empty(shape, np.int8), np.empty(shape, np.float64)
    tree, leaf, depth = np.zeros((3, count), np.int32)
    actions, remaining = np.empty(game.num_actions(), np.int32), np.zeros(trees, np.int32)
    return PendingSimulations(tree, leaf, *paths, actions, depth, np.zeros(count), remaining)


def new_cache(game: Any, size: int) -> EvaluationCache:
    """An empty cache; one of size 0 keeps nothing."""
    places = 1 << (size - 1).bit_length() if size > 0 else 0
    answers = np.zeros((places, game.num_actions() + 1), np.float32)
    return EvaluationCache(np.zeros(places, np.int64), answers, np.zeros(1, np.int64))


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
        trees.plies_left[row],
        trees.node_count[row],
        EvaluatedExtras(
            extras.prior[row], extras.raw_value[row], extras.pending[row], extras.root_noise[row]
        ),
        trees.backed_up,
    )


@inlined_kernel
def simulation_of(pending: PendingSimulations, row: int) -> Simulation:
    """One of the simulations; the same memory."""
    return Simulation(
        False,
        pending.path[row],
        pending.players[row],
        pending.path[row],  # moves are not recorded
        pending.rewards[row],
        pending.actions,
        pending.depth[row : row + 1],  # nothing is played out
        pending.depth[row : row + 1],
        pending.depth[row : row + 1],
        pending.result[row : row + 1],
    )


@inlined_kernel
def look_up(game: Any, state: Any, cache: EvaluationCache, evaluation: NDArray[np.float64]) -> bool:
    """Write the cached evaluation of a position; returns whether there is one."""
    if cache.keys.size == 0:
        return False
    key = game.position_hash(state)
    place = key & (cache.keys.size - 1)
    if key == 0 or cache.keys[place] != key:
        return False
    cache.hits[0] += 1
    for i in range(evaluation.size):
        evaluation[i] = cache.answers[place, i]
    return True


@inlined_kernel
def store(game: Any, state: Any, cache: EvaluationCache, evaluation: NDArray[np.float64]) -> None:
    """Keep the evaluation of a position."""
    if cache.keys.size > 0:
        key = game.position_hash(state)
        place = key & (cache.keys.size - 1)
        cache.keys[place] = key
        for i in range(evaluation.size):
            cache.answers[place, i] = evaluation[i]


# ---- the two halves of a simulation --------------------------------------------------------------


@inlined_kernel
def count_pending(tree: Tree, simulation: Simulation, change: int) -> None:
    """Add to the pending simulations of every node on a path."""
    tree.extras.pending[ROOT] += change
    for i in range(simulation.depth[0]):
        tree.extras.pending[simulation.path[i]] += change


@inlined_kernel
def expand_evaluated(
    game: Any,
    state: Any,
    tree: Tree,
    leaf: int,
    variant: Any,
    simulation: Simulation,
    rng: np.random.Generator,
) -> None:
    """Expand an evaluated leaf, and back its value up; the root's is no simulation."""
    evaluation = variant.selection.evaluation
    if tree.child_count[leaf] == 0:
        expand(game, state, tree, leaf, variant, simulation, rng)
    if simulation.depth[0] > 0:
        value = evaluation[evaluation.size - 1]
        simulation.result[0] = value if game.to_play(state) == 0 else -value
        back_up(tree, variant, simulation, False)


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
    pending: PendingSimulations,
    cache: EvaluationCache,
    width: int,
    streams: Any,
) -> int:
    """Begin simulations of every tree until `width` of them are pending, or all have begun.

    The first of ``(T * width,)`` states get the positions to evaluate. What ends at a proven or
    terminal position, or at one that the cache knows, is backed up at once.

    Returns:
        How many are pending.
    """
    evaluation = variant.selection.evaluation
    count = 0
    for number in range(pending.remaining.size):
        if pending.remaining[number] < 0:
            continue
        tree = tree_of(trees, number)
        rng = unpacked(streams, number)[0]
        prepare_root(tree, variant)
        begun = 0
        while begun < width and (pending.remaining[number] > 0 or tree.child_count[ROOT] == 0):
            if is_proven(tree, ROOT, variant):
                break
            state = states[count]
            simulation = simulation_of(pending, count)
            game.copy(roots[number], state)
            leaf = descend(game, state, tree, variant, simulation, rng, False)
            if leaf != ROOT and is_settled(game, state, tree, leaf, variant, simulation):
                pending.remaining[number] -= 1
                back_up(tree, variant, simulation, True)
                continue
            if tree.extras.pending[leaf] > 0 and tree.child_count[leaf] == 0:
                break  # the leaf is pending already: a second evaluation would add nothing
            pending.remaining[number] -= int(leaf != ROOT)
            if look_up(game, state, cache, evaluation):
                expand_evaluated(game, state, tree, leaf, variant, simulation, rng)
                continue
            count_pending(tree, simulation, 1)
            pending.tree[count] = number
            pending.leaf[count] = leaf
            count += 1
            begun += 1
    return count


@kernel
def back_up_trees(
    game: Any,
    states: Any,
    trees: Tree,
    variant: Any,
    pending: PendingSimulations,
    cache: EvaluationCache,
    priors: NDArray[np.float32],
    values: NDArray[np.float32],
    streams: Any,
) -> None:
    """Finish the pending simulations, with the evaluations of their positions in `states`."""
    evaluation = variant.selection.evaluation
    last = evaluation.size - 1
    for i in range(values.size):
        tree = tree_of(trees, pending.tree[i])
        simulation = simulation_of(pending, i)
        state = states[i]
        for action in range(last):
            evaluation[action] = priors[i, action]
        evaluation[last] = min(max(values[i], -1.0), 1.0)
        store(game, state, cache, evaluation)
        count_pending(tree, simulation, -1)
        leaf = pending.leaf[i]
        rng = unpacked(streams, pending.tree[i])[0]
        expand_evaluated(game, state, tree, leaf, variant, simulation, rng)


@kernel
def look_into_roots(
    game: Any, roots: Any, states: Any, trees: Tree, variant: Any, pending: Any, streams: Any
) -> None:
    """Let the knowledge look at the roots of the trees that do not rest."""
    for number in range(pending.remaining.size):
        tree = tree_of(trees, number)
        is_open = tree.child_count[ROOT] > 0 and tree.proof[ROOT] == UNPROVEN
        if is_open and pending.remaining[number] >= 0:
            rng = unpacked(streams, number)[0]
            game.copy(roots[number], states[0])
            simulation = simulation_of(pending, 0)
            look_into(game, states[0], tree, ROOT, variant, simulation, rng)


@kernel
def add_noise_to_trees(game: Any, trees: Tree, variant: Any, noise: NDArray[np.float64]) -> None:
    """Give every root its noise, ``(T, num_actions())``."""
    for number in range(noise.shape[0]):
        variant.selection.add_root_noise(tree_of(trees, number), noise[number])


@kernel
def read_trees(
    game: Any,
    trees: Tree,
    variant: Any,
    policies: NDArray[np.float32],
    values: NDArray[np.float32],
    best: NDArray[np.int32],
) -> None:
    """Read what the searches have found, of trees whose roots have children.

    Fills in the policies to learn from, ``(T, num_actions())``, the mean values of the roots,
    ``(T,)``, -1 to 1, for the player to move, or the outcomes that are proven, and the best
    actions, ``(T,)``.
    """
    for number in range(best.size):
        tree = tree_of(trees, number)
        policies[number] = 0.0
        best[number] = tree.action[variant.selection.read_policy(tree, policies[number])]
        outcome = proof_by_children(tree, variant, ROOT)
        if variant.solver.proves() and outcome != UNPROVEN:
            values[number] = outcome
            continue
        first = tree.first_child[ROOT]
        total, count = tree.extras.raw_value[ROOT], 1
        for child in range(first, first + tree.child_count[ROOT]):
            total += tree.value[child] * tree.visits[child]
            count += tree.visits[child]
        values[number] = 2.0 * total / count - 1.0


compiled_descend_trees: Final = CompiledFunction(descend_trees)
compiled_back_up_trees: Final = CompiledFunction(back_up_trees)
compiled_look_into_roots: Final = CompiledFunction(look_into_roots)
compiled_add_noise_to_trees: Final = CompiledFunction(add_noise_to_trees)
compiled_read_trees: Final = CompiledFunction(read_trees)


# ---- the search ----------------------------------------------------------------------------------


class EvaluatedSearch:
    """Trees that are searched together, their leaves evaluated in one batch.

    Args:
        game: The game, or the adapter of a foreign environment.
        trees: T trees, side by side, each with room for a root and all its children.
        states: ``(T * width,)`` to work in: an array of records, or a list.
        variant: The composition, with memory for the game (`agents.search.variant.with_memory`).
        evaluator: Evaluates the leaves.
        streams: The stream of the search, or one for each tree.
        width: How many leaves of one tree are evaluated together.
        cache: See `new_cache`.
        compiles: Whether to run as machine code.

    Raises:
        ValueError: If the trees are too small, the backup keeps something of its own, or the rule
            has no `count_visits`.

    Attributes:
        evaluations: Positions that were evaluated so far.
        streams: The stream of each tree.
    """

    def __init__(
        self,
        game: Any,
        trees: Tree,
        states: Any,
        variant: Variant,
        evaluator: Evaluator,
        streams: np.random.Generator | Sequence[np.random.Generator],
        width: int = 1,
        cache: EvaluationCache | None = None,
        compiles: bool = True,
    ) -> None:
        most, num_actions = trees.action.shape[1], game.num_actions()
        if most <= num_actions:
            raise ValueError(f"expected trees of more than {num_actions} nodes, got {most}")
        if trees.backed_up != () or variant.backup.new_extras(1) != ():
            kind = type(variant.backup).__name__
            raise ValueError(f"expected a backup that keeps nothing of its own, got {kind}")
        if not hasattr(variant.selection, "count_visits"):
            kind = type(variant.selection).__name__
            raise ValueError(
                f"expected a rule that counts pending simulations (count_visits = "
                f"visits_and_pending), got {kind} without count_visits"
            )
        self.game = game
        self.trees = trees
        self.states = states
        self.variant = variant
        self.evaluator = evaluator
        self.width = width
        self.cache = new_cache(game, 0) if cache is None else cache
        self.evaluations = 0
        self._pending = new_pending(game, len(trees.node_count), width)
        self._compiles = compiles
        if isinstance(streams, np.random.Generator):
            streams = [streams] * len(trees.node_count)
        self.streams = list(streams)
        self._streams = stream_rows(streams, compiles)
        self._code: dict[CompiledFunction, Callable[..., Any]] = {}

    def set_stream(self, number: int, stream: np.random.Generator) -> None:
        """Let one of the trees draw from another stream from now on."""
        self.streams[number] = stream  # rows do not keep it alive
        self._streams[number] = stream_rows([stream], self._compiles)[0]

    def _prepared(self, kernel: CompiledFunction, *arguments: Any) -> Callable[..., Any]:
        """A kernel, of which the machine code is looked up once."""
        if kernel not in self._code:
            code = kernel.specialise(*arguments) if self._compiles else kernel.function
            self._code[kernel] = code
        return self._code[kernel]

    def _call(self, kernel: CompiledFunction, *arguments: Any) -> Any:
        return self._prepared(kernel, *arguments)(*arguments)

    def _to_descend(self, roots: Any) -> tuple[Any, ...]:
        places = self.game, roots, self.states, self.trees
        return *places, self.variant, self._pending, self.cache, self.width, self._streams

    def _to_back_up(self, *evaluations: NDArray[np.float32]) -> tuple[Any, ...]:
        places = self.game, self.states, self.trees
        return *places, self.variant, self._pending, self.cache, *evaluations, self._streams

    def _to_look(self, roots: Any) -> tuple[Any, ...]:
        places = self.game, roots, self.states, self.trees
        return *places, self.variant, self._pending, self._streams

    def compile(self, roots: Any) -> None:
        """Compile now, so that the first `run` does not have to."""
        priors = np.zeros((1, self.game.num_actions()), np.float32)
        self._prepared(compiled_descend_trees, *self._to_descend(roots))
        self._prepared(compiled_back_up_trees, *self._to_back_up(priors, priors[0]))
        if looks_at_nodes(self.variant.knowledge):
            self._prepared(compiled_look_into_roots, *self._to_look(roots))

    def run(self, roots: Any, simulations: int | NDArray[np.int32]) -> int:
        """Search from ``(T,)`` positions, or a list of them; returns the simulations run.

        `simulations` are for each tree; a tree with -1 is left as it is. Where no tree has more
        than 0, the roots without an evaluation get one, and the knowledge looks at all roots.
        """
        remaining = self._pending.remaining
        remaining[:] = simulations
        searched = np.flatnonzero(remaining >= 0).tolist()
        if any(self.game.is_terminal(roots[number]) for number in searched):
            raise ValueError("expected positions to search from, got one where the game is over")
        wanted = int(remaining.sum())
        looks = not (remaining > 0).any() and looks_at_nodes(self.variant.knowledge)
        while True:
            count = self._call(compiled_descend_trees, *self._to_descend(roots))
            if count == 0:
                if looks:
                    self._call(compiled_look_into_roots, *self._to_look(roots))
                return wanted - int(remaining.sum())
            found = evaluations(self.evaluator, self.game, self.states[:count])
            self.evaluations += count
            self._call(compiled_back_up_trees, *self._to_back_up(*found))

    def add_root_noise(self, noise: NDArray[np.float64]) -> None:
        """Give every root, which has children, its noise, ``(T, num_actions())``."""
        self._call(compiled_add_noise_to_trees, self.game, self.trees, self.variant, noise)

    def results(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int32]]:
        """What was found: policies, values and best actions; see `read_trees`."""
        count = len(self.trees.node_count)
        policies = np.zeros((count, self.game.num_actions()), np.float32)
        values, best = np.zeros(count, np.float32), np.zeros(count, np.int32)
        found = policies, values, best
        self._call(compiled_read_trees, self.game, self.trees, self.variant, *found)
        return found
