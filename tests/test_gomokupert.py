"""Tree search with learnt priors and the engine's search at its leaves."""

import numpy as np
import pytest
from grown_trees import tree_of
from test_gomoku_engine import random_env

from agents import Gomokupert
from agents.knowledge.gomoku import valued
from agents.knowledge.gomoku.engine_memory import UNDECIDED, WIN, Rules, new_engine, shown_value
from agents.knowledge.gomoku.engine_search import list_forced, sure_value
from agents.knowledge.gomoku.gomokupert import EngineLeaf, LearntPrior
from agents.planning.view import planner_view
from agents.search.tree import ROOT, children
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
    near = sorted(promises[cell] for cell in promises if is_near(game, root, cell))
    assert sorted(promises[cell] for cell in cells) == near[-8:]


@pytest.mark.parametrize("rule", ["freestyle", "standard", "renju"])
def test_the_greatest_sharpness_leaves_priors_finite(rule):
    found = valued.values_of(rule).promises.astype(float)
    greatest = np.abs(found).max(axis=-1).sum(axis=-1).max()
    assert np.isfinite(np.exp(4.0 * greatest / valued.PROMISE_SCALE) * 400)


def is_near(game, state, cell):
    rows, columns = np.nonzero(base.cell_owners(game.rules, state) != base.EMPTY)
    row, column = divmod(cell, game.rules.columns)
    return (np.maximum(abs(rows - row), abs(columns - column)) <= 2).any()


def value_by_hand(game, state, depth, ply=1):
    """Plain minimax over the cells near stones, with forced moves for nothing."""
    if game.is_terminal(state):
        return (WIN - ply) * game.outcome(state, game.to_play(state))
    player = game.to_play(state)
    sure = sure_value(game, state, player, ply)
    if sure != UNDECIDED:
        return sure
    out = np.zeros(game.num_actions(), np.int32)
    moves = out[: list_forced(game, state, player, out)].tolist()
    if not moves:
        if depth == 0:
            return game.balance(state, player)
        moves = [cell for cell in base.legal_actions(game, state) if is_near(game, state, cell)]
        depth -= 1
    found = []
    for cell in moves:
        child = base.clone(game, state)
        game.step(child, cell)
        found.append(-value_by_hand(game, child, depth, ply + 1))
    return max(found)


@pytest.mark.parametrize(
    ("depth", "positions", "rule"),
    [(0, 6, "freestyle"), (1, 6, "freestyle"), (2, 1, "freestyle"), (1, 6, "caro")],
)
def test_a_leaf_is_worth_its_minimax_value(depth, positions, rule):
    rng = np.random.default_rng(8)
    for _ in range(positions):
        game, root = valued_position(random_env(rng, rule, plies=8, size=7))
        plain = Rules(*[False] * len(Rules._fields))
        leaf = EngineLeaf(depth)._replace(engine=new_engine(game, 1 << 10, plain))
        value = value_by_hand(game, root, depth)
        for_first = shown_value(value if game.to_play(root) == 0 else -value)
        assert leaf.simulate(game, root, None, None, None) == pytest.approx(for_first)


def test_the_same_seed_and_position_give_the_same_search_after_any_other():
    first, second = Gomokupert(simulations=10, seed=4), Gomokupert(simulations=10, seed=4)
    rng = np.random.default_rng(3)
    env, other = random_env(rng, plies=8), random_env(rng, plies=9)
    second.act(other)
    second.reset(4)
    assert first.act(env) == second.act(env)
    np.testing.assert_array_equal(first.statistics.values, second.statistics.values)
