"""The policies that are compiled into environments, and their random streams."""

import itertools

import numpy as np
import pytest
from environments import SMALL, legal_actions, make, random_game

from hexenv.games import base
from hexenv.learners.policies import POLICIES, Stream, new_policy, new_seed

over_small_boards = pytest.mark.parametrize("board", SMALL)
over_policies = pytest.mark.parametrize("name", POLICIES)

WORD = 2**64 - 1


def xorshift(bits):
    """The numbers of a stream, and where it has come to, in Python's own integers."""
    while True:
        bits ^= bits << 13 & WORD
        bits ^= bits >> 7
        bits ^= bits << 17 & WORD
        yield bits, (bits >> 11) / 2**53


def positions(board, games=2):
    """Environments in positions of random games, none of them over."""
    rng = np.random.default_rng(5)
    for _ in range(games):
        env = make(board)
        env.reset()
        yield env.clone()
        for action in random_game(env, rng):
            env.step(action)
            if env.terminations["player_0"]:
                break
            yield env.clone()


def after(env, action):
    twin = env.clone()
    twin.step(action)
    return twin


def wins(env, action):
    """Whether the player to move wins at once."""
    mover = env.agent_selection
    return after(env, action).rewards[mover] > 0


def is_safe(env, action):
    """Whether an action neither loses at once nor lets the opponent win at once."""
    mover, twin = env.agent_selection, after(env, action)
    if twin.terminations[mover]:
        return twin.rewards[mover] >= 0
    return not any(after(twin, reply).rewards[mover] < 0 for reply in legal_actions(twin))


def answers(name, env, seeds):
    """What a policy answers with each of some seeds."""
    policy = new_policy(name, env.game)
    streams = np.array(seeds, np.uint64)
    return [policy.answer(env.game, env.state, Stream(streams, i)) for i in range(len(seeds))]


# ---- streams -------------------------------------------------------------------------------------


def test_a_stream_is_xorshift64():
    seeds = np.array([1], np.uint64)
    found = []
    for _ in range(3):
        Stream(seeds, 0).random()
        found.append(int(seeds[0]))
    assert found == [1082269761, 1152992998833853505, 11177516664432764457]


@pytest.mark.parametrize("seed", [1, 2, 12345, 2**63, WORD])
def test_draws_are_the_upper_bits(seed):
    seeds = np.array([7, seed, 9], np.uint64)
    for bits, draw in itertools.islice(xorshift(seed), 200):
        assert Stream(seeds, 1).random() == draw
        assert int(seeds[1]) == bits
        assert 0.0 <= draw < 1.0
    assert seeds[[0, 2]].tolist() == [7, 9]  # its neighbours are other streams


def test_a_new_seed_is_what_the_generator_says():
    first = [new_seed(np.random.default_rng(seed)) for seed in range(50)]
    again = [new_seed(np.random.default_rng(seed)) for seed in range(50)]
    assert first == again
    assert len(set(first)) == 50
    assert all(type(seed) is np.uint64 and seed != 0 for seed in first)
    assert max(first) > 2**63  # no bit is left out


# ---- policies ------------------------------------------------------------------------------------


@over_policies
@over_small_boards
def test_answers_are_legal_and_change_nothing(board, name):
    for env in positions(board):
        before = env.to_bytes()
        found = answers(name, env, [1, 2, 3])
        assert set(found) <= set(legal_actions(env))
        assert found == answers(name, env, [1, 2, 3])
        assert env.to_bytes() == before


@over_small_boards
def test_random_takes_the_legal_action_that_draws_say(board):
    for env in positions(board):
        legal, count = legal_actions(env), env.game.num_actions()
        tries = base.TRIALS if hasattr(env.game, "is_legal") else 0
        for seed in (1, 99, 2**60 + 3):
            draws = xorshift(seed)
            found = (int(next(draws)[1] * count) for _ in range(tries))
            tried = next((action for action in found if action in legal), None)
            if tried is None:
                tried = legal[int(next(draws)[1] * len(legal))]
            assert answers("random", env, [seed]) == [tried]


@pytest.mark.parametrize(
    ("board", "moves"),
    [("tictactoe", "15"), ("gomoku-4", "a1 b2 c3"), ("hex-3-swap", "b2"), ("hex-3", "b2 a1")],
)
def test_random_is_uniform(board, moves):
    env = make(board)
    env.reset(options={"moves": moves})
    legal, rng = legal_actions(env), np.random.default_rng(6)
    found = answers("random", env, [new_seed(rng) for _ in range(200 * len(legal))])
    counts = np.bincount(found, minlength=env.game.num_actions())
    assert np.abs(counts[legal] - 200).max() < 60
    assert counts.sum() == counts[legal].sum()


def test_random_lists_the_actions_if_it_tries_in_vain():
    class LeastDraw:
        def random(self):
            return 0.0

    env = make("hex-3")
    env.reset(options={"moves": "a1 b1"})  # the least action is taken
    policy = new_policy("random", env.game)
    assert policy.answer(env.game, env.state, LeastDraw()) == legal_actions(env)[0]


@over_small_boards
def test_greedy_wins_else_is_safe_else_plays_on(board):
    kinds = set()
    for env in positions(board):
        legal = legal_actions(env)
        winning = [action for action in legal if wins(env, action)]
        safe = [action for action in legal if is_safe(env, action)]
        found = set(answers("greedy", env, range(1, 9)))
        assert found <= set(winning or safe or legal)
        kinds.add("win" if winning else "safe" if safe else "lost")
    assert "win" in kinds
    assert "safe" in kinds


@pytest.mark.parametrize(
    ("board", "moves", "expected"),
    [
        ("tictactoe", "1425", "3"),  # wins rather than stops the other
        ("tictactoe", "152", "3"),  # stops the other
        ("tictactoe", "15", "2 3 4 6 7 8 9"),  # nothing threatens
        ("tictactoe", "15937", "2 4 6 8"),  # lost, as X threatens 4 and 8: anything goes
        ("hex-3", "b1 a2 b2 c2", "a3"),  # the first of two wins
        ("connect4-4x5", "33", "1 2 3 4 5"),
        ("connect4-4x5", "1525", "3"),
    ],
)
def test_greedy_in_chosen_positions(board, moves, expected):
    env = make(board)
    env.reset(options={"moves": moves})
    rng = np.random.default_rng(7)
    found = set(answers("greedy", env, [new_seed(rng) for _ in range(100)]))
    assert found == {env.game.parse_action(text) for text in expected.split()}
