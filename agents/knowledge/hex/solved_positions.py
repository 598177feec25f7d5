"""Makes solved positions: ``python -m agents.knowledge.hex.solved_positions --size 8 --to FILE``.

Random moves of both players fill the board until so many cells are empty, each number from the
least to the most with the same chance. Kept is what the solver answers within `MOST_POSITIONS`,
and what has winning moves and losing ones. The same seed makes the same file: the limit counts
positions, not seconds.
"""

import json
from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from agents.core.files import write_text
from agents.knowledge.hex.solver import HexSolver
from agents.solvers.questions import Clock
from hexenv.compiled import uses_machine_code
from hexenv.games import base, hex, notation

MOST_POSITIONS: Final = 50_000
"""That the solver looks at for one."""
MOST_TRIED: Final = 1_000
"""Random positions for one that is kept, at most."""
SIDES: Final = ("black", "white")


def random_moves(game: hex.Hex, empty: int, rng: np.random.Generator) -> list[int]:
    """Random moves after which so many cells are empty and nobody has won."""
    cells = game.rows * game.columns
    while True:
        moves = [int(cell) for cell in rng.permutation(cells)[empty:]]
        state = base.new_state(game)
        for move in moves:
            if game.is_terminal(state):
                break
            game.step(state, move)
        if not game.is_terminal(state):
            return moves


def solved_position(tool: HexSolver, moves: list[int]) -> dict[str, Any] | None:
    """A position as a line of the file; None if it is too hard, or no move is a mistake."""
    game, state = tool.game, notation.play(tool.game, moves)
    try:
        values = tool.values(state, Clock(nodes=MOST_POSITIONS))
    except ValueError:  # too many positions
        return None
    winning = [game.action_text(action) for action, value in values.items() if value == 1]
    if not 0 < len(winning) < len(values):
        return None
    return {
        "size": game.rows,
        "moves": [game.action_text(move) for move in moves],
        "to_move": SIDES[game.to_play(state)],
        "winning": winning,
        "empties": len(values),
    }


@click.command()
@click.option("--size", required=True, type=click.IntRange(2, 13), help="Rows and columns.")
@click.option("--to", required=True, type=click.Path(dir_okay=False), help="The file, .jsonl.")
@click.option("--count", default=100, type=click.IntRange(1), help="Positions.")
@click.option("--least-empty", default=30, type=click.IntRange(1), help="Empty cells, at least.")
@click.option("--most-empty", default=50, type=click.IntRange(1), help="Empty cells, at most.")
@click.option("--seed", default=0, type=click.IntRange(0), help="Of the moves.")
def solved_positions(
    size: int, to: str, count: int, least_empty: int, most_empty: int, seed: int
) -> None:
    """Write random positions of Hex with all their winning moves."""
    if not 2 <= least_empty <= most_empty < size * size:
        raise click.UsageError(
            f"expected 2 <= --least-empty <= --most-empty < {size * size}, got {least_empty} and "
            f"{most_empty}"
        )
    tool = HexSolver(hex.new(size), compiles=uses_machine_code())
    rng, found = np.random.default_rng(seed), list[dict[str, Any]]()
    tried = 0
    while len(found) < count:
        if tried == MOST_TRIED * count:
            raise click.ClickException(f"{len(found)} of {tried} positions could be kept")
        tried += 1
        moves = random_moves(tool.game, int(rng.integers(least_empty, most_empty + 1)), rng)
        position = solved_position(tool, moves)
        if position is not None:
            found.append(position)
    write_text(Path(to), "".join(json.dumps(position) + "\n" for position in found))
    click.echo(f"{count} positions of {tried} tried")


if __name__ == "__main__":
    solved_positions()
