"""Making data: agents play games in shards, and go on where they were interrupted."""

import functools
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from agents.core.structured import expect_unchanged, to_structure
from agents.core.workers import LocalPool, Lost, Pool, ProcessPool, Worker
from agents.learning.data.card import write_card
from agents.learning.data.folder import (
    FORMAT,
    FORMATS,
    SHARD_BYTES,
    Data,
    Manifest,
    Shard,
    expect_same_game,
    read_manifest,
    save_positions,
    shard_file,
    shards_of,
)
from agents.learning.data.playing import BOARDS, Games, Recipe, environment_of
from agents.learning.data.positions import bytes_of_position
from agents.registry import make_agent
from hexenv.common.messages import not_one_of
from hexenv.games import base
from hexenv.games.base import Game
from hexenv.learners.opponents import name_of


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
        from agents.learning.data import parquet

        return parquet
    from agents.learning.data import minari

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
        manifest = Manifest(recipe, base.parameters(game), games, shard)
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
    FORMAT.write_json(path / "data.json", **msgspec.to_builtins(manifest))


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
