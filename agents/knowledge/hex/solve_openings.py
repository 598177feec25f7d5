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
cells, and 32 more for each 63 cells more. Once its move is solved, it goes on to the next move with
its process, or is removed at the end. A second run in the same folder at the same time is refused.
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


class KeptSolver:
    """The solver of a process, and the file in a folder that keeps its table.

    The file has the name of the move that is being solved, so the next run finds it.

    Attributes:
        solver: The solver.
        left: The file of a move that this process has solved, for the next move to take.
        saved: When the table was saved last.
    """

    def __init__(self, size: int, entries: int, folder: Path) -> None:
        self.solver = HexSolver(hex.new(size), entries, uses_machine_code())
        self.solver.prepare()
        self.folder = folder
        self.left: Path | None = None
        self.saved = time.perf_counter()

    def begin(self, move: str) -> tuple[int, float]:
        """Take the file of a move; what earlier runs have spent on it: positions, and seconds.

        Raises:
            ValueError: If the file is no saved table of this board; all files stay as they were.
        """
        file, game, spent = table_file(self.folder, move), self.solver.game, (0, 0.0)
        exists = file.exists()
        if exists:
            about = load_table(file, self.solver.nodes.table, game.rows, game.columns)
            try:
                if about["move"] == move:  # else a process was stopped before it saved for this one
                    spent = int(about["positions"]), float(about["seconds"])
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f"{file}: expected a table with its move, positions and seconds, got {about}"
                ) from error
        if self.left is not None and self.left != file and self.left.exists():
            if exists:
                self.save(move, *spent)
                self.left.unlink()
            else:
                self.left.replace(file)
        self.left = None
        return spent

    def save(self, move: str, positions: int, seconds: float) -> None:
        """Write the file of a move, with what has been spent on it."""
        game, about = self.solver.game, {"move": move, "positions": positions, "seconds": seconds}
        file = table_file(self.folder, move)
        save_table(file, self.solver.nodes.table, game.rows, game.columns, about)
        self.saved = time.perf_counter()


class SavingClock(Clock):
    """A clock for one move that saves the table now and then.

    Args:
        kept: The solver.
        move: The name of the move.
        seconds: The limit of the call; None for no limit.
        minutes: Between two times that the table is saved.
    """

    def __init__(self, kept: KeptSolver, move: str, seconds: float | None, minutes: float) -> None:
        self.kept, self.move, self.every = kept, move, 60 * minutes
        self.before = kept.begin(move)
        super().__init__(seconds)
        self.begun = time.process_time()

    def count(self, nodes: int) -> None:
        """Count searched positions, and save the table if it is time."""
        super().count(nodes)
        if time.perf_counter() - self.kept.saved >= self.every:
            self.kept.save(self.move, *self.spent())

    def spent(self) -> tuple[int, float]:
        """The positions and the seconds of processor time for the move, with earlier runs."""
        positions, seconds = self.before
        return positions + self.nodes, seconds + time.process_time() - self.begun


def table_file(folder: Path, move: str) -> Path:
    """Where the table of the process that solves a move is."""
    return folder / f"{move}.table.npz"


def is_done(folder: Path, move: str, proofs: bool) -> bool:
    """Whether a move has its file, and its proof if there are to be proofs."""
    suffixes = ("json", "proof.jsonl") if proofs else ("json",)
    return all((folder / f"{move}.{suffix}").exists() for suffix in suffixes)


@cache
def kept_solver(size: int, entries: int, folder: Path) -> KeptSolver:
    """The solver of this process, which goes on with what it remembers."""
    return KeptSolver(size, entries, folder)


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
    kept = kept_solver(size, entries, folder)
    solver = kept.solver
    name = solver.game.action_text(move)
    clock = SavingClock(kept, name, seconds, save_every)
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
        kept.save(name, *clock.spent())
        return None
    kept.left = table_file(folder, name)
    return found


def solved_opening(path: Path, size: int) -> dict[str, Any]:
    """What the file of an opening says.

    Raises:
        ValueError: If it is of another kind or size.
    """
    return FORMAT.read_json(path, size=size)


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
    folder = Path(to)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder, "a folder in which no other process solves openings"):
            _solve_all(size, folder, seconds, entries, workers, proofs, save_every)
    except ValueError as error:
        raise click.ClickException(str(error)) from error


def _solve_all(
    size: int,
    folder: Path,
    seconds: float | None,
    entries: int,
    workers: int,
    proofs: bool,
    save_every: float,
) -> None:
    """Solve the moves that are not done, and print a line for each."""
    game = hex.new(size)
    names = {game.action_text(move): move for move in openings(game)}
    done = [name for name in names if is_done(folder, name, proofs)]
    for name in done:
        _print(solved_opening(folder / f"{name}.json", size))
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
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
    for name in names:
        if is_done(folder, name, proofs):
            table_file(folder, name).unlink(missing_ok=True)


def _print(found: dict[str, Any]) -> None:
    """One line for a solved opening."""
    said = "{move}: {winner} wins; {positions} positions, {seconds} s"
    click.echo(said.format(**found))


if __name__ == "__main__":
    solve_openings()
