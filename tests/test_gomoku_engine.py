"""The engine for Gomoku: its values against sums from the stones, its wins against every answer."""

import numpy as np
import pytest

from agents import GomokuEngine
from agents.knowledge.gomoku import board, learn_values, valued
from agents.knowledge.gomoku.engine import compiled_search
from agents.knowledge.gomoku.engine_memory import (
    INFINITE,
    Rules,
    new_engine,
)
from agents.knowledge.gomoku.engine_search import begin
from agents.knowledge.gomoku.threats import vcf
from agents.planning.clones import clone
from agents.planning.environment import action_mask
from hexenv import gomoku_v0, tictactoe_v0
from hexenv.games import base, gomoku
from hexenv.games.base import EMPTY

RULES = ("freestyle", "standard", "renju")


def random_position(rng, rules, plies):
    """A position in play after random moves near the middle, or None."""
    state = base.new_state(rules)
    for _ in range(plies):
        row, column = (int(rng.integers(1, size - 1)) for size in (rules.rows, rules.columns))
        cell = row * rules.columns + column
        if cell in base.legal_actions(rules, state):
            rules.step(state, cell)
        if rules.is_terminal(state):
            return None
    return state


def random_env(rng, rule="freestyle", plies=14, size=9):
    """An environment in play after such moves."""
    while True:
        env = gomoku_v0.env(board_size=size, rule=rule)
        env.reset()
        for _ in range(plies):
            row, column = (int(rng.integers(1, size - 1)) for _ in range(2))
            mask = action_mask(env)
            if mask[row * size + column]:
                env.step(row * size + column)
            if any(env.terminations.values()):
                break
        if not any(env.terminations.values()):
            return env


# ---- values --------------------------------------------------------------------------------------


def values_by_hand(game, state):
    """The values of both sides in both roles: sums over the empty cells, weight by weight."""
    weights = np.array(valued.read_object(valued.FILE)[gomoku.rule_name(game.rules.rule)])
    found = np.zeros((2, 2))
    for side in range(2):
        for cell in range(game.num_actions()):
            if game.rules.owner(state, cell) == EMPTY:
                classes = [game.pattern(state, side, cell, direction) for direction in range(4)]
                for i, one in enumerate(classes):
                    found[side] += weights[side, :, one] if one else 0
                    for other in classes[i + 1 :]:
                        pair = valued.PAIRS.index((min(one, other), max(one, other)))
                        found[side] += weights[side, :, valued.NUM_CLASSES + pair] if pair else 0
    return found


@pytest.mark.parametrize("rule", RULES)
def test_values_are_the_sums_over_the_cells_in_random_games(rule):
    rng = np.random.default_rng(3)
    rules = gomoku.new(board_size=9, rule=rule)
    game = valued.valued_game(rules)
    state = base.new_states(game, 1)[0]
    game.initial(state)
    while not game.is_terminal(state):
        if state.ply % 5 == 0:
            np.testing.assert_allclose(state.totals, values_by_hand(game, state))
            fresh = board.state_of(game, board.plain_state(game, state), compiles=False)
            assert fresh == state
        game.step(state, int(rng.choice(base.legal_actions(game, state))))


def test_weights_of_games_are_found_again():
    rng = np.random.default_rng(0)
    weights = np.zeros((2, valued.NUM_WEIGHTS))
    weights[:, 1:6] = [[0.3, 0.2, -0.1, 0.0, 0.5], [0.1, 0.4, 0.2, -0.2, 0.3]]
    features = np.zeros((40_000, 2, valued.NUM_WEIGHTS), np.int16)
    features[:, :, 1:6] = rng.integers(0, 4, (40_000, 2, 5))
    logits = (features[:, 0] @ weights[0]) - (features[:, 1] @ weights[1])
    outcomes = (rng.random(40_000) < 1 / (1 + np.exp(-logits))).astype(float)
    found = learn_values.fit(features, outcomes, np.arange(40_000))
    assert np.abs(found - weights).max() < 0.06
    assert not found[:, 6:].any()


# ---- the search ----------------------------------------------------------------------------------


def loses_to(env, agent, rng, replies):
    """Replies of the other side after which the mover does not win, each win announced.

    At first all are tried, then some of them at random.
    """
    env = clone(env)
    mover = env.agent_selection
    env.step(agent.act(env))
    if any(env.terminations.values()):
        return [] if env.rewards[mover] > 0 else ["lost"]
    if agent.statistics.proven != 1:
        return ["not announced"]
    legal = np.flatnonzero(action_mask(env))
    for action in rng.permutation(legal)[:replies].tolist():
        after = clone(env)
        after.step(action)
        found = ["lost"] if any(after.terminations.values()) else []
        if found := found or loses_to(after, agent, rng, 2):
            return [action, *found]
    return []


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("rule", RULES)
def test_announced_wins_hold_against_every_answer(rule):
    rng = np.random.default_rng(5)
    agent = GomokuEngine(depth=5, table_entries=1 << 14)
    seen = 0
    while seen < 10:
        env = random_env(rng, rule, size=8)
        agent.act(env)
        if agent.statistics.proven == 1:
            assert loses_to(env, agent, rng, 400) == []
            seen += 1


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("rule", RULES)
def test_wins_by_fours_are_seen_at_once(rule):
    rng = np.random.default_rng(11)
    agent, seen = GomokuEngine(depth=2, table_entries=1 << 12), 0
    while seen < 10:
        env = random_env(rng, rule, plies=24, size=11)
        line = vcf(env)
        agent.act(env)
        if line is not None:
            assert agent.statistics.proven == 1
            seen += 1


@pytest.mark.compiled(only=True)
def test_the_search_stops_anywhere_and_goes_on():
    game = valued.valued_game(gomoku.new(board_size=9))
    rng = np.random.default_rng(2)
    for _ in range(5):
        position = None
        while position is None:
            position = random_position(rng, game.rules, 10)
        found = []
        for budget in (10**9, 1, 7):
            engine = new_engine(game, 1 << 12, Rules())
            engine.states[0] = board.state_of(game, position)
            for depth in range(1, 5):
                begin(engine, depth, -INFINITE, INFINITE)
                while not compiled_search(game, engine, budget):
                    pass
            found.append((engine.nodes[0].best, engine.nodes[0].best_move, *engine.control[1:]))
        assert found[0] == found[1] == found[2]


@pytest.mark.compiled(only=True)
def test_interpreted_and_compiled_play_alike():
    rng = np.random.default_rng(4)
    for rule in RULES:
        env = random_env(rng, rule, plies=8, size=7)
        found = []
        for route in ("compiled", "interpreted"):
            agent = GomokuEngine(depth=2, table_entries=1 << 10, route=route)
            found.append((agent.act(env), agent.statistics))
        (one, first), (other, second) = found
        assert one == other
        assert first.principal_variation == second.principal_variation
        assert first.simulations == second.simulations
        np.testing.assert_array_equal(first.values, second.values)


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("name", Rules._fields)
def test_a_rule_left_out_changes_no_proof(name):
    rng = np.random.default_rng(6)
    whole, without = (
        GomokuEngine(depth=4, table_entries=1 << 14),
        GomokuEngine(depth=4, table_entries=1 << 14, without=name),
    )
    for _ in range(20):
        env = random_env(rng, plies=12, size=8)
        proofs = []
        for agent in (whole, without):
            agent.reset()
            agent.act(env)
            proofs.append(agent.statistics.proven)
        assert {1, -1} - set(proofs)  # never one of each


@pytest.mark.compiled(only=True)
def test_several_lines_have_values():
    env = random_env(np.random.default_rng(8), plies=6)
    agent = GomokuEngine(depth=4, lines=4)
    best = agent.act(env)
    found = agent.statistics
    assert found.visits.sum() >= 4
    assert found.visits[best] == 1
    assert found.values[best] == found.values[found.visits > 0].max()
    one = GomokuEngine(depth=4, positions=100_000)
    one.act(env)
    assert one.statistics.visits.sum() >= 1


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("rule", RULES)
def test_what_is_called_proven_of_each_move_holds(rule):
    """A move proven to win is played out; after one proven to lose the other side wins so."""
    rng = np.random.default_rng(13)
    agent, judge, seen = GomokuEngine(depth=4, lines=3), GomokuEngine(depth=8), {1: 0, -1: 0}
    while min(seen.values()) < 6:
        env = random_env(rng, rule, plies=18, size=9)
        agent.act(env)
        for action in agent.statistics.proven_actions[:3]:
            value = int(agent.statistics.values[action])
            after = clone(env)
            mover = after.agent_selection
            after.step(action)
            if any(after.terminations.values()):
                assert after.rewards[mover] == value
            elif value == -1:
                judge.act(after)
                assert judge.statistics.proven == 1
            else:
                for reply in rng.permutation(np.flatnonzero(action_mask(after)))[:10].tolist():
                    answered = clone(after)
                    answered.step(reply)
                    assert not any(answered.terminations.values())
                    assert loses_to(answered, judge, rng, 2) == []
            seen[value] += 1


@pytest.mark.compiled(only=True)
def test_a_loss_is_proven_only_where_all_moves_were_tried():
    moves = "h8 g8 i8 i7 j8 l10 k10 a1 k11 o1 c3 b3 d3 a15 e3 o15 f5 h1 f6"
    env = gomoku_v0.env()
    env.reset(options={"moves": moves})
    agent = GomokuEngine(depth=2)
    agent.act(env)
    assert agent.statistics.proven is None
    env = tictactoe_v0.env()
    env.reset(options={"moves": "1 2 5"})  # 9 and 3 or 4, 7: two ways to win
    agent.act(env)
    assert agent.statistics.proven == -1


@pytest.mark.compiled(only=True)
def test_budgets_and_lines_are_kept():
    env = random_env(np.random.default_rng(9), plies=6)
    agent = GomokuEngine(positions=3000)
    agent.act(env)
    found = agent.statistics
    assert 1000 < found.simulations < 6000
    line = clone(env)
    for action in found.principal_variation:
        assert line.observe(line.agent_selection)["action_mask"][action]
        line.step(action)
    assert abs(found.values).max() <= 1


def test_wrong_options_and_games_are_refused():
    with pytest.raises(ValueError, match=r"expected rule of .*, got .null."):
        GomokuEngine(without="null")
    env = gomoku_v0.env(rule="caro")
    env.reset()
    with pytest.raises(ValueError, match="got caro"):
        GomokuEngine(depth=1).act(env)
