"""Searches over PettingZoo's own games: ``python tests/benchmarks/foreign.py``.

Simulations a second of `UCT(200).act`, in processor time, from the start of a game and after some
random moves; beside them the random games a second that a plain loop of `observe` and `step` plays
in the raw environment from the same positions, which is what the environment itself allows. The
best of some rounds, taken in turn. Needs the extras `test` and `human`, and for chess `chess`.
"""

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from rich.console import Console

from agents import UCT
from agents.apps.cli.shared import new_table
from agents.planning.clones import clone
from agents.planning.environment import legal_actions

GAMES: dict[str, tuple[dict[str, Any], int]] = {
    "connect_four": ({}, 12),
    "tictactoe": ({}, 3),
    "go": ({"board_size": 9}, 30),
    "chess": ({}, 20),
}
"""Options of the games, and the plies before the middle of a game."""


def position(name: str, plies: int) -> Any:
    """An environment after some random moves."""
    env = import_module(f"pettingzoo.classic.{name}.{name}").env(**GAMES[name][0])
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(plies):
        env.step(int(rng.choice(legal_actions(env))))
    return env


def play_at_random(env: Any, rng: np.random.Generator) -> None:
    """A random game by hand."""
    while not any(env.terminations.values()):
        mask = env.observe(env.agent_selection)["action_mask"]
        legal = mask.nonzero()[0]
        env.step(int(legal[int(rng.random() * len(legal))]))


def rates(env: Any, simulations: int) -> tuple[float, float]:
    """Simulations and games by hand, a second."""
    agent, rng = UCT(simulations, seed=0), np.random.default_rng(0)
    boards = [clone(env.unwrapped) for _ in range(max(2, simulations // 10))]
    seconds = processor_time(lambda: agent.act(env))
    by_hand = processor_time(lambda: [play_at_random(board, rng) for board in boards])
    assert agent.statistics is not None
    return agent.statistics.simulations / seconds, len(boards) / by_hand


def processor_time(run: Callable[[], Any]) -> float:
    """Seconds of the processor."""
    started = time.process_time()
    run()
    return time.process_time() - started


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("games", nargs="*", default=["connect_four", "tictactoe", "go"])
    arguments = parser.parse_args()
    table = new_table("game", "plies", "simulations /s", "games by hand /s", title="UCT")
    for name in arguments.games:
        for plies in (0, GAMES[name][1]):
            env = position(name, plies)
            found = [rates(env, arguments.simulations) for _ in range(arguments.rounds)]
            best = np.max(found, axis=0)
            table.add_row(name, str(plies), *(f"{rate:,.0f}" for rate in best))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
