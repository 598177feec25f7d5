"""Data as Parquet: a file for each shard, a row for each position.

Arrays of a position are lists of a fixed length; the file's metadata has their shapes, under the
key ``hexenv``, with what an ``npz`` file says of itself.
"""

import json
import math
import os
from typing import Any, Final

from agents.core.files import replacing
from agents.core.formats import about_game
from agents.core.reading import expect_regular, parse_json
from agents.learning.data.folder import (
    FORMAT,
    Data,
    checked,
    shard_file,
    shards_of,
)
from agents.learning.data.positions import Positions
from hexenv.common.extras import library
from hexenv.games.base import Game

KEY: Final = b"hexenv"


def check_installed() -> None:
    """ImportError without pyarrow."""
    library("pyarrow.parquet", "parquet")


def convert(data: Data) -> None:
    """Write the files of data that are not there yet."""
    missing = [
        (shard, file)
        for shard in shards_of(data.manifest)
        if not (file := shard_file(data.path, shard, "parquet")).exists()
    ]
    if missing:
        (data.path / "parquet").mkdir(exist_ok=True)
    for shard, file in missing:
        save_parquet(file, data.shard(shard), data.game)


def save_parquet(path: str | os.PathLike[str], positions: Positions, game: Game) -> None:
    """Write positions to a Parquet file."""
    arrow, parquet = library("pyarrow", "parquet"), library("pyarrow.parquet", "parquet")
    columns: dict[str, Any] = {}
    for name, column in positions._asdict().items():
        flat = arrow.array(column.reshape(-1))
        width = math.prod(column.shape[1:])
        columns[name] = (
            flat if column.ndim == 1 else arrow.FixedSizeListArray.from_arrays(flat, width)
        )
    shapes = {name: list(column.shape[1:]) for name, column in positions._asdict().items()}
    header = FORMAT.head(**about_game(game), shapes=shapes)
    table = arrow.table(columns).replace_schema_metadata({KEY: json.dumps(header).encode()})
    with replacing(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def load_parquet(path: str | os.PathLike[str], game: Game) -> Positions:
    """Read positions, as `agents.learning.data.folder.load_positions` does.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is damaged, of another game, or breaks the rules.
        ImportError: Without pyarrow.
    """
    arrow, parquet = library("pyarrow", "parquet"), library("pyarrow.parquet", "parquet")
    expect_regular(path)
    with open(path, "rb") as file:
        try:
            table = parquet.ParquetFile(arrow.PythonFile(file)).read()
            FORMAT.read_head(parse_json(table.schema.metadata[KEY]), **about_game(game))
            kinds = Positions.shapes(game, table.num_rows)
            arrays = {
                name: _array(table.column(name).combine_chunks(), *kinds[name])
                for name in Positions._fields
            }
        except Exception as error:  # damaged data can raise anything
            raise ValueError(f"{path}: expected {FORMAT}: {error}") from error
    return checked(path, Positions(**arrays), game)


def _array(column: Any, shape: tuple[int, ...], kind: Any) -> Any:
    """A column as an array."""
    if len(shape) > 1:
        column = column.flatten()
    if column.null_count:
        raise ValueError("expected no missing values")
    found = column.to_numpy(zero_copy_only=False)
    if found.dtype != kind:
        raise ValueError(f"expected {kind}, got {found.dtype}")
    return found.reshape(shape)
