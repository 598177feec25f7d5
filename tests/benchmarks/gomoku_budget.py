"""Whether the Gomoku engine keeps its budget.

    python tests/benchmarks/gomoku_budget.py 0.05 200 renju

Seconds a move, games, and a rule, by default freestyle. It plays against a quick tree search from
three random stones, and counts illegal moves and the time of each call.
"""

import sys
import time

import numpy as np

from agents import RHMCTS, GomokuEngine
from agents.planning.environment import action_mask
from hexenv import gomoku_v0


def main(seconds: float, games: int, rule: str = "freestyle") -> None:
    """Play the games and print what the budget was like."""
    engine, opponent = GomokuEngine(seconds=seconds), RHMCTS(simulations=300)
    env, rng = gomoku_v0.env(rule=rule), np.random.default_rng(5)
    env.reset()
    engine.prepare(env)
    times, illegal, won = list[float](), 0, 0
    for game in range(games):
        env.reset()
        for cell in rng.choice(225, 3, replace=False).tolist():
            env.step(cell)
        engine.reset()
        opponent.reset(seed=game)
        is_engine = game % 2 == 0
        while not any(env.terminations.values()):
            started = time.perf_counter()
            action = (engine if is_engine else opponent).act(env)
            if is_engine:
                times.append(time.perf_counter() - started)
                illegal += not action_mask(env)[action]
            env.step(action)
            is_engine = not is_engine
        won += not is_engine and any(env.rewards.values())
    late = sum(taken > seconds + 0.01 for taken in times)
    print(f"{rule}, {seconds:g} s: {won} of {games} games won")
    print(f"{len(times)} moves, {illegal} illegal")
    print(f"the slowest of 1,000 {np.quantile(times, 0.999):.3f} s, longest {max(times):.3f} s")
    print(f"above by more than 10 ms: {late}")


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
