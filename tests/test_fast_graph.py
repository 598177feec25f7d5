"""Networks by OpenVINO: it says nearly what PyTorch says, in batches of any size and in threads."""

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from environments import random_states

from agents.learning.saved import find_network
from agents.policies.network import NetworkAgent
from agents.registry import make_environment
from hexenv.games import base

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("safetensors", reason="the extra train is not installed")
pytest.importorskip("openvino", reason="the extra fast is not installed")

from agents.learning import fast_graph  # noqa: E402
from agents.learning.evaluator import NetworkEvaluator, NetworkPolicy  # noqa: E402
from agents.learning.fast_graph import FastGraph  # noqa: E402
from agents.learning.files import load_network  # noqa: E402

BOARDS = {"tictactoe": (), "connect4": (), "hex5": ("board_size=5",)}


@pytest.fixture(scope="module", params=BOARDS)
def evaluators(request):
    """By PyTorch and by OpenVINO, the game, and some positions."""
    saved = load_network(find_network(request.param))
    env = make_environment(request.param.rstrip("5"), BOARDS[request.param])
    game, planes = env.unwrapped.game, tuple(saved.options.planes)
    by_pytorch = NetworkEvaluator(saved.network, game, planes)
    fast = NetworkEvaluator(saved.network, game, planes, graph_of=fast_graph.fast_graph)
    games = [state for seed in range(20) for state in random_states(game, seed)[:-1]]
    states = base.new_states(game, 40)
    for state, source in zip(states, games, strict=False):
        game.copy(source, state)
    return by_pytorch, fast, game, states


@pytest.mark.parametrize("count", [1, 3, 8, 37])
def test_it_says_nearly_what_pytorch_says(evaluators, count, monkeypatch):
    monkeypatch.setattr(fast_graph, "MOST", 16)  # so that a batch is split, and its end filled up
    by_pytorch, fast, game, states = evaluators
    assert isinstance(fast._network, FastGraph)
    priors, values = by_pytorch.evaluate(game, states[:count])
    others, other_values = fast.evaluate(game, states[:count])
    assert others.shape == priors.shape
    assert np.allclose(priors, others, rtol=0, atol=0.1)
    assert np.allclose(values, other_values, rtol=0, atol=0.1)
    assert np.allclose(others.sum(1), 1, rtol=0, atol=1e-5)


def test_a_policy_says_nearly_what_pytorch_says():
    saved = load_network(find_network("connect4"))
    planes = np.zeros((5, 6, 7, 2), np.int8)
    planes[np.arange(5), 5, np.arange(5), 1] = 1
    masks = np.ones((5, 7), np.int8)
    plain = NetworkPolicy(saved.network)(planes, masks)
    fast = NetworkPolicy(saved.network, fast_graph.fast_graph)(planes, masks)
    for one, other in zip(plain, fast, strict=True):
        assert np.allclose(one, other, rtol=0.05, atol=0.2)
    assert plain[0].argmax(1).tolist() == fast[0].argmax(1).tolist()
    nothing = NetworkPolicy(saved.network, fast_graph.fast_graph)(planes[:0], masks[:0])
    assert [len(each) for each in nothing] == [0, 0]


def test_threads_do_not_disturb_each_other(evaluators):
    _, fast, game, states = evaluators
    parts = [states[first : first + 8] for first in range(0, 40, 8)]
    alone = [fast.evaluate(game, part) for part in parts]
    with ThreadPoolExecutor(5) as pool:
        for _ in range(10):
            together = list(pool.map(lambda part: fast.evaluate(game, part), parts))
            for one, other in zip(alone, together, strict=True):
                assert np.array_equal(one[0], other[0])
                assert np.array_equal(one[1], other[1])


def test_an_agent_in_a_forked_process_gets_answers():
    agent, env = NetworkAgent("tictactoe"), make_environment("tictactoe")
    env.reset()
    position = env.unwrapped.game, env.unwrapped.state.reshape(1)
    before = agent.evaluate(*position)[1]
    game, state = position
    several = game, np.repeat(state, 3)  # for which the child compiles
    receiver, sender = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=lambda: sender.send(agent.evaluate(*several)[1]))
    process.start()
    try:
        assert receiver.poll(20)
        assert np.allclose(receiver.recv(), before, rtol=0, atol=0.02)
    finally:
        process.kill()
        process.join()


def test_agents_use_it_where_it_is_installed(monkeypatch):
    env = make_environment("tictactoe")
    env.reset()
    game, states = env.unwrapped.game, env.unwrapped.state.reshape(1)
    kinds = []
    for is_there in (True, False):
        monkeypatch.setattr(fast_graph, "has_openvino", lambda is_there=is_there: is_there)
        agent = NetworkAgent("tictactoe")
        agent.evaluate(game, states)
        (evaluator,) = agent._evaluators.values()
        kinds.append(isinstance(evaluator._network, FastGraph))
    assert kinds == [True, False]


LOSES_NETWORKS = """
import gc, signal
from agents.policies.network import NetworkAgent
from agents.registry import make_environment

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs of a shell ignore it
env, agent = make_environment("tictactoe"), NetworkAgent("tictactoe")
env.reset()
for count in (1, 2, 4):  # each is compiled
    agent.evaluate(env.unwrapped.game, env.unwrapped.state.reshape(1).repeat(count))
del agent
gc.collect()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_does_not_crash_after_networks_are_gone():
    run = subprocess.run([sys.executable, "-c", LOSES_NETWORKS], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "interrupted\n"), run.stderr
