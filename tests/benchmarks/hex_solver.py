"""Times the solver of Hex: ``python tests/benchmarks/hex_solver.py 6 --limits 5000,10000000``.

All moves of each solved position of a size in the package, and with ``--openings`` each first move
(one of each half turn), from an empty table. Answers that are not those of the set end the run. The
limits count positions that the solver looks at: what is not solved within one is tried again with
the next, when all others have been tried, so the hardest come last.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import median

from agents.knowledge.hex.solve_openings import openings
from agents.knowledge.hex.solver import HexSolver
from agents.solvers.questions import Clock
from hexenv.games import hex, notation

ROOT = Path(__file__).parents[2]
POSITIONS = ROOT / "agents" / "arena" / "positions"
OPENINGS = ROOT / "tests" / "data" / "hex_openings.json"


def check_position(tool, known, clock):
    """All moves of a solved position."""
    game = tool.game
    state = notation.play(game, [game.parse_action(move) for move in known["moves"]])
    values = tool.values(state, clock)
    winning = {game.action_text(action) for action, value in values.items() if value == 1}
    assert winning == set(known["winning"]), known


def check_opening(tool, move, clock):
    """A first move; who wins is known up to 7x7."""
    game = tool.game
    winner = tool.solve(1 << move, 0, 1, clock)[0]
    known = json.loads(OPENINGS.read_text()).get(f"{game.rows}x{game.rows}")
    assert known is None or known[game.action_text(move)] == ("black", "white")[winner], move


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", type=int)
    parser.add_argument("--openings", action="store_true")
    parser.add_argument("--limits", default="10000000")
    arguments = parser.parse_args()
    size = arguments.size
    tool = HexSolver(hex.new(size), 1 << 21)
    tool.solve((1 << size * size) - 2, 0, 0, Clock())  # compiles
    if arguments.openings:
        left = {tool.game.action_text(move): move for move in openings(tool.game)}
    else:
        lines = (POSITIONS / f"hex_{size}x{size}.jsonl").read_text().splitlines()
        left = {str(number): json.loads(line) for number, line in enumerate(lines)}
    check = check_opening if arguments.openings else check_position
    seconds = []
    for limit in map(int, arguments.limits.split(",")):
        for name in list(left):
            tool.nodes.table.efforts[:] = 0
            clock, begun = Clock(nodes=limit), time.process_time()
            try:
                check(tool, left[name], clock)
            except ValueError:  # more positions than the limit
                continue
            del left[name]
            seconds.append(time.process_time() - begun)
            print(f"{name}: {seconds[-1]:.3f} s, {clock.nodes} positions", flush=True)
        print(
            f"limit {limit}: {len(seconds)} solved, {len(left)} left; processor time: median "
            f"{median(seconds):.4f} s, slowest {max(seconds):.2f} s, in all {sum(seconds):.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
