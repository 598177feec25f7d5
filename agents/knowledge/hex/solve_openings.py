"""Solves all first moves: ``python -m agents.knowledge.hex.solve_openings --size 8 --to FOLDER``.

A first move and its half turn are one. Each that is solved is a file of JSON in the folder, such as
``e4.json``:

    {"format": "hexenv solved opening of Hex", "version": 1, "size": 8, "move": "e4",
     "winner": "black", "positions": 123456, "seconds": 12.3}

`winner` says who wins, black having moved first, who joins top and bottom; `positions` were looked
at, in `seconds` of processor time. A run that was stopped goes on with the moves that have no file.
Moves on short diagonals come first: they lie in the centre, and their wins are found sooner. With
``--proofs`` each file has a proof beside it, ``e4.proof.jsonl``, for
`agents.knowledge.hex.check_proof`.
"""

import json
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import click

from agents.core.files import write_text
from agents.core.reading import read_object
from agents.knowledge.hex.proofs import write_proof
from agents.knowledge.hex.solver import HexSolver, eccentricity
from agents.solvers.questions import Clock
from hexenv.compiled import uses_machine_code
from hexenv.games import hex

FORMAT: Final = "hexenv solved opening of Hex"
VERSION: Final = 1


def openings(game: hex.Hex) -> list[int]:
    """The first moves, one of each half turn, those in the centre first."""
    cells = game.rows * game.columns
    return sorted(range((cells + 1) // 2), key=lambda cell: eccentricity(game, cell))


@cache
def solver_of(size: int, entries: int) -> HexSolver:
    """The solver of a process, which goes on with what it remembers."""
    return HexSolver(hex.new(size), entries, uses_machine_code())


def solve_opening(
    size: int, move: int, folder: Path, seconds: float | None, entries: int, proofs: bool
) -> dict[str, Any] | None:
    """Solve a first move and write its file; what it says, None if the time did not suffice."""
    solver = solver_of(size, entries)
    solver.prepare()
    clock, name = Clock(seconds), solver.game.action_text(move)
    begun = time.process_time()
    try:
        winner = solver.solve(1 << move, 0, 1, clock)[0]
        used = time.process_time() - begun
        found = {
            "format": FORMAT,
            "version": VERSION,
            "size": size,
            "move": name,
            "winner": ("black", "white")[winner],
            "positions": clock.nodes,
            "seconds": round(used, 3),
        }
        write_text(folder / f"{name}.json", json.dumps(found) + "\n")
        if proofs:
            write_proof(solver, (1 << move, 0), 1, folder / f"{name}.proof.jsonl", clock)
    except TimeoutError:
        return None
    return found


def solved_opening(path: Path, size: int) -> dict[str, Any]:
    """What the file of an opening says.

    Raises:
        ValueError: If it is of another kind or size.
    """
    found = read_object(path)
    expected = {"format": FORMAT, "version": VERSION, "size": size}
    if {key: found.get(key) for key in expected} != expected:
        raise ValueError(f"{path}: expected {expected}, got another file")
    return found


@click.command()
@click.option("--size", required=True, type=click.IntRange(2, 13), help="Rows and columns.")
@click.option("--to", required=True, type=click.Path(file_okay=False), help="The folder.")
@click.option("--seconds", type=float, help="For each move, at most; later runs try again.")
@click.option("--entries", default=1 << 22, type=click.IntRange(1 << 10), help="Of each table.")
@click.option("--workers", default=1, type=click.IntRange(1), help="Processes.")
@click.option("--proofs", is_flag=True, help="Write proofs, too.")
def solve_openings(
    size: int, to: str, seconds: float | None, entries: int, workers: int, proofs: bool
) -> None:
    """Solve the first moves of Hex that have no file in a folder yet."""
    game, folder = hex.new(size), Path(to)
    folder.mkdir(parents=True, exist_ok=True)
    names = {move: game.action_text(move) for move in openings(game)}
    done: set[int] = set()
    for move, name in names.items():
        path = folder / f"{name}.json"
        if path.exists() and (not proofs or (folder / f"{name}.proof.jsonl").exists()):
            _print(solved_opening(path, size))
            done.add(move)
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        waiting = {
            names[move]: pool.submit(solve_opening, size, move, folder, seconds, entries, proofs)
            for move in names
            if move not in done
        }
        for name, answer in waiting.items():
            found = answer.result()
            if found is None:
                click.echo(f"{name}: not done within {seconds} s")
            else:
                _print(found)


def _print(found: dict[str, Any]) -> None:
    """One line for a solved opening."""
    said = "{move}: {winner} wins; {positions} positions, {seconds} s"
    click.echo(said.format(**found))


if __name__ == "__main__":
    solve_openings()
