"""The folder of data: what it was made by, and its positions in files of some games each.

    data.json               the recipe of the games, and how many there are
    README.md               the data card: the command, counts, versions, what the columns mean
    positions/000000.npz    the positions of the first games: a shard; `Positions` names its arrays
    parquet/000000.parquet  the same for Parquet, if it was asked for
    minari/                 the same for Minari, likewise

A file is whole or not there. A shard that is there is not made again, so the same call goes on
where it was interrupted, and more games are added to those that are there.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from msgspec import Meta, Struct

from agents.core.formats import Format, about_game
from agents.core.reading import names_file
from agents.core.structured import Count, to_structure
from agents.learning.data.playing import Recipe, environment_of
from agents.learning.data.positions import Positions, check_positions
from hexenv.common.messages import shortened
from hexenv.games import base
from hexenv.games.base import Game

FORMAT: Final = Format("hexenv-data")
SHARD_BYTES: Final = 16 << 20
"""Of the positions of a shard in memory, at most, where games are not longer than that."""
FORMATS: Final = ("npz", "parquet", "minari")


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """What `data.json` has besides its format."""

    recipe: Recipe
    parameters: dict[str, Any]
    """Of the game, as it was when the data was begun."""
    games: Annotated[int, Meta(ge=1)]
    shard: Annotated[int, Meta(ge=1)]
    """Games in a shard."""
    seconds: Annotated[float, Meta(ge=0)] = 0.0
    """The time that the games took so far."""
    workers: Count = 0
    """Processes that played last; 0: this one."""


class Shard(NamedTuple):
    """Some games, in a file."""

    number: int
    first: int
    """The number of its first game."""
    games: int


# ---- files ---------------------------------------------------------------------------------------


def save_positions(path: str | os.PathLike[str], positions: Positions, game: Game) -> None:
    """Write positions to an ``npz`` archive."""
    FORMAT.write_arrays(path, positions._asdict(), **about_game(game))


def load_positions(path: str | os.PathLike[str], game: Game) -> Positions:
    """Read positions, and check every one against the rules. Nothing in the file is executed.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is damaged, of another game, or breaks the rules.
    """
    _, arrays = FORMAT.read_arrays(path, **about_game(game))
    try:
        positions = Positions(**arrays)
    except TypeError as error:
        raise ValueError(f"{path}: expected positions: {error}") from None
    return checked(path, positions, game)


def checked(path: str | os.PathLike[str], positions: Positions, game: Game) -> Positions:
    """Positions from a file, if they are by the rules."""
    try:
        check_positions(positions, game)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return positions


# ---- reading -------------------------------------------------------------------------------------


class Data:
    """The data in a folder.

    Attributes:
        path: The folder.
        recipe: What decided its games.
        game: Their game.
        games: How many there are.

    Args:
        path: A folder of `make_data` or of the command ``hexenv data``.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is no such folder, or some of its files are missing.

    Examples:
        >>> from agents.learning.data import make_data
        >>> data = make_data("games", "tictactoe", ["uct:simulations=20"], games=3, seed=1)
        >>> positions = data.positions()
        >>> positions.observations.shape[1:], len(set(positions.games))
        ((3, 3, 2), 3)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        manifest = read_manifest(self.path)
        if manifest is None:
            raise ValueError(f"expected a folder of data, got {path} without a data.json")
        self.manifest = manifest
        self.recipe, self.games = manifest.recipe, manifest.games
        self.game: Game = environment_of(self.recipe).game
        expect_same_game(self.path, manifest, self.game)
        missing = [shard for shard in shards_of(manifest) if not self._file(shard).exists()]
        if missing:
            count = sum(shard.games for shard in missing)
            raise ValueError(
                f"expected {self.games} games in {path}, got {self.games - count}: the command "
                "that made them goes on"
            )

    def __len__(self) -> int:
        return self.games

    def _file(self, shard: Shard) -> Path:
        return shard_file(self.path, shard)

    def shards(self) -> Iterator[Positions]:
        """The positions of each file, some megabytes, in the order of the games.

        Raises:
            OSError: If a file cannot be read.
            ValueError: If it is damaged, of another game, or breaks the rules.
        """
        return map(self.shard, shards_of(self.manifest))

    def shard(self, shard: Shard) -> Positions:
        """The positions of one file; see `shards`."""
        path = self._file(shard)
        positions = load_positions(path, self.game)
        numbers = np.arange(shard.first, shard.first + shard.games)
        if not np.array_equal(positions.games[positions.plies == 0], numbers):
            got = shortened(positions.games[positions.plies == 0].tolist())
            raise ValueError(f"{path}: expected games {shard.first} to {numbers[-1]}, got {got}")
        return positions

    def positions(self) -> Positions:
        """All positions at once."""
        return Positions.joined([Positions.none(self.game), *self.shards()])


def read_manifest(path: Path) -> Manifest | None:
    """What a folder's `data.json` has; None if there is none."""
    file = path / "data.json"
    if not file.is_file():
        return None
    found = FORMAT.read_json(file)
    with names_file(file):
        return to_structure(found, Manifest)


def expect_same_game(path: Path, manifest: Manifest, game: Game) -> None:
    """Refuse a game that is no longer as it was."""
    if manifest.parameters != base.parameters(game):
        raise ValueError(
            f"{path}: expected the game with {manifest.parameters}, got {base.parameters(game)}"
        )


def shards_of(manifest: Manifest) -> list[Shard]:
    """The shards of data; the last one may be shorter."""
    size, games = manifest.shard, manifest.games
    firsts = range(0, games, size)
    return [Shard(number, first, min(size, games - first)) for number, first in enumerate(firsts)]


def shard_file(path: Path, shard: Shard, kind: str = "npz") -> Path:
    """The file of a shard in one of the formats."""
    folder = "positions" if kind == "npz" else kind
    return path / folder / f"{shard.number:06}.{kind}"
