"""Files of games in common formats, chosen by their suffix.

| Suffix | |
|---|---|
| `.json` | a record, by `agents.records.files` |
| `.sgf` | Hex and Gomoku, by `agents.records.sgf`; one game or more |
| `.psq` | Gomoku, by `agents.records.psq` |
| `.txt` | Connect4, strings of columns, by `agents.records.columns`; one game or more |
| `.npz` | the games of an iteration of `hexenv train`; only read |
| none | a directory of records: `000001.json`, `000002.json`, ... |
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from agents.core.files import adding, write_text
from agents.core.reading import names_file, read_text, utf_8_or_latin_1
from agents.records.columns import read_columns, write_columns
from agents.records.files import (
    RecordDirectory,
    as_text,
    load_record,
    record_files,
)
from agents.records.psq import read_psq, write_psq
from agents.records.record import GameRecord
from agents.records.sgf import read_sgf, sgf_encodings, write_sgf
from agents.records.training import read_training_games


def load_games(
    path: str | os.PathLike[str], game: str | None = None, options: Sequence[str] = ()
) -> Iterator[GameRecord]:
    """The records of a directory, or of a file with a suffix of the module's table.

    `game` and its `options`, ``key=value`` texts, are for files that do not say them.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is damaged; with the line or the key, and the reason.
    """
    source = Path(path)
    if source.is_dir():
        paths = record_files(source)
        if not paths:
            raise ValueError(f"{path}: expected a directory with records, got none there")
        _expect_no(options, path)
        return map(load_record, paths)
    suffix = source.suffix.lower()
    if suffix == ".json":
        _expect_no(options, path)
        return iter([load_record(source)])
    if suffix == ".npz":
        if game is None:
            _expect_no(options, path)
        return read_training_games(source, game, options)
    if suffix not in READERS:
        known = ", ".join((".json", *READERS, ".npz"))
        raise ValueError(f"{path}: expected a file of {known}, got {suffix or 'none'}")
    encodings = sgf_encodings if suffix == ".sgf" else utf_8_or_latin_1
    return _read(source, read_text(source, encodings), game, options)


def _expect_no(options: Sequence[str], path: str | os.PathLike[str]) -> None:
    if options:
        raise ValueError(f"{path}: expected no options for games with their own, got {options[0]}")


def _read(path: Path, text: str, game: str | None, options: Sequence[str]) -> Iterator[GameRecord]:
    with names_file(path):
        wanted, read = READERS[path.suffix.lower()]
        if None not in (wanted, game) and wanted != game:
            raise ValueError(f"expected the game {wanted}, got {game}")
        yield from read(text, game, options)


READERS: Final[
    dict[str, tuple[str | None, Callable[[str, str | None, Sequence[str]], Iterable[GameRecord]]]]
] = {
    ".sgf": (None, read_sgf),
    ".psq": ("gomoku", lambda text, _, options: [read_psq(text, options)]),
    ".txt": ("connect4", lambda text, _, options: read_columns(text, options)),
}
"""Readers of formats by suffix, each with its game if there is only one."""


def _the_one(records: Sequence[GameRecord]) -> GameRecord:
    if len(records) != 1:
        raise ValueError(f"expected one game, got {len(records)}: name a directory for them")
    return records[0]


WRITERS: Final[dict[str, Callable[[Sequence[GameRecord]], str]]] = {
    ".json": lambda records: as_text(_the_one(records)),
    ".sgf": write_sgf,
    ".psq": lambda records: write_psq(_the_one(records)),
    ".txt": write_columns,
}
"""Writers of formats by suffix."""


def save_games(
    records: Iterable[GameRecord], path: str | os.PathLike[str], force: bool = False
) -> int:
    """Write games to a file of the module's table or to a directory, and return how many.

    A directory is made. Only with `force` an existing file is replaced.

    Raises:
        FileExistsError: If a file is there, or a directory would mix other records with these;
            nothing is written.
        OSError: If it cannot be written; earlier files are unchanged.
        ValueError: If the format cannot represent a game; nothing is written.
    """
    target, games = Path(path), list(records)
    if target.is_dir() or not target.suffix:
        directory = RecordDirectory(target, len(games))
        texts = {directory.file(number): as_text(game) for number, game in enumerate(games, 1)}
    elif target.suffix.lower() in WRITERS:
        texts = {target: WRITERS[target.suffix.lower()](games)}
    else:
        known = ", ".join(WRITERS)
        raise ValueError(f"{path}: expected a file of {known}, got {target.suffix}")
    others = [file for file in record_files(target) if file not in texts]
    existing = [file for file in texts if file.exists() and not force]
    for files, why in (
        (existing, "exists already (force replaces it)"),
        (others, "would be among the new games"),
    ):
        if files:
            raise FileExistsError(errno.EEXIST, why, str(files[0]))
    if target.is_dir():
        with adding(target) as folder:
            for found, text in texts.items():
                write_text(folder / found.name, text)
    else:
        write_text(target, texts[target])
    return len(games)
