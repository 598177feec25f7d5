"""Solves all first moves: ``python -m agents.knowledge.hex.solve_openings --size 8 --to FOLDER``.

A first move and its half turn are one. Each that is solved is a file of JSON in the folder, such as
``e4.json``:

    {"format": "hexenv solved opening of Hex", "version": 1, "size": 8, "move": "e4",
     "winner": "black", "positions": 123456, "seconds": 12.3}

`winner` says who wins, black having moved first, who joins top and bottom; `positions` were looked
at, in `seconds` of processor time. Moves on short diagonals come first: they lie in the centre, and
their wins are found sooner. With ``--proofs`` each file has a proof beside it, ``e4.proof.jsonl``,
for `agents.knowledge.hex.check_proof`.

A run that was stopped goes on with the moves that have no file. Each process saves its table all
``--save-every`` minutes and when the time for a move is over, as ``e4.table.npz`` for that move,
and the next run takes it from there; `positions` and `seconds` are those of all these runs, up to
what each has saved last. The file is at most as large as the table: 47 bytes an entry up to 63
cells, and 32 more for each 63 cells more. It is removed once its move is solved. A second run in
the same folder at the same time is refused.
"""

import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import click

from agents.core.files import locked
from agents.core.formats import Format
from agents.knowledge.hex.proofs import write_proof
from agents.knowledge.hex.solver import HexSolver, eccentricity
from agents.knowledge.hex.solver_table import load_table, save_table
from agents.solvers.questions import Clock
from hexenv.compiled import uses_machine_code
from hexenv.games import hex

FORMAT: Final = Format("hexenv solved opening of Hex")


def openings(game: hex.Hex) -> list[int]:
    """The first moves, one of each half turn, those in the centre first."""
    cells = game.rows * game.columns
    return sorted(range((cells + 1) // 2), key=lambda cell: eccentricity(game, cell))


class SavingClock(Clock):
    """A clock for one move that saves the solver's table now and then, and goes on with that.

    Args:
        solver: The solver.
        file: Of the table, for this move.
        seconds: The limit of the call; None for no limit.
        minutes: Between two times that the table is saved.

    Raises:
        ValueError: If the file is no saved table of this board; it stays as it was.
    """

    def __init__(
        self, solver: HexSolver, file: Path, seconds: float | None, minutes: float
    ) -> None:
        self.solver, self.file, self.every = solver, file, 60 * minutes
        self.before = self._spent_before()
        super().__init__(seconds)
        self.saved, self.begun = self.started, time.process_time()

    def _spent_before(self) -> tuple[int, float]:
        """Take the table of earlier runs; the positions and the seconds that they have spent."""
        if not self.file.exists():
            return 0, 0.0
        game = self.solver.game
        about = load_table(self.file, self.solver.nodes.table, game.rows, game.columns)
        try:
            return int(about["positions"]), float(about["seconds"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self.file}: expected a table with its positions and seconds, got {about}"
            ) from error

    def count(self, nodes: int) -> None:
        """Count searched positions, and save the table if it is time."""
        super().count(nodes)
        if time.perf_counter() - self.saved >= self.every:
            self.save()

    def spent(self) -> tuple[int, float]:
        """The positions and the seconds of processor time for the move, with earlier runs."""
        positions, seconds = self.before
        return positions + self.nodes, seconds + time.process_time() - self.begun

    def save(self) -> None:
        """Write the table, with what has been spent on the move."""
        game, (positions, seconds) = self.solver.game, self.spent()
        about = {"positions": positions, "seconds": seconds}
        save_table(self.file, self.solver.nodes.table, game.rows, game.columns, about)
        self.saved = time.perf_counter()


def table_file(folder: Path, move: str) -> Path:
    """Where the table of a move that is not solved yet is."""
    return folder / f"{move}.table.npz"


def is_done(folder: Path, move: str, proofs: bool) -> bool:
    """Whether a move has its file, and its proof if there are to be proofs."""
    suffixes = ("json", "proof.jsonl") if proofs else ("json",)
    return all((folder / f"{move}.{suffix}").exists() for suffix in suffixes)


@cache
def kept_solver(size: int, entries: int) -> HexSolver:
    """The solver of this process, which goes on with what it remembers."""
    solver = HexSolver(hex.new(size), entries, uses_machine_code())
    solver.prepare()
    return solver


def solve_opening(
    size: int,
    move: int,
    folder: Path,
    seconds: float | None,
    entries: int,
    proofs: bool,
    save_every: float = 10.0,
) -> dict[str, Any] | None:
    """Solve a first move and write its file; what it says, None if the time did not suffice."""
    solver = kept_solver(size, entries)
    name = solver.game.action_text(move)
    clock = SavingClock(solver, table_file(folder, name), seconds, save_every)
    try:
        winner = solver.solve(1 << move, 0, 1, clock)[0]
        positions, used = clock.spent()
        found = {
            "size": size,
            "move": name,
            "winner": ("black", "white")[winner],
            "positions": positions,
            "seconds": round(used, 3),
        }
        FORMAT.write_json(folder / f"{name}.json", **found)
        if proofs:
            write_proof(solver, (1 << move, 0), 1, folder / f"{name}.proof.jsonl", clock)
    except TimeoutError:
        clock.save()
        return None
    clock.file.unlink(missing_ok=True)
    return found


@click.command()
@click.option("--size", required=True, type=click.IntRange(2, 13), help="Rows and columns.")
@click.option("--to", required=True, type=click.Path(file_okay=False), help="The folder.")
@click.option("--seconds", type=float, help="For each move, at most; later runs try again.")
@click.option("--entries", default=1 << 22, type=click.IntRange(1 << 10), help="Of each table.")
@click.option("--workers", default=1, type=click.IntRange(1), help="Processes.")
@click.option("--proofs", is_flag=True, help="Write proofs, too.")
@click.option(
    "--save-every", default=10.0, type=click.FloatRange(0), help="Minutes; of the tables."
)
def solve_openings(
    size: int,
    to: str,
    seconds: float | None,
    entries: int,
    workers: int,
    proofs: bool,
    save_every: float,
) -> None:
    """Solve the first moves of Hex that have no file in a folder yet."""
    folder, game = Path(to), hex.new(size)
    folder.mkdir(parents=True, exist_ok=True)
    names = {game.action_text(move): move for move in openings(game)}
    try:
        with (
            locked(folder, "a folder in which no other process solves openings"),
            ProcessPoolExecutor(workers, get_context("spawn")) as pool,
        ):
            done = [name for name in names if is_done(folder, name, proofs)]
            for name in done:
                _print(FORMAT.read_json(folder / f"{name}.json", size=size))
                table_file(folder, name).unlink(missing_ok=True)  # of a process that was killed
            waiting = {
                name: pool.submit(
                    solve_opening, size, move, folder, seconds, entries, proofs, save_every
                )
                for name, move in names.items()
                if name not in done
            }
            for name, answer in waiting.items():
                try:
                    found = answer.result()
                except (OSError, ValueError) as error:
                    click.echo(f"{name}: {error}")
                    continue
                if found is None:
                    click.echo(f"{name}: not done within {seconds} s")
                else:
                    _print(found)
    except ValueError as error:
        raise click.ClickException(str(error)) from error


def _print(found: dict[str, Any]) -> None:
    """One line for a solved opening."""
    said = "{move}: {winner} wins; {positions} positions, {seconds} s"
    click.echo(said.format(**found))


if __name__ == "__main__":
    solve_openings()
