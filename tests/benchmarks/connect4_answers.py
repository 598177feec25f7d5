"""Times exact answers in Connect4: ``python tests/benchmarks/connect4_answers.py``.

The exact scores of every column, in random positions in play of every ply, with the opening book of
the package and a table that is empty at the start of each; seconds by ply: median, 95 %, worst. The
line at the end is of all of them. With ``--sets`` the files of a directory (Pascal Pons's test
sets: moves and a score a line) are solved instead, and a wrong score ends the run.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from agents.knowledge.connect4.book import load_book
from agents.knowledge.connect4.game_knowledge import BOOK
from agents.knowledge.connect4.solver import Connect4Solver
from agents.solvers.questions import Clock
from agents.solvers.solver import TABLE_ENTRIES
from hexenv.games import base, connect4, notation


def random_state(game, plies, rng):
    """A position in play after so many random moves."""
    while True:
        state = base.new_state(game)
        for _ in range(plies):
            if game.is_terminal(state):
                break
            game.step(state, int(rng.choice(base.legal_actions(game, state))))
        if not game.is_terminal(state):
            return state


def check_sets(game, tool, folder):
    for path in sorted(Path(folder).glob("*.txt")):
        seconds = []
        for line in path.read_text().split("\n"):
            if not line:
                continue
            moves, score = line.split()[:2]
            state = notation.play(game, notation.parse_moves(game, moves))
            started = time.perf_counter()
            found = tool.score(state, Clock())
            seconds.append(time.perf_counter() - started)
            assert found == int(score), line
        print(f"{path.name}: {len(seconds)} right, mean {1000 * np.mean(seconds):.3f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=30, help="positions of each ply")
    parser.add_argument("--sets")
    arguments = parser.parse_args()
    game, rng = connect4.new(), np.random.default_rng(1)
    tool = Connect4Solver(game, TABLE_ENTRIES, book=load_book(BOOK))
    tool.prepare()
    if arguments.sets:
        check_sets(game, tool, arguments.sets)
        return
    everything = []
    for plies in range(42):
        seconds = []
        for _ in range(arguments.each):
            state = random_state(game, plies, rng)
            tool.nodes.table.entries[:] = 0
            started = time.perf_counter()
            tool.scores(state, Clock())
            seconds.append(time.perf_counter() - started)
        everything += seconds
        middle, most = np.quantile(seconds, [0.5, 0.95])
        print(f"{plies:2} plies: {middle:.4f} {most:.4f} {max(seconds):.4f} s", flush=True)
    middle, most = np.quantile(everything, [0.5, 0.95])
    print(f"all: {middle:.4f} {most:.4f} {max(everything):.4f} s")


if __name__ == "__main__":
    main()
