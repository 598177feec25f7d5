"""The search: one seed gives one tree by every route, and the tree is what the paper says it is."""

import importlib
import math
from types import SimpleNamespace

import numpy as np
import pytest
from environments import BOARDS, JIT, SMALL, random_action

from agents import UCT
from agents.mcts.tree_search import (
    FINAL_MOVES,
    choose,
    principal_variation,
    root_statistics,
    wilson_interval,
)
from agents.search.environment import View
from agents.search.knowledge import NoKnowledge
from agents.search.mcts import Variant, compiled_search, search
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.selection import SQRT_LOGS, UCB1, sqrt_log
from agents.search.simulation import new_simulation
from agents.search.tree import ROOT, add_node, children, expand, new_tree, node_arrays, record_visit
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.compiled import CompiledFunction
from hexenv.games import base, connect4, gomoku, hex, notation, tictactoe

needs_compiler = pytest.mark.compiled(only=True)

DEFAULT = {
    "hex-swap": (hex_v0, {"swap": True}),
    "gomoku": (gomoku_v0, {}),
}
ALL = BOARDS | DEFAULT
"""The boards by name: small ones, and all games in their default size."""

PLAYOUTS = ("fast", "generic")
over_playouts = pytest.mark.parametrize("playout", PLAYOUTS)
over_small_boards = pytest.mark.parametrize("board", SMALL)
over_all_boards = pytest.mark.parametrize("board", ALL)


def make(board, kind="raw_env"):
    module, options = ALL[board]
    return getattr(module, kind)(**options)


def random_line(board, plies):
    """The actions of a random game, cut off before it ends."""
    env = make(board)
    env.reset()
    rng = np.random.default_rng(plies)
    while len(env.actions) < plies:
        twin = env.clone()
        twin.step(random_action(env, rng))
        if any(twin.terminations.values()):
            break
        env = twin
    return env.actions


def after(env, actions):
    """The environment, reset and with these actions played."""
    env.reset()
    for action in actions:
        env.step(action)
    return env


def plain_uct(*arguments, **options):
    """UCT without proofs and from nothing in every move: all simulations run, and are playouts."""
    return UCT(*arguments, **{"solver": "off", "reuse": False, **options})


def tree_of(agent, env):
    """The nodes that a search has left, by the names of the tree's arrays."""
    agent.act(env)
    tree = agent._workers[0].tree
    return {name: array[: tree.node_count[0]].copy() for name, array in node_arrays(tree).items()}


def assert_same_trees(one, other):
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name, strict=True)


def searched(game, root, simulations, seed=0, variant=None, max_nodes=100_000):
    """A tree over a game."""
    tree = new_tree(max_nodes)
    variant = variant or Variant(UCB1(), Uniform(), WinLoss())
    state = base.new_state(game)
    compiled_search(game, root, state, tree, variant, simulations, np.random.default_rng(seed))
    return tree


def nodes_with_states(game, root, tree):
    """Every node of a tree with its position."""
    waiting = [(ROOT, root)]
    while waiting:
        node, state = waiting.pop()
        yield node, state
        below = children(tree, node)
        for child in range(below.start, below.stop):
            reached = base.clone(game, state)
            game.step(reached, int(tree.action[child]))
            waiting.append((child, reached))


# ---- one seed, one tree --------------------------------------------------------------------------


def plies_of(board):
    """Openings, the ply of the swap, and positions late enough for a deep tree."""
    cells = make(board).game.max_plies()
    return sorted({0, 1, cells // 2, cells - 4})


POSITIONS = [
    pytest.param(board, plies, marks=[] if board in SMALL else [pytest.mark.slow])
    for board in ALL
    for plies in plies_of(board)
    if plies >= 0
]
over_positions = pytest.mark.parametrize(("board", "plies"), POSITIONS)


def share():
    """How much of the usual number of simulations a test can afford."""
    return 1.0 if JIT else 0.2


def affordable_simulations(env):
    """Several visits for each of the root's children, but where a playout takes too long for it."""
    legal = int(np.count_nonzero(env.observe(env.agent_selection)["action_mask"]))
    cells = env.unwrapped.game.max_plies()
    return max(int(15 * share()), min(200, int(100_000 * share()) // (legal * cells)))


@needs_compiler
@over_playouts
@over_positions
def test_compiled_and_interpreted_search_grow_the_same_tree(board, plies, playout):
    env = after(make(board), random_line(board, plies))
    options = {"simulations": affordable_simulations(env), "playout": playout, "seed": plies}

    compiled = plain_uct(route="compiled", **options)
    interpreted = plain_uct(route="interpreted", **options)

    assert_same_trees(tree_of(compiled, env), tree_of(interpreted, env))
    assert compiled.statistics.visits.sum() == options["simulations"]


@pytest.mark.parametrize("kind", ["raw_env", "env"])
@over_positions
def test_the_search_through_an_environment_grows_the_same_tree(board, plies, kind):
    env = after(make(board, kind), random_line(board, plies))
    options = {"simulations": affordable_simulations(env), "playout": "generic", "seed": plies}

    planned = plain_uct(route="auto", **options)
    through_env = plain_uct(route="environment", **options)

    assert_same_trees(tree_of(planned, env), tree_of(through_env, env))
    np.testing.assert_array_equal(planned.statistics.values, through_env.statistics.values)
    assert planned.statistics.principal_variation == through_env.statistics.principal_variation


@pytest.mark.parametrize("kind", ["raw_env", "env"])
@pytest.mark.parametrize("plies", [0, 1, 7, 14, 20, 26, 32, 36])
def test_the_search_over_pettingzoo_grows_the_same_tree(plies, kind):
    pytest.importorskip("pygame")
    theirs = importlib.import_module("pettingzoo.classic.connect_four.connect_four")
    line = random_line("connect4", plies)
    options = {"simulations": int(120 * share()), "playout": "generic", "seed": plies}

    trees = [
        tree_of(plain_uct(**options), after(getattr(module, kind)(), line))
        for module in (connect4_v0, theirs)
    ]

    assert_same_trees(*trees)
    assert trees[0]["visits"][ROOT] == 1 + options["simulations"]


@needs_compiler
def test_routes_agree_beyond_the_table_of_logarithms():
    env = after(tictactoe_v0.raw_env(), [])
    simulations = 2 * SQRT_LOGS.size
    trees = [
        tree_of(plain_uct(simulations, route=route, seed=3), env)
        for route in ("compiled", "interpreted")
    ]
    assert_same_trees(*trees)


@over_all_boards
def test_another_seed_grows_another_tree(board):
    env = after(make(board), [])
    one, other = (tree_of(plain_uct(50, seed=seed), env) for seed in (0, 1))
    assert not np.array_equal(one["action"], other["action"])


@pytest.mark.compiled
@over_small_boards
@pytest.mark.parametrize("run", [search, compiled_search], ids=["interpreted", "compiled"])
def test_searching_in_slices_is_searching_at_once(board, run):
    game = make(board).game
    variant = Variant(UCB1(), Uniform(), WinLoss())
    trees = []
    for slices in ([150], [0, 1, 2, 47, 0, 100]):
        tree, rng = new_tree(5_000), np.random.default_rng(0)
        for simulations in slices:
            run(game, base.new_state(game), base.new_state(game), tree, variant, simulations, rng)
        count = tree.node_count[0]
        trees.append({name: array[:count] for name, array in node_arrays(tree).items()})
    assert_same_trees(*trees)
    assert trees[0]["visits"][ROOT] == 151


def test_a_search_leaves_the_root_position_as_it_was():
    for game in (hex.new(5), connect4.new(), tictactoe.new(), gomoku.new(6)):
        root = base.new_state(game)
        before = root.tobytes()
        searched(game, root, 200)
        assert root.tobytes() == before


# ---- the tree ------------------------------------------------------------------------------------


@over_playouts
@pytest.mark.parametrize("late", [False, True], ids=["opening", "ending"])
@over_small_boards
def test_invariants_of_a_tree(board, late, playout):
    env = make(board)
    game = env.game
    after(env, random_line(board, game.max_plies() - 5 if late else 1))
    root = base.clone(game, env.state)
    simulations = int(600 * share())
    variant = Variant(UCB1(), Uniform(playout == "fast"), WinLoss())
    tree = searched(game, root, simulations, variant=variant)
    assert tree.visits[ROOT] == 1 + simulations

    seen = []
    for node, state in nodes_with_states(game, root, tree):
        seen.append(node)
        below = children(tree, node)
        visits = int(tree.visits[node])
        if tree.child_count[node] > 0:
            assert sorted(tree.action[below]) == base.legal_actions(game, state)
            assert visits == 1 + tree.visits[below].sum()
        elif game.is_terminal(state):
            worth = {1: 1.0, 0: 0.5, -1: 0.0}[game.outcome(state, 1 - game.to_play(state))]
            assert tree.value[node] == (worth if visits else 0.0)
        else:
            assert visits < 2  # or it would have been expanded
        if node != ROOT and visits > 0:
            assert 0 <= tree.value[node] <= 1
            assert tree.spread[node] == pytest.approx(1 / math.sqrt(visits), rel=1e-15)
            # What a node has got: the simulation that first reached it, and the children's lot.
            from_children = (tree.visits[below] * (1 - tree.value[below])).sum()
            first = tree.value[node] * visits - from_children
            if tree.child_count[node] > 0:
                assert first == pytest.approx(round(2 * first) / 2, abs=1e-9)
                assert -1e-9 < first < 1 + 1e-9
    assert sorted(seen) == list(range(tree.node_count[0]))


@over_small_boards
def test_statistics_say_what_is_in_the_tree(board):
    env = after(make(board), random_line(board, 2))
    agent = plain_uct(300, seed=1)
    tree = tree_of(agent, env)
    root = children(agent._workers[0].tree, ROOT)
    statistics = agent.statistics
    legal = base.legal_actions(env.game, env.state)

    assert statistics.visits.dtype == np.int64
    assert statistics.values.dtype == np.float64
    assert statistics.visits.shape == statistics.values.shape == (env.game.num_actions(),)
    assert statistics.visits.sum() == statistics.simulations == 300
    assert set(np.flatnonzero(statistics.visits)) <= set(legal)
    actions = tree["action"][root]
    np.testing.assert_array_equal(statistics.visits[actions], tree["visits"][root])
    np.testing.assert_array_equal(statistics.values[actions], 2 * tree["value"][root] - 1)
    unvisited = statistics.visits == 0
    assert not statistics.values[unvisited].any()
    assert statistics.seconds > 0


@over_all_boards
def test_the_principal_variation_is_a_legal_line(board):
    env = after(make(board), random_line(board, 2))
    agent = plain_uct(2_000 if JIT else 200, seed=2)
    action = agent.act(env)
    line = agent.statistics.principal_variation

    assert line[0] == action
    assert agent.statistics.visits[action] == agent.statistics.visits.max()
    for ply in line:
        assert env.is_legal(ply)
        env.step(ply)


def test_actions_without_a_visit_have_the_value_0():
    env = after(hex_v0.raw_env(board_size=5), [])
    agent = plain_uct(3, seed=0)
    agent.act(env)
    assert sorted(agent.statistics.visits)[-4:] == [0, 1, 1, 1]
    assert np.count_nonzero(agent.statistics.values) == 3


def test_the_first_visits_go_to_each_child_once():
    game = hex.new(4)
    tree = searched(game, base.new_state(game), 16)
    assert tree.visits[children(tree, ROOT)].tolist() == [1] * 16


def test_the_order_of_first_visits_is_uniform():
    # Each of the four actions should come first in a quarter of 2,000 trees: 500, sigma 19.
    game = hex.new(2)
    firsts = np.zeros(4, int)
    rng = np.random.default_rng(0)
    for _ in range(2_000):
        tree = new_tree(10)
        add_node(tree, -1, 1)
        expand(game, base.new_state(game), tree, ROOT, NoKnowledge(), np.empty(4, np.int32), rng)
        firsts[tree.action[1]] += 1
    assert firsts.sum() == 2_000
    assert abs(firsts - 500).max() < 80


# ---- UCB1 ----------------------------------------------------------------------------------------


def tree_with_children(*rewards, actions=None):
    """A root whose children got these rewards; child `i` has action `i`, if nothing is given."""
    tree = new_tree(1 + len(rewards))
    add_node(tree, -1, 1)
    tree.first_child[ROOT] = 1
    tree.child_count[ROOT] = len(rewards)
    for number, of_child in enumerate(rewards):
        add_node(tree, actions[number] if actions else number, 0)
        for reward in of_child:
            record_visit(tree, 1 + number, reward)
            tree.visits[ROOT] += 1
    return tree


def test_ucb1_by_hand():
    # Visits 1 (the root's own) + 3 + 2 + 1 = 7; means 2/3, 1/4 and 0.
    tree = tree_with_children([1.0, 0.0, 1.0], [0.5, 0.0], [0.0])
    rule = UCB1(c=0.8)
    prepared = rule.prepare(tree, ROOT)
    scores = [rule.score(tree, child, prepared) for child in (1, 2, 3)]
    assert tree.visits[ROOT] == 7
    assert scores == pytest.approx(
        [
            2 / 3 + 0.8 * math.sqrt(math.log(7) / 3),
            1 / 4 + 0.8 * math.sqrt(math.log(7) / 2),
            0 + 0.8 * math.sqrt(math.log(7) / 1),
        ],
        rel=1e-14,
    )


EDGE = SQRT_LOGS.size


@pytest.mark.compiled
@pytest.mark.parametrize("count", [1, 2, 3, 100, EDGE - 1, EDGE, EDGE + 1, 10**6, 2**31 - 1])
def test_sqrt_log_in_and_beyond_the_table(count):
    compiled = CompiledFunction(sqrt_log)
    expected = math.sqrt(math.log(count))
    assert sqrt_log(count) == pytest.approx(expected, rel=1e-14)
    assert compiled(count) == sqrt_log(count)


# ---- a full tree ---------------------------------------------------------------------------------


@over_small_boards
@pytest.mark.parametrize("spare", [1, 2, 10, 60])
@pytest.mark.parametrize("route", ["auto", "interpreted", "environment"])
def test_a_full_tree_goes_on_without_growing(board, spare, route):
    env = after(make(board), [])
    max_nodes = env.game.num_actions() + spare
    agent = plain_uct(200, max_nodes=max_nodes, route=route, seed=0)
    action = agent.act(env)
    tree = agent._workers[0].tree

    assert env.is_legal(action)
    assert len(tree.action) == max_nodes
    assert tree.node_count[0] <= max_nodes
    assert agent.statistics.visits.sum() == 200
    for node in range(tree.node_count[0]):
        below = children(tree, node)
        assert below.stop <= tree.node_count[0]
        if tree.child_count[node] > 0:
            assert tree.visits[node] == 1 + tree.visits[below].sum()


def test_a_tree_with_room_for_the_root_alone_is_flat():
    env = after(connect4_v0.raw_env(), [])
    agent = plain_uct(500, max_nodes=8, seed=0)
    tree = tree_of(agent, env)
    assert len(tree["action"]) == 8
    assert tree["child_count"].tolist() == [7] + 7 * [0]
    assert tree["visits"][1:].sum() == 500
    assert len(agent.statistics.principal_variation) == 1


@over_small_boards
def test_a_tree_that_cannot_hold_the_root_is_refused(board):
    env = after(make(board), [])
    actions = env.game.num_actions()
    with pytest.raises(ValueError, match=f"max_nodes.* {actions} "):
        plain_uct(10, max_nodes=actions).act(env)


# ---- what it finds -------------------------------------------------------------------------------

WINS = {
    "tictactoe": (tictactoe_v0, {}, "1425", "3"),
    "connect4, a column": (connect4_v0, {}, "121212", "1"),
    "connect4, a row": (connect4_v0, {}, "112233", "4"),
    "connect4, second player": (connect4_v0, {}, "1727571", "7"),
    "hex": (hex_v0, {"board_size": 3}, "b1 a1 b2 b3", "a3"),
    "hex, second player": (hex_v0, {"board_size": 4}, "a1 a2 b1 b2 d1 c2 c1", "d2"),
    "gomoku": (gomoku_v0, {"board_size": 7}, "a1 a2 b1 b2 c1 c2 d1 d2", "e1"),
    "gomoku, second player": (gomoku_v0, {"board_size": 7}, "a1 a2 b1 b2 c1 c2 d1 d2 g7", "e2"),
}
BLOCKS = {
    "tictactoe": (tictactoe_v0, {}, "152", "3"),
    "connect4": (connect4_v0, {}, "12121", "1"),
    "hex": (hex_v0, {"board_size": 3}, "b1 b3 b2", "a3"),
    "gomoku": (gomoku_v0, {"board_size": 7}, "a1 a2 b1 b2 c1 c2 d1", "e1"),
}


def position(module, options, moves):
    env = module.env(**options)
    env.reset(options={"moves": moves})
    return env


@pytest.mark.compiled
@over_playouts
@pytest.mark.parametrize("final_move", FINAL_MOVES)
@pytest.mark.parametrize(("module", "options", "moves", "move"), WINS.values(), ids=WINS)
def test_a_win_is_found(module, options, moves, move, final_move, playout):
    env = position(module, options, moves)
    game = env.unwrapped.game
    agent = plain_uct(2_000 if JIT else 400, final_move=final_move, playout=playout, seed=0)
    action = agent.act(env)
    assert game.action_text(action) == move
    assert agent.statistics.values[action] == 1
    env.step(action)
    assert any(env.terminations.values())


@pytest.mark.compiled
@over_playouts
@pytest.mark.parametrize(("module", "options", "moves", "move"), BLOCKS.values(), ids=BLOCKS)
def test_a_threat_is_blocked(module, options, moves, move, playout):
    env = position(module, options, moves)
    agent = plain_uct(10_000 if JIT else 1_000, playout=playout, seed=0)
    assert env.unwrapped.game.action_text(agent.act(env)) == move


def test_the_last_move_of_a_draw():
    env = position(tictactoe_v0, {}, "12354687")
    agent = plain_uct(10, seed=0)
    assert agent.act(env) == 8
    assert agent.statistics.visits[8] == 10
    assert agent.statistics.values[8] == 0
    assert agent.statistics.principal_variation == [8]


def mean_reward(game, root, state, playout, count, rng):
    """Kernel: what random playouts from a position are worth to the player to move."""
    buffer = np.empty(game.num_actions(), np.int32)
    total = 0
    simulation = new_simulation(game, False)
    for _ in range(count):
        game.copy(root, state)
        playout.simulate(game, state, rng, buffer, simulation)
        total += game.outcome(state, game.to_play(root))
    return total / count


QUICK = ("tictactoe", "connect4-4x5")
"""Boards whose kernels compile in little time."""


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("board", "plies"),
    # With the swap at hand the fast playout of Hex differs: it never plays it.
    [
        pytest.param(board, plies, marks=[] if board in QUICK else [pytest.mark.slow])
        for board in ALL
        for plies in (0, 1, 3)
        if "swap" not in board or plies > 1
    ],
)
def test_both_kinds_of_playouts_are_worth_the_same(board, plies):
    game = make(board).game
    if not JIT and game.max_plies() > 60:
        pytest.skip("too slow in plain Python")
    root = notation.play(game, random_line(board, plies))
    count = 8_000 if JIT else 300
    run = CompiledFunction(mean_reward)
    means = [
        run(game, root, base.new_state(game), Uniform(fast), count, np.random.default_rng(fast))
        for fast in (True, False)
    ]
    # An outcome has a standard deviation of at most 1, the difference of two means sqrt(2 / count).
    assert abs(means[0] - means[1]) < 4 * math.sqrt(2 / count)


# ---- the final move ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "count", "low", "high"),
    [
        # (p + z2/2n +- z sqrt(p (1 - p) / n + z2/4n2)) / (1 + z2/n) with z2 = 1.96^2 = 3.8416
        (0.5, 10, 0.23659, 0.76341),
        (0.8, 10, 0.49016, 0.94332),
        (0.25, 100, 0.17545, 0.34304),
        (0.0, 10, 0.0, 0.27754),
        (1.0, 10, 0.72246, 1.0),
        (0.0, 1, 0.0, 0.79345),
        (1.0, 1, 0.20655, 1.0),
    ],
)
def test_wilson_interval_by_hand(mean, count, low, high):
    assert wilson_interval(mean, count) == pytest.approx((low, high), abs=1e-5)


def test_wilson_interval_of_arrays_and_other_levels():
    means, counts = np.array([0.0, 0.5, 1.0]), np.array([4, 10, 7])
    lows, highs = wilson_interval(means, counts)
    for mean, count, low, high in zip(means, counts, lows, highs, strict=True):
        assert (low, high) == pytest.approx(wilson_interval(mean, count))
        assert -1e-12 <= low <= mean <= high <= 1 + 1e-12
    assert wilson_interval(0.3, 50, z=0.0) == pytest.approx((0.3, 0.3))
    narrow, wide = wilson_interval(0.3, 50, z=1.0), wilson_interval(0.3, 50, z=2.0)
    assert wide[0] < narrow[0] < 0.3 < narrow[1] < wide[1]


LUCKY = [1.0] * 3
SOLID = [1.0] * 18 + [0.0] * 2
BUSY = [1.0, 0.0] * 15


@pytest.mark.parametrize(
    ("final_move", "chosen"),
    [("visits", 2), ("value", 0), ("lcb", 1)],  # the lower ends: 0.44, 0.70 and 0.33
)
def test_the_three_final_moves_differ(final_move, chosen):
    assert choose([tree_with_children(LUCKY, SOLID, BUSY)], final_move) == chosen


@pytest.mark.parametrize("final_move", FINAL_MOVES)
def test_ties_go_to_the_lower_action_wherever_it_stands(final_move):
    tree = tree_with_children([1.0], [1.0], [1.0], actions=[5, 2, 7])
    assert choose([tree], final_move) == 2


def test_equal_visits_go_to_the_better_value():
    tree = tree_with_children([0.0, 0.5], [0.5, 1.0], [1.0, 0.0])
    assert choose([tree], "visits") == 1


@pytest.mark.parametrize("final_move", FINAL_MOVES)
def test_an_action_that_was_never_tried_is_not_chosen(final_move):
    assert choose([tree_with_children([], [0.0], [])], final_move) == 1


def test_statistics_of_a_tree_made_by_hand():
    tree = tree_with_children([1.0, 0.0, 1.0, 1.0], [], [0.0], actions=[4, 1, 0])
    view = View(SimpleNamespace(num_actions=lambda: 6), None, compiles=False, actions=None)
    statistics = root_statistics([tree], principal_variation(tree), view, 5, 0.25)
    assert statistics.visits.tolist() == [1, 0, 0, 0, 4, 0]
    assert statistics.values.tolist() == [-1, 0, 0, 0, 0.5, 0]
    assert statistics.principal_variation == [4]
    assert (statistics.simulations, statistics.seconds) == (5, 0.25)
