"""What networks cost by PyTorch, NumPy and OpenVINO, and what OpenVINO's precision costs.

    python tests/benchmarks/evaluators.py [--strength]

Each cell of the first table is the least of several rounds, in which all are timed in turn; beside
them stands the check of the answers. The second table has searches, by PyTorch and by OpenVINO in
turn. With ``--strength`` there are solved positions of Connect4 and a match of Hex between the two.
"""

import argparse
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from agents.arena.accuracy import measure, own_sets
from agents.arena.match import play_match
from agents.learning import fast_graph
from agents.learning.plain import PlainEvaluator, load_plain
from agents.learning.saved import find_network
from agents.policies.network import NetworkAgent
from agents.registry import make_agent
from agents.search.evaluator import checked
from hexenv import hex_v0
from hexenv.games import base, connect4, hex, tictactoe

NETWORKS = {"tictactoe": tictactoe.new(), "connect4": connect4.new(), "hex11": hex.new(11)}
BATCHES = (1, 8, 64)
ROUNDS = 12
RUNTIMES = {"PyTorch": False, "OpenVINO": True}
SIMULATIONS = 2_000
PAIRS = 30


@contextmanager
def runtime(name: str) -> Generator[None]:
    """Networks that are loaded here are run by PyTorch or by OpenVINO."""
    installed = fast_graph.has_openvino
    fast_graph.has_openvino = lambda: RUNTIMES[name]
    try:
        yield
    finally:
        fast_graph.has_openvino = installed


def seconds_of(call: Callable[[], Any], calls: int) -> float:
    """The mean time of some calls."""
    started = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - started) / calls


def evaluations() -> None:
    """Print what batches cost."""
    heads = "network", "positions", "PyTorch, us", "NumPy, us", "OpenVINO, us", "check, us"
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name, game in NETWORKS.items():
        found = []
        for each in RUNTIMES:
            with runtime(each):
                found.append(NetworkAgent(name))
                found[-1].evaluate(game, base.new_states(game, 1))
        plain = load_plain(find_network(name))
        by_numpy = PlainEvaluator(plain.network, game, tuple(plain.options.planes))
        for count in BATCHES:
            states = base.new_states(game, count)
            answer, shape = found[0].evaluate(game, states), (count, game.num_actions())
            found[1].evaluate(game, states)  # which compiles
            ways = found[0].evaluate, by_numpy.evaluate, found[1].evaluate
            calls = [(lambda way=way: way(game, states), 10) for way in ways]  # noqa: B023
            calls.append((lambda: checked(answer, shape), 200))  # noqa: B023
            rounds = [[seconds_of(*call) for call in calls] for _ in range(ROUNDS)]
            shown = [f"{1e6 * least:,.0f}" for least in np.min(rounds, axis=0)]
            print(f"| {name} | {count} | {' | '.join(shown)} |", flush=True)


def searches() -> None:
    """Print the simulations a second of `hexzero` on 11 x 11."""
    env = hex_v0.env(board_size=11)
    env.reset()
    agents = {}
    for name in RUNTIMES:
        with runtime(name):
            agents[name] = make_agent(f"hexzero:simulations={SIMULATIONS},seed=1")
            agents[name].act(env)
    rates: dict[str, list[float]] = {name: [] for name in RUNTIMES}
    for _ in range(ROUNDS):
        for name, agent in agents.items():
            agent.reset(seed=1)
            started = time.process_time()
            agent.act(env)
            rates[name].append(agent.statistics.simulations / (time.process_time() - started))
    ratios = np.array(rates["OpenVINO"]) / np.array(rates["PyTorch"])
    for name, each in rates.items():
        print(f"hexzero by {name}: {np.median(each):,.0f} simulations a second")
    print(f"ratio {np.median(ratios):.2f} ({ratios.min():.2f}-{ratios.max():.2f})")


def strength() -> None:
    """Print how often solved positions are answered well, and a match of Hex."""
    for simulations in (1, 50):
        for name in RUNTIMES:
            with runtime(name):
                agent = f"alphazero:net=connect4,simulations={simulations}"
                for title, positions in own_sets("connect4").items():
                    found = measure(agent, positions, name=title, seeds=1, workers=0)
                    share, count = found.kept.mean(), found.kept.shape[1]
                    print(f"{agent} by {name}, {title}: {share:.1%} of {count} kept", flush=True)
    players = []
    env = hex_v0.env(board_size=7)
    env.reset()
    for name in RUNTIMES:
        with runtime(name):
            players.append(make_agent("hexzero:simulations=100", seed=1))
            players[-1].prepare(env)
    games = play_match(env, players, 2 * PAIRS, seed=1, opening_plies=2)
    points = sum((1 + game.outcome) / 2 for game in games)
    print(f"hexzero by PyTorch, Hex 7 x 7, of {2 * PAIRS} against OpenVINO: {points} points")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strength", action="store_true", help="and what the precision costs")
    if parser.parse_args().strength:
        strength()
    else:
        evaluations()
        searches()


if __name__ == "__main__":
    main()
