"""The networks that are shipped: small, whole, and as strong as the documentation says."""

import json
from pathlib import Path

import gymnasium
import pytest

import hexenv  # noqa: F401  (registers the environments)
from agents.arena import play_match
from agents.arena.accuracy import measure, own_sets
from agents.registry import make_agent, make_environment

pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("safetensors", reason="the extra train is not installed")

from agents.learning.configuration import make
from agents.learning.files import load_network
from agents.learning.saved import SHIPPED

pytestmark = pytest.mark.compiled  # it plays whole games with networks

NETS = {
    "tictactoe": ("tictactoe", {}),
    "connect4": ("connect4", {}),
    "hex5": ("hex", {"board_size": 5}),
    "hex7": ("hex", {"board_size": 7}),
    "hex9": ("hex", {"board_size": 9}),
    "hex11": ("hex", {"board_size": 11}),
}
OPENINGS = json.loads((Path(__file__).parent / "data" / "hex_openings.json").read_text())
LARGEST = 2_000_000
"""Bytes of a file."""


def environment(net, **view):
    game, options = NETS[net]
    return make_environment(game, (), **options, **view)


def test_these_are_shipped():
    """Besides those of `ppo` and `dqn`: see `test_baselines`."""
    names = {path.stem for path in SHIPPED.glob("*.safetensors")}
    assert {name for name in names if "-" not in name} == set(NETS)


@pytest.mark.parametrize("net", NETS)
def test_a_network_is_small_and_says_how_it_was_made(net):
    path = SHIPPED / f"{net}.safetensors"
    assert path.stat().st_size < LARGEST
    saved = load_network(path)
    game, options = NETS[net]
    configuration = make(saved.about["configuration"])
    assert (configuration.game, configuration.options) == (game, options)
    assert saved.about["iteration"] == configuration.iterations
    assert saved.about["positions"] > 50_000
    assert saved.why_not(environment(net).unwrapped.game) is None


@pytest.mark.parametrize("net", NETS)
def test_a_network_beats_the_greedy_agent(net):
    players = [make_agent(f"network:net={net}"), make_agent("greedy")]
    results = list(play_match(environment(net), players, 20, seed=1))
    score = sum(result.outcome for result in results)
    assert score >= (0 if net == "tictactoe" else 10)


@pytest.mark.parametrize(
    ("net", "least"), [("tictactoe", 0.95), ("connect4", 0.85), ("hex5", 0.85), ("hex7", 0.8)]
)
def test_its_policy_mostly_keeps_the_value(net, least):
    game, options = NETS[net]
    texts = [f"{key}={value}" for key, value in options.items()]
    (positions,) = own_sets(game, texts).values()
    found = measure(f"network:net={net}", positions[::3], seeds=1, workers=0)
    assert found.kept.mean() >= least


def test_it_is_an_opponent_by_name():
    env = gymnasium.make("hexenv/Connect4-v0", opponent="alphazero:net=connect4,simulations=8")
    observation, _ = env.reset(seed=1)
    done = False
    while not done:
        action = int(observation["action_mask"].argmax())
        observation, reward, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
    assert reward == -1
    env.close()


def test_tictactoe_with_fifty_simulations_draws_the_solver():
    players = [make_agent("alphazero:net=tictactoe,simulations=50"), make_agent("solver")]
    results = list(play_match(environment("tictactoe"), players, 10, seed=3))
    assert [result.outcome for result in results] == [0] * 10


def test_hex5_with_fifty_simulations_beats_the_solver_as_first_player():
    players = [make_agent("alphazero:net=hex5,simulations=50"), make_agent("solver")]
    results = list(play_match(environment("hex5"), players, 20, seed=3))
    assert [result.outcome for result in results[::2]] == [1] * 10
    assert [result.outcome for result in results[1::2]] == [-1] * 10  # as the solver does
    assert len({result.actions for result in results[::2]}) > 5


@pytest.mark.parametrize(("net", "simulations", "least"), [("hex5", 50, 22), ("hex7", 100, 38)])
def test_it_mostly_knows_which_openings_win(net, simulations, least):
    """By the value of its move after each of the first moves of a board, which are solved."""
    env = environment(net)
    agent = make_agent(f"alphazero:net={net},simulations={simulations}", seed=1)
    size = NETS[net][1]["board_size"]
    right = []
    for text, winner in OPENINGS[f"{size}x{size}"].items():
        env.reset()
        env.step(env.unwrapped.game.parse_action(text))
        agent.reset()
        action = agent.act(env)
        right.append((agent.statistics.values[action] > 0) == (winner == "white"))
    assert len(right) == size * size
    assert sum(right) >= least
