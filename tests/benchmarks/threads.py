"""Simulations a second of one worker and of two, with a tree each.

`python tests/benchmarks/threads.py`. The kinds take turns, and medians and ranges over the rounds
are printed: in time of the clock, and in processor time, with the share of two processors that
the process had. `--processes` first runs one worker in one process, and in two processes at the
same time: no program can gain more from a second processor than these two together.
"""

import argparse
import multiprocessing
import statistics
import time
from typing import Any

from agents import UCT
from hexenv import connect4_v0, hex_v0

KINDS: dict[str, dict[str, Any]] = {
    "one worker": {},
    "two workers": {"workers": 2},
}
GAMES = {"hex 11": lambda: hex_v0.env(board_size=11), "connect4": connect4_v0.env}


def searches(game: str, kind: str, seconds: float) -> Any:
    """Endless measurements: simulations, seconds of the clock, and of processors."""
    env = GAMES[game]()
    env.reset()
    agent = UCT(seconds=seconds, seed=1, reuse=False, max_nodes=20_000_000, **KINDS[kind])
    agent.prepare(env)
    while True:
        clock, processor = time.perf_counter(), time.process_time()
        agent.act(env)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        found = agent.statistics
        assert found is not None
        yield found.simulations, clock, processor


def alone(game: str, seconds: float, start: float) -> float:
    """Simulations a second of one worker, from a point in time on."""
    found = searches(game, "one worker", seconds)
    next(found)
    time.sleep(max(start - time.time(), 0.0))
    simulations, clock, _ = next(found)
    return simulations / clock


def ceiling(game: str, seconds: float, rounds: int) -> None:
    """Print what two processes give, beside one."""
    ratios: list[float] = []
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for _ in range(rounds + 1):
            one = pool.apply(alone, (game, seconds, 0.0))
            start = time.time() + 3.0 * seconds + 1.0
            two = pool.starmap(alone, [(game, seconds, start)] * 2, chunksize=1)
            ratios.append(sum(two) / one)
    show(f"{game}: two processes beside one", ratios[1:], ".2f")


def show(what: str, numbers: list[float], form: str) -> None:
    middle, least, most = statistics.median(numbers), min(numbers), max(numbers)
    print(f"{what}: {middle:{form}} ({least:{form}} to {most:{form}})", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("games", nargs="*", default=list(GAMES))
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--seconds", type=float, default=1.0)
    options.add_argument("--processes", action="store_true")
    given = options.parse_args()
    for game in given.games:
        if given.processes:
            ceiling(game, given.seconds, given.rounds)
        running = {kind: searches(game, kind, given.seconds) for kind in KINDS}
        for each in running.values():
            next(each)
        rounds = [{k: next(each) for k, each in running.items()} for _ in range(given.rounds)]
        for kind in KINDS:
            found = [one[kind] for one in rounds]
            rate = [n / clock for n, clock, _ in found]
            show(f"{game}, {kind}: simulations a second", rate, ",.0f")
            each = [n / processor for n, _, processor in found]
            show(f"{game}, {kind}: a second of a processor", each, ",.0f")
            show(f"{game}, {kind}: processors had", [p / clock for _, clock, p in found], ".2f")
            gain = [one[kind][0] / one["one worker"][0] for one in rounds]
            show(f"{game}, {kind}: simulations beside one worker's", gain, ".2f")


if __name__ == "__main__":
    main()
