"""The shipped networks of Hex beside what is known of it."""

import numpy as np
import pytest
from environments import legal_actions, make, played

from agents.registry import make_agent
from hexenv import hex_v0
from hexenv.games import base

pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("safetensors", reason="the extra train is not installed")

from agents.knowledge.hex.hexzero import ShippedNetworks
from agents.policies.network import NetworkAgent

pytestmark = pytest.mark.compiled(only=True)  # interpreted, connections take minutes


@pytest.mark.parametrize(
    ("size", "net"),
    [(3, "hex5"), (5, "hex5"), (6, "hex7"), (8, "hex9"), (11, "hex11"), (13, "hex11")],
)
def test_each_board_has_the_network_of_the_next_larger_one(size, net):
    game = hex_v0.env(board_size=size).unwrapped.game
    state = base.new_states(game, 1)
    found, expected = ShippedNetworks(), NetworkAgent(net)
    for one, other in zip(found.evaluate(game, state), expected.evaluate(game, state), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_swap_has_the_prior_of_all_stones_together():
    env = played(make("hex-5-swap"), [12])
    states = base.new_states(env.game, 1)
    env.game.copy(env.state, states[0])
    priors, values = ShippedNetworks().evaluate(env.game, states)
    assert priors.shape == (1, 26)
    assert priors[0, 25] == 1.0 == pytest.approx(priors[0, :25].sum())
    plain = played(make("hex-5"), [12])
    states = base.new_states(plain.game, 1)
    plain.game.copy(plain.state, states[0])
    expected = ShippedNetworks().evaluate(plain.game, states)
    np.testing.assert_array_equal(priors[:, :25], expected[0])
    np.testing.assert_array_equal(values, expected[1])


@pytest.mark.parametrize("board", ["hex-3-swap", "hex-5-swap", "hex-5"])
def test_it_plays_whole_games(board):
    env = played(make(board))
    agent = make_agent("hexzero:simulations=20", seed=1)
    while not any(env.terminations.values()):
        action = agent.act(env)
        assert action in legal_actions(env)
        env.step(action)


@pytest.mark.parametrize(("stone", "taken"), [("c3", True), ("a1", False)])
def test_a_strong_first_stone_is_taken_over(stone, taken):
    env = hex_v0.env(board_size=5, swap=True)
    env.reset(options={"moves": stone})
    agent = make_agent("hexzero:simulations=50,knowledge=inferior+connections", seed=1)
    assert (agent.act(env) == 25) == taken


def test_it_proves_what_it_can():
    env = hex_v0.env(board_size=5)
    env.reset(options={"moves": "c3"})
    agent = make_agent("hexzero:simulations=200", seed=1)
    agent.act(env)
    assert agent.statistics.proven == -1
    assert agent.statistics.simulations < 200


def test_other_games_are_refused():
    with pytest.raises(ValueError, match="hex"):
        make_agent("hexzero:simulations=5").act(played(make("connect4")))
