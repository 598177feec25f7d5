"""The folder of data: what it was made by, and its positions in files of some games each.

    data.json               the recipe of the games, and how many there are
    README.md               the data card: the command, counts, versions, what the columns mean
    positions/000000.npz    the positions of the first games: a shard; `Positions` names its arrays
    parquet/000000.parquet  the same for Parquet, if it was asked for
    minari/                 the same for Minari, likewise

A file is whole or not there. A shard that is there is not made again, so the same call goes on
where it was interrupted, and more games are added to those that are there.
"""

import functools
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct

from agents.core.files import replacing, write_text
from agents.core.reading import load_arrays, parse_json, read_object
from agents.core.structured import Count, expect_unchanged, to_structure
from agents.core.workers import LocalPool, Lost, Pool, ProcessPool, Worker
from agents.data.playing import BOARDS, Games, Recipe, environment_of
from agents.data.positions import Positions, bytes_of_position, check_positions
from agents.registry import make_agent
from hexenv.games import base
from hexenv.games.base import Game
from hexenv.learners.opponents import name_of
from hexenv.messages import not_one_of, shortened

FORMAT: Final = "hexenv-data"
VERSION: Final = 1
SHARD_BYTES: Final = 16 << 20
"""Of the positions of a shard in memory, at most, where games are not longer than that."""
FORMATS: Final = ("npz", "parquet", "minari")


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """What `data.json` has."""

    format: str
    version: int
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
    arrays: dict[str, Any] = positions._asdict()
    about = np.frombuffer(json.dumps(header_of(game)).encode(), np.uint8)
    with replacing(path) as temporary:
        np.savez_compressed(temporary, about=about, **arrays)


def load_positions(path: str | os.PathLike[str], game: Game) -> Positions:
    """Read positions, and check every one against the rules. Nothing in the file is executed.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is damaged, of another game, or breaks the rules.
    """
    arrays = load_arrays(path, "positions")
    try:
        check_header(parse_json(arrays.pop("about").tobytes()), game)
        positions = Positions(**arrays)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: expected {FORMAT} of version {VERSION}: {error}") from None
    return checked(path, positions, game)


def header_of(game: Game) -> dict[str, Any]:
    """What a file says of itself."""
    parameters = base.parameters(game)
    return {"format": FORMAT, "version": VERSION, "game": game.name, "parameters": parameters}


def check_header(header: Any, game: Game) -> None:
    """Check what a file says of itself.

    Raises:
        KeyError: If it does not say.
        ValueError: If it is of another version or game.
    """
    if header["format"] != FORMAT or header["version"] != VERSION:
        raise ValueError(f"got {header['format']!r} {header['version']!r}")
    of = header["game"], header["parameters"]
    if of != (game.name, base.parameters(game)):
        raise ValueError(f"expected positions of {game}, got some of {of[0]} with {of[1]}")


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
    found = read_object(file)
    if (found.get("format"), found.get("version")) != (FORMAT, VERSION):
        raise ValueError(
            f"{file}: expected {FORMAT} of version {VERSION}, got {found.get('format')!r} "
            f"{found.get('version')!r}"
        )
    try:
        return to_structure(found, Manifest)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


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


# ---- making --------------------------------------------------------------------------------------


class ShardWorker(Worker):
    """Plays the games of shards, and writes their files."""

    name = "data"

    def __init__(
        self, path: Path, recipe: Recipe, agents: Sequence[Any] | None, boards: int
    ) -> None:
        self._path, self._boards = path, boards
        self._games = Games(recipe, agents, boards)

    def do(self, task: Shard, start_clock: Callable[[], None] = lambda: None) -> int:
        """Make a shard; returns how many positions it has."""
        positions = self._games.play(task.first, task.games)
        save_positions(shard_file(self._path, task), positions, self._games.game)
        return len(positions.actions)


def make_data(
    path: str | os.PathLike[str],
    game: str,
    agents: Sequence[Any],
    games: int,
    *,
    options: Sequence[str] = (),
    seed: int = 0,
    opening_plies: int = 2,
    temperature: float = 1.0,
    temperature_plies: int = 10,
    formats: Sequence[str] = ("npz",),
    workers: int = 0,
    boards: int = BOARDS,
    shard: int | None = None,
    report: Callable[[int, int], None] = lambda games, positions: None,
) -> Data:
    """Let agents play games, and write their positions to a folder.

    The same call goes on where it was interrupted; with more games it adds to those there. What
    comes depends neither on that nor on `workers` and `boards`, for agents whose play does not.

    Args:
        path: The folder; made if it is not there.
        game: A game of hexenv, or ``module:function`` of your own.
        agents: Names as on the command line (``"rave:playout=bridges,simulations=100"``), or
            objects with ``act(env)`` and ``reset(seed)``.
        games: How many games.
        options: ``key=value`` for the game's environment, such as ``board_size=7``.
        seed: Of all chance.
        opening_plies: Games begin with 0 up to this many random moves.
        temperature: Of the moves before `temperature_plies`, see `Recipe`.
        temperature_plies: Plies of a game, with those of its opening, whose moves are drawn.
        formats: ``"npz"``, which is always written, and ``"parquet"`` and ``"minari"`` beside it.
        workers: Processes that play; 0: this one.
        boards: Games at the same time in each, for agents that can.
        shard: Games in a file; None: as many as fit in 16 MB of memory.
        report: Called after each shard with how many games and positions it had.

    Raises:
        OSError: If a file cannot be written or read.
        ValueError: If an argument is wrong, or the folder has data of other ones, or an agent
            cannot play the game.
        ImportError: If a format needs a library that is not installed.
    """
    path = Path(path)
    check_formats(formats)
    given = {
        "game": game, "options": list(options), "agents": list(map(text_of, agents)), "seed": seed,
        "opening_plies": opening_plies, "temperature": temperature,
        "temperature_plies": temperature_plies,
    }  # fmt: skip
    recipe = to_structure(given, Recipe)
    rules = environment_of(recipe).game
    players = [make_agent(agent) if isinstance(agent, str) else agent for agent in agents]
    manifest = begin(path, recipe, rules, games, shard)
    has_objects = not all(isinstance(agent, str) for agent in agents)
    make = functools.partial(ShardWorker, path, recipe, players if has_objects else None, boards)
    play_missing(path, manifest, make, workers, report)
    return with_formats(Data(path), formats)


def with_formats(data: Data, formats: Sequence[str]) -> Data:
    """Write the data in other formats too, and the card."""
    for kind in formats:
        if kind != "npz":
            converter(kind).convert(data)
    from agents.data.card import write_card  # it imports this module

    write_card(data)
    return data


def check_formats(formats: Sequence[str]) -> None:
    """Refuse an unknown format, and one whose library is not installed."""
    for kind in formats:
        if kind not in FORMATS:
            raise ValueError(not_one_of("a format", FORMATS, kind))
        if kind != "npz":
            converter(kind).check_installed()


def text_of(agent: Any) -> str:
    """How a recipe names an agent."""
    if isinstance(agent, str):
        return agent
    if type(agent).__repr__ is object.__repr__:  # it would have an address
        return name_of(agent)
    return repr(agent)  # with its parameters, so that other ones do not go on


def converter(kind: str) -> Any:
    """The module of a format besides npz."""
    if kind == "parquet":
        from agents.data import parquet

        return parquet
    from agents.data import minari

    return minari


def begin(path: Path, recipe: Recipe, game: Game, games: int, shard: int | None) -> Manifest:
    """Begin data in a folder, or go on with what is there."""
    if games < 1:
        raise ValueError(f"expected games from 1, got {games}")
    if shard is not None and shard < 1:
        raise ValueError(f"expected games in a shard from 1, got {shard}")
    before = read_manifest(path)
    if before is not None and not any(shard_file(path, one).exists() for one in shards_of(before)):
        before = None  # the call failed before a game was kept
    if before is None:
        if shard is None:
            shard = max(1, SHARD_BYTES // (bytes_of_position(game) * game.max_plies()))
        manifest = Manifest(FORMAT, VERSION, recipe, base.parameters(game), games, shard)
    else:
        expect_same(path, before, recipe, game, games, shard)
        manifest = msgspec.structs.replace(before, games=games)
        if games > before.games and before.games % before.shard:  # the last shard gets more
            for kind in ("npz", "parquet"):
                shard_file(path, shards_of(before)[-1], kind).unlink(missing_ok=True)
    (path / "positions").mkdir(parents=True, exist_ok=True)
    write_manifest(path, manifest)
    return manifest


def expect_same(
    path: Path, before: Manifest, recipe: Recipe, game: Game, games: int, shard: int | None
) -> None:
    """Refuse to go on with data that was begun with something else."""
    for name in Recipe.__struct_fields__:
        expect_unchanged(name, getattr(before.recipe, name), getattr(recipe, name), path)
    expect_same_game(path, before, game)
    if shard not in (None, before.shard):
        raise ValueError(f"expected {before.shard} games in a shard, as in {path}, got {shard}")
    if games < before.games:
        raise ValueError(f"expected games from {before.games}, as in {path}, got {games}")


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write `data.json`."""
    write_text(path / "data.json", json.dumps(msgspec.to_builtins(manifest), indent=1) + "\n")


def play_missing(
    path: Path,
    manifest: Manifest,
    make: Callable[[], ShardWorker],
    workers: int,
    report: Callable[[int, int], None],
) -> None:
    """Have the shards made that are not there, and note the time."""
    missing = [shard for shard in shards_of(manifest) if not shard_file(path, shard).exists()]
    if not missing:
        return
    started = time.perf_counter()
    pool: Pool = LocalPool(make) if workers == 0 else ProcessPool(make, workers)
    try:
        with closing(pool):
            for shard, outcome in pool.each(missing):
                if isinstance(outcome, Lost):
                    raise ChildProcessError(
                        f"expected {shard.games} games from game {shard.first} on, but their "
                        f"worker died: {outcome.reason} (the same call goes on)"
                    )
                report(shard.games, outcome)
    finally:
        seconds = manifest.seconds + time.perf_counter() - started
        write_manifest(path, msgspec.structs.replace(manifest, seconds=seconds, workers=workers))
