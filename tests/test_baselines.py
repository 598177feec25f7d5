"""The shipped baselines: found by name for each game, and no weaker than was measured."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

from agents import RandomAgent
from agents.arena.match import play_match, summarise
from agents.learning.plain import load_plain
from agents.learning.saved import SHIPPED, shipped_network
from agents.registry import make_agent, make_environment
from hexenv import gomoku_v0, hex_v0

BOARDS = [
    ("tictactoe", ()),
    ("connect4", ()),
    *(("hex", (f"board_size={size}",)) for size in (5, 7, 9, 11)),
    *(("gomoku", (f"board_size={size}",)) for size in (9, 15)),
]


@pytest.mark.parametrize("name", ["ppo", "dqn"])
@pytest.mark.parametrize(("game", "options"), BOARDS)
def test_a_baseline_beats_random(name, game, options):
    """At least 0.95 was measured; 40 games of a score of 0.95 give less than 0.85 in 1 of 300."""
    env = make_environment(game, options)
    games = list(play_match(env, [make_agent(name), RandomAgent()], games=40, seed=5))
    assert summarise(games).score >= 0.85
    assert all(one.illegal is None for one in games)


def test_another_size_has_the_network_of_the_next_larger_board():
    found = [
        shipped_network(hex_v0.env(board_size=n).unwrapped.game, "ppo-").stem for n in (3, 6, 8)
    ]
    assert found == ["ppo-hex5", "ppo-hex7", "ppo-hex9"]
    assert (
        shipped_network(gomoku_v0.env(board_size=19).unwrapped.game, "dqn-").stem == "dqn-gomoku15"
    )


def test_one_agent_plays_one_game_after_another():
    agent = make_agent("ppo")
    for game, options in (*BOARDS[:4], BOARDS[0]):
        env = make_environment(game, options)
        env.reset()
        assert agent.act(env) == make_agent("ppo").act(env)
        priors, _ = agent.evaluate(env.unwrapped.game, np.array([env.unwrapped.state]))
        assert priors.shape == (1, env.unwrapped.game.num_actions())


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (hex_v0.env(board_size=5, swap=True), "expected swap of False, as in training, got True"),
        (gomoku_v0.env(opening="swap2"), "expected .*, as in training"),
        (gomoku_v0.env(rule="renju"), "expected .*, as in training"),
    ],
)
def test_what_it_was_not_trained_for_is_refused(env, message):
    env.reset()
    with pytest.raises(ValueError, match=f"ppo: {message}"):
        make_agent("ppo").act(env)


def test_boards_are_judged_by_the_network_for_the_environment_that_was_shown():
    seven, five = (hex_v0.env(board_size=size) for size in (7, 5))
    alone, both = make_agent("ppo"), make_agent("ppo")
    for env in (seven, five):
        env.reset()
    alone.see_as(seven)
    both.see_as(seven)
    both.act(five)
    seen = seven.last()[0]
    planes, masks = seen["observation"][None], seen["action_mask"][None]
    assert both(planes, masks) == alone(planes, masks)


@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_play_the_same(make_copy):
    env = make_environment("connect4", ())
    env.reset()
    agent = make_agent("dqn")
    first = agent.act(env)
    assert make_copy(agent).act(env) == first


def test_as_opponents_of_many_boards():
    envs = gymnasium.make_vec("hexenv/Connect4-v0", num_envs=16, opponent="ppo")
    observations, _ = envs.reset(seed=1)
    rewards = np.zeros(16)
    for _ in range(30):
        actions = observations["action_mask"].argmax(1)
        observations, reward, *_ = envs.step(actions)
        rewards += reward
    assert rewards.mean() < 0  # against the leftmost legal column


@pytest.mark.parametrize(
    "path", sorted(SHIPPED.glob("*-*.safetensors")), ids=lambda path: path.stem
)
def test_each_says_how_it_was_trained(path):
    saved = load_plain(path)  # without PyTorch
    assert path.stem.startswith(("ppo-", "dqn-"))
    assert {"algorithm", "steps", "minutes", "device", "boards", "seed", "licence"} <= {
        *saved.about
    }
    assert saved.game.name in path.stem
