"""NRPA: what an adaptation does to the weights, what the nest does, and how the agent plays."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from environments import make, played, shown, theirs

from agents import RandomAgent
from agents.arena import play_match, summarise
from agents.mcts import nrpa
from agents.mcts.nrpa import NRPA, ROOT, adapt_policies, new_bench, new_nest, new_rows
from agents.registry import make_agent
from hexenv import hex_v0, tictactoe_v0
from hexenv.games import base, hex, tictactoe

needs_compiler = pytest.mark.compiled(only=True)

FORMS = {
    "default": {},
    "levels": {"level": 2, "iterations": 4, "alpha": 0.5},
    "cooperative": {"mode": "cooperative", "level": 3, "alpha": 1.0},
}
over_forms = pytest.mark.parametrize("form", FORMS)
FOUR_GAMES = ("hex-3-swap", "connect4-4x5", "tictactoe", "gomoku-4")


def found(agent, env):
    """The choice and all statistics but the time."""
    choice = agent.act(env)
    of = agent.statistics
    return choice, of.visits.tolist(), of.values.tolist(), of.principal_variation, of.simulations


def bench_of(game):
    return new_bench(game, *(base.new_state(game) for _ in range(2)))


def nests_of(agent):
    """The nests of the agent's searches, as they come."""
    nests, make = [], agent._empty_memory

    def noted(view):
        nest, tree = make(view)
        nests.append(nest)
        return nest, tree

    agent._empty_memory = noted
    return nests


# ---- one seed, one search ------------------------------------------------------------------------


@needs_compiler
@over_forms
@pytest.mark.parametrize(
    "board",
    [
        "tictactoe",
        *(pytest.param(b, marks=pytest.mark.slow) for b in FOUR_GAMES if b != "tictactoe"),
    ],
)
def test_compiled_and_interpreted_search_are_the_same(board, form):
    env = played(make(board), [0])
    options = {"simulations": 60, "seed": 4, **FORMS[form]}
    agents = [NRPA(route=route, **options) for route in ("compiled", "interpreted")]
    nests = [nests_of(agent) for agent in agents]

    assert found(agents[0], env) == found(agents[1], env)
    for one, other in zip(nests[0][-1], nests[1][-1], strict=True):
        if one.dtype != np.int32:  # lines end somewhere
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("board", ["hex-3", "tictactoe", "gomoku-4"])
def test_the_search_through_an_environment_is_the_same(board):
    env = played(make(board), [1])
    options = {"simulations": 40, "seed": 2}
    through = NRPA(route="environment", **options)
    assert found(NRPA(**options), env) == found(through, env)


# ---- the adaptation ------------------------------------------------------------------------------


def adapted(actions, weights=0.0, **options):
    """The weights of a one-level nest over TicTacToe after adapting to one line."""
    game = tictactoe.new()
    nest = new_nest(1, 9, 9)
    nest.weights[:] += weights
    nest.odds[:] = np.exp(nest.weights)
    end = base.new_state(game)
    for action in actions:
        game.step(end, action)
    nest.lines[0, : len(actions)] = actions
    nest.lengths[0] = len(actions)
    nest.results[0] = game.outcome(end, 0)
    nrpa.adapt(bench_of(game), nest, NRPA(100, **options).form, 0)
    assert not nest.changes.any()
    return nest.weights[0], nest.odds[0]


X_WINS = [0, 3, 1, 4, 2]
O_WINS = [0, 3, 1, 4, 8, 5]
DRAWN = [0, 4, 8, 1, 7, 6, 2, 5, 3]


def test_an_adaptation_takes_the_probabilities_of_the_old_weights():
    start = np.zeros(9)
    start[:2] = math.log(8), math.log(3)  # shares 8/18 of nine, then 3/9 of seven, then 1/5
    weights, odds = adapted(X_WINS, weights=start, alpha=1.0)
    shares = np.exp(weights[0]) / np.exp(weights[0]).sum()
    np.testing.assert_allclose(odds[0] / odds[0].sum(), shares)
    change = weights[0] - start
    assert change[0] == pytest.approx(1 - 8 / 18)
    assert change[1] == pytest.approx(1 - 3 / 18 - 3 / 9)
    assert change[2] == pytest.approx(1 - 1 / 18 - 1 / 9 - 1 / 5)
    assert change[8] == pytest.approx(-1 / 18 - 1 / 9 - 1 / 5)


@pytest.mark.parametrize(("line", "winner"), [(X_WINS, 0), (O_WINS, 1), (DRAWN, None)])
def test_who_learns_from_a_line(line, winner):
    by_mode = {mode: adapted(line, mode=mode)[0] for mode in nrpa.MODES}
    for player in (0, 1):
        first = line[player]
        gains = {mode: weights[player, first] for mode, weights in by_mode.items()}
        assert gains["cooperative"] > 0
        assert np.sign(gains["payoff"]) == (0 if winner is None else 1 if player == winner else -1)


def test_weights_of_any_size_give_probabilities():
    _, odds = adapted(X_WINS, alpha=1e6)
    assert np.isfinite(odds).all()
    assert (odds > 0).all()
    assert odds[0].max() == 1


def test_draws_follow_the_shares():
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.2, 0.3])
    counts = np.bincount([nrpa.draw(shares, 3, rng) for _ in range(4000)], minlength=3)
    np.testing.assert_allclose(counts / 4000, shares, atol=0.03)


# ---- the nest and the tree -----------------------------------------------------------------------


def nest_after(*slices, **options):
    """What some slices of a search over Hex have left."""
    form = NRPA(1, **options).form
    nest, tree, rng = new_nest(form.levels, 9, 9), new_rows(100, 9), np.random.default_rng(0)
    for simulations in slices:
        adapt_policies(bench_of(hex.new(3)), nest, tree, form, simulations, rng)
    return nest, tree


def test_searching_in_slices_is_searching_at_once():
    options = {"level": 2, "iterations": 5}
    at_once, in_slices = (nest_after(*each, **options) for each in ([100], [1, 0, 49, 50]))
    np.testing.assert_array_equal(at_once[0].weights, in_slices[0].weights)
    assert at_once[1].plays[ROOT].sum() == in_slices[1].plays[ROOT].sum() == 100


def test_levels_hand_up_their_lines():
    options = {"level": 3, "iterations": 3}
    for done, rounds in ((2, [2, 0, 0]), (3, [0, 1, 0]), (26, [2, 2, 2]), (27, [0, 0, 3])):
        nest = nest_after(done, **options)[0]
        assert nest.rounds.tolist() == rounds
        assert nest.weights[1].any() == (done > 2)
        assert nest.weights[2].any() == (nest.lengths[2] > 0) == (done > 8)
        if rounds[0] == 0:
            np.testing.assert_array_equal(nest.weights[0], nest.weights[1])


def test_a_nest_that_is_through_begins_anew():
    assert nest_after(10, iterations=4)[0].rounds.tolist() == [2]
    nest = nest_after(3, iterations=4)[0]
    assert nest.weights.any()
    nrpa.begin_anew(nest)
    assert not nest.weights.any()
    assert (nest.odds == 1).all()


def test_a_cooperative_level_keeps_its_best_line():
    nest, _ = nest_after(60, mode="cooperative", iterations=100)
    assert nest.line_scores.tolist() == [1.0]
    assert nest.results.tolist() == [1]  # player 0 is at the root


def test_how_many_iterations_fit():
    assert [nrpa.fitting_iterations(1000, level) for level in (1, 2, 3)] == [1000, 32, 10]
    assert nrpa.fitting_iterations(None, 2) == 100
    assert nrpa.fitting_iterations(None, 1) > 2**60


def test_the_tree_counts_what_went_through_it():
    _, tree = nest_after(80)
    rows = int(tree.row_count[0])
    assert 1 < rows <= 100
    for row in range(rows):
        for action in np.flatnonzero(tree.below[row]):
            below = tree.below[row, action]
            # The playout before the row was there has not been counted in it.
            assert tree.plays[below].sum() == tree.plays[row, action] - 2
            assert 0 <= tree.gains[row, action] <= tree.plays[row, action]
    assert nest_after(80, mode="cooperative")[1].row_count[0] > 1  # counted, though not used


def test_the_tree_prefers_what_is_likely_then_what_has_won():
    tree, bench = new_rows(1, 9), bench_of(tictactoe.new())
    bench.actions[:3], bench.shares[:3] = (0, 1, 2), (0.2, 0.5, 0.3)
    assert nrpa.select(tree, ROOT, bench, 3, 1.0) == 1
    tree.plays[ROOT, :3] = 50
    tree.gains[ROOT, :3] = 10, 20, 30
    assert nrpa.select(tree, ROOT, bench, 3, 1.0) == 2
    tree.plays[ROOT, :3] = 50_000, 50_000, 10
    assert nrpa.select(tree, ROOT, bench, 3, 1.0) == 2


# ---- the agent -----------------------------------------------------------------------------------


@over_forms
def test_statistics_are_those_of_the_budget(form):
    env = played(make("hex-3"), [4])
    agent = NRPA(75, seed=0, **FORMS[form])
    action = agent.act(env)
    of = agent.statistics
    assert of.simulations == of.visits.sum() == 75
    assert of.visits[4] == of.values[4] == 0
    assert (np.abs(of.values) <= 1).all()
    assert of.proven is None
    assert of.principal_variation[0] == action
    for reply in of.principal_variation:
        assert env.is_legal(reply)
        env.step(reply)


def test_the_most_played_move_is_played_or_that_of_the_best_line():
    env = played(make("hex-3x5"))
    agent = NRPA(200, seed=1, alpha=0.3)
    action, of = agent.act(env), agent.statistics
    assert of.visits[action] == of.visits.max()
    assert of.values[action] == of.values[of.visits == of.visits.max()].max()
    agent = NRPA(200, seed=1, mode="cooperative")
    nests = nests_of(agent)
    assert agent.act(env) == nests[0].lines[0, 0]


@pytest.mark.parametrize("level", [1, 2])
def test_of_two_budgets_the_first_to_end_counts(level):
    env = played(make("hex-5"))
    agent, both = NRPA(seconds=0.1, seed=0, level=level), NRPA(20, seconds=30, level=level)
    agent.prepare(env)
    agent.act(env)
    both.act(env)
    assert agent.statistics.simulations >= 1
    assert both.statistics.simulations == 20


def test_every_search_starts_with_new_weights():
    env = played(make("hex-3"))
    agent = NRPA(20, seed=0)
    nests = nests_of(agent)
    for _ in range(2):
        agent.act(env)
        agent.reset(seed=0)
    np.testing.assert_array_equal(nests[0].weights, nests[1].weights)


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_the_default_beats_random():
    agents = [NRPA(300), RandomAgent()]
    games = play_match(hex_v0.env(board_size=4), agents, 40, seed=1)
    assert summarise(list(games)).wins >= 38


POSITIONS = json.loads(
    (Path(__file__).parents[1] / "agents" / "arena" / "positions" / "tictactoe.json").read_text()
)


def test_a_win_at_once_is_played():
    assert NRPA(300, seed=0).act(played(make("tictactoe"), [0, 3, 1, 4])) == 2


@pytest.mark.compiled(only=True)
def test_perfect_tictactoe_is_drawn():
    rng = np.random.default_rng(3)
    agent = NRPA(5_000, seed=3)
    env = tictactoe_v0.raw_env()
    for number in range(100):
        env.reset()
        side = env.possible_agents[number % 2]
        while not any(env.terminations.values()):
            if env.agent_selection == side:
                env.step(agent.act(env))
            else:
                game, state = env.unwrapped.game, env.unwrapped.state
                board = "".join(".XO"[1 + game.owner(state, cell)] for cell in range(9))
                env.step(int(rng.choice(POSITIONS[board]["optimal"])))
        assert env.rewards[side] == 0, env.unwrapped.moves


# ---- any environment -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["default", "cooperative"])
@pytest.mark.parametrize("name", ["tictactoe", "connect_four"])
def test_foreign_environments(name, form):
    env = played(theirs(name).env(), [1])
    before = shown(env)
    agent = NRPA(12, seed=0, **FORMS[form])
    action = agent.act(env)
    assert shown(env) == before
    assert env.last()[0]["action_mask"][action]
    assert agent.statistics.simulations == 12
    env.step(action)
    agent.act(env)


# ---- names and errors ----------------------------------------------------------------------------


def test_the_name_on_the_command_line():
    agent = make_agent("nrpa:simulations=50,level=2,mode=cooperative,alpha=0.2")
    assert isinstance(agent, NRPA)
    assert agent.form == (2, 8, 0.2, True, 1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("simulations", 0), ("seconds", -1), ("level", 0), ("iterations", 0), ("alpha", -1.0),
        ("alpha", math.nan), ("c", -1.0), ("mode", "ppa"), ("route", "x"),
    ],
)  # fmt: skip
def test_errors_name_the_option_and_the_value(name, value):
    with pytest.raises(ValueError, match=f"{name.rstrip('s')}.*got {value!r}"):
        NRPA(**{name: value})


def test_a_game_that_is_over_is_refused():
    env = played(tictactoe_v0.raw_env(), X_WINS)
    with pytest.raises(ValueError, match="in play"):
        NRPA(10).act(env)
