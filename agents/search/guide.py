"""A policy as the guide of a search with playouts: it looks at the nodes that are visited often.

A network is too slow to look at every leaf where a playout takes microseconds. So it looks at a
node only once that has been visited `Guide.visits` times: from then on its priors are the biases of
the node's children (`agents.search.bias`), and its value counts as `Guide.weight` simulations of
the node. The search runs in slices; after each, the policy looks at all nodes that are due, in one
batch.

Sources:
    Gao, Hayward and Mueller, "Move prediction using deep convolutional neural networks in Hex",
    IEEE Transactions on Games 10, 2018: priors of a network in a search with playouts.

    Silver et al., "Mastering the game of Go with deep neural networks and tree search", Nature 529,
    2016: means of playouts and of a network's values; a network looks at nodes visited often.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.bias import EvenPriors, ProgressiveBias
from agents.search.evaluated import Evaluator
from agents.search.knowledge import is_due
from agents.search.mcts import Variant, back_up, look_into
from agents.search.simulation import Simulation
from agents.search.tree import ROOT, UNPROVEN, Tree
from hexenv.compiled import CompiledFunction, inlined_kernel, kernel, uses_machine_code

SLICE: Final = 256
"""The fewest simulations between two looks of the policy."""
SLICES: Final = 16
"""Later it looks when the search has grown by this part: larger batches are quicker."""
BATCH: Final = 64
"""The most nodes that it looks at together."""
BIAS: Final = 2.5
"""Weight of its priors, where the rule has no bias; see `ProgressiveBias`."""
FIRST_PLAY: Final = 0.5
"""The score of an action without a visit, besides."""


class Guide(NamedTuple):
    """A policy, and what it is asked."""

    policy: Evaluator
    visits: int
    """Of a node, when the policy looks at it."""
    weight: int
    """The simulations that its value counts as."""


def with_bias(variant: Variant) -> Variant:
    """A variant whose rule has a bias, for the priors of a guide."""
    if isinstance(variant.selection, ProgressiveBias):
        return variant
    rule = ProgressiveBias(variant.selection, EvenPriors(), BIAS, FIRST_PLAY)
    return variant._replace(selection=rule)


class DueNodes(NamedTuple):
    """Nodes that are due, and the ways to them."""

    depths: NDArray[np.int32]
    """``(N,)``: plies from the root."""
    ways: NDArray[np.int32]
    """``(N, max_plies())``: the nodes on the way, without the root."""
    line: NDArray[np.int32]
    """``(max_plies() + 1,)``: scratch space; the way that is looked at, from the root."""
    following: NDArray[np.int32]
    """``(max_plies() + 1,)``: scratch space; at each depth the child that is next."""


def new_due_nodes(game: Any, count: int) -> DueNodes:
    """Room for so many nodes."""
    plies = game.max_plies()
    line, following = np.zeros((2, plies + 1), np.int32)
    return DueNodes(np.zeros(count, np.int32), np.zeros((count, plies), np.int32), line, following)


@inlined_kernel
def is_open(tree: Tree, node: int) -> bool:
    """Whether a node has children, and is not proven."""
    return tree.child_count[node] > 0 and tree.proof[node] == UNPROVEN


@kernel
def find_due(game: Any, root: Any, states: Any, tree: Tree, visits: int, due: DueNodes) -> int:
    """Find nodes that the policy has not looked at, the root and those visited often enough.

    Writes their positions, ``(N,)``, and the ways to them; returns how many there are.
    """
    if tree.node_count[0] == 0 or not is_open(tree, ROOT):
        return 0
    count, depth = 0, 0
    if not tree.extras.is_guided[ROOT]:
        game.copy(root, states[0])
        due.depths[0] = 0
        count = 1
    line, following = due.line, due.following
    line[0], following[0] = ROOT, tree.first_child[ROOT]
    while depth >= 0 and count < due.depths.size:
        parent, node = line[depth], following[depth]
        if node == tree.first_child[parent] + tree.child_count[parent]:
            depth -= 1
            continue
        following[depth] += 1
        if tree.visits[node] < visits or not is_open(tree, node):
            continue
        depth += 1
        line[depth], following[depth] = node, tree.first_child[node]
        if not tree.extras.is_guided[node]:
            game.copy(root, states[count])
            for i in range(depth):
                due.ways[count, i] = line[i + 1]
                game.step(states[count], tree.action[line[i + 1]])
            due.depths[count] = depth
            count += 1
    return count


@kernel
def take_advice(
    game: Any,
    root: Any,
    state: Any,
    tree: Tree,
    variant: Variant,
    simulation: Simulation,
    rng: np.random.Generator,
    weight: int,
    due: DueNodes,
    priors: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """Give nodes that are due their priors, ``(n, num_actions())``, and back their values up.

    The values, ``(n,)``, are for the players to move, -1 to 1.
    """
    for number in range(values.size):
        depth = int(due.depths[number])
        node = ROOT
        game.copy(root, state)
        for i in range(depth):
            node = due.ways[number, i]
            simulation.path[i] = node
            simulation.players[i] = game.to_play(state)
            game.step(state, tree.action[node])
            # The knowledge may be due at a number of visits that is now passed over.
            for visits in range(tree.visits[node], tree.visits[node] + weight):
                if is_due(variant.knowledge, visits) and is_open(tree, node):
                    simulation.depth[0] = i + 1
                    look_into(game, state, tree, node, variant, simulation, rng)
        write_priors(tree, node, priors[number])
        if depth > 0:
            simulation.depth[0] = simulation.length[0] = depth
            value = values[number]
            simulation.result[0] = value if game.to_play(state) == 0 else -value
            for _ in range(weight):
                back_up(tree, variant, simulation)


@inlined_kernel
def write_priors(tree: Tree, node: int, priors: NDArray[np.float64]) -> None:
    """Give the children of a node their priors, scaled to add up to 1."""
    tree.extras.is_guided[node] = True
    first = tree.first_child[node]
    last = first + tree.child_count[node]
    total = 0.0
    for child in range(first, last):
        total += priors[tree.action[child]]
    if total > 0.0:
        for child in range(first, last):
            tree.extras.prior[child] = priors[tree.action[child]] / total


compiled_find_due: Final = CompiledFunction(find_due, "the guide")
compiled_take_advice: Final = CompiledFunction(take_advice, "the guide")


class GuidedSearch:
    """A search in slices, between which a policy looks at nodes.

    Args:
        search: Runs a number of simulations; returns how many it ran, fewer if it proves the root.
        guide: The policy.
        game: The game.
        root: The position that is searched.
        states: Positions to work in; as many nodes are looked at after a slice, at most.
        tree: The tree.
        variant: The composition, `with_bias`, with memory for the game.
        simulation: Its arrays are worked in.
        rng: The stream of the search.
        compiles: Whether to run as machine code.
    """

    def __init__(
        self,
        search: Any,
        guide: Guide,
        game: Any,
        root: Any,
        states: Any,
        tree: Tree,
        variant: Variant,
        simulation: Simulation,
        rng: np.random.Generator,
        compiles: bool,
    ) -> None:
        self._search = search
        self._guide = guide
        self._states = states
        self._due = due = new_due_nodes(game, len(states))
        self._to_find = (game, root, states, tree, guide.visits, due)
        of_tree = (tree, variant, simulation, rng, guide.weight, due)
        self._to_take = (game, root, states[0], *of_tree)
        self._find = compiled_find_due.function
        self._take = compiled_take_advice.function
        if compiles and uses_machine_code():
            none = np.zeros((0, game.num_actions()))
            self._find = compiled_find_due.specialise(*self._to_find)
            self._take = compiled_take_advice.specialise(*self._to_take, none, none[:, 0])
        self._done = 0
        self._before_look = 1  # then the root has children

    def run(self, simulations: int) -> int:
        """Run a number of simulations; returns how many were run."""
        done = 0
        while done < simulations:
            count = min(self._before_look, simulations - done)
            ran = self._search(count)
            done += ran
            self._done += ran
            self._before_look -= ran
            if ran < count:
                break
            if self._before_look == 0:
                while self._look() == BATCH:
                    pass
                self._before_look = max(SLICE, self._done // SLICES)
        return done

    def _look(self) -> int:
        """Let the policy look at a batch of nodes; returns how many there were."""
        count = self._find(*self._to_find)
        if count > 0:
            found = self._guide.policy.evaluate(self._to_find[0], self._states[:count])
            priors, values = (np.ascontiguousarray(array, np.float64) for array in found)
            self._take(*self._to_take, priors, values)
        return count
