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
    """Play one game on both sides.

    Args:
        game: Our game.
        env: Their environment.
        rng: The stream.
        their_cells: Their action for each of ours.
        board_of: From their planes to ours.

    Returns:
        Their rewards at the end.
    """
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


def test_connect4_against_pettingzoo():
    rng = np.random.default_rng(0)
    env = their_connect_four.raw_env()
    columns = list(range(7))
    results = [
        compare_random_game(connect4.new(), env, rng, columns, lambda planes: planes)
        for _ in range(GAMES)
    ]
    assert [1, -1] in results
    assert [-1, 1] in results


def test_tictactoe_against_pettingzoo():
    """Their cells go down the columns, and their planes have the columns first."""
    rng = np.random.default_rng(0)
    env = their_tictactoe.raw_env()
    cells = [0, 3, 6, 1, 4, 7, 2, 5, 8]
    results = [
        compare_random_game(
            tictactoe.new(), env, rng, cells, lambda planes: planes.transpose(1, 0, 2)
        )
        for _ in range(GAMES)
    ]
    assert [1, -1] in results
    assert [-1, 1] in results
    assert [0, 0] in results
