"""The leaderboard of the bench, as Markdown: ``python tests/benchmarks/leaderboard.py DIRECTORY``.

The directory is that of ``hexenv bench``: of each agent in it the file ``bench.json`` is kept in
``tests/benchmarks/results/bench``, and all files there make ``tests/benchmarks/BENCH.md`` anew. To
add an agent, measure it with the same tier, run this, and send both files with the machine's name.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from agents.arena.aggregates import (
    bootstrap_interval,
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
)
from agents.arena.recommended import boards
from agents.core.tables import markdown_table

HERE = Path(__file__).parent
KEPT = HERE / "results" / "bench"
PAGE = HERE / "BENCH.md"
ABOUT = """# Leaderboard

Of {suite}, tier {tier}: ratings beside fixed anchors, where 1000 is `uct:simulations=100` and 200
more are a score of 76 %; in brackets the interval of 95 %, in which the anchors count as exact. An
empty cell is a board that the agent does not play; > and < stand for all games won, or lost. Each
row is `hexenv bench AGENT --tier {tier} --seed {seed}`, on {machine}.
`python tests/benchmarks/leaderboard.py` makes this page of the files in
`tests/benchmarks/results/bench`, which have all scores, and hashes of all games. To add a row, run
the command, then `python tests/benchmarks/leaderboard.py bench`, and send what has changed.
"""


BESIDE = "uct:simulations=1000"
OVERALL = f"""The scores of all pairs of games on all boards that an agent plays, so only agents of
as many boards compare (Agarwal et al. 2021): the interquartile mean; how likely a pair's score is
above one of `{BESIDE}` against the same anchor, a tie being half; and the share of pairs with a
score above 0 to 0.75, each anchor alike. In brackets intervals of 95 % by the stratified bootstrap.
"""
OVERALL_HEADS = ["agent", "boards", "mean", "above `uct`", "> 0", "> 0.25", "> 0.5", "> 0.75"]


def overall_rows(results):
    found = []
    for agent, own in results.items():
        strata = [scores for one in own.values() for scores in one["pair_scores"]]
        mean = float(interquartile_mean(np.concatenate(strata)))
        low, high = bootstrap_interval(strata)
        above = ""
        if set(own) <= set(results.get(BESIDE, ())):
            beside = [one for name in own for one in results[BESIDE][name]["pair_scores"]]
            share, (least, most) = probability_of_improvement(strata, beside)
            above = f"{share:.2f} ({least:.2f} to {most:.2f})"
        cells = [
            f"`{agent}`",
            f"{len(own)}",
            f"{mean:.2f} ({low:.2f} to {high:.2f})",
            above,
            *(f"{one:.2f}" for one in performance_profile(strata, [0, 0.25, 0.5, 0.75])),
        ]
        found.append((-mean, cells))
    return [cells for _, cells in sorted(found)]


def cell(result):
    rating = result["rating"]
    low, high = rating["low"], rating["high"]
    if low is None or high is None:
        return f"< {high:.0f}" if low is None else f"> {low:.0f}"
    return f"{rating['elo']:.0f} ({low:.0f} to {high:.0f})"


def page(found):
    """The Markdown of some results, each what a ``bench.json`` has."""
    names = [board.name for board in boards()]
    results = {one["agent"]: {each["board"]: each for each in one["boards"]} for one in found}

    def rows(text):
        return [
            [f"`{agent}`", *(text(own[name]) if name in own else "" for name in names)]
            for agent, own in sorted(results.items(), key=lambda item: -mean_rating(item[1]))
        ]

    def mean_rating(own):
        return sum(one["rating"]["elo"] for one in own.values()) / len(own)

    def kept(one):
        return f"{one['accuracy']['kept']:.2f}" if one["accuracy"] else ""

    about = found[0]
    machine = f"{about['machine']['processors']} processors ({about['machine']['machine']})"
    heads = ["agent", *names]
    parts = (
        ABOUT.format(**{**about, "machine": machine}),
        "## Ratings\n",
        markdown_table(heads, rows(cell)),
        "## All boards together\n",
        OVERALL,
        markdown_table(OVERALL_HEADS, overall_rows(results)),
        "## Rating by time\n",
        "The site has pictures of the ratings above by the times below.\n",
        "<!-- ratings by time -->\n",
        "## Milliseconds a move\n",
        "In the rows of November 2026 other work was done beside, so a free machine takes less.\n",
        markdown_table(heads, rows(lambda one: f"{1000 * one['seconds_per_move']:.1f}")),
        "## Share of moves that keep the value, in solved positions\n",
        markdown_table(heads, rows(kept)),
    )
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path)
    arguments = parser.parse_args()
    KEPT.mkdir(exist_ok=True)
    for file in arguments.directory.glob("*/bench.json") if arguments.directory else ():
        found = json.loads(file.read_text())  # kept in one line
        (KEPT / f"{file.parent.name}.json").write_text(json.dumps(found) + "\n")
    found = [json.loads(file.read_text()) for file in sorted(KEPT.glob("*.json"))]
    settings = {(one["suite"], one["tier"], one["seed"]) for one in found}
    if len(settings) != 1:
        raise SystemExit(f"expected results of one suite, tier and seed, got {settings}")
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
