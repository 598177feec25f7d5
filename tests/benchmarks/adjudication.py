"""Whether adjudicated games end as perfect play would: ``python tests/benchmarks/adjudication.py``.

1,000 games of Connect4 that end by proof, and 1,000 without the agents' own proofs that end when
both are sure; in the position in which each ended, the exact solver says who wins.
"""

from collections import Counter

from agents.arena import Tournament
from agents.arena.running import TournamentRun
from agents.registry import make_agent, make_environment

AGENTS = ("uct:simulations=400", "rave:simulations=400")


def main():
    env, solver = make_environment("connect4", ()), make_agent("solver")
    for rule, more in (("proof", ""), ("values=4", ",solver=off")):
        agents = [agent + more for agent in AGENTS]
        settings = {"pairs": 500, "opening_plies": 4, "seed": 5, "adjudicate": rule}
        run = TournamentRun(Tournament("connect4", agents, **settings))
        ended, wrong = Counter(), 0
        for game in run:
            ended[game.adjudicated] += 1
            if game.adjudicated is not None:
                env.reset()
                for action in game.actions:
                    env.step(action)
                solver.act(env)
                side = 1 if len(game.actions) % 2 == game.first else -1  # is agent 0 to move?
                wrong += game.outcome != side * solver.statistics.proven
        print(f"{rule}: {dict(ended)}, not as by perfect play: {wrong}")


if __name__ == "__main__":
    main()
