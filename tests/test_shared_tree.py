"""One tree that several threads search: what holds for it whatever the threads do."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from grown_trees import assert_same_nodes, below, nodes, positions_of

from agents import RAVE, RHMCTS, UCT, PolicyAgent, PUCTAgent, TranspositionMCTS
from agents.mcts.history import HistoryMCTS
from agents.mcts.tree_search import TreeSearchAgent
from agents.registry import make_agent
from agents.search.mcts import compiled_search, simulation_for, with_memory
from agents.search.shared import (
    MOST_MOVES,
    compiled_search_shared,
    shared_nodes,
    tree_of_thread,
)
from agents.search.tree import MORE_TO_COME, ROOT, UNPROVEN, new_tree
from hexenv import connect4_v0, hex_v0, tictactoe_v0
from hexenv.compiled import CompiledFunction, interpreted
from hexenv.compiled_atomics import (
    add_atomically,
    compare_and_swap,
    load_in_order,
    store_in_order,
)
from hexenv.games import base

TREE = {"workers": 2, "parallel": "tree"}


def started(module, **options):
    env = module.env(**options)
    env.reset()
    return env


def tree_of(agent):
    (tree,) = agent._trees()
    return tree


# ---- one thread ----------------------------------------------------------------------------------


def nodes_of_one_thread(kernel, variant, game, most_nodes):
    """What is left of a tree that one thread has searched, without virtual loss."""
    variant = with_memory(variant, game)
    tree = new_tree(most_nodes, variant.selection.new_extras(most_nodes))
    arrays = (tree,)
    if kernel is compiled_search_shared:
        arrays = tree_of_thread(tree), shared_nodes(tree, has_virtual_loss=False)
    rng = np.random.default_rng(7)
    states = base.new_state(game), base.new_state(game)
    simulation = simulation_for(variant, game)
    for simulations in (0, 150, 150):
        kernel(game, *states, *arrays, variant, simulation, simulations, rng)
    return nodes(tree)


@pytest.mark.parametrize("agent", [UCT(1), RAVE(1), HistoryMCTS(1)], ids=lambda a: a.name)
@pytest.mark.parametrize("most_nodes", [20_000, 90])
def test_without_virtual_loss_one_thread_searches_as_the_plain_search(agent, most_nodes):
    game = started(hex_v0, board_size=5).unwrapped.game
    kernels = compiled_search, compiled_search_shared
    assert_same_nodes(*(nodes_of_one_thread(k, agent.variant, game, most_nodes) for k in kernels))


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_so_does_machine_code():
    game, variant = started(hex_v0, board_size=5).unwrapped.game, UCT(1).variant
    found = nodes_of_one_thread(compiled_search_shared, variant, game, 20_000)
    with interpreted():
        assert_same_nodes(found, nodes_of_one_thread(compiled_search, variant, game, 20_000))


def test_one_worker_has_the_plain_search():
    env = started(connect4_v0)
    agents = [UCT(60, seed=1, parallel=parallel) for parallel in ("root", "tree")]
    for agent in agents:
        agent.act(env)
    assert_same_nodes(*(nodes(tree_of(agent)) for agent in agents))
    assert agents[1]._is_plain_search(env)
    assert not UCT(60, **TREE)._is_plain_search(env)


def test_interpreted_workers_take_turns():
    env = started(hex_v0, board_size=5)
    found = []
    for _ in range(2):
        with interpreted():
            agent = UCT(300, seed=3, workers=3, parallel="tree")
            agent.act(env)
        found.append(nodes(tree_of(agent)))
        check_tree(agent, env, simulations=300)
    assert_same_nodes(*found)


@pytest.mark.compiled
def test_machine_code_takes_the_same_turns():
    env = started(hex_v0, board_size=5)
    found = []
    with interpreted():
        agent = UCT(300, seed=3, **TREE)
        agent.act(env)
    found.append(nodes(tree_of(agent)))
    agent = UCT(300, seed=3, **TREE)
    agent._search = lambda runs, started, in_threads: TreeSearchAgent._search(
        agent, runs, started, False
    )
    agent.act(env)
    found.append(nodes(tree_of(agent)))
    assert_same_nodes(*found)


# ---- several threads -----------------------------------------------------------------------------


def check_tree(agent, env, simulations):
    """What holds for a tree of an agent that searched a fresh one."""
    tree, view = tree_of(agent), env.unwrapped
    count = int(tree.node_count[0])
    grows = agent.variant.selection.tries_all_first()
    assert agent.statistics.simulations == simulations
    assert agent.statistics.visits.sum() == simulations
    assert tree.visits[ROOT] == 1 + simulations
    seen = np.zeros(count, np.int64)
    legal = np.empty(view.game.num_actions(), np.int32)
    slack = (agent.workers - 1) * MOST_MOVES if grows and view.game.num_actions() > 16 else 0
    for node, state in positions_of(view.game, view.state, tree):
        children = np.array(below(tree, node), np.int64)
        assert (children < count).all()
        seen[node] += 1
        if len(children) == 0:
            continue
        known = {int(each) for each in legal[: view.game.legal_actions(state, legal)]}
        actions = [int(action) for action in tree.action[children]]
        assert len(set(actions)) == len(actions)
        assert set(actions) <= known
        assert (len(actions) < len(known)) == (tree.first_child[children[-1]] == MORE_TO_COME)
        assert tree.visits[children].sum() <= tree.visits[node] - 1 + slack
    assert seen.max() == 1  # no node has two parents
    if not slack:
        assert seen.min() == 1  # none was given out and not used
    reached = seen > 0
    assert (tree.visits[:count][reached] >= 0).all()
    assert (tree.value[:count][reached] >= 0).all()
    assert (tree.value[:count][reached] <= 1).all()


GAMES = {
    "tictactoe": lambda: started(tictactoe_v0),
    "connect4": lambda: started(connect4_v0),
    "hex": lambda: started(hex_v0, board_size=6),
}


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("game", GAMES)
def test_a_tree_of_threads_is_a_tree(game, workers):
    env = GAMES[game]()
    for seed in range(3):
        agent = UCT(4_000, seed=seed, workers=workers, parallel="tree")
        agent.act(env)
        check_tree(agent, env, 4_000)


@pytest.mark.slow
@pytest.mark.compiled(only=True)
@pytest.mark.parametrize(
    "name",
    [
        "rave",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("mast", "grave", "history")),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("ucb1-tuned", "uct:fpu=0.7")),
    ],
)
def test_trees_of_other_rules(name):
    env = GAMES["hex"]()
    more = "," if ":" in name else ":"
    agent = make_agent(f"{name}{more}simulations=2000,workers=4,parallel=tree,seed=1")
    agent.act(env)
    check_tree(agent, env, 2_000)


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("name", ["soft", pytest.param("hard", marks=pytest.mark.slow)])
def test_all_proofs_are_true(name):
    env = GAMES["tictactoe"]()
    agent = UCT(20_000, seed=2, workers=4, parallel="tree", solver=name)
    agent.act(env)
    tree, game = tree_of(agent), env.unwrapped.game
    values, proven = {}, 0
    for node, state in positions_of(game, env.unwrapped.state, tree):
        if tree.proof[node] == UNPROVEN or node == ROOT:
            continue
        proven += 1
        key = int(game.position_hash(state)), game.to_play(state), game.is_terminal(state)
        if key not in values:
            values[key] = value_of(game, state)
        assert tree.proof[node] == -values[key]
    assert proven > 1000


def value_of(game, state):
    """The value of a position for the player to move, by trying everything."""
    player = game.to_play(state)
    if game.is_terminal(state):
        return game.outcome(state, player)
    legal = np.empty(game.num_actions(), np.int32)
    best = -1
    for action in legal[: game.legal_actions(state, legal)].tolist():
        after = base.clone(game, state)
        game.step(after, action)
        best = max(best, -value_of(game, after))
    return best


@pytest.mark.compiled(only=True)
def test_a_full_tree_is_searched_on():
    env = GAMES["hex"]()
    agent = UCT(4_000, workers=4, parallel="tree", max_nodes=500, seed=1)
    agent.act(env)
    check_tree(agent, env, 4_000)
    assert int(tree_of(agent).node_count[0]) <= 500


@pytest.mark.compiled(only=True)
def test_a_game_goes_on_with_the_tree_that_was_played(tmp_path):
    env = GAMES["connect4"]()
    agent = UCT(2_000, seed=1, **TREE)
    for _ in range(6):
        kept = tree_of(agent) if agent.statistics else None
        env.step(agent.act(env))
        assert agent.statistics.visits.sum() >= agent.statistics.simulations > 0
        assert kept is None or agent._workers[0].has_gone_on
    agent.save(tmp_path / "one.tree")
    later = UCT(500, seed=1, workers=3, parallel="tree")
    later.load(tmp_path / "one.tree")
    fresh = GAMES["connect4"]()
    for action in agent._last.actions:
        fresh.step(action)
    later.act(fresh)  # checks the tree against the rules
    assert later.statistics.visits.sum() > 500
    with pytest.raises(ValueError, match="got 1"):
        UCT(500, workers=2).load(tmp_path / "one.tree")
    again = pickle.loads(pickle.dumps(agent))
    again.act(env)
    assert again._workers[0].has_gone_on


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_a_partial_tree_of_one_worker_is_gone_on_with(tmp_path):
    env = GAMES["hex"]()
    one = UCT(300, seed=1)
    one.act(env)
    one.save(tmp_path / "one.tree")
    agent = UCT(3_000, seed=1, workers=4, parallel="tree", reuse=False)
    agent.load(tmp_path / "one.tree")
    agent.act(env)
    assert agent.statistics.visits.sum() == 3_300
    agent.save(tmp_path / "two.tree")
    later = UCT(100, seed=1)
    later.load(tmp_path / "two.tree")
    later.act(env)  # checks the tree against the rules
    assert later.statistics.visits.sum() == 3_400


@pytest.mark.compiled(only=True)
def test_time_slices_and_statistics():
    env = GAMES["hex"]()
    agent = UCT(seconds=0.02, seed=1, max_nodes=50_000, **TREE)
    shown = []
    agent.on_slice = lambda find: shown.append(find())
    agent.act(env)
    assert agent.statistics.visits.sum() == agent.statistics.simulations
    assert shown
    for each in shown:
        assert 0 < each.simulations <= agent.statistics.simulations
        assert len(each.principal_variation) == 1
    found = [each.simulations for each in shown]
    assert found == sorted(found)


# ---- what cannot be shared -----------------------------------------------------------------------


FIRST_LEGAL = PolicyAgent.from_function(lambda planes, mask: int(mask.argmax()))


@pytest.mark.parametrize("workers", [1, 2])
def test_what_cannot_be_shared_is_refused(workers):
    options = {"workers": workers, "parallel": "tree"}
    for make in (
        lambda: TranspositionMCTS(10, **options),
        lambda: UCT(10, transpositions=True, **options),
        lambda: PUCTAgent(FIRST_LEGAL, 10, **options),
        lambda: RHMCTS(10, faithful=True, **options),
    ):
        with pytest.raises(ValueError, match='expected parallel "root"'):
            make()
    with pytest.raises(ValueError, match="parallel"):
        UCT(10, parallel="leaf")


def test_names_of_agents_take_it():
    agent = make_agent("uct:workers=2,parallel=tree,simulations=10")
    assert (agent.workers, agent.parallel) == (2, "tree")
    assert agent.shares_tree


# ---- atomic operations ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_atomic_operations_in_one_thread(dtype):
    array = np.array([5, 7], dtype)
    assert add_atomically(array, 1, 3) == 7
    assert compare_and_swap(array, 0, 5, 6)
    assert not compare_and_swap(array, 0, 5, 8)
    store_in_order(array, 0, load_in_order(array, 0) + 1)
    assert array.tolist() == [7, 10]


def count_twice(counters, times):
    """Add to one number, and count another up where no other thread has done so."""
    for _ in range(times):
        add_atomically(counters, 0, 2)
        while True:
            place = load_in_order(counters, 1)
            if compare_and_swap(counters, 1, place, place + 1):
                break
    store_in_order(counters, 2, 1)
    return times


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_atomic_operations_of_threads_lose_nothing(dtype):
    run = CompiledFunction(count_twice)
    counters = np.zeros(3, dtype)
    code = run.specialise(counters, 1)
    threads, times = (4, 100_000) if code is not count_twice else (1, 10)
    with ThreadPoolExecutor(threads) as pool:
        assert sum(pool.map(code, [counters] * threads, [times] * threads)) == threads * times
    assert counters.tolist() == [2 * threads * times, threads * times, 1]
