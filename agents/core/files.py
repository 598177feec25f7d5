"""Files that people keep: whole or not there. `agents.core.reading` reads them.

A file is written to a hidden one beside it, ``.name.partial.suffix``, which then takes its place.
The writer holds a lock on it, which the system gives back when the writer dies: what a killed one
has left is taken over by the next write to the same place. Where there are no such locks, as on
Windows, the hidden names are random, and what was left stays.
"""

import csv
import os
import re
import secrets
import shutil
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

MOST_WRITERS: Final = 100
"""Of one file at the same time."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """A file to write in the place of another, which stays as it is until this one is whole.

    What is no regular file, such as a terminal, is written to itself.

    Args:
        path: Where the file is to be.

    Yields:
        The path to write to, of another name in the same directory, with the same suffix; an empty
        file is there.

    Raises:
        OSError: If it cannot be written; what was there is as it was.
    """
    target = Path(os.path.realpath(path))  # what resolve has for a loop of links differs
    if target.exists() and not target.is_file():
        with _errors_of(path, str(target)):
            yield target
        return
    with _hidden(path, target, is_directory=False) as temporary:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(temporary, target)


@contextmanager
def adding(directory: str | os.PathLike[str]) -> Generator[Path]:
    """Files to add to a directory, none before all of them are whole.

    Args:
        directory: Where the files are to be; those of the same names are replaced.

    Yields:
        An empty directory to write them to, hidden in that one.

    Raises:
        OSError: If they cannot be written.
    """
    target = Path(os.path.realpath(directory))
    with _hidden(directory, target / "files", is_directory=True) as temporary:
        try:
            yield temporary
            for file in sorted(temporary.iterdir()):
                os.replace(file, target / file.name)
        except OSError as error:
            if error.filename is not None and Path(error.filename).parent == temporary:
                error.filename = str(Path(directory) / Path(error.filename).name)
            raise


def is_partial(path: Path) -> bool:
    """Whether a file has the name of one that is being written, or was left by a killed writer."""
    return re.fullmatch(r"\..+\.partial(\d*|-[0-9a-f]{8})(\.[^.]+)?", path.name) is not None


def _partial(target: Path, number: str) -> Path:
    return target.with_name(f".{target.stem}.partial{number}{target.suffix}")


@contextmanager
def _errors_of(path: str | os.PathLike[str], hidden: str) -> Generator[None]:
    """Name a path in errors that name none, or one that the user does not know."""
    try:
        yield
    except OSError as error:
        if error.filename is None or str(error.filename).startswith(hidden):
            error.filename = str(path)
        raise


@contextmanager
def _hidden(path: str | os.PathLike[str], target: Path, *, is_directory: bool) -> Generator[Path]:
    """A place beside a target that no other living process uses; what is left there goes.

    Args:
        path: What the user calls the target, for errors.
        target: What is to be there in the end.
        is_directory: Whether the place is to be a directory.
    """
    with _errors_of(path, str(target.with_name(f".{target.stem}.partial"))):
        temporary, descriptor = _taken(target, is_directory)
        try:
            yield temporary
        finally:
            if descriptor is None:
                _remove(temporary)
            else:
                _give_back(temporary, descriptor)


def _taken(target: Path, is_directory: bool) -> tuple[Path, int | None]:
    """A hidden place, and a descriptor with a lock on it; without one where there are no locks."""
    try:
        for number in range(MOST_WRITERS):
            place = _partial(target, str(number or ""))
            descriptor = _locked(place, is_directory)
            if descriptor is not None:
                _clear_above(target, number, is_directory)
                return place, descriptor
    except NotImplementedError:
        pass
    place = _partial(target, f"-{secrets.token_hex(4)}")
    _make(place, is_directory)
    return place, None


def _clear_above(target: Path, number: int, is_directory: bool) -> None:
    """Remove what several writers at the same time have left."""
    for above in range(number + 1, MOST_WRITERS):
        place = _partial(target, str(above))
        if not os.path.lexists(place):
            return
        descriptor = _locked(place, is_directory)
        if descriptor is not None:
            _give_back(place, descriptor)


def _locked(place: Path, is_directory: bool) -> int | None:
    """A descriptor of a place, which is made or emptied, with a lock; None where it is another's.

    Raises:
        OSError: If the place cannot be made.
        NotImplementedError: If the system has no locks.
    """
    if fcntl is None:
        raise NotImplementedError
    try:
        _make(place, is_directory)
        is_new = True
    except FileExistsError:
        is_new = False
    access = os.O_RDONLY | os.O_DIRECTORY if is_directory else os.O_RDWR
    try:
        descriptor = os.open(place, access | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # a link, of another user, or gone again with its writer
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(descriptor, place) and (is_new or _is_own(descriptor)):
            _empty(place, descriptor)
            return descriptor
    except BlockingIOError:
        pass
    except OSError:  # a file system without locks
        if is_new:
            _remove(place)
        os.close(descriptor)
        raise NotImplementedError from None
    os.close(descriptor)
    return None


def _make(place: Path, is_directory: bool) -> None:
    if is_directory:
        place.mkdir()
    else:
        place.touch(exist_ok=False)


def _is_at(descriptor: int, place: Path) -> bool:
    """Whether a descriptor is of what is at a place, and has not just become the target."""
    try:
        return os.path.samestat(os.lstat(place), os.fstat(descriptor))
    except OSError:
        return False


def _is_own(descriptor: int) -> bool:
    """Whether what was there belongs to this user, and has no other name under which it is kept.

    What is new is not asked: some file systems give all files to one user.
    """
    held = os.fstat(descriptor)
    is_shared = stat.S_ISREG(held.st_mode) and held.st_nlink > 1
    return held.st_uid == os.geteuid() and not is_shared


def _empty(place: Path, descriptor: int) -> None:
    if place.is_dir():
        for left in place.iterdir():
            _remove(left)
    else:
        os.ftruncate(descriptor, 0)


def _give_back(place: Path, descriptor: int) -> None:
    """Remove what is still at a place, and its lock."""
    if _is_at(descriptor, place):
        _remove(place)
    os.close(descriptor)


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    with suppress(OSError):
        os.unlink(place)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file of text, in UTF-8 and with line ends as they are in the text.

    Raises:
        OSError: If it cannot be written; what was there is as it was.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def expect_writable(key: str, path: str | os.PathLike[str]) -> None:
    """Refuse a file that could not be written in the end, before the work for it begins.

    Args:
        key: What the user calls it, for messages.
        path: The file; it may be there or not.

    Raises:
        ValueError: If its folder does not exist, or it is no file that can be written.
    """
    folder = Path(path).parent
    if not folder.is_dir():
        raise ValueError(f"expected {key} in a folder that exists, got {path}")
    if Path(path).is_dir() or not os.access(path if Path(path).exists() else folder, os.W_OK):
        raise ValueError(f"expected {key} to be a file that can be written, got {path}")


def write_csv(path: str | os.PathLike[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a table: a line with the columns' names, and one for each row.

    Args:
        path: Where to.
        rows: At least one; all have the keys of the first.

    Raises:
        OSError: If it cannot be written; what was there is as it was.
    """
    with (
        replacing(path) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
