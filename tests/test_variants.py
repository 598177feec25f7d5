"""The variants of the search: what they compute, recounted from a record of every simulation."""

import itertools
import math
from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
import pytest
from environments import make, played, random_action, shown, theirs
from grown_trees import assert_same_nodes, below, nodes, positions_of, with_options

from agents.knowledge.hex.bridges import BEFORE, FillSavingBridges, SaveBridge
from agents.mcts.distance import DistanceScore, DistanceUCB, LiteralUCB
from agents.mcts.grave import Grave
from agents.mcts.history import ProgressiveHistory
from agents.mcts.lgr import LastGoodReply
from agents.mcts.mast import NST, Mast
from agents.mcts.playouts import make_playout
from agents.mcts.ppa import PolicyAdaptation
from agents.mcts.quality import Discounted, RelativeBonus
from agents.mcts.rave import HAND, MSE, Rave
from agents.mcts.ucb1_tuned import UCB1Tuned
from agents.registry import agent_classes, make_agent
from agents.search.mcts import search
from agents.search.playout import Decisive, Uniform
from agents.search.proofs import SOLVERS
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.simulation import new_simulation
from agents.search.tree import ROOT, UNPROVEN, new_tree
from agents.search.variant import Variant, simulation_for, with_memory
from hexenv.games import base, hex, notation, tictactoe
from hexenv.games.base import legal_actions as legal

needs_compiler = pytest.mark.compiled(only=True)

RECOUNTED = ("tictactoe", "connect4-4x5", "hex-3-swap", "gomoku-4")
over_boards = pytest.mark.parametrize("board", RECOUNTED)


# ---- every variant by two routes -----------------------------------------------------------------

PARTS = (
    "uct", "uct:fpu=0.6", "ucb1-tuned", "history:playout=ppa",
    "rave:playout=decisive+lgrf2+mast", "rave:playout=decisive+lgrf2+mast,schedule=hand,c=0.3",
    "grave:playout=nst,solver=off", "grave:playout=nst,solver=off,ref=5", "mast:solver=hard",
    "mast:solver=hard,temperature=0.2",
    "quality:playout=bridges", "quality:quality=discount,playout=bridges+lgr1",
    "quality:quality=discount,playout=bridges+lgr2", "distance",
    "distance:literal=on", "flat", "transposition",
)  # fmt: skip
"""Every part of a variant, in few compositions."""
BRIEF = ("uct", "uct:fpu=0.6")
"""Those whose search is compiled in every run, the same for both; others take ten seconds each."""
BRIDGES = [spec for spec in PARTS if "bridges" in spec]
OTHERS = [spec for spec in PARTS if "bridges" not in spec]
ROUTES = [pytest.param(spec, "tictactoe", marks=pytest.mark.sample) for spec in BRIEF]
ROUTES += [(spec, "tictactoe") for spec in OTHERS if spec not in BRIEF]
ROUTES += [(spec, "hex-3-swap") for spec in BRIDGES if "quality=discount" in spec]
ROUTES += [
    pytest.param(spec, board, marks=pytest.mark.slow)
    for spec, board in (
        *itertools.product(BRIDGES, ("hex-3-swap", "hex-3x5")),
        *itertools.product(
            (*OTHERS, "lgr:forgetting=off", "uct:playout=decisive"),
            ("connect4", "hex-3-swap"),
        ),
    )
    if (spec, board) not in ROUTES
]


def nodes_in_use(agent):
    """All that the search has written for the nodes of its tree, or of its graph."""
    worker = agent.planner.workers[0]
    found = nodes(worker.tree)
    if (graph := getattr(worker, "graph", None)) is not None:
        positions = np.flatnonzero(found["action"] == -1)
        found["target"] = graph.target[: len(found["action"])].copy()
        for name in ("mover", "own", "mean"):
            found[name] = getattr(graph, name)[positions]
    return found


def three_moves(agent, board):
    """What an agent leaves behind in each of three moves of its own, and which it plays."""
    env = make(board)
    env.reset()
    rng = np.random.default_rng(1)
    for _ in range(3):
        action = agent.act(env)
        yield action, agent.statistics, nodes_in_use(agent)
        for next_one in (action, None):
            env.step(random_action(env, rng) if next_one is None else next_one)
            if any(env.terminations.values()):
                return


def assert_routes_agree(new_agent, board):
    by_route = [list(three_moves(new_agent(route), board)) for route in ("compiled", "interpreted")]
    assert len(by_route[0]) == len(by_route[1]) > 1
    for one, other in zip(*by_route, strict=True):
        assert one[0] == other[0]
        assert one[1].simulations == other[1].simulations
        assert one[1].proven == other[1].proven
        assert_same_nodes(one[2], other[2])


@needs_compiler
@pytest.mark.parametrize(("spec", "board"), ROUTES)
def test_compiled_and_interpreted_variants_grow_the_same_trees(spec, board):
    options = with_options(spec, "simulations=70,route=")
    assert_routes_agree(lambda route: make_agent(options + route, seed=3), board)


LED = {
    "alphazero", "anet", "dqn", "gumbel", "network", "own-network", "ppo", "puct", "rllib", "sb3",
}  # fmt: skip
"""Those that a learned policy leads: `test_evaluated`, `test_policy`."""
OUTSIDE = {"chat", "connectx", "gomocup", "htp"}
"""Those of other programs: `test_gomocup`, `test_htp`, `test_connectx`."""
OF_LINES = {"gomoku-engine", "gomokupert", "rhmcts"}
"""Those that play games of stones in a row, and no others."""
OF_A_GAME = {"hex-alphabeta", "hexpert", "hexzero", *OF_LINES}
"""Those that need to know the game: `test_hex_alphabeta`, `test_hex_knowledge`, `test_hexzero`,
`test_rhmcts`, `test_gomokupert`."""


@pytest.mark.parametrize("name", sorted({*agent_classes()} - LED - OUTSIDE - OF_A_GAME))
def test_every_agent_plays_legally_over_pettingzoo(name):
    has_budget = name not in ("alphabeta", "greedy", "random", "solver")
    agent = make_agent(f"{name}:simulations=12" if has_budget else name, seed=1)
    env = played(theirs("tictactoe").env(), (4, 0, 1))  # for those who search it to the end
    while not any(env.terminations.values()):
        before = shown(env)
        action = agent.act(env)
        assert shown(env) == before
        assert type(action) is int
        assert env.observe(env.agent_selection)["action_mask"][action] == 1
        env.step(action)


# ---- a record of every simulation ----------------------------------------------------------------


class Logged(NamedTuple):
    """One simulation, as it was when its tree had counted it."""

    path: list
    players: list
    cells: list
    rewards: list
    depth: int
    length: int
    result: float


class Recorder:
    """A reward that notes each simulation, and leaves what it is worth to another."""

    def __init__(self, inner):
        self.inner = inner
        self.log = []

    def shape(self, outcome, player, plies, length):
        return self.inner.shape(outcome, player, plies, length)

    def needs_moves(self):
        return True

    def with_memory(self, game):
        return Recorder(self.inner.with_memory(game))

    def update(self, tree, simulation):
        depth, length = int(simulation.depth[0]), int(simulation.length[0])
        self.log.append(
            Logged(
                simulation.path[:depth].tolist(),
                simulation.players[:length].tolist(),
                simulation.cells[:length].tolist(),
                simulation.rewards[:depth].tolist(),
                depth,
                length,
                float(simulation.result[0]),
            )
        )
        self.inner.update(tree, simulation)


class Search(NamedTuple):
    """A tree, with how it grew."""

    game: object
    root: object
    tree: object
    variant: Variant
    log: list


def searched(
    board, selection=None, playout=None, reward=None, simulations=150, plies=0, solver="soft"
):
    """Run the interpreted search with a record of its simulations."""
    env = make(board)
    env.reset()
    rng = np.random.default_rng(plies)
    for _ in range(plies):
        env.step(random_action(env, rng))
    variant = Variant(
        selection or UCB1(), playout or Uniform(), Recorder(reward or WinLoss()),
        SOLVERS[solver],
    )  # fmt: skip
    variant = with_memory(variant, env.game)
    nodes = 1 + (simulations + 1) * env.game.num_actions()
    tree = new_tree(nodes, variant.selection.new_extras(nodes))
    places = env.state, base.new_state(env.game), tree
    search(env.game, *places, variant, simulation_for(variant, env.game), simulations, rng)
    return Search(env.game, env.state, tree, variant, variant.reward.log)


def worth(result, player):
    """A won, drawn or lost simulation for one of the players."""
    return 0.5 + (0.5 if player == 0 else -0.5) * result


def positions(found):
    return dict(positions_of(found.game, found.root, found.tree))


def parents_of(tree):
    """The parent of every node but the root."""
    count = int(tree.node_count[0])
    return {child: node for node in range(count) for child in below(tree, node)}


def cells_of(found):
    """What is played to reach each node."""
    states, parents = positions(found), parents_of(found.tree)
    return {
        child: int(found.game.cell_of(states[node], int(found.tree.action[child])))
        for child, node in parents.items()
    }


def inner_nodes(tree):
    return [int(n) for n in np.flatnonzero(tree.child_count[: int(tree.node_count[0])])]


def scores(found):
    """Every inner node and its children with their scores; where all come first, of the tried."""
    selection, tree = found.variant.selection, found.tree
    for node in inner_nodes(tree):
        prepared = selection.prepare(tree, node, None)
        for child in below(tree, node):
            if tree.visits[child] or not selection.tries_all_first():
                yield node, child, selection.score(tree, child, prepared)


def in_play(board, found, simulation):
    """The positions of a simulation, with the action that was played in each."""
    state = base.clone(found.game, found.root)
    for ply, cell in enumerate(simulation.cells):
        action = cell % found.game.columns if board.startswith("connect4") else cell
        assert found.game.to_play(state) == simulation.players[ply]
        yield ply, base.clone(found.game, state), action
        found.game.step(state, action)


@over_boards
def test_the_record_is_the_simulations(board):
    found = searched(board, simulations=60)
    parents = parents_of(found.tree)
    assert len(found.log) == 60
    visits = Counter(node for simulation in found.log for node in simulation.path)
    for node in range(1, int(found.tree.node_count[0])):
        assert found.tree.visits[node] == visits[node]
    for simulation in found.log:
        assert [parents[node] for node in simulation.path] == [ROOT, *simulation.path[:-1]]
        rewards = [worth(simulation.result, player) for player in simulation.players]
        assert simulation.rewards == rewards[: simulation.depth]


# ---- RAVE and GRAVE ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["off", "soft"])
@pytest.mark.parametrize("rule", [Rave(k=50.0, plain_every=7), Grave(ref=5)], ids=["rave", "grave"])
@over_boards
def test_all_moves_as_first_are_counted_at_every_node(board, rule, solver):
    found = searched(board, rule, simulations=120, solver=solver)
    cells, tree = cells_of(found), found.tree
    counts, sums = Counter(), defaultdict(float)
    for simulation in found.log:
        for ply, node in enumerate([ROOT, *simulation.path[:-1]]):
            mover = simulation.players[ply]
            later = set(zip(simulation.players[ply:], simulation.cells[ply:], strict=True))
            for child in below(tree, node):
                if (mover, cells[child]) in later:
                    counts[child] += 1
                    sums[child] += worth(simulation.result, mover)
    assert max(counts.values()) > 10
    for child, parent in parents_of(tree).items():
        assert tree.extras.amaf[child].tolist() == [counts[child], sums[child]]
        assert tree.extras.parents[child] == parent
        assert tree.extras.cells[child] == cells[child]
    assert not found.variant.selection.played.any()


def mixed(tree, child, amaf, weight, exploration, parent_visits, fpu):
    """The score of a child by the formula; `amaf` is ``(simulations, sum of rewards)``."""
    visits, mean = int(tree.visits[child]), float(tree.value[child])
    estimate = amaf[1] / amaf[0] if amaf[0] else fpu
    if visits == 0:
        return estimate
    if amaf[0] and tree.proof[child] == UNPROVEN:
        mean = (1 - weight(visits, amaf[0])) * mean + weight(visits, amaf[0]) * estimate
    return mean + exploration * math.sqrt(math.log(parent_visits) / visits)


@pytest.mark.parametrize("schedule", [MSE, HAND])
@over_boards
def test_rave_scores_mix_the_means(board, schedule):
    k, c = 40.0, 0.3
    found = searched(board, Rave(k, c, schedule, 0.7, 0), simulations=200, plies=2)
    tree = found.tree
    for node, child, score in scores(found):
        visits = int(tree.visits[node])

        def weight(own, amaf, total=visits):
            if schedule == MSE:
                return amaf / (own + amaf + own * amaf / k)
            return math.sqrt(k / (3 * total + k))

        amaf = tree.extras.amaf[child]
        assert score == pytest.approx(mixed(tree, child, amaf, weight, c, visits, 0.7))


def test_now_and_then_ucb1_selects_in_rave():
    found = searched("tictactoe", Rave(k=40.0, c=0.0, plain_every=10), simulations=99)
    tree = found.tree
    assert tree.visits[ROOT] == 100
    for node, child, score in scores(found):
        visits = int(tree.visits[child])
        if node == ROOT and visits:
            assert score == pytest.approx(tree.value[child] + math.sqrt(math.log(100) / visits))
        assert node != ROOT or visits or score == math.inf


@pytest.mark.parametrize(
    ("board", "ref"),
    [*((board, 3) for board in RECOUNTED), *(("hex-3-swap", ref) for ref in (0, 20, 10_000))],
)
def test_grave_asks_the_nearest_ancestor_that_knows_enough(board, ref):
    found = searched(board, Grave(ref, 1e-3, 0.2, 0.6, 0), simulations=200)
    tree, cells, parents = found.tree, cells_of(found), parents_of(found.tree)
    states = positions(found)
    asked = Counter()
    for node, child, score in scores(found):
        line = [node]
        while line[-1] != ROOT:
            line.append(parents[line[-1]])
        mover = found.game.to_play(states[node])
        same_mover = [n for n in line if found.game.to_play(states[n]) == mover]
        knowing = [n for n in same_mover if tree.visits[n] > ref]
        ancestor = knowing[0] if knowing else same_mover[-1]
        assert found.variant.selection.prepare(tree, node, None)[1] == ancestor
        asked[ancestor == node] += 1

        known = {cells[other]: other for other in below(tree, ancestor)}
        source = known.get(cells[child])
        amaf = (0, 0.0) if source is None else tree.extras.amaf[source]
        visits = int(tree.visits[node])
        weight = lambda n, a: a / (n + a + 1e-3 * n * a)  # noqa: E731
        assert score == pytest.approx(mixed(tree, child, amaf, weight, 0.2, visits, 0.6))
    assert asked[True] > 0
    assert (asked[False] == 0) == (ref == 0)


# ---- other rules of selection --------------------------------------------------------------------


@pytest.mark.parametrize("reward", [WinLoss(), Discounted(0.9)], ids=["plain", "discounted"])
@over_boards
def test_ucb1_tuned_bounds_the_variance(board, reward):
    found = searched(board, UCB1Tuned(0.8, 0.2), reward=reward)
    tree = found.tree
    got = defaultdict(list)
    for simulation in found.log:
        for node, reward in zip(simulation.path, simulation.rewards, strict=True):
            got[node].append(reward)
    for node, rewards in got.items():
        squares = np.square(rewards)
        assert tree.extras.squares[node] == pytest.approx(squares.mean())
        assert tree.value[node] == pytest.approx(np.mean(rewards))
    for node, child, score in scores(found):
        share = math.log(tree.visits[node]) / len(got[child])
        variance = np.var(got[child]) + math.sqrt(2 * share)
        bound = np.mean(got[child]) + 0.8 * math.sqrt(share * min(0.2, variance))
        assert score == pytest.approx(bound)


@over_boards
def test_progressive_history_adds_means_of_moves(board):
    found = searched(board, ProgressiveHistory(0.7, 2.5))
    tree, cells, states = found.tree, cells_of(found), positions(found)
    means = {key: np.mean(rewards) for key, rewards in rewards_by_move(found.log).items()}
    history = found.variant.selection.history
    counts = {key: len(rewards) for key, rewards in rewards_by_move(found.log).items()}
    for (player, cell), mean in means.items():
        assert history[player, cell].tolist() == pytest.approx([counts[player, cell], mean])
    assert history[:, :, 0].sum() == sum(counts.values())
    for node, child, score in scores(found):
        mover = found.game.to_play(states[node])
        visits, mean = int(tree.visits[child]), float(tree.value[child])
        bonus = 0.7 * math.sqrt(math.log(tree.visits[node]) / visits)
        fading = 2.5 * means[mover, cells[child]] / ((1 - mean) * visits + 1)
        assert score == pytest.approx(mean + bonus + fading)


def rewards_by_move(log):
    """For each player and cell, the rewards of the simulations in which it was played."""
    rewards = defaultdict(list)
    for simulation in log:
        for player, cell in zip(simulation.players, simulation.cells, strict=True):
            rewards[player, cell].append(worth(simulation.result, player))
    return rewards


# ---- playouts ------------------------------------------------------------------------------------


class Last:
    """A policy that plays the last of the actions, and counts how often it is asked."""

    def __init__(self):
        self.asked = 0

    def with_memory(self, game):
        return self

    def needs_moves(self):
        return False

    def choose(self, game, state, rng, actions, count, simulation):
        self.asked += 1
        return int(actions[count - 1])

    def update(self, tree, simulation):
        pass


def choice(policy, game, state, simulation=None, seed=0):
    """The action that a policy chooses."""
    actions = np.empty(game.num_actions(), np.int32)
    count = game.legal_actions(state, actions)
    simulation = simulation or new_simulation(game, True)
    rng = np.random.default_rng(seed)
    return int(policy.choose(game, state, rng, actions, count, simulation))


def simulated(game, cells, result, depth=0):
    """A record of cells played in turn, black first."""
    simulation = new_simulation(game, True)
    for ply, cell in enumerate(cells):
        simulation.players[ply], simulation.cells[ply] = ply % 2, cell
    simulation.length[0], simulation.depth[0], simulation.result[0] = len(cells), depth, result
    return simulation


GAME = tictactoe.TicTacToe()


def replies(policy):
    """The replies that a policy has stored: to one move, and to two, as dicts."""
    cells = GAME.num_cells()
    one = {
        (player, cell): int(policy.replies[player, cell])
        for player in range(2)
        for cell in range(cells)
        if policy.replies[player, cell] >= 0
    }
    two = {
        (player, *divmod(int(pair), cells)): int(policy.replies_to_two[player, pair])
        for player in range(2)
        for pair in np.flatnonzero(policy.replies_to_two[player] >= 0)
    }
    return one, two


WON = ([4, 0, 8, 2, 6], 1.0)  # black answers 0 by 8 and 2 by 6
TAUGHT = {(0, 0): 8, (0, 2): 6}
TAUGHT_OF_TWO = {(0, 4, 0): 8, (0, 8, 2): 6}
OF_WHITE = {(1, 4): 0, (1, 8): 2, (1, 5): 7}
OF_WHITE_TO_TWO = {(1, 0, 8): 2, (1, 2, 5): 7}
LATER = ([4, 0, 8, 2, 5, 7], -1.0)
"""8 is a loser's answer now, and 5 in place of 6 is not what is stored."""


@pytest.mark.parametrize(
    ("order", "forgetting", "games", "one", "two"),
    [
        (1, False, [WON], TAUGHT, {}),
        (2, False, [WON], TAUGHT, TAUGHT_OF_TWO),
        (1, False, [WON, LATER], TAUGHT | OF_WHITE, {}),
        (2, False, [WON, LATER], TAUGHT | OF_WHITE, TAUGHT_OF_TWO | OF_WHITE_TO_TWO),
        (1, True, [WON, LATER], {(0, 2): 6} | OF_WHITE, {}),
        (2, True, [WON, LATER], {(0, 2): 6} | OF_WHITE, {(0, 8, 2): 6} | OF_WHITE_TO_TWO),
        (2, True, [WON, ([4, 0, 8, 2, 5], 0.0)], TAUGHT, TAUGHT_OF_TWO),  # a draw says nothing
    ],
)
def test_winners_teach_replies_and_losers_forget_them(order, forgetting, games, one, two):
    policy = LastGoodReply(order, forgetting).with_memory(GAME)
    for cells, result in games:
        policy.update(None, simulated(GAME, cells, result))
    assert replies(policy) == (one, two)


def test_the_reply_to_two_moves_comes_first_then_to_one_then_another_policy():
    other = Last()
    policy = LastGoodReply(2, True, other).with_memory(GAME)
    line = [4, 0]
    state = notation.play(GAME, line)
    now = simulated(GAME, line, 0.0)

    assert choice(policy, GAME, state, now) == 8  # the last one
    assert other.asked == 1
    policy.replies[0, 0] = 6
    assert choice(policy, GAME, state, now) == 6
    policy.replies_to_two[0, 4 * 9 + 0] = 2
    assert choice(policy, GAME, state, now) == 2
    policy.replies_to_two[0, 4 * 9 + 0] = 4  # taken
    assert choice(policy, GAME, state, now) == 6
    policy.replies[0, 0] = 4  # taken
    assert choice(policy, GAME, state, now) == 8
    assert other.asked == 2
    assert choice(policy, GAME, notation.play(GAME, []), simulated(GAME, [], 0.0)) == 8


@over_boards
def test_mast_knows_the_mean_of_every_move(board):
    found = searched(board, playout=Mast())
    means = found.variant.playout.means
    cells = found.game.num_cells()
    rewards = rewards_by_move(found.log)
    for player in range(2):
        for cell in range(cells):
            got = rewards.get((player, cell), [])
            expected = [len(got), np.mean(got) if got else 1.0]
            assert means[player * cells + cell].tolist() == pytest.approx(expected)


def test_mast_plays_the_best_mean_or_at_random():
    state = notation.play(GAME, [4])
    policy = Mast(epsilon=0.0).with_memory(GAME)
    policy.means[:, 1] = 0.5
    policy.means[7, 1] = 0.9  # of the other player
    policy.means[9 + 3, 1] = 0.8
    policy.means[9 + 4, 1] = 1.0  # taken
    assert {choice(policy, GAME, state, seed=seed) for seed in range(20)} == {3}
    policy = policy._replace(epsilon=0.5)
    counts = Counter(choice(policy, GAME, state, seed=seed) for seed in range(800))
    assert counts[3] == pytest.approx(450, abs=60)  # 400 and an eighth of the others; sigma 14
    assert set(counts) == set(range(9)) - {4}


@pytest.mark.parametrize("policy", [Mast(temperature=0.5), PolicyAdaptation()])
def test_moves_are_drawn_in_proportion(policy):
    state = notation.play(GAME, [0, 1, 2, 3, 4, 5])  # 6, 7 and 8 are left, for black
    policy = policy.with_memory(GAME)
    if isinstance(policy, Mast):
        policy.means[6:9, 1] = (0.0, 0.5, 1.0)
        weights = np.exp([0.0, 1.0, 2.0])
    else:
        policy.weights[0, 6:9] = weights = np.array([1.0, 2.0, 5.0])
    counts = Counter(choice(policy, GAME, state, seed=seed) for seed in range(2_000))
    shares = [counts[cell] / 2_000 for cell in (6, 7, 8)]
    assert shares == pytest.approx(weights / weights.sum(), abs=0.045)


def test_nst_averages_over_the_sequences_that_a_move_ends():
    found = searched("tictactoe", playout=NST(least=2), simulations=40)
    policy = found.variant.playout
    rewards = defaultdict(list)
    for simulation in found.log:
        for ply, player in enumerate(simulation.players):
            for length in range(1, min(3, ply + 1) + 1):
                sequence = (player, *simulation.cells[ply + 1 - length : ply + 1])
                rewards[sequence].append(worth(simulation.result, player))
    assert policy.means[:, 0].sum() == sum(map(len, rewards.values()))
    compared = Counter()
    for simulation in found.log[-10:]:
        for ply in range(simulation.length):
            now = simulated(found.game, simulation.cells[:ply], 0.0)
            player = simulation.players[ply]
            for cell in set(range(9)) - set(simulation.cells[:ply]):
                means = []
                for length in range(1, min(3, ply + 1) + 1):
                    before = simulation.cells[ply + 1 - length : ply]
                    got = rewards[(player, *before, cell)]
                    if length == 1 or len(got) >= 2:
                        means.append(np.mean(got) if got else 1.0)
                compared[len(means)] += 1
                assert policy.mean_of(now, player, cell) == pytest.approx(np.mean(means))
    assert min(compared[1], compared[2], compared[3]) > 0


@over_boards
def test_nst_chooses_the_best_mean(board):
    found = searched(board, playout=NST(epsilon=0.0, least=1), simulations=30)
    policy, game, state = found.variant.playout, found.game, found.root
    now = new_simulation(game, True)
    best = max(policy.mean_of(now, 0, int(game.cell_of(state, a))) for a in legal(game, state))
    chosen = choice(policy, game, state)
    assert policy.mean_of(now, 0, int(game.cell_of(state, chosen))) == best


@pytest.mark.parametrize("length", [0, 4])
def test_sequences_of_other_lengths_are_refused(length):
    with pytest.raises(ValueError, match="from 1 to 3 moves"):
        NST(length).with_memory(GAME)


@pytest.mark.parametrize("simulations", [1, 25])
@pytest.mark.parametrize("board", ["tictactoe", "connect4-4x5", "gomoku-4"])
def test_playout_policy_adaptation_climbs_the_winners_gradient(board, simulations):
    alpha = 0.7
    found = searched(board, playout=PolicyAdaptation(alpha), simulations=simulations, solver="off")
    logits = np.zeros((2, found.game.num_cells()))
    for simulation in found.log:
        gradient = np.zeros_like(logits)
        for ply, state, action in in_play(board, found, simulation):
            if ply < simulation.depth:
                continue
            player = simulation.players[ply]
            cells = [int(found.game.cell_of(state, a)) for a in legal(found.game, state)]
            shares = np.exp(logits[player, cells])
            gradient[player, cells] -= shares / shares.sum()
            gradient[player, int(found.game.cell_of(state, action))] += 1
        if simulation.result != 0:
            winner = 0 if simulation.result > 0 else 1
            logits[winner] += alpha * gradient[winner]
    np.testing.assert_allclose(found.variant.playout.weights, np.exp(logits), rtol=1e-9)
    assert not found.variant.playout.steps.any()
    if simulations == 1:
        assert (found.variant.playout.weights != 1).any(axis=1).sum() <= 1


def wins(game, state, player):
    """The actions with which a player would win if it were the player's turn, by playing them."""
    found = []
    for action in legal(game, state):
        reached = base.clone(game, state)
        reached.ply += game.to_play(state) != player
        game.step(reached, action)
        if reached.winner == player:
            found.append(action)
    return found


@pytest.mark.parametrize(
    ("line", "action", "asks"), [([0, 3, 1, 4], 2, 0), ([0, 4, 1], 2, 0), ([0, 4], 8, 1)]
)
def test_decisive_moves_ask_another_policy_only_where_nothing_is_to_be_done(line, action, asks):
    game, other = make("tictactoe").game, Last()
    decisive = Decisive(other).with_memory(game)
    assert choice(decisive, game, notation.play(game, line)) == action
    assert other.asked == asks


@pytest.mark.parametrize(
    ("board", "playout", "simulations"),
    [
        *((board, "decisive", 12) for board in ("tictactoe", "connect4-4x5", "hex-3", "gomoku-4")),
        ("tictactoe", "decisive+lgrf2+mast", 12),
        ("gomoku-7x9", "decisive+lgrf2+mast", 2),
    ],
)
def test_playouts_win_at_once_or_else_block(board, playout, simulations):
    found = searched(board, playout=make_playout(playout), simulations=simulations, plies=1)
    seen = Counter()
    for simulation in found.log:
        for ply, state, action in in_play(board, found, simulation):
            if ply < simulation.depth:
                continue
            player = simulation.players[ply]
            own, theirs = (wins(found.game, state, who) for who in (player, 1 - player))
            kind = "win" if own else "block" if theirs else "other"
            seen[kind] += 1
            assert action in (own or theirs or legal(found.game, state))
    assert min(seen["win"], seen["block"], seen["other"]) > 0


# Cells of Hex as row and column; black joins top and bottom and moves first, and the last move is
# the intrusion.
BRIDGES = {
    "between two stones": ((5, 5), [(1, 3), (0, 0), (3, 2), (2, 2)], {(2, 3)}),
    "between two stones, the other cell": ((5, 5), [(1, 3), (0, 0), (3, 2), (2, 3)], {(2, 2)}),
    "to the top": ((5, 5), [(1, 2), (0, 2)], {(0, 3)}),
    "to the top, the other cell": ((5, 5), [(1, 2), (0, 3)], {(0, 2)}),
    "to the bottom": ((5, 5), [(3, 2), (4, 1)], {(4, 2)}),
    "to the left": ((5, 5), [(0, 4), (2, 1), (2, 0)], {(3, 0)}),
    "to the right": ((5, 5), [(0, 0), (2, 3), (2, 4)], {(1, 4)}),
    "to the right of a wide board": ((3, 5), [(0, 0), (1, 3), (1, 4)], {(0, 4)}),
    "of two or three": (
        (5, 5), [(1, 3), (0, 0), (3, 2), (4, 4), (2, 1), (2, 2)], {(2, 3), (1, 2), (3, 1)}
    ),
}  # fmt: skip


@pytest.mark.parametrize(("size", "line", "answers"), BRIDGES.values(), ids=BRIDGES)
def test_an_intrusion_into_a_bridge_is_answered(size, line, answers):
    game = hex.Hex(*size)
    other = Last()
    policy = SaveBridge(other).with_memory(game)
    state = notation.play(game, [row * size[1] + column for row, column in line])
    chosen = {divmod(choice(policy, game, state, seed=seed), size[1]) for seed in range(40)}
    assert chosen == answers
    assert other.asked == 0


@pytest.mark.parametrize("line", [[], [12], [8, 0, 17, 24], [8, 24, 17, 13, 12], [12, 25]])
def test_without_an_intrusion_another_policy_is_asked(line):
    game = hex.Hex(5, 5, swap=25 in line)
    other = Last()
    policy = SaveBridge(other).with_memory(game)
    state = notation.play(game, line)
    assert choice(policy, game, state) == legal(game, state)[-1]
    assert other.asked == 1


@pytest.mark.parametrize("size", [(2, 2), (3, 5), (5, 5), (7, 4)])
def test_a_filled_board_is_a_game_in_which_bridges_are_saved(size):
    """It ends with the move that wins, and what intrudes into a bridge is answered."""
    game, rng = hex.Hex(*size, swap=size[0] == size[1]), np.random.default_rng(1)
    policy, one_by_one = SaveBridge().with_memory(game), SaveBridge(Last()).with_memory(game)
    assert isinstance(policy, FillSavingBridges)
    saved = 0
    for _ in range(30):
        state, simulation = base.new_state(game), new_simulation(game, recorded=True)
        for _ in range(int(rng.integers(4))):
            if not game.is_terminal(state):
                game.step(state, int(rng.choice(legal(game, state))))
        if game.is_terminal(state):
            continue
        played, ply = base.clone(game, state), int(state.ply)
        simulation.length[0] = simulation.depth[0] = ply
        result = policy.simulate(game, state, rng, np.zeros(game.num_actions()), simulation)
        moves = simulation.cells[ply : simulation.length[0]].tolist()
        assert simulation.players[ply : ply + len(moves)].tolist() == [
            (ply + turn) % 2 for turn in range(len(moves))
        ]
        for move in moves:
            assert move in legal(game, played)
            answers = {choice(one_by_one, game, played, seed=seed) for seed in range(20)}
            if one_by_one.otherwise.asked == 0:
                saved += 1
                assert move in answers
            one_by_one.otherwise.asked = 0
            game.step(played, move)
        assert game.is_terminal(played)
        assert result == game.outcome(played, 0)
        assert (policy.turns == BEFORE).all()
    assert saved > 0 or size == (2, 2)


def test_games_of_filled_boards_are_as_frequent_as_move_by_move():
    game, rng = hex.Hex(2, 3), np.random.default_rng(2)
    counts = [Counter(), Counter()]
    policies = [SaveBridge().with_memory(game), SaveBridge(Uniform(fast=False)).with_memory(game)]
    for policy, count in zip(policies, counts, strict=True):
        for _ in range(1_500):
            state, simulation = notation.play(game, []), new_simulation(game, recorded=True)
            policy.simulate(game, state, rng, np.zeros(6, np.int32), simulation)
            count[tuple(simulation.cells[: simulation.length[0]])] += 1
    games = sorted(set(counts[0]) | set(counts[1]))
    first, second = np.array([[count[game] for game in games] for count in counts], float)
    chi_squared = np.sum((first - second) ** 2 / (first + second))
    assert len(games) > 50
    assert chi_squared < len(games) + 4 * math.sqrt(2 * len(games))


# ---- rewards -------------------------------------------------------------------------------------


@pytest.mark.parametrize("plies", [0, 1, 7])
@pytest.mark.parametrize("outcome", [1.0, 0.0, -1.0, 0.3])
@pytest.mark.parametrize("reward", [WinLoss(), Discounted(0.9)], ids=["plain", "discounted"])
def test_rewards_of_both_players_add_up_to_one(reward, outcome, plies):
    rewards = [reward.shape(outcome, 0, plies, 9), reward.shape(-outcome, 1, plies, 9)]
    assert sum(rewards) == pytest.approx(1)
    assert all(0 <= got <= 1 for got in rewards)


DISTANCE = DistanceScore()
IN_1000 = 1 / 2_000


@pytest.mark.parametrize(
    ("reward", "outcome", "plies", "above_half"),
    [
        (Discounted(0.9), 1.0, 2, 0.405), (Discounted(0.9), -1.0, 2, -0.405),
        (DISTANCE, 1.0, 0, 0.5), (DISTANCE, 1.0, 1, 0.5), (DISTANCE, 1.0, 4, IN_1000 / 4),
        (DISTANCE, -1.0, 1, -0.5), (DISTANCE, -1.0, 5, -IN_1000 / 5),
        (DISTANCE, 0.0, 1, -0.5), (DISTANCE, 0.0, 4, -IN_1000 / 4),
        (DistanceScore(10.0, 2.0), 1.0, 3, 0.5 / 90), (DistanceScore(draw=0.0), 0.0, 3, 0.0),
    ],
)  # fmt: skip
def test_rewards_by_hand(reward, outcome, plies, above_half):
    for player in range(2):
        found = reward.shape(outcome, player, plies, 9)
        assert found - 0.5 == pytest.approx(above_half, abs=1e-12)


@over_boards
def test_the_bonus_is_relative_to_the_winners_games_so_far(board):
    a, k = 0.3, 1.7
    found = searched(board, reward=RelativeBonus(a, k), playout=Uniform(), simulations=120)
    lengths = ([], [])
    bonuses = 0
    for simulation in found.log:
        winner = 0 if simulation.result > 0 else 1
        before = lengths[winner]
        bonus = 0.0
        if simulation.result != 0 and len(before) > 1 and np.std(before, ddof=1) > 0:
            sooner = (np.mean(before) - simulation.length) / np.std(before, ddof=1)
            bonus = a * (-1 + 2 / (1 + math.exp(-k * sooner)))
            bonuses += 1
        for player, reward in zip(simulation.players, simulation.rewards, strict=False):
            sign = 2 * worth(simulation.result, player) - 1
            assert reward == pytest.approx(0.5 + 0.5 * (sign + sign * bonus) / (1 + a))
        if simulation.result != 0:
            before.append(simulation.length)
    assert bonuses > 10


@pytest.mark.parametrize("literal", [False, True])
def test_the_formula_of_the_distance_with_and_without_its_slip(literal):
    rule = (LiteralUCB if literal else DistanceUCB)(1.3, 1000.0)
    found = searched("tictactoe", rule, reward=DistanceScore(), solver="off", simulations=200)
    tree = found.tree
    everything = math.log(tree.visits[ROOT])
    for node, child, score in scores(found):
        visits, mean = int(tree.visits[child]), (2 * tree.value[child] - 1) * 1000
        corrected = mean + 1.3 * math.sqrt(math.log(tree.visits[node]) / visits)
        slip = mean / visits + 1.3 * math.sqrt(everything) / visits
        assert score == pytest.approx(slip if literal else corrected)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "playout", ["", "nonsense", "mast+lgr1", "decisive+", "fast+mast", "LGR1", "lgrf1+decisive"]
)
def test_an_unknown_playout_is_refused(playout):
    with pytest.raises(ValueError, match=r"playout of fast|decisive before"):
        make_playout(playout)


@pytest.mark.parametrize(
    ("spec", "board", "named"),
    [
        ("uct:playout=bridges", "connect4", "bridges"),
        ("uct:playout=decisive+bridges+mast", "tictactoe", "bridges"),
        ("uct:playout=decisive+lgr1,route=environment", "hex-3", "winning_action"),
        ("lgr:playout=decisive", "gomoku-9", "decisive"),
    ],
)
def test_playouts_that_make_no_sense_here_are_refused(spec, board, named):
    env = make(board)
    env.reset()
    with pytest.raises(ValueError, match=named):
        make_agent(f"{spec},simulations=5").act(env)


def test_playouts_nest_in_the_order_of_their_names():
    policy = make_playout("decisive+lgrf2+mast")
    assert (type(policy), type(policy.otherwise)) == (Decisive, LastGoodReply)
    assert (policy.otherwise.order, policy.otherwise.forgetting) == (2, True)
    assert type(policy.otherwise.otherwise) is Mast
    assert make_playout("lgr1") == LastGoodReply(1, False, Uniform())
