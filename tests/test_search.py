"""The search: one seed gives one tree by every route, and the tree is what the paper says it is."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from environments import BOARDS, JIT, SMALL, played, random_action, theirs
from grown_trees import assert_same_nodes, nodes, nodes_after, positions_of, tree_of, with_options

from agents import UCT
from agents.mcts.tree_search import root_statistics
from agents.planning.environment import View
from agents.records.recorder import search_of
from agents.registry import make_agent
from agents.search.children import (
    FEW_ACTIONS,
    FIRST_CHILDREN,
    GROWTH,
    add_children,
    grow,
    is_partial,
)
from agents.search.evaluated import most_visited
from agents.search.knowledge import NoKnowledge
from agents.search.mcts import compiled_search, search
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.roots import FINAL_MOVES, best_action, principal_variation, root_actions
from agents.search.selection import SQRT_LOGS, UCB1, sqrt_log, wilson_interval
from agents.search.tree import (
    MORE_TO_COME,
    ROOT,
    UNPROVEN,
    add_node,
    children,
    new_tree,
    record_visit,
)
from agents.search.variant import Variant, simulation_for
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.compiled import CompiledFunction
from hexenv.games import base, gomoku, hex

needs_compiler = pytest.mark.compiled(only=True)

ALL = BOARDS | {"hex-swap": (hex_v0, {"swap": True}), "gomoku": (gomoku_v0, {})}
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


def plain_uct(*arguments, **options):
    """UCT without proofs and from nothing in every move: all simulations run, and are playouts."""
    return UCT(*arguments, **{"solver": "off", "reuse": False, **options})


def searched(game, root, simulations, playout="fast"):
    """A tree over a game."""
    tree, state = new_tree(100_000), base.new_state(game)
    variant = Variant(UCB1(), Uniform(playout == "fast"), WinLoss())
    simulation, rng = simulation_for(variant, game), np.random.default_rng(0)
    compiled_search(game, root, state, tree, variant, simulation, simulations, rng)
    return tree


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
    """`test_variants` has the like of UCT in TicTacToe in every run."""
    env = played(make(board), random_line(board, plies))
    simulations = affordable_simulations(env)
    if (board, plies) == ("tictactoe", 0):  # beyond the table of logarithms
        simulations = 2 * SQRT_LOGS.size
    options = {"simulations": simulations, "playout": playout, "seed": plies}
    agents = [plain_uct(route=route, **options) for route in ("compiled", "interpreted")]
    assert_same_nodes(*(nodes_after(agent, env) for agent in agents))
    assert agents[0].statistics.visits.sum() == simulations


@pytest.mark.parametrize("kind", ["raw_env", "env"])
@over_positions
def test_the_search_through_an_environment_grows_the_same_tree(board, plies, kind):
    env = played(make(board, kind), random_line(board, plies))
    options = {"simulations": affordable_simulations(env), "playout": "generic", "seed": plies}

    planned = plain_uct(route="auto", **options)
    through_env = plain_uct(route="environment", **options)

    assert_same_nodes(nodes_after(planned, env), nodes_after(through_env, env))
    np.testing.assert_array_equal(planned.statistics.values, through_env.statistics.values)
    assert planned.statistics.principal_variation == through_env.statistics.principal_variation


@pytest.mark.parametrize("kind", ["raw_env", "env"])
@pytest.mark.parametrize("plies", [0, 1, 7, 14, 20, 26, 32, 36])
def test_the_search_over_pettingzoo_grows_the_same_tree(plies, kind):
    line = random_line("connect4", plies)
    options = {"simulations": int(120 * share()), "playout": "generic", "seed": plies}

    trees = [
        nodes_after(plain_uct(**options), played(getattr(module, kind)(), line))
        for module in (connect4_v0, theirs("connect_four"))
    ]

    assert_same_nodes(*trees)
    assert trees[0]["visits"][ROOT] == 1 + options["simulations"]


@pytest.mark.compiled
@over_small_boards
@pytest.mark.parametrize("run", [search, compiled_search], ids=["interpreted", "compiled"])
def test_searching_in_slices_is_searching_at_once(board, run):
    game = make(board).game
    variant = Variant(UCB1(), Uniform(), WinLoss())
    trees = []
    for slices in ([150], [0, 1, 2, 47, 0, 100]):
        tree, rng = new_tree(5_000), np.random.default_rng(0)
        root, state = base.new_states(game, 2)
        memory = root, state, tree, variant, simulation_for(variant, game)
        for simulations in slices:
            run(game, *memory, simulations, rng)
        trees.append(nodes(tree))
    assert_same_nodes(*trees)
    assert trees[0]["visits"][ROOT] == 151


# ---- the tree ------------------------------------------------------------------------------------


@over_playouts
@pytest.mark.parametrize("late", [False, True], ids=["opening", "ending"])
@over_small_boards
def test_invariants_of_a_tree(board, late, playout):
    env = make(board)
    game = env.game
    played(env, random_line(board, game.max_plies() - 5 if late else 1))
    root = base.clone(game, env.state)
    simulations = int(600 * share())
    tree = searched(game, root, simulations, playout)
    assert tree.visits[ROOT] == 1 + simulations

    seen = []
    for node, state in positions_of(game, root, tree):
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


@over_all_boards
def test_statistics_say_what_is_in_the_tree(board):
    env = played(make(board), random_line(board, 2))
    simulations = 300 if board != "hex-3" else 3  # some actions have no visit then
    agent = plain_uct(simulations, seed=1)
    tree = nodes_after(agent, env)
    root = children(tree_of(agent), ROOT)
    statistics = agent.statistics
    legal = base.legal_actions(env.game, env.state)

    assert statistics.visits.dtype == np.int64
    assert statistics.values.dtype == np.float64
    assert statistics.visits.shape == statistics.values.shape == (env.game.num_actions(),)
    assert statistics.visits.sum() == statistics.simulations == simulations
    assert set(np.flatnonzero(statistics.visits)) <= set(legal)
    visits = tree["visits"][root]
    actions, tried = tree["action"][root], visits > 0
    assert simulations > 3 or sorted(visits)[-4:] == [0, 1, 1, 1]
    np.testing.assert_array_equal(statistics.visits[actions], visits)
    values = 2 * tree["value"][root] - 1
    np.testing.assert_array_equal(statistics.values[actions[tried]], values[tried])
    assert not statistics.values[statistics.visits == 0].any()
    assert statistics.seconds > 0
    line = statistics.principal_variation
    assert statistics.visits[line[0]] == statistics.visits.max()
    for ply in line:
        assert env.is_legal(ply)
        env.step(ply)


def test_the_order_of_first_visits_is_uniform():
    # Each of the four actions should come first in a quarter of 2,000 trees: 500, sigma 19.
    game = hex.new(2)
    firsts = np.zeros(4, int)
    rng = np.random.default_rng(0)
    for _ in range(2_000):
        tree = new_tree(10)
        add_node(tree, -1, 1)
        add_children(
            game, base.new_state(game), tree, ROOT, NoKnowledge(), np.empty(4, np.int32), rng
        )
        firsts[tree.action[1]] += 1
    assert firsts.sum() == 2_000
    assert abs(firsts - 500).max() < 80


@pytest.mark.parametrize("spec", ["uct", "ucb1-tuned", "history", "uct:solver=hard"])
@pytest.mark.parametrize("board", ["hex-5", "gomoku-9"])
def test_children_get_nodes_as_they_are_visited(board, spec):
    env = make(board)
    agent = make_agent(with_options(spec, f"simulations={int(3_000 * share())}"), seed=0)
    agent.act(played(env, []))
    game, tree = env.game, tree_of(agent)
    kinds = set()
    for node, state in positions_of(game, base.clone(game, env.state), tree):
        count = int(tree.child_count[node])
        if count == 0:
            continue
        below, legal = children(tree, node), base.legal_actions(game, state)
        actions = tree.action[below]
        assert len(set(actions)) == count
        assert set(actions) <= set(legal)
        assert tree.visits[node] == 1 + tree.visits[below].sum()
        marks = tree.first_child[below] == MORE_TO_COME
        assert marks.sum() == marks[-1] == is_partial(tree, node) == (count < len(legal))
        if count < len(legal):
            assert node != ROOT
            assert len(legal) > FEW_ACTIONS
            assert count <= max(FIRST_CHILDREN, GROWTH * (tree.visits[node] - 1))
            assert tree.visits[below][-1] == 0
        kinds.add((len(legal) > FEW_ACTIONS, count < len(legal)))
        if spec == "ucb1-tuned":  # rewards are 0 and 1, and their own squares
            tried = np.arange(below.start, below.stop)[tree.visits[below] > 0]
            if board.startswith("hex"):
                assert tree.extras.squares[tried] == pytest.approx(tree.value[tried])
        elif spec == "history":
            assert (tree.extras.cells[below] == actions).all()
            assert (tree.extras.movers[below] == game.to_play(state)).all()
    assert kinds == {(True, True), (True, False)}


def test_a_full_tree_keeps_children_to_come():
    env, grown = played(make("hex-5"), []), []
    for route in ("interpreted", "environment"):
        agent = plain_uct(150, max_nodes=60, route=route, playout="generic", seed=0)
        agent.act(env)
        tree = tree_of(agent)
        grown.append(nodes(tree))
        assert tree.node_count[0] <= 60
        assert agent.statistics.visits.sum() == 150
        partial = [n for n, _ in positions_of(env.game, env.state, tree) if is_partial(tree, n)]
        assert partial
        assert not any(tree.visits[children(tree, node)][-1] for node in partial)
    assert_same_nodes(*grown)


def test_children_that_come_late_are_drawn_evenly():
    # Of 24 actions, each should be the fifth child in a 24th of 2,400 trees: 100, sigma 9.8.
    game = gomoku.new(5)
    state, buffer, fifths = base.new_state(game), np.empty(25, np.int32), np.zeros(25, int)
    game.step(state, 12)
    rng = np.random.default_rng(0)
    for _ in range(2_400):
        tree = new_tree(30)
        add_node(tree, -1, 1)
        add_children(game, state, tree, ROOT, NoKnowledge(), buffer, rng, True)
        first = tree.action[children(tree, ROOT)].tolist()
        assert grow(game, state, tree, ROOT, NoKnowledge(), buffer, rng, GROWTH * len(first))
        actions = tree.action[children(tree, ROOT)].tolist()
        assert actions[: len(first)] == first
        assert len(set(actions)) == len(actions) == GROWTH * FIRST_CHILDREN
        fifths[actions[4]] += 1
    assert fifths[12] == 0
    assert abs(np.delete(fifths, 12) - 100).max() < 40


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
    prepared = rule.prepare(tree, ROOT, None)
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
@pytest.mark.parametrize("spare", [0, 1, 2, 10, 60])
@pytest.mark.parametrize("route", ["interpreted", "environment"])
def test_a_full_tree_goes_on_without_growing(board, spare, route):
    env = played(make(board), [])
    max_nodes = env.game.num_actions() + spare
    agent = plain_uct(200, max_nodes=max_nodes, route=route, seed=0)
    if spare == 0:  # no room for the root
        with pytest.raises(ValueError, match=f"max_nodes.*{max_nodes}"):
            agent.act(env)
        return
    action = agent.act(env)
    tree = tree_of(agent)

    assert env.is_legal(action)
    if spare == 1:  # it is flat
        assert np.count_nonzero(tree.child_count[: tree.node_count[0]]) == 1
        assert len(agent.statistics.principal_variation) == 1
    assert len(tree.action) == max_nodes
    assert tree.node_count[0] <= max_nodes
    assert agent.statistics.visits.sum() == 200
    for node in range(tree.node_count[0]):
        below = children(tree, node)
        assert below.stop <= tree.node_count[0]
        if tree.child_count[node] > 0:
            assert tree.visits[node] == 1 + tree.visits[below].sum()


# ---- what it finds -------------------------------------------------------------------------------


IN_7 = {"board_size": 7}
FOUND = [  # wins, and then moves that stop the opponent's
    (tictactoe_v0, {}, "1425", "3"),
    (connect4_v0, {}, "121212", "1"),
    (connect4_v0, {}, "112233", "4"),
    (connect4_v0, {}, "1727571", "7"),
    (hex_v0, {"board_size": 3}, "b1 a1 b2 b3", "a3"),
    (hex_v0, {"board_size": 4}, "a1 a2 b1 b2 d1 c2 c1", "d2"),
    (gomoku_v0, IN_7, "a1 a2 b1 b2 c1 c2 d1 d2", "e1"),
    (gomoku_v0, IN_7, "a1 a2 b1 b2 c1 c2 d1 d2 g7", "e2"),
    (tictactoe_v0, {}, "152", "3"),
    (connect4_v0, {}, "12121", "1"),
    (hex_v0, {"board_size": 3}, "b1 b3 b2", "a3"),
    (gomoku_v0, {"board_size": 5}, "a1 a2 b1 b2 c1 c2 d1", "e1"),
]


@pytest.mark.compiled
@over_playouts
@pytest.mark.parametrize("final_move", FINAL_MOVES)
@pytest.mark.parametrize(("module", "options", "moves", "move"), FOUND)
def test_wins_and_threats_are_found(module, options, moves, move, final_move, playout):
    env = module.env(**options)
    env.reset(options={"moves": moves})
    agent = plain_uct(10_000 if JIT else 1_000, final_move=final_move, playout=playout, seed=0)
    action = agent.act(env)
    assert env.unwrapped.game.action_text(action) == move
    value = agent.statistics.values[action]
    env.step(action)
    assert any(env.terminations.values()) == (value == 1)


# ---- the final move ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "count", "low", "high"),
    [
        # (p + z2/2n +- z sqrt(p (1 - p) / n + z2/4n2)) / (1 + z2/n) with z2 = 1.96^2 = 3.8416
        (0.5, 10, 0.23659, 0.76341), (0.8, 10, 0.49016, 0.94332), (0.25, 100, 0.17545, 0.34304),
        (0.0, 10, 0.0, 0.27754), (1.0, 10, 0.72246, 1.0), (0.0, 1, 0.0, 0.79345),
        (1.0, 1, 0.20655, 1.0),
    ],
)  # fmt: skip
def test_wilson_interval_by_hand(mean, count, low, high):
    assert wilson_interval(mean, count) == pytest.approx((low, high), abs=1e-5)
    lows, highs = wilson_interval(np.full(2, mean), np.full(2, count))
    assert [*lows, *highs] == pytest.approx([low, low, high, high], abs=1e-5)
    assert wilson_interval(mean, count, z=0.0) == pytest.approx((mean, mean))


def test_an_interval_stays_between_0_and_1():
    for count in range(1, 60):
        for won in range(count + 1):
            low, high = wilson_interval(won / count, count)
            assert 0 <= low <= won / count <= high <= 1 or won in (0, count)
            assert 0 <= low <= high <= 1


LUCKY, SOLID, BUSY = [1.0] * 3, [1.0] * 18 + [0.0] * 2, [1.0, 0.0] * 15


@pytest.mark.parametrize(
    ("rewards", "actions", "final_moves", "chosen"),
    [
        ([LUCKY, SOLID, BUSY], [0, 1, 2], "visits", 2),
        ([LUCKY, SOLID, BUSY], [0, 1, 2], "value", 0),
        ([LUCKY, SOLID, BUSY], [0, 1, 2], "lcb", 1),  # the lower ends: 0.44, 0.70 and 0.33
        ([[1.0], [1.0], [1.0]], [5, 2, 7], FINAL_MOVES, 2),  # ties go to the lower action,
        ([[0.0, 0.5], [0.5, 1.0], [1.0, 0.0]], [0, 1, 2], "visits", 1),  # after the value
        ([[], [0.0], []], [0, 1, 2], FINAL_MOVES, 1),  # what was never tried is not chosen
    ],
)
def test_final_moves(rewards, actions, final_moves, chosen):
    tree = tree_with_children(*rewards, actions=actions)
    for final_move in [final_moves] if isinstance(final_moves, str) else final_moves:
        assert root_actions([tree]).best(final_move) == chosen


@pytest.mark.parametrize(
    ("proofs", "plies", "chosen"),
    [
        ([1, 1, UNPROVEN], [9, 3, 0], 1),  # the shortest win,
        ([1, 1, 1], [3, 3, 5], 1),  # of these the most visited one,
        ([-1, -1, -1], [2, 2, 8], 2),  # the longest loss,
        ([-1, -1, 0], [8, 2, 1], 2),  # and a draw before it
    ],
)
def test_proofs_are_played_by_their_length(proofs, plies, chosen):
    tree = tree_with_children([1.0, 0.5], [1.0] * 3, [0.0], actions=[0, 1, 2])
    tree.proof[1:4], tree.plies_left[1:4] = proofs, plies
    for final_move in FINAL_MOVES:
        assert root_actions([tree]).best(final_move) == chosen
    assert root_actions([tree, tree]).best("visits") == chosen
    assert best_action(tree, FINAL_MOVES.index("visits")) == chosen
    if chosen != 2:
        assert most_visited(tree) == 1 + chosen


@pytest.mark.parametrize("options", [{}, {"transpositions": True}, {"solver": "hard"}])
def test_lengths_of_proofs_follow_from_those_below(options):
    env = tictactoe_v0.env()
    env.reset(options={"moves": "1 2"})
    agent = UCT(simulations=3_000, seed=2, **options)
    agent.act(env)
    tree = agent.planner.workers[0].tree
    tree.proof[ROOT], tree.plies_left[ROOT] = UNPROVEN, 0  # as of one that was a child before
    agent.act(env)
    assert agent.statistics.proven == 1
    worker = agent.planner.workers[0]
    tree = worker.tree
    target = worker.graph.target if options.get("transpositions") else None
    seen, waiting = 0, [ROOT]
    while waiting:
        node = waiting.pop()
        place = node if target is None or node == ROOT else int(target[node])
        below = np.arange(*children(tree, place).indices(len(tree.action)))
        waiting += below[tree.visits[below] > 0].tolist()
        if abs(tree.proof[node]) != 1:
            continue
        seen += 1
        wins, losses = (tree.plies_left[below][tree.proof[below] == sign] for sign in (1, -1))
        longest = 1 + losses.max() if len(losses) else 0
        assert tree.plies_left[node] == (1 + wins.min() if len(wins) else longest)
    assert seen > 20


def test_statistics_of_a_tree_made_by_hand():
    tree = tree_with_children([1.0, 0.0, 1.0, 1.0], [], [0.0], actions=[4, 1, 0])
    view = View(SimpleNamespace(num_actions=lambda: 6), None, compiles=False, actions=None)
    statistics = root_statistics([tree], principal_variation(tree), view, 5, 0.25)
    assert statistics.visits.tolist() == [1, 0, 0, 0, 4, 0]
    assert statistics.values.tolist() == [-1, 0, 0, 0, 0.5, 0]
    assert statistics.principal_variation == [4]
    assert (statistics.simulations, statistics.seconds) == (5, 0.25)


def test_statistics_say_which_values_are_proven():
    tree = tree_with_children([1.0] * 4, [0.5] * 9, actions=[1, 0])
    view = View(SimpleNamespace(num_actions=lambda: 2), None, compiles=False, actions=None)
    seen = root_statistics([tree], [1], view, 13, 0.1)
    assert (seen.values[1], list(seen.proven_actions)) == (1, [])
    assert "value +0.99" in repr(seen)
    assert "+1.00" not in seen._repr_html_()
    tree.proof[1] = 1
    proven = root_statistics([tree], [1], view, 13, 0.1)
    assert (proven.proven, list(proven.proven_actions)) == (1, [1])
    assert "value +1.00" in repr(proven)
    for statistics, shown in ((seen, ()), (proven, (1,))):
        assert search_of(statistics).proven_actions == shown
