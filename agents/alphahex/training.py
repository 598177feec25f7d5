"""A training run: self-play, replay, learning, and files from which it goes on.

While workers play with the network of the last iteration, the learner learns from the games before.
A run's directory has

    config.json               what it does
    log.jsonl                 a line of figures for each iteration
    checkpoints/000042.pt     all that is needed to go on after iteration 42; the newest two
    networks/000040.safetensors   the networks that are kept, to play with
    games/000042.npz          the games that ended in iteration 42, as long as the buffer has them
    tensorboard/              the figures, for TensorBoard
    lock                      held by the process that trains

An iteration is in the run once its checkpoint is there; what is newer is written anew.
"""

# PyTorch's types are partly missing.
# pyright: reportUnknownMemberType=false

import json
import os
import re
import signal
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

import numpy as np
import torch

from agents.alphahex.configuration import Configuration, as_dict, make, merged
from agents.alphahex.duel import duel, elo
from agents.alphahex.engines import ENGINES, Engine
from agents.alphahex.evaluator import NetworkEvaluator, device_of
from agents.alphahex.files import (
    find_network,
    game_of,
    load_checkpoint,
    load_network,
    load_weights,
    save_checkpoint,
    save_network,
)
from agents.alphahex.learner import Learner
from agents.alphahex.networks import new_network
from agents.alphahex.replay import Games, ReplayBuffer, load_games, save_games
from agents.alphahex.self_play import Result, Task, Unfinished
from agents.files import read_object, replacing

CHANGEABLE: Final = (
    "iterations",
    "checkpoint_interval",
    "save_interval",
    "engine",
    "workers",
    "keep_games",
    "self_play.device",
    "self_play.gpus",
    "learner.rate",
    "learner.final_rate",
    "learner.clip",
    "learner.device",
    "learner.compile",
    "learner.half",
    "learner.threads",
)
"""What may be changed when a run goes on."""
KEPT: Final = 2
"""Checkpoints."""


class StoppedError(KeyboardInterrupt):
    """Somebody has asked for an end (Ctrl-C); the run is saved."""


class Run:
    """A training run in its directory.

    Args:
        directory: Of the run; made, if it is not there.
        settings: Plain values for `agents.alphahex.configuration.make`. A run that is there already
            goes on with its own; these may change what `CHANGEABLE` names.

    Raises:
        OSError: If a file cannot be read or written.
        ValueError: If the settings are wrong, or not those of the run, or a file is damaged.
    """

    def __init__(self, directory: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.directory = Path(directory)
        self.configuration = self._configured(settings)
        configuration = self.configuration
        torch.set_num_threads(configuration.learner.threads)
        self.game = game_of(configuration.game, configuration.options)
        self.learner = Learner(configuration, self.game)
        if configuration.engine != "ray":  # whose machines have devices of their own
            device_of(configuration.self_play.device, "self_play.device")
        newest = self._checkpoints()
        if configuration.start and not newest:
            self._start_from(configuration.start)
        replay = configuration.replay
        self.buffer = ReplayBuffer(
            self.game,
            replay.capacity,
            tuple(configuration.network.planes),
            replay.recency,
            replay.most_reuse,
        )
        self.iteration = 0
        self.rng = np.random.default_rng(configuration.seed)
        self._streams = self._new_streams()
        self._unfinished = self._new_unfinished()
        self._playing = self.learner.playing_weights()  # by those who play from now on
        self._played = self._playing  # by those whose results come next
        self._duelled = self._playing  # against which the next saved network is measured
        self._duellists: list[NetworkEvaluator] = []
        self._elo = 0.0
        self._owed = 0.0  # steps of training, for positions that have been added
        self._shards: list[tuple[int, int]] = []  # iterations with games, and their first positions
        self._stop = False
        self._is_whole = True  # between two iterations
        self._writer: Any = None  # TensorBoard's
        for name in ("checkpoints", "networks", "games"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        if newest:
            self._restore(newest[-1])
        with replacing(self.directory / "config.json") as temporary:
            temporary.write_text(json.dumps(as_dict(configuration), indent=1) + "\n")
        if not newest:
            self._save_network()
            self.save()

    # ---- beginning and going on ------------------------------------------------------------------

    def _configured(self, settings: Mapping[str, Any]) -> Configuration:
        """The run's configuration: that of the directory, or a new one."""
        path = self.directory / "config.json"
        if not self._checkpoints():
            if (self.directory / "log.jsonl").exists():
                raise ValueError(
                    f"expected a checkpoint in {self.directory / 'checkpoints'}, as there is a "
                    "log.jsonl (a new run needs a directory of its own)"
                )
            return make(settings)
        try:
            known = make(read_object(path))
        except ValueError as error:
            raise ValueError(f"expected the configuration of a run in {path}: {error}") from None
        wanted = make(merged(as_dict(known), settings))
        for key, said, says in differences(known, wanted):
            raise ValueError(
                f"expected {key} of {said}, as in {self.directory}, got {says} (a new run needs a "
                "directory of its own)"
            )
        return wanted

    def _start_from(self, net: str) -> None:
        """Take the weights of a network.

        Raises:
            ValueError: If it is of another game, or another kind.
        """
        saved = load_network(find_network(net))
        why = saved.why_not(self.game)
        if why is None and as_dict(saved.options) != as_dict(self.configuration.network):
            why = f"expected a network of {self.configuration.network}, got {saved.options}"
        if why is not None:
            raise ValueError(f"cannot start from {saved.path}: {why}")
        load_weights(self.learner.network, saved.network.state_dict())
        self.learner.average = {name: w.clone() for name, w in self.learner.weights().items()}

    def _new_streams(self) -> list[dict[str, Any]]:
        seeds = np.random.SeedSequence([self.configuration.seed, 1]).spawn(
            self.configuration.workers
        )
        return [cast("Any", np.random.default_rng(seed).bit_generator.state) for seed in seeds]

    def _new_unfinished(self) -> list[Unfinished]:
        count = self.configuration.self_play.games
        return [Unfinished.none(self.game, count) for _ in range(self.configuration.workers)]

    def _checkpoints(self) -> list[Path]:
        found = (self.directory / "checkpoints").glob("*.pt")
        return sorted(
            (path for path in found if path.stem.isdecimal()), key=lambda path: int(path.stem)
        )

    def _file(self, folder: str, iteration: int, suffix: str) -> Path:
        return self.directory / folder / f"{iteration:06}.{suffix}"

    def _contents(self) -> dict[str, Any]:
        """All that is needed to go on."""
        return {
            "configuration": json.dumps(as_dict(self.configuration)),
            "iteration": self.iteration,
            "learner": self.learner.state(),
            "playing": self._playing,
            "played": self._played,
            "duelled": self._duelled,
            "elo": self._elo,
            "owed": self._owed,
            "streams": json.dumps([self.rng.bit_generator.state, *self._streams]),
            "unfinished": [
                [torch.from_numpy(array) for array in unfinished] for unfinished in self._unfinished
            ],
            "shards": self._shards,
            "total": self.buffer.total,
            "uses": torch.from_numpy(self.buffer.uses.astype(np.int32)),
        }

    def save(self) -> None:
        """Write a checkpoint, and take away what no checkpoint needs any more.

        Raises:
            OSError: If it cannot be written; the run is as it was at the last one.
        """
        save_checkpoint(self._file("checkpoints", self.iteration, "pt"), self._contents())
        for path in self._checkpoints()[:-KEPT]:
            path.unlink()
        oldest = int(self._checkpoints()[0].stem)
        needed = self._needed(self._total_at(oldest), self.buffer.total)
        while self._shards and self._shards[0] not in needed:
            number, _ = self._shards.pop(0)
            if not self.configuration.keep_games:
                self._file("games", number, "npz").unlink(missing_ok=True)

    def _total_at(self, iteration: int) -> int:
        """How many positions there were after an iteration."""
        later = [first for number, first in self._shards if number > iteration]
        return later[0] if later else self.buffer.total

    def _needed(self, total: int, end: int) -> list[tuple[int, int]]:
        """The shards from the oldest that the buffer has after so many positions to the end."""
        ends = [*(first for _, first in self._shards[1:]), end]
        oldest = total - self.buffer.capacity
        return [shard for shard, last in zip(self._shards, ends, strict=False) if last > oldest]

    def _restore(self, path: Path) -> None:
        try:
            contents = load_checkpoint(path)
            other = make(json.loads(contents["configuration"]))
            for key, said, says in differences(self.configuration, other):
                raise ValueError(f"it is of another run: expected {key} of {said}, got {says}")
            self.iteration = contents["iteration"]
            self.learner.restore(contents["learner"])
            self._playing, self._played = contents["playing"], contents["played"]
            self._duelled, self._elo = contents["duelled"], contents["elo"]
            self._owed = contents["owed"]
            self.rng.bit_generator.state, *streams = json.loads(contents["streams"])
            count = self.configuration.workers
            self._streams = (streams + self._streams[len(streams) :])[:count]
            unfinished = [
                Unfinished(*(part.numpy() for part in parts)) for parts in contents["unfinished"]
            ]
            self._unfinished = (unfinished + self._unfinished[len(unfinished) :])[:count]
            self._shards = [(int(number), int(first)) for number, first in contents["shards"]]
            total, uses = int(contents["total"]), contents["uses"].numpy()
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"cannot go on from {path}: {error} (without the file, the run goes on from the "
                "checkpoint before it)"
            ) from error
        self._refill(total)
        self.buffer.uses[:] = uses
        with self._alone():  # a mistake is best said at once
            pass

    def _refill(self, total: int) -> None:
        """Fill the buffer from the games' files.

        Raises:
            OSError: If one cannot be read.
            ValueError: If one is damaged, or not that of this run.
        """
        shards = self._needed(total, total)
        self.buffer.total = shards[0][1] if shards else 0
        ends = [*(first for _, first in shards[1:]), total]
        for (number, first), end in zip(shards, ends, strict=False):
            path = self._file("games", number, "npz")
            self.buffer.add(load_games(path, self.game))
            if self.buffer.total != end:
                count = self.buffer.total - first
                raise ValueError(f"expected {end - first} positions in {path}, got {count}")

    def _forget(self) -> None:
        """Remove what is of iterations that are not in the run, and files half written."""
        for folder in ("checkpoints", "networks", "games"):
            for file in (self.directory / folder).iterdir():
                if file.stem.isdecimal() and int(file.stem) > self.iteration:
                    file.unlink()
        for file in self.directory.rglob(".*"):
            if re.fullmatch(r"\.\w+\.[0-9a-f]{8}\.\w+", file.name):  # see `agents.files`
                file.unlink()
        log = self.directory / "log.jsonl"
        if log.exists():
            lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
            with replacing(log) as temporary:
                temporary.write_text("".join(lines[: self.iteration]), encoding="utf-8")

    # ---- running ---------------------------------------------------------------------------------

    def run(self, report: Callable[[dict[str, Any]], None] = lambda figures: None) -> None:
        """Train to the end.

        Args:
            report: Called with the figures of every iteration.

        Raises:
            StoppedError: After Ctrl-C; the run is saved.
            KeyboardInterrupt: After Ctrl-C twice; the run is as it was at its last checkpoint.
            OSError: If a file cannot be written, or workers die again and again; likewise.
            ValueError: If another process trains the run, or learning diverges.
        """
        if self.iteration >= self.configuration.iterations:
            return
        with self._alone():
            self._run(report)

    @contextmanager
    def _alone(self) -> Generator[None]:
        """See that no other process trains the run; the system lets go when this one dies.

        Raises:
            ValueError: If one does, or has.
        """
        with open(self.directory / "lock", "w", encoding="utf-8") as lock:
            if fcntl is not None:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise ValueError(
                        f"expected a run that nobody trains, got {self.directory}: another process "
                        "does"
                    ) from None
            newest = int(self._checkpoints()[-1].stem)
            if newest > self.iteration:
                raise ValueError(
                    f"expected {self.directory} after iteration {self.iteration}, got {newest}: "
                    "another process has trained it since"
                )
            self._forget()
            yield

    def _run(self, report: Callable[[dict[str, Any]], None]) -> None:
        self._stop = False
        self._writer = summary_writer(self.directory / "tensorboard", self.iteration)
        engine: Engine = ENGINES[self.configuration.engine](self.configuration)
        try:
            with self._interruptible():
                engine.submit(self._tasks(self._played))
                while self.iteration < self.configuration.iterations:
                    report(self._iterate(engine))
                    if self._stop:
                        raise StoppedError
        finally:
            engine.close()
            if self._writer is not None:
                self._writer.close()

    @contextmanager
    def _interruptible(self) -> Generator[None]:
        """Ctrl-C stops: at once while waiting for games, else at the iteration's end."""

        def stop(number: int, frame: Any) -> None:
            is_again, self._stop = self._stop, True
            if is_again:
                raise KeyboardInterrupt
            if self._is_whole:
                raise StoppedError

        try:
            before = signal.signal(signal.SIGINT, stop)
        except ValueError:  # not the main thread
            yield
            return
        try:
            yield
        except KeyboardInterrupt as interrupt:  # Ray makes one of its own of a StoppedError
            if not self._is_whole:
                raise
            self.save()
            raise StoppedError from interrupt
        finally:
            signal.signal(signal.SIGINT, before)

    def _tasks(self, weights: dict[str, torch.Tensor]) -> list[Task]:
        options = self.configuration.search
        epsilon = options.epsilon * options.epsilon_decay**self.iteration
        parts = zip(self._unfinished, self._streams, strict=True)
        return [
            Task(number, weights, unfinished, stream, epsilon)
            for number, (unfinished, stream) in enumerate(parts)
        ]

    def _iterate(self, engine: Engine) -> dict[str, Any]:
        """Take in the games of the workers, let them play on, and learn meanwhile."""
        started = time.perf_counter()
        results = engine.collect()
        self._is_whole = False
        waited = time.perf_counter() - started
        figures = self._take_in(results)
        self._played = self._playing
        self.iteration += 1
        configuration = self.configuration
        if self.iteration < configuration.iterations:
            engine.submit(self._tasks(self._played))
        figures |= self._learn()
        is_last = self.iteration == configuration.iterations
        is_saved = is_last or self.iteration % configuration.save_interval == 0
        figures |= self._promote(is_saved)
        if is_saved:
            self._save_network()
        seconds = time.perf_counter() - started
        figures |= {
            "iteration": self.iteration,
            "total_positions": self.buffer.total,
            "seconds": seconds,
            "seconds_waited": waited,
            "games_per_second": figures["games"] / seconds,
            "simulations_per_second": figures.pop("simulations") / seconds,
            "positions_per_second": figures["positions"] / seconds,
        }
        self._log(figures)
        self._is_whole = True
        if is_last or self.iteration % configuration.checkpoint_interval == 0:
            self.save()
        return figures

    def _log(self, figures: dict[str, Any]) -> None:
        with open(self.directory / "log.jsonl", "a", encoding="utf-8") as log:
            log.write(json.dumps(figures) + "\n")
        if self._writer is not None:
            for key, value in figures.items():
                if key != "iteration":
                    self._writer.add_scalar(key, value, self.iteration)
            self._writer.flush()

    def _take_in(self, results: list[Result]) -> dict[str, Any]:
        """Add the games that ended to the buffer, and write them to their file."""
        games = Games.joined([result.games for result in results])
        self._unfinished = [result.unfinished for result in results]
        self._streams = [result.rng for result in results]
        if len(games.lengths):
            number = self.iteration + 1
            about = {"iteration": number, "first": self.buffer.total}
            save_games(self._file("games", number, "npz"), games, self.game, about)
            self._shards.append((number, self.buffer.total))
            self.buffer.add(games)
            learnable = int(games.policies.any(axis=1).sum())
            replay = self.configuration.replay
            self._owed += learnable * replay.reuse / self.configuration.learner.batch
        sums = {key: sum(result.figures[key] for result in results) for key in results[0].figures}
        positions = max(1.0, sums["positions"])
        plays_out = self.configuration.search.method == "rollouts"  # there are no priors to agree
        return {
            "games": len(games.lengths),
            "positions": sums["positions"],
            "simulations": sums["simulations"],
            "evaluations": sums["evaluations"],
            "plies_per_game": len(games.actions) / max(1, len(games.lengths)),
            "first_player_score": float(games.outcomes.mean() / 2 + 0.5)
            if len(games.lengths)
            else 0.5,
            **({} if plays_out else {"search_agreement": sums["agreement"] / positions}),
            "search_entropy": sums["entropy"] / positions,
        }

    def _learn(self) -> dict[str, float]:
        """The steps of training that the new positions call for."""
        configuration = self.configuration
        if self.buffer.total < configuration.replay.fill:
            self._owed = 0.0
            return {}
        sums: dict[str, float] = {}
        steps = 0
        progress = self.iteration / configuration.iterations
        while self._owed >= 1.0:
            batch = self.buffer.sample(configuration.learner.batch, self.rng)
            self._owed -= 1.0
            if len(batch.players) < 2:
                continue
            for key, value in self.learner.step(batch, progress, self.rng).items():
                sums[key] = sums.get(key, 0.0) + value
            steps += 1
        self.learner.check()
        return {"steps": steps, **{key: value / max(1, steps) for key, value in sums.items()}}

    def _promote(self, is_saved: bool) -> dict[str, float]:
        """Let the new network play, if it passes the gate; measure those that are saved."""
        configuration = self.configuration
        weights = self.learner.playing_weights()
        if configuration.gate > 0:
            score = self._duel(weights, self._playing)
            if score >= configuration.gate:
                self._playing = weights
            figures = {"gate_score": score}
        else:
            self._playing, figures = weights, {}
        if is_saved and configuration.duel_games:
            score = self._duel(self._playing, self._duelled)
            self._elo += elo(score, configuration.duel_games)
            self._duelled = self._playing
            figures |= {"score_against_last_saved": score, "elo": self._elo}
        return figures

    def _duel(self, first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> float:
        configuration = self.configuration
        for number, weights in enumerate((first, second)):
            if number == len(self._duellists):
                self._duellists.append(self.evaluator_of(weights))
            else:
                self._duellists[number].update(self._network_of(weights))
        pair = self._duellists[0], self._duellists[1]
        plies = max(2, configuration.self_play.opening_plies)
        return duel(self.game, pair, configuration.duel_games, plies, configuration.seed)

    def evaluator_of(self, weights: dict[str, torch.Tensor]) -> NetworkEvaluator:
        """A network with these weights, to play with."""
        planes = tuple(self.configuration.network.planes)
        return NetworkEvaluator(self._network_of(weights), self.game, planes)

    def _network_of(self, weights: dict[str, torch.Tensor]) -> torch.nn.Module:
        network = new_network(self.game, self.configuration.network, seed=0)
        load_weights(network, weights)
        return network

    def _save_network(self) -> None:
        save_network(
            self._file("networks", self.iteration, "safetensors"),
            self._network_of(self._playing),
            self.configuration.network,
            (self.configuration.game, self.configuration.options),
            {
                "iteration": self.iteration,
                "positions": self.buffer.total,
                "configuration": as_dict(self.configuration),
            },
        )


def differences(known: Configuration, other: Configuration) -> Generator[tuple[str, str, str]]:
    """What a run cannot go on with: keys, what they are, and what they would become."""
    before, after = flat(as_dict(known)), flat(as_dict(other))
    for key, value in after.items():
        said, says = json.dumps(before[key]), json.dumps(value)
        if said != says and key not in CHANGEABLE:
            yield key, said, says


def flat(values: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The values of nested sections by their full names."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{where}{key}"
        if isinstance(value, dict) and key != "options":
            found |= flat(cast("dict[str, Any]", value), f"{name}.")
        else:
            found[name] = value
    return found


def summary_writer(directory: Path, iteration: int) -> Any:
    """A writer of TensorBoard's, if it is installed; what it has after an iteration is dropped."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    # Files are read in the order of their names, which have the second and then the process.
    while any(directory.glob(f"events.out.tfevents.{int(time.time())}.*")):
        time.sleep(0.05)
    return SummaryWriter(str(directory), purge_step=iteration + 1)
