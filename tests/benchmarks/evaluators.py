"""What an evaluation costs, by PyTorch and by NumPy, and the check of its answers beside it.

    python tests/benchmarks/evaluators.py

prints a table: each cell is the least of several rounds, in which all are timed in turn.
"""

import time
from collections.abc import Callable
from typing import Any

from agents.learning.plain import PlainEvaluator, load_plain
from agents.learning.saved import find_network
from agents.policies.network import NetworkAgent
from agents.search.evaluator import checked
from hexenv.games import base, connect4, hex, tictactoe

NETWORKS = {"tictactoe": tictactoe.new(), "connect4": connect4.new(), "hex11": hex.new(11)}
BATCHES = (1, 8, 64)
ROUNDS = 12


def seconds_of(call: Callable[[], Any], calls: int) -> float:
    """The mean time of some calls."""
    started = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - started) / calls


def main() -> None:
    heads = "network", "positions", "evaluation, us", "check, us", "share", "by NumPy, us"
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name, game in NETWORKS.items():
        agent = NetworkAgent(name)
        plain = load_plain(find_network(name))
        by_numpy = PlainEvaluator(plain.network, game, tuple(plain.options.planes))
        for count in BATCHES:
            states = base.new_states(game, count)
            for state in states:
                game.initial(state)
            answer, shape = agent.evaluate(game, states), (count, game.num_actions())
            times = [
                (
                    seconds_of(lambda: agent.evaluate(game, states), 10),  # noqa: B023
                    seconds_of(lambda: checked(answer, shape), 200),  # noqa: B023
                    seconds_of(lambda: by_numpy.evaluate(game, states), 10),  # noqa: B023
                )
                for _ in range(ROUNDS)
            ]
            batch, check, numpys = map(min, zip(*times, strict=True))
            shown = f"{1e6 * batch:,.0f} | {1e6 * check:.1f} | {check / batch:.2%}"
            shown += f" | {1e6 * numpys:,.0f}"
            print(f"| {name} | {count} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
