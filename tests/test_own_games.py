"""Games of one's own: what their classes may leave out, and that all else plays them.

In two of them a player may move several times in a row; their values are those of a plain minimax.
"""

import functools
from itertools import pairwise

import numpy as np
import pytest
from own_games import OWN_GAMES, Boxes, Subtraction

import agents
from hexenv import testing
from hexenv.compiled import interpreted
from hexenv.envs.aec import BoardEnv
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import base, notation

by_name = pytest.mark.parametrize("rules", OWN_GAMES, ids=lambda rules: rules.name)
EXTRA_TURNS = (Subtraction(7), Boxes(1, 2), Boxes(1, 1))
extra_turns = pytest.mark.parametrize("rules", EXTRA_TURNS, ids=str)


def raw_env(rules, **view):
    return BoardEnv(rules, f"{rules.name}_v0", **view)


make_env = with_standard_wrapper(raw_env)


def env_after(rules, actions=()):
    env = make_env(rules)
    env.reset()
    for action in actions:
        env.step(action)
    return env


@functools.cache
def minimax(rules, actions=()):
    """The outcome for player 0 after some actions, by nothing but steps and outcomes."""
    state = notation.play(rules, list(actions))
    legal = base.legal_actions(rules, state)
    if not legal:
        return rules.outcome(state, 0)
    best = max if rules.to_play(state) == 0 else min
    return best(minimax(rules, (*actions, action)) for action in legal)


def value_after(rules, actions, player):
    """The same for a player."""
    return minimax(rules, tuple(actions)) * (1 if player == 0 else -1)


def lines(rules, count, seed=0):
    """Positions in play, at most five plies before the end, by the actions that lead there."""
    rng = np.random.default_rng(seed)
    found = [()] if rules.max_plies() <= 5 else []
    while len(found) < count:
        state, actions = base.new_state(rules), []
        for _ in range(rng.integers(max(0, rules.max_plies() - 5), rules.max_plies())):
            legal = base.legal_actions(rules, state)
            if not legal:
                break
            actions.append(int(rng.choice(legal)))
            rules.step(state, actions[-1])
        if not rules.is_terminal(state):
            found.append(tuple(actions))
    return found


# ---- the contract --------------------------------------------------------------------------------


@by_name
def test_games_of_all_kinds_fulfil_the_contract(rules):
    with interpreted():
        testing.check_game(rules, games=6)


@pytest.mark.compiled(only=True)
@by_name
def test_they_do_so_compiled(rules):
    testing.check_game(rules, games=4)


def test_a_player_moves_twice_in_a_row():
    for rules in EXTRA_TURNS[:2]:
        players = [agent for agent, _ in played(env_after(rules), seed=1)]
        assert any(first == second for first, second in pairwise(players))


def played(env, seed):
    """Who moves in a random game, and how."""
    rng = np.random.default_rng(seed)
    while env.agents and not env.terminations[env.agent_selection]:
        agent = env.agent_selection
        action = int(rng.choice(np.flatnonzero(env.infos[agent]["action_mask"])))
        env.step(action)
        yield agent, action


# ---- exact play ----------------------------------------------------------------------------------


@extra_turns
def test_the_solver_and_alpha_beta_know_their_values(rules):
    for actions in lines(rules, 6):
        env = env_after(rules, actions)
        player = env.unwrapped.game.to_play(env.unwrapped.state)
        expected = {
            action: value_after(rules, (*actions, action), player)
            for action in base.legal_actions(rules, env.unwrapped.state)
        }
        with interpreted():
            solver = agents.Solver(seed=1)
            assert expected[solver.act(env)] == max(expected.values())
            alphabeta = agents.AlphaBeta(depth=rules.max_plies(), seed=1)
            assert expected[alphabeta.act(env)] == max(expected.values())
        found = solver.statistics.values
        assert {action: found[action] for action in expected} == expected, actions
        assert (alphabeta.statistics.proven or 0) == max(expected.values())


SOLVING = {
    "uct": agents.UCT,
    "rave": agents.RAVE,
    "grave": agents.GRAVE,
    "mast": agents.MAST,
    "lgr": agents.LGR,
    "history": agents.HistoryMCTS,
    "quality": agents.QualityMCTS,
    "ucb1-tuned": agents.UCB1TunedMCTS,
    "transposition": agents.TranspositionMCTS,
}


@pytest.mark.parametrize("name", SOLVING)
def test_searches_prove_their_values(name):
    for rules in EXTRA_TURNS:
        for actions in lines(rules, 3):
            env = env_after(rules, actions)
            player = rules.to_play(env.unwrapped.state)
            agent = SOLVING[name](simulations=1_000, solver="hard", seed=1)
            with interpreted():
                action = agent.act(env)
            best = value_after(rules, actions, player)
            proofs = [best] if best else [None, 0]  # a draw is proven when all else is
            assert agent.statistics.proven in proofs, (rules, actions)
            assert value_after(rules, (*actions, action), player) == best


@pytest.mark.parametrize("options", [{}, {"playout": "decisive"}, {"playout": "mast"}], ids=str)
def test_values_are_those_of_who_moves(options):
    """Without proofs, a search's value of the best action tends to the outcome of perfect play."""
    for rules in EXTRA_TURNS:
        if options.get("playout") == "decisive" and not hasattr(rules, "winning_action"):
            continue
        for actions in lines(rules, 3, seed=1):
            env = env_after(rules, actions)
            player = rules.to_play(env.unwrapped.state)
            agent = agents.UCT(simulations=600, c=1.0, seed=1, **options)
            with interpreted():
                action = agent.act(env)
            best = value_after(rules, actions, player)
            assert value_after(rules, (*actions, action), player) == best
            assert abs(agent.statistics.values[action] - best) < 0.5


class Oracle:
    """An evaluator that knows the value of a position for the player to move, and no priors."""

    def evaluate(self, rules, states):
        values = [self.value(rules, state) for state in states]
        return np.full((len(states), rules.num_actions()), 1 / rules.num_actions()), np.array(
            values
        )

    def value(self, rules, state):
        def outcome(state):
            legal = base.legal_actions(rules, state)
            after = [base.clone(rules, state) for _ in legal]
            for action, child in zip(legal, after, strict=True):
                rules.step(child, action)
            best = max if rules.to_play(state) == 0 else min
            return best(map(outcome, after)) if legal else rules.outcome(state, 0)

        return float(outcome(state)) * (1 if rules.to_play(state) == 0 else -1)


@pytest.mark.parametrize("kind", [agents.PUCTAgent, agents.GumbelAgent])
def test_evaluations_are_for_the_player_to_move(kind):
    for rules in EXTRA_TURNS:
        for actions in lines(rules, 3, seed=2):
            env = env_after(rules, actions)
            player = rules.to_play(env.unwrapped.state)
            agent = kind(Oracle(), simulations=32, seed=1)
            with interpreted():
                action = agent.act(env)
            best = value_after(rules, actions, player)
            assert value_after(rules, (*actions, action), player) == best
