"""A policy of your own in a tournament: its rating beside known agents, with intervals of 95 %."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import PolicyAgent
from agents.arena import Tournament, run_tournament


def mine(observation: Any, mask: NDArray[np.int8]) -> int:
    """The policy to be measured: here the legal column nearest to the middle."""
    return int(np.argmax(mask * (4 - abs(np.arange(7) - 3))))


def agent() -> PolicyAgent:
    """The same as an agent, for what takes agents alone."""
    return PolicyAgent.from_function(mine)


if __name__ == "__main__":
    opponents = ["random", "greedy", "uct:simulations=100"]
    tournament = Tournament("connect4", [mine, *opponents], pairs=20)
    table = run_tournament(tournament, workers=0)
    for place in table.agents:
        low, high = place.interval or (-np.inf, np.inf)
        print(f"{place.agent:20} {place.elo:5.0f} ({low:.0f} to {high:.0f})", end="  ")
        print(f"{place.points:g} of {place.games} points, {place.illegal_moves} illegal moves")
    for pairing in table.pairings[: len(opponents)]:
        low, high = pairing.interval
        print(f"against {pairing.agents[1]}: {pairing.score:.3f} ({low:.3f}-{high:.3f})")
