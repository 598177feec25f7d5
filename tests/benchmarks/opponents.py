"""Learner steps a second against opponents: ``python tests/benchmarks/opponents.py``.

Random legal actions on 64 boards on one thread, in processor time; the best and the least of some
rounds. The opponents with a network need the extra `train`.
"""

import argparse
import time
from typing import Any

import gymnasium
import numpy as np
from rich.console import Console

import hexenv  # noqa: F401  (registers the environments)
from agents.apps.cli.shared import new_table

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("Connect4", "random", {}),
    ("Connect4", "uct:simulations=50", {}),
    ("Hex", "uct:simulations=50", {"board_size": 11}),
    ("Connect4", "rave:simulations=50", {}),
    ("Connect4", "network:net=connect4", {}),
    ("Connect4", "alphazero:net=connect4,simulations=16", {}),
]
BOARDS = 64


def rates(game: str, opponent: str, options: dict[str, Any], rounds: int) -> list[float]:
    """Steps a second, of all boards, in each round."""
    envs = gymnasium.make_vec(
        f"hexenv/{game}-v0", num_envs=BOARDS, opponent=opponent, threads=1, **options
    )
    envs.reset(seed=0)
    rng = np.random.default_rng(0)

    def step() -> float:
        mask = np.asarray(envs.unwrapped.action_masks(), float)
        action = (mask * rng.random(mask.shape)).argmax(axis=1)
        started = time.process_time()
        envs.step(action)
        return time.process_time() - started

    found: list[float] = []
    for _ in range(rounds + 1):
        spent, steps = 0.0, 0
        while spent < 1.0:
            spent += step()
            steps += BOARDS
        found.append(steps / spent)
    return found[1:]  # the first one compiles


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is timed")
    arguments = parser.parse_args()
    table = new_table("game", "opponent", "steps a second")
    for game, opponent, options in CASES:
        found = rates(game, opponent, options, arguments.rounds)
        table.add_row(game, opponent, f"{min(found):,.0f}-{max(found):,.0f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
