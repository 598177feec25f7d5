"""Files that people keep: whole or not there."""

import csv
import json
import os
import secrets
import zipfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """A file to write in the place of another, which stays as it is until this one is whole.

    What is no regular file, such as a terminal, is written to itself.

    Args:
        path: Where the file is to be.

    Yields:
        The path to write to, of another name in the same directory, with the same suffix.

    Raises:
        OSError: If it cannot be written; what was there is as it was.
    """
    target = Path(os.path.realpath(path))  # what resolve has for a loop of links differs
    is_replaced = target.is_file() or not target.exists()
    temporary = target
    if is_replaced:
        temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        if is_replaced:
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
            os.replace(temporary, target)
    except OSError as error:
        if error.filename in (None, str(temporary)):
            error.filename = str(path)
        raise
    finally:
        if is_replaced:
            with suppress(OSError):
                os.unlink(temporary)


def expect_regular(path: str | os.PathLike[str]) -> None:
    """Refuse what is there but no file with an end, such as a pipe, which nobody may ever write to.

    Raises:
        ValueError: If it is neither a regular file nor a directory.
    """
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise ValueError(f"{path}: expected a file, got a pipe or a device")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file of text, in UTF-8 and with line ends as they are in the text.

    Raises:
        OSError: If it cannot be written; what was there is as it was.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def read_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is no JSON object.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: expected JSON, got {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path}: expected a JSON object, got {found!r}")
    return cast("dict[str, Any]", found)


def read_objects(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The objects in a file of JSON lines.

    Raises:
        OSError: If it cannot be read.
        ValueError: If a line is no JSON object: named with its number.
    """
    found: list[dict[str, Any]] = []
    for number, line in enumerate(Path(path).read_bytes().splitlines(), 1):
        try:
            found.append(dict(json.loads(line)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}:{number}: expected a JSON object, got {error}") from None
    return found


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


def load_arrays(path: str | os.PathLike[str], what: str) -> dict[str, NDArray[Any]]:
    """Read all arrays of an ``npz`` archive. Nothing in it is executed.

    Args:
        path: The file.
        what: What it should be, for messages.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is no archive, or a damaged one.
    """
    expect_regular(path)
    with open(path, "rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(f"expected {what}, got {path}, which is no whole npz archive")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        except Exception as error:  # damaged data raise whatever they meet first
            raise ValueError(f"expected {what}, got a damaged {path}: {error}") from error
