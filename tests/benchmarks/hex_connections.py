"""What the connections of Hex find, and how long it takes, by the limits of their lists.

    python tests/benchmarks/hex_connections.py

The positions are from games of RAVE with saved bridges against itself, from `FIRST_PLY` to
`LAST_PLY`, filled in. Of each limit: how many positions are decided (a winner is known, or no move
is left to the player to move), which share of the empty cells must be played in the others, and
the time for one player. Times are of the processor, the least of several runs.
"""

import argparse
import time
from typing import Any

import numpy as np
from rich.console import Console

from agents import RAVE
from agents.apps.cli.shared import new_table
from agents.knowledge.hex import h_search, inferior
from hexenv import hex_v0
from hexenv.compiled import CompiledFunction
from hexenv.games.base import EMPTY

FIRST_PLY, LAST_PLY = 10, 60
LIMITS = [(4, 8, 2), (6, 20, 2), (6, 20, 4), (10, 40, 2), (10, 40, 4), (10, 40, 60), (20, 80, 4)]
"""Connections and semi-connections of a pair of places, and cells of a carrier between two empty
cells, at most."""
ALL = 20_000
REPEATS = 5

connect = CompiledFunction(h_search.connect)
fill = CompiledFunction(inferior.fill_in)


def played_games(size: int, count: int, seed: int) -> list[list[int]]:
    """Games that begin with two random moves."""
    rng, games = np.random.default_rng(seed), []
    agent = RAVE(simulations=200, playout="bridges", seed=seed)
    env = hex_v0.env(board_size=size)
    for _ in range(count):
        env.reset()
        moves: list[int] = []
        while not any(env.terminations.values()):
            mask = env.observe(env.agent_selection)["action_mask"]
            move = int(rng.choice(np.flatnonzero(mask))) if len(moves) < 2 else agent.act(env)
            env.step(move)
            moves.append(move)
        games.append(moves)
    return games


class Board:
    """What is the same for all positions of a board."""

    def __init__(self, size: int) -> None:
        self.cells = size * size
        self.grid = h_search.new_grid(size, size)
        self.rings = inferior.new_rings(size, size)

    def filled(self, moves: list[int]) -> Any:
        """The owners of the cells after some moves, and 0 and 1."""
        owners = np.full(self.cells + 2, EMPTY, np.int8)
        owners[-2:] = 0, 1
        for turn, cell in enumerate(moves):
            owners[cell] = turn & 1
        fill(self.rings, owners)
        return owners

    def empty(self, owners: Any) -> Any:
        """The empty cells as a large set, and how many there are."""
        cells = np.flatnonzero(owners[: self.cells] == EMPTY)
        words = [0, 0, 0]
        for cell in cells.tolist():
            words[cell // 63] |= 1 << cell % 63
        return tuple(words), len(cells)

    def left(self, owners: Any, links: Any, mover: int) -> float:
        """The share of the empty cells that must be played; 0 where the winner is known."""
        goal = len(links[0].counts) - 1
        wins = links[mover].counts[goal].sum() + links[1 - mover].counts[goal, h_search.FULL]
        if wins > 0:
            return 0.0
        cells, count = self.empty(owners)
        return sum(word.bit_count() for word in h_search.must_play(links[1 - mover], cells)) / count


def measure_limits(size: int, games: list[list[int]], count: int) -> list[list[str]]:
    """A row for each limit."""
    board, rng, positions = Board(size), np.random.default_rng(1), []
    while len(positions) < count:
        moves = games[int(rng.integers(len(games)))]
        ply = int(rng.integers(FIRST_PLY, LAST_PLY + 1))
        if ply < len(moves) - 1:
            positions.append((board.filled(moves[:ply]), ply & 1))
    rows = []
    for fulls, semis, of_empty in LIMITS:
        links = [
            h_search.new_connections(board.cells, fulls, semis, of_empty=of_empty) for _ in range(2)
        ]
        times, shares = [], []
        for owners, mover in positions:
            for player in (mover, 1 - mover):
                best = np.inf
                for _ in range(REPEATS):
                    start = time.process_time()
                    cells = owners[: board.cells]
                    connect(board.grid, cells, player, player == mover, ALL, links[player])
                    best = min(best, time.process_time() - start)
                times.append(1000 * best)
            shares.append(board.left(owners, links, mover))
        open_shares = [share for share in shares if share > 0]
        rows.append([
            f"{size} x {size}", f"{fulls}, {semis}, {of_empty}", f"{shares.count(0.0)} of {count}",
            f"{100 * np.mean(open_shares):.1f} %", f"{100 * np.mean(shares):.1f} %",
            f"{np.median(times):.2f}", f"{np.mean(times):.2f}", f"{np.percentile(times, 95):.2f}",
        ])  # fmt: skip
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[11, 13])
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--positions", type=int, default=300)
    options = parser.parse_args()
    limits = new_table(
        "board", "limits", "decided", "left, if not", "left, of all", "ms, median", "mean", "95th"
    )
    for size in options.sizes:
        games = played_games(size, options.games, 0)
        for row in measure_limits(size, games, options.positions):
            limits.add_row(*row)
    Console(width=140).print(limits)


if __name__ == "__main__":
    main()
