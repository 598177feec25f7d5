"""Evaluations of Hex, and alpha-beta by them."""

import numpy as np
import pytest
from hex_oracles import after, as_bits, brute_force, random_position

from agents import AlphaBeta, HexAlphaBeta
from agents.knowledge.hex.evaluation import STONE_COST, Resistance, TwoDistance
from hexenv import hex_v0, tictactoe_v0
from hexenv.games import hex

EVALUATIONS = (Resistance(True), Resistance(False), TwoDistance())


@pytest.mark.parametrize("kind", EVALUATIONS)
@pytest.mark.parametrize("plies", range(6))
def test_what_is_good_for_one_is_bad_for_the_other_and_turns_with_the_board(kind, plies):
    game = hex.Hex(4, 5)
    evaluation = kind.with_memory(game)
    moves = np.random.default_rng(plies).permutation(20)[:plies]
    state = after(game, moves)
    value = evaluation.evaluate(game, state, 0)
    assert -1.0 <= value <= 1.0
    assert evaluation.evaluate(game, state, 1) == pytest.approx(-value)
    assert evaluation.evaluate(game, after(game, 19 - moves), 0) == pytest.approx(value, abs=0.02)
    assert plies != 1 or value > 0.0  # a stone is better than none


@pytest.mark.parametrize(("least", "count"), [(6, 20), pytest.param(2, 60, marks=pytest.mark.slow)])
def test_connections_claim_only_true_wins(least, count):
    rng, winner = np.random.default_rng(3), brute_force(4, 4)
    claims = 0
    for _ in range(count):
        env = random_position(4, int(rng.integers(least, 9)), rng)
        game, state = env.unwrapped.game, env.unwrapped.state
        value = Resistance(True).with_memory(game).evaluate(game, state, 0)
        if abs(value) > 1 - 20 * STONE_COST:  # all else is far from that
            claims += 1
            assert winner(*as_bits(game, state), game.to_play(state)) == (0 if value > 0 else 1)
    assert claims > count // 2


def test_two_distances_of_an_empty_board():
    """By hand: beside the side 1; further away one more than the second nearest neighbour."""
    game = hex.Hex(3, 3)
    evaluation = TwoDistance().with_memory(game)
    state = after(game, [])
    assert evaluation.evaluate(game, state, 0) == 0.0
    np.testing.assert_array_equal(
        evaluation.distances[0].reshape(3, 3).T, [[1, 1, 1], [2, 2, 3], [3, 4, 4]]
    )


def test_it_wins_from_won_positions_and_claims_no_proof():
    """Two plies ahead, on a board where connections see the rest."""
    winner, rng = brute_force(4, 4), np.random.default_rng(7)
    played = 0
    while played < 5:
        env = random_position(4, int(rng.integers(5, 7)), rng)
        game, state = env.unwrapped.game, env.unwrapped.state
        side = int(game.to_play(state))
        if winner(*as_bits(game, state), side) != side:
            continue
        agent, played, turn = HexAlphaBeta(seed=1, route="interpreted"), played + 1, side
        while not any(env.terminations.values()):
            legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
            env.step(agent.act(env) if turn == side else int(rng.choice(legal)))
            turn = 1 - turn
        assert agent.statistics.proven is None
        assert env.rewards[env.possible_agents[side]] == 1


def test_few_moves_prove_nothing():
    env = hex_v0.env(board_size=4)
    env.reset()
    for action in (14, 3, 8, 2, 9, 13):
        env.step(action)
    agent = HexAlphaBeta(depth=5, width=2, connections=False, seed=1, route="interpreted")
    agent.act(env)
    assert agent.statistics.proven is None


@pytest.mark.parametrize("evaluation", ["resistance", "two-distance"])
def test_a_stone_that_will_be_taken_over_is_not_placed(evaluation):
    env = hex_v0.env(board_size=5, swap=True)
    env.reset()
    options = {"width": 25, "connections": False, "route": "interpreted"}
    agent = HexAlphaBeta(depth=1, evaluation=evaluation, seed=1, **options)
    assert agent.act(env) not in (11, 12, 13)  # the best ones


@pytest.mark.compiled
@pytest.mark.parametrize("options", [{}, {"connections": False}, {"evaluation": "two-distance"}])
def test_machine_code_sees_the_same(options):
    env = hex_v0.env(board_size=4)
    env.reset(options={"moves": "b2 c2"})
    found = []
    for route in ("interpreted", "compiled"):
        agent = HexAlphaBeta(seed=2, width=4, route=route, **options)
        agent.act(env)
        found.append(agent.statistics.values)
    np.testing.assert_allclose(*found)


def test_refuses_other_games_and_parameters():
    env = tictactoe_v0.env()
    env.reset()
    for agent in (HexAlphaBeta(), AlphaBeta(evaluation=TwoDistance())):
        with pytest.raises(ValueError, match="expected Hex"):
            agent.act(env)
    with pytest.raises(ValueError, match="did you mean resistance"):
        HexAlphaBeta(evaluation="resistence")
    with pytest.raises(ValueError, match="expected width"):
        HexAlphaBeta(width=0)
