"""The games against PettingZoo's own: legal actions, observations, ends and rewards, ply by ply."""

import numpy as np
import pytest

from hexenv.games import base, connect4, tictactoe

pytest.importorskip("pygame", reason="PettingZoo's classic games need pygame")
their_connect_four = pytest.importorskip("pettingzoo.classic.connect_four.connect_four")
their_tictactoe = pytest.importorskip("pettingzoo.classic.tictactoe.tictactoe")

GAMES = 100


def planes_of(game, state, player):
    planes = np.empty((game.rows * game.columns, 2), np.int8)
    game.observe(state, player, base.cell_owners(game, state).reshape(-1), planes)
    return planes.reshape(game.rows, game.columns, 2)


def compare_random_game(game, env, rng, their_cells, board_of):
    """Play one game on both sides, with their actions and planes made ours; the rewards."""
    env.reset()
    state = base.new_state(game)
    while True:
        agents = env.possible_agents
        for player, agent in enumerate(agents):
            theirs = env.observe(agent)
            assert np.array_equal(planes_of(game, state, player), board_of(theirs["observation"]))
            over = game.is_terminal(state)
            assert env.terminations[agent] == over
            assert not env.truncations[agent]
            if over:
                assert env.rewards[agent] == game.outcome(state, player)
        if game.is_terminal(state):
            assert not base.legal_mask_of(game, state).any()
            return [env.rewards[agent] for agent in agents]
        mover = agents[game.to_play(state)]
        assert env.agent_selection == mover
        assert np.array_equal(
            base.legal_mask_of(game, state), env.observe(mover)["action_mask"][their_cells]
        )
        action = int(rng.choice(base.legal_actions(game, state)))
        game.step(state, action)
        env.step(their_cells[action])


WINS = {(1, -1), (-1, 1)}


@pytest.mark.parametrize(
    ("game", "theirs", "cells", "board_of", "results"),
    [
        (connect4.new(), their_connect_four, [*range(7)], lambda planes: planes, WINS),
        # Their cells go down the columns, and their planes have the columns first.
        (
            *(tictactoe.new(), their_tictactoe, [0, 3, 6, 1, 4, 7, 2, 5, 8]),
            *(lambda planes: planes.transpose(1, 0, 2), WINS | {(0, 0)}),
        ),
    ],
)
def test_games_against_pettingzoo(game, theirs, cells, board_of, results):
    rng, env = np.random.default_rng(0), theirs.raw_env()
    found = {tuple(compare_random_game(game, env, rng, cells, board_of)) for _ in range(GAMES)}
    assert found == results
