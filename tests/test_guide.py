"""A policy that looks at the nodes which a search with playouts visits often."""

from typing import NamedTuple

import numpy as np
import pytest
from environments import make, played, theirs
from grown_trees import below, positions_of, tree_of
from test_evaluated import Oracle, learned
from test_variants import assert_routes_agree, needs_compiler

from agents import RAVE, UCT, PolicyAgent, PUCTAgent
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.environment import action_mask
from agents.search.guide import SLICE
from agents.search.knowledge import all_covered, list_legal
from agents.search.mcts import Variant
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.tree import ROOT
from hexenv import hex_v0, tictactoe_v0

PLAIN = {"route": "interpreted", "seed": 0, "solver": "off"}
AT, WEIGHT = 20, 5
SIMULATIONS = 1 + 4 * SLICE


class Convinced:
    """Knows that player 0 wins, and no moves."""

    def evaluate(self, game, states):
        values = [1.0 if game.to_play(state) == 0 else -1.0 for state in states]
        return np.ones((len(values), game.num_actions())), np.array(values)


def guided(policy, **options):
    """A plain search with a guide, and what its policy was asked."""
    options = {"guide_at": AT, "guide_weight": WEIGHT, **PLAIN, **options}
    return UCT(SIMULATIONS, guide=policy, **options)


@pytest.mark.parametrize("board", ["tictactoe", "connect4-4x5", "hex-3-swap"])
def test_every_node_that_is_visited_often_is_looked_at_once(board):
    env, policy = played(make(board), [1]), Oracle()
    agent = guided(policy)
    agent.act(env)
    tree = tree_of(agent)
    looked = 0
    for node, state in positions_of(env.game, env.state, tree):
        if not tree.child_count[node]:
            continue
        children, priors = below(tree, node), tree.extras.prior
        if tree.extras.is_guided[node]:
            looked += 1
            given = policy.judge(env.game, state)[0]
            shares = given[[tree.action[child] for child in children]]
            expected = shares / shares.sum()
        else:
            expected = np.full(len(children), 1 / len(children))
        assert priors[children.start : children.stop] == pytest.approx(expected)
        assert tree.extras.is_guided[node] == (node == ROOT or tree.visits[node] >= AT)
    assert looked == sum(policy.batches) > 10
    assert tree.visits[ROOT] == 1 + SIMULATIONS + WEIGHT * (looked - 1)
    assert max(policy.batches) > 1


@pytest.mark.parametrize("plies", [0, 1])
def test_its_values_are_for_the_player_to_move(plies):
    env = played(make("hex-5"), range(plies))
    values = {}
    for weight in (0, 10 * AT):
        agent = guided(Convinced(), guide_weight=weight)
        action = agent.act(env)
        values[weight] = agent.statistics.values[action]
    sign = 1 if plies == 0 else -1
    assert sign * values[10 * AT] > max(0.8, sign * values[0])


def test_priors_alone_leave_the_number_of_visits():
    env = played(make("tictactoe"))
    agent = guided(Oracle(), guide_weight=0)
    agent.act(env)
    assert tree_of(agent).visits[ROOT] == 1 + SIMULATIONS


def test_the_order_of_moves_follows_the_priors():
    env = played(make("hex-5"))

    class Fond(Oracle):
        def judge(self, game, state):
            return np.where(np.arange(game.num_actions()) == 7, 1.0, 1e-6), 0.0

    plain, fond = UCT(SLICE, **PLAIN), UCT(SLICE, guide=Fond(), guide_at=1000, **PLAIN)
    plain.act(env)
    fond.act(env)
    assert fond.statistics.visits[7] > 2 * plain.statistics.visits[7]


def test_one_seed_gives_one_tree_however_the_budget_is_sliced():
    env = played(make("tictactoe"))
    found = []
    for on_slice in (None, lambda statistics: None):
        agent = guided(Oracle())
        agent.on_slice = on_slice
        agent.act(env)
        found.append(agent.statistics.visits)
    np.testing.assert_array_equal(*found)


@needs_compiler
@pytest.mark.parametrize(("kind", "board"), [(UCT, "tictactoe"), (RAVE, "hex-3-swap")])
def test_compiled_and_interpreted_searches_agree(kind, board):
    def new_agent(route):
        return kind(600, guide=Oracle(), guide_at=10, guide_weight=3, route=route, seed=3)

    assert_routes_agree(new_agent, board)


class Notes(NamedTuple):
    """Knowledge that is due at a number of visits, and notes where it is asked."""

    visits: int
    asked: list

    list_actions = list_legal
    covers = all_covered

    def with_memory(self, game):
        return self

    def decides(self, game, state):
        return False

    def is_due(self, visits):
        return visits == self.visits

    def examine(self, game, state, tree, node):
        self.asked.append(game.position_hash(state))


def test_knowledge_is_asked_where_values_skip_its_number_of_visits():
    env, knowledge = played(make("hex-5")), Notes(AT + 2, [])
    variant = Variant(UCB1(), Uniform(), WinLoss(), knowledge=knowledge)
    options = {"guide": Oracle(), "guide_at": AT, "guide_weight": WEIGHT}
    agent = TreeSearchAgent(variant, SIMULATIONS, **options, **PLAIN)
    agent.act(env)
    tree = tree_of(agent)
    often = [
        env.game.position_hash(state)
        for node, state in positions_of(env.game, env.state, tree)
        if node != ROOT and tree.child_count[node] and tree.visits[node] > AT + 2
    ]
    assert len(often) > 5
    assert set(often) <= set(knowledge.asked)


def test_it_guides_in_environments_of_others():
    env = theirs("connect_four").env()
    env.reset()
    agent = UCT(SLICE + 1, guide=PolicyAgent(learned), guide_at=4, seed=0)
    assert action_mask(env)[agent.act(env)]
    tree = tree_of(agent)
    assert tree.visits[ROOT] > 1 + SLICE


def test_games_that_follow_are_as_those_of_a_new_agent():
    env, agent = played(tictactoe_v0.env()), guided(Oracle())
    first = agent.act(env)
    visits = agent.statistics.visits
    agent.reset(seed=0)
    assert agent.act(env) == first
    np.testing.assert_array_equal(agent.statistics.visits, visits)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"early_stop": True}, "early_stop"),
        ({"transpositions": True}, "one tree"),
        ({"guide": "random"}, "policy"),
        ({"guide_at": 0}, "guide_at"),
        ({"guide_weight": -1}, "guide_weight"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        UCT(10, **{"guide": Oracle(), **options})


def test_searches_with_an_evaluator_have_no_guide():
    with pytest.raises(ValueError, match="no guide"):
        PUCTAgent(Oracle(), guide=Oracle())


def test_games_of_one_player_have_no_guide():
    import gymnasium

    env = gymnasium.make("FrozenLake-v1")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="two players"):
        UCT(10, guide=Oracle()).act(env)


def test_hexpert_takes_one():
    env = played(hex_v0.env(board_size=5))
    agent = UCT(300, guide=Oracle(), guide_at=8, knowledge="all", solver="hard", seed=0)
    assert action_mask(env)[agent.act(env)]
