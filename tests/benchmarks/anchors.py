"""Measures the ratings of the bench's anchors: ``python tests/benchmarks/anchors.py DIRECTORY``.

Each board's command in ``agents/arena/anchors.toml`` is run, its games go to the directory (from
which a run that was stopped goes on), and its ratings come into the file: 1000 is UCT with 100
simulations. ``--board "Hex 7 x 7"`` measures this board alone; it may be repeated.
"""

import argparse
import json
import shlex
import subprocess
import tomllib
from pathlib import Path

from agents.arena.bench import slug

ROOT = Path(__file__).parents[2]
ANCHORS = ROOT / "agents" / "arena" / "anchors.toml"
ZERO = "uct:simulations=100"


def measured(board, directory):
    """Lines of TOML with the anchors of a board, the weakest first."""
    file = directory / f"{slug(board['name'])}.jsonl"
    command = [*shlex.split(board["command"]), "--json", "--results", str(file)]
    run = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    agents = json.loads(run.stdout)["agents"]
    shift = 1000 - next(one["elo"] for one in agents if one["agent"] == ZERO)

    def text(value):
        return '"none"' if value is None else f"{value + shift:.0f}"

    rows = [(one["agent"], [one["elo"], *one["interval"]]) for one in reversed(agents)]
    return [f'"{agent}" = [{", ".join(map(text, values))}]' for agent, values in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--board", action="append", help="only this one")
    arguments = parser.parse_args()
    arguments.directory.mkdir(exist_ok=True)
    for board in tomllib.loads(ANCHORS.read_text())["board"]:
        if arguments.board is None or board["name"] in arguments.board:
            lines = measured(board, arguments.directory)
            head, mark, rest = ANCHORS.read_text().partition(f'name = "{board["name"]}"')
            own, heading, after = rest.partition("[board.anchors]\n")
            following = after.partition("\n\n")[2]
            parts = (head, mark, own, heading, "\n".join(lines), "\n", "\n" * bool(following))
            ANCHORS.write_text("".join(parts) + following)
            print(board["name"], *lines, sep="\n", flush=True)


if __name__ == "__main__":
    main()
