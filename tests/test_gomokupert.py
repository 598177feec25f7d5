"""Tree search with learnt priors and the engine's search at its leaves."""

import numpy as np
import pytest
from environments import JIT
from grown_trees import tree_of
from test_gomoku_engine import random_env

from agents import GomokuEngine, Gomokupert, GreedyAgent
from agents.arena.match import play_match
from agents.knowledge.gomoku import valued
from agents.knowledge.gomoku.engine import shown_value
from agents.knowledge.gomoku.gomokupert import EngineLeaf, LearntPrior
from agents.planning.view import planner_view
from agents.search.tree import ROOT, children
from hexenv import gomoku_v0
from hexenv.games import base


def valued_position(env):
    view = valued.valued_view(planner_view(env, "auto", None))
    return view.game, view.root


@pytest.mark.parametrize("rule", ["freestyle", "renju"])
def test_priors_are_the_softmax_of_the_greatest_promises(rule):
    env = random_env(np.random.default_rng(5), rule, plies=6)
    agent = Gomokupert(simulations=20, n=8, c=0.7, sharpness=0.6, threats=False, seed=2)
    agent.act(env)
    tree = tree_of(agent)
    game, root = valued_position(env)
    player = game.to_play(root)
    promises = {cell: game.promise(root, player, cell) for cell in base.legal_actions(game, root)}
    below = children(tree, ROOT)
    cells = tree.action[below].tolist()
    assert len(cells) == 8
    weights = np.exp([0.6 * promises[cell] / 100 for cell in cells])
    np.testing.assert_allclose(tree.extras.prior[below], weights / weights.sum())
    worth = (shown_value(game.balance(root, player)) + 1) / 2
    assert LearntPrior(0.7).prepare(tree, ROOT, None)[1] == pytest.approx(worth)
    near = sorted(promises[cell] for cell in promises if is_near(env, cell))
    assert sorted(promises[cell] for cell in cells) == near[-8:]


def is_near(env, cell):
    owners = base.cell_owners(env.unwrapped.game, env.unwrapped.state)
    rows, columns = np.nonzero(owners != base.EMPTY)
    return (np.maximum(abs(rows - cell // 9), abs(columns - cell % 9)) <= 2).any()


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_leaves_are_worth_what_the_engine_finds(depth):
    rng = np.random.default_rng(8)
    for _ in range(20 if JIT else 3):
        env = random_env(rng, plies=10)
        game, root = valued_position(env)
        leaf = EngineLeaf(depth).with_memory(game)
        found = leaf.simulate(game, root, None, None, None)
        assert found == leaf.simulate(game, root, None, None, None)
        for_mover = found if game.to_play(root) == 0 else -found
        if depth > 0:  # the engine itself looks at least one ply ahead
            engine = GomokuEngine(depth=depth)
            action = engine.act(env)
            if abs(engine.statistics.values[action]) == 1:
                assert for_mover == engine.statistics.values[action]
        elif not game.is_terminal(root) and root.counts[:, 3:].sum() == 0:
            assert for_mover == pytest.approx(shown_value(game.balance(root, game.to_play(root))))


def test_the_same_seed_and_position_give_the_same_search_after_any_other():
    first, second = Gomokupert(simulations=30, seed=4), Gomokupert(simulations=30, seed=4)
    rng = np.random.default_rng(3)
    env, other = random_env(rng, plies=8), random_env(rng, plies=9)
    second.act(other)
    second.reset(4)
    assert first.act(env) == second.act(env)
    np.testing.assert_array_equal(first.statistics.values, second.statistics.values)


def test_caro_is_refused():
    env = gomoku_v0.env(rule="caro")
    env.reset()
    with pytest.raises(ValueError, match="caro"):
        Gomokupert(10).act(env)


def test_it_beats_an_agent_that_looks_one_move_ahead():
    env = gomoku_v0.env(board_size=9)
    agents = [Gomokupert(simulations=30 if JIT else 5, seed=1), GreedyAgent(seed=2)]
    results = list(play_match(env, agents, 2, seed=5))
    assert [result.outcome for result in results] == [1, 1]
