"""Reading files from strangers: within bounds, and without executing anything in them.

A small file must not cause much work. All files that users keep are read here, as JSON or as
arrays, and everything is bounded before it is unpacked or parsed:

| What | Bound |
|---|---|
| a text | 32 MiB in UTF-8 |
| a JSON text | 2,000,000 values, 200,000 lists and objects, 64 levels |
| a number in it | 40 digits; finite, and each key once |
| an archive | 32 MiB unpacked, or 50 times its own size where that is more |
| an array in it | numbers or truth values, of the size and shape that its member declares |

The longest record of a game of `hexenv`, with a search for every move on the largest board, has
250,000 values. Of our own files, trees compress best: 5 to 20 times. Large files have no other
bound: a tree of ten million nodes is a file of 20 MB and takes the memory of its nodes; the results
of a tournament take the memory of their games, and are read line by line.

A file that cannot be read is an `OSError`. One that is damaged, of another kind or beyond the
bounds is a `ValueError` with its path, and the line if it is a text.
"""

import json
import math
import os
import zipfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import error_in, shortened

MOST_BYTES: Final = 32 << 20
"""Of a text, and of what a small archive unpacks to."""
MOST_VALUES: Final = 2_000_000
MOST_CONTAINERS: Final = 200_000
MOST_DEPTH: Final = 64
TOO_DEEP: Final = f"expected at most {MOST_DEPTH} levels, got JSON nested too deeply"
MOST_DIGITS: Final = 40
"""Of a whole number; the states of random generators have 39."""
MOST_RATIO: Final = 50
"""Unpacked size of an archive by its own size."""
MOST_DIRECTORY: Final = 4 << 20
"""Bytes of an archive's list of members, about 50,000 of them."""
MOST_SIDE: Final = 1 << 20
"""Side of an array without elements."""


def expect_regular(path: str | os.PathLike[str]) -> None:
    """Refuse a pipe or a device, which may have no end."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise ValueError(f"{path}: expected a file, got a pipe or a device")


# ---- text ----------------------------------------------------------------------------------------


UTF_8: Final = "utf-8-sig"
"""With or without a byte-order mark."""
OF_OTHER_KINDS: Final = {
    b"PK\3\4": "a zip archive (as .npz and networks are)",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a rar archive",
    b"\x89PNG": "a picture",
    b"GIF8": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"%PDF": "a PDF",
    b"\x93NUMPY": "an array of NumPy",
    b"PAR1": "a Parquet file",
}
"""What files that are no texts begin with."""


def utf_8(_: bytes) -> Sequence[str]:
    """The encoding of our own texts."""
    return (UTF_8,)


def utf_8_or_latin_1(_: bytes) -> Sequence[str]:
    """Those of texts of others that do not say theirs: any bytes are a text in the second."""
    return UTF_8, "latin-1"


def read_text(
    path: str | os.PathLike[str], encodings: Callable[[bytes], Sequence[str]] = utf_8
) -> str:
    """The text of a file, in the first of the `encodings` of its bytes that can be."""
    expect_regular(path)
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{path}: expected at most {MOST_BYTES} bytes, got more")
    kind = next((kind for begin, kind in OF_OTHER_KINDS.items() if data.startswith(begin)), None)
    if kind is not None:
        raise ValueError(f"{path}: expected a text, got {kind}")
    with names_file(path):
        *others, last = encodings(data)
    for encoding in others:
        with suppress(UnicodeDecodeError):
            return data.decode(encoding)
    try:
        return data.decode(last)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        name = last.removesuffix("-sig").upper()
        raise ValueError(f"{path}:{line}: expected text in {name}, got {error.reason}") from None


@contextmanager
def names_file(path: str | os.PathLike[str]) -> Generator[None]:
    """Adds the name of a file to a `ValueError`."""
    try:
        yield
    except ValueError as error:
        raise error_in(path, error) from None


# ---- JSON ----------------------------------------------------------------------------------------


def parse_json(text: str | bytes, finite: bool = True) -> Any:
    """The value in a JSON text, with NaN and the infinities unless it has to be finite."""
    _expect_at_most(MOST_BYTES, "bytes", len(text))
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    _expect_bounded(text)
    parse_float = _finite if finite else float
    try:
        found = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_whole_number,
            parse_float=parse_float,
            parse_constant=parse_float,
        )
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    _expect_shallow(found)
    return found


def _expect_bounded(text: str) -> None:
    containers = text.count("[") + text.count("{")  # also counts those within strings
    _expect_at_most(MOST_CONTAINERS, "lists and objects", containers)
    _expect_at_most(MOST_VALUES, "values", text.count(",") + containers)


def _expect_at_most(most: int, what: str, got: int) -> None:
    if got > most:
        raise ValueError(f"expected JSON of at most {most} {what}, got {got}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"expected every key once, got {shortened(twice)} twice")
    return found


def _whole_number(text: str) -> int:
    digits = len(text.removeprefix("-"))
    if digits > MOST_DIGITS:
        raise ValueError(f"expected numbers of at most {MOST_DIGITS} digits, got {digits}")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"expected numbers, got {text[:60]}")
    return number


def _expect_shallow(value: Any) -> None:
    level: list[Any] = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MOST_DEPTH):
        inner: list[Any] = [
            cast("Any", each).values() if isinstance(each, dict) else each for each in level
        ]
        level = [item for items in inner for item in items if isinstance(item, (dict, list))]
        if not level:
            return
    raise ValueError(TOO_DEEP)


def as_object(value: Any) -> dict[str, Any]:
    """A value of JSON that must be an object."""
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {shortened(value)}")
    return cast("dict[str, Any]", value)


def read_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The object in a JSON file."""
    text = read_text(path)
    try:
        return as_object(parse_json(text))
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}:{error.colno}"
        raise ValueError(f"{where}: expected JSON: {error.msg}") from None
    except ValueError as error:
        raise error_in(path, error) from None


def read_objects(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The objects in a file of JSON lines; their numbers may be infinite or NaN."""
    text = read_text(path)
    try:
        _expect_bounded(text)
    except ValueError as error:
        raise error_in(path, error) from None
    found: list[dict[str, Any]] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        try:
            found.append(as_object(parse_json(line, finite=False)))
        except ValueError as error:
            raise ValueError(f"{path}:{number}: expected a JSON object, got {error}") from None
    return found


# ---- archives ------------------------------------------------------------------------------------


@contextmanager
def opened_archive(file: IO[bytes]) -> Generator[zipfile.ZipFile]:
    """A zip archive in a file, whose declared sizes are within the bounds."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 98))
    tail = file.read(98).rjust(98, b"\0")
    # An archive ends with 22 bytes. Large ones, and most of PyTorch, have 56 and 20 bytes before
    # them with the same in wider numbers.
    directory = int.from_bytes(tail[88:92], "little")
    if tail[56:60] == b"PK\6\7":
        directory = max(directory, int.from_bytes(tail[40:48], "little"))
    file.seek(0)
    if file.read(4) != b"PK\3\4" or tail[76:80] != b"PK\5\6" or tail[96:] != b"\0\0":
        raise ValueError("no whole archive")
    if directory > MOST_DIRECTORY:
        raise ValueError(f"expected a list of members of at most {MOST_DIRECTORY} bytes, got more")
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len({member.filename for member in members}) < len(members):
            raise ValueError("expected every member once, got one twice")
        if any(
            member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            for member in members
        ):
            raise ValueError("expected members that are stored or deflated, got others")
        most, unpacked = max(MOST_BYTES, MOST_RATIO * size), sum(each.file_size for each in members)
        if unpacked > most:
            raise ValueError(f"expected at most {most} bytes when it is unpacked, got {unpacked}")
        yield archive


def load_arrays(path: str | os.PathLike[str], what: str) -> dict[str, NDArray[Any]]:
    """Read all arrays of an ``npz`` archive; they hold truth values, whole numbers and floats."""
    expect_regular(path)
    with open(path, "rb") as file:
        try:
            with opened_archive(file) as archive:
                return {
                    member.filename.removesuffix(".npy"): _array(archive, member)
                    for member in archive.infolist()
                }
        except Exception as error:  # damaged data can raise anything
            raise ValueError(f"expected {what}, got a damaged {path}: {error}") from error


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """An array, which takes no more memory than its member declares."""
    of_arrays: Any = np.lib.format
    with archive.open(member) as file:
        version = of_arrays.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"expected arrays of version 1.0, got {version}")
        shape, _, dtype = of_arrays.read_array_header_1_0(file)
        declared = member.file_size - file.tell()
    if dtype.kind not in "biuf":
        raise ValueError(f"expected numbers in {member.filename}, got {dtype}")
    if min(shape, default=0) < 0 or max(shape, default=0) > max(declared, MOST_SIDE):
        raise ValueError(f"expected {member.filename} of another shape, got {shape}")
    if math.prod(shape) * dtype.itemsize != declared:
        raise ValueError(f"expected {declared} bytes in {member.filename}, got {dtype} {shape}")
    with archive.open(member) as file:
        return of_arrays.read_array(file, allow_pickle=False)
