"""What happens around a compilation: one process does it, and a person sees what and how long.

Only processes that compile import this module; those that load code from the cache do without.
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from errno import EACCES, EAGAIN
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, Final, TextIO
from uuid import uuid4

POLL_SECONDS: Final = 0.05
"""Time between two attempts to get a lock."""
SPIN_SECONDS: Final = 0.1
"""Time between two pictures of the spinner."""
PICTURES: Final = "|/-\\"

# ---- one process at a time -----------------------------------------------------------------------


@contextmanager
def alone(place: Path | None, what: str) -> Generator[None]:
    """Hold the lock of a directory of the cache; wait while another process holds it.

    The operating system ends a lock with its process. Where there is no cache or no locking, as on
    some network file systems, nothing is waited for: then code may be compiled twice.

    Args:
        place: The directory of one function and its classes. (Its signatures share the compiler's
            index, which two processes must not write at once.)
        what: What is compiled, in words.
    """
    file = None if place is None else _lock_file(place)
    if file is None:
        yield
        return
    with file:
        if not _lock(file):
            is_told = parent_process() is None  # of many workers, the one that compiles says so
            with shown(f"waiting for another process to compile {what}", is_told=is_told):
                while not _lock(file):
                    time.sleep(POLL_SECONDS)
        try:
            yield
        finally:
            with suppress(OSError):  # there was no locking
                _set_lock(file, False)  # a forked process may have the file open as well


def _lock_file(place: Path) -> Any:
    with suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        return (place / "lock").open("ab")
    return None


def _lock(file: Any) -> bool:
    """Try to lock a file; False if another process holds it."""
    try:
        _set_lock(file, True)
    except OSError as error:
        return error.errno not in (EACCES, EAGAIN)
    return True


def _set_lock(file: Any, is_held: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK if is_held else msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB if is_held else fcntl.LOCK_UN)


# ---- what a person sees --------------------------------------------------------------------------


@contextmanager
def timed(place: Path | None, what: str) -> Generator[None]:
    """Show what is compiled meanwhile; note how long it took, for the next time.

    Args:
        place: See `alone`; None: the code is not kept.
        what: What is compiled, in words.
    """
    # Beside the directory, which goes when a source changes: its name without the sources' digest.
    record = place and place.parent.with_name(f"{place.parent.name.rpartition('-')[0]}.seconds")
    expected = None
    if record is not None:
        with suppress(OSError, ValueError):
            expected = float(record.read_text())
    line = f"compiling {what}" + (" (in every process)" if place is None else "")
    started = time.perf_counter()
    with shown(line, expected):
        yield
    if record is not None:
        with suppress(OSError):
            temporary = record.with_name(f"{record.name}.{uuid4().hex[:8]}")
            temporary.write_text(f"{time.perf_counter() - started:.1f}\n")
            os.replace(temporary, record)


_told: str = ""
"""The last line that was printed."""


@contextmanager
def shown(line: str, expected: float | None = None, is_told: bool = True) -> Generator[None]:
    """Show a line on standard error: with a clock on a terminal, and no trace when it has ended.

    Elsewhere it is printed, once for several compilations that follow each other: a log, a file, a
    worker of a pool, or a program that draws on the terminal and catches what is printed.

    Args:
        line: In words.
        expected: How many seconds it may take, if that is known.
        is_told: Whether it is printed where it cannot be shown.
    """
    global _told
    stream: Any = sys.stderr  # None without a console
    if not _can_spin(stream):
        if is_told and stream is not None and line != _told:
            _told = line
            tell(line if expected is None else f"{line}, about {max(expected, 1):.0f} s")
        yield
        return
    ended = threading.Event()
    arguments = (stream, f"hexenv: {line}", expected, ended)
    spinner = threading.Thread(target=_spin, args=arguments, daemon=True)
    spinner.start()
    try:
        yield
    finally:
        ended.set()
        spinner.join()


def tell(line: str) -> None:
    """Print a line on standard error, if there is one."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        with suppress(OSError, ValueError):  # it may be closed
            print(f"hexenv: {line}", file=sys.stderr, flush=True)


def _can_spin(stream: Any) -> bool:
    """Whether a stream is the terminal itself, and of this process alone."""
    if stream is None or stream is not sys.__stderr__ or parent_process() is not None:
        return False
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _spin(stream: TextIO, line: str, expected: float | None, ended: threading.Event) -> None:
    started = time.perf_counter()
    about = "" if expected is None else f" of about {max(expected, 1):.0f}"
    picture, width = 0, 0
    with suppress(OSError, ValueError):  # the terminal was closed
        while not ended.wait(SPIN_SECONDS):
            seconds = time.perf_counter() - started
            text = f"{PICTURES[picture % 4]} {line}: {seconds:.0f}{about} s"
            text = text[: shutil.get_terminal_size().columns - 1]  # a line that wraps stays
            stream.write("\r" + text.ljust(width))
            stream.flush()
            picture, width = picture + 1, max(width, len(text))
        stream.write("\r" + " " * width + "\r")
        stream.flush()
