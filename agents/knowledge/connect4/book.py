"""Opening books of Connect4: the exact scores of all positions with few stones.

A book holds every position with at most `plies` stones in which the game goes on, a position and
its mirror image once. It is a NumPy archive without pickled objects:

    format      the number of this format
    board       rows and columns
    plies       up to how many stones
    finished    whether all scores are there; else only positions of exactly `plies` stones are
    keys        ascending `position_key` of the positions, of two mirror images the smaller one
    scores      their scores for the player to move
"""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agents.core.formats import Format
from agents.knowledge.connect4.grid import Grid, mirrored, new_grid, position_key
from agents.knowledge.connect4.solver import Connect4Solver
from agents.solvers.questions import Clock
from hexenv.common.messages import shortened, whole_number
from hexenv.games import base, connect4

FORMAT: Final = Format("hexenv book of Connect4")
ABOUT: Final = ("rows", "columns", "plies", "finished")
"""What the head of a file says of a book."""
SAVE_EVERY: Final = 30.0
"""Seconds between two saves while a book is built."""


@dataclass(frozen=True)
class Book:
    """The contents of a book; see the head of this module."""

    rows: int
    columns: int
    plies: int
    finished: bool
    keys: NDArray[np.int64]
    scores: NDArray[np.int8]

    def score(self, state: Any) -> int | None:
        """The score of a position for the player to move, if the book has it."""
        if state.ply > self.plies:
            return None
        key = book_key(new_grid(self.rows, self.columns), state)
        place = int(np.searchsorted(self.keys, key))
        is_there = place < len(self.keys) and int(self.keys[place]) == key
        return int(self.scores[place]) if is_there else None


def book_key(grid: Grid, state: Any) -> int:
    """The key of a position in a book."""
    mine = int(state.stones[int(state.ply) & 1])
    taken = int(state.stones[0]) | int(state.stones[1])
    key = position_key(grid, mine, taken)
    return min(key, mirrored(grid, key))


def new_book(game: Any, plies: int, scores: dict[int, int], finished: bool) -> Book:
    """A book of the scores by key."""
    keys = np.array(sorted(scores), np.int64)
    values = np.array([scores[key] for key in sorted(scores)], np.int8)
    return Book(game.rows, game.columns, plies, finished, keys, values)


# ---- files ---------------------------------------------------------------------------------------


def save_book(book: Book, path: str | os.PathLike[str]) -> None:
    """Write a book: at `path` there is always the whole old file or the whole new one."""
    about = {name: getattr(book, name) for name in ABOUT}
    FORMAT.write_arrays(path, {"keys": book.keys, "scores": book.scores}, **about)


def load_book(path: str | os.PathLike[str]) -> Book:
    """Read a book; ValueError if the file is none, or damaged."""
    about, arrays = FORMAT.read_arrays(path)
    try:
        return _checked_book(about, arrays)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"expected an opening book, got {path}: {error}") from error


def _checked_book(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Book:
    """The book in a file, or an error."""
    rows, columns, plies, finished = (about[name] for name in ABOUT)
    for name, kind in zip(ABOUT, (int, int, int, bool), strict=True):
        if type(about[name]) is not kind:
            raise ValueError(f"expected another {name}, got {shortened(about[name])}")
    connect4.new(rows, columns)  # refuses a board that no game of Connect4 has
    keys, scores = arrays["keys"], arrays["scores"]
    if keys.dtype != np.int64 or scores.dtype != np.int8 or keys.ndim != 1:
        raise ValueError(f"expected int64 keys and int8 scores, got {keys.dtype}, {scores.dtype}")
    if keys.shape != scores.shape or (keys[1:] <= keys[:-1]).any():
        raise ValueError("expected ascending keys with a score each")
    half = new_grid(rows, columns).half
    if not 0 <= plies < rows * columns or not (abs(scores.astype(np.int64)) < half).all():
        raise ValueError("expected the scores of positions of this board")
    return Book(rows, columns, plies, finished, keys, scores)


def check_book(book: Book, game: Any) -> None:
    """Refuse a book of another board, or one that is not finished, with a ValueError."""
    if (book.rows, book.columns) != (game.rows, game.columns):
        raise ValueError(
            f"expected an opening book for {game.rows} x {game.columns}, got one for "
            f"{book.rows} x {book.columns}"
        )
    if not book.finished:
        raise ValueError("expected a finished opening book, got one that is to be built further")


# ---- building ------------------------------------------------------------------------------------


def opening_positions(game: Any, plies: int) -> list[dict[int, Any]]:
    """All positions in which the game goes on, by key, for each number of stones up to `plies`."""
    grid = new_grid(game.rows, game.columns)
    start = base.new_state(game)
    levels: list[dict[int, Any]] = [{book_key(grid, start): start}]
    for _ in range(plies):
        level: dict[int, Any] = {}
        for state in levels[-1].values():
            for child in _children(game, state):
                if not game.is_terminal(child):
                    level.setdefault(book_key(grid, child), child)
        levels.append(level)
    return levels


def _children(game: Any, state: Any) -> list[Any]:
    legal = base.legal_actions(game, state)
    found = [base.clone(game, state) for _ in legal]
    for child, action in zip(found, legal, strict=True):
        game.step(child, action)
    return found


def build_book(
    game: Any,
    plies: int,
    path: str | os.PathLike[str],
    *,
    entries: int = 1 << 24,
    seconds: float | None = None,
    threads: int = 1,
    report: Callable[[int, int], object] | None = None,
) -> Book:
    """Solve all positions with at most `plies` stones, and write them to a file.

    It may be killed at any time: the next call goes on from what is in the file. The positions with
    `plies` stones are solved; the scores of those with fewer follow from them.

    Args:
        game: Connect4 with four in a row (`hexenv.games.connect4.new`).
        plies: Up to how many stones, 0 or more and fewer than there are cells. The number of
            positions grows about fourfold with each.
        path: Of the file.
        entries: Of the solver's table, 8 bytes each.
        seconds: When to stop, at the latest; the book of what was solved by then is not finished.
        threads: How many positions are solved at the same time; they share the table.
        report: Called now and then with the number of positions solved and of all to be solved.

    Raises:
        ValueError: If `plies` is out of its range, the game is not Connect4 with four in a row, or
            the file is another book.
    """
    plies = _checked_plies(game, plies)
    solver = Connect4Solver(game, entries)
    scores = _scores_so_far(game, plies, Path(path))
    levels = opening_positions(game, plies)
    if all(key in scores for level in levels for key in level):
        return load_book(path)
    saved = time.perf_counter()

    def save(finished: bool) -> Book:
        nonlocal saved
        saved = time.perf_counter()
        book = new_book(game, plies, scores, finished)
        save_book(book, path)
        return book

    waiting = [item for item in levels[-1].items() if item[0] not in scores]
    solved = enumerate(_solved(solver, waiting, threads, seconds), len(levels[-1]) - len(waiting))
    try:
        for before, (key, score) in solved:
            scores[key] = score
            if time.perf_counter() - saved > SAVE_EVERY:
                save(finished=False)
            if report is not None:
                report(before + 1, len(levels[-1]))
    except BaseException as error:
        begun = save(finished=False)
        if isinstance(error, TimeoutError):
            return begun
        raise
    _back_up(solver, levels, scores)
    return save(finished=True)


def _solved(
    solver: Connect4Solver, waiting: list[tuple[int, Any]], threads: int, seconds: float | None
) -> Iterator[tuple[int, int]]:
    """The scores of positions in their order, each with its key; TimeoutError after the seconds."""
    started = time.perf_counter()
    free: SimpleQueue[Connect4Solver] = SimpleQueue()
    solver.prepare()
    for _ in range(threads):
        free.put(solver.twin())

    def solve(item: tuple[int, Any]) -> tuple[int, int]:
        one, left = free.get(), None
        if seconds is not None:
            left = max(0.0, seconds - (time.perf_counter() - started))
        try:
            return item[0], one.score(item[1], Clock(left))
        finally:
            free.put(one)

    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(solve, waiting)
    finally:
        pool.shutdown(cancel_futures=True)


def _checked_plies(game: Any, plies: Any) -> int:
    plies = whole_number("plies", plies)
    if not 0 <= plies < game.rows * game.columns:
        raise ValueError(
            f"expected plies from 0 to {game.rows * game.columns - 1} on this board, got {plies}"
        )
    return plies


def _scores_so_far(game: Any, plies: int, path: Path) -> dict[int, int]:
    """What a book that was begun before already holds."""
    if not path.exists():
        return {}
    book = load_book(path)
    begun = (book.rows, book.columns, book.plies)
    if begun != (game.rows, game.columns, plies):
        raise ValueError(
            f"expected a book of {plies} plies for {game.rows} x {game.columns} or a new file, got "
            f"{path} of {book.plies} plies for {book.rows} x {book.columns}"
        )
    return dict(zip(book.keys.tolist(), book.scores.tolist(), strict=True))


def _back_up(solver: Connect4Solver, levels: list[dict[int, Any]], scores: dict[int, int]) -> None:
    """Fill in the scores of all levels but the last, from those of the children."""
    game = solver.game
    for level in reversed(levels[:-1]):
        for key, state in level.items():
            scores[key] = max(
                -solver.known(child)[0]
                if game.is_terminal(child)
                else -scores[book_key(solver.grid, child)]
                for child in _children(game, state)
            )
