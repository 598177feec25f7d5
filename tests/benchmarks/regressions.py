"""Whether the search has become slower: ``python tests/benchmarks/regressions.py``.

Two questions, each answered in one run that times both sides in turn, in processor time:

* ``--beside CHECKOUT``: calls of this checkout beside those of another one, such as a worktree of
  the commit before a change. The ratio of the best rounds should be at least 0.97.
* else: the ratios beside OpenSpiel, and with ``--limit`` beside the C program, against those kept
  in ``ratios.json`` with their commit. A ratio has fallen if its best round is more than 3 % below
  the least kept one. ``--keep`` writes the file anew. Needs the extra `test`.

It ends with status 1 where something is slower.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from speed import BOARDS, compile_limit, range_text, search_figures

from agents.apps.cli.shared import new_table

KEPT = Path(__file__).with_name("ratios.json")
LEAST = 0.97
CALLS = """
import json, time
from agents import RAVE, UCT
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
CASES = {
    "Hex 11 x 11": (hex_v0.env(board_size=11), lambda: UCT(simulations=10_000, seed=1)),
    "Gomoku 15 x 15": (gomoku_v0.env(board_size=15), lambda: UCT(simulations=10_000, seed=1)),
    "Connect4": (connect4_v0.env(), lambda: UCT(simulations=10_000, seed=1)),
    "TicTacToe": (tictactoe_v0.env(), lambda: UCT(simulations=10_000, seed=1)),
    "Hex, RAVE with bridges": (
        hex_v0.env(board_size=11), lambda: RAVE(simulations=2_000, playout="bridges", seed=1)
    ),
    "one simulation": (connect4_v0.env(), lambda: UCT(simulations=1, seed=1)),
}
found = {}
for name, (env, make) in CASES.items():
    env.reset()
    make().act(env)
    seconds = []
    for _ in range(300 if name == "one simulation" else 10):
        agent = make()
        started = time.process_time()
        agent.act(env)
        seconds.append(time.process_time() - started)
    found[name] = min(seconds) * 1e3
print(json.dumps(found))
"""


def calls_of(checkout: Path, cache: str) -> dict[str, float]:
    """Milliseconds of each call, the least of some, in a new process."""
    given = {**os.environ, "PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", CALLS]
    done = subprocess.run(command, cwd=cache, env=given, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def compare_calls(other: Path, rounds: int) -> bool:
    """Print both checkouts' calls; whether none of ours is slower."""
    ours = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        found = [(calls_of(ours, one), calls_of(other.resolve(), two)) for _ in range(rounds)]
    table = new_table("call", "here, ms", "there, ms", "there / here")
    is_fast = True
    for name in found[0][0]:
        here, there = (np.array([calls[side][name] for calls in found]) for side in (0, 1))
        ratio = there.min() / here.min()
        is_fast &= ratio >= LEAST
        spans = [f"{times.min():.3f}-{times.max():.3f}" for times in (here, there)]
        table.add_row(name, *spans, f"{ratio:.2f}")
    Console(width=100).print(table)
    return bool(is_fast)


def measured_ratios(rounds: int, source: Path | None) -> dict[str, list[float]]:
    """Our ratios in each round."""
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        limit = compile_limit(source, Path(directory)) if source else None
        for board in BOARDS:
            found = search_figures(board, rounds, limit)
            peers = {"OpenSpiel": found.openspiel, "C": found.limit}
            for name, ours in (("call", found.call), ("kernel", found.kernel)):
                for peer, theirs in peers.items():
                    if theirs is not None:
                        key = f"{board.title}: {name} beside {peer}"
                        ratios[key] = (ours / theirs).round(3).tolist()
    return ratios


def compare_ratios(ratios: dict[str, list[float]]) -> bool:
    """Print ratios beside those that were kept; whether none has fallen."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    table = new_table("ratio", "now", f"at {kept['commit']}", "")
    fallen = 0
    for name, now in ratios.items():
        before = kept["ratios"].get(name)
        is_fallen = before is not None and max(now) < LEAST * min(before)
        fallen += is_fallen
        then = "" if before is None else range_text(np.array(before))
        table.add_row(name, range_text(np.array(now)), then, "fallen" if is_fallen else "")
    Console(width=100).print(table)
    return fallen == 0


def main() -> None:
    """Compare with another checkout, or with the ratios that are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--limit", type=Path, help="source of a C program that marks the limit")
    parser.add_argument("--rounds", type=int, default=3, help="how often each pair is timed")
    parser.add_argument("--keep", action="store_true", help="write the ratios to ratios.json")
    arguments = parser.parse_args()
    if arguments.beside:
        sys.exit(not compare_calls(arguments.beside, arguments.rounds))
    ratios = measured_ratios(arguments.rounds, arguments.limit)
    if not arguments.keep:
        sys.exit(not compare_ratios(ratios))
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    text = json.dumps({"commit": commit, "ratios": ratios}, indent=1) + "\n"
    KEPT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
