"""Writing files that users keep: each is whole, or not there. `agents.core.reading` reads them.

A file is first written under a hidden name, ``.name.partial.suffix``, and then renamed. The writer
holds a lock on it that the system releases when the writer dies, so the next write to the same
place can reuse what a killed writer left. Without such locks, as on Windows, hidden names are
random, and files of killed writers remain. A file that cannot be written is an `OSError`, and the
earlier file is unchanged.
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

MAX_WRITERS: Final = 100
"""Of the same file at the same time."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """Replace a file by a new one when that is whole.

    Anything but a regular file, such as a terminal, is written to directly.

    Yields:
        Path of an empty file to write to, in the same directory and with the same suffix.
    """
    target = Path(os.path.realpath(path))  # Path.resolve differs for a loop of links
    if target.exists() and not target.is_file():
        with _errors_name(path, str(target)):
            yield target
        return
    with _hidden(path, target, is_directory=False) as temporary:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(temporary, target)


@contextmanager
def adding(directory: str | os.PathLike[str]) -> Generator[Path]:
    """Add files to a directory when all of them are whole; files of the same names are replaced.

    Yields:
        Path of an empty directory to write them to.
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


@contextmanager
def locked(directory: str | os.PathLike[str], expected: str) -> Generator[None]:
    """Hold the lock of a directory, a file in it, where there are locks; it ends with this process.

    Raises:
        ValueError: If another process holds it; it says what was `expected`.
    """
    with (Path(directory) / "lock").open("w", encoding="utf-8") as lock:
        if not take_lock(lock.fileno()):
            raise ValueError(f"expected {expected}, got {directory}")
        yield


def take_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed or this process ends; False if another one holds it.

    Where there are no locks, nobody holds one.
    """
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks
    return True


def is_partial(path: Path) -> bool:
    """Whether a file has the hidden name of one that is not whole."""
    return re.fullmatch(r"\..+\.partial(\d*|-[0-9a-f]{8})(\.[^.]+)?", path.name) is not None


# ---- hidden files and their locks ----------------------------------------------------------------


@contextmanager
def _errors_name(path: str | os.PathLike[str], hidden: str) -> Generator[None]:
    """Put the user's path into errors that name none, or a hidden one."""
    try:
        yield
    except OSError as error:
        if error.filename is None or str(error.filename).startswith(hidden):
            error.filename = str(path)
        raise


def _partial(target: Path, number: str) -> Path:
    return target.with_name(f".{target.stem}.partial{number}{target.suffix}")


@contextmanager
def _hidden(path: str | os.PathLike[str], target: Path, *, is_directory: bool) -> Generator[Path]:
    """An empty file or directory beside a target, for this process alone; removed in the end."""
    with _errors_name(path, str(target.with_name(f".{target.stem}.partial"))):
        temporary, descriptor = _take(target, is_directory)
        try:
            yield temporary
        finally:
            _release(temporary, descriptor)


def _take(target: Path, is_directory: bool) -> tuple[Path, int | None]:
    """A hidden path and a descriptor with a lock on it, or None where there are no locks."""
    with suppress(NotImplementedError):
        for number in range(MAX_WRITERS):
            place = _partial(target, str(number or ""))
            descriptor = _lock(place, is_directory)
            if descriptor is not None:
                _remove_left(target, number + 1, is_directory)
                return place, descriptor
    place = _partial(target, f"-{secrets.token_hex(4)}")
    _make(place, is_directory)
    return place, None


def _remove_left(target: Path, begin: int, is_directory: bool) -> None:
    """Remove what further killed writers have left."""
    for number in range(begin, MAX_WRITERS):
        place = _partial(target, str(number))
        if not os.path.lexists(place):
            return
        descriptor = _lock(place, is_directory)
        if descriptor is not None:
            _release(place, descriptor)


def _lock(place: Path, is_directory: bool) -> int | None:
    """Make or empty a file or directory, and lock it; None if it belongs to another writer."""
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
    except OSError:  # a link, of another user, or just removed by its writer
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
    """Whether a descriptor is of the file at a path, which has not just been renamed."""
    try:
        return os.path.samestat(os.lstat(place), os.fstat(descriptor))
    except OSError:
        return False


def _is_own(descriptor: int) -> bool:
    """Whether an earlier file belongs to this user and has no other name.

    A new file is not asked, because some file systems give all files to one user.
    """
    status = os.fstat(descriptor)
    is_shared = stat.S_ISREG(status.st_mode) and status.st_nlink > 1
    return status.st_uid == os.geteuid() and not is_shared


def _empty(place: Path, descriptor: int) -> None:
    if place.is_dir():
        for left in place.iterdir():
            _remove(left)
    else:
        os.ftruncate(descriptor, 0)


def _release(place: Path, descriptor: int | None) -> None:
    """Remove what is still at a hidden path, and its lock."""
    if descriptor is None or _is_at(descriptor, place):
        _remove(place)
    if descriptor is not None:
        os.close(descriptor)


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    with suppress(OSError):
        os.unlink(place)


# ---- kinds of files ------------------------------------------------------------------------------


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file of text, in UTF-8 and with the text's own line ends."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_csv(path: str | os.PathLike[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a table: a line with the keys of the first row, and one for each row."""
    with (
        replacing(path) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def expect_distinct(*paths: str | os.PathLike[str] | None) -> None:
    """ValueError if one file is given for two things; None stands for no file."""
    seen: set[Path] = set()
    for path in (Path(path) for path in paths if path is not None):
        if path.resolve() in seen:
            raise ValueError(f"expected files of their own, got {path} for two things")
        seen.add(path.resolve())


def expect_writable(key: str, path: str | os.PathLike[str]) -> None:
    """Refuse a file, by its name in messages, that cannot be written, before the work for it."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise ValueError(f"expected {key} in a folder that exists, got {path}")
    if Path(path).is_dir() or not os.access(path if Path(path).exists() else folder, os.W_OK):
        raise ValueError(f"expected {key} to be a file that can be written, got {path}")
