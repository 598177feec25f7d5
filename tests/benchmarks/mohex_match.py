"""An agent against MoHex, an engine of others, with the processor time of both.

    python tests/benchmarks/mohex_match.py MOHEX --size 9 --pairs 10 --results FILE

MOHEX is its program. It is in the repository cgao3/benzene-vanilla-cmake and needs cmake and
Debian's packages libboost-all-dev and libdb++-dev; with a present-day compiler `HexBoard.cpp` and
`ICEngine.cpp` need a return at the end of three functions and `ZobristHashes.hpp` a
``const char*``.

Pairs of games begin with one random stone, with the sides swapped. MoHex has one thread, does not
ponder, and has a number of playouts a move (`--playouts`), or a second (0). It builds its
connections before, which its second does not count. The results go on where they stopped. Linux
tells the processor time.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from agents.apps.protocols.htp import HTPEngine
from agents.arena.intervals import distinct_share, score_interval
from agents.core.agent import ForfeitError
from agents.core.structured import expect_unchanged
from agents.registry import make_agent
from hexenv import hex_v0

TICKS = 100
"""Of Linux's processor times, a second."""


def new_mohex(program: str, playouts: int) -> HTPEngine:
    """MoHex with a number of playouts a move, or a second."""
    limit = ["max_time 1"] if playouts == 0 else [f"max_games {playouts}", "max_time 600"]
    setup = ";".join(f"param_mohex {one}" for one in (*limit, "num_threads 1", "ponder 0"))
    return HTPEngine(f"{program} --quiet", seconds=600.0, setup=setup)


def processor_time(name: str) -> float:
    """Seconds of all processes with a name."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            command, rest = path.read_text().rsplit(")", 1)
        except OSError:  # it has ended
            continue
        if command.partition("(")[2] == name:
            total += sum(map(int, rest.split()[11:13]))
    return total / TICKS


def play(env: Any, agents: list[Any], opening: int, first: int, name: str) -> dict[str, Any]:
    """Play one game; agent 0 is ours, agent `first` moves after the opening."""
    env.reset()
    env.step(opening)
    turn, spent, moves, simulations = first, [0.0, 0.0], [0, 0], 0
    loser: int | None = None
    while loser is None and not any(env.terminations.values()):
        clocks = (time.process_time, lambda: processor_time(name))
        started = clocks[turn]()
        try:
            action = agents[turn].act(env)
        except ForfeitError as error:
            if "resigned" not in str(error):
                raise
            loser = turn
            continue
        spent[turn] += clocks[turn]() - started
        moves[turn] += 1
        if turn == 0 and agents[0].statistics is not None:
            simulations += agents[0].statistics.simulations
        env.step(int(action))
        turn = 1 - turn
    winner = 1 - loser if loser is not None else 1 - turn
    return {
        "opening": opening, "first": first, "won": winner == 0, "seconds": spent, "moves": moves,
        "simulations": simulations, "actions": list(map(int, env.unwrapped.actions)),
    }  # fmt: skip


def summary(games: list[dict[str, Any]]) -> str:
    """The points with their interval, and the processor time of a move."""
    points = [sum(game["won"] for game in games[i : i + 2]) for i in range(0, len(games) - 1, 2)]
    share = distinct_share((game["first"], *game["actions"]) for game in games)
    low, high = score_interval(np.array(points, float), 2.0, share)
    moves, spent = (np.sum([game[key] for game in games], axis=0) for key in ("moves", "seconds"))
    simulations = sum(game["simulations"] for game in games) / moves[0]
    return (
        f"{sum(game['won'] for game in games)} of {len(games)}, {share * len(games):.0f} distinct "
        f"({low:.2f}-{high:.2f}); processor time a move {spent[0] / moves[0]:.2f} s with "
        f"{simulations:.0f} simulations, MoHex {spent[1] / moves[1]:.2f} s"
    )


def main() -> None:
    """Play the games that are not in the file of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mohex")
    parser.add_argument("--agent", default="hexpert:simulations=30000")
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--playouts", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0, help="openings of the seed to leave out")
    parser.add_argument("--results", type=Path, required=True)
    given = parser.parse_args()
    options = {key: value for key, value in vars(given).items() if key not in ("mohex", "results")}
    lines: list[str] = given.results.read_text().splitlines() if given.results.exists() else []
    of_file, *games = [json.loads(line) for line in lines] or [options]
    for key in ("agent", "size", "playouts", "seed", "skip"):
        expect_unchanged(key, of_file[key], options[key], given.results)
    if not lines:
        given.results.write_text(json.dumps(options) + "\n")
    drawn = np.random.default_rng(given.seed).permutation(given.size**2).tolist()
    openings = drawn[given.skip : given.skip + given.pairs]
    ours: Any = make_agent(given.agent)
    mohex = new_mohex(given.mohex, given.playouts)
    env = hex_v0.env(board_size=given.size)
    env.reset()
    ours.prepare(env)
    for number in range(len(games), 2 * given.pairs):
        for agent in (ours, mohex):
            agent.reset(1000 * given.seed + number)
        name = Path(given.mohex).name
        game = play(env, [ours, mohex], openings[number // 2], number % 2, name)
        games.append(game)
        with given.results.open("a") as file:
            file.write(json.dumps(game) + "\n")
        print(summary(games), flush=True)


if __name__ == "__main__":
    main()
