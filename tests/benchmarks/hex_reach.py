"""How far Hex is solved: ``python tests/benchmarks/hex_reach.py --sizes 5,6,7 --seconds 1,10``.

Random positions with ever fewer stones are given to `analyse` with the exact solver and a limit of
time. A position counts as solved where every legal move has its exact value, which is what the
analysis board draws; it takes boards of up to 7x7. Printed is, for each size and limit, how many of
the positions with so many stones were; a number of stones with none solved ends the row.
"""

import argparse

from agents import analyse
from agents.arena.openings import new_openings
from agents.records.asking import Limit
from agents.registry import make_agent
from hexenv import hex_v0


def solved(env, agent, seconds):
    """Whether all moves have their exact value within the limit."""
    try:
        found = analyse(env, agent, Limit(seconds=seconds), lines=env.game.num_actions())
    except TimeoutError:
        return False
    return all(line.is_exact for line in found.lines) and len(
        found.lines
    ) == env.game.num_actions() - len(env.actions)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="5,6,7")
    parser.add_argument("--seconds", default="1,10,60")
    parser.add_argument("--positions", type=int, default=5)
    parser.add_argument("--step", type=int, default=4, help="stones fewer each time")
    arguments = parser.parse_args()
    for size in map(int, arguments.sizes.split(",")):
        env = hex_v0.raw_env(board_size=size)
        agent = make_agent("solver")
        env.reset()
        agent.prepare(env)
        begin = size * size // 2
        for seconds in map(float, arguments.seconds.split(",")):
            row = []
            for stones in range(begin, -1, -arguments.step):
                env.reset()
                openings = new_openings(env, stones, seed=size)
                done = 0
                for place in range(arguments.positions if stones else 1):
                    env.reset()
                    for action in openings[place]:
                        env.step(action)
                    agent.reset()
                    done += solved(env, agent, seconds)
                row.append(f"{stones}: {done}")
                if not done:
                    break
                begin = stones  # fewer seconds have solved these
            print(f"{size}x{size}, {seconds:g} s | {', '.join(row)}", flush=True)


if __name__ == "__main__":
    main()
