"""Searches with an evaluator: against references written anew, in every engine, batch and cache."""

import importlib
import math
import zlib
from typing import NamedTuple

import numpy as np
import pytest
from environments import legal_actions, make, random_action
from pettingzoo.utils import BaseWrapper

from agents import ANETRolloutMCTS, GumbelAgent, PolicyAgent, PUCTAgent
from agents.core.temperature import draw_action
from agents.mcts.anet import EvaluatedUCB1
from agents.mcts.gumbel import Gumbel, halving_schedule
from agents.mcts.puct import PUCT
from agents.mcts.rollouts import RolloutEvaluator
from agents.planning.view import planner_view
from agents.registry import make_agent
from agents.search.children import best_child
from agents.search.evaluated import (
    EvaluatedSearch,
    new_cache,
    new_evaluated_extras,
    new_trees,
    tree_of,
)
from agents.search.playout import Uniform
from agents.search.proofs import SOLVERS
from agents.search.reward import WinLoss
from agents.search.tree import ROOT, add_node, child_by_action, children, new_tree, node_arrays
from agents.search.variant import Variant, with_memory
from hexenv import tictactoe_v0
from hexenv.games import base, notation

needs_compiler = pytest.mark.compiled(only=True)

GAMES = ("tictactoe", "connect4-4x5", "hex-3-swap", "gomoku-4")
over_games = pytest.mark.parametrize("board", GAMES)
over_plies = pytest.mark.parametrize("plies", [0, 1, 4])
PLAIN = {"route": "interpreted", "seed": 0}


# ---- evaluators and searches ---------------------------------------------------------------------


class Oracle:
    """Judges positions by their hash, at random, but always alike."""

    def __init__(self, seed=0):
        self.seed = seed
        self.batches = []

    def judge(self, game, state):
        rng = np.random.default_rng([self.seed, int(game.position_hash(state)) % 2**64])
        return rng.uniform(0.02, 1.0, game.num_actions()), rng.uniform(-0.8, 0.8)

    def evaluate(self, game, states):
        self.batches.append(len(states))
        priors, values = zip(*(self.judge(game, state) for state in states), strict=True)
        return np.array(priors, np.float32), np.array(values, np.float32)


class Leaning(Oracle):
    """Likes action 4, and knows nothing else."""

    def judge(self, game, state):
        priors = np.ones(game.num_actions())
        priors[4] = 20.0
        return priors, 0.0


def learned(planes, masks):
    """The same for `PolicyAgent`: it goes by what is seen."""
    logits, values = np.zeros(masks.shape), np.zeros(len(masks))
    for row, seen in enumerate(planes):
        rng = np.random.default_rng(zlib.crc32(np.ascontiguousarray(seen, np.int8).tobytes()))
        logits[row], values[row] = rng.normal(size=masks.shape[1]), rng.uniform(-0.8, 0.8)
    return logits, values


def ignorant(planes, masks):
    return np.zeros(masks.shape), np.zeros(len(masks))


def position(board, plies=0, seed=0):
    """A game, and a position after random plies."""
    env = make(board)
    env.reset()
    rng = np.random.default_rng([seed, plies])
    for _ in range(plies):
        env.step(random_action(env, rng))
    assert not any(env.terminations.values())
    return env.game, base.clone(env.game, env.state)


def prepared(
    game, roots, selection, evaluator, simulations,
    width=1, solver="off", cache=0, seed=0, max_nodes=None, compiles=False,
):  # fmt: skip
    """A search, and its roots as an array."""
    count, nodes = len(roots), max_nodes or 1 + (simulations + 1) * game.num_actions()
    together = base.new_states(game, count)
    for root, state in zip(roots, together, strict=True):
        game.copy(root, state)
    search = EvaluatedSearch(
        game,
        new_trees(count, nodes),
        base.new_states(game, count * width),
        with_memory(Variant(selection, Uniform(), WinLoss(), SOLVERS[solver]), game),
        evaluator,
        np.random.default_rng(seed),
        width,
        new_cache(game, cache),
        compiles,
    )
    return search, together


def searched(game, roots, selection, evaluator, simulations, noise=None, **options):
    """A search that has run."""
    search, roots = prepared(game, roots, selection, evaluator, simulations, **options)
    if noise is not None:
        search.run(roots, 0)
        search.add_root_noise(noise)
    search.ran = search.run(roots, simulations)
    return search


class Seen(NamedTuple):
    """What a tree knows of a node."""

    visits: int
    value: float
    prior: float


def by_path(tree, node=ROOT, path=()):
    """All nodes that were visited, by the actions that lead to them."""
    found = {}
    below = children(tree, node)
    for child in range(below.start, below.stop):
        if tree.visits[child]:
            line = (*path, int(tree.action[child]))
            found[line] = Seen(
                int(tree.visits[child]), float(tree.value[child]), float(tree.extras.prior[child])
            )
            found |= by_path(tree, child, line)
    return found


def root_visits(search, row=0):
    tree = tree_of(search.trees, row)
    below = children(tree, ROOT)
    return dict(zip(tree.action[below].tolist(), tree.visits[below].tolist(), strict=True))


# ---- references, from the papers -----------------------------------------------------------------


class Known:
    """A node of a reference: what who chose it got, and how its position was judged."""

    def __init__(self, prior):
        self.prior = prior
        self.visits = 0
        self.total = 0.0
        self.worth = 0.0
        self.below = {}

    def judge(self, game, state, evaluator):
        """Expand it; the outcome for player 0."""
        priors, values = evaluator.evaluate(game, [state])
        legal = base.legal_actions(game, state)
        total = sum(float(priors[0, action]) for action in legal)
        self.below = {action: Known(float(priors[0, action]) / total) for action in legal}
        self.worth = (float(values[0]) + 1) / 2
        return float(values[0]) if game.to_play(state) == 0 else -float(values[0])

    def simulate(self, game, state, evaluator, choose, is_root=True):
        """One simulation from here; its outcome for player 0."""
        if game.is_terminal(state):
            return game.outcome(state, 0)
        if not self.below:
            return self.judge(game, state, evaluator)
        action = choose(self, is_root)
        mover, child = game.to_play(state), self.below[action]
        game.step(state, action)
        outcome = child.simulate(game, state, evaluator, choose, is_root=False)
        child.visits += 1
        child.total += (1 + outcome) / 2 if mover == 0 else (1 - outcome) / 2
        return outcome

    def by_path(self, path=()):
        found = {}
        for action, child in self.below.items():
            if child.visits:
                line = (*path, action)
                mean = child.total / child.visits
                found[line] = Seen(child.visits, pytest.approx(mean), pytest.approx(child.prior))
                found |= child.by_path(line)
        return found


def reference(game, root, evaluator, simulations, choose):
    node = Known(1.0)
    node.judge(game, root, evaluator)
    for _ in range(simulations):
        node.simulate(game, base.clone(game, root), evaluator, choose)
    return node


def puct(c, table, fpu):
    """The choice of Silver et al. (2018): their pseudocode, rewards in [0, 1]."""

    def choose(node, is_root):
        total = 1 + sum(child.visits for child in node.below.values())

        def score(action):
            child = node.below[action]
            rate = math.log((total + table + 1) / table) + c
            value = child.total / child.visits if child.visits else node.worth - fpu
            return value + rate * child.prior * math.sqrt(total) / (1 + child.visits)

        return max(node.below, key=score)

    return choose


def completed(node):
    """Logits, visits and completed Q of a node's children (Danihelka et al. 2022, appendix D)."""
    known = node.below.values()
    priors, visits = (np.array([getattr(c, name) for c in known]) for name in ("prior", "visits"))
    means = np.array([child.total / max(child.visits, 1) for child in known])
    seen = visits > 0
    mixed = node.worth
    if seen.any():
        of_seen = np.average(means[seen], weights=priors[seen])
        mixed = (node.worth + visits.sum() * of_seen) / (1 + visits.sum())
    return np.log(priors), visits, np.where(seen, means, mixed)


def improved(logits, visits, values, c_visit, c_scale):
    """softmax(logits + sigma(completed Q))."""
    merits = logits + (c_visit + visits.max()) * c_scale * values
    shares = np.exp(merits - merits.max())
    return shares / shares.sum()


def halving(actions, simulations):
    """The visits that each simulation's action has had, phase by phase (Karnin et al. 2013)."""
    phases = max(math.ceil(math.log2(actions)), 1)
    turns, left, had = [], actions, 0
    while len(turns) < simulations:
        visits_each = max(simulations // (phases * left), 1)
        for had_now in range(had, had + visits_each):
            turns += [had_now] * left
        had += visits_each
        left = max(left // 2, 2) if actions > 1 else 1
    return turns[:simulations]


def gumbel(c_visit, c_scale, considered, simulations, noise):
    """The choice of Danihelka et al. (2022): sequential halving at the root, pi' below it."""

    def choose(node, is_root):
        actions = list(node.below)
        logits, visits, values = completed(node)
        if not is_root:
            policy = improved(logits, visits, values, c_visit, c_scale)
            return actions[np.argmax(policy - visits / (1 + visits.sum()))]
        due = halving(min(considered, len(actions)), simulations)[visits.sum()]
        merits = noise[actions] + logits + (c_visit + visits.max()) * c_scale * values
        return actions[np.argmax(np.where(visits == due, merits, -np.inf))]

    return choose


@over_plies
@over_games
@pytest.mark.parametrize(
    ("c", "table", "fpu", "simulations"), [(0.625, 19652.0, 0.0, 120), (1.4, 30.0, 0.2, 150)]
)
def test_puct_is_that_of_the_paper(board, plies, c, table, fpu, simulations):
    game, root = position(board, plies)
    found = searched(game, [root], PUCT(c=c, base=table, fpu=fpu), Oracle(), simulations)
    expected = reference(game, root, Oracle(), simulations, puct(c, table, fpu))
    assert by_path(tree_of(found.trees, 0)) == expected.by_path()
    assert sum(root_visits(found).values()) == simulations == found.ran


@over_plies
@over_games
@pytest.mark.parametrize(
    ("c_visit", "c_scale", "considered", "simulations"),
    [(50.0, 1.0, 4, 40), (50.0, 0.1, 16, 100), (5.0, 0.5, 1, 20)],
)
def test_gumbel_is_that_of_the_paper(board, plies, c_visit, c_scale, considered, simulations):
    game, root = position(board, plies)
    noise = np.random.default_rng(plies).gumbel(size=game.num_actions())
    rule = Gumbel(c_visit=c_visit, c_scale=c_scale, considered=considered, simulations=simulations)
    found = searched(game, [root], rule, Oracle(), simulations, noise=noise[None])
    choose = gumbel(c_visit, c_scale, considered, simulations, noise)
    expected = reference(game, root, Oracle(), simulations, choose)
    assert by_path(tree_of(found.trees, 0)) == expected.by_path()

    logits, visits, values = completed(expected)
    policy = improved(logits, visits, values, c_visit, c_scale)
    merits = noise[list(expected.below)] + logits + (c_visit + visits.max()) * c_scale * values
    best = np.argmax(np.where(visits == visits.max(), merits, -np.inf))
    policies, _, chosen = found.results()
    np.testing.assert_allclose(policies[0, list(expected.below)], policy, atol=1e-6)
    assert policies.sum() == pytest.approx(1, abs=1e-6)
    assert chosen[0] == list(expected.below)[best]


@pytest.mark.parametrize(
    ("considered", "simulations", "turns"),
    [
        (1, 4, [0, 1, 2, 3]),
        (2, 6, [0, 0, 1, 1, 2, 2]),
        (3, 10, [0, 0, 0, 1, 1, 2, 2, 3, 3, 4]),
        (4, 8, [0, 0, 0, 0, 1, 1, 2, 2]),
        (16, 10, [0] * 10),
    ],
)
def test_sequential_halving_by_hand(considered, simulations, turns):
    assert halving_schedule(considered, simulations)[considered].tolist() == turns


def test_sequential_halving_is_the_same_for_every_number_of_actions():
    for simulations in (1, 2, 7, 16, 50, 200):
        table = halving_schedule(24, simulations)
        for considered in range(1, 25):
            assert table[considered].tolist() == halving(considered, simulations)


# ---- policy improvement --------------------------------------------------------------------------


def bandit(rng, actions, visited):
    """A root over children whose true values are known where they have been visited."""
    tree = new_tree(1 + actions, new_evaluated_extras(None, 1 + actions))
    add_node(tree, -1, 1)
    tree.first_child[ROOT], tree.child_count[ROOT] = 1, actions
    priors, values = rng.dirichlet(np.ones(actions)), rng.random(actions)
    for action in range(actions):
        add_node(tree, action, 0)
    tree.extras.prior[1:], tree.extras.root_noise[:], tree.extras.pending[:] = priors, 0.0, 0
    tree.extras.raw_value[ROOT] = priors @ values  # what the policy is worth
    for child in 1 + rng.permutation(actions)[:visited]:
        tree.visits[child], tree.value[child] = rng.integers(1, 9), values[child - 1]
    return tree, priors, values


def improvement(rng, actions, visited, rule):
    tree, priors, values = bandit(rng, actions, visited)
    policy = np.zeros(actions, np.float32)
    rule.read_policy(tree, policy)
    return policy @ values - priors @ values


@pytest.mark.parametrize("c_scale", [0.02, 0.1, 1.0, 30.0])
def test_the_improved_policy_is_never_worse_than_the_priors(c_scale):
    rng = np.random.default_rng(0)
    rule = Gumbel(c_scale=c_scale).with_memory(position("hex-3-swap")[0])
    gains = [
        improvement(rng, actions, actions, rule) for actions in range(2, 12) for _ in range(30)
    ]
    assert min(gains) > -1e-6
    assert np.mean(gains) > 0.02


@pytest.mark.parametrize("visited", [1, 2, 4])
def test_the_improved_policy_is_better_even_if_little_has_been_visited(visited):
    rng = np.random.default_rng(1)
    rule = Gumbel().with_memory(position("hex-3-swap")[0])
    gains = [improvement(rng, 8, visited, rule) for _ in range(400)]
    assert np.mean(gains) > 4 * np.std(gains) / 20
    assert improvement(rng, 8, 0, rule) == pytest.approx(0, abs=1e-6)  # nothing is known


@pytest.mark.parametrize("solver", ["soft", "hard"])
@pytest.mark.parametrize("lost", [1, 3, 5])
def test_the_halving_goes_on_with_the_children_that_are_not_proven_losses(solver, lost):
    rng = np.random.default_rng(lost)
    rule = Gumbel(considered=4, simulations=20).with_memory(position("hex-3-swap")[0])
    variant = Variant(rule, Uniform(), WinLoss(), SOLVERS[solver])
    tree, _, _ = bandit(rng, 6, 0)
    tree.extras.prior[1 : 1 + lost] += 10.0  # the losses would be the best
    tree.visits[1 : 1 + lost] = rng.integers(1, 9, lost)
    tree.proof[1 : 1 + lost] = -1
    turns = []
    for _ in range(20):
        child = best_child(tree, ROOT, 6, variant, rng)
        assert child > lost
        turns.append(int(tree.visits[child]))
        tree.visits[child] += 1
        tree.value[child] = 0.5
    assert turns == halving_schedule(4, 20)[min(4, 6 - lost)].tolist()


def test_where_all_children_are_proven_losses_the_halving_is_among_all_of_them():
    rng = np.random.default_rng(3)
    rule = Gumbel(considered=4, simulations=20).with_memory(position("hex-3-swap")[0])
    variant = Variant(rule, Uniform(), WinLoss(), SOLVERS["soft"])
    tree, _, _ = bandit(rng, 4, 0)
    tree.proof[1:] = -1
    turns = []
    for _ in range(20):
        child = best_child(tree, ROOT, 4, variant, rng)
        turns.append(int(tree.visits[child]))
        tree.visits[child] += 1
        tree.value[child] = 0.0
    assert turns == halving_schedule(4, 20)[4].tolist()


# ---- one tree by every way -----------------------------------------------------------------------

RULES = {
    "puct": PUCT(c=0.9, fpu=0.1),
    "gumbel": Gumbel(c_scale=0.2, considered=4, simulations=60),
    "ucb1": EvaluatedUCB1(0.7),
}
BRIEF = [("puct", 1), ("gumbel", 5)]
"""Of the rules, with how many leaves in a batch: each takes seconds to compile."""
over_rules = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def nodes_in_use(tree):
    """All that is written for the nodes of a tree; of the root a rule keeps its worth alone."""
    count = int(tree.node_count[0])
    nodes = {
        name: array[1 if name.startswith("extras") else 0 : count].copy()
        for name, array in node_arrays(tree).items()
    }
    return nodes | {"worth of the root": tree.extras.raw_value[:1].copy()}


def assert_same_nodes(one, other):
    assert list(one) == list(other)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name, strict=True)


@needs_compiler
@pytest.mark.parametrize(
    ("rule", "width"),
    [
        pytest.param(rule, width, marks=[] if (name, width) in BRIEF else [pytest.mark.slow])
        for name, rule in RULES.items()
        for width in (1, 5)
    ],
)
def test_compiled_and_interpreted_searches_of_many_trees_are_the_same(rule, width):
    game = make("connect4-4x5").game
    roots = [position("connect4-4x5", plies)[1] for plies in (0, 0, 5)]
    noise = np.random.default_rng(0).gamma(0.5, size=(3, game.num_actions()))
    rule = rule._replace(noise_share=0.25) if isinstance(rule, PUCT) else rule
    found = [
        searched(
            game, roots, rule, Oracle(), 60, noise,
            width=width, cache=64, solver="soft", compiles=compiles,
        )
        for compiles in (True, False)
    ]  # fmt: skip
    for row in range(3):
        assert_same_nodes(*(nodes_in_use(tree_of(search.trees, row)) for search in found))
    for one, other in zip(*(search.results() for search in found), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    assert found[0].ran == found[1].ran
    assert found[0].evaluations == found[1].evaluations
    assert found[0].cache.hits[0] == found[1].cache.hits[0]


@over_rules
@over_games
def test_trees_together_are_the_trees_alone(board, rule):
    if isinstance(rule, EvaluatedUCB1):
        rule = PUCT()  # the order of UCB1's first visits is the children's, which is random
    game = make(board).game
    roots = [position(board, plies)[1] for plies in (0, 1, 3, 4)]
    together = searched(game, roots, rule, Oracle(), 60)
    for row, root in enumerate(roots):
        alone = searched(game, [root], rule, Oracle(), 60, seed=row + 1)
        assert by_path(tree_of(together.trees, row)) == by_path(tree_of(alone.trees, 0))
        for one, other in zip(together.results(), alone.results(), strict=True):
            np.testing.assert_array_equal(one[row], other[0])
    assert max(together.evaluator.batches) == len(roots)


def test_every_tree_has_simulations_of_its_own():
    game, root = position("connect4-4x5")
    search, roots = prepared(game, [root] * 3, PUCT(), Oracle(), 50)
    assert search.run(roots, np.array([50, 0, 7], np.int32)) == 57
    assert [sum(root_visits(search, row).values()) for row in range(3)] == [50, 0, 7]


@over_rules
@pytest.mark.parametrize("cache", [1, 16, 4096])
def test_a_cache_changes_nothing_but_the_work(rule, cache):
    game, root = position("tictactoe", 1)
    plain = searched(game, [root], rule, Oracle(), 150)
    cached = searched(game, [root], rule, Oracle(), 150, cache=cache)
    assert_same_nodes(*(nodes_in_use(tree_of(s.trees, 0)) for s in (plain, cached)))
    assert cached.evaluations + cached.cache.hits[0] == plain.evaluations
    if cache == 4096:
        assert cached.evaluations < plain.evaluations


def test_searching_in_slices_is_searching_at_once():
    game, root = position("hex-3-swap", 1)
    found = []
    for slices in ([90], [0, 1, 2, 40, 0, 47]):
        search, roots = prepared(game, [root], PUCT(), Oracle(), 90)
        assert sum(search.run(roots, count) for count in slices) == 90
        found.append(nodes_in_use(tree_of(search.trees, 0)))
    assert_same_nodes(*found)


# ---- leaves that wait together -------------------------------------------------------------------


class Watched(Oracle):
    """Checks the pending simulations whenever it is asked."""

    search = None

    def evaluate(self, game, states):
        waiting, count = self.search._pending, len(states)
        leaves = list(
            zip(waiting.tree[:count].tolist(), waiting.leaf[:count].tolist(), strict=True)
        )
        assert len(set(leaves)) == count  # no leaf waits twice
        for row in range(len(self.search.trees.node_count)):
            tree = tree_of(self.search.trees, row)
            pending = tree.extras.pending[: tree.node_count[0]]
            mine = [leaf for number, leaf in leaves if number == row]
            assert pending[ROOT] == len(mine) <= self.search.width
            assert all(pending[leaf] == 1 and tree.child_count[leaf] == 0 for leaf in mine)
        assert not any(game.is_terminal(state) for state in states)
        return super().evaluate(game, states)


@pytest.mark.parametrize(
    ("board", "width"), [("tictactoe", 2), ("hex-3-swap", 8), ("gomoku-4", 64)]
)
@over_rules
def test_leaves_that_wait_together(board, rule, width):
    game = make(board).game
    roots = [position(board, plies)[1] for plies in (0, 4)]
    oracle = Watched()
    search, roots = prepared(game, roots, rule, oracle, 60, width=width)
    oracle.search = search
    assert search.run(roots, 60) == 120
    ended = 0
    for row in range(2):
        tree = tree_of(search.trees, row)
        count = int(tree.node_count[0])
        assert not tree.extras.pending[:count].any()
        assert tree.visits[ROOT] == 61
        for node in range(count):
            below = children(tree, node)
            if tree.child_count[node]:
                assert tree.visits[node] == 1 + tree.visits[below].sum()
                assert tree.extras.prior[below].sum() == pytest.approx(1)
            elif tree.visits[node]:
                ended += int(tree.visits[node])  # only where the game is over
    assert search.evaluations == sum(oracle.batches) == 122 - ended
    assert max(oracle.batches) > 2


def test_those_that_wait_count_as_lost_and_the_others_spread():
    game, root = position("hex-3-swap")
    search, roots = prepared(game, [root], PUCT(c=0.1), Leaning(), 9, width=9)
    search.run(roots, 9)
    assert search.evaluator.batches == [1, 9]
    assert list(root_visits(search).values()) == [1] * 9

    alone = searched(game, [root], PUCT(c=0.1), Leaning(), 9)
    assert root_visits(alone)[4] == 9


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("spare", [1, 12, 40])
@over_rules
def test_a_full_tree_goes_on_without_growing(rule, spare, width):
    game, root = position("tictactoe")
    found = searched(game, [root], rule, Oracle(), 60, width=width, max_nodes=9 + spare, cache=8)
    tree = tree_of(found.trees, 0)
    assert tree.node_count[0] <= 9 + spare
    assert tree.visits[ROOT] == 61
    assert sum(root_visits(found).values()) == found.ran == 60
    assert not tree.extras.pending[: tree.node_count[0]].any()
    policies, values, best = found.results()
    assert policies.sum() == pytest.approx(1, abs=1e-6)
    assert -1 <= values[0] <= 1
    assert 0 <= best[0] < 9


def test_trees_too_small_for_a_root_and_a_game_that_is_over_are_refused():
    game, root = position("tictactoe")
    with pytest.raises(ValueError, match="more than 9 nodes, got 9"):
        prepared(game, [root], PUCT(), Oracle(), 10, max_nodes=9)
    search, _ = prepared(game, [root], PUCT(), Oracle(), 10)
    over = notation.play(game, notation.parse_moves(game, "14253"))
    with pytest.raises(ValueError, match="the game is over"):
        search.run([over], 10)


# ---- proofs --------------------------------------------------------------------------------------

FORK = "1593"
"""Of tictactoe: 7 wins, by two threats at once."""
AGENTS = {
    "puct": lambda policy, **options: PUCTAgent(policy, simulations=600, **options),
    "puct, 6 together": lambda policy, **o: PUCTAgent(policy, simulations=600, batch=6, **o),
    "gumbel": lambda policy, **o: GumbelAgent(policy, simulations=600, considered=9, **o),
    "anet": lambda policy, **options: ANETRolloutMCTS(policy, simulations=600, **options),
}
over_agents = pytest.mark.parametrize("new_agent", AGENTS.values(), ids=AGENTS)


def started(moves="", board="tictactoe", kind="env", **view):
    env = make(board, kind, **view)
    env.reset(options={"moves": moves})
    return env


@over_agents
@pytest.mark.parametrize("solver", ["soft", "hard"])
def test_a_forced_win_is_proven(new_agent, solver):
    agent = new_agent(PolicyAgent(ignorant), solver=solver, **PLAIN)
    assert agent.act(started(FORK)) == 6
    assert agent.statistics.proven == 1
    assert agent.statistics.simulations < 600  # a proven root ends the search
    assert agent.statistics.visits.sum() == agent.statistics.simulations


@over_agents
@pytest.mark.parametrize("solver", ["off", "soft", "hard"])
def test_the_only_move_that_does_not_lose_is_played(new_agent, solver):
    agent = new_agent(PolicyAgent(ignorant), solver=solver, **PLAIN)
    assert agent.act(started("152")) == 2
    assert agent.statistics.proven in (None, 0)


@pytest.mark.parametrize("rule", [Gumbel().with_memory(position("tictactoe")[0]), PUCT()])
def test_a_proven_win_is_played_though_it_was_visited_less(rule):
    tree, _, _ = bandit(np.random.default_rng(0), 4, 4)
    tree.visits[1:] = 2, 9, 9, 1

    def read():
        policy = np.zeros(4, np.float32)
        best = rule.read_policy(tree, policy)
        assert policy.sum() == pytest.approx(1)
        return best, policy

    tree.proof[3] = -1
    best, policy = read()
    assert best == 2
    assert policy[2] == 0.0  # nothing is learnt of a proven loss
    if isinstance(rule, PUCT):
        np.testing.assert_allclose(policy, np.array([2, 9, 0, 1]) / 12)
    tree.proof[4] = 0  # a draw is not preferred
    assert read()[0] == 2
    tree.proof[4] = 1
    best, policy = read()
    assert best == 4
    assert policy.tolist() == [0.0, 0.0, 0.0, 1.0]
    tree.proof[1:] = -1
    best, policy = read()
    assert best in (2, 3)
    assert (policy > 0.0).all()
    tree.proof[1:3], tree.visits[1:] = 1, 0  # proven before anything was visited
    shares = tree.extras.prior[1:3] / tree.extras.prior[1:3].sum()
    np.testing.assert_allclose(read()[1], [*shares, 0.0, 0.0], rtol=1e-5)


# ---- noise ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_dirichlet_noise_has_its_share_of_the_priors_of_legal_actions(share):
    game, root = position("connect4-4x5", 0)
    for action in (2, 2, 2, 2):  # a full column
        game.step(root, action)
    search, roots = prepared(game, [root], PUCT(noise_share=share), Oracle(), 10)
    search.run(roots, 0)
    tree = tree_of(search.trees, 0)
    below = children(tree, ROOT)
    actions, priors = tree.action[below], tree.extras.prior[below].copy()
    assert sorted(actions) == [0, 1, 3, 4]
    for seed in (0, 1):  # the second noise takes the place of the first
        noise = np.random.default_rng(seed).gamma(0.5, size=(1, 5))
        search.add_root_noise(noise)
        drawn = noise[0, actions] / noise[0, actions].sum()
        mixed = (1 - share) * priors + share * drawn
        np.testing.assert_allclose(tree.extras.prior[below], mixed)
        assert tree.extras.prior[below].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("new_agent", "noisy"),
    [
        (lambda noise: PUCTAgent(PolicyAgent(learned), 40, noise=noise, **PLAIN), 0.5),
        (lambda noise: GumbelAgent(PolicyAgent(learned), 40, 3, noise=noise, **PLAIN), 1.0),
    ],
    ids=["puct", "gumbel"],
)
def test_only_noise_makes_a_difference_between_seeds(new_agent, noisy):
    def visits(noise, seed):
        agent = new_agent(noise)
        agent.reset(seed)
        agent.act(started("5"))
        return agent.statistics.visits.tolist()

    assert visits(0.0, 1) == visits(0.0, 2)
    assert visits(noisy, 1) == visits(noisy, 1)
    assert len({tuple(visits(noisy, seed)) for seed in range(4)}) > 1


@pytest.mark.parametrize(("considered", "simulations"), [(1, 5), (2, 8), (5, 12), (16, 30)])
def test_only_the_likeliest_actions_are_considered(considered, simulations):
    logits = np.array([3.0, 0, 2, 0, 4, 1, 0.5, 0.2, 0.1])
    policy = PolicyAgent(lambda planes, masks: (np.tile(logits, (len(masks), 1)), None))
    agent = GumbelAgent(policy, simulations, considered, solver="off", **PLAIN)
    assert agent.act(started("")) in np.argsort(-logits)[:considered]
    tried = set(np.flatnonzero(agent.statistics.visits).tolist())
    assert tried == set(np.argsort(-logits)[: min(considered, simulations)].tolist())
    assert agent.statistics.visits.sum() == simulations


# ---- agents by every route -----------------------------------------------------------------------

ROUTED = {
    "puct": (PUCTAgent, {"simulations": 40, "noise": 0.25}),
    "gumbel": (GumbelAgent, {"simulations": 40, "considered": 4, "noise": 1.0}),
    "anet": (ANETRolloutMCTS, {"simulations": 25, "epsilon": 0.3, "batch": 4, "mix": 0.2}),
}


def three_moves(env, agent):
    """What an agent chooses in three moves of its own, and the trees it leaves behind."""
    rng = np.random.default_rng(1)
    for _ in range(3):
        action = agent.act(env)
        yield action, nodes_in_use(agent.planner.workers[0].tree)
        for played in (action, None):
            env.step(random_action(env, rng) if played is None else played)
            if any(env.terminations.values()):
                return


def assert_same_games(one, other):
    one, other = list(one), list(other)
    assert len(one) == len(other) > 1
    for (action, nodes), (other_action, other_nodes) in zip(one, other, strict=True):
        assert action == other_action
        assert_same_nodes(nodes, other_nodes)


@pytest.mark.parametrize("board", ["connect4-4x5", "hex-3-swap"])
@pytest.mark.parametrize("route", ["auto", "environment"])
@pytest.mark.parametrize(("agent_class", "options"), ROUTED.values(), ids=ROUTED)
def test_agents_grow_the_same_trees_by_every_route(agent_class, options, route, board):
    games = []
    for by in ("interpreted", route):
        agent = agent_class(PolicyAgent(learned), **options, route=by, seed=3)
        games.append(three_moves(started(board=board, kind="raw_env"), agent))
    assert_same_games(*games)


@pytest.mark.parametrize("name", ["connect_four", "tictactoe"])
@pytest.mark.parametrize(("agent_class", "options"), ROUTED.values(), ids=ROUTED)
def test_agents_play_legally_over_pettingzoo(agent_class, options, name):
    pytest.importorskip("pygame")
    env = importlib.import_module(f"pettingzoo.classic.{name}.{name}").env()
    env.reset()
    agent = agent_class(PolicyAgent(learned), **options | {"simulations": 10}, seed=0)
    for _ in range(6):
        before = repr([env.observe(agent) for agent in env.agents])
        action = agent.act(env)
        assert repr([env.observe(agent) for agent in env.agents]) == before
        assert type(action) is int
        assert env.observe(env.agent_selection)["action_mask"][action] == 1
        assert agent.statistics.visits.sum() >= min(agent.statistics.simulations, 10)
        env.step(action)
        if any(env.terminations.values()):
            break


class Misere(BaseWrapper):
    """Who makes a line has lost."""

    @property
    def rewards(self):
        return {agent: -reward for agent, reward in self.env.rewards.items()}


@over_agents
def test_changed_rules_are_obeyed(new_agent):
    env = Misere(tictactoe_v0.env())
    env.reset(options={"moves": "142536"[:4]})  # 3 makes a line
    agent = new_agent(PolicyAgent(ignorant), seed=0)
    agent.simulations = 60
    assert agent.act(env) != 2
    assert agent.statistics.values[2] == -1


# ---- rollouts ------------------------------------------------------------------------------------


def played_out(game, state, policy):
    """The end of a game in which a policy plays its likeliest moves, for who is to move now."""
    state, mover = base.clone(game, state), game.to_play(state)
    while not game.is_terminal(state):
        priors = policy.evaluate(game, [state])[0][0]
        game.step(state, max(base.legal_actions(game, state), key=lambda action: priors[action]))
    return game.outcome(state, mover)


@over_games
def test_rollouts_are_games_played_to_the_end(board):
    game = make(board).game
    states = base.new_states(game, 8)
    for number, state in enumerate(states):
        game.copy(position(board, number % 5, seed=number)[1], state)
    before = states.tobytes()
    found = RolloutEvaluator(Oracle(), 0.0, np.random.default_rng(0)).evaluate(game, states)
    expected = [played_out(game, state, Oracle()) for state in states]
    assert found[1].tolist() == expected
    assert len(set(expected)) > 1
    assert (found[0] == 1).all()
    assert found[0].shape == (8, game.num_actions())
    assert states.tobytes() == before

    own = Oracle().evaluate(game, states)[1]
    mixed = RolloutEvaluator(Oracle(), 0.0, np.random.default_rng(0), 0.25).evaluate(game, states)
    np.testing.assert_allclose(mixed[1], 0.75 * np.array(expected) + 0.25 * own)


def test_rollouts_over_an_environment_are_the_same():
    policy, found = PolicyAgent(learned), []
    for route in ("interpreted", "environment"):
        outcomes = []
        for moves in ("", "5", "51", "159"):
            view = planner_view(started(moves), route)
            rollouts = RolloutEvaluator(policy, 0.0, np.random.default_rng(0))
            states = [view.root]
            if route == "interpreted":
                states = base.new_states(view.game, 1)
                view.game.copy(view.root, states[0])
            outcomes += rollouts.evaluate(view.game, states)[1].tolist()
        found.append(outcomes)
    assert found[0] == found[1]
    assert len(set(found[0])) > 1


def test_random_moves_in_rollouts_come_from_the_stream():
    game, root = position("connect4-4x5")
    states = base.new_states(game, 60)
    for state in states:
        game.copy(root, state)

    def outcomes(epsilon, seed):
        rollouts = RolloutEvaluator(Oracle(), epsilon, np.random.default_rng(seed))
        return rollouts.evaluate(game, states)[1].tolist()

    assert len(set(outcomes(0.0, 0))) == 1
    assert len(set(outcomes(1.0, 0))) > 1
    assert outcomes(1.0, 0) == outcomes(1.0, 0) != outcomes(1.0, 1)


@pytest.mark.parametrize("moves", ["1425", "14259"])
@pytest.mark.parametrize("policy", [learned, ignorant])
def test_the_first_alphahex_finds_a_win_in_one(moves, policy):
    chosen = []
    for _ in range(2):
        agent = ANETRolloutMCTS(PolicyAgent(policy), 60, epsilon=0.0, solver="off", **PLAIN)
        env = started(moves)
        action = agent.act(env)
        chosen.append((action, agent.statistics.visits.tolist()))
        env.step(action)
        assert any(env.terminations.values())
    assert chosen[0] == chosen[1]


def test_epsilon_decays_from_move_to_move_of_a_game():
    agent = ANETRolloutMCTS(PolicyAgent(learned), 5, epsilon=0.4, epsilon_decay=0.5, **PLAIN)
    found = []
    for moves in ("", "12", "1236"):
        agent.act(started(moves))
        found.append(agent.planner.workers[0].evaluator_of(agent).epsilon)
    agent.reset()
    found.append(agent.planner.workers[0].evaluator_of(agent).epsilon)
    assert found == [0.2, 0.1, 0.05, 0.4]


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["puct", "gumbel", "anet"])
def test_they_are_known_by_name_with_the_options_of_searches(name):
    with pytest.raises(ValueError, match=r"expected an evaluator, .*, got 'uct'"):
        make_agent(f"{name}:policy=uct,simulations=9,batch=2,solver=hard,max_nodes=500")
    with pytest.raises(ValueError, match=f"{name}: .*parameter of policy, simulations, .*se"):
        make_agent(f"{name}:policy=uct,nonsense=1")


# ---- from move to move ---------------------------------------------------------------------------


def visits_below(agent, *actions):
    """The visits of the children of the node that some actions lead to."""
    tree, node = agent.planner.workers[0].tree, ROOT
    for action in actions:
        node = child_by_action(tree, node, action)
    below = children(tree, node)
    return dict(zip(tree.action[below].tolist(), tree.visits[below].tolist(), strict=True))


def busiest_reply(agent, action):
    found = visits_below(agent, action)
    return max(found, key=found.get)


@pytest.mark.parametrize("noise", [0.0, 0.25])
@pytest.mark.parametrize("route", ["auto", "interpreted", "environment"])
def test_the_next_move_goes_on_with_the_subtree_that_was_played(noise, route):
    policy = PolicyAgent(learned)
    agent = PUCTAgent(policy, 80, noise=noise, solver="off", route=route, seed=0)
    env = started(board="hex-3-swap")
    action = agent.act(env)
    reply = busiest_reply(agent, action)
    before = visits_below(agent, action, reply)
    for played in (action, reply):
        env.step(played)
    agent.simulations = 30
    agent.act(env)
    assert sum(before.values()) > 0
    assert sum(visits_below(agent).values()) == sum(before.values()) + 30
    assert all(visits >= before[action] for action, visits in visits_below(agent).items())

    tree = agent.planner.workers[0].tree
    below = children(tree, ROOT)
    view = planner_view(env, route)
    priors = policy.evaluate(view.game, [view.root])[0][0].astype(np.float32)
    shares = priors / priors[tree.action[below]].sum()
    for _ in range(2):  # however often the position is searched, the noise is mixed in once
        mixed, added = tree.extras.prior[below], tree.extras.root_noise[below]
        np.testing.assert_allclose(mixed - added, shares[tree.action[below]], rtol=1e-5)
        assert mixed.sum() == pytest.approx(1)
        assert added.any() == (noise > 0)
        assert ((mixed - added) * (1 - noise) <= mixed + 1e-12).all()
        agent.act(env)


def test_without_reuse_every_move_starts_anew():
    for agent in (
        PUCTAgent(PolicyAgent(learned), 50, reuse=False, solver="off", **PLAIN),
        GumbelAgent(PolicyAgent(learned), 50, solver="off", **PLAIN),
    ):
        env = started()
        for _ in range(3):
            env.step(agent.act(env))
            assert agent.statistics.visits.sum() == 50


def test_a_root_that_was_proven_before_needs_no_simulation():
    agent = PUCTAgent(PolicyAgent(ignorant), 600, **PLAIN)
    env = started(FORK)
    env.step(agent.act(env))
    env.step(3)  # one of the two threats is answered
    assert agent.act(env) == 7
    assert agent.statistics.proven == 1
    assert agent.statistics.simulations == 0


def test_a_proven_root_ends_a_search_by_the_clock():
    agent = PUCTAgent(PolicyAgent(ignorant), seconds=5.0, **PLAIN)
    assert agent.act(started(FORK)) == 6
    assert agent.statistics.simulations == agent.statistics.visits.sum() < 2_000


def test_a_failure_leaves_an_agent_that_searches_on():
    fails = [False] * 12 + [True]

    def policy(planes, masks):
        if fails and fails.pop(0):
            raise OSError("gone")
        return learned(planes, masks)

    agent = PUCTAgent(PolicyAgent(policy), 60, batch=3, solver="off", **PLAIN)
    with pytest.raises(ValueError, match="gone"):
        agent.act(started("5"))
    agent.act(started("5"))
    tree = agent.planner.workers[0].tree
    assert agent.statistics.visits.sum() == 60
    assert not tree.extras.pending[: tree.node_count[0]].any()


def test_a_tree_comes_back_from_its_file(tmp_path):
    env = started("b2", board="hex-3-swap", kind="raw_env")
    agent = PUCTAgent(PolicyAgent(learned), 60, noise=0.25, seed=0)
    agent.act(env)
    agent.save(tmp_path / "tree.npz")
    before = by_path(agent.planner.workers[0].tree)
    other = PUCTAgent(PolicyAgent(learned), 20, noise=0.25, seed=1)
    other.load(tmp_path / "tree.npz")
    other.act(env)
    after = by_path(other.planner.workers[0].tree)
    assert sum(other.statistics.visits) == 80
    assert all(after[path].visits >= node.visits for path, node in before.items())
    assert all(after[path].prior == node.prior for path, node in before.items() if len(path) > 1)

    with pytest.raises(ValueError, match=r"expected the variant\.selection\.c "):
        PUCTAgent(PolicyAgent(learned), c=2.0).load(tmp_path / "tree.npz")
    with pytest.raises(ValueError, match="expected no tree"):
        GumbelAgent(PolicyAgent(learned)).load(tmp_path / "tree.npz")


def test_exploration_is_a_parameter_of_anet():
    visits = []
    for c in (0.0, 10.0):
        agent = ANETRolloutMCTS(PolicyAgent(learned), 60, c=c, epsilon=0.0, solver="off", **PLAIN)
        agent.act(started("5"))
        visits.append(int(agent.statistics.visits.max()))
    assert visits[0] > visits[1]


# ---- batches of an agent -------------------------------------------------------------------------


class Clock:
    """A clock that shows more each time somebody looks."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def perf_counter(self):
        self.now += self.step
        return self.now


def counted(sizes, judge=learned, planes=None):
    def policy(seen, masks):
        sizes.append(len(masks))
        return judge(seen, masks)

    return PolicyAgent(policy, planes=planes)


def test_the_speed_of_a_machine_makes_no_difference_to_batches(monkeypatch):
    found = []
    for step in (1e-7, 1e-2, 10.0):
        monkeypatch.setattr("agents.core.budget.time", Clock(step))
        agent = PUCTAgent(counted(sizes := []), 100, batch=8, **PLAIN)
        agent.act(started("5", board="connect4"))
        found.append((sizes, agent.statistics.visits.tolist()))
    assert found[0] == found[1] == found[2]
    assert max(found[0][0]) > 4


def test_batches_are_full_against_the_clock_too(monkeypatch):
    clock = Clock(1e-3)
    for module in ("agents.mcts.tree_search", "agents.core.budget"):
        monkeypatch.setattr(f"{module}.time", clock)
    agent = PUCTAgent(counted(sizes := []), seconds=0.02, batch=8, **PLAIN)
    agent.act(started("5", board="connect4"))
    assert max(sizes) > 4
    assert agent.statistics.simulations % 8 == 0


def test_equal_positions_are_judged_once_unless_they_look_different():
    asked, visits = [], []
    for planes in ((), ("last_move",)):
        policy = counted(sizes := [], ignorant, planes)
        agent = PUCTAgent(policy, 300, solver="off", **PLAIN)
        agent.act(started())
        asked.append(sum(sizes))
        visits.append(agent.statistics.visits.tolist())
    assert asked[0] < asked[1] == 301
    assert visits[0] == visits[1]


def test_workers_give_one_result_for_one_seed():
    found = []
    for _ in range(2):
        options = {"workers": 3, "noise": 0.25, "batch": 2, "solver": "off"}
        agent = PUCTAgent(PolicyAgent(learned), 61, **options, **PLAIN)
        action = agent.act(started("5", board="connect4"))
        found.append((action, agent.statistics.visits.tolist()))
    assert found[0] == found[1]
    assert sum(found[0][1]) == 61


# ---- temperature ---------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_actions_are_drawn_in_proportion(temperature):
    visits = np.array([0, 40, 10, 0, 25, 5, 0])
    rng = np.random.default_rng(0)
    counts = np.bincount([draw_action(visits, temperature, rng) for _ in range(8_000)], minlength=7)
    shares = visits ** (1 / temperature) / (visits ** (1 / temperature)).sum()
    assert counts / 8_000 == pytest.approx(shares, abs=0.03)  # five standard errors
    assert not counts[visits == 0].any()


class Fixed:
    """A stream of one number."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


@pytest.mark.parametrize(
    ("temperature", "number", "drawn"),
    [(1e-320, 0.0, 3), (1.0, 0.0, 1), (1e9, 0.0, 1)]
    + [(temperature, 1 - 2**-53, 3) for temperature in (1e-320, 1e-3, 1.0, 1e9)],
)
def test_the_ends_of_the_stream_draw_legal_actions(temperature, number, drawn):
    visits = np.array([0, 3, 5, 7, 0])
    assert draw_action(visits, temperature, Fixed(number)) == drawn


def test_a_temperature_is_for_the_first_plies():
    def chosen(temperature_plies, moves):
        agent = PUCTAgent(
            PolicyAgent(ignorant), 30, temperature=1.0, temperature_plies=temperature_plies,
            reuse=False, **PLAIN,
        )  # fmt: skip
        env = started(moves)
        best = set()
        for _ in range(30):
            action = agent.act(env)
            assert action in legal_actions(env)
            best.add(bool(agent.statistics.visits[action] == agent.statistics.visits.max()))
        return best

    assert chosen(2, "5") == {True, False}
    assert chosen(2, "51") == {True}
    assert chosen(0, "") == {True}


def test_a_temperature_draws_from_the_visits_of_all_workers():
    agent = PUCTAgent(
        PolicyAgent(learned), 4, workers=4, temperature=1.0, noise=1.0, reuse=False, **PLAIN
    )
    env = started()
    found = set()
    for _ in range(30):
        action = agent.act(env)
        assert agent.statistics.visits[action] > 0
        of_first = agent.planner.workers[0].tree
        found.add(bool(of_first.visits[child_by_action(of_first, ROOT, action)]))
    assert found == {True, False}
