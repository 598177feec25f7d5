"""What tuning found: ``python tests/benchmarks/tunings.py`` makes ``tests/benchmarks/TUNING.md``.

Its figures are those of ``hexenv tune``, whose file ``tuning.json`` is kept for each game and agent
in ``tests/benchmarks/results/tuning``, as ``GAME-AGENT.json``.
"""

import json
import re
from pathlib import Path

from agents.arena.ratings import elo_of
from agents.core.tables import markdown_table

HERE = Path(__file__).parent
KEPT = HERE / "results" / "tuning"
PAGE = HERE / "TUNING.md"
HEADS = ["game", "agent", "found", "gain in Elo", "games", "which matter"]
ABOUT = """# Tuned constants

Values that `hexenv tune` found at 200 simulations a move, beside the defaults. Each row is one run
with seed 0, of half of whose games looked for good values, a quarter chose among the best five, and
the last quarter, on openings that the others had not, measured the gain here (in brackets the
interval of 95 %). What matters is each parameter's share in the differences between the values
tried (PED-ANOVA, Watanabe et al. 2023). The command of a row:

```sh
hexenv tune hex uct --option board_size=7 --simulations 200 --games 2000
```

with 3,000 games for Connect4, 2,000 for Hex 7 x 7, 800 for Hex 11 x 11, 1,500 for Gomoku 9 x 9.
`python tests/benchmarks/tunings.py` makes the table of `tests/benchmarks/results/tuning`.

"""
AFTER = """
What can be seen: the defaults of UCT explore too much for Hex and Gomoku, where an eighth to a
sixth of `c` is worth more than a hundred points; in Connect4 they are right. So it is with MAST in
Gomoku. RAVE and GRAVE, which explore by other means, gain little or nothing. The defaults stay what
the variants' authors propose, as a comparison with papers needs them. [The
leaderboard](BENCH.md) has `uct` and `mast` with values found here, at 1,000 simulations and against
other opponents: UCT gains in Gomoku and on Hex 7 to 11 (on 11 x 11 from 1552 to 2060) and loses in
Connect4; MAST gains on Hex 9, Hex 11 and Gomoku 15, not on Gomoku 9.
"""


def row(file):
    found = json.loads(file.read_text())
    name, size, agent = re.fullmatch(r"(connect4|[a-z]+)(\d*)-(.+)", file.stem).groups()
    board = name.capitalize()
    low, high = (elo_of(end) for end in found["interval"])
    values = ", ".join(f"`{key}={value}`" for key, value in found["values"].items())
    shares = sorted(found["importance"].items(), key=lambda item: -item[1])
    return [
        f"{board} {size} x {size}" if size else board,
        f"`{agent}`",
        values,
        f"{elo_of(found['score']):+.0f} ({low:+.0f} to {high:+.0f})",
        str(found["games"]),
        ", ".join(f"`{key}` {share:.0%}" for key, share in shares if share >= 0.05),
    ]


def main():
    rows = [row(file) for file in sorted(KEPT.glob("*.json"))]
    PAGE.write_text(ABOUT + markdown_table(HEADS, rows) + AFTER)


if __name__ == "__main__":
    main()
